// Tuples that the extension module returns to the package's Python code.
#pragma once

#include <nanobind/nanobind.h>

namespace gradus::python {

/// A tuple with a fixed order of elements, private to the binding and its caller in python/gradus/.
using Fields = nanobind::typed<nanobind::tuple, nanobind::any, nanobind::ellipsis>;

}  // namespace gradus::python
