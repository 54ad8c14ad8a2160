#include "pair_histogram/files/atom_selection.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "core/names.hpp"
#include "core/text.hpp"
#include "files/number.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

class AtomSelection::Parser {
 public:
  Parser(std::string_view text, std::string_view option, std::vector<Node>& nodes)
      : text_(text), option_(option), nodes_(nodes) {
    take();
  }

  void parse() {
    disjunction();
    if (!word_.empty()) fail_with_grammar("'and', 'or' or the end is expected, not " + core::excerpt(word_));
  }

 private:
  static constexpr std::array<std::pair<std::string_view, Kind>, 10> keys = {{{"all", Kind::all},
                                                                              {"type", Kind::type},
                                                                              {"element", Kind::element},
                                                                              {"name", Kind::name},
                                                                              {"residue", Kind::residue},
                                                                              {"id", Kind::id},
                                                                              {"index", Kind::index},
                                                                              {"x", Kind::x},
                                                                              {"y", Kind::y},
                                                                              {"z", Kind::z}}};
  static constexpr int deepest = 100;

  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(std::string(option_) + ": " + core::excerpt(text_) + ", character " + std::to_string(place_ + 1) +
                     ": " + what);
  }
  [[noreturn]] void fail_with_grammar(const std::string& what) const {
    fail(what +
         "; selections are made of 'all', 'type O', 'element H', 'name CA', 'residue SOL', 'id 1-100,205', "
         "'index 0-99', 'z 10:20', and of these with 'not', 'and', 'or' and parentheses");
  }
  [[noreturn]] void fail_at_keyword() const {
    if (word_.empty()) fail_with_grammar(text_.empty() ? "the selection is empty" : "the selection ends too early");
    std::vector<std::string_view> names;
    for (const auto& [name, kind] : keys)
      if (name.size() > 1) names.push_back(name);
    if (const std::string meant = word_.size() > 2 ? core::did_you_mean(word_, names) : ""; !meant.empty())
      fail_with_grammar("atoms cannot be selected by " + core::excerpt(word_) + meant);
    constexpr std::size_t longest_label = 4;
    const std::string word(word_);
    fail_with_grammar("atoms cannot be selected by " + core::excerpt(word_) +
                      (is_value() && word.size() <= longest_label
                           ? " alone; write 'element " + word + "', 'type " + word + "' or 'name " + word + "'"
                           : ""));
  }

  /// Moves to the next word, parenthesis or comma and puts it in `word_`. At the end, `word_` is empty.
  void take() {
    constexpr std::string_view blanks = " \t\n\r";
    place_ = std::min(text_.find_first_not_of(blanks, end_), text_.size());
    end_ = place_;
    if (place_ < text_.size() && std::string_view("(),").find(text_[place_]) != std::string_view::npos) ++end_;
    else end_ = std::min(text_.find_first_of(" \t\n\r(),", place_), text_.size());
    word_ = text_.substr(place_, end_ - place_);
  }

  bool taken(std::string_view word) {
    if (word_ != word) return false;
    take();
    return true;
  }

  std::size_t add(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  std::size_t disjunction() {
    if (++depth_ > deepest) fail("more than " + std::to_string(deepest) + " levels of 'not' and parentheses");
    std::size_t left = conjunction();
    while (taken("or")) {
      const std::size_t right = conjunction();
      left = add({.kind = Kind::disjunction, .words = {}, .ranges = {}, .intervals = {}, .left = left, .right = right});
    }
    --depth_;
    return left;
  }

  std::size_t conjunction() {
    std::size_t left = factor();
    while (taken("and")) {
      const std::size_t right = factor();
      left = add({.kind = Kind::conjunction, .words = {}, .ranges = {}, .intervals = {}, .left = left, .right = right});
    }
    return left;
  }

  std::size_t factor() {
    if (taken("not")) {
      if (++depth_ > deepest) fail("more than " + std::to_string(deepest) + " levels of 'not' and parentheses");
      const std::size_t operand = factor();
      --depth_;
      return add({.kind = Kind::negation, .words = {}, .ranges = {}, .intervals = {}, .left = operand, .right = 0});
    }
    if (taken("(")) {
      const std::size_t inner = disjunction();
      if (!taken(")")) fail("a closing parenthesis is expected");
      return inner;
    }
    const auto* const key = std::ranges::find(keys, word_, &std::pair<std::string_view, Kind>::first);
    if (key == keys.end()) fail_at_keyword();
    take();
    Node node{.kind = key->second, .words = {}, .ranges = {}, .intervals = {}, .left = 0, .right = 0};
    if (node.kind == Kind::all) return add(std::move(node));
    while (is_value()) {
      if (node.kind == Kind::id || node.kind == Kind::index) node.ranges.push_back(range());
      else if (node.kind >= Kind::x && node.kind <= Kind::z) node.intervals.push_back(interval());
      else node.words.emplace_back(word_);
      take();
      if (taken(",") && !is_value()) fail("a value is expected behind the comma");
    }
    if (node.words.empty() && node.ranges.empty() && node.intervals.empty())
      fail("a value is expected behind " + core::excerpt(key->first));
    return add(std::move(node));
  }

  bool is_value() const {
    static constexpr std::array<std::string_view, 7> others = {"", "and", "or", "not", "(", ")", ","};
    return std::ranges::find(others, word_) == others.end();
  }

  /// Parses an integer, or a range given as two integers with a hyphen.
  Range range() const {
    Range range;
    const char* const end = word_.data() + word_.size();
    const auto number = [&](const char* begin, std::int64_t& value) {
      const auto [stop, error] = std::from_chars(begin, end, value);
      if (error != std::errc{} || value < 0)
        fail(core::excerpt(word_) + " is not an integer, or a range such as 1-100");
      return stop;
    };
    const char* at = number(word_.data(), range.first);
    range.last = range.first;
    if (at != end && *at == '-') at = number(at + 1, range.last);
    if (at != end) fail(core::excerpt(word_) + " is not an integer, or a range such as 1-100");
    if (range.last < range.first) fail("the range " + core::excerpt(word_) + " ends before it begins");
    return range;
  }

  /// Parses A:B, where A or B may be missing.
  std::pair<double, double> interval() const {
    const std::size_t colon = word_.find(':');
    const auto number = [&](std::string_view text, double missing) {
      double value = missing;
      if (!text.empty() && parse_number(text.data(), text.data() + text.size(), value) != text.data() + text.size())
        value = std::numeric_limits<double>::quiet_NaN();
      return value;
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::size_t length = std::min(colon, word_.size());
    const double low = number(word_.substr(0, length), -infinity);
    const double high = number(word_.substr(std::min(length + 1, word_.size())), infinity);
    if (colon == std::string_view::npos || !(low < high))
      fail(core::excerpt(word_) + " is not a range of coordinates A:B, with A below B; 10: and :20 have one end");
    return {low, high};
  }

  std::string_view text_;
  std::string_view option_;
  std::vector<Node>& nodes_;
  std::size_t place_ = 0;
  std::size_t end_ = 0;
  std::string_view word_;
  int depth_ = 0;
};

class AtomSelection::Evaluator {
 public:
  Evaluator(const AtomSelection& selection, const Frame& frame, const std::string& what)
      : selection_(selection), frame_(frame), what_(what), atoms_(static_cast<std::size_t>(frame.points.rows())) {}

  std::vector<char> mask(std::size_t number) const {
    const Node& node = selection_.nodes_[number];
    switch (node.kind) {
      case Kind::all: return std::vector<char>(atoms_, 1);
      case Kind::type: return by_words(node, frame_.labels.types.get(), "type");
      case Kind::element: return by_words(node, frame_.labels.elements.get(), "element");
      case Kind::name: return by_words(node, frame_.labels.names.get(), "name");
      case Kind::residue: return by_words(node, frame_.labels.residues.get(), "residue");
      case Kind::id: return by_ids(node);
      case Kind::index: return by_index(node);
      case Kind::x: return by_coordinate(node, 0);
      case Kind::y: return by_coordinate(node, 1);
      case Kind::z: return by_coordinate(node, 2);
      default: break;
    }
    std::vector<char> left = mask(node.left);
    if (node.kind == Kind::negation) {
      for (char& is_in : left) is_in = is_in == 0 ? 1 : 0;
      return left;
    }
    const std::vector<char> right = mask(node.right);
    for (std::size_t atom = 0; atom < atoms_; ++atom)
      left[atom] = node.kind == Kind::conjunction ? left[atom] & right[atom] : left[atom] | right[atom];
    return left;
  }

  std::string no_match() const {
    std::string none = message("it matches none of the " + std::to_string(atoms_) + " atoms");
    if (atoms_ == 0) return none;
    std::string there = "; they have the indices 0 to " + std::to_string(atoms_ - 1);
    const AtomLabels& labels = frame_.labels;
    for (const auto& [name, words] : {std::pair("types", &labels.types), std::pair("elements", &labels.elements),
                                      std::pair("names", &labels.names), std::pair("residues", &labels.residues)})
      if (*words && !(*words)->words.empty()) there += std::string(", the ") + name + " " + list_of(**words);
    frame_.points.visit([&](const auto& points) {
      for (std::int64_t column = 0; column < points.columns(); ++column) {
        auto [least, most] = std::pair(points(0, column), points(0, column));
        for (std::int64_t atom = 1; atom < points.rows(); ++atom) {
          least = std::min(least, points(atom, column));
          most = std::max(most, points(atom, column));
        }
        there += std::string(", ") + "xyz"[column] + " from " + core::number_text(static_cast<double>(least)) + " to " +
                 core::number_text(static_cast<double>(most));
      }
    });
    return none + there;
  }

 private:
  std::string message(const std::string& why) const {
    return what_ + ": " + selection_.option_ + " " + core::excerpt(selection_.text_) + ": " + why;
  }
  [[noreturn]] void fail(const std::string& why) const { throw InputError(message(why)); }

  static std::string list_of(const AtomWords& labels) {
    constexpr std::size_t most = 12;
    std::string there;
    for (std::size_t at = 0; at < std::min(labels.words.size(), most); ++at)
      there += (at > 0 ? ", " : "") + labels.words[at];
    return labels.words.size() > most ? there + ", ..." : there;
  }

  std::vector<char> by_words(const Node& node, const AtomWords* labels, const char* name) const {
    if (labels == nullptr) {
      std::string known = "'x', 'y', 'z', 'index'";
      if (frame_.labels.ids) known += ", 'id'";
      if (frame_.labels.types) known += ", 'type'";
      if (frame_.labels.elements) known += ", 'element'";
      if (frame_.labels.names) known += ", 'name'";
      if (frame_.labels.residues) known += ", 'residue'";
      fail("the file gives the atoms no " + std::string(name) + "; select by " + known);
    }
    std::vector<char> is_wanted(labels->words.size());
    for (const std::string& word : node.words) {
      const auto found = std::ranges::find(labels->words, word);
      if (found == labels->words.end())
        fail("no atom has the " + std::string(name) + " " + core::excerpt(word) +
             (labels->words.empty() ? "" : "; there are " + list_of(*labels)));
      is_wanted[static_cast<std::size_t>(found - labels->words.begin())] = 1;
    }
    std::vector<char> result(atoms_);
    for (std::size_t atom = 0; atom < atoms_; ++atom)
      result[atom] = is_wanted[static_cast<std::size_t>(labels->of_atoms[atom])];
    return result;
  }

  std::vector<char> by_ids(const Node& node) const {
    if (!frame_.labels.ids) fail("the file has no ids; select by 'index', the place in the frame counted from 0");
    const std::vector<std::int64_t>& ids = *frame_.labels.ids;
    std::vector<char> result(atoms_);
    for (const Range& range : node.ranges) {
      bool found = false;
      for (std::size_t atom = 0; atom < atoms_; ++atom)
        if (ids[atom] >= range.first && ids[atom] <= range.last) {
          result[atom] = 1;
          found = true;
        }
      if (found) continue;
      const auto [least, most] = std::ranges::minmax_element(ids);
      fail("no atom has an id from " + std::to_string(range.first) + " to " + std::to_string(range.last) +
           (ids.empty() ? "" : "; they go from " + std::to_string(*least) + " to " + std::to_string(*most)));
    }
    return result;
  }

  std::vector<char> by_index(const Node& node) const {
    std::vector<char> result(atoms_);
    for (const Range& range : node.ranges) {
      if (range.last >= static_cast<std::int64_t>(atoms_))
        fail("there is no index " + std::to_string(range.last) + ": there are " + std::to_string(atoms_) +
             " atoms, counted from 0");
      std::fill(result.begin() + range.first, result.begin() + range.last + 1, 1);
    }
    return result;
  }

  std::vector<char> by_coordinate(const Node& node, std::int64_t column) const {
    std::vector<char> result(atoms_);
    frame_.points.visit([&](const auto& points) {
      for (std::size_t atom = 0; atom < atoms_; ++atom) {
        const auto value = static_cast<double>(points(static_cast<std::int64_t>(atom), column));
        for (const auto& [low, high] : node.intervals)
          if (low <= value && value < high) result[atom] = 1;
      }
    });
    return result;
  }

  const AtomSelection& selection_;
  const Frame& frame_;
  const std::string& what_;
  std::size_t atoms_;
};

AtomSelection::AtomSelection(std::string_view text, std::string_view option) : text_(text), option_(option) {
  Parser(text_, option_, nodes_).parse();
}

bool AtomSelection::is_by_place() const {
  return std::ranges::any_of(nodes_, [](const Node& node) { return node.kind == Kind::index; });
}

bool AtomSelection::is_by_coordinates() const {
  return std::ranges::any_of(nodes_, [](const Node& node) { return node.kind >= Kind::x && node.kind <= Kind::z; });
}

bool AtomSelection::is_by_labels() const {
  return std::ranges::any_of(nodes_, [](const Node& node) { return node.kind >= Kind::type && node.kind <= Kind::id; });
}

std::string AtomSelection::no_match(const Frame& frame, const std::string& what) const {
  return Evaluator(*this, frame, what).no_match();
}

std::vector<std::int64_t> AtomSelection::rows(const Frame& frame, const std::string& what) const {
  const std::vector<char> mask = Evaluator(*this, frame, what).mask(nodes_.size() - 1);
  std::vector<std::int64_t> rows;
  for (std::size_t atom = 0; atom < mask.size(); ++atom)
    if (mask[atom] != 0) rows.push_back(static_cast<std::int64_t>(atom));
  return rows;
}

}  // namespace gradus::files
