// The extension module gradus._core. It converts arguments and results, and contains no algorithms.
#include "python/bindings/module.hpp"

#include "python/bindings/errors.hpp"

NB_MODULE(_core, module) {
  gradus::python::bind_errors(module);
  gradus::python::bind_execution(module);
  gradus::python::bind_arrays(module);
  gradus::python::bind_machine(module);
#define GRADUS_PROBLEM(name) gradus::python::bind_##name(module);
#include "bindings.inc"
#undef GRADUS_PROBLEM
}
