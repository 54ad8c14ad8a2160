#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/ladder.hpp"
#include "core/names.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

std::uint64_t parse_bytes(std::string_view name, std::string_view text) {
  constexpr std::string_view suffixes = "KMGT";
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error == std::errc{}) {
    // A number without a suffix must be an integer.
    bool known = suffix.empty() && std::trunc(count) == count;
    if (!suffix.empty()) {
      const char letter = suffix.front() >= 'a' ? static_cast<char>(suffix.front() - 'a' + 'A') : suffix.front();
      const std::size_t power = suffixes.find(letter);
      suffix.remove_prefix(1);
      known = power != std::string_view::npos && (suffix.empty() || suffix == "iB" || suffix == "B");
      count = std::ldexp(count, 10 * (static_cast<int>(power % suffixes.size()) + 1));
    }
    if (known && count >= 1 && count < 0x1p64) return static_cast<std::uint64_t>(count);
  }
  throw UsageError(about(name) + core::excerpt(text) +
                   " is not a number of bytes; 500M and 1.5G are examples (K, M, G and T are powers of 1024)");
}

std::string shown_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

std::string with_default(const std::string& description, std::string_view value) {
  return value.empty() ? description : description + " [" + std::string(value) + "]";
}

CLI::Option& Options::value(const std::string& names, const std::string& placeholder, const std::string& description,
                            Parse parse, OptionValue offered) {
  CLI::Option* option = app_.add_option_function<std::string>(
      names, [parse = std::move(parse)](const std::string& text) { parse(text); }, description);
  option->option_text(placeholder);
  offered.list = placeholder.find(",...") != std::string::npos;
  values_[option] = std::move(offered);
  return added(*option);
}

CLI::Option& Options::added(CLI::Option& option) {
  if (no_effect_reason_) ineffective_if(option, no_effect_reason_);
  return *option.group(heading_);
}

CLI::Option& Options::ineffective_if(CLI::Option& option, NoEffectReason why) {
  uses_.emplace_back(&option, std::move(why));
  return option;
}

void require_effects(const Uses& uses, const std::function<bool(const CLI::Option&)>& is_given) {
  for (const auto& [option, no_effect_reason] : uses) {
    if (!is_given(*option)) continue;
    if (const std::string reason = no_effect_reason(); !reason.empty())
      throw UsageError((option->get_positional() ? option->get_option_text() : "--" + option->get_lnames().front()) +
                           " has no effect: " + reason,
                       {.code = error_code::no_effect});
  }
}

namespace {

/// Refuses values of a flag other than true and false, such as numbers.
void accept_only_truth_values(CLI::Option& flag) {
  flag.transform(CLI::Validator(
      [name = flag.get_name()](std::string& text) {
        bool value = false;
        const bool is_number = text.find_first_of("0123456789") != std::string::npos;
        if ((is_number && text != "0" && text != "1") || !CLI::detail::lexical_cast(text, value))
          throw UsageError(about(name) + core::excerpt(text) + " is neither true nor false",
                           {.code = error_code::bad_argument, .value = text, .allowed = "true or false"});
        text = value ? "1" : "0";
        return std::string();
      },
      ""));
}

}  // namespace

CLI::Option& Options::flag(const std::string& names, bool& target, const std::string& description) {
  CLI::Option& flag = added(*app_.add_flag(names, target, description));
  accept_only_truth_values(flag);
  return flag;
}

CLI::Option& Options::text(const std::string& names, std::string& target, const std::string& placeholder,
                           const std::string& description) {
  return value(names, placeholder, description, [&target](const std::string& text) { target = text; });
}

CLI::Option& Options::file(const std::string& names, std::string& target, const std::string& placeholder,
                           const std::string& description) {
  const std::string name = shown_name(names);
  return value(names, placeholder, description,
               [name, &target](const std::string& text) {
                 if (text.empty()) throw UsageError(about(name) + "the name of the file is empty");
                 target = text;
               },
               {.choices = {}, .file = true, .reset = [&target, initial = target] { target = initial; }});
}

CLI::Option& Options::files(const std::string& names, std::vector<std::string>& targets, const std::string& placeholder,
                            const std::string& description) {
  CLI::Option* option = app_.add_option(names, targets, description);
  option->option_text(placeholder);
  values_[option] = {.choices = {}, .file = true};
  return added(*option);
}

