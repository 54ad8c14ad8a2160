// Rounds on a matrix that fits the GPU. While one stream processes the rest of the current round, another one processes
// the diagonal, row and column of the next round.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/arena.hpp"
#include "cuda/launch.hpp"
#include "cuda/order.hpp"
#include "shortest_paths/gpu/carriers.cuh"
#include "shortest_paths/gpu/rounds.cuh"

namespace gradus::shortest_paths_detail {

// Shapes of the kernel for the rest of a round. The name of a shape states how many rows and columns of words each
// thread has. All shapes were chosen by measurement on an H200.
template <class Word>
using Rest8x8 = ProductShape<RegisterTile<Word, 8, 8, 4, 2>, 16, 4, 2>;
template <class Word>
using Rest8x16 = ProductShape<RegisterTile<Word, 8, 16, 4, 2>, 32, 3, 1>;
template <class Word>
using Rest8x4 = ProductShape<RegisterTile<Word, 8, 4, 4, 2>, 16, 4, 2>;

/// The greatest distances that the carriers of 16-bit and 32-bit integers support. The driver uses int32 only if all
/// distances are within the second limit.
inline constexpr std::int32_t greatest_of_16 = 0x7ffe;
inline constexpr std::int32_t greatest_of_32 = unreachable<std::int32_t>() / 3 - 1;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t granule) { return (n + granule - 1) / granule * granule; }

/// Allocates all memory except the matrix, for rounds of `depth` vertices.
template <class Carrier>
Work<typename Carrier::Word> take_panels(cuda::Arena& memory, std::int64_t side, int depth) {
  using Word = typename Carrier::Word;
  Work<Word> work{};
  work.side = static_cast<int>(side);
  work.words = static_cast<std::size_t>(side / Carrier::pack);
  work.one = 1;
  for (Word*& panel : work.row_panels) panel = memory.take<Word>(depth * (side / Carrier::pack));
  for (Word*& panel : work.column_panels) panel = memory.take<Word>(depth * side);
  return work;
}

template <class Carrier, int depth, class Rest>
class RoundsInTwoStreams {
 public:
  using Word = typename Carrier::Word;
  /// The side of the matrix must be a multiple of this number.
  static constexpr std::int64_t granule =
      std::max<std::int64_t>({depth, Rest::Tile::rows, std::int64_t{Rest::Tile::columns} * Carrier::pack});

  RoundsInTwoStreams() {
    cuda::allow_shared_memory(reinterpret_cast<const void*>(diagonal), Shape::diagonal_bytes);
    cuda::allow_shared_memory(reinterpret_cast<const void*>(panels), Shape::panel_bytes);
    cuda::allow_shared_memory(reinterpret_cast<const void*>(rest), rest_bytes);
  }

  /// Queues rounds [first, first + number) of `rounds` in the stream. All earlier rounds must have been queued already.
  void launch(const Work<Word>& work, int first, int number, int rounds, const cuda::Stream& stream) {
    const auto panel_tiles = static_cast<unsigned int>(2 * (work.side / Shape::panel_side));
    const auto tiles = static_cast<unsigned int>(work.words / Rest::Tile::columns * (work.side / Rest::Tile::rows));
    if (first == 0) {
      is_in_.follow(stream);
      is_in_.hold(ahead_);
    }
    for (int round = first; round < first + number; ++round) {
      // Waits until the rest of round `round` - 2 is finished. Until then, elements and panels that this round
      // overwrites are in use.
      if (round >= 2) rest_done_[round % 2].hold(ahead_);
      diagonal<<<1, Shape::diagonal_threads, Shape::diagonal_bytes, ahead_>>>(work, round);
      panels<<<panel_tiles, Shape::panel_threads, Shape::panel_bytes, ahead_>>>(work, round);
      panels_done_.follow(ahead_);
      panels_done_.hold(stream);
      rest<<<tiles, Rest::Tile::threads, rest_bytes, stream>>>(work, round, round + 1 < rounds ? round + 1 : -1);
      rest_done_[round % 2].follow(stream);
      cuda::check_launch("relax_rest_kernel");
    }
  }

 private:
  using Shape = Shapes<Carrier, depth>;
  static constexpr std::size_t rest_bytes = Rest::template bytes<Word>;
  static constexpr auto diagonal = close_diagonal_kernel<Carrier, depth>;
  static constexpr auto panels = relax_panels_kernel<Carrier, depth>;
  static constexpr auto rest = relax_rest_kernel<Carrier, depth, Rest>;

  cuda::UrgentStream ahead_;
  cuda::Signal is_in_;
  cuda::Signal panels_done_;
  cuda::Signal rest_done_[2];
};

}  // namespace gradus::shortest_paths_detail
