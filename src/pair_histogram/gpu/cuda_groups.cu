#include "pair_histogram/gpu/cuda_groups.hpp"

#include <cub/device/device_radix_sort.cuh>

#include "cuda/launch.hpp"
#include "pair_histogram/gpu/cuda_limits.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr int curve_bits = 10;  // number of bits that each column contributes to a place on the curve

// Spreads the low ten bits of a number, so that two zero bits are between neighbouring bits.
__device__ unsigned int spread(unsigned int bits) {
  bits = (bits | bits << 16) & 0x030000ffU;
  bits = (bits | bits << 8) & 0x0300f00fU;
  bits = (bits | bits << 4) & 0x030c30c3U;
  return (bits | bits << 2) & 0x09249249U;
}

// Launch shape: one thread per point.
__global__ void place_on_curve(const float4* places, std::int64_t count, float half, unsigned int* keys, int* rows) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= count) return;
  constexpr float cells = 1 << curve_bits;
  const auto cell = [half](float coordinate) {
    const float share = half > 0 ? 0.5F + 0.5F * (coordinate / half) : 0.0F;
    return static_cast<unsigned int>(fminf(fmaxf(share * cells, 0.0F), cells - 1));
  };
  const float4 place = places[point];
  keys[point] = spread(cell(place.x)) | spread(cell(place.y)) << 1 | spread(cell(place.z)) << 2;
  rows[point] = static_cast<int>(point);
}

// Launch shape: one thread per place, including the padding after the last point.
__global__ void gather_places(const float4* places, const int* order, std::int64_t count, std::int64_t all,
                              float4* sorted) {
  const std::int64_t place = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place < all) sorted[place] = place < count ? places[order[place]] : float4{};
}

// Launch shape: one thread per group.
__global__ void enclose_groups(const float4* sorted, std::int64_t count, std::int64_t groups, GroupBox* boxes) {
  const std::int64_t group = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (group >= groups) return;
  const std::int64_t begin = group * filter_group_points;
  const std::int64_t end = min(begin + filter_group_points, count);
  float4 low = sorted[begin];
  float4 high = low;
  for (std::int64_t place = begin + 1; place < end; ++place) {
    const float4 point = sorted[place];
    low = {fminf(low.x, point.x), fminf(low.y, point.y), fminf(low.z, point.z), 0};
    high = {fmaxf(high.x, point.x), fmaxf(high.y, point.y), fmaxf(high.z, point.z), 0};
  }
  const float4 middle = {0.5F * (low.x + high.x), 0.5F * (low.y + high.y), 0.5F * (low.z + high.z), 0};
  const float4 half = {fmaxf(high.x - middle.x, middle.x - low.x), fmaxf(high.y - middle.y, middle.y - low.y),
                       fmaxf(high.z - middle.z, middle.z - low.z), 0};
  boxes[group] = {middle, half};
}

}  // namespace

GroupedPoints group_places(const float4* places, std::int64_t count, float half, cuda::Arena& memory,
                           const cuda::Stream& stream) {
  auto* const keys = memory.take<unsigned int>(2 * count);
  auto* const rows = memory.take<int>(2 * count);
  cub::DoubleBuffer<unsigned int> sorted_keys(keys, keys + count);
  cub::DoubleBuffer<int> order(rows, rows + count);
  std::size_t bytes = 0;
  cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, sorted_keys, order, count, 0, 3 * curve_bits, stream),
              "SortPairs");
  if (bytes > sort_room(count)) return {places};
  auto* const room = memory.take<unsigned char>(static_cast<std::int64_t>(sort_room(count)));
  place_on_curve<<<cuda::blocks_for(count, 256), 256, 0, stream>>>(places, count, half, keys, rows);
  cuda::check_launch("place_on_curve");
  cuda::check(cub::DeviceRadixSort::SortPairs(room, bytes, sorted_keys, order, count, 0, 3 * curve_bits, stream),
              "SortPairs");
  const std::int64_t all = filter_places(count);
  const std::int64_t groups = all / filter_group_points;
  auto* const sorted = memory.take<float4>(all);
  gather_places<<<cuda::blocks_for(all, 256), 256, 0, stream>>>(places, order.Current(), count, all, sorted);
  cuda::check_launch("gather_places");
  auto* const boxes = memory.take<GroupBox>(groups);
  enclose_groups<<<cuda::blocks_for(groups, 64), 64, 0, stream>>>(sorted, count, groups, boxes);
  cuda::check_launch("enclose_groups");
  return {sorted, order.Current(), boxes};
}

}  // namespace gradus::pair_histogram_detail
