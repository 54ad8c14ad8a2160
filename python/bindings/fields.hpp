// Tuples that the compiled part returns to the Python code of the package.
#pragma once

#include <nanobind/nanobind.h>

namespace gradus::python {

/// A tuple whose elements are known by their places, to this code and to its caller in python/gradus/ alone.
using Fields = nanobind::typed<nanobind::tuple, nanobind::any, nanobind::ellipsis>;

}  // namespace gradus::python
