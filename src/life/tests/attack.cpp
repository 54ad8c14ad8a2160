// Compares every variant that runs here with a reference that shares no code with the library. The reference computes
// cells one by one, in a set of coordinates. The tests cover all rules, runs in place, and grids of all shapes and
// strides. The grids have garbage past their widths.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "life/problem.hpp"
#include "tests/attack/attack.hpp"

namespace gradus::attack {

namespace {

using Place = std::pair<std::int64_t, std::int64_t>;  // row, column

/// The cells that differ from the background.
struct State {
  std::set<Place> cells;
  bool background = false;
  friend bool operator==(const State&, const State&) = default;
};

struct LifeCase {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t stride = 0;
  std::vector<std::uint64_t> words;  ///< there is garbage past the width and between the rows
  LifeOptions options;
  bool in_place = false;
  bool given_memory = false;
};

LifeCase make_case(std::uint64_t seed, std::uint64_t number) {
  Random random(seed, number, 13);
  LifeCase made;
  const auto side = [&random]() -> std::int64_t {
    if (random.chance(0.4)) return random.pick({1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 256, 257});
    return random.between(0, 90);
  };
  made.height = side();
  made.width = random.chance(0.1) ? random.between(500, 1100) : side();
  made.options.boundary = random.pick({LifeBoundary::plane, LifeBoundary::dead, LifeBoundary::torus});
  while (made.height * made.width > 9000) made.height /= 2;
  made.stride = (made.width + 63) / 64 + (random.chance(0.3) ? random.between(1, 3) : 0);
  for (std::int64_t word = 0; word < made.height * made.stride; ++word) made.words.push_back(random.next());
  const double density = random.pick({0.02, 0.2, 0.4, 0.5, 0.9, 1.0, 0.0});
  for (std::int64_t y = 0; y < made.height; ++y)
    for (std::int64_t x = 0; x < made.width; ++x) {
      std::uint64_t& word = made.words[static_cast<std::size_t>(y * made.stride + x / 64)];
      word &= ~(std::uint64_t{1} << (x % 64));
      if (random.chance(density)) word |= std::uint64_t{1} << (x % 64);
    }
  const bool known = random.chance(0.4);
  made.options.rule = {static_cast<std::uint16_t>(known ? 8 : random.below(512)),
                       static_cast<std::uint16_t>(known ? 12 : random.below(512))};
  if (made.options.boundary == LifeBoundary::plane) {
    // Most rules with B1 fill the plane, so runs of such rules are short.
    made.options.generations = known && random.chance(0.5) ? random.between(60, 170) : random.between(0, 12);
    made.options.left = random.between(-200, 200);
    made.options.top = random.between(-200, 200);
  } else {
    const std::int64_t most = std::clamp<std::int64_t>(60000 / (made.height * made.width + 1), 5, 80);
    made.options.generations = random.between(0, most);
  }
  made.options.hashes = random.chance(0.2);
  made.options.until_stable = random.chance(0.15);
  if (made.options.until_stable) made.options.generations = std::min<std::int64_t>(made.options.generations, 30);
  made.given_memory = made.options.boundary != LifeBoundary::plane && random.chance(0.5);
  made.in_place = made.given_memory && random.chance(0.5);
  return made;
}

State first_state(const LifeCase& made) {
  State state;
  for (std::int64_t y = 0; y < made.height; ++y)
    for (std::int64_t x = 0; x < made.width; ++x)
      if ((made.words[static_cast<std::size_t>(y * made.stride + x / 64)] >> (x % 64) & 1) != 0)
        state.cells.insert({y, x});
  return state;
}

State next_state(const LifeCase& made, const State& now) {
  const LifeBoundary boundary = made.options.boundary;
  // For each cell: number of neighbours that differ from the background. Most cells have no such neighbours and no
  // entry.
  std::map<Place, int> unlike;
  for (const auto& [y, x] : now.cells) {
    unlike.try_emplace({y, x}, 0);
    for (std::int64_t down = -1; down <= 1; ++down)
      for (std::int64_t across = -1; across <= 1; ++across) {
        if (down == 0 && across == 0) continue;
        Place place{y + down, x + across};
        if (boundary == LifeBoundary::torus)
          place = {(place.first + made.height) % made.height, (place.second + made.width) % made.width};
        ++unlike[place];
      }
  }
  const auto lives = [&](bool alive, int neighbours) {
    return ((alive ? made.options.rule.survival : made.options.rule.birth) & 1 << neighbours) != 0;
  };
  State next;
  if (boundary == LifeBoundary::plane) {
    next.background = lives(now.background, now.background ? 8 : 0);
    for (const auto& [place, count] : unlike) {
      const bool alive = now.cells.contains(place) != now.background;
      if (lives(alive, now.background ? 8 - count : count) != next.background) next.cells.insert(place);
    }
    return next;
  }
  for (std::int64_t y = 0; y < made.height; ++y)
    for (std::int64_t x = 0; x < made.width; ++x) {
      const auto there = unlike.find({y, x});
      if (lives(now.cells.contains({y, x}), there == unlike.end() ? 0 : there->second)) next.cells.insert({y, x});
    }
  return next;
}

class Check {
 public:
  explicit Check(LifeCase made) : made_(std::move(made)) {
    states_.push_back(first_state(made_));
    for (std::int64_t generation = 1; generation <= made_.options.generations; ++generation) {
      states_.push_back(next_state(made_, states_.back()));
      if (!made_.options.until_stable) continue;
      const auto before = std::find(states_.begin(), states_.end() - 1, states_.back());
      if (before == states_.end() - 1) continue;
      cycle_ = LifeCycle{before - states_.begin(), states_.end() - 1 - before};
      break;
    }
  }

