#include "pair_histogram/cell.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// One component of a cross product; each operation rounds.
double cross(const double* left, const double* right, int axis) {
  const int next = (axis + 1) % 3;
  const int last = (axis + 2) % 3;
  return left[next] * right[last] - left[last] * right[next];
}

}  // namespace

Cell::Cell(const std::vector<double>& box) {
  for (int vector = 0; vector < 3; ++vector)
    for (int axis = 0; axis < 3; ++axis) vectors[vector][axis] = box[static_cast<std::size_t>(3 * vector + axis)];
  const double signed_volume = volume();
  for (int vector = 0; vector < 3; ++vector)
    for (int axis = 0; axis < 3; ++axis)
      reciprocal[vector][axis] = cross(vectors[(vector + 1) % 3], vectors[(vector + 2) % 3], axis) / signed_volume;
}

double Cell::volume() const {
  const auto [a, b, c] = vectors;
  return (a[0] * cross(b, c, 0) + a[1] * cross(b, c, 1)) + a[2] * cross(b, c, 2);
}

double Cell::height(int vector) const {
  double squares = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double area = cross(vectors[(vector + 1) % 3], vectors[(vector + 2) % 3], axis);
    squares += area * area;
  }
  return std::abs(volume()) / std::sqrt(squares);
}

Around box_around(const Cell& cell, const std::array<double, 3>& origin) {
  Around around;
  for (int axis = 0; axis < 3; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    around.low[at] = origin[at];
    for (const auto& vector : cell.vectors) {
      around.low[at] += std::fmin(vector[axis], 0.0);
      around.length[at] += std::abs(vector[axis]);
    }
  }
  return around;
}

}  // namespace gradus::pair_histogram_detail
