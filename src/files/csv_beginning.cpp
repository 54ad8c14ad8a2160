#include "files/csv_beginning.hpp"

#include <algorithm>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/header.hpp"
#include "files/number.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

namespace {

constexpr std::ptrdiff_t bytes_between_looks = std::ptrdiff_t{1} << 18;
/// Size of the sample of text that is examined for the decimal separator and the contents of columns.
constexpr std::ptrdiff_t bytes_of_a_sample = std::ptrdiff_t{1} << 16;

bool may_name_a_row(std::string_view field) {
  return field.starts_with('"') || is_text(field) ||
         (!field.empty() && std::all_of(field.begin(), field.end(), is_digit));
}

bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size() - at) return false;
    for (std::size_t next = at + 1; next < at + length; ++next)
      if ((byte(next) & 0xc0u) != 0x80) return false;
    if (length > 2) {
      const unsigned second = byte(at + 1);
      // Rejects overlong encodings, surrogates, and code points greater than U+10FFFF.
      const bool beyond = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                          (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
      if (beyond) return false;
    }
    at += length;
  }
  return true;
}

std::vector<std::string_view> split_at(char separator, std::string_view line) {
  return CsvRows{.separator = separator}.split(line.data(), line.data() + line.size());
}

/// Returns true if the line holds blank-separated numbers with decimal commas: "1,5 2,5".
bool are_comma_numbers(std::string_view line) {
  const std::vector<std::string_view> words = split_at(' ', line);
  return std::all_of(words.begin(), words.end(),
                     [](std::string_view word) { return is_number(word, {.point = ',', .group = 0}); });
}

/// Returns true if some field contains a tab outside of quotes. Commas separate the fields.
bool holds_tab(std::string_view line) {
  const std::vector<std::string_view> fields = split_at(',', line);
  return std::any_of(fields.begin(), fields.end(), [](std::string_view field) {
    return !field.starts_with('"') && field.find('\t') != std::string_view::npos;
  });
}

}  // namespace

CsvBeginning::CsvBeginning(std::string_view name, const CsvOptions& options, const std::stop_token& stop)
    : name_(name), options_(options), stop_(stop), separator_(options.separator) {
  if (separator_ != Separator::detect) rows_.separator = static_cast<char>(separator_);
  rows_.comment = options.comment;
  rows_.offers_columns = options.columns.offers_columns;
  rows_.offers_drop = options.columns.offers_columns && options.columns.taken.empty();
}

void CsvBeginning::fail(std::size_t line, std::size_t field, const std::string& what, std::string_view value) const {
  ErrorFields fields = fields_of_file(name_, line, field);
  fields.value = value;
  throw InputError(
      std::string(name_) + ":" + std::to_string(line) + ":" + (field ? std::to_string(field) + ": " : " ") + what,
      fields);
}

std::vector<std::string> CsvBeginning::notes(std::size_t rows) const {
  std::vector<std::string> notes;
  // A single line without names must be a row, so a note about a header would be pointless.
  if (!header_note_.empty() && (!rows_.names.empty() || rows > 1)) notes.push_back(header_note_);
  notes.insert(notes.end(), notes_.begin(), notes_.end());
  return notes;
}

const char* CsvBeginning::take(const char* at, const char* end, bool last) {
  const char* look_at = at;
  while (at != end && !settled_) {
    if (at >= look_at) {
      core::honour_stop(stop_, "stopped while reading " + std::string(name_));
      look_at = at + std::min(bytes_between_looks, end - at);
    }
    if (rows_.is_comment(at, end)) {
      take_comment({at, static_cast<std::size_t>(find_character(at, end, '\n') - at)});
      at = next_line(at, end);
    } else if (const char* const content = rows_.skip_padding(at, end); at_line_end(content, end)) {
      at = next_line(content, end);
    } else if (!(first_line_ == 0 ? first_line(at, end, last) : first_row(at, end, last))) {
      break;
    }
  }
  return at;
}

const char* CsvBeginning::next_line(const char* at, const char* end) {
  at = find_character(at, end, '\n');
  ++line_;
  return at == end ? end : at + 1;
}

// ---- Comments that may be rows ----

