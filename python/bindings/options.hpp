// Options of the library by their tables (core/options.hpp): what Python knows of them, and what a call gives them.
#pragma once

#include <nanobind/nanobind.h>

#include <span>

#include "core/options.hpp"
#include "python/bindings/module.hpp"

namespace gradus::python {

namespace nb = nanobind;

/// Values of options by their names.
using OptionValues = nb::typed<nb::dict, nb::str, nb::any>;

/// Sets the options that are given. UsageError for values that they do not allow.
void set_options(std::span<const core::Option> rows, void* options, const nb::dict& given);

/// Returns (name, kind, names of choices and their aliases, default) for each option that a call has as an argument.
nb::typed<nb::list, Fields> facts_of(std::span<const core::Option> rows);

/// Adds a table to the ones that errors take names of arguments from.
void add_table(std::span<const core::Option> rows);

/// Returns the argument that stands for a member of an options struct.
std::string_view name_of_argument(std::string_view member);

template <class Options>
Options options_of(const nb::dict& given) {
  Options options;
  set_options(core::option_rows<Options>, &options, given);
  return options;
}

/// Adds a function of the module that returns the facts of a table.
template <class Options>
void bind_options(nb::module_& module, const char* name) {
  add_table(core::option_rows<Options>);
  module.def(name, [] { return facts_of(core::option_rows<Options>); });
}

}  // namespace gradus::python
