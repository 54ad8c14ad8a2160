// Tests readers and writers of Life patterns: results for every format, round trips, and the messages and positions of
// errors.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/philox.hpp"
#include "files/gif.hpp"
#include "files/image.hpp"
#include "gradus/error.hpp"
#include "life/files/pattern.hpp"
#include "life/quadtree.hpp"

namespace gradus::files {
namespace {

using namespace std::string_literals;
using Cells = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

const LifeFormat* called(std::string_view id) {
  const auto found = std::ranges::find(life_formats(), id, &LifeFormat::id);
  return found != life_formats().end() ? *found : nullptr;
}

LifePattern parse(std::string_view text, const LifeFormat* format = nullptr, const LifeReadOptions& options = {}) {
  return parse_life(bytes_of(text), "test", format, options);
}

/// Returns the error message for the text.
std::string refusal(std::string_view text, const LifeFormat* format = nullptr, const LifeReadOptions& options = {}) {
  try {
    parse(text, format, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// Returns the error message for a valid text whose cells need too much memory.
std::string shortage(std::string_view text, const LifeReadOptions& options) {
  try {
    parse(text, {}, options);
  } catch (const InputError&) {
    return "called bad input";
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// Returns the live cells as (x, y) pairs, row by row.
Cells cells_of(const LifePattern& pattern) {
  const LifeTree tree = pattern.tree ? *pattern.tree : life_detail::life_tree(pattern.cells.view(), 0, 0);
  Cells cells;
  const std::vector<life_detail::LifeBlock> blocks = life_detail::blocks_of(tree, 1 << 22).value();
  for (const life_detail::LifeBlock& block : blocks)
    for (int bit = 0; bit < 64; ++bit)
      if ((block.cells >> bit & 1) != 0)
        cells.emplace_back(pattern.left + block.x * 8 + bit % 8, pattern.top + block.y * 8 + bit / 8);
  std::ranges::sort(
      cells, [](const auto& a, const auto& b) { return std::tie(a.second, a.first) < std::tie(b.second, b.first); });
  return cells;
}

const Cells glider{{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "gradus_life_XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void write(const std::string& path, const LifePattern& pattern, std::int64_t scale = 1) {
  core::AtomicFile file(path);
  write_life(file, pattern, life_output(path).value(), scale);
  file.commit();
}

TEST(LifePatterns, AGliderInEveryFormat) {
  EXPECT_EQ(cells_of(parse("x = 3, y = 3, rule = B3/S23\nbo$2bo$3o!")), glider);
  EXPECT_EQ(cells_of(parse("#N Glider\r\n\r\nx=3,y=3\r\nb o $ 2\r\nbo$\r\n3 o!\r\nwhat follows")), glider);
  EXPECT_EQ(cells_of(parse("x = 3, y = 3\n.A$..A$AAA!")), glider);
  EXPECT_EQ(cells_of(parse(
                "[M2] (golly 2.0)\n#R B3/S23\n$$$$$$$.......*$\n$$$$$$$*$\n*$*$\n.......*$.......*$\n4 1 0 4 3\n")),
            (Cells{{-1, 0}, {-1, 1}, {0, 1}, {-1, 2}, {0, 2}}));
  EXPECT_EQ(cells_of(parse(".O\n..O\nOOO\n")), glider);
  EXPECT_EQ(cells_of(parse("!Name: Glider\n!\n.*.\n..*\n***", called("life_plaintext"))), glider);
  EXPECT_EQ(cells_of(parse("#Life 1.06\n1 0\n2 1\n0 2\n1 2\n2 2\n")), glider);
  EXPECT_EQ(cells_of(parse("#Life 1.06\r\n#D in any order\r\n2 2\r\n 1\t2 \r\n0 2\r\n2 1\r\n1 0\r\n")), glider);
  EXPECT_EQ(cells_of(parse("P1\n# plain\n3 3\n0 1 0\n0 0 1\n111\n")), glider);
  EXPECT_EQ(cells_of(parse("P4 3 3\n\x40\x20\xe0"s)), glider);
  EXPECT_EQ(cells_of(parse("P2\n3 3\n9\n9 0 9 9 9 8 1 2 3")), glider);
  EXPECT_EQ(cells_of(parse("P5\n3 3 255\n\xff\x00\xff\xff\xff\xfe\x00\x00\x00"s)), glider);
  EXPECT_EQ(cells_of(parse("P5\n3 3 65535\n\xff\xff\0\0\xff\xff\xff\xff\xff\xff\xff\xfe\0\0\0\0\0\0"s)), glider);
}

TEST(LifePatterns, OddSpellingsAreRead) {
  const std::string runs = "bo$2bo$3o!";
  EXPECT_EQ(cells_of(parse("\xef\xbb\xbfx = 3, y = 3\n" + runs)), glider) << "a byte-order mark";
  EXPECT_EQ(cells_of(parse("\xef\xbb\xbf#Life 1.06\n1 0\n2 1\n0 2\n1 2\n2 2\n")), glider);
  EXPECT_EQ(cells_of(parse("#C old\rx = 3, y = 3\rbo$2bo$\r3o!\r")), glider) << "lines that end with CR";
  EXPECT_EQ(cells_of(parse("!old\r.O\r..O\rOOO\r", called("life_plaintext"))), glider);
  for (const std::string_view bare :
       {".A$2.A$3A!", "bo$2bo$3o! made by me", "bo$2bo$3o!\nmade by me", "bo$2bo$3o !", "..\n"})
    EXPECT_EQ(cells_of(parse(bare)), bare.starts_with("..") ? Cells{} : glider) << bare;
  EXPECT_EQ(cells_of(parse("#Life 1.05\n#P\n.*\n..*\n***\n")), glider) << "no place";
  EXPECT_EQ(cells_of(parse("#Life 1.05\n#P 1 0\n*\n#P 0 1\n..*\n#P\n***\n")), glider) << "below the last one";
  EXPECT_EQ(cells_of(parse("#P 0 0\n.*.\n..*\n***\n")), glider) << "as WinLifeSearch copies them";
  EXPECT_EQ(parse("#Life 1.05\n#R B234\n#P\n**\n").rule, (LifeRule{7 << 2, 0}));
  const LifePattern empty = parse("[M2] (golly 3.3)\n#R B36/S23\n");
  EXPECT_EQ(cells_of(empty), Cells{});
  EXPECT_EQ(empty.rule, life_rule("B36/S23"));
  EXPECT_NE(refusal("[M2] (golly 3.3)\n").find("without a rule"), std::string::npos);
}

// For a cell at (0, 0), Golly writes this file. When Golly reads the file, the cell is at (0, 0) again.
TEST(LifePatterns, MacrocellCountsRowsAsGollyDoes) {
  const std::string text = "[M2] (gradus)\n#R B3/S23\n$$$$$$$*$\n4 0 1 0 0\n";
  const Cells origin{{0, 0}};
  EXPECT_EQ(cells_of(parse(text)), origin);
  EXPECT_EQ(life_text(parse("x = 1, y = 1\no!"), ".mc"), text);
  EXPECT_EQ(life_text(parse(text), ".mc"), text);
  // The same cells must give the same file, from a grid and from trees of any size and place.
  LifePattern tree;
  tree.tree = life_detail::life_tree({{1000, -700, 1}, {-1, 3, 0x8000000000000001}});
  tree.left = 5;
  tree.top = -123;
  LifePattern grid;
  const life_detail::LifeBox box = life_detail::bounding_box(*tree.tree, tree.left, tree.top).value();
  grid.cells = life_detail::grid_of(*tree.tree, box, tree.left, tree.top);
  grid.left = box.left;
  grid.top = box.top;
  life_detail::expand(*tree.tree);
  EXPECT_EQ(life_text(tree, ".mc"), life_text(grid, ".mc"));
  EXPECT_EQ(life_text(tree, ".lif"), life_text(grid, ".lif"));
}

TEST(LifeTrees, MoveByAnyDistance) {
  const core::Philox random(23);
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    const auto bits = random.block(trial);
    LifePattern pattern;
    std::vector<life_detail::LifeBlock> blocks;
    for (std::uint64_t block = 0; block < 1 + bits[0] % 20; ++block) {
      const auto place = random.block(1000 * trial + block + 100);
      blocks.push_back({static_cast<std::int64_t>(place[0] % 60) - 30, static_cast<std::int64_t>(place[1] % 60) - 30,
                        std::uint64_t{place[2]} << 32 | place[3]});
    }
    pattern.tree = life_detail::life_tree(blocks);
    const int reach = static_cast<int>(bits[3] % 60);
    const auto distance = [&](std::uint32_t digits) {
      return static_cast<std::int64_t>(std::uint64_t{digits} << 30 | digits) % (std::int64_t{1} << reach) *
             (digits % 2 == 0 ? 1 : -1);
    };
    const std::int64_t across = trial % 7 == 0 ? 0 : distance(bits[1]);
    const std::int64_t down = trial % 5 == 0 ? 0 : distance(bits[2]);
    LifePattern moved_tree;
    moved_tree.tree = life_detail::moved(*pattern.tree, across, down);
    pattern.left = across;
    pattern.top = down;
    EXPECT_EQ(cells_of(moved_tree), cells_of(pattern)) << across << " " << down;
  }
}

TEST(LifePatterns, CellsTwoToThe63Apart) {
  const std::string widest = "#Life 1.06\n4611686018427387903 0\n-4611686018427387904 0\n";
  const LifePattern pattern = parse(widest);
  ASSERT_TRUE(pattern.tree.has_value());
  EXPECT_EQ(life_detail::population_of(*pattern.tree), (LifePopulation{0, 2}));
  EXPECT_FALSE(life_detail::bounding_box(*pattern.tree).has_value());
  EXPECT_THROW((void)life_text(pattern, ".rle"), Error);
  EXPECT_EQ(life_text(parse(life_text(pattern, ".mc")), ".mc"), life_text(pattern, ".mc"));
  // A writer refuses a header that no reader could read back.
  EXPECT_THROW((void)life_text(parse("#Life 1.06\n4611686018427387902 0\n-4611686018427387904 0\n"), ".rle"), Error);
}

TEST(LifePatterns, HeadersAreRead) {
  // Older programs write the rule before the header.
  EXPECT_EQ(parse("#r 23/36\nx = 1, y = 1\no!").rule, (LifeRule{1 << 3 | 1 << 6, 1 << 2 | 1 << 3}));
  EXPECT_EQ(parse("#r 23/36\nx = 1, y = 1, rule = B3/S23\no!").rule, LifeRule{});
  const LifePattern torus = parse("#CXRLE Pos=-5,7 Gen=123\n#C a comment\nx = 1, y = 1, rule = b36/s23:T64,48\no!");
  EXPECT_EQ(torus.rule, life_rule("B36/S23"));
  EXPECT_EQ(torus.boundary, LifeBoundary::torus);
  EXPECT_EQ(std::tie(torus.width, torus.height), std::make_tuple(64, 48));
  EXPECT_EQ(cells_of(torus), (Cells{{-5, 7}}));
  EXPECT_EQ(torus.generation, 123U);
  EXPECT_EQ(torus.comments, std::vector<std::string>{"#C a comment"});
  EXPECT_EQ(cells_of(parse("#P -5 7\nx = 1, y = 1\no!")), (Cells{{-5, 7}}));
  const LifePattern dead = parse("x = 1, y = 1, rule = 23/3:p8\no!");
  EXPECT_EQ(dead.boundary, LifeBoundary::dead);
  EXPECT_EQ(std::tie(dead.width, dead.height), std::make_tuple(8, 8));
  const LifePattern plain = parse("x = 1, y = 1\no!");
  EXPECT_FALSE(plain.rule.has_value());
  EXPECT_FALSE(plain.boundary.has_value());
  const LifePattern tree = parse("[M2]\n#R B2/S:T20,30\n#G 77\n#C text\n*$\n4 1 0 0 0\n");
  EXPECT_EQ(tree.boundary, LifeBoundary::torus);
  EXPECT_EQ(tree.generation, 77U);
  EXPECT_EQ(cells_of(tree), (Cells{{-8, -7}}));
}

TEST(LifePatterns, CellsFarApartMakeATree) {
  const LifePattern rle =
      parse("#CXRLE Pos=0,0\nx = 1099511627776, y = 1099511627776\no1099511627774bo1099511627775$o1099511627774bo!");
  ASSERT_TRUE(rle.tree.has_value());
  constexpr std::int64_t last = (std::int64_t{1} << 40) - 1;
  EXPECT_EQ(cells_of(rle), (Cells{{0, 0}, {last, 0}, {0, last}, {last, last}}));
  const LifePattern list = parse("#Life 1.06\n1152921504606846976 -7\n-1152921504606846976 1152921504606846976\n");
  ASSERT_TRUE(list.tree.has_value());
  constexpr std::int64_t far = std::int64_t{1} << 60;
  EXPECT_EQ(cells_of(list), (Cells{{far, -7}, {-far, far}}));
  // The position is not a multiple of eight.
  const LifePattern moved = parse("#CXRLE Pos=-3,5\nx = 400000000001, y = 400000000003\no400000000002$400000000000bo!");
  EXPECT_EQ(cells_of(moved), (Cells{{-3, 5}, {399999999997, 400000000007}}));
  // Dense cells become a grid, even a large one.
  std::string wide = "x = 20000, y = 10000\n";
  for (int row = 0; row < 10000; ++row) wide += "20000o$\n";
  EXPECT_FALSE(parse(wide + "!").tree.has_value());
}

/// Returns patterns of many sizes at many places, both as grids and as trees.
std::vector<LifePattern> awkward_patterns() {
  std::vector<LifePattern> patterns;
  const core::Philox random(17);
  for (std::uint64_t trial = 0; trial < 24; ++trial) {
    const auto bits = random.block(trial);
    LifePattern pattern;
    pattern.cells = LifeGrid(1 + bits[0] % 70, 1 + bits[1] % 200);
    pattern.left = static_cast<std::int64_t>(bits[2] % 300) - 150;
    pattern.top = static_cast<std::int64_t>(bits[3] % 300) - 150;
    for (std::int64_t y = 0; y < pattern.cells.height(); ++y)
      for (std::int64_t x = 0; x < pattern.cells.width(); ++x)
        if (random.uniform((trial << 40) + static_cast<std::uint64_t>(y * 1000 + x) + 1000) < (trial % 5) * 0.24)
          pattern.cells.set(y, x);
    pattern.rule = LifeRule{static_cast<std::uint16_t>(bits[0] % 512), static_cast<std::uint16_t>(bits[1] % 512)};
    pattern.generation = trial * 1000;
    pattern.comments = {"#C one", "#C another"};
    if (trial % 2 == 1) {
      pattern.tree = life_detail::life_tree(pattern.cells.view(), pattern.left, pattern.top);
      pattern.left = pattern.top = 0;
      pattern.cells = LifeGrid();
    }
    patterns.push_back(std::move(pattern));
  }
  patterns.emplace_back();  // the pattern without live cells
  LifePattern leaf;
  leaf.tree = LifeTree{{{}, {.level = 3, .cells = 0x8000000000000001}}, 1};
  patterns.push_back(std::move(leaf));
  return patterns;
}

Cells moved(Cells cells, std::int64_t across, std::int64_t down) {
  for (auto& [x, y] : cells) {
    x += across;
    y += down;
  }
  return cells;
}

TEST(LifePatterns, WhatIsWrittenReadsBack) {
  const Folder folder;
  for (const LifePattern& pattern : awkward_patterns()) {
    const Cells cells = cells_of(pattern);
    for (const std::string name : {"a.rle", "a.mc", "a.rle.gz", "a.mc.gz"}) {
      write(folder / name, pattern);
      const LifePattern back = read_life(folder / name);
      EXPECT_EQ(cells_of(back), cells) << name;
      EXPECT_EQ(back.rule.value_or(LifeRule{}), pattern.rule.value_or(LifeRule{})) << name;
      EXPECT_EQ(back.generation, pattern.generation) << name;
      EXPECT_EQ(back.comments, pattern.comments) << name;
    }
    // These formats store no position. A pattern from such a file is centred.
    for (const std::string name : {"a.cells", "a.cells.gz", "a.pbm", "a.pgm", "a.png", "a.pgm.gz"}) {
      write(folder / name, pattern);
      const LifePattern back = read_life(folder / name);
      const Cells found = cells_of(back);
      ASSERT_EQ(found.size(), cells.size()) << name;
      if (cells.empty()) continue;
      EXPECT_EQ(moved(found, cells[0].first - found[0].first, cells[0].second - found[0].second), cells) << name;
    }
  }
}

TEST(LifePatterns, CommentsStayComments) {
  // In another format, or before the header, the text of such a comment would state a rule, a place or a generation.
  for (const std::string comment : {"!R 1/1", "!Replicator", "!r 1/1", "!P 5 6", "!G 7", "!CXRLE Pos=8,9", "!"}) {
    const LifePattern pattern = parse(comment + "\nO\n", called("life_plaintext"));
    for (const char* const output : {".rle", ".mc"}) {
      const LifePattern back = parse(life_text(pattern, output));
      EXPECT_EQ(to_string(back.rule.value_or(LifeRule{})), "B3/S23") << comment;
      EXPECT_EQ(back.generation, 0U) << comment;
      EXPECT_EQ(life_text(back, ".lif"), life_text(pattern, ".lif")) << comment;
      EXPECT_EQ(back.comments.size(), 1U) << comment;
    }
  }
}

TEST(LifePatterns, TopologiesAreWrittenAndPicturesShowAllOfABoundedWorld) {
  const Folder folder;
  LifePattern pattern = parse("x = 3, y = 3\nbo$2bo$3o!");
  pattern.boundary = LifeBoundary::torus;
  pattern.width = 10;
  pattern.height = 7;
  EXPECT_EQ(life_text(pattern, ".rle"), "#CXRLE Pos=0,0\nx = 3, y = 3, rule = B3/S23:T10,7\nbo$2bo$3o!\n");
  pattern.boundary = LifeBoundary::dead;
  EXPECT_EQ(parse(life_text(pattern, ".mc")).boundary, LifeBoundary::dead);
  write(folder / "a.pgm", pattern, 2);
  EXPECT_TRUE(content_of(folder / "a.pgm").starts_with("P5\n20 14\n255\n"));
  write(folder / "a.png", pattern, 3);
  const Image image = read_image(folder / "a.png");
  EXPECT_EQ(std::tie(image.shape.width, image.shape.height, image.shape.channels), std::make_tuple(30, 21, 1));
  std::int64_t black = 0;
  for (std::int64_t pixel = 0; pixel < image.pixels.size(); ++pixel) black += image.pixels[pixel] == 0 ? 1 : 0;
  EXPECT_EQ(black, 5 * 9);
  EXPECT_EQ(image.pixels[30 * 9 + 18], 0);  // cell (1, 0)
}

TEST(LifePatterns, BitsOfPbmAreWhereTheCellsAre) {
  const Folder folder;
  LifePattern pattern = parse("x = 70, y = 3\nbo67bo$2bo$3o66bo!");
  pattern.unplaced.reset();
  pattern.boundary = LifeBoundary::dead;
  for (std::int64_t width = 141; width < 210; width += 7)
    for (const std::int64_t scale : {1, 3}) {
      pattern.width = width;
      pattern.height = 50;
      pattern.left = width % 67 - width / 2;
      pattern.top = width % 40 - 25;
      write(folder / "a.pbm", pattern, scale);
      LifePattern back = read_life(folder / "a.pbm");
      ASSERT_EQ(std::tie(back.unplaced->width, back.unplaced->height), std::make_tuple(width * scale, 50 * scale));
      Cells expected;
      for (const auto& [x, y] : cells_of(pattern))
        for (std::int64_t part = 0; part < scale * scale; ++part)
          expected.emplace_back((x + width / 2) * scale + part % scale, (y + 25) * scale + part / scale);
      std::ranges::sort(expected, {}, [](const auto& cell) { return std::pair(cell.second, cell.first); });
      EXPECT_EQ(cells_of(back), expected) << width << " " << scale;
    }
}

TEST(LifePatterns, LinesOfRleHaveSeventyCharacters) {
  std::string text = "x = 4000, y = 2\n";
  for (int cell = 0; cell < 1000; ++cell) text += "b2ob";
  const std::string written = life_text(parse(text + "!"), ".rle");
  std::istringstream lines(written);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  EXPECT_LE(longest, 70U);
  EXPECT_GT(longest, 60U);
  EXPECT_EQ(cells_of(parse(written)), cells_of(parse(text + "!")));
}

TEST(LifePatterns, SparseOnesAreWrittenWithoutAGrid) {
  EXPECT_EQ(refusal("x = 1, y = 500\no500$o!"),
            "test:2:6: a run in row 501; the header says that y = 500; correct that number if all runs belong to the "
            "pattern");
  LifePattern far;
  far.tree = life_detail::life_tree({{-1000000000000, 3, 1}, {1000000000000, 3, 1}, {0, -5, 0x80}}, {});
  const std::string text = life_text(far, ".rle");
  EXPECT_LT(text.size(), 200U);
  EXPECT_EQ(cells_of(parse(text)), cells_of(far));
  EXPECT_THROW((void)life_text(far, ".cells"), Error);
  EXPECT_EQ(cells_of(parse(life_text(far, ".mc"))), cells_of(far));
}

/// Returns a plain picture whose cells are alive by a fixed rule. Separators take turns.
std::string plain_picture(bool gray, std::int64_t width, std::int64_t height,
                          const std::vector<std::string>& separators) {
  std::string text =
      (gray ? "P2 " : "P1 ") + std::to_string(width) + " " + std::to_string(height) + (gray ? " 120 " : " ");
  for (std::int64_t cell = 0; cell < width * height; ++cell) {
    const bool alive = cell * cell % 7 < 3;
    text += gray ? std::to_string(alive ? cell % 120 : 120) : std::string(1, alive ? '1' : '0');
    text += separators[static_cast<std::size_t>(cell) % separators.size()];
  }
  return text;
}

bool has_cells_of_plain_picture(const LifePattern& pattern, std::int64_t width, std::int64_t height) {
  if (pattern.cells.width() != width || pattern.cells.height() != height) return false;
  for (std::int64_t cell = 0; cell < width * height; ++cell)
    if (pattern.cells(cell / width, cell % width) != (cell * cell % 7 < 3)) return false;
  return true;
}

TEST(LifePatterns, PlainPicturesHaveAnySeparators) {
  for (const std::int64_t width : {1, 7, 8, 9, 63, 64, 65, 130})
    for (const bool gray : {false, true})
      for (const std::vector<std::string>& separators : {std::vector<std::string>{" "},
                                                         {"\n"},
                                                         {" ", " ", "\r\n"},
                                                         {" ", " # 1 0 1\n", "\t", "\v \f"},
                                                         {gray ? " " : "", gray ? "\n" : "", " ", "#\n"}}) {
        const LifePattern pattern = parse(plain_picture(gray, width, 5, separators));
        EXPECT_TRUE(has_cells_of_plain_picture(pattern, width, 5)) << width << " " << gray;
      }
}

TEST(LifePatterns, LongLinesOfPlainPicturesComeInPieces) {
  const Folder folder;
  for (const bool gray : {false, true}) {
    // The line is longer than a piece of a file, and the reader of a pipe does not know its length in advance.
    const std::int64_t width = gray ? 1700 : 3000;
    std::string text = plain_picture(gray, width, 3000, {gray ? " " : ""});
    ASSERT_GT(text.size(), std::size_t{8} << 20);
    EXPECT_TRUE(has_cells_of_plain_picture(parse(text), width, 3000));
    const std::string pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(pipe) << text; });
    const LifePattern back = read_life(pipe);
    writer.join();
    std::filesystem::remove(pipe);
    EXPECT_TRUE(has_cells_of_plain_picture(back, width, 3000));
    const std::size_t fault = text.size() - 1000;
    text[fault] = 'x';
    EXPECT_TRUE(refusal(text).starts_with("test:1:" + std::to_string(fault + 1) + ": 'x")) << refusal(text);
  }
}

TEST(LifePatterns, MalformedOnesAreRefusedWithTheirPlace) {
  const std::tuple<std::string, const LifeFormat*, std::string> wrong[] = {
      {"[M3]\n", called("life_macrocell"), "test:1:1: '[M3]' where [M2] is expected"},
      {"[M2]\n*$\n4 1 2 0 0\n", called("life_macrocell"), "test:3:5: a quarter: '2' is out of range, which is 0 to 1"},
      {"[M2]\n4 1 0 0 0\n", called("life_macrocell"), "test:2:3: a quarter: '1' is out of range, which is 0 to 0"},
      {"[M2]\n*$\n4 1 0 0 -1\n", called("life_macrocell"), "test:3:9: a quarter: '-1' is out of range"},
      {"[M2]\n*$\n4 1 0 0 0\n5 2 1", called("life_macrocell"),
       "test:4:5: quarter 1 has level 3; it should have 4; a part of the file may be missing"},
      {"[M2]\n*$\n4 1 0 0 0\n5 2 2", called("life_macrocell"),
       "test:4:6: the line ends where a quarter is expected; a part of the file may be missing"},
      {"[M2]\n*$\n5 1 0 0 0\n", called("life_macrocell"), "test:3:3: quarter 1 has level 3; it should have 4"},
      {"[M2]\n*$\n4 1 0 0\n", called("life_macrocell"), "test:3:8: the line ends where a quarter is expected"},
      {"[M2]\n*$\n4 1 0 0 0 0\n", called("life_macrocell"), "test:3:11: '0' follows the four quarters"},
      {"[M2]\n*$\n4 1 0 0 x\n", called("life_macrocell"), "test:3:9: a quarter: 'x' is not an integer"},
      {"[M2]\n1 0 1 0 2\n", called("life_macrocell"), "rules with more than two states"},
      {"[M2]\n121 0 0 0 0\n", called("life_macrocell"), "test:2:1: a node of level 121; 4 to 120 are supported"},
      {"[M2]\n.........*$\n", called("life_macrocell"), "test:2:9: more than 8 cells in a row"},
      {"[M2]\n$$$$$$$$*$\n", called("life_macrocell"), "test:2:9: more than 8 rows"},
      {"[M2]\n..o$\n", called("life_macrocell"), "test:2:3: 'o' where '.', '*', '$'"},
      {"[M2]\n#R B3/S23/5\n", called("life_macrocell"), "test:2:4: rule 'B3/S23/5'"},
      {"[M2]\n#G x\n", called("life_macrocell"), "test:2:4: the generation: 'x'"},
      {"", called("life_macrocell"), "test:1: the file is empty"},
      {".O.\n.x.\n", called("life_plaintext"), "test:2:2: 'x' where '.' (dead), 'O' (alive)"},
      {"#Life 1.05\n#P 0 0\n*\n", called("life_106"), "test:1:1: '#Life 1.05' where '#Life 1.06' is expected"},
      {"1 2\n", called("life_106"), "test:1:1: '1 2' where '#Life 1.06' is expected"},
      {"#Life 1.06\n1\n", called("life_106"), "test:2:2: the line ends where y is expected"},
      {"#Life 1.06\n 1 2 3\n", called("life_106"), "test:2:4: y: '2 3' is not an integer"},
      {"#Life 1.06\n4611686018427387904 0\n", called("life_106"), "test:2:1: x: '4611686018427387904' is out of range"},
      {"#Life 1.06\n99999999999999999999 0\n", called("life_106"), "out of range"},
      {"", called("life_106"), "test:1: the file is empty"},
      {"P3\n1 1\n255\n0 0 0\n", called("life_netpbm"), "test:1:1: a picture in colours (PPM)"},
      {"P1\n2 x\n", called("life_netpbm"), "test:2:3: the height: 'x' is not an integer"},
      {"P1\n0 3\n", called("life_netpbm"), "test:2:1: the width: '0' is out of range"},
      {"P1\n2 2\n0 1 1\n", called("life_netpbm"), "the file ends in row 2 of 2"},
      {"P1\n2 2\n0 1\n1 2\n", called("life_netpbm"), "test:4:3: '2' where 0 or 1 is expected"},
      {"P2\n2 1\n7\n3 8\n", called("life_netpbm"), "test:4:3: '8' where a number up to 7 is expected"},
      {"P2\n2 1\n65536\n", called("life_netpbm"), "the value of white: '65536' is out of range"},
      {"P4\n9 2\n\xff\xff\xff"s, called("life_netpbm"), "the file ends in row 2 of 2"},
      {"P5\n2147483647 2147483647 255\n", called("life_netpbm"), "which take more than"},
      {"P5\n2147483648 1 255\n", called("life_netpbm"), "out of range"},
      {"P5\n2", called("life_netpbm"), "the file ends within the header"},
      {"x = 3\x01, y = 3\no!", called("life_rle"), "test:1:5: the width x: '3\\x01' is not an integer"},
  };
  for (const auto& [text, format, says] : wrong)
    EXPECT_NE(refusal(text, format).find(says), std::string::npos) << text << "\n" << refusal(text, format);
}

TEST(LifePatterns, ALimitOfMemoryHolds) {
  LifeReadOptions options;
  options.memory_limit = 1 << 20;
  for (const std::string& text :
       {"x = 99999999999, y = 1\n99999999999o!"s, "x = 576460752303423488, y = 9\n9b576460752303423479o!"s})
    EXPECT_NE(shortage(text, options).find("take more than 1048576 bytes (1 MiB)"), std::string::npos)
        << shortage(text, options);
  std::string scattered = "x = 100000000, y = 100000000\n";
  for (int row = 0; row < 50000; ++row) scattered += std::to_string(row * 17 + 1) + "bo$9$";
  EXPECT_NE(shortage(scattered + "!", options).find("take more than"), std::string::npos)
      << shortage(scattered + "!", options);
  EXPECT_NE(refusal("P4 100000 100000\n\x01", {}, options).find("take more than"), std::string::npos);
}

/// Returns rows of letters, of which the last one is alive. The rows have all lengths from 0 to 199. The first cells of
/// each row that is not empty are dead, `indent` of them.
std::vector<std::string> rows_of_letters(char live, std::size_t indent) {
  std::vector<std::string> rows;
  const core::Philox random(29);
  for (std::uint64_t row = 0; row < 200; ++row) {
    std::string text(row * 77 % 200, '.');
    for (std::uint64_t x = 0; x < text.size(); ++x)
      if (x + 1 == text.size() || random.uniform(row * 1000 + x) < 0.2 * static_cast<double>(row % 5))
        text[x] = x % 3 == 0 ? '*' : live;
    rows.push_back(text.empty() ? text : std::string(indent, '.') + text);
  }
  return rows;
}

TEST(LifePatterns, RowsOfLettersHaveAnyLength) {
  for (const auto& [blocks, indent] : {std::pair(false, 0U), {false, 77U}, {false, 128U}, {true, 0U}}) {
    std::string text = blocks ? "#Life 1.05\n#P -3 5\n" : "";
    Cells cells;
    for (std::int64_t y = 0; const std::string& row : rows_of_letters(blocks ? '*' : 'O', indent)) {
      for (std::size_t x = 0; x < row.size(); ++x)
        if (row[x] != '.') cells.emplace_back(static_cast<std::int64_t>(x) - (blocks ? 3 : 0), y + (blocks ? 5 : 0));
      // An empty line is a row of plaintext only.
      if (!blocks || !row.empty()) ++y;
      text += row + "\n";
    }
    const LifeFormat* const format = called(blocks ? "life_105" : "life_plaintext");
    // The lower limit suffices, but readers that keep a distance from the limit must add cells one by one.
    for (const std::uint64_t limit : {std::uint64_t{1} << 30, std::uint64_t{60'000}}) {
      LifeReadOptions options;
      options.memory_limit = limit;
      EXPECT_EQ(cells_of(parse(text, format, options)), cells) << format->id << " " << limit;
    }
    // A table of 1024 slots holds 512 blocks. The next cell needs a larger table.
    std::set<std::pair<std::int64_t, std::int64_t>> taken;
    const auto first = std::ranges::find_if(cells, [&](const auto& cell) {
      if (taken.size() == 512) return true;
      taken.emplace(cell.first >> 3, cell.second >> 3);
      return false;
    });
    ASSERT_NE(first, cells.end());
    LifeReadOptions options;
    options.memory_limit = 30'000;
    std::string said = "accepted";
    try {
      parse(text, format, options);
    } catch (const Error& error) {
      said = error.what();
    }
    const std::int64_t line = first->second - (blocks ? 5 : 0) + 1 + (blocks ? 2 + 1 : 0);  // row 0 is an empty line
    EXPECT_TRUE(said.starts_with("test:" + std::to_string(line) + ":" +
                                 std::to_string(first->first + (blocks ? 3 : 0) + 1) + ": the live cells"))
        << said << " instead of line " << line;
    // A malformed letter anywhere is refused with its place.
    for (const std::size_t at : {text.size() - 2, text.size() / 2 - 1}) {
      std::string wrong = text;
      if (wrong[at] == '\n') continue;
      wrong[at] = 'x';
      const std::size_t begin = wrong.rfind('\n', at) + 1;
      const auto number = std::count(wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
      EXPECT_TRUE(refusal(wrong, format)
                      .starts_with("test:" + std::to_string(number) + ":" + std::to_string(at - begin + 1) + ": 'x'"))
          << refusal(wrong, format);
    }
  }
}

TEST(LifePatterns, TheFormatFollowsFromContentAndName) {
  const Folder folder;
  const auto save = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder / name, std::ios::binary) << content;
    return folder / name;
  };
  EXPECT_EQ(cells_of(read_life(save("a.txt", "#C\nx = 3, y = 3\nbo$2bo$3o!\n"))), glider);
  EXPECT_EQ(cells_of(read_life(save("b.txt", "!\n.O\n..O\nOOO\n"))), glider);
  EXPECT_EQ(cells_of(read_life(save("c.rle", "#Life 1.06\n1 0\n2 1\n0 2\n1 2\n2 2\n"))), glider);
  EXPECT_EQ(cells_of(read_life(save("d", "P1 3 3 010001111\n"))), glider);
  for (const std::string& content : {"hello\n"s, ""s, "\xff\xfeh\0i\0"s})
    EXPECT_THROW(read_life(save("e.txt", content)), InputError);
  EXPECT_THROW(read_life(folder / "missing.rle"), InputError);
  EXPECT_THROW(read_life(save("f.png", "\x89PNG\r\n\x1a\nnothing")), InputError);
  EXPECT_FALSE(life_output("a.gif").has_value());
  EXPECT_FALSE(life_output("a.png.gz").has_value());
  EXPECT_FALSE(life_output("a.lift").has_value());
}

TEST(Gif, FramesAreOfTheSizeAndOrderThatWasAsked) {
  const Folder folder;
  const std::string path = folder / "a.gif";
  {
    core::AtomicFile file(path);
    GifWriter gif(file, 5, 4, 7);
    std::vector<std::uint8_t> pixels(20);
    for (std::size_t frame = 0; frame < 3; ++frame) {
      pixels[frame * 6] = 1;
      gif.add(pixels);
    }
    gif.add(pixels);
    gif.finish();
    file.commit();
  }
  const std::string content = content_of(path);
  ASSERT_TRUE(content.starts_with("GIF89a\x05"s + "\0\x04\0"s));
  EXPECT_TRUE(content.ends_with(';'));
  EXPECT_NE(content.find("NETSCAPE2.0\x03\x01"s + "\0\0\0"s), std::string::npos);
  // Rectangles of the frames: the whole picture, then only the changed part, or one pixel if nothing has changed.
  const std::array<std::string, 4> places{"\x2c\0\0\0\0\x05\0\x04\0"s, "\x2c\x01\0\x01\0\x01\0\x01\0"s,
                                          "\x2c\x02\0\x02\0\x01\0\x01\0"s, "\x2c\0\0\x03\0\x01\0\x01\0"s};
  std::size_t place = 0;
  for (const std::string& rectangle : places) {
    place = content.find(rectangle, place);
    ASSERT_NE(place, std::string::npos) << rectangle.size();
  }
  core::AtomicFile file(folder / "b.gif");
  EXPECT_THROW(GifWriter(file, 65536, 1, 7), Error);
  EXPECT_THROW(GifWriter(file, 0, 1, 7), Error);
  {
    GifWriter unfinished(file, 3, 3, 7);
    unfinished.add(std::vector<std::uint8_t>(9));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "b.gif"));
}

}  // namespace
}  // namespace gradus::files
