#include "life/cases.hpp"

#include <algorithm>
#include <bit>

#include "core/philox.hpp"
#include "life/bits/cells.hpp"
#include "life/network/plan.hpp"

namespace gradus::life_detail {

namespace {

LifeGrid copy_of(const LifeGridView& cells) {
  LifeGrid copy(cells.height, cells.width, LifeGrid::Uninitialised{});
  copy_cells(cells, 0, 0, copy.span());
  return copy;
}

struct Setting {
  std::int64_t height;
  std::int64_t width;
  LifeBoundary boundary;
  std::int64_t generations;
  std::string rule = "B3/S23";
  double density = 0.4;
  bool hashes = false;
};

std::string name_of(const Setting& setting) {
  return std::to_string(setting.height) + "x" + std::to_string(setting.width) + " " +
         std::string(to_string(setting.boundary)) + " " + setting.rule + " " + std::to_string(setting.generations) +
         (setting.hashes ? " hashes" : "");
}

Case soup_case(const Setting& setting) {
  return {name_of(setting), [setting](std::uint64_t seed) {
            CaseData data{soup(setting.height, setting.width, setting.density, seed), {}};
            data.options.rule = life_rule(setting.rule);
            data.options.boundary = setting.boundary;
            data.options.generations = setting.generations;
            data.options.hashes = setting.hashes;
            data.options.left = setting.boundary == LifeBoundary::plane ? -37 : 0;
            data.options.top = setting.boundary == LifeBoundary::plane ? 5 : 0;
            return data;
          }};
}

/// Returns a case with a glider of each direction in each quarter of the grid. On a torus, the gliders cross every
/// seam.
Case gliders(std::int64_t height, std::int64_t width, LifeBoundary boundary, std::int64_t generations) {
  return {"gliders " + name_of({height, width, boundary, generations}), [=](std::uint64_t) {
            CaseData data{LifeGrid(height, width), {}};
            constexpr std::string_view glider[] = {".o.", "..o", "ooo"};
            int turn = 0;
            for (std::int64_t top = 2; top + 16 <= height; top += 16)
              for (std::int64_t left = 2; left + 20 <= width; left += 20, ++turn)
                for (std::int64_t y = 0; y < 3; ++y)
                  for (std::int64_t x = 0; x < 3; ++x) {
                    const std::int64_t from_y = turn % 2 == 0 ? y : 2 - y;
                    const std::int64_t from_x = turn / 2 % 2 == 0 ? x : 2 - x;
                    if (glider[from_y][static_cast<std::size_t>(from_x)] == 'o') data.cells.set(top + y, left + x);
                  }
            data.options.boundary = boundary;
            data.options.generations = generations;
            return data;
          }};
}

/// Returns a case with blocks, blinkers and gliders at random places on the plane. The gliders may hit or pass the
/// other patterns.
Case islands_case(std::int64_t generations) {
  return {"islands " + std::to_string(generations), [=](std::uint64_t seed) {
            CaseData data{LifeGrid(200, 230), {}};
            const core::Philox random(seed, 77);
            constexpr std::string_view things[] = {".o.\n..o\nooo", "oo.\noo.\n...", "ooo\n...\n...", ".o.\no..\nooo"};
            for (std::uint64_t number = 0; number < 14; ++number) {
              std::int64_t y = static_cast<std::int64_t>(random.below(3 * number, 195));
              const auto left = static_cast<std::int64_t>(random.below(3 * number + 1, 225));
              std::int64_t x = left;
              for (const char letter : things[random.below(3 * number + 2, 4)]) {
                if (letter == '\n') ++y, x = left;
                else data.cells.set(y, x++, letter == 'o');
              }
            }
            data.options.generations = generations;
            return data;
          }};
}

/// Returns a random rule for case number `number`. On the plane, half of the cases use a rule without B0.
Case random_rule(int number) {
  return {"random rule " + std::to_string(number), [number](std::uint64_t seed) {
            const core::Philox random(seed, 1000 + static_cast<std::uint64_t>(number));
            constexpr LifeBoundary boundaries[] = {LifeBoundary::plane, LifeBoundary::dead, LifeBoundary::torus};
            CaseData data{
                soup(5 + static_cast<std::int64_t>(random.below(0, 60)),
                     3 + static_cast<std::int64_t>(random.below(1, 140)), 0.1 + 0.8 * random.uniform(2), seed),
                {}};
            data.options.rule = {static_cast<std::uint16_t>(random.below(3, 512)),
                                 static_cast<std::uint16_t>(random.below(4, 512))};
            data.options.boundary = boundaries[number % 3];
            data.options.generations = 2 + number % 4;
            return data;
          }};
}

std::vector<Case> make_cases() {
  using enum LifeBoundary;
  std::vector<Case> all;
  for (const LifeBoundary boundary : {dead, torus, plane}) {
    // Small grids. Their rows are at most one cell longer than a word. On the smallest tori, a cell may be counted
    // twice as a neighbour.
    for (const std::int64_t height : {1, 2, 3, 5})
      for (const std::int64_t width : {1, 2, 3, 31, 32, 33, 63, 64, 65})
        all.push_back(soup_case({height, width, boundary, 3, "B2/S12"}));
    for (const std::int64_t side : {31, 64, 65, 100, 129, 200}) all.push_back(soup_case({side, side, boundary, 8}));
    all.push_back(soup_case({1000, 37, boundary, 8}));
    all.push_back(soup_case({37, 1000, boundary, 8}));
    all.push_back(soup_case({40, 513, boundary, 9, "B3/S23", 0.4, true}));
    all.push_back(soup_case({17, 130, boundary, 1, "B0/S8"}));
    all.push_back(soup_case({17, 130, boundary, 6, "B01/S23"}));
    all.push_back(soup_case({17, 66, boundary, 7, "B01/S23", 0.4, true}));
    all.push_back(soup_case({17, 66, boundary, 7, "B03/S238", 0.4, true}));
    all.push_back(soup_case({0, 0, boundary, 3}));
    all.push_back(soup_case({0, 9, boundary, 3}));
    all.push_back(soup_case({9, 0, boundary, 3}));
    all.push_back(soup_case({33, 70, boundary, 0}));
    all.push_back(soup_case({20, 90, boundary, 3, "B3/S23", 1.0}));
    all.push_back(soup_case({20, 90, boundary, 3, "B3/S23", 0.0}));
  }
  all.push_back(gliders(70, 1100, torus, 90));
  all.push_back(gliders(150, 131, torus, 90));
  all.push_back(gliders(64, 64, torus, 90));
  all.push_back(gliders(90, 200, plane, 140));
  all.push_back(islands_case(150));
  all.push_back(soup_case({40, 50, plane, 150}));
  all.push_back(soup_case({20, 20, plane, 130, "B02/S3"}));
  all.push_back(soup_case({12, 12, plane, 66, "B2/S"}));
  // Runs that are long enough for several passes of several generations, with several threads, and with several blocks
  // per thread.
  all.push_back(soup_case({300, 200, torus, 41}));
  all.push_back(soup_case({301, 333, dead, 41}));
  all.push_back(soup_case({270, 1024, torus, 9}));  // the rows of each thread's share fill cache lines exactly
  int index = 0;
  for (const auto& named : compiled_rules) {
    constexpr LifeBoundary boundaries[] = {torus, dead, plane};
    all.push_back(soup_case({50, 150, boundaries[index++ % 3], 4, to_string(named.rule), 0.3}));
  }
  for (int number = 0; number < 30; ++number) all.push_back(random_rule(number));
  return all;
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> list = make_cases();
  return list;
}

LifeGrid soup(std::int64_t height, std::int64_t width, double density, std::uint64_t seed) {
  LifeGrid cells(height, width);
  const core::Philox random(seed, 64);
  std::uint64_t index = 0;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) cells.set(y, x, random.uniform(index++) < density);
  return cells;
}

std::string compare(const LifeResult& result, const LifeOptions& options, const Truth& truth) {
  const Field& field = truth.field;
  const LifeGridView cells = result.cells.view();
  const auto place = [](std::int64_t y, std::int64_t x) {
    return "cell (" + std::to_string(y) + ", " + std::to_string(x) + ")";
  };
  if (result.background != field.background) return "the background is incorrect";
  if (options.boundary != LifeBoundary::plane && (cells.height != field.height || cells.width != field.width ||
                                                  result.top != field.top || result.left != field.left))
    return "the grid is " + std::to_string(cells.height) + " x " + std::to_string(cells.width) + " at " +
           place(result.top, result.left);
  const auto at = [&](std::int64_t y, std::int64_t x) {
    y -= result.top;
    x -= result.left;
    const bool different = y >= 0 && x >= 0 && y < cells.height && x < cells.width && cells(y, x);
    return different != result.background;
  };
  for (std::int64_t y = field.top; y < field.top + field.height; ++y)
    for (std::int64_t x = field.left; x < field.left + field.width; ++x)
      if (at(y, x) != field.at(y, x)) return place(y, x) + " is " + (at(y, x) ? "alive" : "dead");
  if (options.boundary == LifeBoundary::plane && cells.height > 0) {
    const Box box = live_box(cells);
    if (box.height() != cells.height || box.width() != cells.width) return "the rectangle of the result is too large";
  }
  std::uint64_t counted = 0;
  for (std::int64_t y = 0; y < cells.height; ++y) {
    for (std::int64_t word = 0; word < cells.row_words(); ++word)
      counted += static_cast<std::uint64_t>(std::popcount(cells.row(y)[word]));
    if (cells.width > 0 && (cells.row(y)[cells.row_words() - 1] & ~last_word_mask(cells.width)) != 0)
      return "bits beyond the width of row " + std::to_string(y) + " are set";
  }
  if (counted != truth.population || result.population != LifePopulation{0, truth.population})
    return "the population is " + to_string(result.population) + ", and " + std::to_string(counted) +
           " cells are set, instead of " + std::to_string(truth.population);
  if (result.generations != options.generations) return "the number of generations is incorrect";
  if (!options.hashes) return result.hashes.empty() ? "" : "there are hashes that were not requested";
  if (result.hashes.size() != truth.hashes.size()) return "the number of hashes is incorrect";
  for (std::size_t generation = 0; generation < truth.hashes.size(); ++generation)
    if (result.hashes[generation] != truth.hashes[generation])
      return "the hash of generation " + std::to_string(generation) + " is incorrect";
  return "";
}

std::string fault_in_window(const LifeGridView& first, const LifeGridView& result, const LifeOptions& options,
                            std::int64_t top, std::int64_t left, std::int64_t side) {
  const bool torus = options.boundary == LifeBoundary::torus;
  const auto inside = [&](std::int64_t y, std::int64_t x) {
    return y >= 0 && x >= 0 && y < first.height && x < first.width;
  };
  const auto around = [](std::int64_t place, std::int64_t size) { return (place % size + size) % size; };
  // The oracle's field. It loses a cell at each side per generation, so it initially extends `reach` cells beyond the
  // window on each side.
  const std::int64_t reach = options.generations;
  Field past{top - reach, left - reach, side + 2 * reach, side + 2 * reach, false, {}};
  for (std::int64_t y = past.top; y < past.top + past.height; ++y)
    for (std::int64_t x = past.left; x < past.left + past.width; ++x)
      past.cells.push_back(torus ? first(around(y, first.height), around(x, first.width))
                                 : inside(y, x) && first(y, x));
  for (std::int64_t generation = 0; generation < reach; ++generation) {
    Field next = next_generation(past, options.rule, LifeBoundary::dead);
    Field inner{past.top + 1, past.left + 1, past.height - 2, past.width - 2, false, {}};
    for (std::int64_t y = inner.top; y < inner.top + inner.height; ++y)
      for (std::int64_t x = inner.left; x < inner.left + inner.width; ++x)
        inner.cells.push_back(next.at(y, x) && (torus || inside(y, x)));
    past = std::move(inner);
  }
  for (std::int64_t y = top; y < top + side; ++y)
    for (std::int64_t x = left; x < left + side; ++x) {
      if (!torus && !inside(y, x)) continue;
      const bool is = torus ? result(around(y, first.height), around(x, first.width)) : result(y, x);
      if (is != past.at(y, x))
        return "cell (" + std::to_string(y) + ", " + std::to_string(x) + ") is " + (is ? "alive" : "dead");
    }
  return "";
}

template <class T>
PreparedCase<T>::PreparedCase(const CaseData& data) : cells_(copy_of(data.cells)), options_(data.options) {}

template <class T>
Shape PreparedCase<T>::shape() const {
  return {.height = cells_.height(),
          .width = cells_.width(),
          .generations = options_.generations,
          .boundary = options_.boundary,
          .lights_up = (options_.rule.birth & 1) != 0,
          .stepwise = options_.hashes || options_.until_stable};
}

template <class T>
const Truth& PreparedCase<T>::truth() const {
  if (!truth_) truth_ = oracle(cells_.view(), options_);
  return *truth_;
}

template <class T>
std::string PreparedCase<T>::check(const Variant& variant, const Execution& execution) const {
  Execution with_variant = execution;
  with_variant.variant = variant.name;
  return compare(life(cells_.view(), options_, with_variant), options_, truth());
}

template class PreparedCase<void>;

}  // namespace gradus::life_detail
