#include "kmeans/hierarchy/hierarchy.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "core/philox.hpp"
#include "core/stop.hpp"
#include "kmeans/hierarchy/some_rows.hpp"
#include "kmeans/seeding/initialize.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_dividing = "stopped while dividing the points into parts";

/// Returns true if the squared diagonal of a box is positive. Even places of `ends` have the greatest coordinate of
/// each column, odd ones the greatest negated coordinate.
bool is_extended(std::span<const double> ends) {
  double square = 0;
  for (std::size_t column = 0; column < ends.size(); column += 2)
    square += (ends[column] + ends[column + 1]) * (ends[column] + ends[column + 1]);
  return square > 0;
}

template <class T>
class Hierarchy {
 public:
  Hierarchy(const PointSource<T>& points, const KMeansOptions& options, int restart, const FitRows<T>& fit)
      : points_(points), options_(options), fit_(fit), random_(options.seed, static_cast<std::uint64_t>(restart)),
        parts_(static_cast<std::size_t>(part_count(options.clusters))), centroids_(parts_) {}

  Matrix<T> centroids(const std::function<void(std::int64_t)>& done) {
    divide();
    std::vector<std::int64_t> limits = rows_;
    std::vector<std::int64_t> shares = shares_of_parts(rows_, limits, options_.clusters);
    // A part with fewer different rows than its share lowers its limit. Then other parts get more and are fitted again.
    for (;;) {
      for (std::size_t part = 0; part < parts_; ++part) {
        if (centroids_[part].rows() == shares[part]) continue;
        centroids_[part] = fitted(part, shares[part]);
        if (centroids_[part].rows() < shares[part]) limits[part] = centroids_[part].rows();
        done(static_cast<std::int64_t>(part) + 1);
      }
      std::vector<std::int64_t> next = shares_of_parts(rows_, limits, options_.clusters);
      if (next == shares) return joined();
      shares = std::move(next);
    }
  }

 private:
  PointRows<T> source() const { return source_rows(points_.rows(), points_.stored()); }
  /// Returns this rank's weights. They are empty if the rank has no rows.
  VectorView<const T> weights() const {
    return points_.rows().rows() > 0 ? points_.host_weights() : VectorView<const T>{};
  }
  bool has_weight(std::int64_t row) const { return weights().empty() || weights()[row] > 0; }

  /// Divides the rows of positive weight into parts by a fit of all points.
  void divide() {
    KMeansOptions options{
        .clusters = static_cast<std::int64_t>(parts_), .max_iterations = coarse_iterations, .seed = random_.bits(0)};
    accept_fewer_different(options);
    const Buffer<std::int32_t> labels = fit_(source(), weights(), options, 0).labels;
    const std::vector<std::uint64_t> rows = points_.ranks().sum(parts_, [&](std::span<std::uint64_t> words) {
      list_rows(labels);
      for (std::size_t part = 0; part < parts_; ++part) words[part] = static_cast<std::uint64_t>(own_rows(part).size());
    });
    rows_.assign(rows.begin(), rows.end());
  }

