#include "kmeans/points/gpu_source.hpp"

#include <unistd.h>

#include <string>

#include "core/text.hpp"
#include "execution/request.hpp"
#include "kmeans/gpu/limits.hpp"
#include "kmeans/points/gpu_points.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/points/unit_rows.hpp"
#include "kmeans/seeding/cuda_cover.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Copies the rows, without gaps between them, to pages of `memory` that hold nothing else. Several threads copy.
/// Returns the copy.
template <class T>
MatrixView<const T> rows_in_own_pages(const PointRows<T>& rows, Matrix<T>& memory, int threads,
                                      const std::stop_token& stop) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t row_bytes = static_cast<std::size_t>(rows.columns()) * sizeof(T);
  memory = Matrix<T>(rows.rows() + static_cast<std::int64_t>(2 * page / row_bytes + 1), rows.columns());
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const MatrixView<T> copy(memory.data() + (address + page - 1) / page * page / sizeof(T) - address / sizeof(T),
                           rows.rows(), rows.columns());
  const std::int64_t stretch = core::chunk_length(rows.rows(), rows.columns(), threads);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t first = 0; first < rows.rows(); first += stretch) {
    if (stop.stop_requested()) continue;
    rows.copy(first, std::min(stretch, rows.rows() - first), copy.row(first));
  }
  core::honour_stop(stop, "stopped while copying the points to pinned memory");
  return {copy.data(), copy.rows(), copy.columns()};
}

}  // namespace

template <class T>
GpuTierPlan GpuPoints<T>::plan_of(std::uint64_t point_bytes, std::uint64_t weight_bytes, const Execution& execution,
                                  const GpuNeeds& needs) const {
  GpuTierPlan resident;
  resident.bytes = needs.bytes + point_bytes + weight_bytes;
  const std::uint64_t limit = execution.gpu_memory_limit;
  const bool is_granted = limit == 0 || resident.bytes <= limit;
  if (is_granted && cuda::has_free_memory(resident.bytes)) return resident;
  if (!needs.host_rows || point_bytes == 0) {
    // If the library has chosen the GPU, the points fit the limit. Only their copy of unit length may exceed it.
    if (execution.device == Device::gpu || !execution.variant.empty())
      execution::check_gpu_memory(resident.bytes, execution);
    cuda::require_free_memory(resident.bytes);
    return resident;
  }
  const HostRowsJob& job = *needs.host_rows;
  const std::uint64_t available = execution::gpu_memory_to_take(execution);
  if (const std::optional<GpuTierPlan> plan = plan_host_rows(job, available)) {
    if (execution.progress) execution.progress({"to_device", 0, 1, text_of(*plan, job.shape)});
    return *plan;
  }
  const std::uint64_t least = least_gpu_bytes(job);
  throw OutOfMemoryError("even with the points in host memory, the job needs " + core::size_text(least) +
                         " of the GPU's memory, but " +
                         (is_granted ? "only " + core::size_text(available) + " are free; use the CPU"
                                     : "the limit allows only " + core::size_text(limit) +
                                           "; allow at least as much as the job needs, or use the CPU"));
}

template <class T>
void GpuPoints<T>::pin(const PointRows<T>& rows, const Execution* execution) {
  const auto bytes = static_cast<std::size_t>(rows.rows() * rows.columns()) * sizeof(T);
  // The pages of a smaller array may also hold other memory of the program. Copies of that memory would fail while its
  // pages are pinned in part.
  constexpr std::size_t least_pinned_in_place = std::size_t{64} << 20;
  const bool is_in_place = !rows.is_stored() && rows.shape().contiguous() && bytes >= least_pinned_in_place;
  host_rows_ = rows.shape();
  pinned_ = is_in_place ? cuda::RegisteredMemory(rows.data(), bytes) : cuda::RegisteredMemory();
  if (pinned_.empty() && (execution != nullptr || !is_in_place)) {
    if (execution != nullptr)
      execution::check_memory(bytes, *execution,
                              rows.is_stored() ? "the points do not fit the GPU, so a copy as float is needed"
                                               : "the driver cannot pin the points in place, so a copy is needed");
    Matrix<T> pages;
    host_rows_ = rows_in_own_pages(rows, pages, this->threads(), this->stop());
    host_copy_ = std::move(pages);
    pinned_ = cuda::RegisteredMemory(host_rows_.data(), bytes);
  }
  if (pinned_.empty())
    throw OutOfMemoryError("the points do not fit the GPU, and its driver cannot pin " + core::size_text(bytes) +
                           " of host memory, from which the GPU would read them; use the CPU");
  points_ = {static_cast<const T*>(pinned_.on_gpu()), rows.rows(), rows.columns(), job_->place()};
}

