// limited_sizes: Lloyd's iteration with clusters of limited size. Every assignment is a transportation problem with n
// points and k clusters, solved to the exact minimum.
//
// 1. Prices. Each cluster has a price, and a point prefers the cluster with the least sum of distance and price. The
//    prices of one iteration are nearly right for the next. The first prices come from samples of the rows, each with
//    four times as many rows as the one before.
// 2. Filter (size_filter.cpp). A float product with a proven error bound finds the clusters that each point may belong
//    to if prices move by at most a certain reach. Most points have one such cluster. The others keep a list of scores,
//    so that other prices need no further product.
// 3. Ascent (price_ascent.cpp). Newton's method on these lists brings the prices near the solution.
// 4. Paths (transport.cpp). The other points move between clusters along shortest paths, in exact arithmetic, until all
//    sizes are within the limits. If prices must move out of reach, the search continues with wider intervals.
// 5. Certificate. The prices prove that the assignment is minimal. They are checked exactly in every assignment.
//
// Ties: among several minimal assignments, the lexicographically least one is chosen. It depends only on points,
// centroids and limits. So neither threads nor earlier prices affect the result, and checkpoints need no prices.
//
// Work per iteration: n k d multiply-adds in float and one read of the points, dozens of reads of the lists; then, for
// each point that must still move, a search over clusters that share open points.
// Source: L. Ford and D. Fulkerson, "Solving the transportation problem" (1956); J. Edmonds and R. Karp, "Theoretical
// improvements in algorithmic efficiency for network flow problems" (1972), for shortest paths with prices.
#include "kmeans/sizes/limited_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "kmeans/assign/simd_engine.hpp"
#include "kmeans/sizes/price_ascent.hpp"
#include "kmeans/sizes/size_filter.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Returns the largest number of candidates that are kept at a time, unless ties require more.
constexpr std::int64_t candidate_limit(std::int64_t points) { return std::max(2 * points, std::int64_t{1} << 18); }

/// Rounds up to 8 significant bits, so that the exact arithmetic gets no longer numbers than distances need.
double coarse(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::ceil(mantissa * 256), exponent - 8);
}

template <class T>
class LimitedSizesAssigner {
 public:
  using TakesAnyBlocks = void;

  LimitedSizesAssigner(const Problem<T>& problem, int threads)
      : problem_(problem), threads_(threads), filter_(problem, threads), prices_(static_cast<std::size_t>(problem.k())),
        settled_(prices_.size()), labels_(problem.n()) {
    double square = 0;
    for (std::size_t column = 0; column < problem.statistics.lowest.size(); ++column) {
      const double extent = problem.statistics.highest[column] - problem.statistics.lowest[column];
      square += extent * extent;
    }
    least_width_ = coarse(square * 0x1p-21);
    // Guesses; wrong ones take time, but change no result.
    widths_.assign(prices_.size(), coarse(square * 0x1p-7));
    margin_ = square * 0x1p-6;
    most_candidates_ = candidate_limit(problem.n());
  }

  /// Assigns all points.
  void prepare(MatrixView<const T> centroids) {
    filter_.prepare(centroids);
    if (assignments_++ < 2) {  // later prices are near
      std::int64_t stride = 1;
      while (problem_.n() / (4 * stride) >= 32 * problem_.k()) stride *= 4;
      for (; stride > 1; stride /= 4) assign_rows(stride);
    }
    assign_rows(1);
  }

  struct Scratch {
    explicit Scratch(const LimitedSizesAssigner& /*assigner*/) {}
  };

  std::int64_t assign(BlockRows<T>& block, const std::int32_t* /*before*/, std::int32_t* labels, Scratch& /*scratch*/) {
    std::copy_n(labels_.data() + block.range().begin, block.size(), labels);
    const auto first = std::ranges::lower_bound(open_.points, block.range().begin);
    return std::lower_bound(first, open_.points.end(), block.range().end) - first;
  }

  static std::uint64_t bytes(const Shape& shape, int threads) {
    const double pairs = std::min(static_cast<double>(candidate_limit(shape.points)),
                                  static_cast<double>(shape.points) * static_cast<double>(shape.clusters));
    return 24 * static_cast<std::uint64_t>(shape.points) + 90 * static_cast<std::uint64_t>(pairs) +
           SizeFilter<T>::bytes(shape, threads);
  }

