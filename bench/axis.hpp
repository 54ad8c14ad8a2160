// The axes that users can set in a measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/parse.hpp"
#include "core/options.hpp"

namespace gradus::bench {

/// A setting with one or several values: an option of `gradus bench`, and a key of an experiment. Both are parsed here.
struct Axis {
  std::string name;     ///< "bin-width": --bin-width on the command line, bin_width in an experiment
  std::string letter;   ///< short form on the command line, or empty
  std::string form;     ///< placeholder in the help: "W", "K,..."
  std::string help;     ///< one line, in lower case, without a full stop
  std::string initial;  ///< default for the help; may be empty
  /// Parses and stores the value. Throws UsageError, with a message that begins with `label`, if it is invalid.
  std::function<void(const std::string& label, const std::string& text)> parse;
  std::vector<std::string> choices = {};               ///< completions for the shell
  bool file = false;                                   ///< file names are allowed too
  std::function<std::string()> no_effect_reason = {};  ///< reason for no effect with the other axes, or ""; may be null
};

/// Returns the axis of an option of a table, which sets the member of `options`.
Axis axis_of(const core::Option& row, void* options);
/// Returns the axis of an option whose values take() receives. The help shows `value` as the default.
Axis axis_of(const core::Option& row, const core::Value& value, std::function<void(const core::Value&)> take);

// Axes that several problems have. Each sets `target`, which must outlive the axis and holds the default.

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
/// Returns an axis of element types out of `all`; `help` names the elements.
Axis types_axis(const std::string& help, const std::vector<std::string>& all, std::vector<std::string>& target);

}  // namespace gradus::bench
