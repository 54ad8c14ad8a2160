#include "cli/shortest_paths_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "cli/output.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"

namespace gradus::cli {

namespace {

/// Calls look(from, to, distance) for each pair of different vertices with a route.
template <class T, class Look>
void for_each_pair(MatrixView<const T> distances, const std::vector<std::int64_t>& sources, const std::stop_token& stop,
                   const Look& look) {
  constexpr T none =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  for (std::int64_t row = 0; row < distances.rows(); ++row) {
    core::honour_stop(stop, "stopped while the page was made");
    const std::int64_t from = sources.empty() ? row : sources[static_cast<std::size_t>(row)];
    for (std::int64_t to = 0; to < distances.columns(); ++to)
      if (from != to && distances(row, to) != none) look(from, to, distances(row, to));
  }
}

/// Splits the range from `least` to `most` into equal parts. If T is an integer type, each part contains at least one
/// integer.
template <class T>
class Parts {
 public:
  Parts(T least, T most) : least_(least), most_(most) {
    if constexpr (std::is_integral_v<T>) {
      const std::uint64_t range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
      width_ = range / most_parts + 1;
      count_ = static_cast<std::size_t>(range / width_) + 1;
    } else {
      count_ = least < most ? most_parts : 1;
    }
  }
  std::size_t count() const { return count_; }
  std::size_t of(T value) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<std::size_t>((static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(least_)) /
                                      width_);
    else return std::min(static_cast<std::size_t>(static_cast<double>(count_) * share(value)), count_ - 1);
  }
  std::string name(std::size_t part) const {
    if constexpr (std::is_integral_v<T>) {
      const T first = static_cast<T>(static_cast<std::uint64_t>(least_) + part * width_);
      const auto behind = static_cast<std::uint64_t>(most_) - static_cast<std::uint64_t>(first);
      const T last = static_cast<T>(static_cast<std::uint64_t>(first) + std::min(width_ - 1, behind));
      return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
    } else {
      const auto edge = [&](std::size_t at) {
        const double upper = static_cast<double>(at) / static_cast<double>(count_);
        return static_cast<double>(least_) * (1 - upper) + static_cast<double>(most_) * upper;
      };
      return fmt::format("{:.5g} to {:.5g}", edge(part), edge(part + 1));
    }
  }

 private:
  static constexpr std::size_t most_parts = 60;
  double share(T value) const {  // the bounds are halved first, so that their difference does not overflow
    const double range = static_cast<double>(most_) / 2 - static_cast<double>(least_) / 2;
    return range > 0 ? (static_cast<double>(value) / 2 - static_cast<double>(least_) / 2) / range : 0;
  }

  T least_;
  T most_;
  std::uint64_t width_ = 0;
  std::size_t count_ = 1;
};

}  // namespace

template <class T>
Chart distribution(MatrixView<const T> distances, const std::vector<std::int64_t>& sources,
                   const std::stop_token& stop) {
  std::int64_t pairs = 0;
  T least = std::numeric_limits<T>::max();
  T most = std::numeric_limits<T>::lowest();
  for_each_pair<T>(distances, sources, stop, [&](std::int64_t, std::int64_t, T distance) {
    ++pairs;
    least = std::min(least, distance);
    most = std::max(most, distance);
  });
  Chart chart{.kind = Chart::Kind::lines,
              .title = fmt::format("distances of {}", counted(pairs, "pair")),
              .places_name = "distance",
              .values_name = "pairs",
              .series = {{.name = "pairs"}}};
  if (pairs == 0) return chart;
  const Parts<T> parts(least, most);
  std::vector<std::int64_t> counts(parts.count());
  for_each_pair<T>(distances, sources, stop,
                   [&](std::int64_t, std::int64_t, T distance) { ++counts[parts.of(distance)]; });
  for (std::size_t part = 0; part < counts.size(); ++part) {
    chart.places.push_back(parts.name(part));
    chart.series.front().values.emplace_back(static_cast<double>(counts[part]));
  }
  return chart;
}

template <class T>
std::optional<std::pair<std::int64_t, std::int64_t>> farthest(MatrixView<const T> distances,
                                                              const std::vector<std::int64_t>& sources,
                                                              const std::stop_token& stop) {
  std::optional<std::pair<std::int64_t, std::int64_t>> ends;
  T longest{};
  for_each_pair<T>(distances, sources, stop, [&](std::int64_t from, std::int64_t to, T distance) {
    if (ends && !(distance > longest)) return;
    longest = distance;
    ends = {from, to};
  });
  return ends;
}

#define GRADUS_INSTANTIATE(T)                                                                                 \
  template Chart distribution(MatrixView<const T>, const std::vector<std::int64_t>&, const std::stop_token&); \
  template std::optional<std::pair<std::int64_t, std::int64_t>> farthest(                                     \
      MatrixView<const T>, const std::vector<std::int64_t>&, const std::stop_token&);
GRADUS_INSTANTIATE(std::int32_t)
GRADUS_INSTANTIATE(std::int64_t)
GRADUS_INSTANTIATE(float)
GRADUS_INSTANTIATE(double)
#undef GRADUS_INSTANTIATE

}  // namespace gradus::cli
