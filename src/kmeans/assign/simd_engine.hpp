// The engine of the production variants on the CPU. The variant's assigner computes the labels of blocks, and the
// engine keeps exact sums. Only points whose label changes affect the sums, because integer sums can be updated without
// error.
//
// An assigner provides
//   void prepare(MatrixView<const T> centroids)         called once per pass by one thread; throws after a stop request
//   struct Scratch                                      one per thread, constructed by that thread from the assigner
//   std::int64_t assign(Range points, const std::int32_t* before, std::int32_t* labels, Scratch&)
//                                                       finds the canonical labels of a block (at most block_points).
//                                                       `before`: labels of the previous pass, or -1. Returns the
//                                                       number of re-checked points. After a stop request labels are
//                                                       invalid
// and may provide
//   TakesAnyBlocks                                      a type; if it exists, blocks may be shorter and start anywhere
//   void finished(std::int64_t changed)                 called after each pass by one thread
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/byte_tiles.hpp"
#include "kmeans/assign/simd_rows.hpp"
#include "kmeans/lloyd/lloyd.hpp"
#include "kmeans/means/exact_sums.hpp"

namespace gradus::kmeans_detail {

template <class T, class Assigner>
class SimdEngine {
 public:
  SimdEngine(const Problem<T>& problem, int threads, Assigner& assigner)
      : problem_(problem), threads_(threads), assigner_(assigner), sums_(problem),
        workers_(static_cast<std::size_t>(threads)), block_(block_size(problem)), piece_(piece_size(problem, threads)),
        team_(threads, cpu::may_shrink_team()) {}

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) { return pass(centroids, labels, nullptr); }

  const ExactSums<T>& sums() const { return sums_; }

