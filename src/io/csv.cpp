#include "io/csv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "core/startable.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/csv_rows.hpp"
#include "io/foreign_formats.hpp"
#include "io/growing_block.hpp"
#include "io/number.hpp"
#include "io/text_input.hpp"

namespace gradus::io {
namespace {

constexpr std::size_t stretches_of_a_thread = 8;
constexpr std::ptrdiff_t bytes_between_looks = std::ptrdiff_t{1} << 18;
/// Text that may show what decimals follow.
constexpr std::ptrdiff_t bytes_of_a_sample = std::ptrdiff_t{1} << 16;

std::string_view without_quotes(std::string_view field) {
  return field.size() > 1 && field.front() == '"' && field.back() == '"' ? trimmed(field.substr(1, field.size() - 2))
                                                                         : field;
}

class CsvParser {
 public:
  CsvParser(std::string_view name, const CsvOptions& options, const std::stop_token& stop)
      : name_(name), options_(options), separator_(options.separator), stop_(stop) {
    rows_.offers_drop = options.columns.offers_columns && options.columns.taken.empty();
  }

  /// Takes whole rows from the beginning of `text`, all of it where it is the last, and returns how many bytes.
  std::size_t consume(std::string_view text, bool last) {
    if (!started_) refuse_foreign(text, std::string(name_), Reader::points);
    if (!last) text = text.substr(0, text.find_last_of('\n') + 1);
    const char* at = text.data();
    const char* const end = at + text.size();
    started_ = started_ || !text.empty();
    if (!settled_) {
      at = preamble(at, end, last);
      if (!settled_) return static_cast<std::size_t>(at - text.data());
    }
    return static_cast<std::size_t>(take_rows(at, end, last) - text.data());
  }

  CsvTable finish() {
    if (row_count_ == 0) fail(line_, 0, "there is no row of numbers");
    block_->trim();
    CsvTable table;
    const MatrixView<const double> view(block_->data(), static_cast<std::int64_t>(row_count_),
                                        static_cast<std::int64_t>(chosen_.taken.size()));
    // A line above nothing can only be a row.
    if (!note_.empty() && (!rows_.names.empty() || view.rows() > 1)) table.notes.push_back(std::move(note_));
    if (!rows_.names.empty())
      for (const std::size_t column : chosen_.taken) table.column_names.push_back(rows_.names[column]);
    if (chosen_.id) {
      if (!rows_.names.empty()) row_names_->heading = rows_.names[*chosen_.id];
      table.row_names = std::move(row_names_);
    }
    table.values = {view, std::move(block_)};
    table.notes.insert(table.notes.end(), notes_.begin(), notes_.end());
    note_counting(view, table.notes);
    return table;
  }

 private:
  [[noreturn]] void fail(std::size_t line, std::size_t field, const std::string& what) const {
    throw InputError(std::string(name_) + ":" + std::to_string(line) + ":" +
                     (field ? std::to_string(field) + ": " : " ") + what);
  }
  std::string at_line(std::size_t line) const { return std::string(name_) + ":" + std::to_string(line) + ": "; }

  // ---- Before the first row ----

  /// Up to the first row, which settles what columns there are; less where the text at hand does not hold it.
  const char* preamble(const char* at, const char* end, bool last) {
    const char* look_at = at;
    while (at != end && !settled_) {
      if (at >= look_at) {
        core::honour_stop(stop_, "stopped while reading " + std::string(name_));
        look_at = at + std::min(bytes_between_looks, end - at);
      }
      if (*at == '#') {
        if (is_spreadsheet_error({at, end})) fail(line_, 1, "an error value of a spreadsheet is not a number");
        at = next_line(at, end);
      } else if (const char* const content = skip_padding(at, end); at_line_end(content, end)) {
        at = next_line(content, end);
      } else if (!(first_line_ == 0 ? first_line(at, end, last) : first_row(at, end, last))) {
        break;
      }
    }
    return at;
  }

  /// Past the end of the line on which `at` stands.
  const char* next_line(const char* at, const char* end) {
    at = find_character(at, end, '\n');
    ++line_;
    return at == end ? end : at + 1;
  }

  const char* skip_padding(const char* at, const char* end) const {
    while (at != end && is_blank(*at) && !(separator_ == Separator::tab && *at == '\t')) ++at;
    return at;
  }