void CsvBeginning::take_comment(std::string_view line) {
  constexpr std::size_t most = 64;
  constexpr std::size_t longest = 4096;
  if (first_line_ == 0) {
    if (comments_.size() < most && line.size() <= longest) comments_.emplace_back(line_, line);
  } else if (rows_.is_like_row(line, rows_.names.size())) {
    fail(line_, 1, std::string(row_or_comment));
  } else if (longer_comment_ == 0 && rows_.is_like_row(line, rows_.names.size() + 1)) {
    longer_comment_ = line_;
  }
}

/// If the table has no header and all coordinates are numbers, throws InputError if a comment may be a row.
void CsvBeginning::refuse_lost_rows() const {
  if (!rows_.names.empty() || rows_.places.front() >= 0) return;
  for (const auto& [line, text] : comments_) {
    if (!rows_.is_like_row(text, rows_.columns)) continue;
    const std::string_view row = trimmed(std::string_view(text).substr(0, text.find('\r')));
    const std::vector<std::string_view> fields = rows_.split(row.data(), row.data() + row.size());
    bool numbers = true;
    for (std::size_t column = 0; column < fields.size(); ++column)
      numbers = numbers && (rows_.places[column] < 0 || is_number(without_quotes(fields[column]), rows_.quoted_format));
    if (numbers) fail(line, 1, std::string(row_or_comment));
  }
}

// ---- The first line ----

/// Determines the separator, the notation and the names. Consumes the first line if it is a header, but not if it is a
/// row of numbers. Returns false if a quoted field, or the text needed to decide, extends beyond the available text.
bool CsvBeginning::first_line(const char*& at, const char* end, bool last) {
  Marks seen{};
  const char* const stop = end_of_first_line(at, end, seen);
  if (!stop) {
    if (last) fail(line_, 0, "a quoted field has no closing quote");
    return false;
  }
  const std::string_view line(at, static_cast<std::size_t>(stop - at));
  if (take_separator_line(line)) {
    at = next_line(stop, end);
    return true;
  }
  const char* const row = row_below(stop, end);
  if (row == end && !last) return false;
  if (separator_ == Separator::detect) {
    const char* const below_end = without_line_end(row, find_character(row, end, '\n'));
    choose_separator(line, {row, static_cast<std::size_t>(below_end - row)}, seen);
    if (const char mark = separator_of_one_column(line, row, end)) separator_ = static_cast<Separator>(mark);
  }
  rows_.separator = static_cast<char>(separator_);
  const char* const row_end = rows_.row_end(row, end);
  if (!row_end && !last) return false;
  first_line_ = line_;
  rows_.first_line = line_;
  choose_format(at, end);
  std::vector<FirstField> below;
  if (row != end && row_end)
    for (const std::string_view text : rows_.split(row, without_line_end(row, row_end))) {
      below.push_back({std::string(trimmed(without_quotes(text))), text.starts_with('"')});
      below.back().text = plain_number(below.back());
    }
  std::vector<FirstField> fields = header_fields(at, stop);
  if (row != end && below.size() != fields.size()) refuse_preamble(trimmed(line));
  below_line_ = line_ + static_cast<std::size_t>(std::count(at, row, '\n'));
  if (is_header(fields, below, trimmed(line), lines_below(row, end))) {
    for (FirstField& field : fields) {
      if (!is_utf8(field.text))
        fail(line_, rows_.names.size() + 1,
             "the name of the column, " + core::excerpt(field.text) + ", is not UTF-8; convert the file, " +
                 advice_to_run("iconv -f LATIN1 -t UTF-8 {in} > {out}{ending}", std::string(name_)));
      rows_.names.push_back(std::move(field.text));
    }
    line_ += static_cast<std::size_t>(std::count(at, stop, '\n'));
    at = next_line(stop, end);
  }
  return true;
}

/// Handles a line such as "sep=;" above a table. Spreadsheets specify the separator with such a line. Returns false for
/// any other line.
bool CsvBeginning::take_separator_line(std::string_view line) {
  const std::optional<char> mark = separator_given_by(line);
  if (!mark) return false;
  if (!may_separate(*mark)) fail(line_, 0, core::excerpt(without_quotes(line)) + std::string(separator_fault));
  separator_ = static_cast<Separator>(*mark);
  return true;
}

