// The axes of a measurement, which users can set.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/parse.hpp"
#include "core/options.hpp"

namespace gradus::bench {

/// A setting with one or several values. Users set it by an option of `gradus bench` or by a key of an experiment. This
/// code parses both forms.
struct Axis {
  std::string name;     ///< for example "bin-width", for --bin-width on the command line and bin_width in an experiment
  std::string letter;   ///< short form on the command line; may be empty
  std::string form;     ///< placeholder in the help, for example "W" or "K,..."
  std::string help;     ///< one line, in lower case, without a full stop
  std::string initial;  ///< the default value, spelled as in the help; may be empty
  /// Parses and stores the value. If it is invalid, throws UsageError with a message that begins with `label`.
  std::function<void(const std::string& label, const std::string& text)> parse;
  std::vector<std::string> choices = {};  ///< completions for the shell
  bool file = false;                      ///< true if the value may also be a file name
  /// Returns "" if the setting has an effect. Otherwise returns the reason why the other axes make it ineffective. If
  /// the function is null, the setting always has an effect.
  std::function<std::string()> no_effect_reason = {};
};

/// Returns the axis for an option of an option table. When the axis is parsed, it sets the option's member of
/// `options`.
Axis axis_of(const core::Option& row, void* options);
/// Returns the axis of an option whose values are passed to take(). The help shows `value` as the default.
Axis axis_of(const core::Option& row, const core::Value& value, std::function<void(const core::Value&)> take);

// Axes that several problems have. Each axis sets its `target`. The initial value of `target` is the default. `target`
// must outlive the axis.

Axis yes_no_axis(std::string name, std::string help, bool& target);
Axis seed_axis(std::string help, std::uint64_t& target);
template <NamedEnum Enum>
Axis choice_axis(const std::string& name, const std::string& help, Enum& target) {
  constexpr auto& choices = core::detail::choices_of<Enum>;
  return {
      .name = name,
      .letter = "",
      .form = form_of(choices),
      .help = help,
      .initial = std::string(gradus::to_string(target)),
      .parse = [&target](const std::string& label, const std::string& text) { target = parse_enum<Enum>(label, text); },
      .choices = names_of(choices)};
}
/// Returns an axis for a choice of element types from `all`. `help` describes the elements.
Axis types_axis(const std::string& help, const std::vector<std::string>& all, std::vector<std::string>& target);

}  // namespace gradus::bench
