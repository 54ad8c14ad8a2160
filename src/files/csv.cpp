#include "files/csv.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/startable.hpp"
#include "core/stop.hpp"
#include "files/csv_beginning.hpp"
#include "files/csv_rows.hpp"
#include "files/foreign_formats.hpp"
#include "files/growing_block.hpp"
#include "files/text_input.hpp"

namespace gradus::files {
namespace {

constexpr std::size_t chunks_per_thread = 8;

class CsvParser {
 public:
  CsvParser(std::string_view name, const CsvOptions& options, const std::stop_token& stop)
      : name_(name), options_(options), stop_(stop), beginning_(name, options, stop) {}

  /// Consumes all complete rows of `text`. If `text` is the last piece, consumes all of it. Returns the number of bytes
  /// consumed.
  std::size_t consume(std::string_view text, bool last) {
    if (!started_) refuse_foreign(text, std::string(name_), Reader::points);
    if (!last) text = text.substr(0, text.find_last_of('\n') + 1);
    const char* at = text.data();
    const char* const end = at + text.size();
    started_ = started_ || !text.empty();
    if (!beginning_.settled()) {
      at = beginning_.take(at, end, last);
      line_ = beginning_.line();
      if (!beginning_.settled()) return static_cast<std::size_t>(at - text.data());
    }
    return static_cast<std::size_t>(take_rows(at, end, last) - text.data());
  }

  CsvTable finish() {
    const auto row_count = static_cast<std::int64_t>(row_count_);
    const std::size_t all_rows = row_count_ + incomplete_.rows.size();
    if (all_rows == 0) beginning_.fail(line_, 0, "there is no row of numbers");
    const bool left_out = !incomplete_.empty() && options_.missing == Missing::drop_rows && row_count_ > 0;
    if (!incomplete_.empty() && !left_out)
      beginning_.fail(incomplete_.line, incomplete_.field, rows_.fault_of(incomplete_, all_rows));
    block_->trim();
    CsvTable table;
    const MatrixView<const double> view(block_->data(), row_count, static_cast<std::int64_t>(chosen_.taken.size()));
    table.notes = beginning_.notes(all_rows);
    if (left_out) {
      table.notes.push_back(std::string(name_) + ": " + rows_.count_of(incomplete_, all_rows) +
                            (incomplete_.rows.size() == 1 ? " and is left out" : " and are left out"));
      table.dropped.assign(incomplete_.rows.begin(), incomplete_.rows.end());
    }
    if (!rows_.names.empty())
      for (const std::size_t column : chosen_.taken) table.column_names.push_back(rows_.names[column]);
    if (chosen_.id) {
      if (!rows_.names.empty()) row_names_->heading = rows_.names[*chosen_.id];
      table.row_names = std::move(row_names_);
    }
    table.weights = std::move(weights_);
    table.values = {view, std::move(block_)};
    note_counting(view, table.notes);
    return table;
  }

 private:
  // ---- Rows ----

  /// Parses all complete rows in the text. Returns the end of the last one.
  const char* take_rows(const char* at, const char* end, bool last) {
    const auto threads = static_cast<std::size_t>(std::max(options_.threads, 1));
    const bool quotes = find_character(at, end, '"') != end;
    chunks_.resize(std::max(chunks_.size(), threads * chunks_per_thread));
    bool whole = true;
    while (at != end && whole) {
      core::honour_stop(stop_, "stopped while reading " + std::string(name_));
      std::size_t count = 0;
      for (; count < chunks_.size() && at != end && whole; ++count) {
        const char* stop = chunk_end(at, end, quotes);
        if (!stop || (stop == at && !last)) {
          whole = last;
          if (!last) break;
          stop = end;
        }
        chunks_[count].text = {at, static_cast<std::size_t>(stop - at)};
        at = stop;
      }
      parse(count, static_cast<int>(threads));
    }
    return at;
  }

