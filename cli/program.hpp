// The whole program, for whoever starts it.
#pragma once

namespace gradus::cli {

/// What main() does; the result is the exit status.
int run_program(int argument_count, char** arguments);

}  // namespace gradus::cli
