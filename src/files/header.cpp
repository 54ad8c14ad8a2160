#include "files/header.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "files/number.hpp"
#include "files/text_input.hpp"

namespace gradus::files {

namespace {

enum class Look : std::uint8_t {
  empty,
  number,
  foreign,  ///< a number in an unsupported notation, such as 0x10 or 1,5 or 1'000 or 1D3 or 5%
  missing,  ///< a text such as N/A, or a text without letters and digits
  digits,   ///< a text that begins like a number but is not one, such as 1st or 18-24 or 2020-01-01
  word
};

bool is_letter(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || character == '_';
}

/// Returns the length of the text before its first letter or digit. The skipped text may contain ASCII punctuation, the
/// signs from U+0080 to U+00BF (degree, pound, no-break space), and the signs from U+2000 to U+2FFF (minus, euro, thin
/// spaces).
std::size_t punctuation(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const std::string_view rest = text.substr(length);
    const auto byte = static_cast<unsigned char>(rest.front());
    if (is_letter(rest.front()) || is_digit(rest.front())) break;
    const bool micro_or_ordinal =
        rest.starts_with("\xc2\xb5") || rest.starts_with("\xc2\xaa") || rest.starts_with("\xc2\xba");
    if (byte >= 0x80 && ((byte != 0xc2 && byte != 0xe2) || micro_or_ordinal)) break;
    length = std::min(length + (byte < 0x80 ? 1 : byte == 0xc2 ? 2 : 3), text.size());
  }
  return length;
}

bool stands_for_missing(std::string_view text) {
  static constexpr std::array<std::string_view, 17> words = {
      "na",   "n/a", "nat",    "nil", "none",   "null",    "missing", "undefined", "n.a.",
      "n.d.", "nd",  "(null)", "\\n", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"};
  const std::size_t skipped = text.starts_with('#') || text.starts_with('<') ? 1 : 0;
  const std::size_t closing = text.size() > 1 && text.ends_with('>') ? 1 : 0;
  const std::string_view bare = text.substr(skipped, text.size() - skipped - closing);
  return punctuation(text) == text.size() || is_spreadsheet_error(text) ||
         std::any_of(words.begin(), words.end(), [&](std::string_view word) { return equal_but_for_case(bare, word); });
}

/// Returns true for a number in an unsupported notation. `text` begins with a digit, or with signs and a digit.
bool is_foreign_number(std::string_view text) {
  if (text.starts_with('#')) return false;  // #10 is a name, not a number
  text.remove_prefix(punctuation(text));
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
    return text.find_first_not_of("0123456789abcdefABCDEF.pP+-", 2) == std::string_view::npos;
  std::size_t at = 0;
  while (at < text.size()) {  // skips digits and group separators
    const std::size_t mark = punctuation(text.substr(at));
    const std::string_view marks = text.substr(at, mark);
    const bool groups =
        mark == 1 ? marks.find_first_of(".,'_ ") == 0 : !marks.empty() && static_cast<unsigned char>(marks[0]) >= 0x80;
    if (mark > 0 && !groups) break;
    if (mark == 0 && !is_digit(text[at])) break;
    at += std::max<std::size_t>(mark, 1);
  }
  if (at + 1 < text.size() && std::string_view("eEdD").find(text[at]) != std::string_view::npos) {
    const std::size_t sign = text[at + 1] == '+' || text[at + 1] == '-' ? 1 : 0;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at + 1 + sign), text.size());
    if (end == at + 1 + sign) return false;
    at = end;
  }
  const std::string_view rest = text.substr(at);
  return punctuation(rest) == rest.size() && rest.find_first_of("+-/:") == std::string_view::npos;
}

std::optional<double> number_in(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  if (text.empty() || parse_number(text.data(), text.data() + text.size(), value) != text.data() + text.size())
    return std::nullopt;
  return value;
}

Look look_of(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return Look::empty;
  if (number_in(text)) return Look::number;
  if (stands_for_missing(text)) return Look::missing;
  if (!is_digit(text[punctuation(text)])) return Look::word;
  return is_foreign_number(text) ? Look::foreign : Look::digits;
}

