// Tests grids in GPU memory, grids whose size or shape exercises every tiling, and refusals. Without a GPU, all tests
// except the tiling tests are skipped.
#include <random>

#include "life/bits/cells.hpp"
#include "life/gpu/tiles.hpp"
#include "life/problem.hpp"
#include "tests/helpers.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::life_detail {
namespace {

using tests::contains;
using tests::error_of;

class life_gpu : public tests::OnGpu {};

constexpr std::uint64_t rubbish = 0xDEADBEEFCAFEF00D;

Execution by(std::string_view variant) {
  Execution execution;
  execution.variant = variant;
  return execution;
}

/// Returns the words of a grid whose rows are `stride` words apart, with garbage between them and past the width.
std::vector<std::uint64_t> random_words(std::int64_t height, std::int64_t width, std::int64_t stride, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(static_cast<std::size_t>(height * stride), rubbish);
  const LifeGridSpan grid{words.data(), height, width, stride};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t word = 0; word < grid.row_words(); ++word) grid.row(y)[word] = random() & random();
  return words;
}

class OnDevice {
 public:
  OnDevice(const std::vector<std::uint64_t>& words, std::int64_t height, std::int64_t width, std::int64_t stride)
      : height_(height), width_(width), stride_(stride), memory_(std::ssize(words)) {
    const cuda::Stream stream;
    memory_.copy_from_host(words.data(), std::ssize(words), stream);
    stream.wait();
  }
  LifeGridSpan grid() { return {memory_.data(), height_, width_, stride_, tests::gpu_place}; }
  std::vector<std::uint64_t> read() const {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(memory_.size()));
    const cuda::Stream stream;
    memory_.copy_to_host(words.data(), std::ssize(words), stream);
    stream.wait();
    return words;
  }

 private:
  std::int64_t height_, width_, stride_;
  cuda::DeviceBuffer<std::uint64_t> memory_;
};

/// Returns the grid that the CPU computes. Its rows are `stride` words apart, with garbage between them.
std::vector<std::uint64_t> truth_of(const std::vector<std::uint64_t>& words, std::int64_t height, std::int64_t width,
                                    std::int64_t stride, const LifeOptions& options, std::uint64_t& population) {
  std::vector<std::uint64_t> result(words.size(), rubbish);
  LifeMemory memory;
  memory.cells = {result.data(), height, width, stride};
  population = life(LifeGridView{words.data(), height, width, stride}, options, memory, by("openmp")).population.low;
  return result;
}

TEST_F(life_gpu, takes_grids_that_lie_there) {
  for (const auto boundary : {LifeBoundary::dead, LifeBoundary::torus})
    for (const auto& [height, width, stride] :
         {std::array<std::int64_t, 3>{40, 100, 2}, {33, 129, 5}, {1, 64, 1}, {70, 1000, 17}})
      for (const std::int64_t generations : {0, 1, 2, 33}) {
        const LifeOptions options{.boundary = boundary, .generations = generations};
        const std::vector<std::uint64_t> words = random_words(height, width, stride, 7);
        std::uint64_t population = 0;
        const std::vector<std::uint64_t> truth = truth_of(words, height, width, stride, options, population);
        for (const Variant& variant : variants()) {
          if (!variant.device_input) continue;
          const std::string name = std::string(variant.name) + " " + std::to_string(height) + " x " +
                                   std::to_string(width) + ", " + std::to_string(generations);
          OnDevice cells(words, height, width, stride);
          OnDevice result(std::vector<std::uint64_t>(words.size(), rubbish), height, width, stride);
          LifeMemory memory;
          memory.cells = result.grid();
          // From GPU to GPU.
          EXPECT_EQ(life(cells.grid(), options, memory, by(variant.name)).population.low, population) << name;
          EXPECT_TRUE(result.read() == truth) << name;
          EXPECT_TRUE(cells.read() == words) << name;
          // From GPU to host.
          const LifeResult back = life(cells.grid(), options, by(variant.name));
          EXPECT_EQ(back.population.low, population) << name;
          EXPECT_TRUE(same_cells(back.cells, LifeGridView{truth.data(), height, width, stride})) << name;
          // From host to GPU.
          OnDevice other(std::vector<std::uint64_t>(words.size(), rubbish), height, width, stride);
          memory.cells = other.grid();
          life(LifeGridView{words.data(), height, width, stride}, options, memory, by(variant.name));
          EXPECT_TRUE(other.read() == truth) << name;
          // In place; the words between the rows stay unchanged.
          memory.cells = cells.grid();
          life(cells.grid(), options, memory, by(variant.name));
          EXPECT_TRUE(cells.read() == truth) << name;
        }
      }
}

