// simd_brute_force: processes as many pairs at once as a vector of doubles has lanes.
//
// What changes from `openmp_privatized`:
// * The points are copied into columns (structure of arrays), so that one load fetches the same coordinate of
//   neighbouring points. The loop over second points becomes the vector loop: it subtracts, multiplies, adds, takes the
//   square root, divides and truncates for 2, 4 or 8 pairs at once. Each operation rounds as the canonical rule says,
//   and no operations are fused, so no pair needs a second check.
// * Counting is not vectorised, because two lanes may hold the same bin, and the second increment must see the first.
//   The bins of a row of pairs are written to a small buffer. They are then counted one by one, into four copies of the
//   counters in turn. With a single copy, an increment would wait for the store of the previous increment to the same
//   counter.
// * Tiles. Work is distributed as pairs of tiles of 1024 points, which stay in the L1 cache. If pairs are counted among
//   one set of points, only the tile pairs on and above the diagonal are needed. A thread that has finished its share
//   steals from others.
//
// Work per pair: 3 d - 1 additions and multiplications, a square root and a division, each done for `lanes` pairs at
// once, and one increment. The square root and the division dominate the time, and simd_filter avoids them. With
// explicit edges, a binary search of the thresholds replaces both.
// Memory: 8 d bytes per point.
// Limits: none.
// Source: tiling and privatised output as in N. Pitaksirianan, Z. Nouri, Y.-C. Tu, "Algorithms and framework for
// computing 2-body statistics on GPUs" (2019), applied to vector units.
#include "pair_histogram/simd/simd_pairs.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pair_histogram/rungs/simd_brute_force.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#ifndef GRADUS_PAIR_HISTOGRAM_SIMD_BRUTE_FORCE
#define GRADUS_PAIR_HISTOGRAM_SIMD_BRUTE_FORCE
namespace gradus::pair_histogram_detail {

// A first point and a range of second points. The struct is plain data, because it is passed to code for other
// instruction sets.
struct PlainRow {
  const double* const* second;  // columns
  double first[dimension_limit];
  double box[dimension_limit];
  const Cell* cell;
  Space space;
  int dimensions;
  std::int64_t begin;
  std::int64_t end;
  double width;   // width of the bins; if 0, `found` receives squared distances
  double* found;  // output: squared distances, if `width` is 0
  double beyond;  // one past the last bin
  std::int32_t* bins;
};

constexpr std::int64_t plain_block = 512;

}  // namespace gradus::pair_histogram_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::pair_histogram_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<Doubles>;

// Returns the squared distances in a triclinic cell, as Cell::squared_distance() does.
HWY_INLINE DoubleVector squared_in_cell(const PlainRow& row, const DoubleVector (&first)[dimension_limit],
                                        std::int64_t place) {
  const Doubles d;
  const auto number = [&](double value) { return hn::Set(d, value); };
  const auto& vectors = row.cell->vectors;
  const DoubleVector apart[3] = {first[0] - hn::LoadU(d, row.second[0] + place),
                                 first[1] - hn::LoadU(d, row.second[1] + place),
                                 first[2] - hn::LoadU(d, row.second[2] + place)};
  const auto whole = [&](const double(&share)[3]) {
    return hn::Round((apart[0] * number(share[0]) + apart[1] * number(share[1])) + apart[2] * number(share[2]));
  };
  const DoubleVector images[3] = {whole(row.cell->reciprocal[0]), whole(row.cell->reciprocal[1]),
                                  whole(row.cell->reciprocal[2])};
  const auto nearest = [&](int axis) {
    return ((apart[axis] - images[0] * number(vectors[0][axis])) - images[1] * number(vectors[1][axis])) -
           images[2] * number(vectors[2][axis]);
  };
  const auto x = nearest(0);
  const auto y = nearest(1);
  const auto z = nearest(2);
  return (x * x + y * y) + z * z;
}

template <int D, Space space>
HWY_INLINE DoubleVector squared_distances(const PlainRow& row, const DoubleVector (&first)[dimension_limit],
                                          std::int64_t place) {
  if constexpr (space == Space::cell) return squared_in_cell(row, first, place);
  const Doubles d;
  auto square = hn::Zero(d);
#pragma GCC unroll 3
  for (int dim = 0; dim < D; ++dim) {
    auto apart = hn::Abs(first[dim] - hn::LoadU(d, row.second[dim] + place));
    if constexpr (space == Space::box) apart = hn::Min(apart, hn::Set(d, row.box[dim]) - apart);
    square = square + apart * apart;  // two roundings, as the canonical rule says
  }
  return square;
}

