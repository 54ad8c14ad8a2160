// The program `gradus`.
#include "cli/program.hpp"

int main(int argument_count, char** arguments) { return gradus::cli::run_program(argument_count, arguments); }
