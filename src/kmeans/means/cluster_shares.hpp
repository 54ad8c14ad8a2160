// Distributes the computation of new centroids over the ranks. After the sums of an iteration are added up, all ranks
// have the same totals. Each rank then computes the means of a share of the clusters, and sends these means to the
// other ranks. If it takes longer to exchange means than to compute them, each rank computes all means.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "cpu/threads.hpp"
#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// Tests set it to force or forbid the sharing of the update.
inline std::optional<bool> update_is_shared;

/// Returns true if sharing the update saves time. All ranks pass the same arguments and therefore get the same answer.
/// `threads` is the largest number of threads of any rank.
inline bool pays_to_share(std::int64_t clusters, std::int64_t dimensions, std::size_t element_bytes, int ranks,
                          int threads) {
  if (update_is_shared) return *update_is_shared;
  // Times in nanoseconds. `of_column` is the time to compute one column of a mean and to complete its update
  // (measured). `of_byte` is the time to exchange a byte between ranks of one machine (derived from measured times of
  // sums). `of_step` is the time of a step of an exchange (assumed).
  constexpr double of_column = 10;
  constexpr double of_byte = 0.4;
  constexpr double of_step = 5000;
  const double columns = static_cast<double>(clusters) * static_cast<double>(dimensions);
  constexpr double most_bytes = 0x1p29;  // maximum size of a share, because communicators may count bytes with an int
  if (columns * static_cast<double>(element_bytes) / ranks > most_bytes) return false;
  const double saved = of_column * columns / threads * (1 - 1.0 / ranks);
  return saved > of_byte * columns * static_cast<double>(element_bytes) +
                     of_step * std::bit_width(static_cast<unsigned>(ranks));
}

/// Contiguous shares of the clusters. The shares have equal sizes, but the last shares may be smaller or empty.
class ClusterShares {
 public:
  ClusterShares(std::int64_t clusters, int ranks) : clusters_(clusters), largest_((clusters + ranks - 1) / ranks) {}

  std::int64_t largest() const { return largest_; }
  cpu::Range of(int rank) const {
    const std::int64_t begin = std::min(clusters_, rank * largest_);
    return {begin, std::min(clusters_, begin + largest_)};
  }

 private:
  std::int64_t clusters_;
  std::int64_t largest_;
};

/// The results of the update of each cluster.
template <class T>
struct UpdatedClusters {
  std::vector<double> explained;  ///< the cluster's term of the explained inertia (see Lloyd::explain())
  std::vector<double> moved;      ///< square of the distance by which the cluster's centroid moved

  /// For each cluster: the columns whose means the sums do not determine, in ascending order.
  std::vector<std::vector<std::int32_t>> doubtful;
  MatrixView<T> centroids;
};

/// The message format of a share: one array after another. Every array is as long as the largest share needs it.
template <class T>
class ShareMessage {
 public:
  ShareMessage(std::int64_t largest, std::int64_t dimensions)
      : largest_(static_cast<std::size_t>(largest)), d_(static_cast<std::size_t>(dimensions)) {}

  std::size_t bytes() const { return open_at() + largest_ * mask_bytes(); }

  void write(const UpdatedClusters<T>& from, cpu::Range clusters, std::byte* to) const {
    const auto first = static_cast<std::size_t>(clusters.begin);
    const auto count = static_cast<std::size_t>(clusters.size());
    std::memset(to, 0, bytes());
    if (count == 0) return;
    std::memcpy(to, from.explained.data() + first, count * sizeof(double));
    std::memcpy(to + moved_at(), from.moved.data() + first, count * sizeof(double));
    std::memcpy(to + means_at(), from.centroids.row(clusters.begin), count * d_ * sizeof(T));
    for (std::size_t index = 0; index < count; ++index)
      for (const std::int32_t dim : from.doubtful[first + index])
        to[open_at() + index * mask_bytes() + static_cast<std::size_t>(dim / 8)] |= std::byte{1} << (dim % 8);
  }

  void read(const std::byte* from, cpu::Range clusters, UpdatedClusters<T>& to) const {
    const auto first = static_cast<std::size_t>(clusters.begin);
    const auto count = static_cast<std::size_t>(clusters.size());
    if (count == 0) return;
    std::memcpy(to.explained.data() + first, from, count * sizeof(double));
    std::memcpy(to.moved.data() + first, from + moved_at(), count * sizeof(double));
    std::memcpy(to.centroids.row(clusters.begin), from + means_at(), count * d_ * sizeof(T));
    for (std::size_t index = 0; index < count; ++index) {
      std::vector<std::int32_t>& doubtful = to.doubtful[first + index];
      doubtful.clear();
      const std::byte* const mask = from + open_at() + index * mask_bytes();
      for (std::size_t dim = 0; dim < d_; ++dim) {
        if (dim % 8 == 0 && mask[dim / 8] == std::byte{0}) {
          dim += 7;
          continue;
        }
        if ((mask[dim / 8] >> (dim % 8) & std::byte{1}) != std::byte{0})
          doubtful.push_back(static_cast<std::int32_t>(dim));
      }
    }
  }

 private:
  std::size_t mask_bytes() const { return (d_ + 7) / 8; }
  std::size_t moved_at() const { return largest_ * sizeof(double); }
  std::size_t means_at() const { return 2 * moved_at(); }
  std::size_t open_at() const { return means_at() + largest_ * d_ * sizeof(T); }

  std::size_t largest_;
  std::size_t d_;
};

}  // namespace gradus::kmeans_detail
