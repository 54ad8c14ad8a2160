// Decides where the points of a job on a GPU are. If they do not fit the GPU's memory, cuda_tensor processes them by
// blocks, which it widens on the GPU or reads from host memory. Plain C++, also in builds without CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns the GPU memory of a cover (seeding/cuda_cover.hpp): distances, groups, and the byte copy of the points.
constexpr std::uint64_t gpu_cover_bytes(std::int64_t points, std::int64_t columns, bool groups) {
  return static_cast<std::uint64_t>(points) *
         ((groups ? 15 : 11) + 16 + static_cast<std::uint64_t>(columns + 15) / 16 * 16);
}

/// The tiers, best first.
enum class GpuTier : std::uint8_t {
  resident,     ///< the points are on the GPU in the type of the job
  stored,       ///< the points are on the GPU in the type in which they are stored; blocks are widened in every pass
  filter_copy,  ///< the 16-bit copy of the points is on the GPU; the points are in host memory
  streamed      ///< the 16-bit copy of some points is on the GPU; the others are copied and rounded in every pass
};

/// A job that can process its points by blocks.
struct HostRowsJob {
  Shape shape;              ///< of this rank
  bool has_cover = false;   ///< true if initial centroids are chosen by distances
  bool has_sample = false;  ///< true if the choice uses a sample (k-means||)
  bool on_ranks = false;
};

/// The GPU memory of a job in addition to its points and weights.
struct GpuNeeds {
  GpuNeeds(std::uint64_t with_resident_points) : bytes(with_resident_points) {}  // NOLINT(google-explicit-constructor)
  GpuNeeds(std::uint64_t with_resident_points, const HostRowsJob& job) : bytes(with_resident_points), host_rows(job) {}

  std::uint64_t bytes;                   ///< if the points are on the GPU
  std::optional<HostRowsJob> host_rows;  ///< set if the job can process its points by blocks
};

/// The place of the points, and the blocks in which passes process them.
struct GpuTierPlan {
  GpuTier tier = GpuTier::resident;
  std::uint64_t bytes = 0;      ///< GPU memory of the job, including weights and, if resident, points
  std::int64_t block_rows = 0;  ///< rows of a block; the last block may have fewer
  std::int64_t blocks = 1;
  std::int64_t resident_blocks = 1;  ///< the first blocks, whose 16-bit copy stays on the GPU
  bool has_byte_copy = true;         ///< true if the choice of initial centroids may copy the points as bytes

  friend bool operator==(const GpuTierPlan&, const GpuTierPlan&) = default;
};

/// Returns true if the variant supports points in host memory, and stored points on the GPU.
bool reads_host_rows(const Variant& variant);

/// Returns the needs of a job of this variant. `bytes`: the needs if the points are on the GPU. `init`: the method by
/// which the GPU chooses initial centroids.
GpuNeeds needs_of(const Variant& variant, const Shape& shape, KMeansInit init, bool on_ranks, std::uint64_t bytes);

/// Returns the plan of a job whose points are in host memory and do not fit the GPU in the type of the job.
/// `available`: the GPU memory that the job may use. Returns no value if this is less than least_gpu_bytes(). Pure.
std::optional<GpuTierPlan> plan_host_rows(const HostRowsJob& job, std::uint64_t available);

/// Returns the least GPU memory with which plan_host_rows() returns a plan.
std::uint64_t least_gpu_bytes(const HostRowsJob& job);
/// Returns the least GPU memory with which a job whose shape has kept_bytes keeps its points on the GPU.
std::uint64_t least_stored_bytes(const HostRowsJob& job);

/// Returns the bytes that a pass copies to the GPU, if it reads the share `share_read` of the points whose 16-bit copy
/// is on the GPU.
double bytes_of_a_pass(const GpuTierPlan& plan, const Shape& shape, double share_read);

/// Returns true if it takes less time to copy all points of a block than to read only the given share of them. Copies
/// of whole blocks from host memory overlap with the products of another block; reading single points does not.
bool copies_whole_blocks(GpuTier tier, double share_read, const Shape& shape);

/// Describes a plan to the user.
std::string text_of(const GpuTierPlan& plan, const Shape& shape);

}  // namespace gradus::kmeans_detail
