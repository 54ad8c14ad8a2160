// Option tables: one row per member of an options struct. Checks, command-line flags, help, completion, Python
// arguments, run records, checkpoint keys and the comparison across ranks are all generated from the rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gradus/names.hpp"

namespace gradus::core {

/// The value of an option. A choice is the index of its enumerator. std::monostate stands for an option that is not
/// given.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, std::vector<double>,
                           std::vector<std::int64_t>>;

enum class OptionKind : std::uint8_t { flag, integer, count, real, choice, text, reals, integers };

}  // namespace gradus::core

template <>
inline constexpr auto gradus::enum_names<gradus::core::OptionKind> =
    std::to_array<gradus::EnumName<gradus::core::OptionKind>>({{gradus::core::OptionKind::flag, "flag"},
                                                               {gradus::core::OptionKind::integer, "integer"},
                                                               {gradus::core::OptionKind::count, "count"},
                                                               {gradus::core::OptionKind::real, "real"},
                                                               {gradus::core::OptionKind::choice, "choice"},
                                                               {gradus::core::OptionKind::text, "text"},
                                                               {gradus::core::OptionKind::reals, "reals"},
                                                               {gradus::core::OptionKind::integers, "integers"}});

namespace gradus::core {

/// The name of an enumerator, independent of its type.
struct Choice {
  std::string_view name;
  std::string_view alias;
};

/// The properties of an option that an option table lists. The table derives kind, type and default from the member.
struct OptionFacts {
  std::string_view name;              ///< name of the member
  std::string_view help;              ///< one sentence without a full stop
  std::string_view shown = {};        ///< name in the command line, Python and records; empty: same as `name`
  std::string_view placeholder = {};  ///< placeholder of the value in --help; empty: the usual placeholder of the kind
  std::string_view initial = {};      ///< text that describes the default in --help; empty: the default value
  char letter = 0;                    ///< the short flag, or 0
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;     ///< `least` itself is not allowed
  bool finite = true;           ///< infinity is not allowed, nor is NaN for options without a range
  bool is_file = false;         ///< the value is a file name
  bool in_job = true;           ///< a checkpoint and all ranks must have the same value
  bool recorded = true;         ///< the option is part of the record of a run, and is an argument in Python
  bool optional = false;        ///< the default means "not given": None in Python, null in records
  bool from_input = false;      ///< the input determines the value if the command line does not
  std::string_view calls = {};  ///< further Python functions with this argument, such as "kmeans_memory KMeans"
  /// value used by an estimator that lacks this option, so that it behaves like scikit-learn
  std::string_view scikit_learn = {};
};

struct Option : OptionFacts {
  OptionKind kind = OptionKind::flag;
  std::span<const Choice> choices = {};
  Value (*load)(const void* options) = nullptr;
  void (*store)(void* options, const Value& value) = nullptr;
  Value (*load_default)() = nullptr;

  Value get(const void* options) const { return given(load(options)); }
  void set(void* options, const Value& value) const {
    store(options, std::holds_alternative<std::monostate>(value) ? load_default() : value);
  }
  Value default_value() const { return given(load_default()); }

  /// Returns the name in the command line, Python and records.
  constexpr std::string_view front_name() const { return shown.empty() ? name : shown; }

