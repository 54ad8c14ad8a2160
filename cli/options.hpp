// Options of a subcommand. Each value is checked when it is parsed, and the message of a UsageError says what would be
// right. What is known of an option (its choices, whether it names a file) is kept for completion and the manual.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/axis.hpp"
#include "bench/parse.hpp"
#include "core/options.hpp"
#include "gradus/execution.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
class Option;
}  // namespace CLI

namespace gradus::core {
struct Ladder;
}

namespace gradus::cli {

/// What the shell may offer for an option's value.
struct OptionValue {
  std::vector<std::string> choices;
  bool file = false;
  bool list = false;        ///< several values separated by commas, as the placeholder says: "NAME,..."
  bool is_result = true;    ///< helps to determine the result, so that --repeat takes it from a record
  bool of_variant = false;  ///< only some variants have it: --repeat with another --variant leaves it out
  /// The value as the command line writes it, given or not; where it is "" or there is no function, records have what
  /// was given. Flags: "" where not set.
  std::function<std::string()> current = {};
};
using OptionValues = std::map<const CLI::Option*, OptionValue>;

/// Why an option that was given would have no effect on what is about to run; empty where it has one. Asked when the
/// whole command line is known.
using WhyUseless = std::function<std::string()>;
using Uses = std::vector<std::pair<const CLI::Option*, WhyUseless>>;

/// UsageError for the first option that was given and has no effect: to pass over it in silence would let a mistake
/// run.
void require_effects(const Uses& uses, const std::function<bool(const CLI::Option&)>& is_given);

class Options {
 public:
  using Parse = std::function<void(const std::string& text)>;

  Options(CLI::App& app, OptionValues& values, Uses& uses) : app_(app), values_(values), uses_(uses) {}

  CLI::App& app() { return app_; }
  /// The heading under which the help lists the options that follow, and where all of these are of no use.
  void heading(std::string text, WhyUseless why_useless = {}) {
    heading_ = std::move(text);
    why_useless_ = std::move(why_useless);
  }

  /// The basis of all others: `names` as "-k,--clusters", or "INPUT" for an argument without a name. `placeholder`
  /// stands for the value in the help.
  CLI::Option& value(const std::string& names, const std::string& placeholder, const std::string& description,
                     Parse parse, OptionValue offered = {});
  CLI::Option& flag(const std::string& names, bool& target, const std::string& description);
  CLI::Option& text(const std::string& names, std::string& target, const std::string& placeholder,
                    const std::string& description);
  /// The name of a file or directory; the shell completes it.
  CLI::Option& file(const std::string& names, std::string& target, const std::string& placeholder,
                    const std::string& description);
  /// Likewise one or more of them.
  CLI::Option& files(const std::string& names, std::vector<std::string>& targets, const std::string& placeholder,
                     const std::string& description);
  /// Bytes; with a suffix K, M, G or T (powers of 1024) also a decimal fraction.
  CLI::Option& bytes(const std::string& names, std::uint64_t& target, const std::string& description);
  /// A whole number between `least` and `most`. The target's value is shown as the default.
  template <class Integer>
  CLI::Option& whole(const std::string& names, Integer& target, const std::string& description, Integer least = 0,
                     Integer most = std::numeric_limits<Integer>::max());
  /// A finite number between `least` and `most`. The target's value is shown as the default.
  CLI::Option& real(const std::string& names, double& target, const std::string& description,
                    double least = std::numeric_limits<double>::lowest(),
                    double most = std::numeric_limits<double>::max());
  /// One of a few names. The target's value is shown as the default.
  template <NamedEnum Enum>
  CLI::Option& choice(const std::string& names, Enum& target, const std::string& description);
  /// An enumerator that need not be given; `initial` says in the help what holds without it.
  template <NamedEnum Enum>
  CLI::Option& choice(const std::string& names, std::optional<Enum>& target, const std::string& description,
                      std::string_view initial);

  /// An option of a table: its flag sets the member of `options`, whose value is shown as the default.
  CLI::Option& row(const core::Option& row, void* options);
  /// A row whose text parse() reads, instead of its kind: the program takes more than the member holds.
  CLI::Option& row(const core::Option& row, void* options, decltype(bench::Axis::parse) parse);

  /// A flag for each option that only some variants of the problem have: Execution::variant_options.
  void variant_options(const core::Ladder& ladder, Execution& execution);

  /// An axis of a measurement, which `gradus bench` and experiments parse alike.
  CLI::Option& axis(const bench::Axis& axis);

  /// The option must be given.
  static CLI::Option& required(CLI::Option& option);
  /// The option says where the result or its parts go: --repeat does not take it from a record.
  CLI::Option& not_repeated(CLI::Option& option);
  /// The option is in records with its value at hand, given or not.
  CLI::Option& always_recorded(CLI::Option& option, std::function<std::string()> current);
  /// The option is refused where there is a reason why it has no effect.
  CLI::Option& useless_where(CLI::Option& option, WhyUseless why);

 private:
  /// Under the heading at hand.
  CLI::Option& added(CLI::Option& option);

  CLI::App& app_;
  OptionValues& values_;
  Uses& uses_;
  std::string heading_ = "Options";
  WhyUseless why_useless_;
};

using bench::parse_choice;
using bench::parse_list;
using bench::parse_positive;
using bench::parse_real;
using bench::parse_real_list;
using bench::parse_unsigned;
using bench::parse_whole;
using bench::parse_whole_list;
std::uint64_t parse_bytes(std::string_view name, std::string_view text);
/// The name by which messages call an option: the last of "-k,--clusters".
std::string shown_name(const std::string& names);
std::string with_default(const std::string& description, std::string_view value);

template <class Integer>
CLI::Option& Options::whole(const std::string& names, Integer& target, const std::string& description, Integer least,
                            Integer most) {
  const std::string name = shown_name(names);
  return value(names, "N", with_default(description, std::to_string(target)), [=, &target](const std::string& text) {
    if constexpr (std::is_signed_v<Integer>) target = static_cast<Integer>(parse_whole(name, text, least, most));
    else target = static_cast<Integer>(parse_unsigned(name, text, least, most));
  });
}

template <NamedEnum Enum>
CLI::Option& Options::choice(const std::string& names, Enum& target, const std::string& description) {
  const std::string name = shown_name(names);
  constexpr auto& choices = core::detail::choices_of<Enum>;
  return value(names, bench::form_of(choices), with_default(description, to_string(target)),
               [=, &target](const std::string& text) { target = bench::parse_enum<Enum>(name, text); },
               {bench::names_of(choices)});
}

template <NamedEnum Enum>
CLI::Option& Options::choice(const std::string& names, std::optional<Enum>& target, const std::string& description,
                             std::string_view initial) {
  const std::string name = shown_name(names);
  constexpr auto& choices = core::detail::choices_of<Enum>;
  return value(names, bench::form_of(choices), with_default(description, initial),
               [=, &target](const std::string& text) { target = bench::parse_enum<Enum>(name, text); },
               {bench::names_of(choices)});
}

}  // namespace gradus::cli
