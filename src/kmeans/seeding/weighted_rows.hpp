// Draws rows with probabilities proportional to their weights. Used for the first row of k-means++ and k-means||, and
// for all rows of KMeansInit::random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/philox.hpp"
#include "core/stop.hpp"
#include "gradus/array.hpp"
#include "gradus/error.hpp"
#include "kmeans/means/row_sums.hpp"
#include "kmeans/seeding/known_rows.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::string_view while_choosing = "stopped while choosing the first centroids";

template <class T>
class WeightedRows {
 public:
  WeightedRows(VectorView<const T> weights, const core::RankRows& rows, const std::stop_token& stop)
      : weights_(weights), rows_(rows), stop_(stop), sums_(weights.size()),
        drawn_(static_cast<std::size_t>(weights.size())) {
    rescale();
  }

  /// Returns true if all rows with positive weight have been drawn.
  bool is_exhausted() {
    if (total() == 0) rescale();  // if a weight is far below the largest weight, it may have been rounded to zero
    return total() == 0;
  }

  std::int64_t draw(const core::Philox& random, std::uint64_t index) {
    if (is_exhausted())
      throw InputError(about("weights") + "fewer rows have weight than there are clusters",
                       {.code = error_code::too_few_points});
    const std::uint64_t target = random.below(index, total());
    const RankTotals::Place place = totals_.find(target);
    const std::vector<std::uint64_t> drawn = rows_.ranks().sum(2, [&](std::span<std::uint64_t> words) {
      if (place.rank != rows_.ranks().rank()) return;
      const Drawn own = take(place.target);
      words[0] = static_cast<std::uint64_t>(rows_.first() + own.row);
      words[1] = own.integer;
    });
    totals_.take(place.rank, drawn[1]);
    return static_cast<std::int64_t>(drawn[0]);
  }

 private:
  struct Drawn {
    std::int64_t row;
    std::uint64_t integer;
  };

  /// Draws the first row at which the prefix sum over this rank's rows exceeds `target`.
  Drawn take(std::uint64_t target) {
    const std::int64_t row = sums_.row_at(target, [this](std::int64_t each) { return integer_of(each); });
    const std::uint64_t integer = integer_of(row);
    sums_.take(row, integer);
    drawn_[static_cast<std::size_t>(row)] = true;
    return {row, integer};
  }

  std::uint64_t total() const { return totals_.total(); }
  double left(std::int64_t row) const {
    return drawn_[static_cast<std::size_t>(row)] ? 0.0 : static_cast<double>(weights_[row]) * unit_;
  }
  std::uint64_t integer_of(std::int64_t row) const { return quantize_(left(row)); }

  void rescale() {
    const auto find_largest = [&] {
      double largest = 0;
      for (std::int64_t row = 0; row < weights_.size(); ++row) {
        if (row % core::operations_between_polls == 0) core::honour_stop(stop_, while_choosing);
        largest = std::max(largest, left(row));
      }
      return largest;
    };
    const auto add_up = [&] {
      for (std::int64_t row = 0; row < weights_.size(); row += RowSums::block_rows) sums_.block_of(row) = 0;
      for (std::int64_t row = 0; row < weights_.size(); ++row) {
        if (row % core::operations_between_polls == 0) core::honour_stop(stop_, while_choosing);
        sums_.block_of(row) += integer_of(row);
      }
      sums_.refresh();
      return sums_.total();
    };
    unit_ = 1;
    const double largest = rows_.ranks().greatest(find_largest);
    if (largest <= tiny_weight) unit_ = weight_unit(largest);
    quantize_ = Quantizer(largest * unit_, rows_.all());
    totals_ = RankTotals(rows_.ranks().gather(add_up));
  }

  VectorView<const T> weights_;
  const core::RankRows& rows_;
  const std::stop_token& stop_;
  RowSums sums_;
  RankTotals totals_;
  std::vector<bool> drawn_;
  double unit_ = 1;  ///< a power of two, so that the quantizer does not round very small weights to zero
  Quantizer quantize_;
};

}  // namespace gradus::kmeans_detail
