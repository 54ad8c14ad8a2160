#include "core/variant_options.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "core/names.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::core {

namespace {

[[noreturn]] void refuse_text(const Option& row, std::string_view text, std::string_view allowed,
                              std::span<const std::string_view> names = {}) {
  throw UsageError(about(row.name) + excerpt(text) + " is not " + std::string(allowed) + did_you_mean(text, names),
                   {.code = names.empty() ? error_code::bad_argument : error_code::unknown_choice,
                    .value = std::string(text),
                    .allowed = std::string(allowed)});
}

template <class Number>
Number number_of(const Option& row, std::string_view text, std::string_view allowed) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) refuse_text(row, text, allowed);
  return number;
}

Value choice_of(const Option& row, std::string_view text) {
  if (const std::optional<std::size_t> index = find_choice(row.choices, text)) return static_cast<std::int64_t>(*index);
  std::vector<std::string_view> names;
  std::string allowed = "one of";
  for (const Choice& choice : row.choices) {
    names.push_back(choice.name);
    allowed.append(names.size() == 1 ? " " : ", ").append(choice.name);
  }
  refuse_text(row, text, allowed, names);
}

template <class Number>
std::vector<Number> numbers_of(const Option& row, std::string_view text, std::string_view allowed) {
  std::vector<Number> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    numbers.push_back(number_of<Number>(row, text.substr(begin, end - begin), allowed));
    begin = end + 1;
  }
  return numbers;
}

Value unchecked_value(const Option& row, std::string_view text) {
  switch (row.kind) {
    case OptionKind::choice: return choice_of(row, text);
    case OptionKind::integer: return number_of<std::int64_t>(row, text, "an integer");
    case OptionKind::count: return number_of<std::uint64_t>(row, text, "an integer of at least 0");
    case OptionKind::real: return number_of<double>(row, text, "a number");
    case OptionKind::text: return std::string(text);
    case OptionKind::reals: return numbers_of<double>(row, text, "numbers, separated by commas");
    case OptionKind::integers: return numbers_of<std::int64_t>(row, text, "integers, separated by commas");
    case OptionKind::flag: break;
  }
  if (text != "true" && text != "false") refuse_text(row, text, "true or false");
  return text == "true";
}

const Option* find_in(const VariantOptions& variant, std::string_view name) {
  return variant.table == nullptr ? nullptr : find_option(variant.table->rows, name);
}

/// Throws the UsageError for an option that the variant lacks.
[[noreturn]] void refuse_option(const std::string& name, const VariantOptions& variant,
                                std::span<const VariantOptions> all, std::string_view problem) {
  std::string owners;
  std::vector<std::string_view> names;
  for (const VariantOptions& other : all) {
    if (find_in(other, name)) owners += (owners.empty() ? "'" : ", '") + std::string(other.variant) + "'";
    if (other.table)
      for (const Option& row : other.table->rows) names.push_back(row.name);
  }
  if (owners.empty())
    throw UsageError(about("variant_options") + "no " + std::string(problem) + " variant has an option " +
                         excerpt(name) + did_you_mean(name, names),
                     {.code = error_code::unknown_choice, .value = name});
  throw UsageError(
      ErrorMessage(std::string(problem) + " variant '" + std::string(variant.variant) + "' does not have the option ") +
          gradus::option(name),
      {.code = error_code::no_effect,
       .argument = "variant_options",
       .value = name,
       .remedy = "leave it out, or ask for a variant that has it: " + owners});
}

}  // namespace

Value value_of(const Option& row, std::string_view text) {
  Value value = unchecked_value(row, text);
  check_value(row, value, row.name);
  return value;
}

void check_variant_options(const Execution& execution, const VariantOptions& variant,
                           std::span<const VariantOptions> all, std::string_view problem) {
  for (const VariantOption& given : execution.variant_options) {
    const Option* const row = find_in(variant, given.name);
    if (row == nullptr) refuse_option(given.name, variant, all, problem);
    value_of(*row, given.value);
  }
}

}  // namespace gradus::core
