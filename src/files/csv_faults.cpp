// Error messages for text tables, with remedies.
#include <cmath>

#include "core/text.hpp"
#include "files/csv_rows.hpp"
#include "files/header.hpp"

namespace gradus::files {

namespace {

std::string_view inside_quotes(std::string_view text) {
  const bool in_quotes = text.size() > 1 && text.front() == '"' && text.back() == '"';
  return in_quotes ? trimmed(text.substr(1, text.size() - 2)) : text;
}

/// Returns a part of a message: why the number cannot be read, and the remedy. Explains hexadecimal numbers and the
/// signs below. Returns "" for any other text.
std::string odd_sign(std::string_view number) {
  constexpr std::string_view minus = "\xe2\x88\x92";
  if (number.starts_with(minus)) return ": its minus is the sign U+2212; write a hyphen (-)";
  if (number.starts_with("0x") || number.starts_with("0X")) return " (it is hexadecimal)";
  for (const std::string_view sign : {"%", "$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "\xc2\xb0"})
    if (number.starts_with(sign) || number.ends_with(sign))
      return ": a sign of currency or unit is no part of a number; take it out of the column";
  return "";
}

/// Returns the options that accept the number's notation: "--decimal comma or --thousands comma".
std::string options_for(std::string_view number) {
  struct Notation {
    NumberFormat format;
    const char* option;
  };
  constexpr Notation notations[] = {{{'.', 0}, "--decimal point"},           {{',', 0}, "--decimal comma"},
                                    {{'.', ','}, "--thousands comma"},       {{',', '.'}, "--thousands point"},
                                    {{'.', '\''}, "--thousands apostrophe"}, {{'.', '_'}, "--thousands underscore"},
                                    {{'.', ' '}, "--thousands blank"}};
  std::string options;
  for (const Notation& notation : notations) {
    const bool plain = notation.format.group == 0;
    if (!is_number(number, notation.format) || (!plain && number.find(notation.format.group) == std::string_view::npos))
      continue;
    options += options.empty() ? "" : " or ";
    options += notation.option;
  }
  return options;
}

}  // namespace

bool CsvRows::lacks_number(std::string_view text) const {
  const std::string_view content = inside_quotes(text);
  if (is_missing(content))
    return text.empty() || text.front() != '"' || closing_quote(text.data(), text.data() + text.size());
  double value = 0;
  return parse_number(content.data(), content.data() + content.size(), value, quoted_format) ==
             content.data() + content.size() &&
         std::isnan(value);
}

bool CsvRows::is_text_for_us(std::string_view field) const {
  const std::string_view content = inside_quotes(field);
  return is_text(content) && !is_number(content, quoted_format);
}

std::string CsvRows::lack_of(std::string_view text) const {
  if (text.empty()) return "the field is empty";
  return core::excerpt(text) +
         (is_number(inside_quotes(text), quoted_format) ? " is not a finite number" : " is not a number");
}

std::string CsvRows::fault_of(std::string_view text, std::size_t column) const {
  const std::string_view content = inside_quotes(text);
  const std::size_t one[] = {column};
  const bool may_drop = offers_drop && (places.empty() || (is_coordinate(column) && coordinates > 1));
  const std::string ways = may_drop ? "; --drop-columns " + column_items(names, one) + " leaves the column out" : "";
  if (is_number(content, quoted_format)) {
    const bool spelled = !is_digit(content.back()) && content.back() != quoted_format.point;
    return core::excerpt(text) + (spelled ? " is not a finite number" : " is too large for a double") + ways;
  }
  const std::string what = core::excerpt(text) + " is not a number";
  if (is_text(content)) return what + ways;
  if (const std::string odd = odd_sign(content); !odd.empty()) return what + odd + ways;
  const std::string options = options_for(content);
  if (options.empty()) return what + ways;
  const std::string read_now = quoted_format.point == ',' ? "comma" : "point";
  return what + " (decimals follow a " + read_now + (quoted_format.group == 0 ? ", and nothing groups digits" : "") +
         "; if it is written otherwise, say " + options + ")" + ways;
}

std::string CsvRows::count_of(const IncompleteRows& incomplete, std::size_t rows) const {
  std::vector<std::size_t> incomplete_columns;
  for (std::size_t column = 0; column < columns; ++column)
    if (incomplete.per_column[column] > 0) incomplete_columns.push_back(column);
  return std::to_string(incomplete.rows.size()) + " of " + std::to_string(rows) + (rows == 1 ? " row" : " rows") +
         (incomplete.rows.size() == 1 ? " lacks" : " lack") + " a number (" + columns_text(names, incomplete_columns) +
         ")";
}

std::string CsvRows::fault_of(const IncompleteRows& incomplete, std::size_t rows) const {
  std::vector<std::size_t> empty;   // coordinates that lack a number in every row
  std::vector<std::size_t> sparse;  // coordinates that lack a number in at least half of the rows
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t count = is_coordinate(column) ? incomplete.per_column[column] : 0;
    if (count == rows) empty.push_back(column);
    if (count > 0 && 2 * count >= rows) sparse.push_back(column);
  }
  std::string what = lack_of(incomplete.text) + ": " + count_of(incomplete, rows);
  if (!offers_columns) return what + "; fill them in, or leave out the rows";
  const auto drop = [&](std::span<const std::size_t> out) {
    if (!offers_drop) return "take " + columns_text(names, out) + " out of --columns";
    return "--drop-columns " + column_items(names, out) + " leaves " + columns_text(names, out) + " out";
  };
  if (!empty.empty() && empty.size() < coordinates)
    return what + "; " + columns_text(names, empty) + (empty.size() == 1 ? " has" : " have") +
           " no number at all: " + drop(empty);
  const bool may_drop = !sparse.empty() && sparse.size() < coordinates;
  if (incomplete.rows.size() == rows) return what + "; " + (may_drop ? drop(sparse) : "fill them in");
  what += "; --missing drop-rows leaves such rows out";
  return may_drop ? what + ", " + drop(sparse) : what;
}

std::string CsvRows::fault_of_text(std::span<const std::string_view> first,
                                   std::span<const std::vector<std::string_view>> below, std::size_t& field,
                                   bool offers_id) const {
  std::vector<std::size_t> text;
  std::vector<std::size_t> only_above;  // columns that have text in the first row but not in the rows below
  for (std::size_t column = 0; column < std::min(columns, first.size()); ++column) {
    if (!is_coordinate(column) || !is_text_for_us(first[column])) continue;
    const auto in = [&](const std::vector<std::string_view>& row) { return column < row.size() ? row[column] : ""; };
    const bool number =
        std::any_of(below.begin(), below.end(), [&](const auto& row) { return is_any_number(inside_quotes(in(row))); });
    const bool word = std::any_of(below.begin(), below.end(), [&](const auto& row) { return is_text_for_us(in(row)); });
    (number && !word ? only_above : text).push_back(column);
  }
  if (only_above.empty() && text.empty()) return "";
  const std::vector<std::size_t>& shown = only_above.empty() ? text : only_above;
  field = shown.front();
  const bool one = shown.size() == 1;
  std::string what = core::excerpt(first[field]) + " is not a number";
  const std::string ask = "if this line names the columns, say --header yes";
  if (!only_above.empty()) {
    what += ", but the rows below have numbers in " + columns_text(names, only_above) + "; ";
    return what + (names.empty() ? ask : "if this line holds units, or names once more, delete it");
  }
  what += ": " + columns_text(names, text) + (one ? " is" : " are") + " text";
  const std::string ending = names.empty() ? "; " + ask : "";
  if (text.size() == coordinates) return what + ", and no coordinate is left without " + (one ? "it" : "them") + ending;
  const std::string them = one ? "it" : "them";
  what += offers_drop ? "; --drop-columns " + column_items(names, text) + " leaves " + them + " out"
                      : "; take " + them + " out of --columns";
  if (offers_id)
    what += ", --id-column " + column_items(names, std::span(text).first(1)) +
            (one ? " keeps it next to the answer" : " keeps one next to the answer");
  return what + ending;
}

}  // namespace gradus::files
