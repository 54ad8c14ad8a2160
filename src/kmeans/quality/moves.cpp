#include "kmeans/quality/moves.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/phases.hpp"
#include "core/philox.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "kmeans/quality/swaps.hpp"
#include "kmeans/sizes/limited_sizes.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Streams of random numbers below this one belong to the first centroids.
constexpr std::uint64_t first_stream = std::uint64_t{1} << 40;

std::int64_t first_breadth(std::int64_t clusters) { return std::clamp<std::int64_t>(clusters / 8, 1, 16); }

/// The search for a better clustering.
template <class T>
class Search {
 public:
  Search(const Problem<T>& problem, const KMeansOptions& options, const Execution& execution, const MoveCalls<T>& calls,
         MoveState& state, KMeansResult<T>& best, std::vector<Phase>& phases)
      : problem_(problem), options_(options), execution_(execution), calls_(calls), state_(state), best_(best),
        phases_(phases), swaps_(problem, cpu::thread_count(execution)), closed_(static_cast<std::size_t>(problem.k())) {
    for (const std::int64_t cluster : state.closed) closed_[static_cast<std::size_t>(cluster)] = true;
    if (state.breadth == 0) state.breadth = first_breadth(problem.k());
  }

  void run() {
    const double spent_before = state_.spent;
    const auto start = core::Clock::now();
    double last = 0;  // seconds of the last move
    report();
    while (!is_done(last)) {
      const double before = state_.spent;
      const std::vector<Swap> swaps = choose();
      if (swaps.empty()) return;
      move(swaps);
      state_.spent = spent_before + core::seconds_since(start);
      last = state_.spent - before;
      calls_.after_move();
      report();
    }
    state_.spent = std::max(state_.spent, state_.budget);  // a job that resumes from here makes no move
  }

 private:
  /// Returns true if the moves are made, or if another one would leave the budget by more than half of its time.
  bool is_done(double last) const {
    if (!options_.quality) return state_.moves >= options_.quality_moves;
    core::Ranks& ranks = problem_.ranks();
    return ranks.any([&] { return ranks.is_first() && state_.spent + last / 2 > state_.budget; });
  }

  std::vector<Swap> choose() {
    const core::PhaseTimer timer(phases_, "swaps");
    if (!is_measured_) swaps_.measure(best_.centroids.view(), best_.labels.data());
    is_measured_ = true;
    const auto propose = [&] {
      const core::Philox random(options_.seed, first_stream + static_cast<std::uint64_t>(state_.moves));
      return swaps_.propose(best_.centroids.view(), closed_, random, state_.breadth);
    };
    std::vector<Swap> swaps = propose();
    if (!swaps.empty() || state_.closed.empty()) return swaps;
    open_all();
    return propose();
  }

  void move(const std::vector<Swap>& swaps) {
    std::vector<std::int64_t> numbers;
    for (const Swap& swap : swaps) numbers.push_back(swap.row);
    const Matrix<T> rows = problem_.source->rows_at(numbers);
    Matrix<T> centroids = Matrix<T>::copy_of(std::as_const(best_.centroids).view());
    for (std::size_t swap = 0; swap < swaps.size(); ++swap)
      std::copy_n(rows.row(static_cast<std::int64_t>(swap)), problem_.d(), centroids.row(swaps[swap].removed));
    KMeansResult<T> result = calls_.fit(std::as_const(centroids).view());
    ++state_.moves;
    if (result.inertia < best_.inertia) {
      result.restart = best_.restart;
      best_ = std::move(result);
      is_measured_ = false;
      open_all();
    } else if (swaps.size() > 1) {
      state_.breadth = std::ssize(swaps) / 2;
    } else {
      const std::int32_t home = swaps.front().home;
      closed_[static_cast<std::size_t>(home)] = true;
      state_.closed.insert(std::ranges::upper_bound(state_.closed, home), home);
    }
  }

  void open_all() {
    state_.closed.clear();
    closed_.assign(closed_.size(), false);
  }

  /// Reports the progress as the number of moves or, with a budget of time, in milliseconds.
  void report() const {
    if (!execution_.progress) return;
    const std::string detail = std::to_string(state_.moves) + " moves, inertia " + core::number_text(best_.inertia);
    const auto milliseconds = [](double seconds) { return std::llround(1000 * seconds); };
    if (options_.quality)
      execution_.progress(
          {"quality", milliseconds(std::min(state_.spent, state_.budget)), milliseconds(state_.budget), detail});
    else execution_.progress({"quality", state_.moves, options_.quality_moves, detail});
  }

  const Problem<T>& problem_;
  const KMeansOptions& options_;
  const Execution& execution_;
  const MoveCalls<T>& calls_;
  MoveState& state_;
  KMeansResult<T>& best_;
  std::vector<Phase>& phases_;
  Swaps<T> swaps_;
  std::vector<bool> closed_;  ///< state_.closed for all clusters
  bool is_measured_ = false;  ///< true if swaps_ knows the prices of best_
};

}  // namespace

template <class T>
void improve(const Problem<T>& problem, const KMeansOptions& options, const Execution& execution,
             const MoveCalls<T>& calls, MoveState& state, KMeansResult<T>& best, std::vector<Phase>& phases) {
  if (problem.k() == 1 || problem.has_surplus()) return;  // there is nothing to exchange
  Search<T>(problem, options, execution, calls, state, best, phases).run();
}

std::uint64_t move_bytes(const Shape& shape, int threads) {
  return std::max(Swaps<float>::bytes(shape, threads), Swaps<double>::bytes(shape, threads));
}

bool asks_for_moves(const KMeansOptions& options) { return options.quality || options.quality_moves > 0; }

void check_moves(const KMeansOptions& options, const Execution& execution) {
  if (!asks_for_moves(options)) return;
  const ErrorMessage asked =
      options.quality ? flag("KMeansOptions::quality") : option("KMeansOptions::quality_moves", options.quality_moves);
  const std::string argument = options.quality ? "quality" : "quality_moves";
  const std::string value = options.quality ? "true" : std::to_string(options.quality_moves);
  if (options.quality && options.quality_moves > 0)
    throw UsageError(asked + ": " + option("KMeansOptions::quality_moves", options.quality_moves) +
                         " sets the number of moves; leave one of them out",
                     {.argument = argument, .value = value});
  const auto refuse = [&](const ErrorMessage& what, const char* remedy) {
    throw UnsupportedError(asked + ": moves do not support " + what,
                           {.argument = argument, .value = value, .remedy = remedy});
  };
  if (has_size_limits(options)) refuse("limits of size", "leave one of them out");
  if (options.empty == KMeansEmptyCluster::error)
    refuse(option("KMeansOptions::empty", std::string("error")) + ", because a move may empty a cluster",
           "let empty clusters move or keep their centroids");
  if (execution.device == Device::gpu || !execution.gpus.empty()) refuse("GPUs", "run the fit on the CPU");
  if (execution.variant.empty()) return;
  const Variant& variant = core::find_variant(variants(), execution.variant, Room::name);
  if (variant.contract.kind != core::Contract::same_bits || variant.backend == core::Backend::cuda)
    refuse("the variant '" + execution.variant + "'", "leave the variant out");
}

template void improve(const Problem<float>&, const KMeansOptions&, const Execution&, const MoveCalls<float>&,
                      MoveState&, KMeansResult<float>&, std::vector<Phase>&);
template void improve(const Problem<double>&, const KMeansOptions&, const Execution&, const MoveCalls<double>&,
                      MoveState&, KMeansResult<double>&, std::vector<Phase>&);

}  // namespace gradus::kmeans_detail
