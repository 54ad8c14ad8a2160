// Options of a subcommand. Each value is checked when it is parsed, and a UsageError states which values are allowed.
// The choices of options and file arguments are recorded for completion and the manual.
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

/// The completions of an option's value, and how records contain the option.
struct OptionValue {
  std::vector<std::string> choices;
  bool file = false;
  bool list = false;        ///< the value is a list separated by commas; its placeholder looks like "NAME,..."
  bool is_result = true;    ///< the option influences the result, so --repeat takes it from a record
  bool of_variant = false;  ///< the option belongs to certain variants; --repeat with another --variant drops it
  /// Returns the option's current value, spelled as on the command line, even if the value is the default. Returns ""
  /// for a flag that is not set. If `current` is null or returns "", a record contains the values that the user gave.
  std::function<std::string()> current = {};
  std::function<void()> reset = {};  ///< restores the option's default; may be null
};
using OptionValues = std::map<const CLI::Option*, OptionValue>;

/// Returns the reason why an option that the user gave has no effect on the run, or "" if it has an effect. Called when
/// the whole command line is known.
using NoEffectReason = std::function<std::string()>;
using Uses = std::vector<std::pair<const CLI::Option*, NoEffectReason>>;

/// If the user gave an option that has no effect, throws UsageError for the first such option. Ignoring the option
/// would hide a mistake.
void require_effects(const Uses& uses, const std::function<bool(const CLI::Option&)>& is_given);

class Options {
 public:
  using Parse = std::function<void(const std::string& text)>;

  Options(CLI::App& app, OptionValues& values, Uses& uses) : app_(app), values_(values), uses_(uses) {}

  CLI::App& app() { return app_; }
  /// Sets the heading under which the help lists the options that are added next. `no_effect_reason` applies to all of
  /// these options.
  void heading(std::string text, NoEffectReason no_effect_reason = {}) {
    heading_ = std::move(text);
    no_effect_reason_ = std::move(no_effect_reason);
  }

  /// Adds an option. All functions below use this function. `names` is for example "-k,--clusters", or "INPUT" for a
  /// positional argument. `placeholder` stands for the value in the help.
  CLI::Option& value(const std::string& names, const std::string& placeholder, const std::string& description,
                     Parse parse, OptionValue offered = {});
  CLI::Option& flag(const std::string& names, bool& target, const std::string& description);
  CLI::Option& text(const std::string& names, std::string& target, const std::string& placeholder,
                    const std::string& description);
  /// Adds an option that names a file or directory, which the shell completes.
  CLI::Option& file(const std::string& names, std::string& target, const std::string& placeholder,
                    const std::string& description);
  /// Adds an option that names one or more files.
  CLI::Option& files(const std::string& names, std::vector<std::string>& targets, const std::string& placeholder,
                     const std::string& description);
  /// Adds an option with a number of bytes. A number with a suffix K, M, G or T (powers of 1024) may have decimals.
  CLI::Option& bytes(const std::string& names, std::uint64_t& target, const std::string& description);
  /// Adds an option with an integer between `least` and `most`. The help shows the target's value as the default.
  template <class Integer>
  CLI::Option& whole(const std::string& names, Integer& target, const std::string& description, Integer least = 0,
                     Integer most = std::numeric_limits<Integer>::max());
  /// Adds an option with a finite number between `least` and `most`. The help shows the target's value as the default.
  CLI::Option& real(const std::string& names, double& target, const std::string& description,
                    double least = std::numeric_limits<double>::lowest(),
                    double most = std::numeric_limits<double>::max());
  /// Adds an option with a few named values. The help shows the target's value as the default.
  template <NamedEnum Enum>
  CLI::Option& choice(const std::string& names, Enum& target, const std::string& description);
  /// Adds an option with a few named values. If the option is not given, the target stays empty. The help shows
  /// `initial` as the default.
  template <NamedEnum Enum>
  CLI::Option& choice(const std::string& names, std::optional<Enum>& target, const std::string& description,
                      std::string_view initial);

  /// Adds an option from an option table. When the option is parsed, its member of `options` is set. The help shows the
  /// value of the member as the default.
  CLI::Option& row(const core::Option& row, void* options);
  /// Adds an option from an option table. The function `parse` replaces the parser of the table, because the program
  /// accepts more values than the option of the library can hold.
  CLI::Option& row(const core::Option& row, void* options, decltype(bench::Axis::parse) parse);

  /// Adds a flag for each option that only some variants of the problem have: see Execution::variant_options.
  void variant_options(const core::Ladder& ladder, Execution& execution);

  /// Adds an axis of a measurement. `gradus bench` and experiments parse its values in the same way.
  CLI::Option& axis(const bench::Axis& axis);

  /// Makes the option accept a word in place of `value`, which the help then names after "VALUE:".
  CLI::Option& word(CLI::Option& option, const std::string& word, const std::string& value);

  static CLI::Option& required(CLI::Option& option);
  /// Marks an option that names an output, so that --repeat does not take the option from a record.
  CLI::Option& not_repeated(CLI::Option& option);
  /// Makes records contain the option with its current value, even if the user did not give the option.
  CLI::Option& always_recorded(CLI::Option& option, std::function<std::string()> current);
  /// Makes the command throw UsageError if the user gave the option and why() returns a reason.
  CLI::Option& ineffective_if(CLI::Option& option, NoEffectReason why);

 private:
  CLI::Option& added(CLI::Option& option);

  CLI::App& app_;
  OptionValues& values_;
  Uses& uses_;
  std::string heading_ = "Options";
  NoEffectReason no_effect_reason_;
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
/// Returns the name of an option for messages: the last name in a list such as "-k,--clusters".
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
