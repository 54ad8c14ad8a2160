#include "python/bindings/options.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "gradus/error.hpp"
#include "python/bindings/choices.hpp"
#include "python/bindings/library.hpp"

namespace gradus::python {

namespace {

std::vector<std::span<const core::Option>>& tables() {
  static std::vector<std::span<const core::Option>> all;
  return all;
}

nb::str text(std::string_view view) { return nb::str(view.data(), view.size()); }

/// Raises TypeError. The message shows the value if it is None, a string or a number. Otherwise it shows the value's
/// type.
[[noreturn]] void refuse_type(const core::Option& row, nb::handle value, const char* needed) {
  const bool is_short = value.is_none() || PyUnicode_Check(value.ptr()) || PyNumber_Check(value.ptr()) == 1;
  const nb::object shown =
      is_short ? nb::object(nb::repr(value)) : nb::str("a {}").format(value.type().attr("__name__"));
  throw nb::type_error(
      (std::string(row.front_name()) + ": " + nb::cast<std::string>(shown) + "; " + needed + " is needed").c_str());
}

template <class Integer>
Integer integer_of(const core::Option& row, nb::handle value) {
  const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
  if (!whole.is_valid()) {
    PyErr_Clear();
    refuse_type(row, value, "an integer");
  }
  Integer number = 0;
  if (!nb::try_cast(whole, number, false)) refuse_integer(row, nb::cast<std::string>(nb::str(whole)));
  return number;
}

bool truth_of(const core::Option& row, nb::handle value) {
  if (!PyBool_Check(value.ptr()) && !nb::isinstance(value, nb::module_::import_("numpy").attr("bool_")))
    refuse_type(row, value, "True or False");
  return PyObject_IsTrue(value.ptr()) == 1;
}

std::string text_of(const core::Option& row, nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) refuse_type(row, value, "a string");
  return nb::cast<std::string>(value);
}

/// Calls a function of the Python package that converts a value. Its errors name the option.
nb::object converted(const char* module, const char* function, const core::Option& row, nb::handle value) {
  return nb::module_::import_(module).attr(function)(value, text(row.front_name()));
}

core::Value value_of(const core::Option& row, nb::handle value) {
  if (row.optional && value.is_none()) return {};
  switch (row.kind) {
    case core::OptionKind::flag: return truth_of(row, value);
    case core::OptionKind::integer: return integer_of<std::int64_t>(row, value);
    case core::OptionKind::count: return integer_of<std::uint64_t>(row, value);
    case core::OptionKind::real: return nb::cast<double>(converted("gradus._numbers", "number", row, value));
    case core::OptionKind::reals:
      return nb::cast<std::vector<double>>(converted("gradus._arrays", "numbers_of", row, value));
    case core::OptionKind::integers: return nb::cast<std::vector<std::int64_t>>(value);
    case core::OptionKind::text: return text_of(row, value);
    case core::OptionKind::choice: break;
  }
  const std::string name = text_of(row, value);
  const std::optional<std::size_t> index = core::find_choice(row.choices, name);
  if (!index) refuse_name(row.front_name(), name, row.choices);
  return static_cast<std::int64_t>(*index);
}

nb::object object_of(const core::Option& row, const core::Value& value) {
  if (row.kind == core::OptionKind::choice)
    return text(row.choices[static_cast<std::size_t>(std::get<std::int64_t>(value))].name);
  return std::visit(
      [](const auto& content) -> nb::object {
        if constexpr (std::is_same_v<decltype(content), const std::monostate&>) return nb::none();
        else return nb::cast(content);
      },
      value);
}

}  // namespace

void set_options(std::span<const core::Option> rows, void* options, const nb::dict& given) {
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    const core::Option* const row = core::find_option(rows, name);
    if (row == nullptr) throw UsageError("there is no option '" + name + "'");
    const core::Value converted = value_of(*row, value);
    check_value(*row, converted);
    row->set(options, converted);
  }
}

nb::typed<nb::list, Fields> facts_of(std::span<const core::Option> rows) {
  nb::typed<nb::list, Fields> facts;
  for (const core::Option& row : rows) {
    if (!row.recorded) continue;
    nb::list choices;
    for (const core::Choice& choice : row.choices)
      for (const std::string_view name : {choice.name, choice.alias})
        if (!name.empty()) choices.append(text(name));
    facts.append(nb::make_tuple(text(row.front_name()), text(to_string(row.kind)), nb::tuple(choices),
                                object_of(row, row.default_value())));
  }
  return facts;
}

void add_table(std::span<const core::Option> rows) { tables().push_back(rows); }

std::string_view name_of_argument(std::string_view member) {
  for (const std::span<const core::Option> rows : tables())
    if (const core::Option* row = core::find_option(rows, member)) return row->front_name();
  return member;
}

}  // namespace gradus::python