  /// Settles separator, notation and names. Consumes the first line where it is a header, and nothing where it holds
  /// numbers; false where a quoted field goes on beyond the text at hand.
  bool first_line(const char*& at, const char* end, bool last) {
    const char* const stop = end_of_first_line(at, end);
    if (!stop) {
      if (last) fail(line_, 0, "a quoted field has no closing quote");
      return false;
    }
    first_line_ = line_;
    rows_.first_line = line_;
    rows_.separator = static_cast<char>(separator_);
    choose_format(at, end);
    std::vector<FirstField> fields = split(at, stop);
    if (is_header(fields, trimmed({at, stop}))) {
      for (FirstField& field : fields) rows_.names.push_back(std::move(field.text));
      line_ += static_cast<std::size_t>(std::count(at, stop, '\n'));
      at = next_line(stop, end);
    }
    return true;
  }

  /// Settles the columns; consumes nothing. False where the row goes on beyond the text at hand.
  bool first_row(const char* at, const char* end, bool last) {
    const char* stop = rows_.row_end(at, end);
    const bool open = !stop;  // a quote is, which the row tells of
    if (open && !last) return false;
    if (open) stop = find_character(at, end, '\n');
    while (stop != at && (stop[-1] == '\n' || stop[-1] == '\r')) --stop;
    std::vector<std::string_view> fields;
    for (const char* field = skip_padding(at, stop);;) {
      std::string_view text;
      const char* next = rows_.field(field, stop, text);
      if (text.starts_with('"'))  // what follows the quote is an error that the row tells of
        while (next != stop && !rows_.separates(*next)) ++next;
      fields.push_back(text);
      next = skip_padding(next, stop);
      if (next == stop) break;
      field = skip_padding(separator_ == Separator::blanks ? next : next + 1, stop);
    }
    std::vector<std::string>& names = rows_.names;
    if (!open && !names.empty() && fields.size() == names.size() + 1 && !fields.back().empty() &&
        may_name_a_row(fields.front())) {
      names.insert(names.begin(), "");
      notes_.push_back(at_line(first_line_) + "one name less than the " + std::to_string(fields.size()) +
                       " columns of line " + std::to_string(line_) +
                       ": the first column is taken as one without a name, as R writes the names of rows");
    }
    rows_.columns = names.empty() ? fields.size() : names.size();
    chosen_ = choose_columns(options_.columns, names, rows_.columns, name_);
    rows_.places = chosen_.places(rows_.columns);
    rows_.taken = chosen_.taken.size();
    if (options_.columns.offers_columns && !open) refuse_text(fields);
    settled_ = true;
    return true;
  }

  /// A text in quotes, a word, or a whole number.
  static bool may_name_a_row(std::string_view field) {
    return field.starts_with('"') || is_text(field) ||
           (!field.empty() && std::all_of(field.begin(), field.end(), is_digit));
  }

  /// Where the first row shows that columns are text, nothing was said of them, and a person can do something.
  void refuse_text(std::span<const std::string_view> fields) const {
    const auto is_text_column = [&](std::size_t column) {
      const std::string_view text = column < fields.size() ? without_quotes(fields[column]) : "";
      return rows_.places[column] >= 0 && is_text(text) && !is_number(text, rows_.quoted_format);
    };
    std::vector<std::size_t> columns;
    for (std::size_t column = 0; column < rows_.columns; ++column)
      if (is_text_column(column)) columns.push_back(column);
    if (columns.empty()) return;
    constexpr std::size_t most = 8;
    std::string items;
    std::string shown;
    for (std::size_t index = 0; index < columns.size(); ++index) {
      items += index == 0 ? "" : ",";
      items += column_item(rows_.names, columns[index]);
      if (index >= most) continue;
      shown += index == 0 ? "" : index + 1 == columns.size() ? " and " : ", ";
      shown += column_text(rows_.names, columns[index]);
    }
    if (columns.size() > most) shown += " and " + std::to_string(columns.size() - most) + " more";
    const bool one = columns.size() == 1;
    std::string what = core::excerpt(fields[columns[0]]) + " is not a number: column" + (one ? " " : "s ") + shown +
                       (one ? " is" : " are") + " text; ";
    const std::string them = one ? "it" : "them";
    what += rows_.offers_drop ? "--drop-columns " + items + " leaves " + them + " out"
                              : "take " + them + " out of --columns";
    if (options_.columns.offers_id && options_.columns.id.empty())
      what += ", --id-column " + column_item(rows_.names, columns[0]) +
              (one ? " keeps it beside the answer" : " keeps one beside the answer");
    if (rows_.names.empty()) what += "; if this line names the columns, say --header yes";
    fail(line_, columns[0] + 1, what);
  }

