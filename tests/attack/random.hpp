// Random numbers and difficult columns of numbers. All of them depend only on the seed and the number of the case.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace gradus::attack {

class Random {
 public:
  /// Each problem has a different `stream`, so that its cases are independent of the cases of other problems.
  Random(std::uint64_t seed, std::uint64_t number, std::uint64_t stream) : state_(seed * 0x9e3779b97f4a7c15 + stream) {
    state_ ^= next() + number * 0xd1342543de82ef95;
    next();
  }

  std::uint64_t next() {  // splitmix64
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  /// Returns an integer in [0, limit).
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
  }
  /// Returns an integer in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  /// Returns a number in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double probability) { return uniform() < probability; }
  double sign() { return chance(0.5) ? 1 : -1; }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<std::int64_t>(choices.size()))];
  }

 private:
  std::uint64_t state_;
};

template <class T>
using Rows = std::vector<std::vector<T>>;

/// Returns `value` moved by `steps` floating-point numbers of T.
template <class T>
T moved_by_steps(T value, std::int64_t steps) {
  const T to = steps < 0 ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  for (std::int64_t step = 0; step < std::abs(steps); ++step) value = std::nextafter(value, to);
  return value;
}

/// The largest decimal exponent of a problem's numbers. It is so small that squares and products do not overflow.
template <class T>
inline constexpr int large_exponent = sizeof(T) == 4 ? 30 : 150;

/// The distribution of the numbers of one column.
template <class T>
struct ColumnKind {
  enum Kind : std::int64_t { uniform, integers, steps, denormal, spread, powers, pairs, constant, halves, kinds };
  std::int64_t kind = uniform;
  double scale = 1;
  T offset = 0;
  std::int64_t side = 2;

  ColumnKind(Random& random, bool scaled) : kind(random.chance(0.15) ? steps : random.below(kinds)) {
    if (scaled) scale = std::pow(10.0, random.pick<double>({-1, -0.97, -0.5, -0.1, 0.1, 0.5, 1}) * large_exponent<T>);
    offset = static_cast<T>(random.pick<double>({0, 1, 1.0 / 3, 1e8, 1e15, 0x1p52, 0x1p24, 1e-5, 1e6, -0x1p23, 0.1}));
    if (std::abs(static_cast<double>(offset)) * scale > std::pow(10.0, large_exponent<T>)) offset = 1;
    side = random.pick<std::int64_t>({2, 3, 4, 7, 30, 1000});
  }

  std::string name() const {
    constexpr std::array names = {"uniform", "integers", "steps",    "denormal", "spread",
                                  "powers",  "pairs",    "constant", "halves"};
    return names[static_cast<std::size_t>(kind)] + std::string(scale == 1 ? "" : " scaled");
  }

  T draw(Random& random) const {
    const auto small = static_cast<double>(random.below(side));
    switch (kind) {
      case integers: return static_cast<T>(scale * (small - std::floor(static_cast<double>(side) / 2)));
      case steps: {  // lattice with steps of one unit in the last place of the offset
        const T step = std::nextafter(offset, std::numeric_limits<T>::infinity()) - offset;
        return static_cast<T>(scale * (static_cast<double>(offset) + static_cast<double>(step) * small));
      }
      case denormal: return static_cast<T>(random.sign() * small) * std::numeric_limits<T>::denorm_min();
      case spread: return static_cast<T>(scale * random.sign() * std::pow(10.0, random.uniform(-30, 0)));
      case powers:
        return static_cast<T>(scale * random.sign() * std::exp2(static_cast<double>(random.between(-20, 20))));
      case pairs:  // neighbouring floating-point numbers, whose means are ties
        return moved_by_steps<T>(static_cast<T>(scale * random.pick<double>({1, 1.5, 2 - 0x1p-23})), random.below(3));
      case constant: return static_cast<T>(scale * static_cast<double>(offset));
      case halves:
        return static_cast<T>(scale * (1 + small / 2 + (random.chance(0.2) ? 0x1p-20 * random.uniform() : 0)));
      case uniform:
      default: return static_cast<T>(scale * random.uniform(-1, 1));
    }
  }
};

}  // namespace gradus::attack