/// Returns the end of the line at `at`, or nullptr if a quote is not closed. Marks in `seen` which of the possible
/// separators the line contains.
const char* CsvBeginning::end_of_first_line(const char* at, const char* end, Marks& seen) const {
  bool field_begins = true;
  for (; !at_line_end(at, end); ++at) {
    if (*at == '"' && field_begins) {
      at = closing_quote(at, end);
      if (!at) return nullptr;
    }
    if (*at == '\r')
      fail(line_, 0,
           "a carriage return without a line feed; lines end with LF or CRLF; if all of them end with CR, convert the "
           "file, " +
               advice_to_run("tr '\\r' '\\n' < {in} > {out}{ending}", std::string(name_)));
    seen[static_cast<unsigned char>(*at)] = true;
    field_begins = is_blank(*at) || *at == ',' || *at == ';' || *at == '|';
  }
  return at;
}

/// Chooses the separator among the candidates `; , tab |` that occur in the line. Chooses the first candidate that
/// splits the line and the row below into equally many fields. If no candidate does so, chooses the first candidate.
void CsvBeginning::choose_separator(std::string_view line, std::string_view below, Marks& seen) {
  const bool comma_decimals = options_.style.decimal == Decimal::comma;
  if (seen['\t'] && (comma_decimals || holds_tab(line))) seen[','] = false;
  if (comma_decimals && seen[','] && !seen[';'] && are_comma_numbers(line)) {
    if (split_at(' ', line).size() == 1)
      fail(
          line_, 0,
          core::excerpt(trimmed(line)) +
              " may be one number with decimals, or two fields; put semicolons between fields, or a line with the name "
              "of the column above the numbers");
    seen[','] = false;
  }
  std::string marks;
  for (const char mark : {';', ',', '\t', '|'})
    if (seen[static_cast<unsigned char>(mark)]) marks += mark;
  if (marks.empty()) marks = ' ';
  const auto fits = [&](char mark) { return split_at(mark, line).size() == split_at(mark, below).size(); };
  const auto fitting = std::find_if(marks.begin(), marks.end(), fits);
  separator_ = static_cast<Separator>(fitting == marks.end() ? marks.front() : *fitting);
}

/// If the line is the name of the only column and contains separators, returns a separator that the line does not
/// contain. Otherwise returns 0. The line is such a name if each row from `row` on is a single field.
char CsvBeginning::separator_of_one_column(std::string_view line, const char* row, const char* end) const {
  constexpr std::string_view marks = ";\t|,";
  if (options_.header == HeaderLine::no || split_at(static_cast<char>(separator_), line).size() < 2) return 0;
  std::vector<FirstField> words;
  for (const std::string_view word : split_at(' ', line)) words.push_back({std::string(word)});
  if (options_.header == HeaderLine::automatic && !guess_header(words).is_header) return 0;
  const std::vector<std::string_view> rows = lines_below(row, end);
  const bool decimal_commas = options_.style.decimal == Decimal::comma && line.find(',') == std::string_view::npos;
  const auto is_whole = [&](std::string_view text) {
    if (text.find('\n') != std::string_view::npos) return false;  // the newline is within quotes
    return split_at(' ', text).size() == 1 && std::none_of(marks.begin(), marks.end(), [&](char mark) {
             const bool decimals = mark == ',' && decimal_commas;
             return !decimals && split_at(mark, text).size() > 1;
           });
  };
  if (rows.empty() || !std::all_of(rows.begin(), rows.end(), is_whole)) return 0;
  const auto free =
      std::find_if(marks.begin(), marks.end(), [&](char mark) { return line.find(mark) == std::string_view::npos; });
  return free == marks.end() ? '\0' : *free;
}

/// Returns the lines that begin at `at` or later, without blank lines and comments. Reads at most one sample of text.
std::vector<std::string_view> CsvBeginning::lines_below(const char* at, const char* end) const {
  std::vector<std::string_view> lines;
  for (const char* const sample = at + std::min(end - at, bytes_of_a_sample); at < sample;) {
    const char* const next = rows_.row_end(at, end);
    if (!next) break;
    const std::string_view line = trimmed({at, static_cast<std::size_t>(without_line_end(at, next) - at)});
    if (!line.empty() && !rows_.is_comment(at, end)) lines.push_back(line);
    at = next;
  }
  return lines;
}

/// Returns the fields of the first line, without padding and quotes.
std::vector<FirstField> CsvBeginning::header_fields(const char* at, const char* stop) const {
  std::vector<FirstField> fields;
  for (const std::string_view text : rows_.split(at, stop)) {
    const bool quoted = text.starts_with('"');
    if (quoted) {
      const char* const close = closing_quote(text.data(), text.data() + text.size());
      if (!close) fail(line_, fields.size() + 1, "the field has no closing quote");
      if (close + 1 != text.data() + text.size())
        fail(line_, fields.size() + 1, "text follows the closing quote of a field");
    }
    fields.push_back({quoted ? without_quotes(text) : std::string(text), quoted});
  }
  return fields;
}

