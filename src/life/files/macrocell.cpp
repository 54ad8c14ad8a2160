// Life patterns as quadtrees with shared parts (Macrocell), in Golly's format.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/number.hpp"
#include "life/files/output.hpp"
#include "life/files/text.hpp"

namespace gradus::files {

namespace {

constexpr std::int32_t leaf_level = 3;
constexpr std::int64_t most_level = 120;
/// Golly's y axis points up. The root of a file covers the rows from -2^(level-1) + 1 to 2^(level-1), counted
/// downwards. So the centre of a file's tree is at row 1.
constexpr std::int64_t row_of_middle = 1;

class MacrocellReader final : public LifeReader {
 public:
  MacrocellReader(std::string name, const LifeReadOptions& options) : LifeReader(std::move(name), options) {
    tree_.nodes.emplace_back();
  }

  LifePattern finish() override {
    if (line_ == 0) {
      ++line_;
      fail("the file is empty; the first line of Macrocell begins with [M2]");
    }
    pattern_.top = row_of_middle;
    if (numbers_.size() == 1) {  // the form in which Golly writes an empty plane
      if (!has_rule_)
        fail("the file ends without a rule (#R B3/S23) or a square of cells; a part of it may be missing");
      pattern_.tree = std::move(tree_);
      return std::move(pattern_);
    }
    // The last square of a file is its root and must be the largest square.
    if (const auto greatest = std::ranges::max_element(levels_.begin(), levels_.end() - 1); *greatest >= levels_.back())
      fail("the file ends with square " + std::to_string(levels_.size() - 1) + " of level " +
           std::to_string(levels_.back()) + ", which should be all of the pattern, but square " +
           std::to_string(greatest - levels_.begin()) + " has level " + std::to_string(*greatest) +
           "; a part of the file may be missing");
    tree_.root = numbers_.back();
    pattern_.tree = std::move(tree_);
    return std::move(pattern_);
  }

 private:
  void take_line(std::string_view line) override {
    if (line_ == 1) {
      if (!line.starts_with("[M2]"))
        fail_at(1, core::excerpt(line) + " where [M2] is expected, the name of the format");
      return;
    }
    const std::string_view text = trimmed(line);
    if (text.empty()) return;
    const std::size_t column = static_cast<std::size_t>(text.data() - line.data()) + 1;
    if (text.front() == '#') return take_comment(text, column);
    if (numbers_.size() > std::numeric_limits<std::uint32_t>::max()) fail("more than 2^32 nodes");
    if (is_digit(text.front())) take_node(line);
    else take_leaf(text, column);
  }

  void take_comment(std::string_view text, std::size_t column) {
    const std::string_view value = trimmed(text.substr(std::min<std::size_t>(2, text.size())));
    const std::size_t place = column + static_cast<std::size_t>(value.data() - text.data());
    if (text.starts_with("#R")) {
      take_rule(value, place);
      has_rule_ = true;
    } else if (text.starts_with("#G")) {
      take_generation(value, place);
    } else {
      pattern_.comments.emplace_back(text);
    }
  }

  /// Adds a node. In the file, each node has the number of its line. All empty nodes map to node 0 of the tree.
  void add(const LifeTree::Node& node) {
    const bool is_empty = node.cells == 0 && node.quarters == std::array<std::uint32_t, 4>{};
    numbers_.push_back(is_empty ? 0 : static_cast<std::uint32_t>(tree_.nodes.size()));
    levels_.push_back(static_cast<std::int8_t>(node.level));
    if (!is_empty) tree_.nodes.push_back(node);
  }

  /// Parses 8 x 8 cells such as "..*$.*$". The text omits dead cells at the end of a row or of the square.
  void take_leaf(std::string_view text, std::size_t column) {
    LifeTree::Node leaf{.level = leaf_level};
    if (common_leaf(text, leaf.cells)) return add(leaf);
    int x = 0;
    int y = 0;
    for (std::size_t place = 0; place < text.size(); ++place) {
      const char letter = text[place];
      if (letter == '$') {
        x = 0;
        ++y;
        continue;
      }
      if (letter != '.' && letter != '*')
        fail_at(column + place,
                core::excerpt(text.substr(place, 1)) + " where '.', '*', '$', a number or '#' is expected");
      if (x == 8) fail_at(column + place, "more than 8 cells in a row of a leaf");
      if (y >= 8) fail_at(column + place, "more than 8 rows in a leaf");
      if (letter == '*') leaf.cells |= std::uint64_t{1} << (8 * y + x);
      ++x;
    }
    if (y > 8) fail_at(column, "more than 8 rows in a leaf");
    add(leaf);
  }

