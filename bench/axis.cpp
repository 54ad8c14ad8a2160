#include "bench/axis.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "bench/parse.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

namespace {

std::string placeholder_of(const core::Option& row) {
  if (!row.placeholder.empty()) return std::string(row.placeholder);
  switch (row.kind) {
    case core::OptionKind::choice: return form_of(row.choices);
    case core::OptionKind::real: return "X";
    case core::OptionKind::reals: return "X,...";
    case core::OptionKind::integers: return "N,...";
    case core::OptionKind::text: return row.is_file ? "FILE" : "NAME";
    default: return "N";
  }
}

core::Value parsed(const core::Option& row, const std::string& label, const std::string& text) {
  constexpr double greatest = std::numeric_limits<double>::max();
  const double least = std::max(row.least, -greatest);
  const double most = std::min(row.most, greatest);
  switch (row.kind) {
    case core::OptionKind::integer: {
      const auto [least_whole, most_whole] = core::integer_range(row);
      return parse_whole(label, text, least_whole, most_whole);
    }
    case core::OptionKind::count: return parse_unsigned(label, text, 0, std::numeric_limits<std::uint64_t>::max());
    case core::OptionKind::real:
      return row.above_least && row.least == 0 ? parse_positive(label, text) : parse_real(label, text, least, most);
    case core::OptionKind::reals: return parse_real_list(label, text, least, most);
    case core::OptionKind::choice: {
      const std::optional<std::size_t> alias = core::find_choice(row.choices, text);
      return static_cast<std::int64_t>(alias ? *alias : parse_choice(label, text, names_of(row.choices)));
    }
    case core::OptionKind::flag:
    case core::OptionKind::text:
    case core::OptionKind::integers: break;
  }
  if (row.is_file && text.empty()) throw UsageError(label + ": the name of the file is empty");
  return text;
}

}  // namespace

Axis axis_of(const core::Option& row, void* options) {
  return axis_of(row, row.get(options), [&row, options](const core::Value& value) { row.set(options, value); });
}

Axis axis_of(const core::Option& row, const core::Value& value, std::function<void(const core::Value&)> take) {
  std::string initial(row.initial);
  if (initial.empty() && row.kind != core::OptionKind::text) initial = core::value_text(row, value);
  return {.name = with_hyphens(row.front_name()),
          .letter = row.letter == 0 ? "" : std::string(1, row.letter),
          .form = placeholder_of(row),
          .help = std::string(row.help),
          .initial = std::move(initial),
          .parse = [&row, take = std::move(take)](const std::string& label,
                                                  const std::string& text) { take(parsed(row, label, text)); },
          .choices = names_of(row.choices),
          .file = row.is_file};
}

Axis yes_no_axis(std::string name, std::string help, bool& target) {
  return {.name = std::move(name),
          .letter = "",
          .form = "yes|no",
          .help = std::move(help),
          .initial = target ? "yes" : "no",
          .parse =
              [&target](const std::string& label, const std::string& text) {
                target = parse_choice(label, text, {"no", "yes"}) == 1;
              },
          .choices = {"yes", "no"}};
}

Axis seed_axis(std::string help, std::uint64_t& target) {
  return {.name = "seed",
          .letter = "",
          .form = "N",
          .help = std::move(help),
          .initial = std::to_string(target),
          .parse = [&target](const std::string& label, const std::string& text) {
            target = parse_unsigned(label, text, 0, std::numeric_limits<std::uint64_t>::max());
          }};
}

Axis types_axis(const std::string& help, const std::vector<std::string>& all, std::vector<std::string>& target) {
  const auto listed = [](const std::vector<std::string>& names, const char* between) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
    return text;
  };
  return {.name = "dtype",
          .letter = "",
          .form = "TYPE,...",
          .help = help + ": " + listed(all, ", "),
          .initial = listed(target, ","),
          .parse =
              [&target, all](const std::string& label, const std::string& text) {
                target.clear();
                for (const std::string& part : parse_list(label, text))
                  target.push_back(all[parse_choice(label, part, all)]);
              },
          .choices = all};
}

}  // namespace gradus::bench
