// average_frames(), standard_errors(), structure_factor_in_bins()
#include "gradus/frame_averages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/float_environment.hpp"
#include "gradus/pair_histogram_structure_factor.hpp"

namespace gradus {

namespace {

/// Returns the means over the rows of the view. A column without values has NaN.
std::vector<double> means_of(MatrixView<const double> rows) {
  std::vector<double> means;
  for (std::int64_t column = 0; column < rows.columns(); ++column) {
    double sum = 0;
    std::int64_t values = 0;
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      if (std::isnan(rows(row, column))) continue;
      sum += rows(row, column);
      ++values;
    }
    means.push_back(sum / static_cast<double>(values));  // 0 / 0 is NaN
  }
  return means;
}

}  // namespace

std::vector<double> standard_errors(MatrixView<const double> values) {
  const core::DefaultFloatEnvironment environment;
  std::vector<double> errors = means_of(values);
  for (std::int64_t column = 0; column < values.columns(); ++column) {
    double& of_column = errors[static_cast<std::size_t>(column)];
    double squares = 0;
    double count = 0;
    for (std::int64_t row = 0; row < values.rows(); ++row) {
      const double deviation = values(row, column) - of_column;
      if (std::isnan(deviation)) continue;
      squares += deviation * deviation;
      ++count;
    }
    of_column = count > 1 ? std::sqrt(squares / (count - 1) / count) : std::numeric_limits<double>::quiet_NaN();
  }
  return errors;
}

FrameAverages average_frames(MatrixView<const double> frames, std::int64_t blocks) {
  const core::DefaultFloatEnvironment environment;
  if (blocks < 1 || blocks > frames.rows())
    throw UsageError(about("blocks") + "there are " + std::to_string(frames.rows()) +
                     " frames, and at least one and at most as many blocks are possible, not " +
                     std::to_string(blocks));
  Matrix<double> of_blocks(blocks, frames.columns());
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = frames.rows() * block / blocks;
    const std::int64_t end = frames.rows() * (block + 1) / blocks;
    const std::vector<double> means = means_of(frames.slice(first, end - first));
    std::copy(means.begin(), means.end(), of_blocks.row(block));
  }
  return {means_of(frames), standard_errors(of_blocks)};
}

StructureFactorFrame structure_factor_in_bins(MatrixView<const double> points, const std::vector<double>& box,
                                              MatrixView<const std::int64_t> vectors, const StructureFactorBins& bins,
                                              const Execution& execution) {
  const std::vector<double> waves = structure_factor_waves(box, vectors);
  const std::vector<double> values = points.rows() > 0
                                         ? structure_factor(points, box, vectors, execution)
                                         : std::vector<double>(waves.size(), std::numeric_limits<double>::quiet_NaN());
  const core::DefaultFloatEnvironment environment;
  const auto count = static_cast<std::size_t>(bins.count());
  StructureFactorFrame frame{std::vector<double>(count), std::vector<double>(count), std::vector<std::uint64_t>(count)};
  for (std::size_t vector = 0; vector < waves.size(); ++vector) {
    const auto bin = static_cast<std::size_t>(bins.bin(waves[vector]));
    frame.q[bin] += waves[vector];
    frame.s[bin] += values[vector];
    ++frame.vectors[bin];
  }
  for (std::size_t bin = 0; bin < count; ++bin) {
    frame.q[bin] /= static_cast<double>(frame.vectors[bin]);  // 0 / 0 is NaN
    frame.s[bin] /= static_cast<double>(frame.vectors[bin]);
  }
  return frame;
}

}  // namespace gradus