 private:
  /// Assigns every `stride`-th row, within limits in proportion to the number of rows.
  void assign_rows(std::int64_t stride) {
    const auto upper = [&](std::int64_t number) { return (number + stride - 1) / stride; };
    const std::int64_t rows = upper(problem_.n());
    const SizeLimits share{problem_.sizes.least / stride, std::min(upper(problem_.sizes.most), rows)};
    const std::vector<double> start = prices_;
    if (filter_.has_lists()) approach(share, stride, rows);
    for (int searches = 1;; ++searches) {
      bool is_least = true;
      for (double& width : widths_) {
        width = std::max(coarse(width), least_width_);
        is_least &= width == least_width_;
      }
      const std::int64_t most = is_least ? std::numeric_limits<std::int64_t>::max() : most_candidates_;
      if (!filter_.search(prices_, widths_, stride, most, labels_.data(), open_, settled_)) {
        for (double& width : widths_) width /= 4;
        foresight_ = std::max(foresight_ / 2, 0.25);
        continue;
      }
      if (is_least) most_candidates_ = std::max(most_candidates_, 2 * std::ssize(open_.clusters));
      TransportSolution solution = solve({open_, settled_, share, prices_, widths_}, problem_.stop);
      prices_ = std::move(solution.prices);
      const double growth = filter_.has_lists() ? 2 : 1;  // with lists, wider intervals cost little
      for (std::size_t cluster = 0; cluster < widths_.size(); ++cluster) {
        const double change = std::abs(solution.changes[cluster]);
        widths_[cluster] =
            solution.at_limit[cluster] ? 6 * widths_[cluster] : growth * std::max(change, 0.75 * widths_[cluster]);
      }
      if (!solution.labels) continue;
      for (std::size_t point = 0; point < open_.points.size(); ++point)
        labels_[open_.points[point]] = (*solution.labels)[point];
      foresee(start, stride, searches);
      return;
    }
  }

  /// Guesses by how much prices will change in the next assignment, from their changes in this one.
  void foresee(std::span<const double> start, std::int64_t stride, int searches) {
    const auto clusters = static_cast<double>(start.size());
    double sum = 0;
    double squares = 0;
    double width = 0;
    for (std::size_t cluster = 0; cluster < start.size(); ++cluster) {
      const double change = std::abs(prices_[cluster] - start[cluster]);
      sum += change;
      squares += change * change;
      width += widths_[cluster];
    }
    margin_ = std::max((stride > 1 ? 1 : 4) * std::sqrt(squares / clusters), 4 * width / clusters);
    // Wide intervals save searches, and narrow ones candidates.
    const bool has_many = 4 * std::ssize(open_.clusters) > problem_.n();
    foresight_ = std::clamp(foresight_ * (searches == 1 || has_many ? 0.8 : 1.5), 0.25, 16.0);
    for (std::size_t cluster = 0; cluster < start.size(); ++cluster)
      widths_[cluster] =
          (std::abs(prices_[cluster] - start[cluster]) + sum / clusters / 2) * (stride > 1 ? 0.25 : foresight_);
  }

  /// Brings the prices near the solution. New prices count only if new lists confirm that they are hardly worse.
  void approach(SizeLimits share, std::int64_t stride, std::int64_t rows) {
    double least = std::numeric_limits<double>::infinity();  // number of points at wrong clusters
    std::vector<double> prices = prices_;
    std::vector<double> widths = widths_;
    for (int turn = 0; turn < most_turns; ++turn) {
      margin_ = std::max(coarse(margin_), least_width_);
      const std::vector<double> margins(prices.size(), margin_);
      const std::vector<std::int64_t> listed = filter_.list(prices, margins, stride, labels_.data(), settled_);
      const ListedPoints points{filter_.near(), listed,     settled_, share, problem_.statistics.coordinate_scale,
                                margin_,        rows / 2000};
      const std::vector<double> before = prices;
      const Approach done = approach_prices(points, threads_, problem_.stop, prices, widths);
      const auto excess = static_cast<double>(done.excess);
      if (excess > 1.25 * least) {  // the prices went too far
        prices = prices_;
        margin_ /= 4;
        continue;
      }
      least = std::min(least, excess);
      prices_ = before;
      widths_ = widths;
      if (!done.has_moved) return;
      if (done.is_bounded) margin_ *= 2;
    }
  }

  static constexpr int most_turns = 12;

  const Problem<T>& problem_;
  int threads_;
  SizeFilter<T> filter_;
  std::vector<double> prices_;
  std::vector<double> widths_;  ///< by how much prices will probably change in the next search
  std::vector<std::int64_t> settled_;
  Buffer<std::int32_t> labels_;
  OpenPoints open_;
  double least_width_ = 0;
  std::int64_t most_candidates_;  ///< more are kept only if the narrowest intervals have more
  double margin_ = 0;             ///< by how much prices change at most in an ascent
  double foresight_ = 0.5;  ///< widths of the next assignment's intervals, relative to the price changes of this one
  int assignments_ = 0;
};

