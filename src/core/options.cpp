#include "core/options.hpp"

#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::core {

namespace {

bool is_number(const Option& row) {
  return row.kind == OptionKind::integer || row.kind == OptionKind::count || row.kind == OptionKind::real;
}

template <class Element, class Text>
std::string list_text(const std::vector<Element>& elements, const Text& text_of_one) {
  std::string text;
  for (const Element element : elements) text.append(text.empty() ? "" : ",").append(text_of_one(element));
  return text;
}

double number_of(const Value& value) {
  if (const double* real = std::get_if<double>(&value)) return *real;
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return static_cast<double>(std::get<std::uint64_t>(value));
}

/// Returns the text of a value in option_lines(). Numbers have all digits, and long lists are replaced by a hash.
std::string exact_text(const Option& row, const Value& value) {
  constexpr std::size_t few = 9;  // up to this length, users can compare lists by eye
  if (const double* const real = std::get_if<double>(&value)) return text_of(*real);
  const auto* const reals = std::get_if<std::vector<double>>(&value);
  if (reals == nullptr) return std::holds_alternative<std::monostate>(value) ? "none" : value_text(row, value);
  const std::string text = list_text(*reals, text_of);
  if (reals->size() <= few) return text;
  return std::to_string(reals->size()) + " numbers with the hash " + std::to_string(hash_of(text));
}

}  // namespace

void refuse_value(std::string_view name, const std::string& value, const std::string& allowed) {
  throw UsageError(
      std::string(name) + " must be " + allowed + ", not " + value,
      {.code = error_code::out_of_range, .argument = std::string(name), .value = value, .allowed = allowed});
}

void refuse_choice(std::string_view name, std::int64_t number, std::size_t choices) {
  throw UsageError(
      about(name) + std::to_string(number) + " is not one of the values 0 to " + std::to_string(choices - 1),
      {.code = error_code::unknown_choice, .value = std::to_string(number)});
}

std::pair<std::int64_t, std::int64_t> integer_range(const Option& row) {
  using Integers = std::numeric_limits<std::int64_t>;
  return {row.least > -0x1p63 ? static_cast<std::int64_t>(row.least) : Integers::min(),
          row.most < 0x1p63 ? static_cast<std::int64_t>(row.most) : Integers::max()};
}

void refuse_integer(const Option& row, std::string_view name, const std::string& value) {
  const auto [least, most] = integer_range(row);
  refuse_value(name, value,
               "an integer from " + (row.kind == OptionKind::count
                                         ? "0 to " + std::to_string(std::numeric_limits<std::uint64_t>::max())
                                         : std::to_string(least) + " to " + std::to_string(most)));
}

void check_option(const Option& row, const void* options) {
  if (is_number(row) || row.kind == OptionKind::choice) check_value(row, row.get(options), row.name);
}

void check_value(const Option& row, const Value& value, std::string_view name) {
  if (std::holds_alternative<std::monostate>(value)) return;
  if (row.kind == OptionKind::choice) {
    const std::int64_t number = std::get<std::int64_t>(value);
    if (number < 0 || number >= std::ssize(row.choices)) refuse_choice(name, number, row.choices.size());
  }
  if (!is_number(row)) return;
  const double number = number_of(value);
  const auto refuse = [&](const std::string& allowed) { refuse_value(name, value_text(row, value), allowed); };
  if (row.finite && !std::isfinite(number)) refuse("a finite number");
  if (row.above_least && !(number > row.least)) refuse("greater than " + number_text(row.least));
  if (number < row.least) refuse("at least " + number_text(row.least));
  if (number > row.most) refuse("at most " + number_text(row.most));
}

std::string value_text(const Option& row, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "";
  if (row.kind == OptionKind::choice)
    return std::string(row.choices[static_cast<std::size_t>(std::get<std::int64_t>(value))].name);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const double* real = std::get_if<double>(&value)) return number_text(*real);
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const std::uint64_t* count = std::get_if<std::uint64_t>(&value)) return std::to_string(*count);
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) return list_text(*reals, number_text);
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value))
    return list_text(*integers, [](std::int64_t integer) { return std::to_string(integer); });
  return std::get<std::string>(value);
}

std::string option_lines(std::span<const Option> rows, const void* options) {
  std::string lines;
  for (const Option& row : rows) {
    if (!row.in_job) continue;
    lines += call_line(std::string(row.name).c_str(), exact_text(row, row.get(options)));
  }
  return lines;
}

}  // namespace gradus::core
