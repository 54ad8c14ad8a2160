#include "kmeans/sizes/price_ascent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/stop.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr int most_rounds = 60;
constexpr int most_directions = 30;  ///< of the conjugate gradients in a round
constexpr std::int64_t block_rows = 1024;
constexpr std::size_t sampled_gaps = 4096;
constexpr std::size_t pairs_per_cluster = 16;
constexpr double points_within = 24;  ///< number of points that change their cluster within the returned widths

/// The two cheapest clusters of a point, and the difference of their sums of score and price. A cluster that is not in
/// the list of the point is `unlisted`.
struct Choice {
  static constexpr std::int32_t unlisted = -1;

  std::int32_t best = unlisted;
  std::int32_t second = unlisted;
  float gap = 0;
};

class PriceAscent {
 public:
  PriceAscent(const ListedPoints& points, int threads, std::span<const double> prices)
      : points_(points), threads_(threads), clusters_(prices.size()), prices_(clusters_), counts_(clusters_),
        choices_(points.rows.size()), excess_(clusters_), is_free_(clusters_), change_(clusters_), density_(clusters_) {
    std::ranges::transform(prices, prices_.begin(),
                           [&](double price) { return static_cast<float>(points.score_of(price)); });
    start_ = prices_;
  }

  /// Returns the number of points at wrong clusters, by the given prices.
  std::int64_t run(const std::stop_token& stop) {
    double damping = 0.1;
    double value = choose();
    measure_excess();
    const std::int64_t first = total_;
    connect_clusters();
    std::int64_t earlier = total_;
    for (int round = 1; round <= most_rounds && !pairs_.empty() && total_ > points_.least && !is_bounded(); ++round) {
      core::honour_stop(stop, "stopped while searching for prices of clusters");
      find_change(damping);
      const std::vector<float> before = prices_;
      move_prices();
      const double next = choose();
      if (next > value) {
        value = next;
        damping = std::max(damping / 4, 1e-4);
        measure_excess();
        connect_clusters();
      } else {
        prices_ = before;
        damping *= 8;
      }
      if (round % 8 != 0) continue;
      if (5 * total_ > 4 * earlier) break;
      earlier = total_;
    }
    return first;
  }

  bool has_moved() const { return prices_ != start_; }

