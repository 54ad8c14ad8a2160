// The entry point of the program.
#pragma once

namespace gradus::cli {

/// Runs the program and returns its exit status.
int run_program(int argument_count, char** arguments);

}  // namespace gradus::cli
