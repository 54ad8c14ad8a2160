// Converts rules and other small values to text and back.
#include <algorithm>
#include <string>

#include "core/text.hpp"
#include "gradus/life.hpp"
#include "life/named_rules.hpp"

namespace gradus {

namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw UsageError("rule " + core::excerpt(text) + ": " + why);
}

char small(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

/// Reduces a name to lower-case letters: "Day & Night" and "day-and-night" become "dayandnight".
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
  const auto* const known =
      std::ranges::find_if(life_detail::named_life_rules,
                           [&](const life_detail::NamedLifeRule& one) { return bare_name(one.name) == name; });
  return known == std::end(life_detail::named_life_rules) ? nullptr : &known->rule;
}

constexpr std::string_view digits = "0123456789";
constexpr std::string_view lists = "bs/_0123456789";
/// Letters of Hensel's notation, which distinguishes neighbours by position.
constexpr std::string_view hensel = "-acekinjqrtwyz";
constexpr std::string_view example = "a rule is written as B3/S23, b3s23 or 23/3";

bool is_made_of(std::string_view text, std::string_view letters) {
  return text.find_first_not_of(letters) == std::string_view::npos;
}

/// Returns true if the rule ends with this letter and only lists of numbers precede the letter.
bool are_lists_with(std::string_view rule, char letter) {
  return rule.size() > 1 && rule.back() == letter && is_made_of(rule.substr(0, rule.size() - 1), lists);
}

/// Returns true if the text is a name that other programs use for a rule that is given as a table.
bool is_table(std::string_view rule) {
  constexpr std::string_view within[] = {"history", "super", "margolus", "turmite", "langton", "lifeon"};
  constexpr std::string_view before[] = {"wireworld", "jvn",      "nobili",  "hutton",    "codd",    "banks",
                                         "byl-loop",  "chou-reg", "evoloop", "sdsr-loop", "perrier", "tempesti",
                                         "devore",    "worm-",    "hpp",     "ed-rep"};
  const auto holds = [rule](std::string_view name) { return rule.find(name) != std::string_view::npos; };
  return std::ranges::any_of(within, holds) ||
         std::ranges::any_of(before, [rule](std::string_view name) { return rule.starts_with(name); });
}

struct Family {
  std::string_view what;
  bool (*holds)(std::string_view rule);  ///< called with lower-case rules that are not in B/S form
};
constexpr Family families[] = {
    {"neighbourhoods that reach further than one cell (Larger than Life)",
     [](std::string_view rule) {
       return rule.size() > 1 && rule[0] == 'r' && is_made_of(rule.substr(1, 1), digits) &&
              rule.find(',') != std::string_view::npos;
     }},
    {"maps of all 512 neighbourhoods (MAP)",
     [](std::string_view rule) {
       constexpr std::size_t shortest_map = 6;
       return rule.starts_with("map") && rule.size() >= 3 + shortest_map &&
              is_made_of(rule, "abcdefghijklmnopqrstuvwxyz0123456789+/=");
     }},
    {"rules of one dimension (elementary, Wolfram's)",
     [](std::string_view rule) { return rule.size() > 1 && rule[0] == 'w' && is_made_of(rule.substr(1), digits); }},
    {"rules of a table (a .rule file, as of WireWorld or LifeHistory)", is_table},
    {"more than two states (Generations)",
     [](std::string_view rule) {
       return rule == "briansbrain" || rule == "starwars" || rule == "caterpillars" ||
              (is_made_of(rule, "bsgc/_0123456789") &&
               (std::ranges::count(rule, '/') > 1 || rule.find('g') != std::string_view::npos));
     }},
    {"the von Neumann neighbourhood", [](std::string_view rule) { return are_lists_with(rule, 'v'); }},
    {"the hexagonal neighbourhood", [](std::string_view rule) { return are_lists_with(rule, 'h'); }},
    {"triangular neighbourhoods", [](std::string_view rule) { return are_lists_with(rule, 'l'); }},
    {"Hensel's letters (neighbours distinguished by position)",
     [](std::string_view rule) {
       const std::size_t digit = rule.find_first_of(digits);
       return digit != std::string_view::npos && is_made_of(rule.substr(0, digit), lists) &&
              is_made_of(rule, std::string(lists) + std::string(hensel));
     }},
};

void refuse_families(std::string_view text, std::string_view rule) {
  std::string name;
  for (const char letter : rule) name += small(letter);
  for (const Family& family : families)
    if (family.holds(name))
      refuse(text, std::string(family.what) +
                       ": not supported, only rules B/S of two states and eight neighbours, such "
                       "as B3/S23");
}

/// Returns true if a word in the text has at least three letters.
bool looks_like_name(std::string_view text) {
  const auto is_letter = [](char letter) { return small(letter) >= 'a' && small(letter) <= 'z'; };
  for (std::size_t at = 0; at + 3 <= text.size(); ++at)
    if ((at == 0 || text[at - 1] == ' ') && std::ranges::all_of(text.substr(at, 3), is_letter)) return true;
  return false;
}

[[noreturn]] void refuse_name(std::string_view text) {
  std::string names;
  for (const life_detail::NamedLifeRule& one : life_detail::named_life_rules)
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  refuse(text, "no rule of this name is known; known are " + names + ", and any rule by its lists, as B3/S23");
}

/// A list of neighbour counts. If a letter precedes the list, `letter` is that letter in lower case.
struct List {
  char letter = '\0';
  std::uint16_t bits = 0;
};

/// Removes the list at the beginning of `rest` and returns it.
List take_list(std::string_view& rest) {
  List list;
  if (!rest.empty() && (small(rest.front()) == 'b' || small(rest.front()) == 's')) {
    list.letter = small(rest.front());
    rest.remove_prefix(1);
  }
  for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '8'; rest.remove_prefix(1))
    list.bits = static_cast<std::uint16_t>(list.bits | 1U << (rest.front() - '0'));
  return list;
}

}  // namespace

LifeRule life_rule(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\t' || rest.back() == '\r')) rest.remove_suffix(1);
  if (rest.empty()) refuse(text, "it is empty; " + std::string(example));
  if (const LifeRule* const named = find_named(rest)) return *named;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos)
    refuse(text, core::excerpt(rest.substr(colon)) +
                     " is a topology, which a rule alone does not have; name boundary and size apart");
  const std::string_view whole = rest;
  const List first = take_list(rest);
  const bool has_separator = !rest.empty() && (rest.front() == '/' || rest.front() == '_');
  if (has_separator) rest.remove_prefix(1);
  const List second = take_list(rest);
  if (!rest.empty()) {
    refuse_families(text, whole);
    if (looks_like_name(whole)) refuse_name(text);
    if (rest.front() == '9') refuse(text, "a cell has eight neighbours; the digits are 0 to 8");
    refuse(text, "it ends with " + core::excerpt(rest) + "; " + std::string(example));
  }
  if (first.letter != '\0' && first.letter == second.letter)
    refuse(text, "there are two lists " + std::string(1, static_cast<char>(first.letter - 'a' + 'A')) + "; " +
                     std::string(example));
  if (first.letter == '\0' && second.letter == '\0' && !has_separator)
    refuse(text, "there is one list only; " + std::string(example));
  // If the lists have no letters, the survival list comes first. A missing list is empty, as in B234.
  return first.letter == 'b' || second.letter == 's' ? LifeRule{first.bits, second.bits}
                                                     : LifeRule{second.bits, first.bits};
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
