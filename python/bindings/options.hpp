// Options in Python. Describes the rows of option tables (core/options.hpp) to Python, and sets options from the
// arguments of a call.
#pragma once

#include <nanobind/nanobind.h>

#include <span>

#include "core/options.hpp"
#include "python/bindings/fields.hpp"

namespace gradus::python {

namespace nb = nanobind;

/// Option values by name.
using OptionValues = nb::typed<nb::dict, nb::str, nb::any>;

/// Sets the given options. Throws UsageError for a value outside the allowed range, and TypeError for a value of the
/// wrong type.
void set_options(std::span<const core::Option> rows, void* options, const nb::dict& given);

/// Returns (name, kind, choices with aliases, default) for each option that is an argument in Python.
nb::typed<nb::list, Fields> facts_of(std::span<const core::Option> rows);

/// Registers a table, so that errors can name its options as arguments.
void add_table(std::span<const core::Option> rows);

/// Returns the argument name for a member of an options struct.
std::string_view name_of_argument(std::string_view member);

template <class Options>
Options options_of(const nb::dict& given) {
  Options options;
  set_options(core::option_rows<Options>, &options, given);
  return options;
}

/// Adds a module function that returns the facts of a table.
template <class Options>
void bind_options(nb::module_& module, const char* name) {
  add_table(core::option_rows<Options>);
  module.def(name, [] { return facts_of(core::option_rows<Options>); });
}

}  // namespace gradus::python
