#include "kmeans/quality/moves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/phases.hpp"
#include "core/philox.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "kmeans/lloyd/checkpoints.hpp"
#include "kmeans/points/unit_length.hpp"
#include "kmeans/quality/swaps.hpp"
#include "kmeans/sizes/limited_sizes.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Streams of random numbers below this one belong to the first centroids.
constexpr std::uint64_t first_stream = std::uint64_t{1} << 40;

/// Returns the least gain of transfers, as a share of the inertia, that pays for a fit. Swaps lower the inertia more
/// until they fail.
constexpr double least_transfer_gain(bool swaps_failed) { return swaps_failed ? 1e-4 : 1e-3; }

/// Thrown to end a fit that seems unable to reach its goal.
struct Hopeless {};

/// Observes the iterations of a fit. Their records have the explained inertia (Lloyd::explain()), which grows.
template <class T>
class Observer final : public Checkpoints<T> {
 public:
  explicit Observer(double goal) : goal_(goal) {}

  bool is_due(int) const override { return true; }
  int steps_to_make(int) const override { return 1; }
  /// Throws Hopeless if the explained inertia stays below the goal although it grows by several times the last growth:
  /// a fit whose steps shrink by a ninth grows by eight times as much in all further iterations.
  void write(const FitView<T>& fit) override {
    iteration_ = fit.history.size() - 1;
    explained_ = fit.history.back().inertia;
    if (iteration_ == 0) return;
    if (explained_ + 8 * (explained_ - fit.history[iteration_ - 1].inertia) < goal_) throw Hopeless();
  }

  /// Return the last iteration that was observed, and its explained inertia. 0 is none.
  std::size_t iteration() const { return iteration_; }
  double explained() const { return explained_; }

 private:
  double goal_;
  std::size_t iteration_ = 0;
  double explained_ = 0;
};

std::int64_t first_breadth(std::int64_t clusters) { return std::clamp<std::int64_t>(clusters / 8, 1, 16); }

