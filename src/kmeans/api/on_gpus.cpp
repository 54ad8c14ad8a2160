#include "kmeans/api/on_gpus.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "execution/gpu_support.hpp"
#include "gradus/kmeans_stored.hpp"
#include "kmeans/api/gpu_parts.hpp"
#include "kmeans/api/kmeans_of.hpp"
#include "kmeans/kmeans.hpp"

namespace gradus::kmeans_detail {

namespace {

/// The caller's model, with its centroids in host memory.
template <class T>
class HostModel {
 public:
  HostModel(const KMeansModel<T>& model, const GpuParts<T>& parts) : model_(model) {
    model_.centroids = parts.in_host_memory(model.centroids, copy_);
  }
  HostModel(const HostModel&) = delete;
  HostModel& operator=(const HostModel&) = delete;

  const KMeansModel<T>& model() const { return model_; }

 private:
  KMeansModel<T> model_;
  Matrix<T> copy_;
};

/// Returns the GPU memory of the parts of a fit. The returned function uses `options` and `execution`.
template <class T>
execution::PartMemory memory_of_parts(const PointRows<T>& points, const KMeansOptions& options,
                                      const KMeansMemory<T>& memory, const Execution& execution) {
  const KMeansShape shape{points.rows(), points.columns(), element_bytes(points), !memory.weights.empty(),
                          points.place()};
  return [shape, &options, &execution](std::size_t part, std::int64_t rows) {
    return memory_of_part(shape, options, execution, part, rows).device;
  };
}

/// Returns true if a call whose request lists no GPU runs on a GPU. `part` is the shape of one of its parts.
bool runs_on_gpu(const Shape& part, MemoryPlace points, const Execution& execution) {
  if (execution.device != Device::automatic) return execution.device == Device::gpu;
  if (!points.is_host()) return true;
  if (!execution.variant.empty())
    return core::find_variant(variants(), execution.variant, Room::name).backend == core::Backend::cuda;
  return part.clusters > 0 && choose(part, execution::GrantedMachine(execution)).backend == core::Backend::cuda;
}

}  // namespace

std::optional<Execution> in_parts(const KMeansShape& shape, std::int64_t clusters, const Execution& execution,
                                  std::int64_t most_of_a_part) {
  const bool are_too_many = shape.points > most_of_a_part && shape.points <= most_points;
  if (!are_too_many || execution.communicator != nullptr)
    return execution::is_for_several_gpus(execution) ? std::optional(execution) : std::nullopt;
  // Parts have at most half of the points that a GPU supports, so that a fast GPU may get more than the others.
  const std::int64_t usual = most_of_a_part / 2 + 1;
  const std::int64_t gpus = std::max<std::int64_t>(1, std::ssize(execution.gpus));
  const std::int64_t parts_of_a_gpu = (shape.points + gpus * usual - 1) / (gpus * usual);
  Execution parts = execution;
  const execution::GrantedMachine machine(execution);
  parts.gpu_memory_limit = std::max<std::uint64_t>(
      1, execution::plannable_memory(execution::least_gpu(machine)) / static_cast<std::uint64_t>(parts_of_a_gpu));
  const Shape part{std::min(usual, shape.points), shape.dimensions, clusters, bytes_in_job(shape), shape.weighted};
  if (execution.gpus.empty() && !runs_on_gpu(part, shape.place, parts)) return std::nullopt;
  const int one = shape.place.is_host() ? execution.gpu : shape.place.gpu;
  parts.gpus.clear();
  for (const int gpu : execution.gpus.empty() ? std::vector<int>{one} : execution.gpus)
    parts.gpus.insert(parts.gpus.end(), static_cast<std::size_t>(parts_of_a_gpu), gpu);
  return parts;
}

template <class T>
KMeansResult<T> fit_on_gpus(const PointRows<T>& points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                            const Execution& execution) {
  check_arguments<T>(points, options, memory, execution::on_first_gpu(execution), true);
  GpuParts<T> parts(points, execution, memory_of_parts<T>(points, options, memory, execution));
  return parts.run_for_labels(memory, [&](const PointRows<T>& rows, const KMeansMemory<T>& own, const Execution& here,
                                          int) { return kmeans_of(rows, options, own, here); });
}

template <class T>
KMeansInitialCentroids<T> initial_centroids_on_gpus(const PointRows<T>& points, const KMeansOptions& options,
                                                    const KMeansMemory<T>& memory, const Execution& execution) {
  check_arguments<T>(points, options, memory, execution::on_first_gpu(execution), true);
  check_no_labels(memory);
  GpuParts<T> parts(points, execution, memory_of_parts<T>(points, options, memory, execution));
  auto results =
      parts.run(memory, [&](const PointRows<T>& rows, const KMeansMemory<T>& own, const Execution& here, int) {
        return with_view(rows, [&](const auto& view) { return kmeans_initial_centroids(view, options, own, here); });
      });
  parts.describe(results.front().report);
  return std::move(results.front());
}

template <class T>
KMeansPrediction predict_on_gpus(const KMeansModel<T>& model, const PointRows<T>& points, const KMeansMemory<T>& memory,
                                 const Execution& execution, bool needs_labels) {
  check_prediction<T>(model.centroids, points, memory, execution::on_first_gpu(execution));
  if (needs_labels) check_labels(memory.labels, points.rows());
  GpuParts<T> parts(points, execution, memory_of_model_parts(model.centroids, element_bytes(points)));
  const HostModel<T> host(model, parts);
  return parts.run_for_labels(
      memory, [&](const PointRows<T>& rows, const KMeansMemory<T>& own, const Execution& here, int) {
        return with_view(rows, [&](const auto& view) { return kmeans_predict(host.model(), view, own, here); });
      });
}

template <class T>
RunReport transform_on_gpus(const KMeansModel<T>& model, const PointRows<T>& points, MatrixView<T> distances,
                            const Execution& execution) {
  check_model<T>(model.centroids, points, model.metric, execution::on_first_gpu(execution));
  check_distances<T>(model.centroids, points, distances);
  GpuParts<T> parts(points, execution, memory_of_model_parts(model.centroids));
  const HostModel<T> host(model, parts);
  auto reports =
      parts.run({}, [&](const PointRows<T>& rows, const KMeansMemory<T>& /*none*/, const Execution& here, int rank) {
        return with_view(rows, [&](const auto& view) {
          return kmeans_transform(host.model(), view, parts.part(distances, rank), here);
        });
      });
  parts.describe(reports.front());
  return std::move(reports.front());
}

template <class T>
Matrix<T> transform_on_gpus(const KMeansModel<T>& model, const PointRows<T>& points, const Execution& execution) {
  check_model<T>(model.centroids, points, model.metric, execution::on_first_gpu(execution));
  Matrix<T> distances(points.rows(), model.centroids.rows());
  transform_on_gpus(model, points, distances.view(), execution);
  return distances;
}

#define GRADUS_INSTANTIATE(T)                                                                                   \
  template KMeansResult<T> fit_on_gpus(const PointRows<T>&, const KMeansOptions&, const KMeansMemory<T>&,       \
                                       const Execution&);                                                       \
  template KMeansInitialCentroids<T> initial_centroids_on_gpus(const PointRows<T>&, const KMeansOptions&,       \
                                                               const KMeansMemory<T>&, const Execution&);       \
  template KMeansPrediction predict_on_gpus(const KMeansModel<T>&, const PointRows<T>&, const KMeansMemory<T>&, \
                                            const Execution&, bool);                                            \
  template Matrix<T> transform_on_gpus(const KMeansModel<T>&, const PointRows<T>&, const Execution&);           \
  template RunReport transform_on_gpus(const KMeansModel<T>&, const PointRows<T>&, MatrixView<T>, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
