#include "io/columns.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/names.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"
#include "io/number.hpp"

namespace gradus::io {

namespace {

constexpr std::size_t last_column = std::numeric_limits<std::size_t>::max();

/// A number from 1 at the beginning of the text, which is taken from it; 0: there is none.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return 0;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

/// A name in single quotes, whose letters need not be ASCII; what is too long is cut off.
std::string shown(std::string_view name) {
  constexpr std::size_t most = 40;
  std::size_t length = std::min(name.size(), most);
  while (length < name.size() && length > 0 && (static_cast<unsigned char>(name[length]) & 0xc0u) == 0x80) --length;
  std::string text = "'";
  text += core::without_control(name.substr(0, length));
  return text += length < name.size() ? "...'" : "'";
}

/// All columns, shortened where they are many: "'x', 'y' and 'z'".
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
  const auto refuse = [&](const std::string& what) { throw UsageError(label_ + ": " + what); };
  for (std::size_t at = 0;; ++at) {
    Item item;
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at < text.size() && text[at] == '"') {
      item.quoted = true;
      for (++at; at < text.size(); ++at) {
        if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
        if (text[at] == '"') ++at;  // of a doubled quote, one is left
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

bool ColumnList::holds(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(), [&](const Item& item) { return item.text == name; });
}

std::vector<std::size_t> ColumnList::find(std::span<const std::string> names, std::size_t columns,
                                          std::string_view file) const {
  std::vector<std::size_t> found;
  std::vector<bool> seen(columns);
  const auto refuse = [&](const std::string& what) {
    throw InputError(std::string(file) + ": " + label_ + ": " + what);
  };
  const auto take = [&](std::size_t column) {
    if (seen[column]) refuse("column " + std::to_string(column + 1) + " is there twice");
    seen[column] = true;
    found.push_back(column);
  };
  for (const Item& item : items_) {
    const auto count = std::count(names.begin(), names.end(), item.text);
    if (count > 1)
      refuse(std::to_string(count) + " columns are called " + shown(item.text) +
             "; say by its number which one is meant");
    if (count == 1) {
      take(static_cast<std::size_t>(std::find(names.begin(), names.end(), item.text) - names.begin()));
    } else if (item.first != 0) {
      const std::size_t last = item.last == last_column ? columns : item.last;
      if (item.first > columns || last > columns)
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
  return places;
}

ChosenColumns choose_columns(const ColumnChoice& choice, std::span<const std::string> names, std::size_t columns,
                             std::string_view file) {
  ChosenColumns chosen;
  chosen.by_name = choice.holds_names();
  const auto refuse = [&](const std::string& what) { throw InputError(std::string(file) + ": " + what); };
  if (!choice.id.empty()) {
    const std::vector<std::size_t> ids = choice.id.find(names, columns, file);
    if (ids.size() != 1) refuse("--id-column: one column names the rows, not " + std::to_string(ids.size()));
    chosen.id = ids.front();
  }
  if (!choice.taken.empty()) {
    chosen.taken = choice.taken.find(names, columns, file);
    if (chosen.id && std::count(chosen.taken.begin(), chosen.taken.end(), *chosen.id) > 0)
      refuse("column " + std::to_string(*chosen.id + 1) + " (" + column_text(names, *chosen.id) +
             ") cannot both be a coordinate (--columns) and name the rows (--id-column)");
    return chosen;
  }
  std::vector<bool> left(columns, true);
  for (const std::size_t column : choice.dropped.find(names, columns, file)) left[column] = false;
  if (chosen.id) left[*chosen.id] = false;
  for (std::size_t column = 0; column < columns; ++column)
    if (left[column]) chosen.taken.push_back(column);
  if (chosen.taken.empty())
    refuse("no column is left of " + std::to_string(columns) + "; at least one must be a coordinate");
  return chosen;
}

std::string column_item(std::span<const std::string> names, std::size_t column) {
  const std::string number = std::to_string(column + 1);
  if (column >= names.size() || names[column].empty()) return number;
  const std::string& name = names[column];
  const auto is_plain = [](char character) {
    const auto byte = static_cast<unsigned char>(character);
    return is_digit(character) || (byte | 0x20u) - 'a' < 26u || byte >= 0x80 || character == '_' || character == '.';
  };
  // A name that a shell would take apart, or that several columns have, is better said by its number.
  const bool plain = std::all_of(name.begin(), name.end(), is_plain) && !is_number(name) &&
                     std::count(names.begin(), names.end(), name) == 1;
  return plain ? name : number;
}

std::string column_text(std::span<const std::string> names, std::size_t column) {
  return column < names.size() && !names[column].empty() ? shown(names[column]) : std::to_string(column + 1);
}

void RowNames::append(const RowNames& more) {
  const std::size_t shift = text_.size();
  text_ += more.text_;
  for (const std::size_t end : more.ends_) ends_.push_back(shift + end);
}

}  // namespace gradus::io
