#include "kmeans/quality/transfers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/stop.hpp"
#include "kmeans/assign/distance.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::int64_t most_passes = 8;
constexpr double far = 1.02;  ///< a point whose cost grows by more than this share is not examined again
constexpr std::size_t most_choices = 5;
constexpr std::int64_t points_at_once = 64;

/// The cluster of a point, and then the nearest other clusters. Unused places repeat the first one.
using Choices = std::array<std::int32_t, most_choices>;

/// Returns the choices of all points.
template <class T>
std::vector<Choices> choices_of(const TransferPoints<T>& points, MatrixView<const T> centroids,
                                std::span<const std::int32_t> neighbours, std::int64_t neighbour_count,
                                core::RarePoll& poll) {
  const std::int64_t count = points.rows.rows();
  std::vector<Choices> choices(static_cast<std::size_t>(count));
  std::vector<std::int64_t> order(choices.size());
  std::iota(order.begin(), order.end(), 0);
  const auto label = [&](std::int64_t point) { return points.labels[static_cast<std::size_t>(point)]; };
  std::ranges::stable_sort(order, std::less{}, label);
  std::vector<double> squared(static_cast<std::size_t>(points_at_once * neighbour_count));
  std::vector<const T*> others(static_cast<std::size_t>(neighbour_count));
  std::vector<std::pair<double, std::int32_t>> found(others.size());
  for (std::int64_t first = 0; first < count;) {
    const std::int32_t cluster = label(order[static_cast<std::size_t>(first)]);
    const T* rows[points_at_once];
    std::int64_t some = 0;
    for (; some < points_at_once && first + some < count; ++some) {
      const std::int64_t point = order[static_cast<std::size_t>(first + some)];
      if (label(point) != cluster) break;
      rows[some] = points.rows.row(point);
    }
    const auto near = neighbours.subspan(static_cast<std::size_t>(cluster * neighbour_count), others.size());
    std::ranges::transform(near, others.begin(), [&](std::int32_t other) { return centroids.row(other); });
    squared_distances<T>(rows, some, others.data(), neighbour_count, centroids.columns(), squared.data());
    for (std::int64_t index = 0; index < some; ++index) {
      for (std::size_t place = 0; place < near.size(); ++place)
        found[place] = {squared[place * static_cast<std::size_t>(some) + static_cast<std::size_t>(index)], near[place]};
      const std::size_t kept = std::min(found.size(), most_choices - 1);
      std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(kept));
      Choices& own = choices[static_cast<std::size_t>(order[static_cast<std::size_t>(first + index)])];
      own.fill(cluster);
      for (std::size_t place = 0; place < kept; ++place) own[1 + place] = found[place].second;
    }
    poll.honour_stop();
    first += some;
  }
  return choices;
}

/// Moves a mean by `share` of its distance to a point.
template <class T>
void move_mean(const T* point, double share, std::int64_t dimensions, double* mean, T* rounded) {
  for (std::int64_t dim = 0; dim < dimensions; ++dim) {
    mean[dim] += share * (static_cast<double>(point[dim]) - mean[dim]);
    rounded[dim] = static_cast<T>(mean[dim]);
  }
}

}  // namespace

template <class T>
Transferred<T> transfer(const TransferPoints<T>& points, MatrixView<const T> centroids, std::vector<double> masses,
                        std::span<const std::int32_t> neighbours, std::int64_t neighbour_count,
                        const std::stop_token& stop) {
  const std::int64_t d = centroids.columns();
  core::RarePoll poll(stop, "stopped while improving the clustering");
  std::vector<Choices> choices = choices_of(points, centroids, neighbours, neighbour_count, poll);
  Transferred<T> result{Matrix<T>::copy_of(centroids)};
  std::vector<double> means(result.centroids.data(), result.centroids.data() + centroids.rows() * d);
  std::vector<bool> is_near(choices.size(), true);  // false for points that would cost far more elsewhere
  double gain_before = 0;
  for (std::int64_t pass = 0; pass < most_passes; ++pass) {
    for (std::size_t point = 0; point < choices.size(); ++point, poll.honour_stop()) {
      Choices& own = choices[point];
      const double weight = points.weights[point];
      const auto mass = [&](std::size_t place) -> double& { return masses[static_cast<std::size_t>(own[place])]; };
      if (!is_near[point] || !(mass(0) > 1.5 * weight)) continue;  // in the second case, a cluster would become empty
      std::array<const T*, most_choices> rows;
      rows.fill(points.rows.row(static_cast<std::int64_t>(point)));
      std::array<const T*, most_choices> others;
      for (std::size_t place = 0; place < most_choices; ++place) others[place] = result.centroids.row(own[place]);
      std::array<double, most_choices> squared;
      squared_distances_of_pairs<T>(rows.data(), others.data(), most_choices, d, squared.data());
      const double leaves = squared[0] * (mass(0) / (mass(0) - weight));
      std::size_t to = 0;
      double joins = leaves * (1 - 0x1p-20);  // a smaller gain may be a rounding error
      double least = leaves * far;
      for (std::size_t place = 1; place < most_choices; ++place) {
        const double cost = squared[place] * (mass(place) / (mass(place) + weight));
        if (own[place] == own[0]) continue;
        least = std::min(least, cost);
        if (!(cost < joins)) continue;
        joins = cost;
        to = place;
      }
      is_near[point] = least < leaves * far;
      if (to == 0) continue;
      result.gain += weight * (leaves - joins);
      const auto move = [&](std::size_t place, double share) {
        move_mean(rows[0], share, d, means.data() + own[place] * d, result.centroids.row(own[place]));
      };
      move(0, -weight / (mass(0) - weight));
      move(to, weight / (mass(to) + weight));
      mass(0) -= weight;
      mass(to) += weight;
      std::swap(own[0], own[to]);
    }
    if (!(result.gain > 1.02 * gain_before)) break;
    gain_before = result.gain;
  }
  return result;
}

template Transferred<float> transfer(const TransferPoints<float>&, MatrixView<const float>, std::vector<double>,
                                     std::span<const std::int32_t>, std::int64_t, const std::stop_token&);
template Transferred<double> transfer(const TransferPoints<double>&, MatrixView<const double>, std::vector<double>,
                                      std::span<const std::int32_t>, std::int64_t, const std::stop_token&);

}  // namespace gradus::kmeans_detail
