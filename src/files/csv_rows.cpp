#include "files/csv_rows.hpp"

#include <bit>
#include <cstdint>
#include <utility>

#include "core/text.hpp"
#include "files/header.hpp"

namespace gradus::files {

namespace {

static_assert(std::endian::native == std::endian::little, "the first of eight characters must be the lowest byte");

/// Returns the first position that holds `one` or `other`, or `end` if there is no such position. Scans eight
/// characters at a time.
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
    // Sets the high bit of each zero byte. Bytes above the first zero byte may also get this bit, because the
    // subtraction borrows from them.
    const std::uint64_t found = (((differs - ones) & ~differs) | ((differs_too - ones) & ~differs_too)) & highs;
    if (found != 0) return at + std::countr_zero(found) / 8;
  }
  while (at != end && *at != one && *at != other) ++at;
  return at;
}

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

std::string without_quotes(std::string_view field) {
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  field = field.substr(1, field.size() - 2);
  std::string text;
  for (std::size_t index = 0; index < field.size(); ++index) {
    text += field[index];
    if (field[index] == '"') ++index;  // a pair of quotes within the field stands for one quote
  }
  return text;
}

struct CsvRows::Bad {
  std::size_t field;
  std::string what;
  std::string value = {};
};

const char* CsvRows::row_end(const char* at, const char* end) const {
  if (at != end && is_comment(at, end)) return next_line(at, end);
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

std::vector<std::string_view> CsvRows::split(const char* at, const char* stop) const {
  std::vector<std::string_view> fields;
  for (at = skip_padding(at, stop);;) {
    std::string_view text;
    const char* next = field(at, stop, text);
    if (text.starts_with('"')) {
      while (next != stop && !separates(*next)) ++next;
      text = trimmed({at, static_cast<std::size_t>(next - at)});
    }
    fields.push_back(text);
    next = skip_padding(next, stop);
    if (next == stop) return fields;
    at = skip_padding(separator == ' ' ? next : next + 1, stop);
  }
}

bool CsvRows::is_like_row(std::string_view line, std::size_t fields) const {
  if (comment.is_given || fields < 2) return false;
  const char* const at = line.data();
  const std::vector<std::string_view> own = split(at, without_line_end(at, at + line.size()));
  return own.size() == fields && (separator != ' ' || own.front().size() > 1);
}

const char* CsvRows::number(const char* at, const char* end, double& value) const {
  if (at == end || *at != '"') return parse_number(at, end, value, format);
  const char* const close = find_character(at + 1, end, '"');
  if (close == end) return nullptr;
  const std::string_view text = trimmed({at + 1, static_cast<std::size_t>(close - at - 1)});
  const char* const stop = text.data() + text.size();
  return !text.empty() && parse_number(text.data(), stop, value, quoted_format) == stop ? close + 1 : nullptr;
}

/// Skips a field that is not a coordinate and returns its end.
const char* CsvRows::skip(const char* at, const char* end, std::size_t column, CsvChunk& chunk) const {
  std::string_view text;
  const char* const stop = field(at, end, text);
  const bool quoted = text.starts_with('"');
  if (quoted) {
    if (!closing_quote(at, end))
      throw Bad{column + 1, "the field " + core::excerpt(trimmed(text)) + " has no closing quote"};
    const char* const next = skip_padding(stop, end);
    if (!at_line_end(next, end) && !separates(*next) && (separator != ' ' || next == stop))
      throw Bad{column + 1, "text follows the closing quote of a field"};
    chunk.lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  if (places[column] != ChosenColumns::names_rows) return stop;
  if (quoted) chunk.row_names.add(without_quotes(text));
  else chunk.row_names.add(text);
  return stop;
}

/// Appends the numbers of one row, unless the row lacks a number. Returns the beginning of the next line.
const char* CsvRows::row(const char* at, const char* end, CsvChunk& chunk) const {
  double* const values = chunk.values.get() + chunk.count;
  const bool plain = format.is_plain();
  bool lacks = false;
  const auto lack = [&](std::string_view text, std::size_t column) {
    IncompleteRows& incomplete = chunk.incomplete;
    if (incomplete.empty() && !lacks) {
      incomplete.line = chunk.lines + 1;
      incomplete.field = column + 1;
      incomplete.text = text.substr(0, 100);
      incomplete.per_column.resize(columns);
    }
    ++incomplete.per_column[column];
    lacks = true;
  };
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
      if (stop && stop != end && *stop == separator && separator != ' ') {  // the most common case
        at = stop + 1;
        ++column;
        continue;
      }
    } else {
      stop = skip(at, end, column, chunk);
    }
    if (!stop || !ends_field(stop, end)) {
      std::string_view text;
      const char* const after = field(begin, end, text);
      if (lacks_number(text)) {
        lack(text, column);
        stop = after;
      }
    }
    if (stop) {
      at = skip_padding(stop, end);
      if (at_line_end(at, end)) {
        if (++column != columns)
          throw Bad{column + 1, counted_fields(column) + ", but line " + std::to_string(first_line) + " has " +
                                    std::to_string(columns)};
        if (lacks) {
          chunk.incomplete.rows.push_back(chunk.all_rows());
          chunk.row_names.shorten(std::min(chunk.row_names.size(), static_cast<std::int64_t>(chunk.rows)));
        } else {
          chunk.count += numbers;
          ++chunk.rows;
        }
        ++chunk.lines;
        return at != end && *at == '\n' ? at + 1 : next_line(at, end);
      }
    }
    if (!stop || (separator == ' ' ? at == stop : *at != separator)) {
      std::string_view text;
      const char* after = field(begin, end, text);
      const bool quoted = text.starts_with('"');
      if (quoted && !closing_quote(begin, end))
        throw Bad{column + 1, "the field " + core::excerpt(trimmed(text)) + " has no closing quote"};
      // The field includes any text after its closing quote.
      while (quoted && !at_line_end(after, end) && !separates(*after)) ++after;
      if (quoted) text = trimmed({begin, static_cast<std::size_t>(after - begin)});
      throw Bad{column + 1, fault_of(text, column), std::string(trimmed(text))};
    }
    ++column;
    if (separator != ' ') ++at;
  }
}

