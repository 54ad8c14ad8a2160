#include "io/csv_rows.hpp"

#include <bit>
#include <cstdint>
#include <utility>

#include "core/text.hpp"
#include "io/header.hpp"
#include "io/text_input.hpp"

namespace gradus::io {

namespace {

static_assert(std::endian::native == std::endian::little, "the first of eight characters is taken for the lowest byte");

/// The first of two characters, or the end: eight characters at a time.
const char* find_either(const char* at, const char* end, char one, char other) {
  constexpr std::uint64_t ones = 0x0101010101010101u;
  constexpr std::uint64_t highs = 0x8080808080808080u;
  const std::uint64_t all_one = ones * static_cast<unsigned char>(one);
  const std::uint64_t all_other = ones * static_cast<unsigned char>(other);
  for (; end - at >= 8; at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, at, sizeof eight);
    const std::uint64_t differs = eight ^ all_one;
    const std::uint64_t differs_too = eight ^ all_other;
    // The high bit of each byte that is zero; a borrow may set more, but none below.
    const std::uint64_t found = (((differs - ones) & ~differs) | ((differs_too - ones) & ~differs_too)) & highs;
    if (found != 0) return at + std::countr_zero(found) / 8;
  }
  while (at != end && *at != one && *at != other) ++at;
  return at;
}

/// Past the end of the line on which `at` stands.
const char* next_line(const char* at, const char* end) {
  const char* const stop = find_character(at, end, '\n');
  return stop == end ? end : stop + 1;
}

std::string counted_fields(std::size_t count) { return std::to_string(count) + (count == 1 ? " field" : " fields"); }

}  // namespace

const char* closing_quote(const char* at, const char* end) {
  for (++at;; at += 2) {
    at = find_character(at, end, '"');
    if (at == end) return nullptr;
    if (at + 1 == end || at[1] != '"') return at;
  }
}

struct CsvRows::Bad {
  std::size_t field;
  std::string what;
};

const char* CsvRows::row_end(const char* at, const char* end) const {
  if (at != end && *at == '#') return next_line(at, end);
  const char* const begin = at;
  for (;;) {
    at = find_either(at, end, '"', '\n');
    if (at == end) return end;
    if (*at == '\n') return at + 1;
    const char* before = at;
    while (before != begin && is_blank(before[-1]) && (separator != '\t' || before[-1] != '\t')) --before;
    const bool begins_field = before == begin || (separator == ' ' ? before != at : before[-1] == separator);
    if (begins_field) at = closing_quote(at, end);
    if (!at) return nullptr;
    ++at;
  }
}

const char* CsvRows::field(const char* at, const char* end, std::string_view& text) const {
  const char* stop = at;
  if (at != end && *at == '"') {
    const char* const quote = closing_quote(at, end);
    stop = quote ? quote + 1 : find_character(at, end, '\n');
    text = {at, static_cast<std::size_t>(stop - at)};
    return stop;
  }
  if (separator == ' ') {
    while (stop != end && !is_blank(*stop) && *stop != '\n') ++stop;
  } else {
    stop = find_either(at, end, separator, '\n');
  }
  if ((stop == end || *stop == '\n') && stop != at && stop[-1] == '\r') --stop;
  text = trimmed({at, static_cast<std::size_t>(stop - at)});
  return stop;
}

std::string CsvRows::way_out(std::size_t column) const {
  return offers_drop ? "--drop-columns " + column_item(names, column) + " leaves the column out" : "";
}

std::string CsvRows::fault_of(std::string_view text, std::size_t column) const {
  const bool in_quotes = text.size() > 1 && text.front() == '"' && text.back() == '"';
  const std::string_view content = in_quotes ? trimmed(text.substr(1, text.size() - 2)) : text;
  const std::string ways = way_out(column);
  const auto with_ways = [&](const std::string& what) { return ways.empty() ? what : what + "; " + ways; };
  const auto with_all_ways = [&](const std::string& what) {
    return ways.empty() ? what : what + "; fill it in, or leave out the row; " + ways;
  };
  if (text.empty()) return with_all_ways("the field is empty; a number is expected");
  if (is_number(content, quoted_format)) {
    const bool spelled = !is_digit(content.back()) && content.back() != quoted_format.point;
    if (spelled) return with_all_ways(core::excerpt(text) + " is not a finite number");
    return core::excerpt(text) + " is too large for a double";
  }
  std::string what = core::excerpt(text) + " is not a number";
  if (is_missing(content)) return with_all_ways(what);
  if (is_text(content)) return with_ways(what);
  if (quoted_format.point == ',') {
    if (content.find('.') != std::string_view::npos)
      what += " (decimals follow a comma, and nothing groups digits unless --thousands says so)";
  } else if (content.find(',') != std::string_view::npos) {
    what += " (decimals follow a point and nothing groups digits, unless --decimal or --thousands says so)";
  }
  return what;
}

const char* CsvRows::number(const char* at, const char* end, double& value) const {
  if (at == end || *at != '"') return parse_number(at, end, value, format);
  const char* const close = find_character(at + 1, end, '"');
  if (close == end) return nullptr;
  const std::string_view text = trimmed({at + 1, static_cast<std::size_t>(close - at - 1)});
  const char* const stop = text.data() + text.size();
  return !text.empty() && parse_number(text.data(), stop, value, quoted_format) == stop ? close + 1 : nullptr;
}

