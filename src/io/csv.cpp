#include "io/csv.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/growing_block.hpp"
#include "io/number.hpp"
#include "io/text_input.hpp"

namespace gradus::io {
namespace {

/// Any number, also a NaN or an infinity: they are bad data, not names of columns.
bool is_number(std::string_view text) {
  double value = 0;
  return parse_number(text.data(), text.data() + text.size(), value) == text.data() + text.size();
}

class CsvParser {
 public:
  CsvParser(std::string_view name, const CsvOptions& options, const std::stop_token& stop)
      : name_(name), separator_(options.separator), header_(options.header), stop_(stop) {}

  /// Takes whole lines from the beginning of `text`, all of it where it is the last, and returns how many bytes.
  std::size_t consume(std::string_view text, bool last) {
    if (const std::string_view what = started_ ? "" : no_text(text); !what.empty()) fail(1, 0, std::string(what));
    if (!last) text = text.substr(0, text.find_last_of('\n') + 1);
    const char* at = text.data();
    const char* const end = at + text.size();
    if (!started_ && !text.empty()) {
      started_ = true;
      if (text.starts_with("\xef\xbb\xbf")) at += 3;
    }
    const char* look_at = at;
    while (at != end) {
      if (at >= look_at) {
        core::honour_stop(stop_, "stopped while reading " + std::string(name_));
        look_at = at + std::min<std::ptrdiff_t>(bytes_between_looks, end - at);
      }
      if (*at == '#') {
        if (is_spreadsheet_error({at, end})) fail(line_, 1, "an error value of a spreadsheet is not a number");
        at = next_line(at, end);
      } else if (const char* const content = skip_padding(at, end); at_line_end(content, end)) {
        if (block_->size() != 0 && first_blank_ == 0) first_blank_ = line_;
        at = next_line(content, end);
      } else if (columns_ != 0) {
        at = row(at, end);
      } else if (!first_line(at, end, last)) {
        break;
      }
    }
    return static_cast<std::size_t>(at - text.data());
  }

  CsvTable finish() {
    if (block_->size() == 0) fail(line_, 0, "there is no row of numbers");
    block_->trim();
    const MatrixView<const double> view(block_->data(), static_cast<std::int64_t>(block_->size() / columns_),
                                        static_cast<std::int64_t>(columns_));
    // A line above nothing can only be a row.
    if (names_.empty() && view.rows() == 1) note_.clear();
    return {{view, std::move(block_)}, std::move(names_), std::move(note_)};
  }

 private:
  static constexpr std::ptrdiff_t bytes_between_looks = std::ptrdiff_t{1} << 18;

  [[noreturn]] void fail(std::size_t line, std::size_t field, const std::string& what) const {
    throw InputError(std::string(name_) + ":" + std::to_string(line) + ":" +
                     (field ? std::to_string(field) + ": " : " ") + what);
  }

  [[noreturn]] void fail_field(const char* begin, const char* end, std::size_t column) const {
    const char* stop = begin;
    if (stop != end && *stop == '"') {
      stop = closing_quote(stop, end);
      if (!stop) {
        stop = std::find(begin, end, '\n');
        fail(line_, column + 1, "the field " + core::excerpt(trimmed({begin, stop})) + " has no closing quote");
      }
    }
    while (!at_line_end(stop, end) && !separates(*stop)) ++stop;
    const std::string_view text = trimmed({begin, static_cast<std::size_t>(stop - begin)});
    const bool in_quotes = text.size() > 1 && text.front() == '"' && text.back() == '"';
    const std::string_view number = in_quotes ? trimmed(text.substr(1, text.size() - 2)) : text;
    std::string what;
    if (text.empty()) {
      what = "the field is empty; a number is expected";
    } else if (is_number(number)) {
      const bool spelled = !is_digit(number.back()) && number.back() != '.';
      what = core::excerpt(text) + (spelled ? " is not a finite number" : " is too large for a double");
    } else {
      what = not_a_number(text);
    }
    fail(line_, column + 1, what);
  }

  static std::string not_a_number(std::string_view text) {
    const bool comma = text.find(',') != std::string_view::npos;
    return core::excerpt(text) + " is not a number" +
           (comma ? " (decimals follow a point; nothing groups digits)" : "");
  }