/// The search for a better clustering.
template <class T>
class Search {
 public:
  Search(const Problem<T>& problem, const KMeansOptions& options, const Execution& execution, const MoveCalls<T>& calls,
         MoveState& state, KMeansResult<T>& best, std::vector<Phase>& phases)
      : problem_(problem), options_(options), execution_(execution), calls_(calls), state_(state), best_(best),
        phases_(phases), swaps_(problem, cpu::thread_count(execution)), closed_(static_cast<std::size_t>(problem.k())),
        searches_all_(searches_all_points(problem.source->rank_rows().all(), problem.d(), problem.k())) {
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
      if (!searches_all_) measure();
      if (!search()) {
        measure();
        const std::vector<Swap> swaps = choose();
        if (swaps.empty()) break;
        swap(swaps);
      }
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

  void measure() {
    if (is_measured_) return;
    const core::PhaseTimer timer(phases_, "measure");
    swaps_.measure(best_.centroids.view(), best_.labels.data());
    is_measured_ = true;
    stream_ = -1;
  }

  /// Makes a move by local search. Returns false if it is not its turn, or if no transfer among few points pays.
  bool search() {
    if (state_.transfers_failed || (!searches_all_ && state_.moves % 2 != 0 && !state_.swaps_failed)) return false;
    std::optional<Matrix<T>> centroids;
    {
      const core::PhaseTimer timer(phases_, "transfers");
      if (!search_) search_ = swaps_.search(best_.centroids.view(), best_.labels.data(), searches_all_, rows_);
      LocalSearch search = *search_;
      if (searches_all_) problem_.ranks().agree([&] { search.exchange(random(state_.moves), work_of_search()); });
      const double least = searches_all_ ? 2e-5 : least_transfer_gain(state_.swaps_failed);
      if (search.gain() > least * scaled(best_.inertia)) centroids = centroids_of(search);
    }
    if (!centroids && !searches_all_) return false;
    if (!centroids) ++state_.moves;
    if (!centroids || !try_centroids(std::as_const(*centroids).view())) state_.transfers_failed = true;
    return true;
  }

  /// Returns the number of distances that a search may measure after its first pass: half as many as an iteration
  /// without pruning, and some more because a fit of few points takes longer than its distances.
  std::int64_t work_of_search() const { return problem_.k() * problem_.source->rank_rows().all() / 2 + 8192; }

  Matrix<T> centroids_of(const LocalSearch& search) const {
    Matrix<T> centroids(problem_.k(), problem_.d());
    const Statistics& statistics = problem_.statistics;
    auto value = search.means().begin();
    for (std::int64_t cluster = 0; cluster < problem_.k(); ++cluster) {
      for (std::size_t column = 0; column < statistics.middle.size(); ++column)
        centroids.row(cluster)[column] =
            static_cast<T>(*value++ / statistics.coordinate_scale + statistics.middle[column]);
      if (problem_.metric == KMeansMetric::cosine) scale_to_unit_length(centroids.row(cluster), problem_.d());
    }
    return centroids;
  }

  std::vector<Swap> choose() {
    const core::PhaseTimer timer(phases_, "swaps");
    // While single swaps fail, only the number of closed clusters grows with the number of moves, so that the same
    // candidates are drawn again.
    const std::int64_t stream = state_.moves - std::ssize(state_.closed);
    if (stream != stream_) swaps_.draw(best_.centroids.view(), random(stream), state_.breadth);
    stream_ = stream;
    std::vector<Swap> swaps = swaps_.propose(closed_, state_.breadth);
    if (!swaps.empty() || state_.closed.empty()) return swaps;
    open_all();
    stream_ = state_.moves;
    swaps_.draw(best_.centroids.view(), random(stream_), state_.breadth);
    return swaps_.propose(closed_, state_.breadth);
  }

  /// Returns an inertia in the unit of Lloyd::explain().
  double scaled(double inertia) const {
    const double scale = problem_.statistics.coordinate_scale;
    const double halved = problem_.metric == KMeansMetric::cosine ? 2 : 1;
    return halved * inertia * scale * problem_.statistics.weight_scale * scale;
  }

  core::Philox random(std::int64_t stream) const {
    return core::Philox(options_.seed, first_stream + static_cast<std::uint64_t>(stream));
  }

  /// Fits from the centroids. Returns true if the inertia is smaller.
  bool try_centroids(MatrixView<const T> centroids) {
    ++state_.moves;
    const double goal = state_.total - scaled(best_.inertia);
    Observer<T> observer(state_.total == 0 ? -std::numeric_limits<double>::infinity() : goal);
    KMeansResult<T> result;
    try {
      result = calls_.fit(centroids, observer);
    } catch (const Hopeless&) {
      return false;
    } catch (...) {
      --state_.moves;
      throw;
    }
    if (state_.total == 0 && observer.iteration() > 0)
      state_.total = observer.explained() + scaled(result.history[observer.iteration()].inertia);
    if (!(result.inertia < best_.inertia)) return false;
    result.restart = best_.restart;
    best_ = std::move(result);
    is_measured_ = false;
    search_.reset();
    state_.transfers_failed = false;
    open_all();
    return true;
  }

  void swap(const std::vector<Swap>& swaps) {
    std::vector<std::int64_t> numbers;
    for (const Swap& swap : swaps) numbers.push_back(swap.row);
    const Matrix<T> rows = problem_.source->rows_at(numbers);
    Matrix<T> centroids = Matrix<T>::copy_of(std::as_const(best_.centroids).view());
    for (std::size_t swap = 0; swap < swaps.size(); ++swap)
      std::copy_n(rows.row(static_cast<std::int64_t>(swap)), problem_.d(), centroids.row(swaps[swap].removed));
    state_.swaps_failed = !try_centroids(std::as_const(centroids).view());
    if (searches_all_) state_.transfers_failed = false;  // swaps and searches that fail take turns
    if (!state_.swaps_failed) return;
    if (swaps.size() > 1) {
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
  bool searches_all_;
  LocalRows rows_;                     ///< the points of search_
  std::optional<LocalSearch> search_;  ///< from best_, after transfers
  std::int64_t stream_ = -1;           ///< random numbers with which candidates were drawn from best_; -1: none
  bool is_measured_ = false;           ///< true if swaps_ knows the prices of best_
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
