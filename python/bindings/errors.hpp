// Errors of the library as those of gradus._errors.
#pragma once

#include <nanobind/nanobind.h>

namespace gradus::python {

void bind_errors(nanobind::module_& module);

}  // namespace gradus::python
