#include "bench/parse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/names.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

namespace {

std::string range_text(std::string_view least, std::string_view most, bool unbounded) {
  return unbounded ? " of at least " + std::string(least) : " from " + std::string(least) + " to " + std::string(most);
}

[[noreturn]] void throw_unlike(std::string_view name, std::string_view text, const std::string& allowed) {
  throw UsageError(about(name) + core::excerpt(text) + " is not " + allowed,
                   {.code = error_code::out_of_range, .value = std::string(text), .allowed = allowed});
}

template <class Integer>
Integer parse_integer(std::string_view name, std::string_view text, Integer least, Integer most) {
  Integer result{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && result >= least && result <= most) return result;
  const bool unbounded = most == std::numeric_limits<Integer>::max() && error != std::errc::result_out_of_range;
  throw_unlike(name, text, "an integer" + range_text(std::to_string(least), std::to_string(most), unbounded));
}

}  // namespace

std::int64_t parse_whole(std::string_view name, std::string_view text, std::int64_t least, std::int64_t most) {
  return parse_integer(name, text, least, most);
}

std::uint64_t parse_unsigned(std::string_view name, std::string_view text, std::uint64_t least, std::uint64_t most) {
  return parse_integer(name, text, least, most);
}

double parse_real(std::string_view name, std::string_view text, double least, double most) {
  double result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error == std::errc{} && end == text.data() + text.size() && result >= least && result <= most) return result;
  const bool bounded = least > std::numeric_limits<double>::lowest();
  throw_unlike(name, text,
               "a finite number" + (bounded ? range_text(core::number_text(least), core::number_text(most),
                                                         most == std::numeric_limits<double>::max())
                                            : std::string()));
}

double parse_positive(std::string_view name, std::string_view text) {
  constexpr double most = std::numeric_limits<double>::max();
  double result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  const bool number = error == std::errc{} && end == text.data() + text.size() && std::abs(result) <= most;
  if (number && result > 0) return result;
  if (number)
    throw UsageError(std::string(name) + " must be greater than 0, not " + core::excerpt(text),
                     {.code = error_code::out_of_range, .value = std::string(text), .allowed = "above 0"});
  throw_unlike(name, text, "a finite number greater than 0");
}

std::vector<std::string> names_of(std::span<const core::Choice> choices) {
  std::vector<std::string> names;
  for (const core::Choice& choice : choices) names.emplace_back(choice.name);
  return names;
}

std::string form_of(std::span<const core::Choice> choices) {
  std::string form;
  for (const core::Choice& choice : choices) form.append(form.empty() ? "" : "|").append(choice.name);
  return form;
}

std::size_t parse_choice(std::string_view name, std::string_view text, const std::vector<std::string>& choices) {
  const std::string wanted = core::with_underscores(text);
  std::string all;
  std::vector<std::string_view> names;
  for (std::size_t index = 0; index < choices.size(); ++index) {
    if (core::with_underscores(choices[index]) == wanted) return index;
    all += (index == 0 ? "" : index + 1 == choices.size() ? " or " : ", ") + choices[index];
    names.push_back(choices[index]);
  }
  throw UsageError(about(name) + core::excerpt(text) + " is not " + all + core::did_you_mean(text, names),
                   {.code = error_code::unknown_choice, .value = std::string(text), .allowed = all});
}

std::vector<std::string> parse_list(std::string_view name, std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    if (parts.back().empty()) throw UsageError(about(name) + "a value is empty; write them as a,b,c");
    begin = end + 1;
  }
  return parts;
}

std::vector<double> parse_real_list(std::string_view name, std::string_view text, double least, double most) {
  std::vector<double> numbers;
  for (const std::string& part : parse_list(name, text)) numbers.push_back(parse_real(name, part, least, most));
  return numbers;
}

std::vector<int> parse_whole_list(std::string_view name, std::string_view text, int least, int most) {
  std::vector<int> numbers;
  for (const std::string& part : parse_list(name, text))
    numbers.push_back(static_cast<int>(parse_whole(name, part, least, most)));
  return numbers;
}

std::string with_hyphens(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, '_', '-');
  return result;
}

}  // namespace gradus::bench
