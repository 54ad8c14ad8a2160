#include "kmeans/points/gpu_source.hpp"

#include "kmeans/points/gpu_points.hpp"
#include "kmeans/seeding/cuda_cover.hpp"

namespace gradus::kmeans_detail {

template <class T>
void GpuPoints<T>::visit(const typename PointSource<T>::Visit& visit) const {
  cuda::visit_rows(points_, job_.get(), visit);
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
  core::Ranks& ranks = this->ranks();
  if (ranks.is_alone()) return std::make_unique<GpuPoints<T>>(*this, numbers, weights, cover_bytes);
  // The sample is so small that every GPU receives all of it. So the GPUs choose without exchanging anything.
  const Matrix<T> rows = rows_at(numbers);
  Execution here;
  here.gpu = job_->gpu();
  here.threads = this->threads();
  here.stop = this->stop();
  return ranks.agree(
      [&] { return points_on_gpu(rows.view(), weights, here, cover_bytes, core::RankRows(rows.rows())); });
}

template <class T>
std::unique_ptr<PointSource<T>> points_on_gpu(MatrixView<const T> points, VectorView<const T> weights,
                                              const Execution& execution, std::uint64_t extra_bytes,
                                              const core::RankRows& rank_rows) {
  return std::make_unique<GpuPoints<T>>(points, weights, execution, extra_bytes, rank_rows);
}

template <class T>
Matrix<T> copy_of_gpu_rows(MatrixView<const T> rows, const char* what, const Execution& execution) {
  return execution::copy_to_host(rows, what, execution);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define GRADUS_INSTANTIATE(T)                                                                                       \
  template void GpuPoints<T>::visit(const typename PointSource<T>::Visit&) const;                                   \
  template std::vector<const T*> GpuPoints<T>::addresses_of(std::span<const std::int64_t>, Matrix<T>&) const;       \
  template std::unique_ptr<SeedingCover> GpuPoints<T>::cover(std::int64_t, std::int64_t, bool,                      \
                                                             const SeedingMemory<T>&) const;                        \
  template std::unique_ptr<PointSource<T>> GpuPoints<T>::sample(std::span<const std::int64_t>, VectorView<const T>) \
      const;                                                                                                        \
  GRADUS_INSTANTIATE_GPU_SOURCE(T)
// NOLINTEND(bugprone-macro-parentheses)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
