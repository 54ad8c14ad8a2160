// The entry point of the program.
#pragma once

namespace gradus::cli {

int run_program(int argument_count, char** arguments);

}  // namespace gradus::cli
