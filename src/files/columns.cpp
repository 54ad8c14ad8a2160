#include "files/columns.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/names.hpp"
#include "core/text.hpp"
#include "files/number.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

namespace {

constexpr std::size_t last_column = std::numeric_limits<std::size_t>::max();

/// Parses a number of at least 1 at the beginning of the text, removes it from the text and returns it. Returns 0 if
/// there is no such number.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return 0;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

/// Returns a name in single quotes, for messages. Accepts names with non-ASCII letters. Truncates a long name.
std::string shown(std::string_view name) {
  constexpr std::size_t most = 40;
  std::size_t length = std::min(name.size(), most);
  while (length < name.size() && length > 0 && (static_cast<unsigned char>(name[length]) & 0xc0u) == 0x80) --length;
  std::string text = "'";
  text += core::without_control(name.substr(0, length));
  return text += length < name.size() ? "...'" : "'";
}

/// Returns a list of all columns, truncated if there are many: "'x', 'y' and 'z'".
std::string list_of(std::span<const std::string> names) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t column = 0; column < std::min(names.size(), most); ++column) {
    const bool last = column + 1 == names.size();
    text += column == 0 ? "" : last ? " and " : ", ";
    text += shown(names[column]);
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

}  // namespace

ColumnList::ColumnList(std::string_view label, std::string_view text) : label_(label) {
  const auto refuse = [&](const std::string& what) { throw UsageError(about(label_) + what); };
  for (std::size_t at = 0;; ++at) {
    Item item;
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at < text.size() && text[at] == '"') {
      item.quoted = true;
      for (++at; at < text.size(); ++at) {
        if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
        if (text[at] == '"') ++at;  // a pair of quotes within the name stands for one quote
        item.text += text[at];
      }
      if (at >= text.size()) refuse("the name " + shown(item.text) + " has no closing quote");
      const std::size_t next = std::min(text.find(',', ++at), text.size());
      if (!trimmed(text.substr(at, next - at)).empty())
        refuse(core::excerpt(text.substr(at, next - at)) + " follows the closing quote of a name");
      at = next;
    } else {
      const std::size_t next = std::min(text.find(',', at), text.size());
      item.text = trimmed(text.substr(at, next - at));
      if (item.text.empty()) refuse("an item is empty; columns are named, or counted from 1, such as x,y or 1,3-5");
      at = next;
      std::string_view rest = item.text;
      item.first = take_number(rest);
      if (item.first != 0 && rest.starts_with('-')) {
        rest.remove_prefix(1);
        item.last = rest.empty() ? last_column : take_number(rest);
        if (rest.empty() && item.last < item.first)
          refuse("the range " + shown(item.text) + " counts down; columns of a table count from 1");
      } else {
        item.last = item.first;
      }
      if (!rest.empty()) item.first = 0;
    }
    items_.push_back(std::move(item));
    if (at >= text.size()) return;
  }
}

bool ColumnList::holds_names() const {
  return std::any_of(items_.begin(), items_.end(), [](const Item& item) { return item.first == 0; });
}

bool ColumnList::asks_for(std::string_view name, std::size_t columns) const {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const Item& item) { return item.text == name && (item.first == 0 || item.first > columns); });
}

ColumnList ColumnList::of_names(std::string_view label, std::span<const std::string> names) {
  ColumnList list;
  list.label_ = label;
  for (const std::string& name : names) list.items_.push_back({.text = name, .quoted = true});
  return list;
}