  /// Returns the end of a row, about one chunk after `at`, or nullptr if a quote is not closed.
  const char* chunk_end(const char* at, const char* end, bool quotes) const {
    const char* const wanted = at + std::min(end - at, static_cast<std::ptrdiff_t>(options_.chunk)) - 1;
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

  /// Parses the first `count` chunks and appends their contents.
  void parse(std::size_t count, int threads) {
    const auto each = [&](const auto& use) {
      const auto all = static_cast<std::ptrdiff_t>(count);
      const int team = all > 1 ? core::startable_threads(threads) : 1;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
      for (std::ptrdiff_t index = 0; index < all; ++index) use(static_cast<std::size_t>(index));
    };
    each([&](std::size_t index) { rows_.parse(chunks_[index]); });
    const std::size_t coordinates = chosen_.taken.size();
    std::vector<std::size_t> rows_before;
    std::size_t rows = 0;
    for (std::size_t index = 0; index < count; ++index) {
      check(chunks_[index]);
      rows_before.push_back(rows);
      rows += chunks_[index].rows;
    }
    double* const room = block_->room(rows * coordinates);
    const std::size_t weights = weights_.size();
    if (chosen_.weight) weights_.resize(weights + rows);
    each([&](std::size_t index) {
      const CsvChunk& chunk = chunks_[index];
      const double* const from = chunk.values.get();
      double* const to = room + rows_before[index] * coordinates;
      if (!chosen_.weight) {
        std::copy_n(from, chunk.count, to);
        return;
      }
      for (std::size_t row = 0; row < chunk.rows; ++row) {
        std::copy_n(from + row * rows_.numbers, coordinates, to + row * coordinates);
        weights_[weights + rows_before[index] + row] = from[row * rows_.numbers + coordinates];
      }
    });
    block_->add(rows * coordinates);
    if (chosen_.id)
      for (std::size_t index = 0; index < count; ++index) row_names_->append(chunks_[index].row_names);
  }

  /// Adds a chunk to the counts, and throws the chunk's first error. All earlier chunks must have been checked.
  void check(const CsvChunk& chunk) {
    const auto in_file = [&](std::size_t line) { return line == 0 ? 0 : line_ - 1 + line; };
    std::size_t blank = blank_line_;
    if (blank == 0 && row_count_ + incomplete_.rows.size() > 0) blank = in_file(chunk.leading_blank);
    const bool fault = !chunk.fault.empty();
    if (blank != 0 && (chunk.all_rows() > 0 || (fault && chunk.fault_is_in_row)))
      beginning_.fail(blank, 0, "a blank line between rows of numbers");
    if (fault) beginning_.fail(in_file(chunk.fault_line), chunk.fault_field, chunk.fault, chunk.fault_value);
    blank_line_ = chunk.all_rows() > 0 ? in_file(chunk.trailing_blank) : blank;
    if (!chunk.incomplete.empty()) add_incomplete(chunk.incomplete);
    row_count_ += chunk.rows;
    line_ += chunk.lines;
  }

  /// Records the rows of a chunk in which numbers are missing. All rows and lines before the chunk must already be
  /// counted.
  void add_incomplete(const IncompleteRows& more) {
    const std::size_t before = row_count_ + incomplete_.rows.size();
    if (incomplete_.empty()) {
      incomplete_ = {.rows = {},
                     .per_column = std::vector<std::size_t>(rows_.columns),
                     .line = line_ - 1 + more.line,
                     .field = more.field,
                     .text = more.text};
    }
    for (const std::size_t row : more.rows) incomplete_.rows.push_back(before + row);
    for (std::size_t column = 0; column < rows_.columns; ++column)
      incomplete_.per_column[column] += more.per_column[column];
  }

  // ---- After the last row ----

  /// Adds a note if the first column seems to number the rows.
  void note_counting(MatrixView<const double> view, std::vector<std::string>& notes) const {
    const ColumnChoice& choice = options_.columns;
    if (!choice.offers_columns || !choice.taken.empty() || view.columns() < 2 || rows_.places[0] != 0) return;
    const bool unnamed = !rows_.names.empty() && rows_.names[0].empty();
    constexpr std::int64_t least_rows = 5;  // five numbers in random order are ascending in one of 120 tables
    if (view.rows() < (unnamed ? 2 : least_rows)) return;
    bool from_zero = unnamed;
    bool from_one = unnamed;
    std::int64_t number = 0;  // number of the row among all rows, including the rows left out
    auto left_out = incomplete_.rows.begin();
    for (std::int64_t row = 0; row < view.rows(); ++row, ++number) {
      for (; left_out != incomplete_.rows.end() && static_cast<std::int64_t>(*left_out) == number; ++left_out) ++number;
      const double value = view(row, 0);
      if (std::floor(value) < value || (row > 0 && value <= view(row - 1, 0))) return;
      from_zero = from_zero && value <= static_cast<double>(number);
      from_one = from_one && value <= static_cast<double>(number + 1);
    }
    const bool counts = (from_zero && view(0, 0) >= 0) || (from_one && view(0, 0) >= 1);
    if (view.rows() < least_rows && !unnamed) return;
    const std::size_t first[] = {0};
    const std::string item = column_items(rows_.names, first);
    notes.push_back(std::string(name_) + ": the first column, " +
                    (unnamed ? "which has no name" : column_text(rows_.names, 0)) +
                    (counts ? ", counts the rows" : ", has integers that rise from row to row") +
                    ", and is read as a coordinate; if it names the rows, say " +
                    (choice.offers_id && !chosen_.id ? "--id-column " : "--drop-columns ") + item +
                    (choice.empty() ? " (if not, --columns 1- says so)" : ""));
  }

  std::string_view name_;
  const CsvOptions& options_;
  const std::stop_token& stop_;
  CsvBeginning beginning_;
  const CsvRows& rows_ = beginning_.rows();
  const ChosenColumns& chosen_ = beginning_.chosen();
  bool started_ = false;
  std::size_t line_ = 1;        ///< line number of the current position
  std::size_t blank_line_ = 0;  ///< first blank line after rows; 0: none
  std::size_t row_count_ = 0;   ///< number of complete rows
  IncompleteRows incomplete_;
  std::vector<double> weights_;
  std::vector<CsvChunk> chunks_;
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

extern constinit const PointsFormat csv_points{
    .file = {.name = "table of text",
             .endings = ".csv .tsv .txt",
             .rules =
                 "A rectangle of finite numbers, each read as the nearest double (`f64`); [columns that are "
                 "something else](#the-table) are left out by name. The separator is the first of semicolon, comma, "
                 "tab, bar (`|`) and blanks that occurs in the first line outside quotes and makes as many fields of "
                 "the next row; a first line `sep=;` names it. Accepted: a [header line](#header-lines), quoted "
                 "fields, LF and CRLF, a byte-order mark, [comment lines](#the-table), blank lines before and after "
                 "the data. Numbers look like `3`, `-2.50`, `+.5`, `5.` or `1E+05`; hexadecimal numbers and [missing "
                 "values](#the-table) are refused, [decimal commas and groups of digits](#the-table) are read where "
                 "that is beyond doubt. In `.tsv` files, tabs separate"},
    .is_table = true,
    .read =
        [](const std::string& path, const ReadOptions& options) {
          TextInput input(path, options.stop);
          return read_table(input, options, path);
        },
};

Points read_table(TextInput& input, const ReadOptions& options, const std::string& path) {
  CsvTable table =
      read_csv(input,
               {.separator = csv_points.file.ending_in(path) == ".tsv" ? Separator::tab : Separator::detect,
                .header = options.header,
                .columns = options.columns,
                .style = options.style,
                .comment = options.comment,
                .missing = options.missing,
                .names_matter = options.names_matter,
                .threads = options.threads},
               options.stop);
  if (options.note)
    for (const std::string& note : table.notes) options.note(note);
  return {.values = std::move(table.values),
          .picture = {},
          .column_names = std::move(table.column_names),
          .row_names = std::move(table.row_names),
          .weights = std::move(table.weights),
          .dropped = std::move(table.dropped),
          .from_text = true};
}

}  // namespace gradus::files
