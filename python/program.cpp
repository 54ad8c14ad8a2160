// The program `gradus` that the Python package contains.
#include "python/bindings/library.hpp"

int main(int argument_count, char** arguments) { return gradus::python::run_program(argument_count, arguments); }