CLI::Option& Options::bytes(const std::string& names, std::uint64_t& target, const std::string& description) {
  const std::string name = shown_name(names);
  return value(names, "BYTES", description,
               [name, &target](const std::string& text) { target = parse_bytes(name, text); });
}

CLI::Option& Options::real(const std::string& names, double& target, const std::string& description, double least,
                           double most) {
  const std::string name = shown_name(names);
  return value(names, "X", with_default(description, core::number_text(target)),
               [=, &target](const std::string& text) { target = parse_real(name, text, least, most); });
}

CLI::Option& Options::row(const core::Option& row, void* options) {
  if (row.kind != core::OptionKind::flag) return this->row(row, options, bench::axis_of(row, options).parse);
  CLI::Option& flag = added(*app_.add_flag_function(
      "--" + bench::with_hyphens(row.front_name()),
      [&row, options](std::int64_t count) { row.set(options, core::Value(count > 0)); }, std::string(row.help)));
  flag.multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  accept_only_truth_values(flag);
  values_[&flag].reset = [&row, options, initial = row.get(options)] { row.set(options, initial); };
  if (!row.recorded) return flag;
  return always_recorded(flag, [&row, options] { return row.get(options) == core::Value(true) ? "true" : ""; });
}

CLI::Option& Options::row(const core::Option& row, void* options, decltype(bench::Axis::parse) parse) {
  bench::Axis own = bench::axis_of(row, options);
  own.parse = std::move(parse);
  CLI::Option& option = axis(own);
  values_[&option].reset = [&row, options, initial = row.get(options)] { row.set(options, initial); };
  if (!row.recorded || row.from_input) return option;
  return always_recorded(option, [&row, options] { return core::value_text(row, row.get(options)); });
}

void Options::variant_options(const core::Ladder& ladder, Execution& execution) {
  std::vector<std::pair<const core::Option*, std::string>> rows;  // pairs of an option and the variants that have it
  for (const core::VariantInfo& variant : ladder.variants()) {
    if (variant.options == nullptr) continue;
    for (const core::Option& row : variant.options->rows) {
      const auto known = std::ranges::find(rows, row.name, [](const auto& one) { return one.first->name; });
      if (known == rows.end()) rows.emplace_back(&row, variant.name);
      else known->second.append(", ").append(variant.name);
    }
  }
  for (const auto& [row, variants] : rows) {
    bench::Axis own = bench::axis_of(*row, row->default_value(), [row = row, &execution](const core::Value& value) {
      std::erase_if(execution.variant_options, [&](const VariantOption& one) { return one.name == row->name; });
      execution.variant_options.push_back({std::string(row->name), core::value_text(*row, value)});
    });
    own.help += "; only for " + variants;
    CLI::Option& option = axis(own);
    values_[&option].of_variant = true;
    if (row->is_file) not_repeated(option);
  }
}

CLI::Option& Options::word(CLI::Option& option, const std::string& word, const std::string& value) {
  option.transform([word, value](const std::string& text) { return text == word ? value : text; });
  option.option_text(option.get_option_text() + "|" + word);
  std::string help = option.get_description();
  help.insert(help.find("; " + value + ":") + 2 + value.size(), " or " + word);
  option.description(help);
  values_[&option].choices.push_back(word);
  return option;
}

CLI::Option& Options::not_repeated(CLI::Option& option) {
  values_[&option].is_result = false;
  return option;
}

CLI::Option& Options::always_recorded(CLI::Option& option, std::function<std::string()> current) {
  values_[&option].current = std::move(current);
  return option;
}

CLI::Option& Options::axis(const bench::Axis& axis) {
  return value((axis.letter.empty() ? "" : "-" + axis.letter + ",") + "--" + axis.name, axis.form,
               with_default(axis.help, axis.initial),
               [name = "--" + axis.name, parse = axis.parse](const std::string& text) { parse(name, text); },
               {.choices = axis.choices, .file = axis.file});
}

CLI::Option& Options::required(CLI::Option& option) { return *option.required(); }

}  // namespace gradus::cli