std::vector<std::size_t> ColumnList::find(std::span<const std::string> names, std::size_t columns,
                                          std::string_view file) const {
  std::vector<std::size_t> found;
  std::vector<bool> seen(columns);
  const auto refuse = [&](const std::string& what) {
    throw InputError(std::string(file) + ": " + label_ + ": " + what, {.argument = label_});
  };
  const auto take = [&](std::size_t column) {
    if (seen[column]) refuse("column " + std::to_string(column + 1) + " is there twice");
    seen[column] = true;
    found.push_back(column);
  };
  for (const Item& item : items_) {
    const auto count = std::count(names.begin(), names.end(), item.text);
    const auto called = static_cast<std::size_t>(std::find(names.begin(), names.end(), item.text) - names.begin());
    const std::size_t last = item.last == last_column ? columns : item.last;
    const bool in_table = item.first != 0 && item.first <= columns && last <= columns;
    if (count > 0 && in_table && (count > 1 || called + 1 != item.first || called + 1 != last))
      refuse(shown(item.text) + " is the name of column " + std::to_string(called + 1) + ", and also " +
             (item.text.find('-') == std::string::npos
                  ? "the number of column " + column_text(names, item.first - 1) + "; say " + label_ + " '\"" +
                        item.text + "\"' for the name, or " + label_ + " " + item.text + "-" + item.text +
                        " for the number"
                  : "a range of numbers; say " + label_ + " '\"" + item.text + "\"' for the name"));
    if (count > 1)
      refuse(std::to_string(count) + " columns are called " + shown(item.text) +
             "; say by its number which one is meant");
    if (count == 1) {
      take(called);
    } else if (item.first != 0) {
      if (!in_table)
        refuse(shown(item.text) + " is beyond the table, whose columns are 1 to " + std::to_string(columns));
      for (std::size_t column = item.first - 1; column < last; ++column) take(column);
    } else if (names.empty()) {
      refuse("there is no column " + shown(item.text) + ": the table has no names of columns; their numbers are 1 to " +
             std::to_string(columns));
    } else {
      const std::vector<std::string_view> candidates(names.begin(), names.end());
      refuse("there is no column " + shown(item.text) + core::did_you_mean(item.text, candidates) +
             "; the columns are " + list_of(names));
    }
  }
  return found;
}

std::vector<std::ptrdiff_t> ChosenColumns::places(std::size_t columns) const {
  std::vector<std::ptrdiff_t> places(columns, skipped);
  for (std::size_t place = 0; place < taken.size(); ++place) places[taken[place]] = static_cast<std::ptrdiff_t>(place);
  if (id) places[*id] = names_rows;
  if (weight) places[*weight] = static_cast<std::ptrdiff_t>(taken.size());
  return places;
}

namespace {

/// Returns the column that the user has chosen by --id-column or --weight-column. `does` is a verb for the message:
/// this column "names" or "weighs" the rows.
std::optional<std::size_t> one_column(const ColumnList& list, std::span<const std::string> names, std::size_t columns,
                                      std::string_view file, const std::string& does) {
  if (list.empty()) return std::nullopt;
  const std::vector<std::size_t> found = list.find(names, columns, file);
  if (found.size() != 1)
    throw InputError(std::string(file) + ": " + list.label() + ": one column " + does + " the rows, not " +
                     std::to_string(found.size()));
  return found.front();
}

/// Returns the columns named in `expected`, in this order. Returns an empty list if a name is missing or occurs more
/// than once, or if one of these columns has another use.
std::vector<std::size_t> expected_columns(std::span<const std::string> expected, std::span<const std::string> names,
                                          const std::vector<bool>& free) {
  std::vector<std::size_t> found;
  for (const std::string& name : expected) {
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (std::count(names.begin(), names.end(), name) != 1 || std::count(expected.begin(), expected.end(), name) != 1 ||
        !free[at])
      return {};
    found.push_back(at);
  }
  return found;
}

/// Returns the expected columns that a table lacks which has some of them.
std::vector<std::string> missing_columns(const ColumnChoice& choice, std::span<const std::string> names) {
  std::vector<std::string> missing;
  if (choice.expected_by.empty()) return missing;
  for (const std::string& name : choice.expected)
    if (std::count(names.begin(), names.end(), name) == 0) missing.push_back(name);
  if (missing.size() == choice.expected.size()) missing.clear();
  return missing;
}

}  // namespace

