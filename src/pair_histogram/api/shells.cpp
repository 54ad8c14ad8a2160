// pair_histogram_shells()
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/float_environment.hpp"
#include "core/text.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/prepare.hpp"
#include "pair_histogram/result.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

namespace {

using Vector = std::array<double, 3>;

Vector sum(const Vector& left, const Vector& right, double factor) {
  return {left[0] + factor * right[0], left[1] + factor * right[1], left[2] + factor * right[2]};
}
double dot(const Vector& left, const Vector& right) {
  return left[0] * right[0] + left[1] * right[1] + left[2] * right[2];
}
Vector cross(const Vector& left, const Vector& right) {
  return {left[1] * right[2] - left[2] * right[1], left[2] * right[0] - left[0] * right[2],
          left[0] * right[1] - left[1] * right[0]};
}

/// Returns the integral over the angle from 0 to `angle` of min(distance, radius)^2 / 2, where the distance to a line
/// is `height` / cos(angle): the part of a disc in a triangle whose right angle is on the line.
double disc_in_triangle(double height, double angle, double radius) {
  const double border = radius > height ? std::acos(height / radius) : 0;
  const double straight = std::min(angle, border);
  return height * height / 2 * std::tan(straight) + radius * radius / 2 * (angle - straight);
}

/// Returns the part of a ball in a pyramid whose apex is the ball's centre, `depth` above a plane. The base is a
/// triangle in that plane, with a corner below the apex and the angle `angle` there. Its right angle is on a line at
/// the distance `height` from that corner.
double ball_in_pyramid(double depth, double height, double angle, double radius) {
  const double reach = radius > depth ? std::sqrt((radius - depth) * (radius + depth)) : 0;  // of the ball in the plane
  const double border = reach > height ? std::acos(height / reach) : 0;
  const double straight = std::min(angle, border);
  // The integral of depth / sqrt(depth^2 + (height / cos)^2), the cosine of a ray to the line.
  const auto cosines = [&](double to) {
    return std::asin(std::clamp(depth * std::sin(to) / std::hypot(depth, height), -1.0, 1.0));
  };
  const double nearest = std::max(radius, depth);
  const double cap = depth * reach * reach / 6 + radius * radius * radius / 3 * (depth / nearest);
  return depth * height * height / 6 * std::tan(straight) + cap * (angle - straight) -
         radius * radius * radius / 3 * (cosines(angle) - cosines(straight));
}

/// Returns the size over a triangle whose corners are zero, `from` and `to`, from two right triangles of `part`. It is
/// negative if the triangle turns against the normal.
template <class Part>
double over_side(const Vector& from, const Vector& to, const Vector& normal, const Part& part) {
  const Vector along = sum(to, from, -1);
  const double length = std::sqrt(dot(along, along));
  const double signed_height = dot(cross(from, along), normal) / length;
  const double height = std::abs(signed_height);
  if (height == 0) return 0;
  const double start = dot(from, along) / length;
  const double end = start + length;
  const auto up_to = [&](double place) {
    return std::copysign(part(height, std::atan2(std::abs(place), height)), place);
  };
  return std::copysign(up_to(end) - up_to(start), signed_height);
}

/// Returns the size of the part of a ball around the centre of a cell that is inside the cell.
class BallInCell {
 public:
  /// `vectors` are the cell's vectors.
  explicit BallInCell(std::vector<Vector> vectors) : vectors_(std::move(vectors)) {}

  double operator()(double radius) const {
    if (vectors_.size() == 1) return std::min(2 * radius, vectors_[0][0]);
    if (vectors_.size() == 2) return over_parallelogram({}, {0, 0, 1}, vectors_[0], vectors_[1], radius, 0);
    double volume = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Vector& left = vectors_[(axis + 1) % 3];
      const Vector& right = vectors_[(axis + 2) % 3];
      Vector normal = cross(left, right);
      const double area = std::sqrt(dot(normal, normal));
      for (double& number : normal) number /= area;
      const double depth = dot(vectors_[axis], normal) / 2;
      const Vector middle = sum({}, vectors_[axis], 0.5);
      volume += 2 * std::abs(over_parallelogram(sum(middle, sum({}, normal, depth), -1), normal, left, right, radius,
                                                std::abs(depth)));
    }
    return volume;
  }

 private:
  /// `middle` is the middle of the parallelogram, seen from the foot of the perpendicular through the ball's centre.
  static double over_parallelogram(const Vector& middle, const Vector& normal, const Vector& left, const Vector& right,
                                   double radius, double depth) {
    std::array<Vector, 4> corners{};
    for (std::size_t corner = 0; corner < 4; ++corner) {
      const double along_left = corner == 0 || corner == 3 ? -0.5 : 0.5;
      const double along_right = corner < 2 ? -0.5 : 0.5;
      corners[corner] = sum(sum(middle, left, along_left), right, along_right);
    }
    double size = 0;
    for (std::size_t side = 0; side < 4; ++side)
      size += over_side(corners[side], corners[(side + 1) % 4], normal, [&](double height, double angle) {
        return depth > 0 ? ball_in_pyramid(depth, height, angle, radius) : disc_in_triangle(height, angle, radius);
      });
    return std::abs(size);
  }

  std::vector<Vector> vectors_;
};

}  // namespace

std::vector<double> pair_histogram_shells(const std::vector<double>& edges, const PairHistogramOptions& options) {
  const core::DefaultFloatEnvironment environment;
  if (options.box.empty() || !pair_histogram_has_volume(options))
    throw UsageError(about("box") + "shells are cut off only by a box that repeats in all measured directions");
  std::int64_t columns = room::columns_for(options);
  const PairHistogramOptions arranged = room::arranged_options(options, columns);
  const std::vector<double>& box = arranged.box;
  room::check_box(box, {}, columns);
  std::vector<Vector> vectors;
  // Two vectors of a triclinic cell have a third one, which is perpendicular and only as long as needed.
  const std::int64_t dimensions = options.dimensions.empty() ? columns : std::ssize(options.dimensions);
  for (std::int64_t axis = 0; axis < dimensions; ++axis) {
    Vector vector{};
    if (room::is_triclinic(box)) {
      const room::Cell cell = room::Cell::reduced(box);
      std::copy_n(cell.vectors[axis], 3, vector.begin());
    } else {
      vector[static_cast<std::size_t>(axis)] = box[static_cast<std::size_t>(axis)];
    }
    vectors.push_back(vector);
  }
  const double half = room::greatest_reach(box);
  const BallInCell ball(std::move(vectors));
  const double volume = pair_histogram_volume(box, options.periodic, options.dimensions);
  std::vector<double> sizes;
  for (std::size_t bin = 0; bin + 1 < edges.size(); ++bin) {
    const double radius = edges[bin + 1];
    const double whole = room::shell(edges[bin], radius, dimensions);
    sizes.push_back(radius <= half ? whole : std::clamp(ball(radius) - ball(edges[bin]), 0.0, whole));
    const double error = 4 * std::numeric_limits<double>::epsilon() * room::shell(0, radius, dimensions);
    if (radius > half && error > std::max(1e-6 * sizes.back(), 1e-11 * volume))
      throw UnsupportedError(about("edges") + "the shell from " + core::number_text(edges[bin]) + " to " +
                                 core::number_text(radius) + " is too thin to be cut off by so long and narrow a box",
                             {.argument = "edges", .remedy = "widen the bins, or end them at a smaller distance"});
  }
  return sizes;
}

}  // namespace gradus