bool looks_like_names(const std::vector<double>& values) {
  const auto finite = [](double value) { return std::isfinite(value); };
  if (values.size() < 2 || !std::all_of(values.begin(), values.end(), finite)) return false;
  const double step = values[1] - values[0];
  bool even = step > 0;
  for (std::size_t index = 1; index < values.size(); ++index)
    even = even && std::abs(values[index] - values[index - 1] - step) <= 1e-9 * step;
  if (even && (values.size() > 2 || std::abs(step - 1) <= 1e-9)) return true;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  return sorted.front() >= 1800 && sorted.back() <= 2100 &&
         std::all_of(sorted.begin(), sorted.end(), [](double year) { return std::floor(year) >= year; }) &&
         std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

}  // namespace

bool numbers_unlike_rows(std::span<const FirstField> first, std::span<const std::vector<FirstField>> rows,
                         const std::vector<bool>& coordinates) {
  const auto numbers_of = [&](std::span<const FirstField> fields) {
    std::vector<double> values;  // NaN for fields without a number
    for (std::size_t field = 0; field < first.size(); ++field)
      if (coordinates[field])
        values.push_back((field < fields.size() ? number_in(fields[field].text) : std::nullopt)
                             .value_or(std::numeric_limits<double>::quiet_NaN()));
    return values;
  };
  const auto rises = [](const std::vector<double>& values) {
    return values.size() > 2 && std::adjacent_find(values.begin(), values.end(), [](double one, double next) {
                                  return !(one < next);
                                }) == values.end();
  };
  const auto all_of_row = [&](std::span<const FirstField> fields, const auto& is_so) {
    for (std::size_t field = 0; field < first.size(); ++field)
      if (coordinates[field] && !(field < fields.size() && number_in(fields[field].text) && is_so(fields[field].text)))
        return false;
    return true;
  };
  const auto has_decimals = [](const std::string& text) { return text.find('.') != std::string::npos; };
  const auto is_integer = [](const std::string& text) { return text.find_first_of(".eE") == std::string::npos; };
  const auto every_row = [&](const auto& holds) { return std::all_of(rows.begin(), rows.end(), holds); };
  const std::vector<double> values = numbers_of(first);
  if (rows.empty() || values.empty()) return false;
  if (rises(values) && !every_row([&](const auto& row) { return rises(numbers_of(row)); })) return true;
  if (rows.size() > 1 && all_of_row(first, is_integer) &&
      every_row([&](const auto& row) { return all_of_row(row, has_decimals); }))
    return true;
  if (rows.size() < 3) return false;
  std::vector<std::vector<double>> below;
  for (const std::vector<FirstField>& row : rows) below.push_back(numbers_of(row));
  for (std::size_t column = 0; column < values.size(); ++column) {
    double least = std::numeric_limits<double>::infinity();
    double greatest = -least;
    for (const std::vector<double>& row : below) {
      if (!std::isfinite(row[column])) return false;
      least = std::min(least, row[column]);
      greatest = std::max(greatest, row[column]);
    }
    const double distance = std::max(least - values[column], values[column] - greatest);
    if (!(greatest > least && distance > 10 * (greatest - least))) return false;
  }
  return true;
}

bool is_text(std::string_view field) {
  const Look look = look_of(field);
  return look == Look::word || look == Look::digits;
}

bool is_missing(std::string_view field) {
  const Look look = look_of(field);
  return look == Look::empty || look == Look::missing;
}

bool is_any_number(std::string_view field) {
  const Look look = look_of(field);
  return look == Look::number || look == Look::foreign;
}

std::optional<char> separator_given_by(std::string_view line) {
  if (line.size() > 1 && line.starts_with('"') && line.ends_with('"')) line = line.substr(1, line.size() - 2);
  constexpr std::string_view key = "sep=";
  if (line.size() != key.size() + 1 || !equal_but_for_case(line.substr(0, key.size()), key)) return std::nullopt;
  return line.back();
}

bool all_numbers(std::span<const FirstField> fields) {
  return std::all_of(fields.begin(), fields.end(),
                     [](const FirstField& field) { return number_in(field.text).has_value(); });
}

