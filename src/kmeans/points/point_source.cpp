#include "kmeans/points/point_source.hpp"

#include <algorithm>
#include <limits>

namespace gradus::kmeans_detail {

template <class T>
core::ColumnRanges PointSource<T>::column_ranges() const {
  if (ranks().is_alone()) return own_column_ranges();
  const auto d = static_cast<std::size_t>(points_.columns());
  constexpr double unknown = std::numeric_limits<double>::infinity();
  const std::vector<double> found = ranks().greatest(3 * d, [&](std::span<double> numbers) {
    const core::ColumnRanges own = own_column_ranges();
    for (std::size_t column = 0; column < d; ++column) {
      numbers[column] = -own.lowest[column];
      numbers[d + column] = own.highest[column];
      numbers[2 * d + column] = own.finest.empty() ? unknown : -own.finest[column];
    }
  });
  core::ColumnRanges ranges;
  for (std::size_t column = 0; column < d; ++column) ranges.lowest.push_back(0.0 - found[column]);  // avoids -0
  ranges.highest.assign(found.begin() + static_cast<std::ptrdiff_t>(d),
                        found.begin() + static_cast<std::ptrdiff_t>(2 * d));
  if (std::ranges::find(found, unknown) != found.end()) return ranges;  // some rank did not compute its finest bits
  for (std::size_t column = 0; column < d; ++column) ranges.finest.push_back(static_cast<int>(-found[2 * d + column]));
  return ranges;
}

template class PointSource<float>;
template class PointSource<double>;

}  // namespace gradus::kmeans_detail