template <class T>
KMeansResult<T> limited_sizes(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  LimitedSizesAssigner<T> assigner(problem, threads);
  SimdEngine<T, LimitedSizesAssigner<T>> engine(problem, threads, assigner);
  return lloyd(problem, execution, engine, phases);
}

core::Support at_most_many(const Shape& shape, const execution::Machine& /*machine*/) {
  return at_most(std::numeric_limits<std::int32_t>::max(), "points", shape.points);
}

struct NamedOption {
  ErrorMessage message;
  std::string argument;
  std::string value;
};

/// Returns a limit that the caller has set, for messages.
NamedOption named_limit(const KMeansOptions& options) {
  if (options.size_min > 0)
    return {option("KMeansOptions::size_min", options.size_min), "size_min", std::to_string(options.size_min)};
  if (options.size_max > 0)
    return {option("KMeansOptions::size_max", options.size_max), "size_max", std::to_string(options.size_max)};
  return {flag("KMeansOptions::balanced"), "balanced", "true"};
}

}  // namespace

bool has_size_limits(const KMeansOptions& options) {
  return options.size_min > 0 || options.size_max > 0 || options.balanced;
}

SizeLimits size_limits(const KMeansOptions& options, std::int64_t points) {
  const std::int64_t k = options.clusters;
  if (options.balanced) {
    // floor(9 n / (10 k)) and ceil(11 n / (10 k)); n is at most 2^36, and k fits in 31 bits.
    return {9 * points / (10 * k), (11 * points + 10 * k - 1) / (10 * k)};
  }
  SizeLimits sizes{options.size_min, options.size_max > 0 ? std::min(options.size_max, points) : points};
  const std::string shape =
      std::to_string(points) + " points in " + std::to_string(k) + (k == 1 ? " cluster" : " clusters");
  if (options.size_min > points / k)
    throw UsageError(option("KMeansOptions::size_min", options.size_min) +
                         ": there are too few points for clusters of this size (" + shape + ")",
                     {.argument = "size_min",
                      .value = std::to_string(options.size_min),
                      .allowed = "at most " + std::to_string(points / k),
                      .remedy = "lower the limit, or ask for fewer clusters"});
  if (const std::int64_t least = (points + k - 1) / k; sizes.most < least)
    throw UsageError(option("KMeansOptions::size_max", options.size_max) +
                         ": the clusters have no room for all points (" + shape + ")",
                     {.argument = "size_max",
                      .value = std::to_string(options.size_max),
                      .allowed = "at least " + std::to_string(least),
                      .remedy = "raise the limit, or ask for more clusters"});
  return sizes;
}

void check_size_limits(const KMeansOptions& options, bool weighted, const Execution& execution) {
  if (!has_size_limits(options)) return;
  const NamedOption limit = named_limit(options);
  if (options.balanced && (options.size_min > 0 || options.size_max > 0))
    throw UsageError(
        limit.message + ": " + flag("KMeansOptions::balanced") + " sets both limits; leave one of them out",
        {.argument = limit.argument, .value = limit.value});
  if (options.size_max > 0 && options.size_min > options.size_max)
    throw UsageError(
        limit.message + ": it exceeds " + option("KMeansOptions::size_max", options.size_max),
        {.argument = limit.argument, .value = limit.value, .allowed = "at most " + std::to_string(options.size_max)});
  const auto refuse = [&](const ErrorMessage& what, const char* remedy) {
    throw UnsupportedError(limit.message + ": limits of size do not support " + what,
                           {.argument = limit.argument, .value = limit.value, .remedy = remedy});
  };
  if (weighted) refuse("weights, because they count points", "leave the weights out");
  if (execution.communicator != nullptr) refuse("several ranks", "run the fit in one process");
  if (!execution.variant.empty()) refuse("a choice of the variant", "leave the variant out");
  if (execution.device == Device::gpu || !execution.gpus.empty()) refuse("GPUs", "run the fit on the CPU");
}

extern constinit const Variant limited_sizes_rung{
    .name = "limited_sizes",
    .summary = "exact assignments to clusters of limited size: prices, a float filter and shortest paths; exact sums",
    .contract = exact,
    .backend = core::Backend::simd,
    .supports = at_most_many,
    .memory = simd_memory<LimitedSizesAssigner>,
    .run = {limited_sizes<float>, limited_sizes<double>},
};

}  // namespace gradus::kmeans_detail
