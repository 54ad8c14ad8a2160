// A tuple for the package's own code.
#pragma once

#include <nanobind/nanobind.h>

namespace gradus::python {

/// What a function gives to its part in Python: it is not told which element is what, nor are type checkers.
using Fields = nanobind::typed<nanobind::tuple, nanobind::any, nanobind::ellipsis>;

}  // namespace gradus::python