  /// Parses a leaf of up to eight rows, each with its '$'. Returns false for any other text.
  static bool common_leaf(std::string_view text, std::uint64_t& cells) {
    constexpr std::size_t longest = 8 * 9;
    std::array<char, longest + 8> rows;  // has room for a load of eight letters at the end of the text
    if (text.size() > longest) return false;
    std::memcpy(rows.data(), text.data(), text.size());
    rows[text.size()] = '\0';
    const char* at = rows.data();
    const char* const end = at + text.size();
    std::uint64_t leaf = 0;
    for (int row = 0; at != end; ++row) {
      constexpr std::uint64_t ones = 0x0101010101010101;
      constexpr std::uint64_t difference = '.' ^ '*';  // a single bit
      static_assert(difference == 4);
      std::uint64_t eight = 0;
      std::memcpy(&eight, at, sizeof eight);
      const std::uint64_t others = (eight | difference * ones) ^ ('.' | '*') * ones;
      const int letters = others == 0 ? 8 : std::countr_zero(others) / 8;
      if (row == 8 || at[letters] != '$') return false;
      std::uint64_t live = (~eight & difference * ones) >> 2;
      if (letters < 8) live &= (std::uint64_t{1} << (8 * letters)) - 1;
      leaf |= (live * 0x0102040810204080 >> 56) << (8 * row);
      at += letters + 1;
    }
    cells = leaf;
    return true;
  }

  /// Parses a node whose numbers are separated by single blanks. Returns false for any other line, and for a node that
  /// is not permitted.
  bool common_node(std::string_view line, LifeTree::Node& node) const {
    const char* at = line.data();
    const char* const end = at + line.size();
    std::uint64_t number = 0;
    const auto take = [&] {
      const char* const first = at;
      at = digits_at(at, end, number);
      constexpr std::ptrdiff_t safe_digits = 18;
      return at != first && at - first <= safe_digits;
    };
    if (!take() || number <= leaf_level || number > most_level) return false;
    node.level = static_cast<std::int32_t>(number);
    for (std::uint32_t& quarter : node.quarters) {
      if (at == end || *at++ != ' ' || !take() || number >= numbers_.size()) return false;
      if (number != 0 && levels_[number] != node.level - 1) return false;
      quarter = numbers_[number];
    }
    return at == end;
  }

  /// Parses "LEVEL NW NE SW SE".
  void take_node(std::string_view line) {
    LifeTree::Node node;
    if (common_node(line, node)) return add(node);
    node = {};
    std::size_t at = 0;
    const std::string cut = line_is_open_ ? "; a part of the file may be missing" : "";
    const auto number = [&](std::string_view what, std::int64_t least, std::int64_t most) {
      while (at < line.size() && is_blank(line[at])) ++at;
      const std::size_t begin = at;
      while (at < line.size() && !is_blank(line[at])) ++at;
      if (begin == at) fail_at(begin + 1, "the line ends where " + std::string(what) + " is expected" + cut);
      return whole(line.substr(begin, at - begin), begin + 1, what, least, most);
    };
    const std::int64_t level = number("the level", 0, std::numeric_limits<std::int64_t>::max());
    if (level >= 1 && level <= leaf_level)
      fail_at(1, "a node of level " + std::to_string(level) +
                     ", as files of rules with more than two states have; only rules B/S of two are supported");
    if (level <= leaf_level || level > most_level)
      fail_at(1,
              "a node of level " + std::to_string(level) + "; 4 to " + std::to_string(most_level) + " are supported");
    node.level = static_cast<std::int32_t>(level);
    for (std::uint32_t& quarter : node.quarters) {
      const auto child =
          static_cast<std::size_t>(number("a quarter", 0, static_cast<std::int64_t>(numbers_.size()) - 1));
      if (child != 0 && levels_[child] != level - 1)
        fail_at(at, "quarter " + std::to_string(child) + " has level " + std::to_string(levels_[child]) +
                        "; it should have " + std::to_string(level - 1) + cut);
      quarter = numbers_[child];
    }
    if (const std::string_view more = trimmed(line.substr(at)); !more.empty())
      fail_at(static_cast<std::size_t>(more.data() - line.data()) + 1,
              core::excerpt(more) + " follows the four quarters");
    add(node);
  }