  /// Decides what the first line is, and notes what may be wrong with that.
  bool is_header(const std::vector<FirstField>& fields, std::string_view line) {
    const auto note = [&](const char* what) {
      note_ = at_line(line_) + "the first line, " + core::excerpt(line) + ", " + what;
    };
    if (options_.header == HeaderLine::no) return false;
    if (options_.header == HeaderLine::yes) {
      // One --header is for all tables of a command, and for one of them it may be wrong.
      if (all_numbers(fields) && !guess_header(fields).doubtful)
        note("is made of numbers and taken as names of columns, as --header says");
      return true;
    }
    const ColumnChoice& choice = options_.columns;
    const auto is_called = [&](const FirstField& field) {
      return choice.taken.holds(field.text) || choice.dropped.holds(field.text) || choice.id.holds(field.text);
    };
    if (choice.holds_names() && std::any_of(fields.begin(), fields.end(), is_called)) return true;
    const std::vector<std::size_t> judged = judged_fields(fields.size());
    std::vector<FirstField> plain;
    for (const std::size_t index : judged) plain.push_back({plain_number(fields[index]), fields[index].quoted});
    const HeaderGuess guess = guess_header(plain);
    if (guess.broken) {
      const std::size_t broken = judged[*guess.broken];
      fail(line_, broken + 1,
           rows_.fault_of(fields[broken].text, broken) + "; if this line names the columns, say --header yes");
    }
    if (guess.doubtful && guess.is_header)
      note("is taken as names of columns; if it is a row with an error in it, fix it");
    else if (guess.doubtful && options_.names_matter)
      note("is taken as a row of numbers; if it names the columns, say --header yes");
    return guess.is_header;
  }

  /// The fields of the first line that tell what it is: those of coordinates, as far as that is known yet.
  std::vector<std::size_t> judged_fields(std::size_t count) const {
    std::vector<std::size_t> all(count);
    for (std::size_t index = 0; index < count; ++index) all[index] = index;
    if (options_.columns.empty() || options_.columns.holds_names()) return all;
    try {
      return choose_columns(options_.columns, {}, count, name_).taken;
    } catch (const InputError&) {
      return all;  // a header may lack a name; otherwise the first row tells what is wrong
    }
  }

  /// A number as it is written without groups and with a point; any other text as it is.
  std::string plain_number(const FirstField& field) const {
    const NumberFormat& format = field.quoted ? rows_.quoted_format : rows_.format;
    if (format.is_plain() || !is_number(field.text, format)) return field.text;
    std::string text = field.text;
    std::erase(text, format.group);
    std::replace(text.begin(), text.end(), format.point, '.');
    return text;
  }

  /// Settles what decimals follow and what groups digits, from the first line on.
  void choose_format(const char* at, const char* end) {
    const NumberStyle& style = options_.style;
    NumberFormat& format = rows_.quoted_format;
    format.group = style.group;
    if (style.decimal == Decimal::comma || (style.decimal == Decimal::automatic && style.group == '.'))
      format.point = ',';
    else if (style.decimal == Decimal::automatic && style.group != ',' && shows_decimal_commas(at, end)) {
      format.point = ',';
      notes_.push_back(std::string(name_) + ": " + std::string(decimal_comma_note));
    }
    if (format.point == format.group)
      throw UsageError(std::string("--thousands: '") + format.group + "' is what decimals follow here");
    // Outside quotes what separates fields separates them.
    rows_.format = format;
    const auto separates = [&](char mark) { return rows_.separator == ' ' ? is_blank(mark) : mark == rows_.separator; };
    if (separates(format.group)) rows_.format.group = 0;
    if (separates(format.point)) rows_.format.point = 0;
  }

