// structure_factor(), debye_structure_factor()
#include "gradus/pair_histogram_structure_factor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/column_ranges.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "pair_histogram/api/steps.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

namespace {

constexpr std::int64_t lanes = 8;
constexpr std::int64_t block = 256;  // points whose exponentials are in the table together
constexpr std::string_view while_summing = "stopped while computing a structure factor";

/// exp(-2 pi i h f) for the points of a block: element h * block + point of each array.
struct Exponentials {
  std::vector<double> cosines;
  std::vector<double> sines;  ///< with the minus sign

  void set(std::int64_t h, std::int64_t point, double fraction) {
    double turn = static_cast<double>(h) * fraction;
    turn -= std::rint(turn);
    const auto place = static_cast<std::size_t>(h * block + point);
    cosines[place] = std::cos(2 * std::numbers::pi * turn);
    sines[place] = -std::sin(2 * std::numbers::pi * turn);
  }
};

/// Sums of exponentials, one for each lane.
struct Sums {
  std::array<double, lanes> real{};
  std::array<double, lanes> imaginary{};
};

/// Adds the first `count` points of the block. Padding must have been set to zero up to a multiple of `lanes`.
void add_block(const std::vector<Exponentials>& tables, const std::int64_t* vector, std::int64_t count, Sums& sums) {
  for (std::int64_t first = 0; first < count; first += lanes) {
    double real[lanes];
    double imaginary[lanes];
    for (std::size_t axis = 0; axis < tables.size(); ++axis) {
      const std::int64_t place = std::abs(vector[axis]) * block + first;
      const double* const cosines = tables[axis].cosines.data() + place;
      const double* const sines = tables[axis].sines.data() + place;
      const double sign = vector[axis] < 0 ? -1 : 1;
#pragma omp simd
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const double c = cosines[lane];
        const double s = sign * sines[lane];
        const double before = axis == 0 ? 1 : real[lane];
        const double before_imaginary = axis == 0 ? 0 : imaginary[lane];
        real[lane] = before * c - before_imaginary * s;
        imaginary[lane] = before * s + before_imaginary * c;
      }
    }
    const std::int64_t filled = std::min(lanes, count - first);
    for (std::int64_t lane = 0; lane < filled; ++lane) {
      sums.real[static_cast<std::size_t>(lane)] += real[lane];
      sums.imaginary[static_cast<std::size_t>(lane)] += imaginary[lane];
    }
  }
}

double fraction_of(const double* point, std::int64_t axis, const std::vector<double>& box, const room::Cell& cell) {
  if (!room::is_triclinic(box)) {
    const double share = point[axis] / box[static_cast<std::size_t>(axis)];
    return share - std::floor(share);
  }
  const double* const reciprocal = cell.reciprocal[axis];
  const double share = (point[0] * reciprocal[0] + point[1] * reciprocal[1]) + point[2] * reciprocal[2];
  return share - std::floor(share);
}

}  // namespace

std::vector<double> structure_factor(MatrixView<const double> points, const std::vector<double>& box,
                                     MatrixView<const std::int64_t> vectors, const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    execution::check_execution(here);
    const std::int64_t columns = points.columns();
    if (points.rows() < 1 || columns < 1 || columns > room::dimension_limit || vectors.columns() != columns)
      throw UsageError("a structure factor needs points with 1 to 3 columns, and vectors with as many, not " +
                       std::to_string(points.rows()) + " x " + std::to_string(columns) + " points and " +
                       std::to_string(vectors.columns()) + " columns of vectors");
    if (box.empty()) throw UsageError(about("box") + "a structure factor on a grid needs a periodic box");
    room::check_box(box, {}, columns);
    const int threads = cpu::thread_count(here);
    cpu::column_ranges(points, "points", threads, here.stop);
    std::int64_t greatest = 0;
    for (std::int64_t row = 0; row < vectors.rows(); ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t integer = vectors(row, column);
        if (integer < -room::greatest_integer || integer > room::greatest_integer)
          throw UsageError("vector " + std::to_string(row) + " (counted from 0) has the integer " +
                           std::to_string(integer) + "; at most 4096 in magnitude is possible");
        greatest = std::max(greatest, std::abs(integer));
      }
    const room::Cell cell = room::is_triclinic(box) ? room::Cell(box) : room::Cell();
    const auto table_size = static_cast<std::size_t>((greatest + 1) * block);
    execution::check_memory(static_cast<std::uint64_t>(vectors.rows()) * (sizeof(Sums) + sizeof(double)) +
                                static_cast<std::uint64_t>(columns) * table_size * 2 * sizeof(double),
                            here);
    std::vector<Exponentials> tables(static_cast<std::size_t>(columns));
    for (Exponentials& table : tables) {
      table.cosines.resize(table_size);
      table.sines.resize(table_size);
    }
    std::vector<Sums> sums(static_cast<std::size_t>(vectors.rows()));
    for (std::int64_t first = 0; first < points.rows(); first += block) {
      const std::int64_t count = std::min(block, points.rows() - first);
      core::honour_stop(here.stop, while_summing);
#pragma omp parallel num_threads(threads)
      {
#pragma omp for schedule(static)
        for (std::int64_t point = 0; point < count; ++point)
          for (std::int64_t axis = 0; axis < columns; ++axis) {
            const double fraction = fraction_of(points.row(first + point), axis, box, cell);
            for (std::int64_t h = 0; h <= greatest; ++h) tables[static_cast<std::size_t>(axis)].set(h, point, fraction);
          }
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < vectors.rows(); ++row)
          if (row % lanes != 0 || !here.stop.stop_requested())
            add_block(tables, vectors.row(row), count, sums[static_cast<std::size_t>(row)]);
      }
    }
    core::honour_stop(here.stop, while_summing);
    std::vector<double> result;
    result.reserve(sums.size());
    for (const Sums& sum : sums) {
      double real = 0;
      double imaginary = 0;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        real += sum.real[lane];
        imaginary += sum.imaginary[lane];
      }
      result.push_back((real * real + imaginary * imaginary) / static_cast<double>(points.rows()));
    }
    return result;
  });
}

DebyeStructureFactor debye_structure_factor(const PairHistogramResult& histogram, std::int64_t points,
                                            const std::vector<double>& q) {
  return execution::whole_call([&] {
    if (points < 1) throw UsageError("a structure factor needs at least one point");
    if (histogram.below > 0 || histogram.beyond > 0)
      throw UsageError("Debye's sum needs every pair, but " + std::to_string(histogram.below + histogram.beyond) +
                       " are outside the bins; let the bins begin at 0 and reach the greatest distance");
    if (histogram.edges.size() != histogram.counts.size() + 1)
      throw UsageError("the histogram must have one edge more than counts");
    constexpr double steepest = 0.437;  // the greatest slope of sin(x) / x is 0.4362
    double spread = 0;
    for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin)
      spread += static_cast<double>(histogram.counts[bin]) * (histogram.edges[bin + 1] - histogram.edges[bin]) / 2;
    DebyeStructureFactor result;
    const auto n = static_cast<double>(points);
    for (const double one : q) {
      if (!(one >= 0) || std::isinf(one))
        throw UsageError("q must be finite and not negative, not " + core::number_text(one));
      double sum = 0;
      for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
        const double x = one * (histogram.edges[bin] / 2 + histogram.edges[bin + 1] / 2);
        sum += static_cast<double>(histogram.counts[bin]) * (x > 0 ? std::sin(x) / x : 1);
      }
      result.s.push_back(1 + 2 * sum / n);
      result.bound.push_back(2 * steepest * one * spread / n);
    }
    return result;
  });
}

}  // namespace gradus