// Computes the bins if `row.width` is positive, otherwise the squared distances.
template <int D, Space space>
void plain_kernel(const PlainRow& row) {
  const Doubles d;
  const hn::Rebind<std::int32_t, Doubles> narrow;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  DoubleVector first[dimension_limit];
  for (int dim = 0; dim < dimension_limit; ++dim) first[dim] = hn::Set(d, row.first[dim < D ? dim : 0]);
  const std::int64_t count = row.end - row.begin;
  if (row.width > 0) {
    const auto divisor = hn::Set(d, row.width);
    const auto beyond = hn::Set(d, row.beyond);
    for (std::int64_t index = 0; index < count; index += width) {
      const auto square = squared_distances<D, space>(row, first, row.begin + index);
      hn::StoreU(hn::DemoteTo(narrow, hn::Min(hn::Sqrt(square) / divisor, beyond)), narrow, row.bins + index);
    }
  } else {
    for (std::int64_t index = 0; index < count; index += width)
      hn::StoreU(squared_distances<D, space>(row, first, row.begin + index), d, row.found + index);
  }
}

void count_plain_row(const PlainRow& row) {
  if (row.space == Space::cell) return plain_kernel<3, Space::cell>(row);
  if (row.space == Space::box) switch (row.dimensions) {
      case 1: return plain_kernel<1, Space::box>(row);
      case 2: return plain_kernel<2, Space::box>(row);
      default: return plain_kernel<3, Space::box>(row);
    }
  switch (row.dimensions) {
    case 1: return plain_kernel<1, Space::open>(row);
    case 2: return plain_kernel<2, Space::open>(row);
    default: return plain_kernel<3, Space::open>(row);
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::pair_histogram_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <memory>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tile_pairs.hpp"

namespace gradus::pair_histogram_detail {

HWY_EXPORT(count_plain_row);

namespace {

constexpr std::int64_t tile_points = 1024;
// The number of copies of the counters. With several copies, consecutive increments of one bin do not wait for each
// other.
constexpr std::int64_t copies = 4;

template <class T>
struct PlainColumns {
  Buffer<double> columns;
  const double* pointers[dimension_limit] = {};

  PlainColumns() = default;
  PlainColumns(MatrixView<const T> points, const std::stop_token& stop)
      : columns(padded(points.rows()) * points.columns()) {
    for (std::int64_t dim = 0; dim < points.columns(); ++dim) {
      double* column = columns.data() + dim * padded(points.rows());
      pointers[dim] = column;
      for (std::int64_t row = 0; row < points.rows(); ++row) {
        if (row % core::operations_between_polls == 0) core::honour_stop(stop, while_sorting);
        column[row] = static_cast<double>(points(row, dim));
      }
      std::fill(column + points.rows(), column + padded(points.rows()), 0.0);
    }
  }
};

template <class T>
class PlainCounters {
 public:
  explicit PlainCounters(const Problem<T>& problem)
      : problem_(problem), slots_(problem.bins.slots()), counts_(static_cast<std::size_t>(slots_ * copies)),
        words_(problem.sum_words()), sums_(static_cast<std::size_t>(slots_ * words_)) {
    // If the cutoff is inside a bin, or there are too many bins for 32-bit numbers, the thresholds decide the bins.
    const auto bins = static_cast<double>(problem.bins.count());
    whole_ = problem.bins.width() > 0 && problem.bins.reach() / problem.bins.width() >= bins && bins < 0x1p30;
  }

  void count(const TilePair& tiles, const PlainColumns<T>& first, const PlainColumns<T>& second) {
    PlainRow row{};
    row.second = second.pointers;
    row.space = problem_.space();
    row.cell = &problem_.cell;
    row.dimensions = static_cast<int>(problem_.d());
    for (std::int64_t dim = 0; dim < problem_.d(); ++dim) row.box[dim] = problem_.box[static_cast<std::size_t>(dim)];
    row.width = whole_ ? problem_.bins.width() : 0;
    row.beyond = static_cast<double>(problem_.bins.count());
    row.found = found_;
    row.bins = bins_;
    for (std::int64_t point = tiles.first.begin; point < tiles.first.end; ++point) {
      for (std::int64_t dim = 0; dim < problem_.d(); ++dim) row.first[dim] = first.pointers[dim][point];
      const std::int64_t from = problem_.cross ? tiles.second.begin : std::max(tiles.second.begin, point + 1);
      for (row.begin = from; row.begin < tiles.second.end; row.begin = row.end) {
        row.end = std::min(tiles.second.end, row.begin + plain_block);
        HWY_DYNAMIC_DISPATCH(count_plain_row)(row);
        add(row, point);
      }
    }
  }

  void add_to(Histogram& histogram) const {
    const std::int64_t stretch = core::chunk_length(slots_, copies + words_);
    for (std::int64_t slot = 0; slot < slots_; ++slot) {
      if (slot % stretch == 0) core::honour_stop(problem_.stop, while_adding_up);
      for (std::int64_t copy = 0; copy < copies; ++copy)
        histogram.counts[static_cast<std::size_t>(slot)] += counts_[static_cast<std::size_t>(copy * slots_ + slot)];
      if (words_ > 0) WeightSums::add_sum(histogram.sum(slot), sums_.data() + slot * words_, words_);
    }
  }

 private:
  void add(const PlainRow& row, std::int64_t point) {
    const std::int64_t count = row.end - row.begin;
    std::uint64_t* const counts = counts_.data();
    if (row.width > 0) {
      for (std::int64_t index = 0; index < count; ++index) ++counts[++bins_[index] + index % copies * slots_];
    } else {
      for (std::int64_t index = 0; index < count; ++index) {
        bins_[index] = static_cast<std::int32_t>(problem_.bins.slot(found_[index]));
        ++counts[bins_[index] + index % copies * slots_];
      }
    }
    if (words_ == 0) return;
    const std::int64_t weight = problem_.first_weight(point);
    for (std::int64_t index = 0; index < count; ++index)
      problem_.sums.add(sums_.data() + std::int64_t{bins_[index]} * words_, weight,
                        problem_.second_weight(row.begin + index));
  }

  const Problem<T>& problem_;
  std::int64_t slots_;
  bool whole_ = false;
  std::vector<std::uint64_t> counts_;
  int words_;  // words per sum; 0 without weights
  std::vector<std::uint64_t> sums_;
  alignas(64) double found_[plain_block + filter_block];
  alignas(64) std::int32_t bins_[plain_block + filter_block];
};

}  // namespace

template <class T>
Histogram count_in_double(const Problem<T>& problem, const Execution& execution, int threads) {
  const PlainColumns<T> first(problem.points, problem.stop);
  const PlainColumns<T> others = problem.cross ? PlainColumns<T>(problem.others, problem.stop) : PlainColumns<T>();
  const PlainColumns<T>& second = problem.cross ? others : first;
  std::vector<std::unique_ptr<PlainCounters<T>>> counters;
  for (int part = 0; part < threads; ++part) counters.push_back(std::make_unique<PlainCounters<T>>(problem));
  const TilePairs tiles(problem.n(), problem.m(), problem.cross, tile_points);
  for_each_item(execution, threads, tiles.count(), [&](int part, std::int64_t number) {
    counters[static_cast<std::size_t>(part)]->count(tiles[number], first, second);
  });
  Histogram histogram(problem.bins.slots(), problem.sum_words());
  for (const auto& own : counters) own->add_to(histogram);
  return histogram;
}

std::uint64_t bytes_to_count_in_double(const Shape& shape, int threads) {
  const auto points = static_cast<std::uint64_t>(padded(shape.points) + (shape.cross ? padded(shape.others) : 0));
  const auto slots = static_cast<std::uint64_t>(shape.bins + 2);
  const std::uint64_t of_a_thread = slots * (8 * (copies - 1) + Histogram::slot_bytes(shape)) + 12 * plain_block;
  return 8 * points * static_cast<std::uint64_t>(shape.dimensions) + of_a_thread * static_cast<std::uint64_t>(threads);
}

template <class T>
Histogram simd_brute_force(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "count");
  return count_in_double(problem, execution, cpu::thread_count(execution));
}

template Histogram count_in_double(const Problem<float>&, const Execution&, int);
template Histogram count_in_double(const Problem<double>&, const Execution&, int);

namespace {

core::Memory plain_memory(const Shape& shape, int threads) {
  return {.host = bytes_to_count_in_double(shape, threads)};
}

}  // namespace

extern constinit const Variant simd_brute_force_rung{
    .name = "simd_brute_force",
    .summary = "vectors of pairs in double, tiles of points, private copies of the counters",
    .change =
        "the points are stored in columns, so that 2, 4 or 8 pairs are subtracted, multiplied and divided at once",
    .backend = core::Backend::simd,
    .on_ranks = true,
    .memory = plain_memory,
    .run = {simd_brute_force<float>, simd_brute_force<double>},
};

}  // namespace gradus::pair_histogram_detail
#endif