TEST_F(life_gpu, all_tilings_give_the_same_cells) {
  struct Size {
    std::int64_t height, width, generations;
  };
  const Size sizes[] = {{1024, 1024, 100}, {1023, 1024, 50}, {1024, 1056, 50}, {4096, 4096, 70},
                        {2000, 4097, 49},  {8191, 8130, 65}, {20000, 64, 40},  {64, 20000, 40},
                        {9000, 1024, 33},  {3, 70001, 30},   {70001, 3, 30},   {12000, 12100, 34}};
  for (const auto boundary : {LifeBoundary::dead, LifeBoundary::torus})
    for (const Size& size : sizes)
      for (const LifeRule rule : {LifeRule{}, LifeRule{1 << 3 | 1 << 6, 1 << 2 | 1 << 3}, LifeRule{0xB2, 0x9C}}) {
        const LifeOptions options{.rule = rule, .boundary = boundary, .generations = size.generations};
        const std::int64_t stride = (size.width + 63) / 64;
        const std::vector<std::uint64_t> words = random_words(size.height, size.width, stride, 11);
        const LifeGridView cells{words.data(), size.height, size.width, stride};
        const LifeResult truth = life(cells, options, by("bit_sliced"));
        const LifeResult result = life(cells, options, by("cuda_resident"));
        EXPECT_TRUE(same_cells(result.cells, truth.cells))
            << size.height << " x " << size.width << " " << to_string(boundary) << " " << to_string(rule);
        EXPECT_EQ(result.population, truth.population);
      }
}

TEST_F(life_gpu, is_refused_for_what_needs_host_memory) {
  const std::vector<std::uint64_t> words = random_words(10, 64, 1, 1);
  OnDevice cells(words, 10, 64, 1);
  const auto refused = [&](const LifeOptions& options) {
    return error_of<UnsupportedError>([&] { life(cells.grid(), options); });
  };
  EXPECT_TRUE(contains(refused({}), "a plane needs them in host memory"));
  EXPECT_TRUE(contains(refused({.boundary = LifeBoundary::torus, .hashes = true}), "hashes"));
  EXPECT_TRUE(contains(refused({.boundary = LifeBoundary::torus, .until_stable = true}), "cycles"));
  EXPECT_TRUE(
      contains(error_of<UnsupportedError>([&] { life(cells.grid(), {.boundary = LifeBoundary::torus}, by("openmp")); }),
               "cuda_resident"));
  Execution little = by("cuda_resident");
  little.gpu_memory_limit = 1000;
  EXPECT_THROW(life(LifeGrid(1000, 1000), {.boundary = LifeBoundary::torus}, little), OutOfMemoryError);
}

// ---------------------------------------------------------------------------------------------------------------------
// Tiles

TEST(life_tiles, cover_the_grid_and_fit_a_block) {
  for (const std::int64_t height : {1, 2, 31, 64, 1000, 4096, 65536, 1 << 20})
    for (const std::int64_t words : {2, 4, 30, 32, 62, 128, 2048, 1 << 16})
      for (const std::int64_t generations : {1, 2, 31, 32, 33, 1000})
        for (const int blocks : {1, 16, 132})
          for (const bool one_wraps : {false, true})
            for (const bool short_rows : {false, true}) {
              if (one_wraps && words != Tiling::lanes) continue;
              const Tiling tiling = tiling_of(height, words, one_wraps, generations, blocks, short_rows);
              ASSERT_GE(tiling.own_rows * tiling.down, height);
              ASSERT_LT(tiling.own_rows * (tiling.down - 1), height);
              ASSERT_GE(tiling.own_words * tiling.across, words);
              ASSERT_LT(tiling.own_words * (tiling.across - 1), words);
              ASSERT_LE(tiling.own_words + 2 * tiling.border_words, Tiling::lanes);
              ASSERT_GE(std::int64_t{tiling.warps} * tiling.rows, tiling.own_rows + 2 * tiling.depth);
              ASSERT_LE(tiling.warps, most_warps(tiling.rows));
              ASSERT_GE(tiling.depth, 1);
              ASSERT_LE(tiling.depth, Tiling::most_depth);
              ASSERT_TRUE(!tiling.stays || tiling.tiles() <= blocks);
            }
}

}  // namespace
}  // namespace gradus::life_detail
