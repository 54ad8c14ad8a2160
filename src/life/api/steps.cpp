#include "life/api/steps.hpp"

#include <string>

#include "core/checked.hpp"
#include "life/options.hpp"

namespace gradus::life_detail {

bool is_near(std::int64_t place) {
  constexpr std::int64_t far = std::int64_t{1} << 62;
  return place >= -far && place <= far;
}

void check(const LifeOptions& options) {
  core::check_options(options);
  if ((options.rule.birth | options.rule.survival) >= 1U << 9)
    throw UsageError(about("rule") + "a list of neighbours has bits 0 to 8 alone");
  if (!is_near(options.left) || !is_near(options.top))
    throw UsageError(about("left and top") + "the first cell must be within 2^62 of (0, 0)");
}

void check_sizes(std::int64_t height, std::int64_t width) {
  if (height < 0 || width < 0)
    throw UsageError(about("cells") + "the sizes " + std::to_string(height) + " x " + std::to_string(width) +
                     " must not be negative");
  // The largest size that is allowed. Because of this limit, the sum of a few sizes and coordinates cannot overflow.
  constexpr std::int64_t most = std::int64_t{1} << 48;
  if (height > most || width > most)
    throw UsageError(about("cells") + "the sizes " + std::to_string(height) + " x " + std::to_string(width) +
                     " are beyond 2^48");
}

void check_grid(const LifeGridView& cells, const char* what) {
  if (cells.width < 0)
    throw UsageError(about(what) + "the width must be not negative, not " + std::to_string(cells.width));
  detail::check_view({cells.words, cells.height, cells.row_words(), cells.stride, cells.place, sizeof(std::uint64_t),
                      alignof(std::uint64_t)},
                     what);
  check_sizes(cells.height, cells.width);
}

void check_stays_there(MemoryPlace place, const char* what, const LifeOptions& options) {
  if (place.is_host()) return;
  const char* const wish = options.boundary == LifeBoundary::plane ? "a plane"
                           : options.hashes                        ? "hashes of generations"
                           : options.until_stable                  ? "a search for cycles"
                                                                   : nullptr;
  if (wish != nullptr)
    throw UnsupportedError(about(what) + "they are on " + execution::gpu_number(place.gpu) + ", and " + wish +
                           " needs them in host memory; copy them there");
}

Shape describe(std::int64_t height, std::int64_t width, const LifeOptions& options, bool tree) {
  return {.height = height,
          .width = width,
          .generations = options.generations,
          .boundary = options.boundary,
          .lights_up = (options.rule.birth & 1) != 0,
          .stepwise = options.hashes || options.until_stable,
          .tree = tree};
}

core::Memory estimate(const Shape& shape, const Variant& variant, const LifeOptions& options, int threads) {
  core::Memory memory = variant.memory(shape, threads);
  if (variant.facts.plane) return memory;
  const auto row = static_cast<std::uint64_t>((shape.width + 63) / 64 * 8);
  const std::uint64_t grid = core::checked_multiply(static_cast<std::uint64_t>(shape.height), row, "a grid");
  const std::uint64_t grids = options.until_stable ? 4 : options.boundary == LifeBoundary::plane ? 2 : 1;
  const auto add = [&](std::uint64_t bytes) {
    memory.host = core::checked_add(memory.host, bytes, "the memory of the job");
  };
  add(core::checked_multiply(grid, grids, "grids"));
  if (options.hashes)
    add(core::checked_multiply(static_cast<std::uint64_t>(options.generations) + 1, std::uint64_t{8}, "hashes"));
  return memory;
}

}  // namespace gradus::life_detail