  /// Whether some numbers are written so and none has a point. Only where semicolons or tabs separate: elsewhere a
  /// comma rather separates.
  bool shows_decimal_commas(const char* at, const char* end) const {
    if (separator_ != Separator::semicolon && separator_ != Separator::tab) return false;
    bool commas = false;
    std::size_t doubtful_line = 0;
    std::size_t doubtful_field = 0;
    std::string doubtful;
    std::size_t line = line_;
    for (const char* const sample = at + std::min(end - at, bytes_of_a_sample); at < sample;) {
      const char* stop = rows_.row_end(at, end);
      if (!stop) break;
      if (*at != '#') {
        std::size_t number = 0;
        for (const char* field = skip_padding(at, stop); field != stop && !at_line_end(field, stop);) {
          std::string_view text;
          const char* next = rows_.field(field, stop, text);
          text = without_quotes(text);
          ++number;
          if (text.find('.') != std::string_view::npos && is_number(text)) return false;
          const Comma comma = comma_in(text);
          commas = commas || comma == Comma::decimals;
          if (comma == Comma::either && doubtful_line == 0) {
            doubtful_line = line;
            doubtful_field = number;
            doubtful = core::excerpt(text);
          }
          while (next != stop && *next != '\n' && !rows_.separates(*next)) ++next;
          if (next == stop || *next == '\n') break;
          field = skip_padding(next + 1, stop);
        }
      }
      line += static_cast<std::size_t>(std::count(at, stop, '\n'));
      at = stop;
    }
    if (!commas && doubtful_line != 0) fail(doubtful_line, doubtful_field, doubtful + std::string(either_comma_fault));
    return commas;
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
        const char* const next = skip_padding(at, stop);
        if (next != stop && !rows_.separates(*next) && !(separator_ == Separator::blanks && next != at))
          fail(line_, fields.size() + 1, "text follows the closing quote of a field");
        at = next;
      } else {
        const char* const begin = at;
        while (at != stop && !rows_.separates(*at)) ++at;
        field.text = trimmed({begin, static_cast<std::size_t>(at - begin)});
      }
      fields.push_back(std::move(field));
      at = separator_ == Separator::blanks ? skip_padding(at, stop) : at;
      if (at == stop) return fields;
      if (separator_ != Separator::blanks) ++at;
    }
  }

  // ---- Rows ----

  /// The end of the rows that were taken: of all whole ones.
  const char* take_rows(const char* at, const char* end, bool last) {
    const auto threads = static_cast<std::size_t>(std::max(options_.threads, 1));
    const bool quotes = find_character(at, end, '"') != end;
    stretches_.resize(std::max(stretches_.size(), threads * stretches_of_a_thread));
    bool whole = true;
    while (at != end && whole) {
      core::honour_stop(stop_, "stopped while reading " + std::string(name_));
      std::size_t count = 0;
      for (; count < stretches_.size() && at != end && whole; ++count) {
        const char* stop = stretch_end(at, end, quotes);
        if (!stop || (stop == at && !last)) {
          whole = last;
          if (!last) break;
          stop = end;
        }
        stretches_[count].text = {at, static_cast<std::size_t>(stop - at)};
        at = stop;
      }
      parse(count, static_cast<int>(threads));
    }
    return at;
  }

  /// The end of a row some way behind `at`; nullptr: there is none, because a quote stays open.
  const char* stretch_end(const char* at, const char* end, bool quotes) const {
    const char* const wanted = at + std::min(end - at, static_cast<std::ptrdiff_t>(options_.stretch)) - 1;
    if (!quotes) {
      const char* const stop = find_character(wanted, end, '\n');
      return stop == end ? end : stop + 1;
    }
    const char* row = at;
    while (row <= wanted) {
      const char* const stop = rows_.row_end(row, end);
      if (!stop) return row == at ? nullptr : row;
      row = stop;
    }
    return row;
  }

  /// Parses the first `count` stretches and appends what is in them.
  void parse(std::size_t count, int threads) {
    const auto each = [&](const auto& use) {
      const auto all = static_cast<std::ptrdiff_t>(count);
      const int team = all > 1 ? core::startable_threads(threads) : 1;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
      for (std::ptrdiff_t index = 0; index < all; ++index) use(static_cast<std::size_t>(index));
    };
    each([&](std::size_t index) { rows_.parse(stretches_[index]); });
    std::vector<std::size_t> places;
    std::size_t numbers = 0;
    for (std::size_t index = 0; index < count; ++index) {
      check(stretches_[index]);
      places.push_back(numbers);
      numbers += stretches_[index].count;
    }
    double* const room = block_->room(numbers);
    each([&](std::size_t index) {
      std::copy_n(stretches_[index].values.get(), stretches_[index].count, room + places[index]);
    });
    block_->add(numbers);
    if (chosen_.id)
      for (std::size_t index = 0; index < count; ++index) row_names_->append(stretches_[index].row_names);
  }