  static bool at_line_end(const char* at, const char* end) {
    return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
  }

  /// Past the end of the line on which `at` stands.
  const char* next_line(const char* at, const char* end) {
    const void* const newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    ++line_;
    return newline ? static_cast<const char*>(newline) + 1 : end;
  }

  static const char* skip_blanks(const char* at, const char* end) {
    while (at != end && is_blank(*at)) ++at;
    return at;
  }

  bool separates(char character) const {
    return separator_ == Separator::blanks ? is_blank(character) : character == static_cast<char>(separator_);
  }

  /// Blanks that do not separate.
  const char* skip_padding(const char* at, const char* end) const {
    while (at != end && is_blank(*at) && !(separator_ == Separator::tab && *at == '\t')) ++at;
    return at;
  }

  /// The quote that ends the field which the one at `at` begins, over doubled ones; nullptr where there is none.
  static const char* closing_quote(const char* at, const char* end) {
    for (++at;; at += 2) {
      at = std::find(at, end, '"');
      if (at == end) return nullptr;
      if (at + 1 == end || at[1] != '"') return at;
    }
  }

  /// Settles separator, columns and names. Consumes the first line where it is a header, and nothing where it holds
  /// numbers; false where a quoted field goes on beyond the text at hand.
  bool first_line(const char*& at, const char* end, bool last) {
    const char* const stop = end_of_first_line(at, end);
    if (!stop) {
      if (last) fail(line_, 0, "a quoted field has no closing quote");
      return false;
    }
    std::vector<FirstField> fields = split(at, stop);
    first_line_ = line_;
    columns_ = fields.size();
    if (is_header(fields, trimmed({at, stop}))) {
      for (FirstField& field : fields) names_.push_back(std::move(field.text));
      line_ += static_cast<std::size_t>(std::count(at, stop, '\n'));
      at = next_line(stop, end);
    }
    return true;
  }

  /// Decides what the first line is, and notes what may be wrong with that.
  bool is_header(const std::vector<FirstField>& fields, std::string_view line) {
    const auto note = [&](const char* what) {
      note_ =
          std::string(name_) + ":" + std::to_string(line_) + ": the first line, " + core::excerpt(line) + ", " + what;
    };
    if (header_ == HeaderLine::no) return false;
    if (header_ == HeaderLine::yes) {
      // One --header is for all tables of a command, and for one of them it may be wrong.
      if (all_numbers(fields) && !guess_header(fields).doubtful)
        note("is made of numbers and taken as names of columns, as --header says");
      return true;
    }
    const HeaderGuess guess = guess_header(fields);
    if (guess.broken) {
      const std::string& text = fields[*guess.broken].text;
      fail(line_, *guess.broken + 1,
           (text.empty() ? "the field is empty; a number is expected" : not_a_number(text)) +
               "; if this line names the columns, say --header yes");
    }
    if (guess.doubtful && guess.is_header)
      note("is taken as names of columns; if it is a row with an error in it, fix it");
    else if (guess.doubtful) note("is taken as a row of numbers; if it names the columns, say --header yes");
    return guess.is_header;
  }

  /// The end of the line that begins at `at`, behind newlines within quotes; nullptr where a quote stays open.
  /// Chooses the separator on the way.
  const char* end_of_first_line(const char* at, const char* end) {
    bool field_begins = true;
    bool semicolon = false;
    bool comma = false;
    bool tab = false;
    for (; !at_line_end(at, end); ++at) {
      if (*at == '"' && field_begins) {
        at = closing_quote(at, end);
        if (!at) return nullptr;
      }
      if (*at == '\r') fail(line_, 0, "a carriage return without a line feed; lines end with LF or CRLF");
      semicolon = semicolon || *at == ';';
      comma = comma || *at == ',';
      tab = tab || *at == '\t';
      field_begins = is_blank(*at) || *at == ',' || *at == ';';
    }
    if (separator_ == Separator::detect)
      separator_ = semicolon ? Separator::semicolon
                   : comma   ? Separator::comma
                   : tab     ? Separator::tab
                             : Separator::blanks;
    return at;
  }

