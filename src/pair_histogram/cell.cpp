#include "pair_histogram/cell.hpp"

#include <algorithm>
#include <functional>

#include "core/exact_accumulator.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// Returns one component of a cross product. Each operation rounds.
double cross(const double* left, const double* right, int axis) {
  const int next = (axis + 1) % 3;
  const int last = (axis + 2) % 3;
  return left[next] * right[last] - left[last] * right[next];
}

double dot(const double* left, const double* right) {
  return (left[0] * right[0] + left[1] * right[1]) + left[2] * right[2];
}

/// Replaces the reciprocal vector P[changed] by P[changed] + factors[0] P[0] + factors[1] P[1] + factors[2] P[2].
struct Step {
  int changed = 0;
  std::array<double, 3> factors{};
};

/// Returns true if the step shortens the reciprocal vector by clearly more than rounding errors could explain.
bool shortens(const Cell& cell, const Step& step) {
  constexpr double worthwhile = 1 - 0x1p-10;
  double sum[3] = {};
  for (int axis = 0; axis < 3; ++axis) {
    sum[axis] = cell.reciprocal[step.changed][axis];
    for (int turn = 1; turn < 3; ++turn) {
      const int other = (step.changed + turn) % 3;
      sum[axis] += step.factors[static_cast<std::size_t>(other)] * cell.reciprocal[other][axis];
    }
  }
  return dot(sum, sum) < worthwhile * dot(cell.reciprocal[step.changed], cell.reciprocal[step.changed]);
}

/// Visits the steps in the order that gradus/pair_histogram.hpp defines. Returns the first step that shortens a
/// reciprocal vector. If no step shortens one, returns a step with zero factors.
Step next_step(const Cell& cell) {
  const auto& shares = cell.reciprocal;
  for (int changed = 0; changed < 3; ++changed)
    for (int other = 0; other < 3; ++other) {
      if (other == changed) continue;
      Step step{.changed = changed};
      step.factors[static_cast<std::size_t>(other)] =
          -std::rint(dot(shares[changed], shares[other]) / dot(shares[other], shares[other]));
      if (shortens(cell, step)) return step;
    }
  for (int changed = 0; changed < 3; ++changed)
    for (const double next : {1.0, -1.0})
      for (const double last : {1.0, -1.0}) {
        Step step{.changed = changed};
        step.factors[static_cast<std::size_t>((changed + 1) % 3)] = next;
        step.factors[static_cast<std::size_t>((changed + 2) % 3)] = last;
        if (shortens(cell, step)) return step;
      }
  return {};
}

}  // namespace

Cell::Cell(const std::vector<double>& box) {
  for (int vector = 0; vector < 3; ++vector)
    for (int axis = 0; axis < 3; ++axis)
      vectors[vector][axis] = box[3 * static_cast<std::size_t>(vector) + static_cast<std::size_t>(axis)];
  set_reciprocal();
}

void Cell::set_reciprocal() {
  const double signed_volume = volume();
  for (int vector = 0; vector < 3; ++vector)
    for (int axis = 0; axis < 3; ++axis)
      reciprocal[vector][axis] = cross(vectors[(vector + 1) % 3], vectors[(vector + 2) % 3], axis) / signed_volume;
}

Cell Cell::reduced(const std::vector<double>& box) {
  const Cell given(box);
  Cell cell = given;
  double multiples[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};  // row i: coefficients of reduced vector i
  for (;;) {
    const Step step = next_step(cell);
    if (step.factors == Step{}.factors) return cell;
    for (int vector = 0; vector < 3; ++vector) {
      const double factor = step.factors[static_cast<std::size_t>(vector)];
      if (factor == 0) continue;
      for (int part = 0; part < 3; ++part) multiples[vector][part] -= factor * multiples[step.changed][part];
      for (int axis = 0; axis < 3; ++axis) {
        core::ExactAccumulator sum;
        for (int part = 0; part < 3; ++part) sum.add_product(multiples[vector][part], given.vectors[part][axis]);
        cell.vectors[vector][axis] = sum.round<double>();
      }
    }
    cell.set_reciprocal();
  }
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

// Applies the Gram-Schmidt process, starting with the longest vector, so that the first axis is along this vector.
// Columns of cells run along the first axis.
Brick::Brick(const Cell& cell) {
  int order[3] = {0, 1, 2};
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](int vector) { return dot(cell.vectors[vector], cell.vectors[vector]); });
  for (int vector = 0; vector < 3; ++vector) {
    double rest[3] = {};
    std::copy_n(cell.vectors[order[vector]], 3, rest);
    for (int axis = 0; axis < vector; ++axis) {
      vectors[vector][axis] = dot(rest, axes[axis]);
      for (int column = 0; column < 3; ++column) rest[column] -= vectors[vector][axis] * axes[axis][column];
    }
    vectors[vector][vector] = std::sqrt(dot(rest, rest));
    inverse[vector] = 1 / vectors[vector][vector];
    for (int column = 0; column < 3; ++column) axes[vector][column] = rest[column] / vectors[vector][vector];
    for (int axis = vector - 1; axis >= 0; --axis) {
      const double whole = std::rint(vectors[vector][axis] / edge(axis));
      for (int column = 0; column <= axis; ++column) vectors[vector][column] -= whole * vectors[axis][column];
    }
  }
}

BoundingBox bounding_box(const Cell& cell, const std::array<double, 3>& origin) {
  BoundingBox bounds;
  for (int axis = 0; axis < 3; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    bounds.low[at] = origin[at];
    for (const auto& vector : cell.vectors) {
      bounds.low[at] += std::fmin(vector[axis], 0.0);
      bounds.length[at] += std::abs(vector[axis]);
    }
  }
  return bounds;
}

}  // namespace gradus::pair_histogram_detail
