#include "kmeans/points/gpu_tier.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "kmeans/assign/tensor_limits.hpp"
#include "kmeans/seeding/plan.hpp"

namespace gradus::kmeans_detail {

extern const Variant cuda_tensor_rung;

namespace {

constexpr std::int64_t most_block_rows = std::int64_t{1} << 20;
/// Blocks with fewer rows have too few tiles for a GPU.
constexpr std::int64_t good_block_rows = std::int64_t{1} << 16;
constexpr std::int64_t least_block_rows = 256;
/// Rate of copies from pinned host memory to a GPU, in bytes per second (PCI Express 5.0).
constexpr double copying = 50e9;
constexpr std::uint64_t small_buffers = std::uint64_t{256} << 10;

std::uint64_t wide(std::int64_t number) { return static_cast<std::uint64_t>(number); }

/// Sizes of the parts of a job's GPU memory, in bytes.
struct Sizes {
  explicit Sizes(const HostRowsJob& job)
      : n(job.shape.points), row_bytes(wide(job.shape.dimensions) * wide(job.shape.element_bytes)),
        // The 16-bit copy of a row and its lengths.
        copy_bytes(2 * wide(tensor_padded(job.shape.dimensions, tensor_columns)) + 8) {
    const Shape& shape = job.shape;
    weights = shape.weighted ? wide(n) * wide(shape.element_bytes) : 0;
    const std::uint64_t sums = 8 * (wide(shape.clusters) * (2 * wide(shape.dimensions) + 3) + 8);
    always = weights + small_buffers + 256 * wide(shape.dimensions) + cuda_tensor_cluster_bytes(shape) +
             (job.on_ranks ? sums : 0) + wide(n) * tensor_kept_bytes + wide(n) / 8;
    // Two blocks of rows, one of 16-bit copies, the lists of a block, and twice as many entries of an update.
    block_row = 2 * row_bytes + copy_bytes + tensor_block_bytes(shape) + 4;
    if (!job.has_cover) return;
    const std::int64_t sample = job.has_sample ? std::min(n, sample_rows(shape.clusters) + shape.clusters) : 0;
    const std::uint64_t of_sample = 64 * wide(shape.clusters) +
                                    wide(sample) * (row_bytes + wide(shape.element_bytes) + 16) +
                                    cover_bytes(sample, shape.dimensions, true);
    // With several ranks, the GPU holds copies of chosen rows of other ranks.
    const std::int64_t chosen = job.on_ranks ? std::max<std::int64_t>(4096, sample) : 0;
    const std::uint64_t others = wide(chosen) * (2 * row_bytes + copy_bytes + 16);
    cover = weights + of_sample + others + cover_bytes(n, shape.dimensions, false);
    cover_with_copy = weights + of_sample + others + cover_bytes(n, shape.dimensions, true);
  }

  /// The blocks of rows begin at multiples of 256 lengths.
  std::uint64_t kept_block(std::int64_t rows) const { return wide(rows + least_block_rows) * copy_bytes; }
  std::uint64_t with_block(std::int64_t rows) const { return always + wide(rows + least_block_rows) * block_row; }

  std::int64_t n;
  std::uint64_t row_bytes;
  std::uint64_t copy_bytes;
  std::uint64_t weights = 0;
  std::uint64_t always = 0;
  std::uint64_t block_row = 0;
  std::uint64_t cover = 0;
  std::uint64_t cover_with_copy = 0;

