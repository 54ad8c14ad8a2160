// simd_dual_tree: points are in nested boxes. If all distances between two boxes are in one bin, all pairs of their
// points are counted at once.
//
// The idea. The distances between two groups of points are at least the distance of the groups' bounding boxes and at
// most the distance of the boxes' farthest corners. If both bounds are in the same bin, all pairs of the two groups are
// in this bin. A single test then settles the two boxes: it counts all these pairs at once. Otherwise smaller groups
// are tested, and finally single points.
//
// * The tree is a kd-tree with nodes of only three sizes: 256 points, 16 points (leaves) and one point. A vector unit
//   tests 16 boxes against one box in less time than it takes to follow a pointer, so more levels would not pay. The
//   top level takes n^2 / 2 / 65536 tests.
// * Boxes are stored by column, as centre and half extent. A test computes |difference of the centres| and subtracts
//   the half extents for the lower bound, or adds them for the upper bound. It takes the square roots of both sums of
//   squares, and checks that both roots are in the same bin. It allows a margin of several times the filter's error
//   (FilterPlan::error), which also covers the rounding of the boxes. In a periodic box the test uses the difference to
//   the nearest image and caps separations at half of the box. This is valid because the separation changes no faster
//   than the difference. In a triclinic cell, boxes along the Cartesian axes also have extents along the vectors, which
//   decide whether several images are possible (bounds_in_cell).
// * A node of 256 points collects the nodes that a test against it did not settle. Each of its 16 leaves then tests the
//   leaves of the collected nodes, 32 of these nodes at a time, so that they stay in the cache.
// * The remaining work is pairs of leaves of 16 points each. Usually a single edge separates the least and greatest
//   distance of two leaves, so each pair of points is on one side of the edge or the other. Two comparisons of the
//   squared distance decide this without a root: one with slightly less than the edge's square and one with slightly
//   more. Each lane counts how often each comparison holds. If the two counts differ, some pair is doubtful.
// * If several edges are between the bounds, each point of the leaf tests the other leaf again, as a box of zero
//   extent. If that test fails too, the filter of simd_filter counts the vector of 16 pairs.
// * The canonical rule decides doubtful pairs.
// * Up to 255 points remain after the last full node. The filter pairs these points with all others.
//
// What changes from `simd_filter`: fewer pairs are counted one by one. With bins of width w and leaves of side a, about
// 1.4 a / w of the pairs remain in three dimensions, and a shrinks as n^(-1/d). The work grows as n^(2 - 1/d), so the
// method pays for many points and few bins. The range beyond the last edge is treated as one wide bin.
// Memory: 4 d + 20 bytes per point while the tree is built. Afterwards the points take 4 d + 4 bytes each, and the
// boxes take d / 2 bytes per point, in a triclinic cell 0.8 d.
// Limits: no weights; at most 2^28 points.
// Source: A. Gray, A. Moore, "N-body problems in statistical learning" (2000); Y.-C. Tu, S. Chen, S. Pandit, "Computing
// distance histograms efficiently in scientific databases" (2009).
#include "cpu/threads.hpp"
#include "pair_histogram/simd/dual_tree.hpp"
#include "pair_histogram/simd/simd_pairs.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pair_histogram/rungs/simd_dual_tree.cpp"
// clang-format off
#define GRADUS_WITHOUT_SSE4
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "pair_histogram/simd/simd_pairs-inl.hpp"