  LifeTree tree_;
  bool has_rule_ = false;
  std::vector<std::uint32_t> numbers_{0};  ///< maps node numbers of the file to node numbers of the tree
  std::vector<std::int8_t> levels_{0};
};

/// The letters of a row of a leaf and its '$', without dead cells at the end.
struct LeafRow {
  std::array<char, 9> text = {};
  std::uint8_t length = 0;
};

constexpr auto leaf_rows = [] {
  std::array<LeafRow, 256> rows{};
  for (unsigned bits = 0; bits < rows.size(); ++bits) {
    LeafRow& row = rows[bits];
    for (unsigned column = 0; bits >> column != 0; ++column)
      row.text[row.length++] = (bits >> column & 1) != 0 ? '*' : '.';
    row.text[row.length++] = '$';
  }
  return rows;
}();

/// Writes the nodes of a tree, each one after its quarters. If equal squares share a node, the text depends only on the
/// cells.
class MacrocellText {
 public:
  MacrocellText(TextOutput& output, const LifeTree& tree)
      : output_(output), tree_(tree), numbers_(tree.root + std::size_t{1}), look_(output.target().stop, stopped) {}

  void write() {
    if (tree_.root == 0) return output_.write("$\n");
    put(life_detail::tight_root(tree_));
  }

 private:
  static constexpr std::string_view stopped = "stopped while writing a pattern";

  std::uint32_t number_of(std::uint32_t index) {
    if (index == 0) return 0;
    if (numbers_[index] == 0) {
      put(tree_.nodes[index]);
      numbers_[index] = count_;
    }
    return numbers_[index];
  }
  void put(const LifeTree::Node& node) {
    look_.honour_stop();
    std::array<std::uint32_t, 4> quarters{};
    if (node.level > leaf_level)
      std::ranges::transform(node.quarters, quarters.begin(), [&](auto quarter) { return number_of(quarter); });
    std::array<char, 80> line;
    char* at = line.data();
    if (node.level == leaf_level) {
      for (std::uint64_t rest = node.cells; rest != 0; rest >>= 8) {
        const LeafRow& row = leaf_rows[rest & 0xff];
        std::memcpy(at, row.text.data(), row.text.size());
        at += row.length;
      }
    } else {
      at = std::to_chars(at, line.data() + line.size(), node.level).ptr;
      for (const std::uint32_t quarter : quarters) {
        *at++ = ' ';
        at = std::to_chars(at, line.data() + line.size(), quarter).ptr;
      }
    }
    *at++ = '\n';
    output_.write({line.data(), static_cast<std::size_t>(at - line.data())});
    ++count_;
  }

  TextOutput& output_;
  const LifeTree& tree_;
  std::vector<std::uint32_t> numbers_;  ///< numbers of the nodes in the file; 0: not written yet
  std::uint32_t count_ = 0;
  core::RarePoll look_;
};

}  // namespace

namespace {

void write_macrocell(TextOutput& output, const LifePattern& pattern) {
  const std::stop_token& stop = output.target().stop;
  LifeTree made;
  const std::int64_t top = pattern.top - row_of_middle;
  if (!pattern.tree) made = life_detail::life_tree(pattern.cells, pattern.left, top, stop);
  else if (pattern.left != 0 || top != 0) made = life_detail::moved(*pattern.tree, pattern.left, top, stop);
  else if (pattern.tree->nodes[pattern.tree->root].level == leaf_level) made = *pattern.tree;
  // The root of a file must have quarters, so a leaf gets a larger root.
  if (made.root != 0 && made.nodes[made.root].level == leaf_level) life_detail::expand(made);
  const LifeTree& tree = made.nodes.empty() ? *pattern.tree : made;

  output.write("[M2] (gradus)\n#R " + rule_text(pattern) + "\n");
  if (pattern.generation > 0) output.write("#G " + std::to_string(pattern.generation) + "\n");
  write_comments(output, pattern, "#");
  MacrocellText(output, tree).write();
}

}  // namespace

extern constinit const LifeFormat life_macrocell_format{
    .id = "life_macrocell",
    .file = {.name = "Macrocell",
             .endings = ".mc",
             .rules =
                 "Macrocell, of two states: a tree in which equal squares are stored once. Cells may be 2^119 away. "
                 "Rows are counted as in Golly: the root of level k covers the rows from -2^(k-1) + 1 to 2^(k-1). A "
                 "file whose last square is not the largest was cut off, and is refused; one with a rule and no "
                 "square is an empty plane"},
    .begins = [](std::string_view text) { return text.starts_with("[M2]"); },
    .reader = make_life_reader<MacrocellReader>,
    .written = ".mc",
    .write = [](TextOutput& output, const LifePattern& pattern, std::string_view,
                std::int64_t) { write_macrocell(output, pattern); },
};

}  // namespace gradus::files
