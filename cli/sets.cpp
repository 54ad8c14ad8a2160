// Concurrent sets have no separate command, because they are templates for programs. This file only adds the examples
// to the general commands.
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