ChosenColumns choose_columns(const ColumnChoice& choice, std::span<const std::string> names, std::size_t columns,
                             std::string_view file) {
  ChosenColumns chosen;
  const auto refuse = [&](const std::string& what) { throw InputError(std::string(file) + ": " + what); };
  chosen.id = one_column(choice.id, names, columns, file, "names");
  chosen.weight = one_column(choice.weight, names, columns, file, "weighs");
  if (chosen.id && chosen.id == chosen.weight)
    refuse("column " + std::to_string(*chosen.id + 1) + " (" + column_text(names, *chosen.id) +
           ") cannot both name the rows (--id-column) and weigh them (--weight-column)");
  if (!choice.taken.empty()) {
    chosen.taken = choice.taken.find(names, columns, file);
    const auto refuse_both = [&](std::optional<std::size_t> column, const std::string& role) {
      if (column && std::count(chosen.taken.begin(), chosen.taken.end(), *column) > 0)
        refuse("column " + std::to_string(*column + 1) + " (" + column_text(names, *column) +
               ") cannot both be a coordinate (--columns) and " + role);
    };
    refuse_both(chosen.id, "name the rows (--id-column)");
    refuse_both(chosen.weight, "weigh the rows (--weight-column)");
    return chosen;
  }
  std::vector<bool> left(columns, true);
  for (const std::size_t column : choice.dropped.find(names, columns, file)) left[column] = false;
  if (chosen.weight && !left[*chosen.weight])
    refuse("column " + std::to_string(*chosen.weight + 1) + " (" + column_text(names, *chosen.weight) +
           ") cannot both be left out (--drop-columns) and weigh the rows (--weight-column)");
  if (chosen.id) left[*chosen.id] = false;
  if (chosen.weight) left[*chosen.weight] = false;
  const std::vector<std::string> missing = missing_columns(choice, names);
  if (!missing.empty())
    refuse((missing.size() == 1 ? "there is no column " : "there are no columns ") + list_of(missing) + ", which " +
           choice.expected_by + " has; the columns are " + list_of(names));
  chosen.taken = expected_columns(choice.expected, names, left);
  std::vector<std::size_t>& rest = chosen.taken.empty() ? chosen.taken : chosen.unexpected;
  for (const std::size_t column : chosen.taken) left[column] = false;
  for (std::size_t column = 0; column < columns; ++column)
    if (left[column]) rest.push_back(column);
  if (chosen.taken.empty())
    refuse("no column is left of " + std::to_string(columns) + "; at least one must be a coordinate");
  return chosen;
}

namespace {

bool is_plain(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return is_digit(character) || (byte | 0x20u) - 'a' < 26u || byte >= 0x80 || character == '_' || character == '.';
}

/// Returns a text with which a ColumnList selects this column and no other.
std::string column_item(std::span<const std::string> names, std::size_t column) {
  std::string number = std::to_string(column + 1);
  const auto is_only_name = [&](std::size_t one) { return std::count(names.begin(), names.end(), names[one]) == 1; };
  const std::string_view name = column < names.size() ? std::string_view(names[column]) : std::string_view();
  const bool unique = column < names.size() && is_only_name(column);
  if (unique && !name.empty() && std::all_of(name.begin(), name.end(), is_plain) && !is_number(name))
    return std::string(name);
  const auto called = std::find(names.begin(), names.end(), number);
  if (called == names.end() || (unique && name == number)) return number;
  if (!unique) return number + "-" + number;
  std::string quoted(1, '"');
  for (const char character : name) quoted.append(character == '"' ? 2 : 1, character);
  return quoted += '"';
}

}  // namespace

std::string column_items(std::span<const std::string> names, std::span<const std::size_t> columns) {
  std::string items;
  for (const std::size_t column : columns) {
    if (!items.empty()) items += ',';
    items += column_item(names, column);
  }
  if (items.find('"') == std::string::npos) return items;
  std::string word = "'";
  for (const char character : items) {
    if (character == '\'') word += "'\\'";
    word += character;
  }
  return word += '\'';
}

std::string column_text(std::span<const std::string> names, std::size_t column) {
  return column < names.size() && !names[column].empty() ? shown(names[column]) : std::to_string(column + 1);
}

std::string columns_text(std::span<const std::string> names, std::span<const std::size_t> columns) {
  constexpr std::size_t most = 8;
  std::string text = columns.size() == 1 ? "column " : "columns ";
  for (std::size_t index = 0; index < std::min(columns.size(), most); ++index) {
    text += index == 0 ? "" : index + 1 == columns.size() ? " and " : ", ";
    text += column_text(names, columns[index]);
  }
  if (columns.size() > most) text += " and " + std::to_string(columns.size() - most) + " more";
  return text;
}

void RowNames::append(const RowNames& more) {
  const std::size_t shift = text_.size();
  text_ += more.text_;
  for (const std::size_t end : more.ends_) ends_.push_back(shift + end);
}

}  // namespace gradus::files