/// Returns the row below the line that ends at `at`, or `end` if the available text has no such row.
const char* CsvBeginning::row_below(const char* at, const char* end) const {
  for (;;) {
    at = find_character(at, end, '\n');
    if (at == end || ++at == end) return end;
    if (!rows_.is_comment(at, end) && !at_line_end(rows_.skip_padding(at, end), end)) return at;
  }
}

/// Decides whether the first line is a header. Records the decision if it is doubtful.
bool CsvBeginning::is_header(const std::vector<FirstField>& fields, const std::vector<FirstField>& below,
                             std::string_view line, std::span<const std::string_view> rows) {
  const auto note = [&](const char* what) {
    header_note_ = at_line(line_) + "the first line, " + core::excerpt(line) + ", " + what;
  };
  if (options_.header == HeaderLine::no) return false;
  if (options_.header == HeaderLine::yes) {
    // The option --header applies to all tables of a command, so it may be incorrect for this table.
    if (all_numbers(fields) && !guess_header(fields).doubtful)
      note("is made of numbers and read as names of columns, as --header says");
    return true;
  }
  const ColumnChoice& choice = options_.columns;
  const auto is_called = [&](const FirstField& field) { return choice.asks_for(field.text, fields.size()); };
  if (choice.holds_names() && std::any_of(fields.begin(), fields.end(), is_called)) return true;
  const auto is_there = [&](const std::string& name) {
    return std::any_of(fields.begin(), fields.end(), [&](const FirstField& field) { return field.text == name; });
  };
  if (!choice.expected.empty() && std::all_of(choice.expected.begin(), choice.expected.end(), is_there)) return true;
  std::vector<FirstField> plain;
  for (const FirstField& field : fields) plain.push_back({plain_number(field), field.quoted});
  const HeaderGuess guess = guess_header(plain, below, coordinates(fields.size()));
  const bool left_out =
      guess.broken && options_.missing == Missing::drop_rows && is_missing(fields[*guess.broken].text);
  if (guess.undecided || (guess.broken && !left_out)) refuse_first_line(guess, fields, below);
  const bool unlike_rows = !guess.broken && !guess.is_header && options_.names_matter && is_unlike(plain, rows);
  if (guess.doubtful && guess.is_header) note("is read as names of columns; if it is a row, say --header no");
  else if ((guess.doubtful || unlike_rows) && options_.names_matter)
    note("is read as a row of numbers; if it names the columns, say --header yes");
  return guess.is_header;
}

/// Returns true if the numbers of the first line seem to be names of columns, because they differ from the rows below.
bool CsvBeginning::is_unlike(std::span<const FirstField> first, std::span<const std::string_view> rows) const {
  constexpr std::size_t most_rows = 16;
  std::vector<std::vector<FirstField>> below;
  for (const std::string_view row : rows.first(std::min(rows.size(), most_rows))) {
    std::vector<FirstField>& fields = below.emplace_back();
    for (const std::string_view text : rows_.split(row.data(), row.data() + row.size())) {
      fields.push_back({std::string(trimmed(without_quotes(text))), text.starts_with('"')});
      fields.back().text = plain_number(fields.back());
    }
  }
  return numbers_unlike_rows(first, below, coordinates(first.size()));
}

void CsvBeginning::refuse_first_line(const HeaderGuess& guess, const std::vector<FirstField>& fields,
                                     const std::vector<FirstField>& below) const {
  const std::size_t at = guess.broken ? *guess.broken : *guess.undecided;
  const std::string& text = fields[at].text;
  // R writes one name fewer than there are columns.
  if (!below.empty() && below.size() != fields.size() && below.size() != fields.size() + 1)
    fail(line_, 0,
         "the line has " + std::to_string(fields.size()) + (fields.size() == 1 ? " field" : " fields") + ", but line " +
             std::to_string(below_line_) + " has " + std::to_string(below.size()) + ", and " + core::excerpt(text) +
             " is not a number; if the line is no part of the table, delete it, " +
             advice_to_run("tail -n +" + std::to_string(line_ + 1) + " {in} > {out}{ending}", std::string(name_)));
  const std::string ask = "if this line names the columns, say --header yes";
  if (guess.undecided)
    fail(line_, at + 1,
         (text.empty() ? "the field is empty" : core::excerpt(text) + " is not a number") + "; " + ask +
             "; if it is a row, --header no");
  const std::string_view next = at < below.size() ? std::string_view(below[at].text) : "";
  if (is_missing(text)) fail(line_, at + 1, rows_.lack_of(text) + "; " + ask + "; if it is a row, --header no");
  if (is_text(text) && is_any_number(next))
    fail(line_, at + 1, core::excerpt(text) + " is not a number, but the row below has a number there; " + ask);
  fail(line_, at + 1, rows_.fault_of(text, at) + "; " + ask, text);
}

