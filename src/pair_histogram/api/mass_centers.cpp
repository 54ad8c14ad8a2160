// mass_centers()
#include <cmath>
#include <string>
#include <vector>

#include "core/float_environment.hpp"
#include "core/text.hpp"
#include "pair_histogram/api/groups.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// Moves separations of points to their nearest images, in the directions in which the box repeats.
class NearestImage {
 public:
  explicit NearestImage(const PairHistogramOptions& options) : box_(options.box) {
    if (box_.empty()) return;
    const std::int64_t directions = is_triclinic(box_) ? 3 : static_cast<std::int64_t>(box_.size());
    check_box(box_, {}, directions);
    for (std::int64_t direction = 0; direction < directions; ++direction)
      repeats_[direction] = options.periodic.find("xyz"[direction]) != std::string::npos;
    // Without all vectors, reducing would mix open vectors with the others.
    if (is_triclinic(box_)) cell_ = options.periodic.size() == 3 ? Cell::reduced(box_) : Cell(box_);
  }

  void move(double* apart, std::int64_t columns) const {
    if (is_triclinic(box_)) {
      double whole[3] = {};
      for (int vector = 0; vector < 3; ++vector) {
        const double* const share = cell_.reciprocal[vector];
        if (repeats_[vector])
          whole[vector] = std::rint((apart[0] * share[0] + apart[1] * share[1]) + apart[2] * share[2]);
      }
      for (int vector = 0; vector < 3; ++vector)
        for (int axis = 0; axis < 3; ++axis) apart[axis] -= whole[vector] * cell_.vectors[vector][axis];
      return;
    }
    for (std::int64_t column = 0; column < columns && !box_.empty(); ++column) {
      const double length = box_[static_cast<std::size_t>(column)];
      if (repeats_[column]) apart[column] -= std::rint(apart[column] / length) * length;
    }
  }

 private:
  std::vector<double> box_;
  Cell cell_;
  bool repeats_[3] = {};
};

}  // namespace

Matrix<double> mass_centers(MatrixView<const double> points, const Groups& groups, VectorView<const double> masses,
                            const PairHistogramOptions& options) {
  const core::DefaultFloatEnvironment environment;
  const std::int64_t count = groups.starts.size() - 1;
  const std::int64_t columns = points.columns();
  check_groups(groups, points.rows(), count);
  if (masses.size() != points.rows())
    throw UsageError("there are " + std::to_string(masses.size()) + " masses for " + std::to_string(points.rows()) +
                     " points");
  for (std::int64_t row = 0; row < masses.size(); ++row)
    if (!(masses[row] >= 0 && std::isfinite(masses[row])))
      throw InputError("the mass of atom " + std::to_string(row) + " (counted from 0) is " +
                       core::number_text(masses[row]) + "; masses are finite and not negative");
  const NearestImage nearest(options);
  Matrix<double> centers(count, columns);
  for (std::int64_t group = 0; group < count; ++group) {
    double from_first[3] = {};  // the separation of the current member from the first member
    double sum[3] = {};
    double mass = 0;
    const double* before = nullptr;
    for (std::int64_t at = groups.starts[group]; at < groups.starts[group + 1]; ++at) {
      const std::int64_t row = groups.rows[at];
      double apart[3] = {};
      for (std::int64_t column = 0; before != nullptr && column < columns; ++column)
        apart[column] = points.row(row)[column] - before[column];
      nearest.move(apart, columns);
      for (std::int64_t column = 0; column < columns; ++column) {
        from_first[column] += apart[column];
        sum[column] += masses[row] * from_first[column];
      }
      mass += masses[row];
      before = points.row(row);
    }
    if (!(mass > 0))
      throw InputError("the masses of group " + std::to_string(group) + " (counted from 0) add up to zero");
    const double* const first = points.row(groups.rows[groups.starts[group]]);
    for (std::int64_t column = 0; column < columns; ++column)
      centers.row(group)[column] = first[column] + sum[column] / mass;
  }
  return centers;
}

}  // namespace gradus::pair_histogram_detail