  /// Lists this rank's rows, ordered by part, in ascending order.
  void list_rows(const Buffer<std::int32_t>& labels) {
    core::RarePoll look(points_.stop(), while_dividing);
    begin_.assign(parts_ + 1, 0);
    for (std::int64_t row = 0; row < labels.size(); ++row) {
      look.honour_stop();
      if (has_weight(row)) ++begin_[static_cast<std::size_t>(labels[row]) + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    order_ = Buffer<std::int64_t>(begin_.back());
    std::vector<std::int64_t> next = begin_;
    for (std::int64_t row = 0; row < labels.size(); ++row) {
      look.honour_stop();
      if (has_weight(row)) order_[next[static_cast<std::size_t>(labels[row])]++] = row;
    }
  }

  std::span<const std::int64_t> own_rows(std::size_t part) const {
    return std::span(order_.begin(), order_.end())
        .subspan(static_cast<std::size_t>(begin_[part]), static_cast<std::size_t>(begin_[part + 1] - begin_[part]));
  }

  /// Returns the centroids of a part that have points. There are at most `share` of them.
  Matrix<T> fitted(std::size_t part, std::int64_t share) {
    SomeRows<T> some;
    // If all squared distances are zero, one cluster suffices. The loop ends as soon as one is not.
    const std::int64_t columns = points_.rows().columns();
    const std::vector<double> ends =
        points_.ranks().greatest(static_cast<std::size_t>(2 * columns), [&](std::span<double> numbers) {
          some = some_rows(source(), weights(), own_rows(part), points_.threads(), points_.stop());
          core::RarePoll look(points_.stop(), while_dividing);
          for (std::int64_t row = 0; row < some.rows.rows() && (row == 0 || !is_extended(numbers)); ++row) {
            look.honour_stop();
            for (std::int64_t column = 0; column < columns; ++column) {
              const auto value = static_cast<double>(some.rows(row, column));
              double* const end = &numbers[static_cast<std::size_t>(2 * column)];
              end[0] = std::max(end[0], value + 0.0);
              end[1] = std::max(end[1], 0.0 - value);
            }
          }
        });
    KMeansOptions options{.clusters = is_extended(ends) ? share : 1,
                          .max_iterations = part_iterations,
                          .metric = options_.metric,
                          .seed = random_.bits(static_cast<std::uint64_t>(part) + 1)};
    accept_fewer_different(options);
    const std::uint64_t held = static_cast<std::uint64_t>(some.rows.rows() * columns) * sizeof(T) +
                               static_cast<std::uint64_t>(order_.size()) * sizeof(std::int64_t);
    KMeansResult<T> result = fit_(std::as_const(some.rows).view(), std::as_const(some.weights).view(), options, held);
    std::int64_t kept = 0;
    for (std::int64_t cluster = 0; cluster < options.clusters; ++cluster)
      if (result.counts[static_cast<std::size_t>(cluster)] > 0)
        std::copy_n(result.centroids.row(cluster), columns, result.centroids.row(kept++));
    return Matrix<T>::copy_of(std::as_const(result.centroids).view().slice(0, kept));
  }

  /// Returns the centroids of all parts, repeated until there are k.
  Matrix<T> joined() const {
    const std::int64_t columns = points_.rows().columns();
    Matrix<T> all(options_.clusters, columns);
    std::int64_t next = 0;
    for (const Matrix<T>& part : centroids_)
      for (std::int64_t row = 0; row < part.rows(); ++row) std::copy_n(part.row(row), columns, all.row(next++));
    for (std::int64_t row = 0; next < all.rows(); ++row) std::copy_n(all.row(row), columns, all.row(next++));
    return all;
  }

  const PointSource<T>& points_;
  const KMeansOptions& options_;
  const FitRows<T>& fit_;
  core::Philox random_;
  std::size_t parts_;
  std::vector<Matrix<T>> centroids_;  ///< of each part
  std::vector<std::int64_t> rows_;    ///< number of rows of each part, over all ranks
  std::vector<std::int64_t> begin_;   ///< first place of each part in order_
  Buffer<std::int64_t> order_;        ///< this rank's rows, ordered by part
};

}  // namespace

template <class T>
Matrix<T> hierarchical_centroids(const PointSource<T>& points, const KMeansOptions& options, int restart,
                                 const FitRows<T>& fit, const std::function<void(std::int64_t)>& done) {
  return Hierarchy<T>(points, options, restart, fit).centroids(done);
}

#define GRADUS_INSTANTIATE(T)                                                                                    \
  template Matrix<T> hierarchical_centroids(const PointSource<T>&, const KMeansOptions&, int, const FitRows<T>&, \
                                            const std::function<void(std::int64_t)>&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