/// Over a field that is no coordinate.
const char* CsvRows::skip(const char* at, const char* end, std::size_t column, CsvStretch& stretch) const {
  std::string_view text;
  const char* const stop = field(at, end, text);
  const bool quoted = text.starts_with('"');
  if (quoted) {
    if (!closing_quote(at, end))
      throw Bad{column + 1, "the field " + core::excerpt(trimmed(text)) + " has no closing quote"};
    const char* const next = skip_padding(stop, end);
    if (!at_line_end(next, end) && !separates(*next) && (separator != ' ' || next == stop))
      throw Bad{column + 1, "text follows the closing quote of a field"};
    stretch.lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  if (places[column] != ChosenColumns::names_rows) return stop;
  if (quoted) text = text.substr(1, text.size() - 2);
  if (!quoted || text.find('"') == std::string_view::npos) {
    stretch.row_names.add(text);
  } else {
    std::string name;
    for (std::size_t index = 0; index < text.size(); ++index) {
      name += text[index];
      if (text[index] == '"') ++index;  // of a doubled quote, one is left
    }
    stretch.row_names.add(name);
  }
  return stop;
}

/// Appends the numbers of one row; the beginning of the next line.
const char* CsvRows::row(const char* at, const char* end, CsvStretch& stretch) const {
  double* const values = stretch.values.get() + stretch.count;
  const bool plain = format.is_plain();
  for (std::size_t column = 0;;) {
    at = skip_padding(at, end);
    if (column == columns)
      throw Bad{column + 1,
                "more fields than the " + std::to_string(columns) + " of line " + std::to_string(first_line)};
    const char* const begin = at;
    const char* stop = nullptr;
    if (const std::ptrdiff_t place = places[column]; place >= 0) {
      stop = plain && at != end && *at != '"' ? parse_number(at, end, values[place]) : number(at, end, values[place]);
      if (!stop || !std::isfinite(values[place])) stop = nullptr;
      if (stop && stop != end && *stop == separator && separator != ' ') {  // as it mostly is
        at = stop + 1;
        ++column;
        continue;
      }
    } else {
      stop = skip(at, end, column, stretch);
    }
    if (stop) {
      at = skip_padding(stop, end);
      if (at_line_end(at, end)) {
        if (++column != columns)
          throw Bad{column + 1, counted_fields(column) + ", but line " + std::to_string(first_line) + " has " +
                                    std::to_string(columns)};
        stretch.count += taken;
        ++stretch.rows;
        ++stretch.lines;
        return at != end && *at == '\n' ? at + 1 : next_line(at, end);
      }
    }
    if (!stop || (separator == ' ' ? at == stop : *at != separator)) {
      std::string_view text;
      const char* after = field(begin, end, text);
      const bool quoted = text.starts_with('"');
      if (quoted && !closing_quote(begin, end))
        throw Bad{column + 1, "the field " + core::excerpt(trimmed(text)) + " has no closing quote"};
      while (quoted && !at_line_end(after, end) && !separates(*after)) ++after;  // the text behind the quote, too
      if (quoted) text = trimmed({begin, static_cast<std::size_t>(after - begin)});
      throw Bad{column + 1, fault_of(text, column)};
    }
    ++column;
    if (separator != ' ') ++at;
  }
}

void CsvRows::parse(CsvStretch& stretch) const {
  // A number and what separates it from the next one take two bytes.
  const std::size_t room = stretch.text.size() / 2 + 1 + taken;
  if (stretch.room < room) {
    stretch.values = std::make_unique_for_overwrite<double[]>(room);
    stretch.room = room;
  }
  stretch.count = stretch.rows = stretch.lines = stretch.leading_blank = stretch.trailing_blank = 0;
  stretch.row_names.clear();
  stretch.wrong.clear();
  const char* at = stretch.text.data();
  const char* const end = at + stretch.text.size();
  try {
    while (at != end) {
      if (*at == '#') {
        stretch.wrong_row = false;
        if (is_spreadsheet_error({at, end})) throw Bad{1, "an error value of a spreadsheet is not a number"};
        at = next_line(at, end);
        ++stretch.lines;
      } else if (const char* const content = skip_padding(at, end); at_line_end(content, end)) {
        std::size_t& blank = stretch.rows == 0 ? stretch.leading_blank : stretch.trailing_blank;
        if (blank == 0) blank = stretch.lines + 1;
        at = next_line(content, end);
        ++stretch.lines;
      } else {
        stretch.wrong_row = true;
        if (stretch.trailing_blank != 0) {
          stretch.lines = stretch.trailing_blank - 1;
          throw Bad{0, "a blank line between rows of numbers"};
        }
        at = row(at, end, stretch);
      }
    }
  } catch (Bad& bad) {
    stretch.wrong = std::move(bad.what);
    stretch.wrong_line = stretch.lines + 1;
    stretch.wrong_field = bad.field;
  }
}

}  // namespace gradus::io
