// The ladder of pair-distance histograms, in order, and the choice among its variants.
#include <algorithm>
#include <cmath>
#include <vector>

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

// clang-format off
#define GRADUS_LADDER(RUNG) \
  RUNG(sequential) \
  RUNG(openmp_shared) \
  RUNG(openmp_privatized) \
  RUNG(simd_brute_force) \
  RUNG(simd_filter) \
  RUNG(simd_cells) \
  RUNG(simd_dual_tree) \
  RUNG(cuda_naive) \
  RUNG(cuda_privatized) \
  RUNG(cuda_tiled) \
  RUNG(cuda_tiled_privatized) \
  RUNG(cuda_lane_copies) \
  RUNG(cuda_shuffle) \
  RUNG(cuda_filter)
// clang-format on

GRADUS_LADDER(GRADUS_DECLARE_RUNG)

namespace {

constexpr const Variant* table[] = {GRADUS_LADDER(GRADUS_POINT_TO_RUNG)};

// Returns the share of the space that a cube with edge 2 * `reach` covers. The share is 1 if the reach is half of every
// extent.
double share_in_reach(const Shape& shape) {
  double share = 1;
  for (std::int64_t dim = 0; dim < shape.dimensions; ++dim) {
    const double extent = shape.extent[static_cast<std::size_t>(dim)];
    if (2 * shape.reach < extent) share *= 2 * shape.reach / extent;
  }
  return share;
}

// Returns true if cells are faster than the filter. This was measured for at least 2000 uniform points in three
// dimensions: cells are faster if the reach is at most 0.4 of the extent. In a periodic box the groups shrink as the
// reach approaches half of the box.
bool cells_pay(const Shape& shape) {
  constexpr std::int64_t fewest = 1000;
  constexpr double share = 0.3;
  constexpr double periodic_reach = 0.3;
  // In a brick, groups shrink only along the first edge.
  const std::int64_t shrinking = shape.triclinic ? 1 : shape.dimensions;
  for (std::int64_t dim = 0; shape.periodic && dim < shrinking; ++dim)
    if (shape.reach > periodic_reach * shape.extent[static_cast<std::size_t>(dim)]) return false;
  return std::max(shape.points, shape.others) >= fewest && share_in_reach(shape) <= share;
}

// Returns true if the tree is faster than the filter. The tree counts a part of the pairs in reach one by one. This
// part is about 1.4 times leaf side / bin width. According to measurements in three dimensions with at least 5000
// points, the tree pays if this part is below 0.8. The threshold leaves a margin.
bool tree_pays(const Shape& shape, const execution::Machine& machine) {
  constexpr std::int64_t fewest = 5000;
  constexpr double leaf_points = 16;
  constexpr double crossover = 0.7;
  const auto points = static_cast<double>(std::min(shape.points, shape.cross ? shape.others : shape.points));
  if (points < fewest || !simd_dual_tree_rung.supports(shape, machine)) return false;
  double volume = 1;
  for (std::int64_t dim = 0; dim < shape.dimensions; ++dim) volume *= shape.extent[static_cast<std::size_t>(dim)];
  const double side = std::pow(volume * leaf_points / points, 1 / static_cast<double>(shape.dimensions));
  const double width = shape.reach / static_cast<double>(shape.bins);
  // The share of a cube that is occupied by its inscribed ball.
  const double ball = shape.dimensions == 3 ? 0.52 : (shape.dimensions == 2 ? 0.79 : 1.0);
  bool reaches_across = false;
  for (std::int64_t dim = 0; dim < shape.dimensions; ++dim)
    reaches_across = reaches_across || 2 * shape.reach > shape.extent[static_cast<std::size_t>(dim)];
  const double in_reach = reaches_across ? 1.0 : ball * share_in_reach(shape);
  return in_reach * std::min(1.0, 1.4 * side / width) < crossover;
}

// In a triclinic box, simd_cells is chosen where a tree would pay in an axis-aligned box. It passes the job to the tree
// or to the filter if that is faster (tree_pays_in_cell in rungs/simd_cells.cpp).
const Variant& best_on_cpu(const Shape& shape, const execution::Machine& machine) {
  Shape cube = shape;
  cube.triclinic = false;
  if (cells_pay(shape)) return simd_cells_rung;
  if (tree_pays(cube, machine)) return shape.triclinic ? simd_cells_rung : simd_dual_tree_rung;
  return simd_filter_rung;
}

// The first use of a GPU in a process takes about 0.3 s (docs/decisions/0020). In this time 16 cores filter about 5e9
// pairs.
bool gpu_pays(const Shape& shape, const Variant& on_cpu) {
  constexpr double worth_a_gpu = 5e9;  // number of pairs
  return &on_cpu == &simd_filter_rung && !shape.weighted && shape.pairs() >= worth_a_gpu;
}

}  // namespace

core::Rows<Variant> variants() { return table; }

namespace {

/// Returns two kinds of shapes, because some variants are made for a cutoff and some for few wide bins.
std::vector<Shape> usual_shapes() {
  std::vector<Shape> shapes;
  for (const double reach : {1.0, 100.0})
    for (const int element_bytes : {4, 8})
      shapes.push_back({.points = 1000000,
                        .bins = 10,
                        .element_bytes = element_bytes,
                        .reach = reach,
                        .least_width = reach / 10,
                        .extent = {100, 100, 100}});
  return shapes;
}

}  // namespace

constinit const core::Ladder ladder = core::ladder_of<Room, variants, usual_shapes>;

std::vector<const Variant*> choosable(const Shape& shape, const execution::Machine& machine, Device device) {
  if (device == Device::gpu) return {&choose(shape, machine, device)};
  std::vector<const Variant*> chosen;
  for (const Variant* variant : {&simd_cells_rung, &simd_dual_tree_rung, &simd_filter_rung})
    if (variant->supports(shape, machine)) chosen.push_back(variant);
  if (device == Device::automatic && gpu_pays(shape, simd_filter_rung) && cuda_filter_rung.supports(shape, machine))
    chosen.push_back(&cuda_filter_rung);
  return chosen;
}

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  const Variant& on_device = cuda_filter_rung;
  if (device == Device::gpu) {
    if (const core::Support support = on_device.supports(shape, machine); !support)
      throw UnsupportedError("pair_histogram cannot run on a GPU: " + support.reason + "; use the CPU");
    return on_device;
  }
  // If pairs can be skipped, the CPU does less work than the GPU, which visits all pairs.
  const Variant& best = best_on_cpu(shape, machine);
  if (device == Device::automatic && gpu_pays(shape, best) && on_device.supports(shape, machine)) return on_device;
  return best;
}

}  // namespace gradus::pair_histogram_detail
