// `gradus matmul`: multiply the matrices of two files.
#include "gradus/matmul.hpp"

#include "cli/command.hpp"

namespace gradus::cli {

ProblemCommands matmul_commands();
ProblemCommands matmul_commands() {
  return {.commands = {},
          .examples = {{"verify", "gradus verify matmul --case 65x69x70 --threads 1,2"},
                       {"bench", "gradus bench matmul --size 1024,3000x16x500 --threads 1,2"}}};
}

}  // namespace gradus::cli