/// Throws InputError if the line begins like a comment in another program's syntax. The caller has found that the line
/// and the next line have different numbers of fields.
void CsvBeginning::refuse_preamble(std::string_view line) const {
  constexpr std::string_view marks = "%!;/";
  if (options_.comment.is_given || marks.find(line.front()) == std::string_view::npos) return;
  if (line.front() == '/' && !line.starts_with("//")) return;
  const std::string mark = std::string("'") + line.front() + "'";
  fail(line_, 1,
       "the line begins with " + mark +
           " and has other fields than the next one; if such lines are comments, say "
           "--comment " +
           mark);
}

/// Returns true for each field of the first line that is a coordinate. If this depends on the names of the columns,
/// returns true for all fields.
std::vector<bool> CsvBeginning::coordinates(std::size_t count) const {
  std::vector<bool> all(count, true);
  if (options_.columns.empty() || options_.columns.holds_names()) return all;
  try {
    const std::vector<std::ptrdiff_t> places = choose_columns(options_.columns, {}, count, name_).places(count);
    for (std::size_t column = 0; column < count; ++column) all[column] = places[column] >= 0;
  } catch (const InputError&) {
    // The first line may be a header that lacks a name. If it is not, the first row will report this error.
  }
  return all;
}

/// Returns the field's number in plain notation: with a decimal point and without group separators. Returns any other
/// text unchanged.
std::string CsvBeginning::plain_number(const FirstField& field) const {
  const NumberFormat& format = field.quoted ? rows_.quoted_format : rows_.format;
  if (format.is_plain() || !is_number(field.text, format)) return field.text;
  std::string text = field.text;
  std::erase(text, format.group);
  std::replace(text.begin(), text.end(), format.point, '.');
  return text;
}

// ---- The notation of numbers ----

/// Determines the decimal separator and the group separator. `at` is the beginning of the first line.
void CsvBeginning::choose_format(const char* at, const char* end) {
  const NumberStyle& style = options_.style;
  NumberFormat& format = rows_.quoted_format;
  format.group = style.group;
  if (style.decimal == Decimal::comma || (style.decimal == Decimal::automatic && style.group == '.')) {
    format.point = ',';
  } else if (style.decimal == Decimal::automatic && style.group != ',' && shows_decimal_commas(at, end)) {
    format.point = ',';
    notes_.push_back(std::string(name_) + ": " + std::string(decimal_comma_note));
  }
  if (format.point == format.group)
    throw UsageError(std::string("--thousands: '") + format.group + "' is what decimals follow here");
  // Outside of quotes, a number cannot contain the separator of fields.
  rows_.format = format;
  if (rows_.separates(format.group)) rows_.format.group = 0;
  if (rows_.separates(format.point)) rows_.format.point = 0;
}

