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

namespace gradus::io {

/// Columns by their names, by numbers from 1, or by ranges of numbers, "A-B" or "A-" up to the last one. An item that
/// is a name is that column, whatever else it looks like; in double quotes it may hold commas, and is nothing but a
/// name.
class ColumnList {
 public:
  ColumnList() = default;
  /// Items between commas. UsageError, which begins with `label`, where there are none or one is empty or a range that
  /// counts down.
  ColumnList(std::string_view label, std::string_view text);

  bool empty() const { return items_.empty(); }
  /// Whether an item can only be a name.
  bool holds_names() const;
  /// Whether an item is this name.
  bool holds(std::string_view name) const;
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
  /// Options that messages may recommend: --columns and --drop-columns, and --id-column. Only then a first column that
  /// seems to number the rows is told of.
  bool offers_columns = false;
  bool offers_id = false;

  bool empty() const { return taken.empty() && dropped.empty() && id.empty(); }
  bool holds_names() const { return taken.holds_names() || dropped.holds_names() || id.holds_names(); }
};

/// The choice in a table at hand.
struct ChosenColumns {
  std::vector<std::size_t> taken;  ///< in their order
  std::optional<std::size_t> id;
  bool by_name = false;  ///< some were called by their names

  /// For each column of the table its place among the taken ones, or one of these:
  static constexpr std::ptrdiff_t skipped = -1;
  static constexpr std::ptrdiff_t names_rows = -2;
  std::vector<std::ptrdiff_t> places(std::size_t columns) const;
};

/// InputError, which begins with `file`, where the table does not have what is chosen, or nothing is left.
ChosenColumns choose_columns(const ColumnChoice& choice, std::span<const std::string> names, std::size_t columns,
                             std::string_view file);

/// The column as an item of a list, fit for a shell: its name, or its number where that says it better.
std::string column_item(std::span<const std::string> names, std::size_t column);

/// The names or numbers of columns in single quotes, for messages: "'x'", or "2" where it has no name.
std::string column_text(std::span<const std::string> names, std::size_t column);

/// A text for each row.
class RowNames {
 public:
  std::string heading;  ///< of the column that they come from; may be empty

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
  void clear() {
    text_.clear();
    ends_.clear();
  }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;
};

}  // namespace gradus::io
