#include "life/oracle.hpp"

#include <map>
#include <utility>

namespace gradus::life_detail {

namespace {

std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
  return bits ^ bits >> 31;
}

/// Computes the hash as the header defines it: from words of 64 cells, aligned to multiples of 64.
std::uint64_t hash_of(const Field& field) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> words;
  for (std::int64_t y = field.top; y < field.top + field.height; ++y)
    for (std::int64_t x = field.left; x < field.left + field.width; ++x) {
      const std::int64_t bit = ((x % 64) + 64) % 64;
      if (field.at(y, x) != field.background) words[{y, x - bit}] |= std::uint64_t{1} << bit;
    }
  std::uint64_t hash = 0;
  for (const auto& [place, word] : words)
    hash += mixed(word ^ mixed(mixed(static_cast<std::uint64_t>(place.first) + 0x9E3779B97F4A7C15) +
                               static_cast<std::uint64_t>(place.second)));
  return hash;
}

}  // namespace

Field next_generation(const Field& now, LifeRule rule, LifeBoundary boundary) {
  const bool plane = boundary == LifeBoundary::plane;
  const std::int64_t growth = plane ? 1 : 0;
  Field next{now.top - growth, now.left - growth, now.height + 2 * growth, now.width + 2 * growth, false, {}};
  const auto lives = [rule](bool alive, int neighbours) {
    return ((alive ? rule.survival : rule.birth) >> neighbours & 1) != 0;
  };
  next.background = plane && lives(now.background, now.background ? 8 : 0);
  const auto at = [&](std::int64_t y, std::int64_t x) {
    if (boundary == LifeBoundary::torus) {
      y = now.top + (y - now.top + now.height) % now.height;
      x = now.left + (x - now.left + now.width) % now.width;
    }
    return now.at(y, x);
  };
  for (std::int64_t y = next.top; y < next.top + next.height; ++y)
    for (std::int64_t x = next.left; x < next.left + next.width; ++x) {
      int neighbours = 0;
      for (std::int64_t dy = -1; dy <= 1; ++dy)
        for (std::int64_t dx = -1; dx <= 1; ++dx)
          if ((dy != 0 || dx != 0) && at(y + dy, x + dx)) ++neighbours;
      next.cells.push_back(lives(now.at(y, x), neighbours) ? 1 : 0);
    }
  return next;
}

Truth oracle(const LifeGridView& cells, const LifeOptions& options) {
  Truth truth;
  Field& field = truth.field;
  field = {options.top, options.left, cells.height, cells.width, false, {}};
  for (std::int64_t y = 0; y < cells.height; ++y)
    for (std::int64_t x = 0; x < cells.width; ++x) field.cells.push_back(cells(y, x) ? 1 : 0);
  truth.hashes.push_back(hash_of(field));
  for (std::int64_t generation = 0; generation < options.generations; ++generation) {
    field = next_generation(field, options.rule, options.boundary);
    truth.hashes.push_back(hash_of(field));
  }
  for (const std::uint8_t cell : field.cells)
    if ((cell != 0) != field.background) ++truth.population;
  return truth;
}

}  // namespace gradus::life_detail