template <class T>
void GpuPoints<T>::to_unit_rows_on_host() {
  this->ranks().agree([&] {
    Matrix<T> unit = unit_rows<T>(host_rows_, "points", this->threads(), this->stop(), this->rank_rows().first());
    job_->stream().wait();  // the GPU no longer reads the old rows
    pinned_ = {};
    host_copy_ = std::move(unit);
    pin(std::as_const(host_copy_).view(), nullptr);
  });
}

template <class T>
HostPoints<T> GpuPoints<T>::on_host() const {
  return {host_rows_, host_weights_, this->threads(), this->stop(), this->rank_rows()};
}

template <class T>
void GpuPoints<T>::measure_on_host(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const {
  on_host().own_squared_distances(centroids, labels, out);
}

template <class T>
void GpuPoints<T>::visit(const typename PointSource<T>::Visit& visit) const {
  if (are_in_blocks()) on_host().visit(visit);
  else cuda::visit_rows(points_, job_.get(), visit);
}

template <class T>
core::ColumnRanges GpuPoints<T>::own_column_ranges() const {
  const std::int64_t first_row = this->rank_rows().first();
  if (plan_.tier != GpuTier::stored) return job_->column_ranges(points_, "points", first_row);
  cuda::DeviceBuffer<T> block(plan_.block_rows * points_.columns());
  core::ColumnRanges all;
  for (std::int64_t first = 0; first < points_.rows(); first += plan_.block_rows) {
    core::honour_stop(this->stop(), "stopped while the GPU was at work");
    const std::int64_t count = std::min(plan_.block_rows, points_.rows() - first);
    copy_rows(first, count, block.data(), job_->stream());
    extend(all, job_->column_ranges(MatrixView<const T>(block.data(), count, points_.columns(), job_->place()),
                                    "points", first_row + first));
  }
  return all;
}

template <class T>
std::vector<const T*> GpuPoints<T>::addresses_of(std::span<const std::int64_t> numbers, Matrix<T>& copies) const {
  copies = copies_of(numbers);
  std::vector<const T*> addresses;
  addresses.reserve(numbers.size());
  for (std::int64_t row = 0; row < copies.rows(); ++row) addresses.push_back(copies.row(row));
  return addresses;
}

template <class T>
std::unique_ptr<SeedingCover> GpuPoints<T>::cover(std::int64_t first, std::int64_t /*expected*/, bool groups,
                                                  const SeedingMemory<T>& /*memory*/) const {
  return std::make_unique<CudaCover<T>>(*this, first, groups);
}

template <class T>
std::unique_ptr<PointSource<T>> GpuPoints<T>::sample(std::span<const std::int64_t> numbers,
                                                     VectorView<const T> weights) const {
  const std::uint64_t cover_bytes = gpu_cover_bytes(std::ssize(numbers), points_.columns(), false);
  // The sample is so small that every GPU receives all of it. So the GPUs choose without exchanging anything.
  return std::make_unique<GpuPoints<T>>(*this, numbers, weights, cover_bytes);
}

template <class T>
std::unique_ptr<PointSource<T>> points_on_gpu(const PointRows<T>& points, VectorView<const T> weights,
                                              const Execution& execution, const GpuNeeds& needs,
                                              const core::RankRows& rank_rows) {
  if (points.rows() > most_points_on_gpu)
    throw UnsupportedError(about("points") + "a process with a communicator has at most " +
                           std::to_string(most_points_on_gpu) + " on its GPU, not " + std::to_string(points.rows()) +
                           "; start more processes, or use the CPU");
  return std::make_unique<GpuPoints<T>>(points, weights, execution, needs, rank_rows);
}

template <class T>
Matrix<T> copy_of_gpu_rows(MatrixView<const T> rows, const char* what, const Execution& execution) {
  return execution::copy_to_host(rows, what, execution);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define GRADUS_INSTANTIATE(T)                                                                                        \
  template GpuTierPlan GpuPoints<T>::plan_of(std::uint64_t, std::uint64_t, const Execution&, const GpuNeeds&) const; \
  template void GpuPoints<T>::pin(const PointRows<T>&, const Execution*);                                            \
  template void GpuPoints<T>::to_unit_rows_on_host();                                                                \
  template void GpuPoints<T>::measure_on_host(MatrixView<const T>, const std::int32_t*, double*) const;              \
  template void GpuPoints<T>::visit(const typename PointSource<T>::Visit&) const;                                    \
  template core::ColumnRanges GpuPoints<T>::own_column_ranges() const;                                               \
  template std::vector<const T*> GpuPoints<T>::addresses_of(std::span<const std::int64_t>, Matrix<T>&) const;        \
  template std::unique_ptr<SeedingCover> GpuPoints<T>::cover(std::int64_t, std::int64_t, bool,                       \
                                                             const SeedingMemory<T>&) const;                         \
  template std::unique_ptr<PointSource<T>> GpuPoints<T>::sample(std::span<const std::int64_t>, VectorView<const T>)  \
      const;                                                                                                         \
  GRADUS_INSTANTIATE_GPU_SOURCE(T)
// NOLINTEND(bugprone-macro-parentheses)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