  /// The fields of the first line, without padding and quotes.
  std::vector<FirstField> split(const char* at, const char* stop) const {
    std::vector<FirstField> fields;
    for (;;) {
      at = skip_padding(at, stop);
      FirstField field;
      if (at != stop && *at == '"') {
        field.quoted = true;
        for (++at; at != stop; field.text += *at++) {
          if (*at != '"') continue;
          if (at + 1 == stop || at[1] != '"') break;
          ++at;  // of a doubled quote, one is left
        }
        if (at == stop) fail(line_, fields.size() + 1, "the field has no closing quote");
        ++at;
        at = skip_padding(at, stop);
        if (at != stop && !separates(*at) && !(separator_ == Separator::blanks && is_blank(at[-1])))
          fail(line_, fields.size() + 1, "text follows the closing quote of a field");
      } else {
        const char* const begin = at;
        while (at != stop && !separates(*at)) ++at;
        field.text = trimmed({begin, static_cast<std::size_t>(at - begin)});
      }
      fields.push_back(std::move(field));
      at = separator_ == Separator::blanks ? skip_blanks(at, stop) : at;
      if (at == stop) return fields;
      if (separator_ != Separator::blanks) ++at;
    }
  }

  /// A number in quotes at `at`: the place behind the closing quote, or nullptr.
  static const char* quoted_number(const char* at, const char* end, double& value) {
    const char* const close = std::find(at + 1, end, '"');
    if (close == end) return nullptr;
    const std::string_view text = trimmed({at + 1, static_cast<std::size_t>(close - at - 1)});
    const char* const stop = text.data() + text.size();
    return parse_number(text.data(), stop, value) == stop && !text.empty() ? close + 1 : nullptr;
  }

  /// Appends the numbers of one line and returns the beginning of the next.
  const char* row(const char* at, const char* end) {
    if (first_blank_ != 0) fail(first_blank_, 0, "a blank line between rows of numbers");
    double* const values = block_->room(columns_);
    for (std::size_t column = 0;;) {
      at = skip_padding(at, end);
      if (column == columns_)
        fail(line_, column + 1,
             "more fields than the " + std::to_string(columns_) + " of line " + std::to_string(first_line_));
      const char* const begin = at;
      const char* const stop =
          at != end && *at == '"' ? quoted_number(at, end, values[column]) : parse_number(at, end, values[column]);
      if (!stop || !std::isfinite(values[column])) fail_field(begin, end, column);
      at = skip_padding(stop, end);
      ++column;
      if (at_line_end(at, end)) {
        if (column != columns_)
          fail(line_, column + 1,
               std::to_string(column) + (column == 1 ? " field" : " fields") + ", but line " +
                   std::to_string(first_line_) + " has " + std::to_string(columns_));
        block_->add(columns_);
        return next_line(at, end);
      }
      if (separator_ == Separator::blanks ? at == stop : !separates(*at)) fail_field(begin, end, column - 1);
      if (separator_ != Separator::blanks) ++at;
    }
  }

  std::string_view name_;
  Separator separator_;
  HeaderLine header_;
  const std::stop_token& stop_;
  bool started_ = false;
  std::size_t line_ = 1;         ///< of the text at hand
  std::size_t first_line_ = 0;   ///< that settled the number of columns
  std::size_t first_blank_ = 0;  ///< blank line behind rows, 0: none
  std::size_t columns_ = 0;      ///< 0: not known yet
  std::vector<std::string> names_;
  std::string note_;
  std::shared_ptr<GrowingBlock<double>> block_ = std::make_shared<GrowingBlock<double>>();
};

}  // namespace

CsvTable read_csv(TextInput&& input, const CsvOptions& options, const std::stop_token& stop) {
  CsvParser parser(input.name(), options, stop);
  input.feed([&](std::string_view text, bool last) { return parser.consume(text, last); });
  return parser.finish();
}

CsvTable parse_csv(std::span<const std::byte> bytes, std::string_view name, const CsvOptions& options,
                   const std::stop_token& stop) {
  return read_csv(TextInput(bytes, name, stop), options, stop);
}

CsvTable read_csv(const std::string& path, const CsvOptions& options, const std::stop_token& stop) {
  return read_csv(TextInput(path, stop), options, stop);
}

CsvTable read_csv_stream(int descriptor, std::string_view name, const CsvOptions& options,
                         const std::stop_token& stop) {
  return read_csv(TextInput(descriptor, name, stop), options, stop);
}

}  // namespace gradus::io