/// Returns true if some numbers have decimal commas and no number has a decimal point. Returns false if commas or
/// blanks separate the fields, because a comma is then more likely a separator.
bool CsvBeginning::shows_decimal_commas(const char* at, const char* end) const {
  if (separator_ == Separator::comma || separator_ == Separator::blanks) return false;
  bool commas = false;
  std::size_t points_above = 0;  // the first line begins with this many numbers that have a decimal point
  std::size_t doubtful_line = 0;
  std::size_t doubtful_field = 0;
  std::string doubtful;
  std::size_t line = line_;
  for (const char* const sample = at + std::min(end - at, bytes_of_a_sample); at < sample;) {
    const char* const stop = rows_.row_end(at, end);
    if (!stop) break;
    std::size_t number = 0;
    if (!rows_.is_comment(at, end))
      for (const std::string_view field : rows_.split(at, without_line_end(at, stop))) {
        const std::string text(trimmed(without_quotes(field)));
        ++number;
        if (text.find('.') != std::string::npos && is_number(text)) {
          if (line != line_ || points_above + 1 != number) return false;
          points_above = number;
          continue;
        }
        if (line == line_ && points_above > 0) return false;
        const Comma comma = comma_in(text);
        commas = commas || comma == Comma::decimals;
        if (comma == Comma::either && doubtful_line == 0) {
          doubtful_line = line;
          doubtful_field = number;
          doubtful = core::excerpt(text);
        }
      }
    line += static_cast<std::size_t>(std::count(at, stop, '\n'));
    at = stop;
  }
  if (!commas && doubtful_line != 0) fail(doubtful_line, doubtful_field, doubtful + std::string(either_comma_fault));
  if (commas && points_above > 0 && options_.header == HeaderLine::automatic)
    fail(line_, 0,
         "decimals follow a point in this line, and a comma in the lines below; if this line names the columns, say "
         "--decimal comma --header yes");
  return commas && (points_above == 0 || options_.header == HeaderLine::yes);
}

// ---- The first row ----

/// Determines the columns without consuming text. Returns false if the row extends beyond the available text.
bool CsvBeginning::first_row(const char* at, const char* end, bool last) {
  const char* next = rows_.row_end(at, end);
  const bool open = !next;  // a quote is not closed; the parser of rows reports this
  if (open && !last) return false;
  if (open) next = find_character(at, end, '\n');
  const std::vector<std::string_view> fields = rows_.split(at, without_line_end(at, next));
  std::vector<std::string>& names = rows_.names;
  if (!open && !names.empty() && fields.size() == names.size() + 1 && !fields.back().empty() &&
      may_name_a_row(fields.front())) {
    names.insert(names.begin(), "");
    if (longer_comment_ != 0) fail(longer_comment_, 1, std::string(row_or_comment));
    notes_.push_back(at_line(first_line_) + "one name less than the " + std::to_string(fields.size()) +
                     " columns of line " + std::to_string(line_) +
                     ": the first column is read as one without a name, as R writes the names of rows");
  }
  rows_.columns = names.empty() ? fields.size() : names.size();
  for (std::size_t column = 0; column < fields.size() && names.empty() && options_.header == HeaderLine::automatic;
       ++column)
    if (const std::string text = without_quotes(fields[column]); options_.columns.asks_for(text, fields.size()))
      fail(line_, column + 1,
           core::excerpt(text) +
               " is asked for as a column, but the line is read as a row; if it names the columns, say --header yes");
  chosen_ = choose_columns(options_.columns, names, rows_.columns, name_);
  rows_.places = chosen_.places(rows_.columns);
  rows_.coordinates = chosen_.taken.size();
  rows_.numbers = chosen_.numbers();
  refuse_lost_rows();
  if (!chosen_.unexpected.empty())
    notes_.push_back(std::string(name_) + ": the columns are found by their names; " +
                     columns_text(names, chosen_.unexpected) + (chosen_.unexpected.size() == 1 ? " is" : " are") +
                     " left out");
  if (options_.columns.offers_columns && !open) refuse_text(fields, next, end);
  settled_ = true;
  return true;
}

/// Throws InputError if the first row has text in coordinate columns. Does nothing if the user has chosen the columns,
/// or cannot choose them. `at` is the next row.
void CsvBeginning::refuse_text(std::span<const std::string_view> first, const char* at, const char* end) const {
  constexpr std::size_t most_rows = 16;
  std::vector<std::vector<std::string_view>> below;
  for (const char* const sample = at + std::min(end - at, bytes_of_a_sample);
       at < sample && below.size() < most_rows;) {
    const char* const next = rows_.row_end(at, end);
    if (!next) break;
    const char* const stop = without_line_end(at, next);
    if (stop != at && !rows_.is_comment(at, end)) below.push_back(rows_.split(at, stop));
    at = next;
  }
  std::size_t field = 0;
  const std::string what =
      rows_.fault_of_text(first, below, field, options_.columns.offers_id && options_.columns.id.empty());
  if (what.empty()) return;
  const bool doubtful = !header_note_.empty() && options_.header == HeaderLine::automatic && !rows_.names.empty();
  fail(line_, field + 1,
       doubtful ? what + "; if line " + std::to_string(first_line_) + " is a row, say --header no" : what);
}

}  // namespace gradus::files
