// Translates C++ errors to the exceptions in gradus._errors.
#pragma once

#include <nanobind/nanobind.h>

namespace gradus::python {

void bind_errors(nanobind::module_& module);

}  // namespace gradus::python
