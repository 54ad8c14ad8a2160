#include "python/bindings/options.hpp"

#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "gradus/error.hpp"
#include "python/bindings/choices.hpp"
#include "python/bindings/library.hpp"

namespace gradus::python {

namespace {

nb::str text(std::string_view view) { return nb::str(view.data(), view.size()); }

/// Python has converted numbers and truth values already; these are of the right type, though not in range.
core::Value value_of(const core::Option& row, nb::handle value) {
  switch (row.kind) {
    case core::OptionKind::flag: return nb::cast<bool>(value);
    case core::OptionKind::integer: return nb::cast<std::int64_t>(value);
    case core::OptionKind::count: return nb::cast<std::uint64_t>(value);
    case core::OptionKind::real: return nb::cast<double>(value);
    case core::OptionKind::text: return nb::cast<std::string>(value);
    case core::OptionKind::choice: break;
  }
  const auto name = nb::cast<std::string>(value);
  const std::optional<std::size_t> index = core::find_choice(row.choices, name);
  if (!index) refuse_name(row.front_name(), name, row.choices);
  return static_cast<std::int64_t>(*index);
}

nb::object object_of(const core::Option& row, const core::Value& value) {
  if (row.kind == core::OptionKind::choice)
    return text(row.choices[static_cast<std::size_t>(std::get<std::int64_t>(value))].name);
  return std::visit([](const auto& content) -> nb::object { return nb::cast(content); }, value);
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

nb::typed<nb::list, Fields> facts_of(std::span<const core::Option> rows, const void* defaults) {
  nb::typed<nb::list, Fields> facts;
  for (const core::Option& row : rows) {
    if (!row.recorded) continue;
    nb::list choices;
    for (const core::Choice& choice : row.choices)
      for (const std::string_view name : {choice.name, choice.alias})
        if (!name.empty()) choices.append(text(name));
    facts.append(nb::make_tuple(text(row.front_name()), text(to_string(row.kind)), nb::tuple(choices),
                                object_of(row, row.get(defaults))));
  }
  return facts;
}

}  // namespace gradus::python
