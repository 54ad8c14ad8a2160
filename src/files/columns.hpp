// The user's choice of the columns of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::files {

/// Columns given by name, by number (counted from 1), or by ranges of numbers: "A-B", or "A-" for a range to the last
/// column. An item in double quotes is always a name and may contain commas. A number or range that is also the name of
/// another column is ambiguous and therefore an error. To select such a column, the user writes the name in quotes
/// ("1") or the number as a range (1-1).
class ColumnList {
 public:
  ColumnList() = default;
  /// Parses comma-separated items. If an item is empty or is a decreasing range, throws a
  /// UsageError that names `label`.
  ColumnList(std::string_view label, std::string_view text);

  bool empty() const { return items_.empty(); }
  const std::string& label() const { return label_; }
  static ColumnList of_names(std::string_view label, std::span<const std::string> names);

  bool holds_names() const;
  /// Returns true if the user has named this column in the list. In a table with `columns` columns, an item that is
  /// also a column number counts as a number, not as a name.
  bool asks_for(std::string_view name, std::size_t columns) const;
  std::size_t size() const { return items_.size(); }

  /// Returns the numbers of the items' columns in a table, counted from 0, in the order of the items and without
  /// duplicates. `names` is empty if the columns have no names. Throws InputError about `file` for missing or ambiguous
  /// columns.
  std::vector<std::size_t> find(std::span<const std::string> names, std::size_t columns, std::string_view file) const;

 private:
  struct Item {
    std::string text;
    bool quoted = false;
    std::size_t first = 0;  ///< number of the first column, counted from 1; 0 if the item is not a number
    std::size_t last = 0;
  };
  std::string label_;
  std::vector<Item> items_;
};

struct ColumnChoice {
  ColumnList taken;    ///< empty: all columns that are neither dropped nor the id
  ColumnList dropped;  ///< not allowed together with `taken`
  ColumnList id;       ///< the column that contains the names of the rows; empty: none
  ColumnList weight;   ///< the column that contains the weights of the rows; empty: none
  /// If `taken` is empty and the table has all of these columns, they are used, in this order. A table that has only
  /// some of them is refused if `expected_by`, which names the source of the names in the message, is not empty.
  std::vector<std::string> expected;
  std::string expected_by;
  /// If true, messages recommend --columns, --drop-columns and --missing, and a note warns if a column seems to contain
  /// row numbers.
  bool offers_columns = false;
  bool offers_id = false;  ///< messages recommend --id-column

  bool empty() const { return taken.empty() && dropped.empty() && id.empty() && weight.empty(); }
  bool holds_names() const {
    return taken.holds_names() || dropped.holds_names() || id.holds_names() || weight.holds_names();
  }
  bool asks_for(std::string_view name, std::size_t columns) const {
    return taken.asks_for(name, columns) || dropped.asks_for(name, columns) || id.asks_for(name, columns) ||
           weight.asks_for(name, columns);
  }
};

struct ChosenColumns {
  std::vector<std::size_t> taken;  ///< chosen columns, in the order in which their values are used
  std::optional<std::size_t> id;
  std::optional<std::size_t> weight;
  std::vector<std::size_t> unexpected;  ///< columns that are left out, because `expected` does not name them

  /// Returns how many numbers are read from a row: one for each column in `taken`, and one for the weight if there is
  /// one.
  std::size_t numbers() const { return taken.size() + (weight ? 1 : 0); }

  /// Returns, for each column of the table, its position among the numbers of a row, or one of these constants.
  static constexpr std::ptrdiff_t skipped = -1;
  static constexpr std::ptrdiff_t names_rows = -2;
  std::vector<std::ptrdiff_t> places(std::size_t columns) const;
};

/// Determines the chosen columns of a table. Throws InputError about `file` if the table lacks a chosen column or no
/// column remains.
ChosenColumns choose_columns(const ColumnChoice& choice, std::span<const std::string> names, std::size_t columns,
                             std::string_view file);

/// Returns the columns as a list that ColumnList can parse and that needs no quotes in a shell. The list contains the
/// names of the columns. If a name is unsafe, the list contains the column's number.
std::string column_items(std::span<const std::string> names, std::span<const std::size_t> columns);

/// Returns the column's name in single quotes, for messages, or the column's number if it has no name: "'x'", "2".
std::string column_text(std::span<const std::string> names, std::size_t column);

/// Returns the names of the columns for a message: "column 'x'" or "columns 'x', 'y' and 3 more".
std::string columns_text(std::span<const std::string> names, std::span<const std::size_t> columns);

class RowNames {
 public:
  std::string heading;   ///< name of the column that contains the row names; may be empty
  bool numbers = false;  ///< true if the names are the numbers of the rows in the file, counted from 0

  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  std::string_view operator[](std::int64_t row) const {
    const auto index = static_cast<std::size_t>(row);
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(text_).substr(begin, ends_[index] - begin);
  }
  void add(std::string_view name) {
    text_ += name;
    ends_.push_back(text_.size());
  }
  void append(const RowNames& more);
  void clear() { shorten(0); }
  void shorten(std::int64_t size) {
    ends_.resize(static_cast<std::size_t>(size));
    text_.resize(ends_.empty() ? 0 : ends_.back());
  }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;
};

}  // namespace gradus::files