 private:
  static std::uint64_t cover_bytes(std::int64_t rows, std::int64_t columns, bool with_copy) {
    const std::int64_t padded = (rows + 255) / 256 * 256;
    return small_buffers + (with_copy ? gpu_cover_bytes(padded, columns, true) : 15 * wide(padded));
  }
};

/// Returns the rows of a block, at most `most`. Small jobs are cut evenly and use all their memory. Large blocks
/// consist of a tile, or two, for each multiprocessor of an NVIDIA H200, so that all multiprocessors finish together.
std::int64_t rows_of_a_block(std::int64_t rows, std::int64_t most) {
  constexpr std::int64_t granule = std::int64_t{132} * 256;
  const std::int64_t blocks = (rows + most - 1) / most;
  const std::int64_t even = (rows + blocks - 1) / blocks;
  if (even < good_block_rows) return even;
  return std::min(most, even + granule - 1) / granule * granule;
}

GpuTierPlan plan_of_blocks(const Sizes& sizes, std::int64_t block_rows, std::uint64_t available) {
  GpuTierPlan plan;
  plan.block_rows = block_rows;
  plan.blocks = (sizes.n + block_rows - 1) / block_rows;
  const std::uint64_t room = available - sizes.with_block(block_rows);
  plan.resident_blocks = static_cast<std::int64_t>(std::min(room / sizes.kept_block(block_rows), wide(plan.blocks)));
  plan.tier = plan.resident_blocks == plan.blocks ? GpuTier::filter_copy : GpuTier::streamed;
  plan.has_byte_copy = sizes.cover_with_copy <= available;
  plan.bytes = std::max(sizes.with_block(block_rows) + wide(plan.resident_blocks) * sizes.kept_block(block_rows),
                        plan.has_byte_copy ? sizes.cover_with_copy : sizes.cover);
  return plan;
}

}  // namespace

bool reads_host_rows(const Variant& variant) { return &variant == &cuda_tensor_rung; }

GpuNeeds needs_of(const Variant& variant, const Shape& shape, KMeansInit init, bool on_ranks, std::uint64_t bytes) {
  if (!reads_host_rows(variant)) return {bytes};
  const bool has_sample = init == KMeansInit::kmeans_parallel;
  return {bytes, {shape, has_sample || init == KMeansInit::kmeans_plus_plus, has_sample, on_ranks}};
}

std::optional<GpuTierPlan> plan_host_rows(const HostRowsJob& job, std::uint64_t available) {
  if (available < least_gpu_bytes(job)) return std::nullopt;
  if (job.shape.kept_bytes > 0 && available >= least_stored_bytes(job)) {
    const std::uint64_t stored = least_stored_bytes(job) - least_gpu_bytes(job);
    HostRowsJob rest = job;
    rest.shape.kept_bytes = 0;
    std::optional<GpuTierPlan> plan = plan_host_rows(rest, available - stored);
    plan->tier = GpuTier::stored;
    plan->bytes += stored;
    return plan;
  }
  const Sizes sizes(job);
  // The largest blocks with which the 16-bit copy of all points fits. If only small blocks would fit, streaming is
  // faster.
  const std::int64_t least = std::min(good_block_rows, std::max(sizes.n / 16, least_block_rows));
  for (std::int64_t most = std::min(most_block_rows, sizes.n); most >= least; most /= 2) {
    const std::int64_t rows = rows_of_a_block(sizes.n, most);
    const std::int64_t blocks = (sizes.n + rows - 1) / rows;
    if (sizes.with_block(rows) + wide(blocks) * sizes.kept_block(rows) <= available)
      return plan_of_blocks(sizes, rows, available);
  }
  // Half of the memory is for the block in work, the other half for blocks that stay.
  const std::uint64_t half =
      std::max((available - sizes.always) / 2, sizes.with_block(least_block_rows) - sizes.always);
  const auto most = static_cast<std::int64_t>(
      std::clamp(half / sizes.block_row - wide(least_block_rows), wide(least_block_rows), wide(most_block_rows)));
  return plan_of_blocks(sizes, rows_of_a_block(sizes.n, most), available);
}

std::uint64_t least_gpu_bytes(const HostRowsJob& job) {
  const Sizes sizes(job);
  return std::max(sizes.with_block(least_block_rows), sizes.cover);
}

std::uint64_t least_stored_bytes(const HostRowsJob& job) {
  return least_gpu_bytes(job) + wide(job.shape.points) * wide(job.shape.dimensions) * wide(job.shape.kept_bytes);
}

double bytes_of_a_pass(const GpuTierPlan& plan, const Shape& shape, double share_read) {
  if (plan.tier == GpuTier::resident || plan.tier == GpuTier::stored) return 0;
  const double kept =
      std::min(1.0, static_cast<double>(plan.resident_blocks * plan.block_rows) / static_cast<double>(shape.points));
  return shape.bytes() * (1 - kept + kept * share_read);
}

bool copies_whole_blocks(GpuTier tier, double share_read, const Shape& shape) {
  // To widen a whole block takes about as long as to widen a quarter of its rows one by one.
  if (tier == GpuTier::stored) return share_read >= 0.25;
  // Rates of a large GPU, in bytes and operations per second. Single points are read at less than half the rate of
  // copies.
  constexpr double reading = 20e9;
  constexpr double multiplying = 5e14;
  const double bytes = static_cast<double>(shape.dimensions) * shape.element_bytes;
  const double products = 2 * static_cast<double>(shape.clusters) *
                          static_cast<double>(tensor_padded(shape.dimensions, tensor_columns)) / multiplying;
  return std::max(0.0, bytes / copying - products) <= share_read * bytes / reading;
}

std::string text_of(const GpuTierPlan& plan, const Shape& shape) {
  if (plan.tier == GpuTier::resident) return "the points are on the GPU";
  if (plan.tier == GpuTier::stored)
    return "points on the GPU as they are stored: an iteration widens " + std::to_string(plan.blocks) +
           " blocks of them and copies nothing";
  const bool has_copy = plan.tier == GpuTier::filter_copy;
  const double bytes = bytes_of_a_pass(plan, shape, has_copy ? 1 : 0);
  const double seconds = std::round(100 * bytes / copying) / 100;
  return std::string(has_copy ? "16-bit copy on the GPU, points" : "points") +
         " in host memory: an iteration copies at " + (has_copy ? "most " : "least ") +
         core::size_text(static_cast<std::uint64_t>(bytes)) + ", about " + core::number_text(seconds) + " s at 50 GB/s";
}

}  // namespace gradus::kmeans_detail
