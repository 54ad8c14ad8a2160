// Skeleton has no separate command yet, only the common ones.
#include "cli/command.hpp"

namespace gradus::cli {

ProblemCommands skeleton_commands();
ProblemCommands skeleton_commands() {
  return {.commands = {},
          .examples = {{"verify", "gradus verify skeleton"}, {"bench", "gradus bench skeleton --values 1000000"}}};
}

}  // namespace gradus::cli