#ifndef GRADUS_PAIR_HISTOGRAM_SIMD_DUAL_TREE
#define GRADUS_PAIR_HISTOGRAM_SIMD_DUAL_TREE
namespace gradus::pair_histogram_detail {

constexpr std::int64_t leaf_points = filter_block;
constexpr std::int64_t node_leaves = 16;
constexpr std::int64_t node_points = node_leaves * leaf_points;
constexpr std::int64_t packed_nodes = 32;
constexpr std::int64_t packed_leaves = packed_nodes * node_leaves;

// Boxes, stored by column. Centres have the form of the points' coordinates. The unit of half extents is a cell. In a
// triclinic cell, half extents along the Cartesian axes are followed by half extents along the vectors, in steps.
constexpr int extent_limit = 2 * dimension_limit;

// The kernels' parameter D for two leaves of a triclinic cell all of whose pairs have the image of the centres.
constexpr int in_one_image = 5;
struct BoxColumns {
  const float* middle[dimension_limit];
  const float* half[extent_limit];
};

// The leaves whose test against the current leaf did not settle all pairs. If a single edge divides a leaf's pairs, the
// leaf is in `divided` and its edge is in `edges`. If several edges divide them, the leaf is in the other arrays.
struct PackedLeaves {
  static constexpr std::int64_t room = packed_leaves + 2 * filter_block;
  alignas(64) std::int32_t divided[room];
  alignas(64) std::int32_t edges[room];
  alignas(64) float middle[dimension_limit][room];
  alignas(64) float half[extent_limit][room];
  alignas(64) std::int32_t numbers[room];
  alignas(64) std::int32_t unsettled[room];  // leaves of `numbers` that the tests of one point did not settle
  std::int64_t divided_count;
  std::int64_t count;
};

// A leaf whose pairs with the current leaf are on both sides of a single edge.
struct DividedLeaf {
  std::int64_t number;
  std::int64_t edge;
};

// The trees that the kernels read, and the results that they store. The struct is plain data, because it is passed to
// code for other instruction sets.
struct TreeView {
  const float* const* first_points;
  const float* const* second_points;
  // In a triclinic cell: the Cartesian positions of points relative to the centres of their leaves, in cells.
  const float* first_local[dimension_limit];
  const float* second_local[dimension_limit];
  BoxColumns first_nodes;
  BoxColumns first_leaves;
  BoxColumns second_nodes;
  BoxColumns second_leaves;
  std::int64_t second_node_count;
  bool later;                       // true if each point is paired only with later points of the same set
  float margin;                     // margin of a distance, in cells
  float plain_magic;                // FilterView::magic without its margin
  float longest[dimension_limit];   // greatest separation per column, in cells
  const std::uint16_t* low_slots;   // slot at the lower end of each cell; null if cells are bins
  const std::uint16_t* high_slots;  // slot at the upper end of each cell
  // added to a slot number to get the histogram's slot: 1 if cells are bins, otherwise 0
  std::uint32_t first_slot;
  std::uint32_t unsettled;  // slot number that marks a pair of boxes as not settled
  // Three arrays, indexed by slot: how many pairs of two nodes, of two leaves, and of a point and a leaf were settled.
  std::uint64_t* counts[3];
  // The offset of each lane's copy of `counts`. Lanes have copies because equal slots are common.
  std::uint32_t copy[filter_block];
  const float* below_edge;  // by slot: a squared distance below this value is certainly before the slot
  const float* past_edge;   // by slot: a squared distance of at least this value is certainly not before the slot
  std::uint64_t* at_edge;   // by slot: number of leaf pairs that are divided only by the slot's lower edge
  // By slot and lane: the number of point pairs, in the leaf pairs of `at_edge`, that are not before the edge.
  std::uint32_t* after_edge;
  std::int32_t* nodes;  // the nodes that the test against the current node did not settle
  std::int64_t node_count;
  PackedLeaves* packed;
};

}  // namespace gradus::pair_histogram_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::pair_histogram_detail {
namespace HWY_NAMESPACE {
namespace {

using IntegerVector = hn::Vec<Integers>;

template <int D>
constexpr int coordinates_of = D == in_a_cell ? dimension_limit : D;
template <int D>
constexpr int extents_of = D == in_a_cell ? extent_limit : D;

// A box, broadcast to all lanes.
struct FirstBox {
  FirstPoint middle;
  FloatVector half[extent_limit];
};

template <int D>
HWY_INLINE FirstBox first_box(const BoxColumns& boxes, std::int64_t number) {
  FirstBox box;
  box.middle = first_point(boxes.middle, D, number);
#pragma GCC unroll 6
  for (int dim = 0; dim < extents_of<D>; ++dim) box.half[dim] = hn::Set(Floats(), boxes.half[dim][number]);
  return box;
}

// The result of testing several boxes against one box: the open boxes, which the test did not settle, and for each open
// box the slot of its greatest distance from the one box.
struct OpenBoxes {
  hn::Mask<Integers> open;
  hn::Mask<Integers> divided;  // open boxes whose pairs a single edge divides: the lower edge of the slot in `slots`
  IntegerVector slots;
};

// Bounds of the squared distances between the points of two boxes, in cells.
struct SquaredBounds {
  FloatVector nearest;
  FloatVector farthest;
};

// Returns the least squared distance of two boxes whose centres are `apart`.
HWY_INLINE FloatVector squared_gap(const FloatVector (&apart)[3], const FloatVector (&half)[3]) {
  auto square = hn::Set(Floats(), 0x1p-60F);
  for (int axis = 0; axis < 3; ++axis) {
    const auto gap = hn::Max(hn::Abs(apart[axis]) - half[axis], hn::Zero(Floats()));
    square = hn::MulAdd(gap, gap, square);
  }
  return square;
}

// Bounds the distances in a triclinic cell. If no difference of fractions can reach half a turn, all pairs of the two
// boxes have the image of the centres, and the boxes are as in open space. Otherwise the canonical rule chooses, for
// each vector along which half a turn is possible, the image of the centres or the next one towards them. The lower
// bound is then the least bound of these images. The upper bound of the centres' image still serves: if a pair has
// another image, its distance in the image of the centres is at least half of a height, so the bound is past the bins.
HWY_NOINLINE SquaredBounds bounds_in_cell(const FilterView& view, const FirstBox& first, const BoxColumns& boxes,
                                          std::int64_t place) {
  constexpr float half_turn = 0x1p31F * (1 - 0x1p-20F);  // with slack for rounding
  const Floats f;
  const Integers i;
  FloatVector steps[3];
  FloatVector turns[3];
  auto crosses = hn::MaskFromVec(hn::Zero(f));
  auto is_wide = crosses;
  for (int vector = 0; vector < 3; ++vector) {
    steps[vector] = hn::ConvertTo(f, hn::BitCast(i, first.middle.coordinates[vector]) -
                                         hn::BitCast(i, hn::LoadU(f, boxes.middle[vector] + place)));
    const auto half = first.half[3 + vector] + hn::LoadU(f, boxes.half[3 + vector] + place);
    const auto may_turn = hn::Abs(steps[vector]) + half >= hn::Set(f, half_turn);
    turns[vector] = hn::IfThenElseZero(may_turn, hn::CopySign(hn::Set(f, 0x1p32F), steps[vector]));
    crosses = hn::Or(crosses, may_turn);
    is_wide = hn::Or(is_wide, half >= hn::Set(f, half_turn));
  }
  const auto along = [&](const FloatVector(&numbers)[3], int axis) {
    auto sum = numbers[0] * hn::Set(f, view.steps[0][axis]);
    sum = hn::MulAdd(numbers[1], hn::Set(f, view.steps[1][axis]), sum);
    return hn::MulAdd(numbers[2], hn::Set(f, view.steps[2][axis]), sum);
  };
  FloatVector apart[3];
  FloatVector half[3];
  auto farthest = hn::Set(f, 0x1p-60F);
  for (int axis = 0; axis < 3; ++axis) {
    apart[axis] = along(steps, axis);
    half[axis] = first.half[axis] + hn::LoadU(f, boxes.half[axis] + place);
    const auto far = hn::Abs(apart[axis]) + half[axis];
    farthest = hn::MulAdd(far, far, farthest);
  }
  auto nearest = squared_gap(apart, half);
  if (HWY_LIKELY(hn::AllFalse(f, crosses))) return {nearest, farthest};
  for (int image = 1; image < 8; ++image) {
    FloatVector from_turns[3];
    for (int vector = 0; vector < 3; ++vector)
      from_turns[vector] = (image >> vector & 1) != 0 ? steps[vector] - turns[vector] : steps[vector];
    for (int axis = 0; axis < 3; ++axis) apart[axis] = along(from_turns, axis);
    nearest = hn::Min(nearest, squared_gap(apart, half));
  }
  return {hn::IfThenElse(is_wide, hn::Set(f, 0x1p-60F), nearest), farthest};
}

template <int D, bool periodic>
HWY_INLINE SquaredBounds squared_bounds(const FilterView& view, const TreeView& tree, const FirstBox& first,
                                        const BoxColumns& boxes, std::int64_t place) {
  if constexpr (D == in_a_cell) return bounds_in_cell(view, first, boxes, place);
  const Floats f;
  SquaredBounds bounds{hn::Set(f, 0x1p-60F), hn::Set(f, 0x1p-60F)};
#pragma GCC unroll 3
  for (int dim = 0; dim < coordinates_of<D>; ++dim) {
    const auto apart = hn::Abs(
        separation<periodic>(view, dim, first.middle.coordinates[dim], hn::LoadU(f, boxes.middle[dim] + place)));
    const auto half = first.half[dim] + hn::LoadU(f, boxes.half[dim] + place);
    const auto near = hn::Max(apart - half, hn::Zero(f));
    auto far = apart + half;
    if constexpr (periodic) far = hn::Min(far, hn::Set(f, tree.longest[dim]));
    bounds.nearest = hn::MulAdd(near, near, bounds.nearest);
    bounds.farthest = hn::MulAdd(far, far, bounds.farthest);
  }
  return bounds;
}

// Tests a vector of boxes, which starts at index `place` of `boxes`, against the box `first`. Uses only the lanes
// [from, to) of the vector. Counts the settled boxes in these lanes, and returns the open ones.
template <int D, bool periodic>
HWY_INLINE OpenBoxes settle_boxes(const FilterView& view, const TreeView& tree, const FirstBox& first,
                                  const BoxColumns& boxes, std::int64_t place, std::int64_t from, std::int64_t to,
                                  std::uint64_t* counts) {
  const Floats f;
  const Integers i;
  const Numbers u;
  const auto [nearest, farthest] = squared_bounds<D, periodic>(view, tree, first, boxes, place);
  const auto greatest = hn::Set(f, view.greatest_square);
  const auto margin = hn::Set(f, tree.margin);
  const auto magic = hn::Set(f, tree.plain_magic);
  const auto low = hn::BitCast(u, hn::Max(root_of(hn::Min(nearest, greatest)) - margin, hn::Zero(f)) + magic);
  const auto high = hn::BitCast(u, root_of(hn::Min(farthest, greatest)) + margin + magic);
  const auto low_cells = hn::ShiftRightSame(low, view.fraction_bits) - hn::Set(u, view.ahead);
  const auto high_cells = hn::ShiftRightSame(high, view.fraction_bits) - hn::Set(u, view.ahead);
  const auto lanes = hn::Iota(i, 0);
  const auto asked =
      hn::And(lanes > hn::Set(i, static_cast<std::int32_t>(std::min<std::int64_t>(from, filter_block)) - 1),
              lanes < hn::Set(i, static_cast<std::int32_t>(std::min<std::int64_t>(to, filter_block))));
  auto low_slots = low_cells;
  auto high_slots = high_cells;
  HWY_ALIGN std::uint32_t slots[hn::MaxLanes(u)];
  if (tree.low_slots != nullptr) {
    const auto look_up = [&](const std::uint16_t* table, NumberVector cells) {
      hn::Store(cells, u, slots);
      for (std::uint32_t& slot : slots) slot = table[slot];
      return hn::Load(u, slots);
    };
    low_slots = look_up(tree.low_slots, low_cells);
    high_slots = look_up(tree.high_slots, high_cells);
  }
  const auto settled = hn::And(hn::RebindMask(u, asked), low_slots == high_slots);
  hn::Store(hn::IfThenElse(settled, low_slots, hn::Set(u, tree.unsettled)) + hn::LoadU(u, tree.copy), u, slots);
  for (const std::uint32_t slot : slots) ++counts[slot];
  const auto open = hn::AndNot(hn::RebindMask(i, settled), asked);
  return {open, hn::And(open, hn::RebindMask(i, high_slots == low_slots + hn::Set(u, 1))), hn::BitCast(i, high_slots)};
}

template <int D, bool periodic>
void nodes_kernel(FilterView& view, TreeView& tree, std::int64_t node) {
  const Integers i;
  tree.node_count = 0;
  if (tree.later) tree.nodes[tree.node_count++] = static_cast<std::int32_t>(node);
  const FirstBox box = first_box<D>(tree.first_nodes, node);
  for (std::int64_t place = tree.later ? node + 1 : 0; place < tree.second_node_count; place += float_lanes()) {
    const auto open = settle_boxes<D, periodic>(view, tree, box, tree.second_nodes, place, 0,
                                                tree.second_node_count - place, tree.counts[0])
                          .open;
    hn::StoreU(hn::Compress(numbers_from(place), open), i, tree.nodes + tree.node_count);
    tree.node_count += static_cast<std::int64_t>(hn::CountTrue(i, open));
  }
}

// Two bounds of squared distances near an edge. If the squared distance of a pair is between the bounds, the canonical
// rule must decide on which side of the edge the pair is.
struct EdgeBounds {
  FloatVector below;
  FloatVector past;
};

HWY_INLINE EdgeBounds bounds_of_edge(const TreeView& tree, std::int64_t edge) {
  return {hn::Set(Floats(), tree.below_edge[edge]), hn::Set(Floats(), tree.past_edge[edge])};
}

// Two leaves. `apart` is the separation of their centres, in cells, if all pairs have the image of the centres.
struct LeafPair {
  std::int64_t first;
  DividedLeaf second;
  float apart[dimension_limit];
};

// Returns true if all pairs of two leaves in a triclinic cell have the image of the centres, and sets `apart`.
HWY_INLINE bool have_one_image(const FilterView& view, const TreeView& tree, LeafPair& pair) {
  constexpr float half_turn = 0x1p31F * (1 - 0x1p-20F);
  const std::int64_t other = pair.second.number;
  std::fill_n(pair.apart, dimension_limit, 0.0F);
  for (int vector = 0; vector < dimension_limit; ++vector) {
    std::uint32_t ends[2];
    hwy::CopyBytes<4>(tree.first_leaves.middle[vector] + pair.first, &ends[0]);
    hwy::CopyBytes<4>(tree.second_leaves.middle[vector] + other, &ends[1]);
    const auto steps = static_cast<float>(static_cast<std::int32_t>(ends[0] - ends[1]));
    const float half = tree.first_leaves.half[3 + vector][pair.first] + tree.second_leaves.half[3 + vector][other];
    if (std::abs(steps) + half >= half_turn) return false;
    for (int axis = 0; axis < dimension_limit; ++axis) pair.apart[axis] += steps * view.steps[vector][axis];
  }
  return true;
}

// Returns the squared distances of a point of the first leaf and a vector of points of the second.
template <int D, bool periodic>
HWY_INLINE FloatVector squared_in_leaves(const FilterView& view, const TreeView& tree, const LeafPair& pair,
                                         std::int64_t point, std::int64_t place) {
  if constexpr (D == in_one_image) {
    const Floats f;
    auto square = hn::Set(f, 0x1p-60F);
#pragma GCC unroll 3
    for (int axis = 0; axis < dimension_limit; ++axis) {
      const auto second = hn::LoadU(f, tree.second_local[axis] + place) - hn::Set(f, pair.apart[axis]);
      const auto apart = hn::Set(f, tree.first_local[axis][point]) - second;
      square = hn::MulAdd(apart, apart, square);
    }
    return square;
  } else {
    return squared_distances<D, periodic>(view, first_point(tree.first_points, D, point), tree.second_points, place);
  }
}

// Queues the doubtful pairs of two leaves. The caller has already counted these pairs as past the edge; the canonical
// rule corrects the count later.
template <int D, bool periodic>
HWY_NOINLINE void queue_near_edge(FilterView& view, const TreeView& tree, const LeafPair& pair) {
  const Floats f;
  const Integers i;
  const EdgeBounds edge = bounds_of_edge(tree, pair.second.edge);
  HWY_ALIGN std::int32_t places[2 * hn::MaxLanes(i)];
  for (std::int64_t point = pair.first * leaf_points; point < (pair.first + 1) * leaf_points; ++point)
    for (std::int64_t lane = 0; lane < leaf_points; lane += float_lanes()) {
      const std::int64_t place = pair.second.number * leaf_points + lane;
      const auto square = squared_in_leaves<D, periodic>(view, tree, pair, point, place);
      const auto doubtful = hn::And(square >= edge.below, square < edge.past);
      hn::StoreU(hn::Compress(numbers_from(place), hn::RebindMask(i, doubtful)), i, places);
      const auto count = static_cast<std::int64_t>(hn::CountTrue(f, doubtful));
      for (std::int64_t index = 0; index < count; ++index)
        view.queue[view.queued++] = {static_cast<std::int32_t>(point), places[index],
                                     static_cast<std::uint32_t>(pair.second.edge) + tree.first_slot};
      if (view.queued >= doubt_limit) view.settle(view.owner);
    }
}

// Counts the pairs of two leaves that one edge divides. The function needs no root and keeps the counts in registers.
template <int D, bool periodic>
HWY_INLINE void count_divided(FilterView& view, const TreeView& tree, LeafPair pair) {
  if constexpr (D == in_a_cell)
    if (HWY_LIKELY(have_one_image(view, tree, pair))) return count_divided<in_one_image, periodic>(view, tree, pair);
  const Numbers u;
  const EdgeBounds edge = bounds_of_edge(tree, pair.second.edge);
  const auto one = hn::Set(u, 1);
  auto not_below = hn::Zero(u);
  auto past = hn::Zero(u);
  for (std::int64_t lane = 0; lane < leaf_points; lane += float_lanes()) {
    const std::int64_t place = pair.second.number * leaf_points + lane;
#pragma GCC unroll 16
    for (std::int64_t index = 0; index < leaf_points; ++index) {
      const auto square = squared_in_leaves<D, periodic>(view, tree, pair, pair.first * leaf_points + index, place);
      not_below = hn::IfThenElse(hn::RebindMask(u, square >= edge.below), not_below + one, not_below);
      past = hn::IfThenElse(hn::RebindMask(u, square >= edge.past), past + one, past);
    }
  }
  ++tree.at_edge[pair.second.edge];
  std::uint32_t* const after = tree.after_edge + pair.second.edge * filter_block;
  hn::StoreU(hn::LoadU(u, after) + not_below, u, after);
  if (HWY_UNLIKELY(!hn::AllTrue(u, not_below == past))) queue_near_edge<D, periodic>(view, tree, pair);
}

// Second points as a list of blocks, each of which begins `offset` points after a multiple of filter_block.
struct BlocksFrom {
  const std::int32_t* blocks;
  std::int64_t offset;
  std::int64_t operator()(std::int64_t vector) const {
    const std::int64_t to_a_block = filter_block / float_lanes();
    return blocks[vector / to_a_block] * filter_block + offset + vector % to_a_block * float_lanes();
  }
};

// Counts the pairs of a point with the blocks of PackedLeaves::unsettled.
template <int D, bool periodic, int joint>
HWY_NOINLINE void unsettled_kernel(FilterView& view, const TreeView& tree, std::int64_t point, RowEnd end,
                                   std::int64_t offset) {
  count_row<D, periodic, joint>(view, first_point(tree.first_points, D, point), tree.second_points,
                                BlocksFrom{tree.packed->unsettled, offset}, end, PairNumbers{point, nullptr},
                                Weights{});
}
template <int D, bool periodic>
void count_unsettled(FilterView& view, const TreeView& tree, std::int64_t point, RowEnd end, std::int64_t offset) {
  GRADUS_PAIR_KERNEL_JOINT(unsettled_kernel, D, periodic, view, tree, point, end, offset)
}

// Counts the pairs of a leaf's points with the packed leaves that several edges divide.
template <int D, bool periodic>
HWY_NOINLINE void count_packed(FilterView& view, const TreeView& tree, std::int64_t leaf) {
  const Integers i;
  PackedLeaves& packed = *tree.packed;
  BoxColumns boxes;
  for (int dim = 0; dim < dimension_limit; ++dim) boxes.middle[dim] = packed.middle[dim];
  for (int dim = 0; dim < extent_limit; ++dim) boxes.half[dim] = packed.half[dim];
  FirstBox box;
  for (auto& half : box.half) half = hn::Zero(Floats());
  for (std::int64_t point = leaf * leaf_points; point < (leaf + 1) * leaf_points; ++point) {
    box.middle = first_point(tree.first_points, D, point);
    std::int64_t unsettled = 0;
    for (std::int64_t place = 0; place < packed.count; place += float_lanes()) {
      const auto open =
          settle_boxes<D, periodic>(view, tree, box, boxes, place, 0, packed.count - place, tree.counts[2]).open;
      hn::StoreU(hn::Compress(hn::LoadU(i, packed.numbers + place), open), i, packed.unsettled + unsettled);
      unsettled += static_cast<std::int64_t>(hn::CountTrue(i, open));
    }
    if (unsettled > 0)
      count_unsettled<D, periodic>(view, tree, point, {unsettled * (filter_block / float_lanes()) - 1, float_lanes()},
                                   0);
  }
}

// Tests the leaves of some nodes against the current leaf, and packs the leaves that are not settled.
template <int D, bool periodic>
HWY_INLINE void pack_leaves(const FilterView& view, const TreeView& tree, std::int64_t leaf, cpu::Range numbers) {
  const Floats f;
  const Integers i;
  const FirstBox box = first_box<D>(tree.first_leaves, leaf);
  PackedLeaves& packed = *tree.packed;
  std::int64_t divided = 0;
  std::int64_t count = 0;
  for (std::int64_t number = numbers.begin; number < numbers.end; ++number) {
    const std::int64_t first = tree.nodes[number] * node_leaves;
    for (std::int64_t place = first; place < first + node_leaves; place += float_lanes()) {
      const std::int64_t skip = tree.later ? std::max<std::int64_t>(0, leaf + 1 - place) : 0;
      const OpenBoxes found =
          settle_boxes<D, periodic>(view, tree, box, tree.second_leaves, place, skip, float_lanes(), tree.counts[1]);
      const auto places = numbers_from(place);
      hn::StoreU(hn::Compress(places, found.divided), i, packed.divided + divided);
      hn::StoreU(hn::Compress(found.slots, found.divided), i, packed.edges + divided);
      divided += static_cast<std::int64_t>(hn::CountTrue(i, found.divided));
      const auto others = hn::AndNot(found.divided, found.open);
      if (hn::AllFalse(i, others)) continue;
      const auto other_floats = hn::RebindMask(f, others);
#pragma GCC unroll 3
      for (int dim = 0; dim < coordinates_of<D>; ++dim)
        hn::StoreU(hn::Compress(hn::LoadU(f, tree.second_leaves.middle[dim] + place), other_floats), f,
                   packed.middle[dim] + count);
#pragma GCC unroll 6
      for (int dim = 0; dim < extents_of<D>; ++dim)
        hn::StoreU(hn::Compress(hn::LoadU(f, tree.second_leaves.half[dim] + place), other_floats), f,
                   packed.half[dim] + count);
      hn::StoreU(hn::Compress(places, others), i, packed.numbers + count);
      count += static_cast<std::int64_t>(hn::CountTrue(i, others));
    }
  }
  packed.divided_count = divided;
  packed.count = count;
}

// Counts the pairs of a node's leaves with the leaves of some nodes. These nodes are few enough to stay in the cache.
template <int D, bool periodic>
void leaves_kernel(FilterView& view, TreeView& tree, std::int64_t node, cpu::Range numbers) {
  const PackedLeaves& packed = *tree.packed;
  for (std::int64_t leaf = node * node_leaves; leaf < (node + 1) * node_leaves; ++leaf) {
    pack_leaves<D, periodic>(view, tree, leaf, numbers);
    for (std::int64_t index = 0; index < packed.divided_count; ++index)
      count_divided<D, periodic>(view, tree, {leaf, {packed.divided[index], packed.edges[index]}, {}});
    if (packed.count > 0) count_packed<D, periodic>(view, tree, leaf);
  }
}

// Counts all pairs of a point with a range of other points: of the same leaf, or after the last full node.
template <int D, bool periodic>
void range_kernel(FilterView& view, const TreeView& tree, std::int64_t point, cpu::Range range) {
  std::int32_t* const blocks = tree.packed->unsettled;
  for (std::int64_t begin = range.begin; begin < range.end; begin += packed_leaves * filter_block) {
    const std::int64_t count = std::min(packed_leaves * filter_block, range.end - begin);
    for (std::int64_t block = 0; block * filter_block < count; ++block)
      blocks[block] = static_cast<std::int32_t>(begin / filter_block + block);
    const std::int64_t last = (count - 1) / float_lanes();
    count_unsettled<D, periodic>(view, tree, point, {last, count - last * float_lanes()}, begin % filter_block);
  }
}

void find_nodes(FilterView& view, TreeView& tree, std::int64_t node) {
  if (view.triclinic) return nodes_kernel<in_a_cell, true>(view, tree, node);
  GRADUS_PAIR_KERNEL(nodes_kernel, view, tree, node)
}
void count_leaves(FilterView& view, TreeView& tree, std::int64_t node, cpu::Range numbers) {
  if (view.triclinic) return leaves_kernel<in_a_cell, true>(view, tree, node, numbers);
  GRADUS_PAIR_KERNEL(leaves_kernel, view, tree, node, numbers)
}
void count_point(FilterView& view, TreeView& tree, std::int64_t point, cpu::Range range) {
  if (view.triclinic) return range_kernel<in_a_cell, true>(view, tree, point, range);
  GRADUS_PAIR_KERNEL(range_kernel, view, tree, point, range)
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::pair_histogram_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bit>
#include <cmath>
#include <utility>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tile_pairs.hpp"

namespace gradus::pair_histogram_detail {

HWY_EXPORT(find_nodes);
HWY_EXPORT(count_leaves);
HWY_EXPORT(count_point);

namespace {

// The margin in units of the filter's error. It covers the rounding of centres, extents, sums and roots.
constexpr double node_margin = 4;

constexpr std::int64_t counts_to_copy = 1024;
// Up to this number of leaf pairs, 32-bit lanes do not overflow: each pair adds at most leaf_points to a lane.
constexpr std::int64_t most_leaf_pairs = std::int64_t{1} << 27;

struct TreePoint {
  float coordinates[dimension_limit];
  std::int32_t row;
};

// The boxes of one level, with one vector of padding.
class Boxes {
 public:
  Boxes() = default;
  Boxes(std::int64_t count, std::int64_t dimensions, std::int64_t extents)
      : stride_(count + filter_block), dimensions_(dimensions), extents_(extents),
        values_((dimensions + extents) * stride_, 0.0F) {}
  float* middle(std::int64_t dim) { return values_.data() + dim * stride_; }
  float* half(std::int64_t dim) { return values_.data() + (dimensions_ + dim) * stride_; }
  BoxColumns columns() {
    BoxColumns columns{};
    for (std::int64_t dim = 0; dim < dimensions_; ++dim) columns.middle[dim] = middle(dim);
    for (std::int64_t dim = 0; dim < extents_; ++dim) columns.half[dim] = half(dim);
    return columns;
  }

 private:
  std::int64_t stride_ = 0;
  std::int64_t dimensions_ = 0;
  std::int64_t extents_ = 0;
  Buffer<float> values_;
};

template <class T>
class Tree {
 public:
  Tree() = default;
  Tree(const Problem<T>& problem, const FilterPlan& plan, MatrixView<const T> points, int threads)
      : dimensions_(problem.d()), integers_(plan.coordinates == FilterCoordinates::integers && !problem.triclinic),
        order_(points.rows()),
        nodes_(points.rows() / node_points, problem.d(), problem.triclinic ? extent_limit : problem.d()),
        leaves_(points.rows() / node_points * node_leaves, problem.d(),
                problem.triclinic ? extent_limit : problem.d()) {
    for (std::int64_t dim = 0; dim < dimensions_; ++dim)
      cells_per_step_[dim] =
          integers_ ? plan.cells_per_length / plan.steps_per_length[static_cast<std::size_t>(dim)] : 1.0;
    if (problem.triclinic) sort_in_brick(problem, points, threads);
    else sort(FilterColumns<T>(problem, plan, points, {}, threads), threads, problem.stop);
    columns_ =
        FilterColumns<T>(problem, plan, points, {order_.data(), static_cast<std::size_t>(order_.size())}, threads);
    if (problem.triclinic) local_ = Buffer<float>(dimension_limit * padded(size()), 0.0F);
    for (const auto& [boxes, points_of_a_box] : {std::pair(&nodes_, node_points), std::pair(&leaves_, leaf_points)}) {
      if (problem.triclinic) enclose_in_cell(problem, plan, *boxes, points_of_a_box, threads);
      else enclose(*boxes, points_of_a_box, threads, problem.stop);
    }
    core::honour_stop(problem.stop, while_sorting);
  }

  const float* const* points() const { return columns_.columns(); }
  const std::int32_t* order() const { return order_.data(); }
  std::int64_t size() const { return order_.size(); }
  std::int64_t node_count() const { return size() / node_points; }
  /// Returns the positions along an axis relative to the centres of leaves. Only in a triclinic cell.
  const float* local(int axis) const { return local_.data() + axis * padded(size()); }
  BoxColumns nodes() { return nodes_.columns(); }
  BoxColumns leaves() { return leaves_.columns(); }

 private:
  double value(float coordinate) const {
    return integers_ ? static_cast<double>(std::bit_cast<std::int32_t>(coordinate)) : static_cast<double>(coordinate);
  }

  void sort(const FilterColumns<T>& columns, int threads, const std::stop_token& stop) {
    sort(threads, stop, [&](std::int64_t row, float* coordinates) {
      for (std::int64_t dim = 0; dim < dimensions_; ++dim) coordinates[dim] = columns.columns()[dim][row];
    });
  }

  // Sorts by positions in the cell's brick, whose perpendicular edges make boxes compact.
  void sort_in_brick(const Problem<T>& problem, MatrixView<const T> rows, int threads) {
    const Brick brick(problem.cell);
    sort(threads, problem.stop, [&](std::int64_t row, float* coordinates) {
      double from_origin[dimension_limit];
      double shares[dimension_limit];
      for (std::size_t axis = 0; axis < dimension_limit; ++axis)
        from_origin[axis] = static_cast<double>(rows.row(row)[axis]) - problem.box_origin[axis];
      brick.locate(from_origin[0], from_origin[1], from_origin[2], shares);
      for (int axis = 0; axis < dimension_limit; ++axis)
        coordinates[axis] = static_cast<float>(shares[axis] * brick.edge(axis) / brick.edge(0));
    });
  }

  // Calls locate(row, coordinates) for the coordinates by which the rows are sorted.
  template <class Locate>
  void sort(int threads, const std::stop_token& stop, const Locate& locate) {
    Buffer<TreePoint> points(size());
    for (std::int64_t row = 0; row < size(); ++row) {
      if (row % core::operations_between_polls == 0) core::honour_stop(stop, while_sorting);
      locate(row, points[row].coordinates);
      points[row].row = static_cast<std::int32_t>(row);
    }
#pragma omp parallel num_threads(threads)
#pragma omp single
    split(points.data(), points.data() + points.size(), stop);
    for (std::int64_t place = 0; place < size(); ++place) {
      if (place % core::operations_between_polls == 0) core::honour_stop(stop, while_sorting);
      order_[place] = points[place].row;
    }
  }

  // Splits a range of points recursively into halves, across its longest side. The borders of the halves are at
  // multiples of whole leaves. Ends early after a stop request.
  void split(TreePoint* begin, TreePoint* end, const std::stop_token& stop) {
    const std::int64_t count = end - begin;
    if (count <= leaf_points || stop.stop_requested()) return;
    constexpr std::int64_t task_points = 1 << 14;
    constexpr std::int64_t points_that_take_long = 1 << 20;
    TreePoint* middle = nullptr;
    if (count < points_that_take_long) {
      middle = halve(begin, end, [] {});
    } else {
      core::RarePoll look(stop, while_sorting);
      try {
        middle = halve(begin, end, [&] { look.honour_stop(); });
      } catch (const InterruptedError&) {
        return;  // no exception may leave a task; the caller checks for a stop request itself
      }
    }
#pragma omp task if (count > task_points) default(shared) firstprivate(begin, middle)
    split(begin, middle, stop);
    split(middle, end, stop);
#pragma omp taskwait
  }

  // Partitions a range at the median of its longest side and returns the middle. Calls look() at every comparison.
  template <class Look>
  TreePoint* halve(TreePoint* begin, TreePoint* end, const Look& look) const {
    const auto lower = [&](std::int64_t dim) {
      return [this, dim, &look](const TreePoint& a, const TreePoint& b) {
        look();
        return value(a.coordinates[dim]) < value(b.coordinates[dim]);
      };
    };
    double extents[dimension_limit] = {};
    for (std::int64_t dim = 0; dim < dimensions_; ++dim) {
      const auto [low, high] = std::minmax_element(begin, end, lower(dim));
      extents[dim] = (value(high->coordinates[dim]) - value(low->coordinates[dim])) * cells_per_step_[dim];
    }
    const std::int64_t longest = std::max_element(extents, extents + dimensions_) - extents;
    TreePoint* const middle = begin + std::bit_ceil(static_cast<std::uint64_t>(end - begin)) / 2;
    std::nth_element(begin, middle, end, lower(longest));
    return middle;
  }

  // Encloses the points in boxes. Rounds centres to the form of the points' coordinates. Rounds half extents up, so
  // that each box still contains its points.
  void enclose(Boxes& boxes, std::int64_t points_of_a_box, int threads, const std::stop_token& stop) {
    const std::int64_t count = node_count() * (node_points / points_of_a_box);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t box = 0; box < count; ++box) {
      if (stop.stop_requested()) continue;
      for (std::int64_t dim = 0; dim < dimensions_; ++dim) {
        const float* const column = columns_.columns()[dim] + box * points_of_a_box;
        double low = value(column[0]);
        double high = low;
        for (std::int64_t point = 1; point < points_of_a_box; ++point) {
          low = std::min(low, value(column[point]));
          high = std::max(high, value(column[point]));
        }
        const double exact = low + (high - low) / 2;
        const float middle =
            integers_ ? std::bit_cast<float>(static_cast<std::int32_t>(exact)) : static_cast<float>(exact);
        const double half = std::max(high - value(middle), value(middle) - low) * cells_per_step_[dim];
        boxes.middle(dim)[box] = middle;
        boxes.half(dim)[box] = static_cast<float>(half * (1 + 0x1p-22));
      }
    }
  }

  // Encloses points of a triclinic cell in boxes along the Cartesian axes. The points are at the images nearest to the
  // first point of the box.
  void enclose_in_cell(const Problem<T>& problem, const FilterPlan& plan, Boxes& boxes, std::int64_t points_of_a_box,
                       int threads) {
    const std::int64_t count = node_count() * (node_points / points_of_a_box);
    const Cell& cell = problem.cell;
    const double scale = plan.cells_per_length * 0x1p-32;  // of a step along a vector of length 1
    const auto step = [this](int vector, std::int64_t place) {
      return std::bit_cast<std::uint32_t>(columns_.columns()[vector][place]);
    };
    const auto along = [&](const double* steps, int axis) {
      return (steps[0] * cell.vectors[0][axis] + steps[1] * cell.vectors[1][axis] + steps[2] * cell.vectors[2][axis]) *
             scale;
    };
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t box = 0; box < count; ++box) {
      if (problem.stop.stop_requested()) continue;
      const std::int64_t first = box * points_of_a_box;
      double low[dimension_limit] = {};
      double high[dimension_limit] = {};
      const auto visit = [&](const auto& take) {
        for (std::int64_t point = first; point < first + points_of_a_box; ++point) {
          double steps[dimension_limit];
          for (int vector = 0; vector < dimension_limit; ++vector)
            steps[vector] = static_cast<std::int32_t>(step(vector, point) - step(vector, first));
          take(steps, point);
        }
      };
      visit([&](const double* steps, std::int64_t) {
        for (int axis = 0; axis < dimension_limit; ++axis) {
          low[axis] = std::min(low[axis], along(steps, axis));
          high[axis] = std::max(high[axis], along(steps, axis));
        }
      });
      double middle[dimension_limit];  // in steps from the first point
      for (int vector = 0; vector < dimension_limit; ++vector) {
        double share = 0;
        for (int axis = 0; axis < dimension_limit; ++axis)
          share += cell.reciprocal[vector][axis] * (low[axis] + high[axis]) / 2;
        middle[vector] = std::rint(share / scale);
        boxes.middle(vector)[box] = std::bit_cast<float>(
            step(vector, first) + static_cast<std::uint32_t>(static_cast<std::int64_t>(middle[vector])));
      }
      double half[extent_limit] = {};
      visit([&](const double* steps, std::int64_t point) {
        double apart[dimension_limit];
        for (int vector = 0; vector < dimension_limit; ++vector) {
          apart[vector] = steps[vector] - middle[vector];
          half[dimension_limit + vector] = std::max(half[dimension_limit + vector], std::abs(apart[vector]));
        }
        for (int axis = 0; axis < dimension_limit; ++axis) {
          const double place = along(apart, axis);
          half[axis] = std::max(half[axis], std::abs(place));
          if (points_of_a_box == leaf_points) local_[axis * padded(size()) + point] = static_cast<float>(place);
        }
      });
      for (int extent = 0; extent < extent_limit; ++extent)
        boxes.half(extent)[box] = static_cast<float>(half[extent] * (1 + 0x1p-22));
    }
  }

  std::int64_t dimensions_ = 0;
  bool integers_ = false;
  double cells_per_step_[dimension_limit] = {1, 1, 1};
  FilterColumns<T> columns_;
  Buffer<float> local_;
  Buffer<std::int32_t> order_;
  Boxes nodes_;
  Boxes leaves_;
};

// The slots at the ends of cells, for cells that are not bins.
struct EndSlots {
  std::vector<std::uint16_t> low;
  std::vector<std::uint16_t> high;

  EndSlots(const FilterPlan& plan, const Bins& bins) {
    if (plan.joint) return;
    const auto slot = [&](std::int64_t cell) {
      const double distance = static_cast<double>(cell) / plan.cells_per_length;
      return static_cast<std::uint16_t>(bins.slot(distance * distance));
    };
    for (std::int64_t cell = 0; cell < plan.cells; ++cell) {
      low.push_back(slot(cell));
      high.push_back(slot(cell + 1));
    }
  }
};

template <class T>
class TreeCounter {
 public:
  TreeCounter(const Problem<T>& problem, const FilterPlan& plan, const EndSlots& ends, Tree<T>& first, Tree<T>& second,
              FilterCounters<T>& counters)
      : counters_(counters), stop_(problem.stop), first_size_(first.size()), second_size_(second.size()), packed_(1),
        nodes_(static_cast<std::size_t>(second.node_count() + 2 * filter_block)) {
    const FilterView& view = counters.view();
    tree_.first_points = first.points();
    tree_.second_points = second.points();
    for (int axis = 0; axis < dimension_limit && problem.triclinic; ++axis) {
      tree_.first_local[axis] = first.local(axis);
      tree_.second_local[axis] = second.local(axis);
    }
    tree_.first_nodes = first.nodes();
    tree_.first_leaves = first.leaves();
    tree_.second_nodes = second.nodes();
    tree_.second_leaves = second.leaves();
    tree_.second_node_count = second.node_count();
    tree_.later = !problem.cross;
    const double unit = std::ldexp(1.0, -view.fraction_bits);
    tree_.margin = static_cast<float>(node_margin * plan.error + 2 * unit);
    tree_.plain_magic = std::bit_cast<float>(view.ahead << view.fraction_bits);
    for (std::int64_t dim = 0; dim < problem.d() && !problem.triclinic; ++dim)
      tree_.longest[dim] =
          static_cast<float>(problem.box[static_cast<std::size_t>(dim)] / 2 * plan.cells_per_length * (1 + 0x1p-20));
    tree_.first_slot = plan.joint ? 1 : 0;
    tree_.low_slots = plan.joint ? nullptr : ends.low.data();
    tree_.high_slots = ends.high.data();
    const std::int64_t slots = plan.joint ? plan.cells : problem.bins.slots();
    tree_.unsettled = static_cast<std::uint32_t>(slots);
    std::int64_t copies = filter_block;
    while (copies > 1 && copies * (slots + 1) > counts_to_copy) copies /= 2;
    for (std::int64_t lane = 0; lane < filter_block; ++lane)
      tree_.copy[lane] = static_cast<std::uint32_t>(lane % copies * (slots + 1));
    for (int height = 0; height < 3; ++height) {
      counts_[height].resize(static_cast<std::size_t>(copies * (slots + 1)));
      tree_.counts[height] = counts_[height].data();
    }
    // FilterPlan::error_at allows an error of 3 u in an axis of the separation, with u = 2^-24 times the cell's extent.
    // `in_one_image` has up to 6 u: the centres' separation 2.5 u, the points' places u, the two differences u and 1.5
    // u.
    set_edge_bounds(plan, problem.bins.thresholds(), slots, problem.triclinic ? 2 * plan.error : plan.error);
    tree_.nodes = nodes_.data();
    tree_.packed = packed_.data();
  }

  // Counts the pairs of an item, which is a node or a point after the last full node. After a stop request the counts
  // are incomplete.
  void count(std::int64_t item) {
    FilterView& view = counters_.view();
    const std::int64_t nodes = first_size_ / node_points;
    const std::int64_t in_nodes = tree_.second_node_count * node_points;
    if (item >= nodes) {
      const std::int64_t point = nodes * node_points + item - nodes;
      const cpu::Range range{tree_.later ? point + 1 : 0, second_size_};
      counters_.expect(static_cast<std::uint64_t>(second_size_));
      constexpr std::int64_t pairs_between_looks = 1 << 24;
      for (std::int64_t first = range.begin; first < range.end; first += pairs_between_looks) {
        if (stop_.stop_requested()) return;
        HWY_DYNAMIC_DISPATCH(count_point)
        (view, tree_, point, {first, std::min(first + pairs_between_looks, range.end)});
      }
      return;
    }
    HWY_DYNAMIC_DISPATCH(find_nodes)(view, tree_, item);
    for (std::int64_t first = 0; first < tree_.node_count; first += packed_nodes) {
      if (stop_.stop_requested()) return;
      const cpu::Range numbers{first, std::min(first + packed_nodes, tree_.node_count)};
      counters_.expect(static_cast<std::uint64_t>(numbers.size() * node_points * node_points));
      if ((leaf_pairs_ += numbers.size() * node_leaves * node_leaves) > most_leaf_pairs) gather_after_edges();
      HWY_DYNAMIC_DISPATCH(count_leaves)(view, tree_, item, numbers);
    }
    // Counts the pairs that no test of two boxes covers. These are pairs within a leaf, and pairs with points after the
    // last full node.
    for (std::int64_t point = item * node_points; point < (item + 1) * node_points; ++point) {
      counters_.expect(node_points + leaf_points);
      if (tree_.later) {
        const std::int64_t leaf_end = (point / leaf_points + 1) * leaf_points;
        HWY_DYNAMIC_DISPATCH(count_point)(view, tree_, point, {point + 1, leaf_end});
      }
      HWY_DYNAMIC_DISPATCH(count_point)(view, tree_, point, {in_nodes, second_size_});
    }
  }

  void finish() {
    gather_after_edges();
    for (std::size_t place = 1; place < at_edge_.size(); ++place)
      counters_.add(static_cast<std::int64_t>(place) + tree_.first_slot - 1,
                    at_edge_[place] * leaf_points * leaf_points);
    constexpr std::int64_t pairs[3] = {node_points * node_points, leaf_points * leaf_points, leaf_points};
    for (int height = 0; height < 3; ++height)
      for (std::size_t place = 0; place < counts_[height].size(); ++place)
        if (const std::size_t slot = place % (tree_.unsettled + 1); slot != tree_.unsettled)
          counters_.add(static_cast<std::int64_t>(slot) + tree_.first_slot,
                        counts_[height][place] * static_cast<std::uint64_t>(pairs[height]));
  }

 private:
  // Computes two bounds for the lower edge of each slot. If a squared distance is between the bounds, the canonical
  // rule decides.
  void set_edge_bounds(const FilterPlan& plan, std::span<const double> thresholds, std::int64_t slots, double error) {
    constexpr double rounding = 0x1p-22;  // relative rounding error of the squares when they are converted to float
    for (std::int64_t place = 0; place < slots; ++place) {
      const std::int64_t slot = place + tree_.first_slot;
      const double threshold = slot == 0 ? 0 : thresholds[static_cast<std::size_t>(slot - 1)];
      const double edge = std::sqrt(threshold) * plan.cells_per_length;
      const double below = std::max(0.0, edge - error);
      const double past = edge + error;
      below_edge_.push_back(static_cast<float>(below * below * (1 - rounding)));
      past_edge_.push_back(static_cast<float>(past * past * (1 + rounding)));
    }
    at_edge_.resize(static_cast<std::size_t>(slots));
    after_edge_.resize(static_cast<std::size_t>(slots * filter_block));
    tree_.below_edge = below_edge_.data();
    tree_.past_edge = past_edge_.data();
    tree_.at_edge = at_edge_.data();
    tree_.after_edge = after_edge_.data();
  }

  // Until now, pairs that are not before a slot's lower edge were counted in the previous slot. Moves these pairs to
  // the slot.
  void gather_after_edges() {
    for (std::size_t at = filter_block; at < after_edge_.size(); ++at) {
      const std::uint64_t pairs = std::exchange(after_edge_[at], 0);
      const auto slot = static_cast<std::int64_t>(at) / filter_block + tree_.first_slot;
      counters_.add(slot, pairs);
      // Subtracts modulo 2^64. The count is correct after finish() adds the totals.
      counters_.add(slot - 1, std::uint64_t{0} - pairs);
    }
    leaf_pairs_ = 0;
  }

  FilterCounters<T>& counters_;
  const std::stop_token& stop_;
  std::int64_t first_size_;
  std::int64_t second_size_;
  TreeView tree_{};
  std::vector<PackedLeaves> packed_;
  std::vector<std::int32_t> nodes_;
  std::vector<std::uint64_t> counts_[3];
  std::vector<float> below_edge_;
  std::vector<float> past_edge_;
  std::vector<std::uint64_t> at_edge_;
  std::vector<std::uint32_t> after_edge_;
  std::int64_t leaf_pairs_ = 0;  // number of leaf pairs since the last call of gather_after_edges()
};

}  // namespace

std::uint64_t bytes_to_build_trees(const Shape& shape, int threads) {
  const auto points = static_cast<std::uint64_t>(padded(shape.points) + (shape.cross ? padded(shape.others) : 0));
  const auto dimensions = static_cast<std::uint64_t>(shape.dimensions);
  const auto nodes = static_cast<std::uint64_t>(std::max(shape.points, shape.others) / node_points);
  return points * (4 * dimensions + 4 + sizeof(TreePoint)) +
         points / leaf_points * (shape.triclinic ? 13 : 9) * dimensions +
         static_cast<std::uint64_t>(threads) *
             (sizeof(PackedLeaves) + 4 * nodes +
              (24 + 16 + 4 * filter_block) * static_cast<std::uint64_t>(std::max(counts_to_copy, shape.bins + 3)));
}

namespace {

template <class T>
FilterPlan plan_of_tree(const Problem<T>& problem) {
  return FilterPlan(problem, problem.periodic ? FilterCoordinates::integers : FilterCoordinates::floats);
}

// Returns true if boxes can be settled, because the error of distances is much less than one cell.
bool settles_boxes(const FilterPlan& plan) { return plan.usable && node_margin * plan.error <= 0.4; }

}  // namespace

template <class T>
bool tree_settles_boxes(const Problem<T>& problem) {
  return settles_boxes(plan_of_tree(problem));
}
template bool tree_settles_boxes(const Problem<float>&);
template bool tree_settles_boxes(const Problem<double>&);

template <class T>
Histogram simd_dual_tree(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const FilterPlan plan = plan_of_tree(problem);
  if (!settles_boxes(plan)) {
    const core::PhaseTimer timer(phases, "count");
    return count_in_double(problem, execution, threads);
  }
  Tree<T> points;
  Tree<T> others;
  {
    const core::PhaseTimer timer(phases, "build");
    points = Tree<T>(problem, plan, problem.points, threads);
    if (problem.cross) others = Tree<T>(problem, plan, problem.others, threads);
  }
  const core::PhaseTimer timer(phases, "count");
  Tree<T>& second = problem.cross ? others : points;
  const EndSlots ends(plan, problem.bins);
  FilterTeam<T> team(problem, plan, threads, points.order(), second.order());
  std::vector<TreeCounter<T>> counters;
  counters.reserve(static_cast<std::size_t>(threads));
  for (int part = 0; part < threads; ++part) counters.emplace_back(problem, plan, ends, points, second, team[part]);
  const std::int64_t items = points.node_count() + points.size() % node_points;
  for_each_item(execution, threads, items,
                [&](int part, std::int64_t item) { counters[static_cast<std::size_t>(part)].count(item); });
  for (TreeCounter<T>& counter : counters) counter.finish();
  return team.finish();
}

namespace {

core::Support without_weights(const Shape& shape, const execution::Machine&) {
  constexpr std::int64_t most = std::int64_t{1} << 28;
  if (shape.weighted)
    return core::Support::no(
        "it counts many pairs at once, which have no weight in common; simd_filter and simd_cells support weights");
  if (std::max(shape.points, shape.others) > most)
    return core::Support::no("it supports at most 2^28 points; simd_filter and simd_cells support more");
  return core::Support::yes();
}

core::Memory tree_memory(const Shape& shape, int threads) {
  return memory_to_filter(shape, threads, bytes_to_build_trees(shape, threads));
}

}  // namespace

extern constinit const Variant simd_dual_tree_rung{
    .name = "simd_dual_tree",
    .summary = "pairs of boxes whose distances are in one bin are counted at once, the others by the filter",
    .change = "with few wide bins most pairs are never visited: `O(n^(2 - 1/d))`",
    .backend = core::Backend::simd,
    .on_ranks = true,
    .supports = without_weights,
    .memory = tree_memory,
    .run = {simd_dual_tree<float>, simd_dual_tree<double>},
};

}  // namespace gradus::pair_histogram_detail
#endif
