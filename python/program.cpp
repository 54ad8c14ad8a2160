// The program `gradus` of the Python package.
#include "python/bindings/library.hpp"

int main(int argument_count, char** arguments) { return gradus::python::run_program(argument_count, arguments); }
