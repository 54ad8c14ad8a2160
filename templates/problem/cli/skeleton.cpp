// Skeleton has no command of its own yet, but what all problems have.
#include "cli/command.hpp"

namespace gradus::cli {

ProblemCommands skeleton_commands();
ProblemCommands skeleton_commands() {
  return {.commands = {},
          .examples = {{"verify", "gradus verify skeleton"}, {"bench", "gradus bench skeleton --values 1000000"}}};
}

}  // namespace gradus::cli