 private:
  Value given(const Value& value) const { return optional && value == load_default() ? Value() : value; }
};

/// The option table of a struct. The rows are in the order of the struct's members. Specialized in
/// src/<problem>/options.hpp.
template <class Options>
inline constexpr std::array<Option, 0> option_rows{};

/// The option table of a struct, without the type of the struct.
struct OptionTable {
  std::span<const Option> rows = {};
};
template <class Options>
inline constexpr OptionTable option_table{option_rows<Options>};

/// Returns the index of the choice with this name or alias, or nullopt. Hyphens and underscores are interchangeable.
constexpr std::optional<std::size_t> find_choice(std::span<const Choice> choices, std::string_view text) {
  for (std::size_t index = 0; index < choices.size(); ++index)
    for (const std::string_view name : {choices[index].name, choices[index].alias})
      if (!name.empty() && detail::same_name(name, text)) return index;
  return std::nullopt;
}

/// Returns the row whose member or front-end name is `name`, or null.
constexpr const Option* find_option(std::span<const Option> rows, std::string_view name) {
  for (const Option& row : rows)
    if (row.name == name || row.front_name() == name) return &row;
  return nullptr;
}

/// Throws the UsageError for a value that an option does not allow. Every check of an option reports through this
/// function.
[[noreturn]] void refuse_value(std::string_view name, const std::string& value, const std::string& allowed);

/// Throws the UsageError for a number that is not an enumerator.
[[noreturn]] void refuse_choice(std::string_view name, std::int64_t number, std::size_t choices);

template <NamedEnum Enum>
void check_choice(Enum value, std::string_view name) {
  const auto number = static_cast<std::int64_t>(value);
  if (number < 0 || number >= std::ssize(enum_names<Enum>)) refuse_choice(name, number, enum_names<Enum>.size());
}

/// Returns the row with this name, which must exist.
template <class Options>
constexpr const Option& option_row(std::string_view name) {
  return *find_option(option_rows<Options>, name);
}

/// Returns the minimum and maximum of an integer option, limited to 64 bits.
std::pair<std::int64_t, std::int64_t> integer_range(const Option& row);

/// Throws the UsageError for an integer with too many bits for the option. `value` is the integer in digits.
[[noreturn]] void refuse_integer(const Option& row, std::string_view name, const std::string& value);

/// Throws UsageError if the value of the option is out of range or not an enumerator.
void check_option(const Option& row, const void* options);

/// Throws UsageError if the value is out of the option's range. `name` is the option's name in the message.
void check_value(const Option& row, const Value& value, std::string_view name);

/// Returns the value as text for the command line and records. A number becomes the shortest text that parses to it.
std::string value_text(const Option& row, const Value& value);

/// Returns one line "name=value" for each option whose value must be the same in a checkpoint and on all ranks.
std::string option_lines(std::span<const Option> rows, const void* options);

template <class Options>
void check_options(const Options& options) {
  for (const Option& row : option_rows<Options>) check_option(row, &options);
}

template <class Options>
std::string option_lines(const Options& options) {
  return option_lines(option_rows<Options>, &options);
}

/// Converts a member to text and back, if the member has a type that Value does not contain. text(const Content&)
/// returns the text, and value(const std::string&) returns the member. Specialized next to the table.
template <class Content>
struct TextOf;

namespace detail {

template <NamedEnum Enum>
inline constexpr auto choices_of = [] {
  std::array<Choice, enum_names<Enum>.size()> choices;
  for (std::size_t index = 0; index < choices.size(); ++index) {
    if (static_cast<std::size_t>(enum_names<Enum>[index].value) != index) throw "enumerators out of order";
    choices[index] = {enum_names<Enum>[index].name, enum_names<Enum>[index].alias};
  }
  return choices;
}();

template <class Member>
struct StructOf;
template <class Struct, class Type>
struct StructOf<Type Struct::*> {
  using Options = Struct;
};

template <auto first, auto... rest>
constexpr auto& member_of(auto& options) {
  if constexpr (sizeof...(rest) == 0) return options.*first;
  else return member_of<rest...>(options.*first);
}

template <class Content>
concept WrittenAsText = requires(const Content& content) {
  TextOf<Content>::text(content);
};

/// The type of the value that a std::optional member may contain. For any other member, the type of the member.
template <class Content>
struct Inside {
  using Type = Content;
};
template <class Content>
struct Inside<std::optional<Content>> {
  using Type = Content;
};

template <class Content>
constexpr OptionKind kind_of() {
  if constexpr (std::is_same_v<Content, bool>) return OptionKind::flag;
  else if constexpr (std::is_enum_v<Content>) return OptionKind::choice;
  else if constexpr (std::is_same_v<Content, double>) return OptionKind::real;
  else if constexpr (std::is_same_v<Content, std::vector<double>>) return OptionKind::reals;
  else if constexpr (std::is_same_v<Content, std::vector<std::int64_t>>) return OptionKind::integers;
  else if constexpr (std::is_unsigned_v<Content>) return OptionKind::count;
  else if constexpr (std::is_integral_v<Content>) return OptionKind::integer;
  else return OptionKind::text;
}

/// The type that represents a number or enumerator in a Value.
template <class Content>
using HeldNumber = std::conditional_t<std::is_same_v<Content, bool>, bool,
                                      std::conditional_t<std::is_unsigned_v<Content>, std::uint64_t, std::int64_t>>;

template <class Content>
Value load(const Content& content) {
  if constexpr (WrittenAsText<Content>) return TextOf<Content>::text(content);
  else if constexpr (std::is_integral_v<Content> || std::is_enum_v<Content>)
    return static_cast<HeldNumber<Content>>(content);
  else return content;
}
template <class Content>
Value load(const std::optional<Content>& content) {
  return content ? load(*content) : Value();
}

template <class Content>
void store(Content& content, const Value& value) {
  if constexpr (WrittenAsText<Content>) content = TextOf<Content>::value(std::get<std::string>(value));
  else if constexpr (std::is_integral_v<Content> || std::is_enum_v<Content>)
    content = static_cast<Content>(std::get<HeldNumber<Content>>(value));
  else content = std::get<Content>(value);
}
template <class Content>
void store(std::optional<Content>& content, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) content.reset();
  else store(content.emplace(), value);
}

}  // namespace detail

/// Returns the row of a member. With several arguments, returns the row of a nested member.
template <auto first, auto... rest>
constexpr Option option(const OptionFacts& facts) {
  using Options = typename detail::StructOf<decltype(first)>::Options;
  using Member = std::remove_reference_t<decltype(detail::member_of<first, rest...>(std::declval<Options&>()))>;
  using Content = typename detail::Inside<Member>::Type;
  Option row{facts};
  row.kind = detail::kind_of<Content>();
  if constexpr (std::is_integral_v<Content>) {
    row.least = std::max(row.least, static_cast<double>(std::numeric_limits<Content>::min()));
    row.most = std::min(row.most, static_cast<double>(std::numeric_limits<Content>::max()));
  }
  if constexpr (std::is_enum_v<Content>) row.choices = detail::choices_of<Content>;
  row.load = [](const void* options) {
    return detail::load(detail::member_of<first, rest...>(*static_cast<const Options*>(options)));
  };
  row.store = [](void* options, const Value& value) {
    detail::store(detail::member_of<first, rest...>(*static_cast<Options*>(options)), value);
  };
  row.load_default = [] {
    const Options defaults;
    return detail::load(detail::member_of<first, rest...>(defaults));
  };
  return row;
}

}  // namespace gradus::core
