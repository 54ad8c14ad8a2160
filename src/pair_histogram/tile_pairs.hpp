// Divides the pairs of points into pairs of tiles, and distributes the pairs of tiles among ranks and threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

#include "core/failure.hpp"
#include "cpu/threads.hpp"
#include "gradus/communicator.hpp"
#include "gradus/error.hpp"
#include "gradus/execution.hpp"

namespace gradus::pair_histogram_detail {

/// This rank's share of `count_of_all` items. Items are dealt to the ranks in turn, because neighbouring items take
/// about equally long. An item number must mean the same on all ranks, whatever their number of threads. Without ranks
/// the share is all items.
struct RankShare {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;

  RankShare(const Execution& execution, std::int64_t count_of_all) : count(count_of_all) {
    if (execution.communicator == nullptr) return;
    first = execution.communicator->rank();
    step = execution.communicator->size();
    count = (std::max(count_of_all - first, std::int64_t{0}) + step - 1) / step;
  }
  std::int64_t operator[](std::int64_t number) const { return first + number * step; }
};

/// Calls body(part, item) from `threads` threads for each item of [0, all) or, with ranks, for each item of this rank's
/// share. Responds to a stop request and reports progress between items, so an item should take at most a few
/// milliseconds. A longer item may poll the stop request itself and then leave its result incomplete. An exception from
/// body or from the progress callback ends the work and is rethrown.
template <class Body>
void for_each_item(const Execution& execution, int threads, std::int64_t all, const Body& body) {
  const RankShare share(execution, all);
  const std::int64_t count = share.count;
  cpu::SharedWork work(count, threads, 1);
  std::atomic<std::int64_t> done{0};
  std::atomic<bool> stopped{false};
  core::FirstFailure failure;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < threads; ++part) {
    failure.run([&] {
      auto reported = std::chrono::steady_clock::now();
      for (cpu::Range item = work.next(part); item.size() > 0; item = work.next(part)) {
        body(part, share[item.begin]);
        // Relaxed order suffices, because the body's results are read only after the barrier at the end of the parallel
        // loop.
        const std::int64_t finished = done.fetch_add(1, std::memory_order_relaxed) + 1;
        if (stopped.load(std::memory_order_relaxed) || failure.happened()) break;
        if (execution.stop.stop_requested()) stopped.store(true, std::memory_order_relaxed);
        if (part != 0 || !execution.progress) continue;  // the calling thread runs part 0
        if (finished == count) continue;                 // the last report is made once, after the loop
        if (const auto now = std::chrono::steady_clock::now(); now - reported > std::chrono::milliseconds(50)) {
          execution.progress({"count", finished, count, {}});
          reported = now;
        }
      }
    });
  }
  failure.rethrow();
  if (stopped.load(std::memory_order_relaxed))
    throw InterruptedError("stopped after " + std::to_string(done.load()) + " of " + std::to_string(count) +
                           " portions of the pairs");
  if (execution.progress) execution.progress({"count", count, count, {}});
}

/// Two ranges of points. Each point of the first range is paired with each point of the second. If both are the same
/// range of one set, each pair within the range is counted once.
struct TilePair {
  cpu::Range first;
  cpu::Range second;
};

/// All pairs of points, divided into numbered pairs of tiles. With `others`, the pairs of tiles form a rectangle,
/// otherwise a triangle that includes the diagonal.
class TilePairs {
 public:
  TilePairs(std::int64_t first, std::int64_t second, bool cross, std::int64_t tile)
      : first_(first), second_(second), tile_(tile), cross_(cross), columns_((second + tile - 1) / tile) {}

  std::int64_t count() const {
    return cross_ ? (first_ + tile_ - 1) / tile_ * columns_ : columns_ * (columns_ + 1) / 2;
  }

  TilePair operator[](std::int64_t number) const {
    if (cross_) return {range(number / columns_, first_), range(number % columns_, second_)};
    // If rows are counted from the end, row r begins at r (r + 1) / 2.
    const std::int64_t back = count() - 1 - number;
    auto row = static_cast<std::int64_t>((std::sqrt(8.0 * static_cast<double>(back) + 1) - 1) / 2);
    while (row * (row + 1) / 2 > back) --row;
    while ((row + 1) * (row + 2) / 2 <= back) ++row;
    const std::int64_t column = columns_ - 1 - (back - row * (row + 1) / 2);
    return {range(columns_ - 1 - row, first_), range(column, second_)};
  }

 private:
  cpu::Range range(std::int64_t tile, std::int64_t count) const {
    return {tile * tile_, std::min(count, (tile + 1) * tile_)};
  }

  std::int64_t first_;
  std::int64_t second_;
  std::int64_t tile_;
  bool cross_;
  std::int64_t columns_;
};

}  // namespace gradus::pair_histogram_detail