HeaderGuess guess_header(std::span<const FirstField> fields) {
  std::vector<Look> looks;
  for (const FirstField& field : fields) looks.push_back(look_of(field.text));
  const auto any = [&](Look look) { return std::find(looks.begin(), looks.end(), look) != looks.end(); };
  const bool numbers = any(Look::number) || any(Look::foreign);
  if (any(Look::word)) {
    if (!numbers) return {.is_header = true, .doubtful = any(Look::missing), .broken = {}};
    const auto first = std::find_if(looks.begin(), looks.end(), [](Look look) { return look != Look::empty; });
    if (*first == Look::word) return {.is_header = true, .doubtful = true, .broken = {}};
  } else if (any(Look::digits) && !any(Look::number)) {
    return {.is_header = true, .doubtful = true, .broken = {}};
  }
  const auto broken = std::find_if(looks.begin(), looks.end(), [](Look look) { return look != Look::number; });
  if (broken != looks.end()) return {.broken = static_cast<std::size_t>(broken - looks.begin())};
  std::vector<double> values;
  for (const FirstField& field : fields) values.push_back(*number_in(field.text));
  const bool quoted = std::all_of(fields.begin(), fields.end(), [](const FirstField& field) { return field.quoted; });
  return {.is_header = false, .doubtful = quoted || looks_like_names(values), .broken = {}};
}

namespace {

/// Returns true if two values look alike: setosa and setosa, or s1 and s12.
bool alike(std::string_view one, std::string_view other) {
  const auto without_digits = [](std::string_view text) {
    std::string rest(text);
    std::erase_if(rest, is_digit);
    return rest;
  };
  return !one.empty() && (one == other || (without_digits(one) == without_digits(other) &&
                                           std::any_of(one.begin(), one.end(), is_digit) &&
                                           std::any_of(other.begin(), other.end(), is_digit)));
}

}  // namespace

HeaderGuess guess_header(std::span<const FirstField> first, std::span<const FirstField> next,
                         const std::vector<bool>& coordinates) {
  const auto look_below = [&](std::size_t field) {
    return field < next.size() ? look_of(next[field].text) : Look::empty;
  };
  std::vector<Look> looks;
  std::vector<double> values;
  std::vector<FirstField> judged;
  bool quoted = true;
  bool repeated = false;
  std::optional<std::size_t> broken;
  bool lacks = true;  // true if each coordinate so far is a number or a field that lacks a number
  for (std::size_t field = 0; field < first.size(); ++field) {
    const std::string& text = first[field].text;
    const Look look = looks.emplace_back(look_of(text));
    if (look == Look::number) values.push_back(*number_in(text));
    if (look == Look::number) quoted = quoted && first[field].quoted;
    repeated = repeated || (look == Look::word && field < next.size() && alike(text, next[field].text));
    if (!coordinates[field]) continue;
    judged.push_back(first[field]);
    if (look != Look::number && !broken) broken = field;
    lacks = lacks && (look == Look::number || look == Look::empty || look == Look::missing);
  }
  HeaderGuess guess = guess_header(first);
  const bool like_names = !values.empty() && (quoted || looks_like_names(values));
  const bool only_first_is_empty = looks.front() == Look::empty && values.size() + 1 == first.size();
  if (only_first_is_empty && next.size() == first.size() && look_below(0) != Look::empty && like_names)
    return {.is_header = true, .doubtful = true};
  if (values.size() == first.size() && next.size() == first.size() + 1 && look_below(0) == Look::word)
    return {.is_header = true, .doubtful = true};
  if (!values.empty() && repeated) return {.broken = lacks ? std::nullopt : broken};
  if (!guess.broken) return guess;
  if (broken) {
    if (judged.size() < first.size() && guess_header(judged).is_header) return {.is_header = true, .doubtful = true};
    guess.broken = broken;
    return guess;
  }
  bool doubtful = false;
  for (std::size_t field = 0; field < first.size(); ++field) {
    const bool word = looks[field] == Look::word || looks[field] == Look::digits;
    const bool number_below = look_below(field) == Look::number || look_below(field) == Look::foreign;
    if ((word && (number_below || like_names)) || (field == 0 && only_first_is_empty && look_below(0) != Look::empty))
      return {.undecided = field};
    doubtful = doubtful || word;
  }
  return {.doubtful = doubtful};
}

}  // namespace gradus::files
