// Rules and other small things as text.
#include <algorithm>
#include <string>

#include "core/life_rules.hpp"
#include "core/text.hpp"
#include "gradus/life.hpp"

namespace gradus {

namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw UsageError("rule " + core::excerpt(text) + ": " + why);
}

char small(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

/// "Day & Night" is "dayandnight", as "day-and-night" is.
std::string bare_name(std::string_view text) {
  std::string name;
  for (const char letter : text) {
    const char one = small(letter);
    if ((one >= 'a' && one <= 'z') || (one >= '0' && one <= '9')) name += one;
    else if (one == '&') name += "and";
  }
  return name;
}

const LifeRule* find_named(std::string_view text) {
  std::string name = bare_name(text);
  for (const std::string_view itself : {"conway", "conwayslife", "gameoflife", "conwaysgameoflife"})
    if (name == itself) name = "life";
  const auto* const known = std::ranges::find_if(
      core::named_life_rules, [&](const core::NamedLifeRule& one) { return bare_name(one.name) == name; });
  return known == std::end(core::named_life_rules) ? nullptr : &known->rule;
}

/// Whether a word of three letters or more begins there: Hensel's letters follow a digit.
bool looks_like_name(std::string_view text) {
  const auto is_letter = [](char letter) { return small(letter) >= 'a' && small(letter) <= 'z'; };
  for (std::size_t at = 0; at + 3 <= text.size(); ++at)
    if ((at == 0 || text[at - 1] == ' ') && std::ranges::all_of(text.substr(at, 3), is_letter)) return true;
  return false;
}

[[noreturn]] void refuse_name(std::string_view text) {
  std::string names;
  for (const core::NamedLifeRule& one : core::named_life_rules)
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  refuse(text, "no rule of this name is known; known are " + names + ", and any rule by its lists, as B3/S23");
}

/// The digits at the beginning of `rest`, which are taken away.
std::uint16_t take_list(std::string_view& rest) {
  std::uint16_t list = 0;
  for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '8'; rest.remove_prefix(1))
    list = static_cast<std::uint16_t>(list | 1U << (rest.front() - '0'));
  return list;
}

/// What stands in the way of a list's end, where something does.
void require_end_of_list(std::string_view text, std::string_view rest, std::string_view allowed) {
  if (rest.empty() || allowed.find(rest.front()) != std::string_view::npos) return;
  const char letter = small(rest.front());
  if (letter == '9') refuse(text, "a cell has eight neighbours; the digits are 0 to 8");
  if (letter == 'v') refuse(text, "the von Neumann neighbourhood is not supported, only rules B/S of eight neighbours");
  if (letter == 'h') refuse(text, "the hexagonal neighbourhood is not supported, only rules B/S of eight neighbours");
  if (letter == 'l') refuse(text, "triangular neighbourhoods are not supported, only rules B/S of eight neighbours");
  if (letter == '/' || letter == 'g')
    refuse(text, "more than two states (Generations) are not supported, only rules B/S such as B3/S23");
  constexpr std::string_view hensel = "-acekinjqrtwyz";
  if (hensel.find(letter) != std::string_view::npos)
    refuse(
        text,
        "Hensel's letters (neighbours told apart by where they are) are not supported, only rules B/S such as B3/S23");
  refuse(text, "it ends with " + core::excerpt(rest) + "; a rule is written as B3/S23, b3s23 or 23/3");
}

}  // namespace

LifeRule life_rule(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\t' || rest.back() == '\r')) rest.remove_suffix(1);
  LifeRule rule{0, 0};
  if (rest.empty()) refuse(text, "it is empty; a rule is written as B3/S23, b3s23 or 23/3");
  if (const LifeRule* const named = find_named(rest)) return *named;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos)
    refuse(text, core::excerpt(rest.substr(colon)) +
                     " is a topology, which a rule alone does not have; name boundary and size apart");
  if (looks_like_name(rest)) refuse_name(text);
  const auto take_letter = [&rest](char letter) {
    if (rest.empty() || small(rest.front()) != letter) return false;
    rest.remove_prefix(1);
    return true;
  };
  if (take_letter('b')) {
    rule.birth = take_list(rest);
    require_end_of_list(text, rest, "/_sS");
    if (!rest.empty() && (rest.front() == '/' || rest.front() == '_')) rest.remove_prefix(1);
    if (!take_letter('s')) refuse(text, "after the list of births an S is expected, as in B3/S23");
    rule.survival = take_list(rest);
    require_end_of_list(text, rest, "");
    return rule;
  }
  const bool survival_first = !take_letter('s');  // "S23/B3" and "23/3"
  rule.survival = take_list(rest);
  require_end_of_list(text, rest, "/_bB");
  if (rest.empty()) refuse(text, "there is one list only; a rule is written as B3/S23, b3s23 or 23/3");
  if (rest.front() == '/' || rest.front() == '_') rest.remove_prefix(1);
  if (!take_letter('b') && !survival_first) refuse(text, "after the list of survivals a B is expected, as in S23/B3");
  rule.birth = take_list(rest);
  require_end_of_list(text, rest, "");
  return rule;
}

std::string to_string(const LifeRule& rule) {
  std::string text = "B";
  const auto add_list = [&text](std::uint16_t bits) {
    for (int n = 0; n <= 8; ++n)
      if ((bits >> n & 1) != 0) text += static_cast<char>('0' + n);
  };
  add_list(rule.birth);
  text += "/S";
  add_list(rule.survival);
  return text;
}

std::string_view to_string(LifeBoundary boundary) {
  switch (boundary) {
    case LifeBoundary::plane: return "plane";
    case LifeBoundary::dead: return "dead";
    case LifeBoundary::torus: return "torus";
  }
  return "?";
}

std::string to_string(LifePopulation population) {
  __extension__ using UInt128 = unsigned __int128;
  UInt128 rest = static_cast<UInt128>(population.high) << 64 | population.low;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest > 0);
  std::ranges::reverse(digits);
  return digits;
}

}  // namespace gradus