void CsvRows::parse(CsvChunk& chunk) const {
  // A number and its separator take at least two bytes. Therefore, the size of the text limits how many numbers the
  // chunk can contain.
  const std::size_t room = chunk.text.size() / 2 + 1 + numbers;
  if (chunk.room < room) {
    chunk.values = std::make_unique_for_overwrite<double[]>(room);
    chunk.room = room;
  }
  chunk.count = chunk.rows = chunk.lines = chunk.leading_blank = chunk.trailing_blank = 0;
  chunk.row_names.clear();
  chunk.incomplete.clear();
  chunk.fault.clear();
  const char* at = chunk.text.data();
  const char* const end = at + chunk.text.size();
  try {
    while (at != end) {
      if (is_comment(at, end)) {
        chunk.fault_is_in_row = false;
        const char* const next = next_line(at, end);
        if (!comment.is_given && is_like_row({at, static_cast<std::size_t>(next - at)}, columns))
          throw Bad{1, std::string(row_or_comment)};
        at = next;
        ++chunk.lines;
      } else if (const char* const content = skip_padding(at, end); at_line_end(content, end)) {
        std::size_t& blank = chunk.all_rows() == 0 ? chunk.leading_blank : chunk.trailing_blank;
        if (blank == 0) blank = chunk.lines + 1;
        at = next_line(content, end);
        ++chunk.lines;
      } else {
        chunk.fault_is_in_row = true;
        if (chunk.trailing_blank != 0) {
          chunk.lines = chunk.trailing_blank - 1;
          throw Bad{0, "a blank line between rows of numbers"};
        }
        at = row(at, end, chunk);
      }
    }
  } catch (Bad& bad) {
    chunk.fault = std::move(bad.what);
    chunk.fault_line = chunk.lines + 1;
    chunk.fault_field = bad.field;
    chunk.fault_value = std::move(bad.value);
  }
}

}  // namespace gradus::files
