#include "bench/axis.hpp"

#include <limits>
#include <utility>

#include "bench/parse.hpp"

namespace gradus::bench {

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
