// The concurrent sets have no command of their own: they are templates for programs. Examples of what the program says
// of them.
#include "cli/command.hpp"

namespace gradus::cli {

ProblemCommands sets_commands();
ProblemCommands sets_commands() {
  return {.commands = {},
          .examples = {{"list", "gradus list sets"},
                       {"verify", "gradus verify sets --variant lazy_list_epoch --case one_key,two_keys --threads 2,4"},
                       {"bench", "gradus bench sets --size 1024 --mix 80/10/10,0/50/50 --threads 1,2"}}};
}

}  // namespace gradus::cli