  /// Counts what is in the stretch, of which all before was counted, and tells what is wrong.
  void check(const CsvStretch& stretch) {
    const auto in_file = [&](std::size_t line) { return line == 0 ? 0 : line_ - 1 + line; };
    std::size_t blank = blank_line_;
    if (blank == 0 && row_count_ > 0) blank = in_file(stretch.leading_blank);
    const bool wrong = !stretch.wrong.empty();
    if (blank != 0 && (stretch.rows > 0 || (wrong && stretch.wrong_row)))
      fail(blank, 0, "a blank line between rows of numbers");
    if (wrong) fail(in_file(stretch.wrong_line), stretch.wrong_field, stretch.wrong);
    blank_line_ = stretch.rows > 0 ? in_file(stretch.trailing_blank) : blank;
    row_count_ += stretch.rows;
    line_ += stretch.lines;
  }

  // ---- Behind the last row ----

  /// Whether the first column seems to number the rows, which a person should hear of.
  void note_counting(MatrixView<const double> view, std::vector<std::string>& notes) const {
    const ColumnChoice& choice = options_.columns;
    if (!choice.offers_columns || !choice.taken.empty() || chosen_.id || view.columns() < 2 || rows_.places[0] != 0)
      return;
    const bool unnamed = !rows_.names.empty() && rows_.names[0].empty();
    constexpr std::int64_t least_rows = 5;  // which rise by chance once in 120 times
    if (view.rows() < (unnamed ? 2 : least_rows)) return;
    bool counts = unnamed && (view(0, 0) == 0 || view(0, 0) == 1);
    for (std::int64_t row = 0; row < view.rows(); ++row) {
      const double value = view(row, 0);
      if (std::floor(value) < value || (row > 0 && value <= view(row - 1, 0))) return;
      counts = counts && (row == 0 || value <= view(row - 1, 0) + 1);
    }
    if (view.rows() < least_rows && !counts) return;
    const std::string item = column_item(rows_.names, 0);
    notes.push_back(std::string(name_) + ": the first column, " +
                    (unnamed ? "which has no name" : column_text(rows_.names, 0)) +
                    (counts ? ", counts the rows" : ", is whole numbers that rise from row to row") +
                    ", and is taken as a coordinate; if it names the rows, say " +
                    (choice.offers_id ? "--id-column " : "--drop-columns ") + item + " (if not, --columns 1- says so)");
  }

  std::string_view name_;
  const CsvOptions& options_;
  Separator separator_;
  const std::stop_token& stop_;
  bool started_ = false;
  bool settled_ = false;        ///< what columns there are
  std::size_t line_ = 1;        ///< of the text at hand
  std::size_t first_line_ = 0;  ///< that is no comment; 0: not seen yet
  std::size_t blank_line_ = 0;  ///< blank line behind rows, 0: none
  std::size_t row_count_ = 0;
  CsvRows rows_;
  ChosenColumns chosen_;
  std::string note_;  ///< on the header
  std::vector<std::string> notes_;
  std::vector<CsvStretch> stretches_;
  std::shared_ptr<RowNames> row_names_ = std::make_shared<RowNames>();
  std::shared_ptr<GrowingBlock<double>> block_ = std::make_shared<GrowingBlock<double>>();
};

}  // namespace

CsvTable read_csv(TextInput& input, const CsvOptions& options, const std::stop_token& stop) {
  CsvParser parser(input.name(), options, stop);
  input.feed([&](std::string_view text, bool last) { return parser.consume(text, last); });
  return parser.finish();
}

CsvTable parse_csv(std::span<const std::byte> bytes, std::string_view name, const CsvOptions& options,
                   const std::stop_token& stop) {
  TextInput input(bytes, name, stop);
  return read_csv(input, options, stop);
}

CsvTable read_csv(const std::string& path, const CsvOptions& options, const std::stop_token& stop) {
  TextInput input(path, stop);
  return read_csv(input, options, stop);
}

CsvTable read_csv_stream(int descriptor, std::string_view name, const CsvOptions& options,
                         const std::stop_token& stop) {
  TextInput input(descriptor, name, stop);
  return read_csv(input, options, stop);
}

}  // namespace gradus::io
