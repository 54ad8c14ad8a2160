// Which columns of a table are coordinates, as a person says it.
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

/// Columns by their names, by numbers from 1, or by ranges of numbers, "A-B" or "A-" up to the last one. In double
/// quotes an item is nothing but a name, and may hold commas. A number or range that is also the name of another column
/// is refused as ambiguous: "1" in quotes is the name, 1-1 the number.
class ColumnList {
 public:
  ColumnList() = default;
  /// Items between commas. UsageError, which begins with `label`, where there are none or one is empty or a range that
  /// counts down.
  ColumnList(std::string_view label, std::string_view text);

  bool empty() const { return items_.empty(); }
  /// The option that the list is the value of.
  const std::string& label() const { return label_; }
  /// A list of names.
  static ColumnList of_names(std::string_view label, std::span<const std::string> names);

  /// Whether an item can only be a name.
  bool holds_names() const;
  /// Whether an item is this name, and no number of one of so many columns.
  bool asks_for(std::string_view name, std::size_t columns) const;
  std::size_t size() const { return items_.size(); }

  /// Numbers from 0 of these columns of a table, each once, in the order of the items. `names` is empty where columns
  /// have none. InputError, which begins with `file`, for what the table does not have, or has more than once.
  std::vector<std::size_t> find(std::span<const std::string> names, std::size_t columns, std::string_view file) const;

 private:
  struct Item {
    std::string text;
    bool quoted = false;
    std::size_t first = 0;  ///< from 1; 0: it can only be a name
    std::size_t last = 0;
  };
  std::string label_;
  std::vector<Item> items_;
};

/// What is wanted of the columns of a table.
struct ColumnChoice {
  ColumnList taken;    ///< empty: all that are neither dropped nor the id
  ColumnList dropped;  ///< not with `taken`
  ColumnList id;       ///< one column, which names the rows, or empty
  ColumnList weight;   ///< one column, which weighs the rows, or empty
  /// Names of the columns that are taken, in this order, where nothing is said of `taken` and the table has all of
  /// them.
  std::vector<std::string> expected;
  /// Options that messages may recommend: --columns, --drop-columns and --missing, and --id-column. Only then a first
  /// column that seems to number the rows is told of.
  bool offers_columns = false;
  bool offers_id = false;

  bool empty() const { return taken.empty() && dropped.empty() && id.empty() && weight.empty(); }
  bool holds_names() const {
    return taken.holds_names() || dropped.holds_names() || id.holds_names() || weight.holds_names();
  }
  /// As ColumnList::asks_for(), of one of the lists.
  bool asks_for(std::string_view name, std::size_t columns) const {
    return taken.asks_for(name, columns) || dropped.asks_for(name, columns) || id.asks_for(name, columns) ||
           weight.asks_for(name, columns);
  }
};

/// The choice in a table at hand.
struct ChosenColumns {
  std::vector<std::size_t> taken;  ///< in their order
  std::optional<std::size_t> id;
  std::optional<std::size_t> weight;
  std::vector<std::size_t> unexpected;  ///< left out because ColumnChoice::expected does not have them

  /// Numbers that a row gives: those of the taken columns, and its weight behind them.
  std::size_t numbers() const { return taken.size() + (weight ? 1 : 0); }

  /// For each column of the table its place among the numbers of a row, or one of these:
  static constexpr std::ptrdiff_t skipped = -1;
  static constexpr std::ptrdiff_t names_rows = -2;
  std::vector<std::ptrdiff_t> places(std::size_t columns) const;
};

/// InputError, which begins with `file`, where the table does not have what is chosen, or nothing is left.
ChosenColumns choose_columns(const ColumnChoice& choice, std::span<const std::string> names, std::size_t columns,
                             std::string_view file);

/// The columns as a list that a shell hands on and ColumnList reads: names, or numbers where these say it better.
std::string column_items(std::span<const std::string> names, std::span<const std::size_t> columns);

/// The name of a column in single quotes, for messages, or its number where it has no name: "'x'", "2".
std::string column_text(std::span<const std::string> names, std::size_t column);

/// "column 'x'" or "columns 'x', 'y' and 3 more".
std::string columns_text(std::span<const std::string> names, std::span<const std::size_t> columns);

/// A text for each row.
class RowNames {
 public:
  std::string heading;   ///< of the column that they come from; may be empty
  bool numbers = false;  ///< they come from no column, and count the rows of the file from 0

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
  /// Keeps the names of the first `size` rows.
  void shorten(std::int64_t size) {
    ends_.resize(static_cast<std::size_t>(size));
    text_.resize(ends_.empty() ? 0 : ends_.back());
  }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;
};

}  // namespace gradus::files
