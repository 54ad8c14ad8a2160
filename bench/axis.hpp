// What a person may say about a measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/parse.hpp"
#include "core/options.hpp"

namespace gradus::bench {

/// A value or a list of them: an option of `gradus bench`, and a key of an experiment. Both are parsed here.
struct Axis {
  std::string name;     ///< "bin-width": --bin-width on the command line, bin_width in an experiment
  std::string letter;   ///< its short form on the command line, or empty
  std::string form;     ///< stands for the value in the help: "W", "K,..."
  std::string help;     ///< one line, in lower case, without a full stop
  std::string initial;  ///< what holds where it is not given, for the help; may be empty
  /// Takes the value. UsageError, whose message begins with `label`, where it is impossible.
  std::function<void(const std::string& label, const std::string& text)> parse;
  std::vector<std::string> choices = {};      ///< what the shell may offer
  bool file = false;                          ///< also names of files
  std::function<std::string()> useless = {};  ///< why it has no effect beside the other axes, or ""; may be null
};

/// The axis of an option of a table, which sets the member of `options`.
Axis axis_of(const core::Option& row, void* options);
/// The axis of an option whose values take() receives. The help shows `value` as what holds without them.
Axis axis_of(const core::Option& row, const core::Value& value, std::function<void(const core::Value&)> take);

// Axes that several problems have. Each sets `target`, which outlives it, from what it is initially.

Axis yes_no_axis(std::string name, std::string help, bool& target);
Axis seed_axis(std::string help, std::uint64_t& target);
/// An axis whose values are the names of an enum.
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
/// Types of elements, of `all`; `help` says of what.
Axis types_axis(const std::string& help, const std::vector<std::string>& all, std::vector<std::string>& target);

}  // namespace gradus::bench