  /// Returns true if more prices than one in 10 are at their bounds.
  bool is_bounded() const {
    std::int64_t bounded = 0;
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster)
      if (std::abs(prices_[cluster] - start_[cluster]) >= reach()) ++bounded;
    return 10 * bounded > static_cast<std::int64_t>(clusters_);
  }

  void report(std::span<double> prices, std::span<double> widths) const {
    const double mean = std::accumulate(density_.begin(), density_.end(), 0.0) / static_cast<double>(clusters_);
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
      prices[cluster] = points_.price_of(static_cast<double>(prices_[cluster]));
      const double density = std::max(density_[cluster], mean / 4);
      if (density > 0) widths[cluster] = points_.price_of(points_within / density);
    }
  }

 private:
  /// Finds the cheapest clusters of each point, and counts the points of each cluster. Returns the value of the dual.
  double choose() {
    std::ranges::copy(points_.settled, counts_.begin());
    const std::int64_t rows = std::ssize(choices_);
    const std::int64_t blocks = (rows + block_rows - 1) / block_rows;
    std::vector<double> sums(static_cast<std::size_t>(blocks));
#pragma omp parallel num_threads(threads_)
    {
      std::vector<std::int64_t> own(clusters_);
#pragma omp for schedule(static)
      for (std::int64_t block = 0; block < blocks; ++block) {
        double sum = 0;
        for (std::int64_t row = block * block_rows; row < std::min(rows, (block + 1) * block_rows); ++row) {
          const auto [choice, least] = choice_of(points_.rows[static_cast<std::size_t>(row)]);
          choices_[static_cast<std::size_t>(row)] = choice;
          if (choice.best != Choice::unlisted) ++own[static_cast<std::size_t>(choice.best)];
          sum += static_cast<double>(least);
        }
        sums[static_cast<std::size_t>(block)] = sum;
      }
#pragma omp critical(gradus_price_ascent)
      for (std::size_t cluster = 0; cluster < clusters_; ++cluster) counts_[cluster] += own[cluster];
    }
    double value = std::accumulate(sums.begin(), sums.end(), 0.0);
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
      const std::int64_t size = prices_[cluster] > 0 ? points_.sizes.most : points_.sizes.least;
      value += static_cast<double>(prices_[cluster]) * static_cast<double>(points_.settled[cluster] - size);
    }
    return value;
  }

  /// Returns the choice of a point, and its least sum. All clusters outside of the list count as one, whose sum is
  /// their lower bound.
  std::pair<Choice, float> choice_of(std::int64_t row) const {
    Choice choice;
    float least = points_.near.others[row];
    float next = NearCluster::no_score;
    for (const NearCluster& near : points_.near.of(row)) {
      if (near.score == NearCluster::no_score) break;
      const float sum = near.score + prices_[near.at()];
      if (sum < least) {
        next = std::exchange(least, sum);
        choice.second = std::exchange(choice.best, near.cluster);
      } else if (sum < next) {
        next = sum;
        choice.second = near.cluster;
      }
    }
    choice.gap = next - least;
    return {choice, least};
  }

  /// Computes by how much each size exceeds the size that belongs to the price.
  void measure_excess() {
    total_ = 0;
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
      const std::int64_t least = prices_[cluster] > 0 ? points_.sizes.most : points_.sizes.least;
      const std::int64_t most = prices_[cluster] < 0 ? points_.sizes.least : points_.sizes.most;
      const std::int64_t excess = counts_[cluster] - std::clamp(counts_[cluster], least, most);
      excess_[cluster] = static_cast<double>(excess);
      is_free_[cluster] = prices_[cluster] == 0 && excess == 0;
      total_ += std::abs(excess);
    }
  }

  /// Estimates from the points with the least gaps how many points change between two clusters for a difference of
  /// their prices. The number of these points grows with the number of points at wrong clusters.
  void connect_clusters() {
    pairs_.clear();
    std::ranges::fill(density_, 0.0);
    std::vector<float> gaps;
    const std::size_t step = std::max<std::size_t>(1, choices_.size() / sampled_gaps);
    for (std::size_t index = 0; index < choices_.size(); index += step)
      if (choices_[index].gap < NearCluster::no_score) gaps.push_back(choices_[index].gap);
    if (gaps.empty()) return;
    const double points = static_cast<double>(choices_.size());
    const double share = std::clamp(4 * static_cast<double>(total_) / points, 0.05, 0.6);
    const auto last = gaps.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(gaps.size() - 1));
    std::ranges::nth_element(gaps, last);
    const float window = std::max(*last, 0x1p-60F);
    const std::size_t skip =
        std::max<std::size_t>(1, static_cast<std::size_t>(share * points) / (pairs_per_cluster * clusters_));
    weight_ = static_cast<double>(skip) / static_cast<double>(window);
    std::size_t number = 0;
    for (const Choice& choice : choices_) {
      if (choice.gap >= window || number++ % skip != 0) continue;
      const auto best = static_cast<std::size_t>(choice.best);
      const auto second = static_cast<std::size_t>(choice.second);
      if (choice.best != Choice::unlisted) density_[best] += weight_;
      if (choice.second != Choice::unlisted) density_[second] += weight_;
      if (choice.best != Choice::unlisted && choice.second != Choice::unlisted) pairs_.emplace_back(best, second);
    }
  }

  double diagonal(std::size_t cluster, double damping) const {
    return density_[cluster] * (1 + damping) + weight_ * damping;
  }

  /// Multiplies by the damped Hessian, a graph Laplacian without the clusters whose prices stay zero.
  void multiply(const std::vector<double>& by, double damping, std::vector<double>& product) const {
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster)
      product[cluster] = diagonal(cluster, damping) * by[cluster];
    for (const auto& [a, b] : pairs_) {
      product[a] -= weight_ * by[b];
      product[b] -= weight_ * by[a];
    }
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster)
      if (is_free_[cluster]) product[cluster] = 0;
  }

  /// Solves for the changes of the prices by conjugate gradients. The diagonal is the preconditioner.
  void find_change(double damping) {
    std::vector<double> residual = excess_;
    std::vector<double> direction(clusters_, 0);
    std::vector<double> product(clusters_);
    std::ranges::fill(change_, 0.0);
    double first = 0;
    double before = 0;
    for (int number = 0; number < most_directions; ++number) {
      double now = 0;
      for (std::size_t cluster = 0; cluster < clusters_; ++cluster)
        now += residual[cluster] * residual[cluster] / diagonal(cluster, damping);
      if (number == 0) first = now;
      if (!(now > 0.01 * first)) return;
      for (std::size_t cluster = 0; cluster < clusters_; ++cluster)
        direction[cluster] =
            residual[cluster] / diagonal(cluster, damping) + (number == 0 ? 0 : now / before) * direction[cluster];
      multiply(direction, damping, product);
      const double length = now / std::inner_product(direction.begin(), direction.end(), product.begin(), 0.0);
      for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
        change_[cluster] += length * direction[cluster];
        residual[cluster] -= length * product[cluster];
      }
      before = now;
    }
  }

  /// Changes the prices. A price stops at zero, where the size that belongs to it changes, and at its bounds.
  void move_prices() {
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
      float& price = prices_[cluster];
      float to = price + static_cast<float>(change_[cluster]);
      if (price * to < 0) to = 0;
      price = std::clamp(to, start_[cluster] - reach(), start_[cluster] + reach());
    }
  }

  float reach() const { return static_cast<float>(points_.score_of(points_.reach)); }

  const ListedPoints& points_;
  int threads_;
  std::size_t clusters_;
  std::vector<float> prices_;  ///< in units of scores
  std::vector<float> start_;
  std::vector<std::int64_t> counts_;
  std::vector<Choice> choices_;
  std::vector<double> excess_;  ///< for each cluster: number of points too many
  std::int64_t total_ = 0;      ///< sum of their magnitudes
  std::vector<bool> is_free_;   ///< for each cluster: true if its price stays zero
  std::vector<double> change_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;  ///< clusters between which a point changes
  double weight_ = 0;                                       ///< points per price that a pair stands for
  std::vector<double> density_;                             ///< for each cluster: points per price
};

}  // namespace

Approach approach_prices(const ListedPoints& points, int threads, const std::stop_token& stop, std::span<double> prices,
                         std::span<double> widths) {
  PriceAscent ascent(points, threads, prices);
  const std::int64_t excess = ascent.run(stop);
  ascent.report(prices, widths);
  return {excess, ascent.has_moved(), ascent.is_bounded()};
}

}  // namespace gradus::kmeans_detail
