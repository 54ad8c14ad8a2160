// Values for tests that loop over option tables (core/options.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/options.hpp"

namespace gradus::tests {

template <class Element>
std::vector<Element> with(std::vector<Element> elements, Element last) {
  elements.push_back(last);
  return elements;
}

/// Returns an allowed value of the option that differs from the given value but is close to it.
inline core::Value other_value(const core::Option& row, const core::Value& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return !*flag;
  if (const double* real = std::get_if<double>(&value)) return *real < row.most ? *real + 0x1p-10 : *real - 0x1p-10;
  if (const std::uint64_t* count = std::get_if<std::uint64_t>(&value)) return *count + 1;
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) {
    const bool last = row.kind == core::OptionKind::choice ? *integer + 1 == std::ssize(row.choices)
                                                           : static_cast<double>(*integer) >= row.most;
    if (row.kind == core::OptionKind::choice) return last ? std::int64_t{0} : *integer + 1;
    return last ? *integer - 1 : *integer + 1;
  }
  if (const std::string* text = std::get_if<std::string>(&value)) return *text + "x";
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) return core::Value(with(*reals, 1.5));
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value))
    return core::Value(with<std::int64_t>(*integers, 2));
  switch (row.kind) {  // an unset option has no value, so its kind decides the type
    case core::OptionKind::integer: return static_cast<std::int64_t>(std::max(row.least, 1.0));
    case core::OptionKind::real: return std::max(row.least, 1.0);
    case core::OptionKind::reals: return std::vector<double>{1.5};
    case core::OptionKind::integers: return std::vector<std::int64_t>{2};
    default: return std::string("x");
  }
}

/// Returns values that the option refuses: the values nearest to the allowed range on both sides and, if the option
/// refuses NaN, also NaN.
inline std::vector<core::Value> refused_values(const core::Option& row) {
  std::vector<core::Value> values;
  switch (row.kind) {
    case core::OptionKind::choice: return {std::int64_t{std::ssize(row.choices)}};
    case core::OptionKind::integer:
      if (row.least > -0x1p31) values.emplace_back(static_cast<std::int64_t>(row.least) - 1);
      if (row.most < 0x7fffffff) values.emplace_back(static_cast<std::int64_t>(row.most) + 1);
      break;
    case core::OptionKind::real:
      if (row.finite) values.insert(values.end(), {std::nan(""), HUGE_VAL, -HUGE_VAL});
      if (std::isfinite(row.least))
        values.emplace_back(row.above_least ? row.least : std::nextafter(row.least, -HUGE_VAL));
      if (std::isfinite(row.most)) values.emplace_back(std::nextafter(row.most, HUGE_VAL));
      break;
    case core::OptionKind::flag:
    case core::OptionKind::count:
    case core::OptionKind::text:
    case core::OptionKind::reals:
    case core::OptionKind::integers: break;
  }
  if (row.optional) std::erase(values, row.load_default());
  return values;
}

}  // namespace gradus::tests
