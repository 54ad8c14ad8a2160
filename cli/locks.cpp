// Locks have no separate command, because programs include gradus/locks.hpp. This file only adds the examples to the
// general commands.
#include "cli/command.hpp"

namespace gradus::cli {

ProblemCommands locks_commands();
ProblemCommands locks_commands() {
  return {.commands = {},
          .examples = {{"verify", "gradus verify locks --variant clh_lock --threads 2,8"},
                       {"bench", "gradus bench locks --variants std_mutex,ttas_lock,clh_lock --threads 1,2,4"}}};
}

}  // namespace gradus::cli
