// kmeans_parts(): a fit to points in several arrays. Each array is the part of one rank, on a GPU or on the CPU.
#include "gradus/kmeans_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kmeans/api/gpu_parts.hpp"
#include "kmeans/kmeans.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

/// Throws UsageError or InputError if the parts do not fit together, or if the caller's memory for all rows has another
/// size. The call for each part checks the rest.
template <class T>
void check(std::span<const MatrixView<const T>> parts, const KMeansMemory<T>& memory) {
  if (parts.empty()) throw UsageError(about("points") + "the list of arrays is empty");
  std::int64_t rows = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    execution::check_extent(parts[part], "points");
    if (parts[part].columns() != parts.front().columns())
      throw InputError(about("points") + "array " + std::to_string(part) + " has " +
                           std::to_string(parts[part].columns()) + " columns, but array 0 has " +
                           std::to_string(parts.front().columns()),
                       {.code = error_code::shape_mismatch});
    execution::check_apart(memory.labels, "labels", parts[part], "points");
    rows += parts[part].rows();
  }
  execution::check_number(memory.weights, rows, "weights", "points");
  if (!memory.labels.empty()) room::check_labels(memory.labels, rows);
  execution::check_apart(memory.labels, "labels", memory.weights, "weights");
}

/// Sets the GPU of each part, unless the CPU works on all parts.
template <class T>
void choose_gpus(const std::vector<MatrixView<const T>>& parts, Execution& execution) {
  const auto is_host = [](const MatrixView<const T>& part) { return part.place().is_host(); };
  if (execution.gpus.empty() && execution.device == Device::gpu) execution.gpus.assign(parts.size(), execution.gpu);
  else if (execution.gpus.empty() && std::ranges::all_of(parts, is_host)) execution.device = Device::cpu;
  else if (execution.gpus.empty())
    for (const MatrixView<const T>& part : parts) {
      if (is_host(part))
        throw UsageError(about("points") + "some arrays are on GPUs and some are in host memory; name a GPU for each",
                         {.argument = "gpus"});
      execution.gpus.push_back(part.place().gpu);
    }
  if (!execution.gpus.empty() && execution.gpus.size() != parts.size())
    throw UsageError(about("gpus") + "there are " + std::to_string(execution.gpus.size()) + " GPUs for " +
                     std::to_string(parts.size()) + " arrays of points; one for each is needed");
}

/// Removes the parts without rows, and their GPUs. At least one part stays.
template <class T>
void remove_empty(std::vector<MatrixView<const T>>& parts, Execution& execution) {
  for (std::size_t part = parts.size(); part-- > 0;) {
    if (parts[part].rows() > 0 || parts.size() == 1) continue;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(part));
    if (!execution.gpus.empty()) execution.gpus.erase(execution.gpus.begin() + static_cast<std::ptrdiff_t>(part));
  }
}

}  // namespace

namespace detail {

template <class T>
KMeansResult<T> kmeans_parts(std::span<const MatrixView<const T>> given, const KMeansOptions& options,
                             const KMeansMemory<T>& memory, const Execution& execution) {
  check(given, memory);
  std::vector<MatrixView<const T>> parts(given.begin(), given.end());
  Execution here = execution;
  choose_gpus(parts, here);
  remove_empty(parts, here);
  if (parts.size() == 1) return detail::kmeans<T>(parts.front(), options, memory, execution::on_first_gpu(here));
  room::GpuParts<T> ranks(parts, here);
  return ranks.run_for_labels(
      memory, [&](const room::PointRows<T>& rows, const KMeansMemory<T>& own, const Execution& one, int) {
        return detail::kmeans<T>(rows.shape(), options, own, one);
      });
}

template KMeansResult<float> kmeans_parts(std::span<const MatrixView<const float>>, const KMeansOptions&,
                                          const KMeansMemory<float>&, const Execution&);
template KMeansResult<double> kmeans_parts(std::span<const MatrixView<const double>>, const KMeansOptions&,
                                           const KMeansMemory<double>&, const Execution&);

}  // namespace detail
}  // namespace gradus
