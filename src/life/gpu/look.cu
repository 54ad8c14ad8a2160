#include "life/gpu/look.hpp"

#include "cuda/launch.hpp"
#include "life/bits/cells.hpp"
#include "life/gpu/words.cuh"

namespace gradus::life_detail {

namespace {

// Launch shape: blocks of 256 threads with a grid-stride loop over the words of all rows.
constexpr int block_threads = 256;

unsigned int blocks_for_words(std::int64_t words) {
  return static_cast<unsigned int>(
      std::min<std::int64_t>(cuda::blocks_for(words, block_threads), 8 * cuda::multiprocessors()));
}

__global__ void copy_words(LifeGridView from, LifeGridSpan to, std::uint64_t last_mask) {
  const std::int64_t row_words = to.row_words();
  for (std::int64_t index = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; index < to.height * row_words;
       index += std::int64_t{gridDim.x} * block_threads) {
    const std::int64_t y = index / row_words;
    const std::int64_t word = index % row_words;
    to.words[y * to.stride + word] =
        from.words[y * from.stride + word] & (word + 1 == row_words ? last_mask : ~std::uint64_t{0});
  }
}

__global__ void count_words(LifeGridView cells, unsigned long long* population) {
  const std::int64_t row_words = cells.row_words();
  unsigned long long own = 0;
  for (std::int64_t index = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; index < cells.height * row_words;
       index += std::int64_t{gridDim.x} * block_threads)
    own += static_cast<unsigned>(__popcll(cells.words[index / row_words * cells.stride + index % row_words]));
  for (int distance = 16; distance > 0; distance /= 2) own += __shfl_down_sync(~0u, own, distance);
  if (threadIdx.x % 32 == 0 && own != 0) atomicAdd(population, own);
}

}  // namespace

void copy_on_gpu(const LifeGridView& from, const LifeGridSpan& to, cuda::Job& job) {
  copy_words<<<blocks_for_words(to.height * to.row_words()), block_threads, 0, job.stream()>>>(
      from, to, last_word_mask(to.width));
  cuda::check_launch("copy_words");
}

std::uint64_t count_on_gpu(const LifeGridView& cells, cuda::Job& job) {
  unsigned long long* const count = cuda::zero_part<unsigned long long>(job.memory(), 1, job.stream());
  count_words<<<blocks_for_words(cells.height * cells.row_words()), block_threads, 0, job.stream()>>>(cells, count);
  cuda::check_launch("count_words");
  unsigned long long population = 0;
  cuda::fetch_part(count, std::span<unsigned long long>(&population, 1), job.stream());
  return population;
}

}  // namespace gradus::life_detail