  /// Returns true if the sums are needed. Without iterations, as in kmeans_predict(), no caller reads the sums, and
  /// adding every point to a sum would take as long as finding its label. With several ranks, the sums are always
  /// needed, because they include the counts.
  bool has_sums() const { return problem_.max_iterations > 0 || !problem_.ranks().is_alone(); }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) {
    if (labels_are_current) return total_inertia(problem_, centroids, labels, threads_);
    core::ExactTotal inertia;
    pass(centroids, labels, &inertia);
    return round_inertia(problem_, inertia);
  }

  double rechecked() const {
    return assignments_ > 0 ? static_cast<double>(rechecked_) / static_cast<double>(assignments_) : 0.0;
  }

  static std::uint64_t bytes(const Shape& shape, int threads) {
    return static_cast<std::uint64_t>(threads + 1) * ExactSums<T>::bytes(shape);
  }

 private:
  // Returns how many points a thread takes at a time. Such a piece is long enough for prefetching, but so short that
  // every thread gets several pieces.
  static std::int64_t piece_size(const Problem<T>& problem, int threads) {
    std::int64_t granule = block_points;
    if constexpr (requires { typename Assigner::TakesAnyBlocks; }) granule = 64;
    const std::int64_t pieces = std::int64_t{8} * threads;
    return std::clamp(problem.n() / pieces / granule * granule, granule, 8 * block_points);
  }

  // Returns the number of points between two polls of the stop request. This is block_points. If the assigner supports
  // blocks of any size and a point takes much work, it is less. The number is a power of two, so it divides
  // block_points.
  static std::int64_t block_size(const Problem<T>& problem) {
    // This number of operations takes some milliseconds.
    const std::int64_t most_operations = std::int64_t{1} << (uses_tiles(problem.d(), problem.k()) ? 30 : 28);
    std::int64_t points = block_points;
    if constexpr (requires { typename Assigner::TakesAnyBlocks; }) {
      while (points > 32 && points * problem.k() * problem.d() > most_operations) points /= 2;
      // With few clusters, the search is fast, so it would be noticeable if points were read from memory twice.
      // Therefore, a block is so small that its points are still in the cache when the moved points are added to the
      // sums.
      constexpr std::int64_t few = 64;
      constexpr auto most_values = (std::int64_t{1} << 19) / static_cast<std::int64_t>(sizeof(T));
      while (problem.k() <= few && points > 64 && points * problem.d() > most_values) points /= 2;
    }
    return points;
  }

  struct Worker {
    explicit Worker(const SimdEngine& engine) : scratch(engine.assigner_) {}
    std::optional<ExactSums<T>> moved;  ///< changes of the clusters' sums during the pass
    bool moves = false;                 ///< true if `moved` may be nonzero
    typename Assigner::Scratch scratch;
    std::int32_t labels[block_points];
    std::int32_t changed[block_points];
  };

  // Runs a pass. If `inertia` is not null, also adds up the inertia of each block while its points are in the cache.
  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels, core::ExactTotal* inertia) {
    assigner_.prepare(centroids);
    std::int64_t changed = 0;
    std::int64_t rechecked = 0;
    const int threads = team_.threads();
    cpu::SharedWork work(problem_.n(), threads, piece_);
    core::FirstFailure failure;
    const bool is_followed = inertia != nullptr && problem_.progress;
    std::atomic<std::int64_t> assigned{0};
    cpu::PayingTeam::Pass timed(team_);
    // Assigns the points of one part. Runs on the thread of this part.
    const auto assign = [&](int part, std::int64_t& own_changed, std::int64_t& own_rechecked,
                            core::ExactTotal& own_inertia) {
      const cpu::PayingTeam::Share own_time(timed);
      std::unique_ptr<Worker>& worker = workers_[static_cast<std::size_t>(part)];
      failure.run([&] {
        if (!worker) worker = std::make_unique<Worker>(*this);  // allocated by the thread that uses it
        if (threads > 1) {                                      // a single thread updates sums_ directly
          if (!worker->moved) worker->moved.emplace(problem_);
          else if (std::exchange(worker->moves, false)) worker->moved->clear();
        }
        ExactSums<T>& moved = threads > 1 ? *worker->moved : sums_;
        core::RateLimiter limiter;
        for (cpu::Range piece = work.next(part); piece.size() > 0; piece = work.next(part))
          for (std::int64_t first = piece.begin; first < piece.end; first += block_) {
            if (problem_.stop.stop_requested() || failure.happened()) break;
            const cpu::Range block{first, std::min(first + block_, piece.end)};
            own_rechecked += assign_block(block, labels, *worker, moved, own_changed);
            if (problem_.stop.stop_requested()) break;  // after a stop request, the block may have no labels
            if (inertia != nullptr) add_inertia(problem_, centroids, labels, block, own_inertia);
            if (!is_followed) continue;
            const std::int64_t done = assigned.fetch_add(block.size(), std::memory_order_relaxed) + block.size();
            if (part == 0 && limiter.ready()) problem_.progress(done);  // part 0 runs on the calling thread
          }
      });
    };
    // Merges one share of the limbs of all workers' `moved` sums. These sums must be complete.
    const auto merge = [&](int part) {
      const cpu::PayingTeam::Share own_time(timed);
      const cpu::Range limbs = cpu::share(sums_.limbs(), part, threads, 64);
      const std::int64_t stretch = core::chunk_length(limbs.size(), threads);
      for (std::int64_t first = limbs.begin; first < limbs.end; first += stretch)
        for (int from = 0; from < threads; ++from) {
          if (problem_.stop.stop_requested() || failure.happened()) break;
          const Worker& worker = *workers_[static_cast<std::size_t>(from)];
          if (worker.moves) sums_.merge_limbs(*worker.moved, first, std::min(first + stretch, limbs.end));
        }
      for (int from = 0; part == 0 && from < threads && !failure.happened(); ++from)
        if (const Worker& worker = *workers_[static_cast<std::size_t>(from)]; worker.moves)
          sums_.merge_counts(*worker.moved);
    };
    if (threads == 1) {  // for one thread, even an empty parallel region would make slow system calls
      core::ExactTotal own_inertia;
      assign(0, changed, rechecked, own_inertia);
      if (inertia != nullptr) inertia->merge(own_inertia);
    } else {
#pragma omp parallel num_threads(threads) reduction(+ : changed, rechecked)
      {
#pragma omp for schedule(static, 1)
        for (int part = 0; part < threads; ++part) {
          core::ExactTotal own_inertia;
          assign(part, changed, rechecked, own_inertia);
          if (inertia == nullptr) continue;
#pragma omp critical(gradus_pass_inertia)
          inertia->merge(own_inertia);
        }
        // The loop above ends with a barrier. After it, each thread adds up one share of all workers' `moved` sums.
#pragma omp for schedule(static, 1)
        for (int part = 0; part < threads; ++part) merge(part);
      }
    }
    failure.rethrow();
    if constexpr (requires { assigner_.finished(changed); }) assigner_.finished(changed);
    assignments_ += problem_.n();
    rechecked_ += rechecked;
    return {changed};
  }

  std::int64_t assign_block(cpu::Range block, std::int32_t* labels, Worker& worker, ExactSums<T>& moved,
                            std::int64_t& changed) {
    std::int32_t* old_labels = labels + block.begin;
    const std::int64_t rechecked = assigner_.assign(block, old_labels, worker.labels, worker.scratch);
    if (problem_.stop.stop_requested()) return 0;  // invalid labels, because a stop may have ended the search
    const std::int64_t count = find_changed(worker.labels, old_labels, block.size(), worker.changed);
    if (count > 0) {
      if (has_sums()) {
        if (&moved != &sums_) worker.moves = true;
        move_rows(problem_, block.begin, worker.changed, count, old_labels, worker.labels, moved);
      }
      for (std::int64_t step = 0; step < count; ++step)  // writes only changed labels, so other cache lines stay clean
        old_labels[worker.changed[step]] = worker.labels[worker.changed[step]];
      changed += count;
    }
    return rechecked;
  }

  const Problem<T>& problem_;
  int threads_;
  Assigner& assigner_;
  ExactSums<T> sums_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::int64_t block_;
  std::int64_t piece_;
  cpu::PayingTeam team_;
  std::int64_t assignments_ = 0;
  std::int64_t rechecked_ = 0;
};

/// Returns the bytes of Assigner<T> for the element type of the shape.
template <template <class> class Assigner>
std::uint64_t assigner_bytes(const Shape& shape, int threads) {
  return shape.element_bytes == 4 ? Assigner<float>::bytes(shape, threads) : Assigner<double>::bytes(shape, threads);
}

template <template <class> class Assigner>
core::Memory simd_memory(const Shape& shape, int threads) {
  return {.host =
              SimdEngine<double, Assigner<double>>::bytes(shape, threads) + assigner_bytes<Assigner>(shape, threads)};
}

}  // namespace gradus::kmeans_detail
