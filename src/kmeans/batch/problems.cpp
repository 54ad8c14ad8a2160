#include "kmeans/batch/problems.hpp"

#include <algorithm>
#include <string>

#include "execution/gpu_group.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Throws InputError unless there are `rows` rows of one element per point, or no rows.
void check_rows(const detail::ViewFacts& view, const char* what, std::int64_t rows, std::int64_t points) {
  detail::check_view(view, what);
  if (view.rows == 0 || (view.rows == rows && view.columns == points)) return;
  const auto shape = [](std::int64_t of, std::int64_t by) { return std::to_string(of) + " x " + std::to_string(by); };
  throw InputError(about(what) + "the shape is " + shape(view.rows, view.columns) + ", but " + shape(rows, points) +
                       " is needed (problems x points)",
                   {.code = error_code::shape_mismatch});
}

/// Returns the view of the same matrix in another problem.
detail::ViewFacts moved(detail::ViewFacts view, std::int64_t elements) {
  view.data = static_cast<const std::byte*>(view.data) + elements * static_cast<std::int64_t>(view.element_bytes);
  return view;
}

void check_apart(const detail::ViewFacts& labels, const detail::ViewFacts& input, const char* of) {
  if (execution::overlap(labels, input))
    throw UsageError(about("labels") + "their memory overlaps the memory of the " + of,
                     {.code = error_code::memory_overlap});
}

}  // namespace

std::vector<int> gpus_of_batch(const Execution& execution, MemoryPlace points) {
  if (!execution.gpus.empty()) return execution.gpus;
  if (!points.is_host()) return {points.gpu};
  const bool wants_gpu = execution.device == Device::gpu ||
                         (!execution.variant.empty() &&
                          core::find_variant(variants(), execution.variant, "kmeans").backend == core::Backend::cuda);
  return wants_gpu ? std::vector<int>{execution.gpu} : std::vector<int>{};
}

void check_batch(const BatchMemory& memory, const KMeansOptions& options, const Execution& execution) {
  execution::check_execution(execution::on_first_gpu(execution));
  if (!memory.points.place.is_host() && execution::is_for_several_gpus(execution))
    throw UnsupportedError(about("points") +
                           "they are on a GPU, which fits all problems; leave the list of GPUs out, or pass points in "
                           "host memory");
  detail::check_view(memory.points, "points");
  detail::check_view(memory.centroids, "initial centroids");
  if (memory.count < 1)
    throw InputError(
        about("points") + "the batch has " + std::to_string(memory.count) + " problems; at least one is needed",
        {.code = error_code::shape_mismatch});
  execution::check_size({memory.count, std::max(memory.stride, -memory.stride), 8}, "points");
  execution::check_size({memory.count, std::max(memory.centroids_stride, -memory.centroids_stride), 8},
                        "initial centroids");
  check_rows(memory.weights, "weights", memory.weights.rows == 1 ? 1 : memory.count, memory.points.rows);
  check_rows(memory.labels, "labels", memory.count, memory.points.rows);
  if (memory.centroids.rows > 0 && memory.centroids_count != memory.count && memory.centroids_stride != 0)
    throw InputError(about("initial centroids") + "there are " + std::to_string(memory.centroids_count) +
                         " matrices for " + std::to_string(memory.count) +
                         " problems; one for each is needed, or one for all",
                     {.code = error_code::shape_mismatch});
  if (!options.checkpoint.file.empty() || !graph_file(execution).empty())
    throw UsageError(
        "a checkpoint and the picture of a graph (dump_graph) belong to one fit, but a batch has several; leave them "
        "out");
  check_apart(memory.labels, memory.weights, "weights");
  for (std::int64_t problem = 0; problem < memory.count && memory.labels.rows > 0; ++problem) {
    check_apart(memory.labels, moved(memory.points, problem * memory.stride), "points");
    check_apart(memory.labels, moved(memory.centroids, problem * memory.centroids_stride), "initial centroids");
  }
}

}  // namespace gradus::kmeans_detail