  life_detail::Shape shape() const {
    return {.height = made_.height,
            .width = made_.width,
            .generations = made_.options.generations,
            .boundary = made_.options.boundary,
            .lights_up = (made_.options.rule.birth & 1) != 0,
            .stepwise = made_.options.hashes || made_.options.until_stable};
  }

  std::string fault(const Run& run) const {
    std::vector<std::uint64_t> words = made_.words;
    const LifeGridView cells{words.data(), made_.height, made_.width, made_.stride};
    std::vector<std::uint64_t> other(words.size(), 77);
    LifeMemory memory;
    std::vector<std::uint64_t>& written = made_.in_place ? words : other;
    if (made_.given_memory) memory.cells = {written.data(), made_.height, made_.width, made_.stride};
    const auto outcome = outcome_of([&] { return life(cells, made_.options, memory, run.execution); });
    if (!outcome.answer) return fmt::format("error {}: {}", outcome.status, outcome.message);
    const LifeResult& result = *outcome.answer;
    const State& right = states_.back();
    if (result.cycle != cycle_) return "another cycle, or none";
    if (result.generations != std::ssize(states_) - 1)
      return fmt::format("{} generations instead of {}", result.generations, std::ssize(states_) - 1);
    if (result.background != right.background) return "another background";
    if (result.population != LifePopulation{0, right.cells.size()})
      return fmt::format("population {} instead of {}", to_string(result.population), right.cells.size());
    const bool here = made_.given_memory && written.data() != nullptr;
    const LifeGridView grid =
        here ? LifeGridView{written.data(), made_.height, made_.width, made_.stride} : result.cells.view();
    std::set<Place> is;
    for (std::int64_t y = 0; y < grid.height; ++y)
      for (std::int64_t x = 0; x < grid.row_words() * 64; ++x)
        if ((grid.row(y)[x / 64] >> (x % 64) & 1) != 0)
          is.insert({y + result.top - made_.options.top, x + result.left - made_.options.left});
    if (is != right.cells) return fmt::format("{} cells, and not those that are alive", is.size());
    if (here)
      for (std::int64_t y = 0; y < made_.height; ++y)
        for (std::int64_t word = grid.row_words(); word < made_.stride; ++word) {
          const auto place = static_cast<std::size_t>(y * made_.stride + word);
          if (written[place] != (made_.in_place ? made_.words[place] : 77))
            return "words between the rows were written";
        }
    if (made_.options.hashes) {
      if (result.hashes.size() != states_.size()) return "another number of hashes";
      for (std::size_t one = 0; one < states_.size(); ++one)
        for (std::size_t two = 0; two < one; ++two)
          if ((result.hashes[one] == result.hashes[two]) != (states_[one].cells == states_[two].cells))
            return fmt::format("hashes of generations {} and {}", one, two);
    }
    return "";
  }

 private:
  LifeCase made_;
  std::vector<State> states_;
  std::optional<LifeCycle> cycle_;
};

}  // namespace

AttackReport attack_life(const AttackOptions& options);
AttackReport attack_life(const AttackOptions& options) {
  AttackReport report;
  for (std::uint64_t number = options.first; number < options.first + options.cases; ++number) {
    const LifeCase made = make_case(options.seed, number);
    const std::string headline =
        fmt::format("{} x {} cells, {}, {}, {} generations{}{}", made.height, made.width,
                    to_string(made.options.boundary), to_string(made.options.rule), made.options.generations,
                    made.options.hashes ? ", hashes" : "", made.options.until_stable ? ", until stable" : "");
    if (options.verbose) fmt::print("life case {}: {}\n", number, headline);
    const Check check(made);
    CaseReport of_case("life", options, number, report);
    for (const Run& run : runs_of(life_detail::variants(), check.shape(), options, number))
      of_case.judge("life by " + run.text, check.fault(run), headline);
    of_case.finish();
  }
  return report;
}

}  // namespace gradus::attack
