#include "kmeans/check/arguments.hpp"

#include <string>

#include "core/checked.hpp"
#include "core/exact_accumulator.hpp"
#include "core/text.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/column_ranges.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/unit_rows.hpp"

namespace gradus::kmeans_detail {

int team_for(std::int64_t values, const Execution& execution) {
  constexpr double nanoseconds_a_value = 2;
  return cpu::start_team(cpu::chosen_threads(nanoseconds_a_value * static_cast<double>(values), execution));
}

void check_options(const KMeansCheckOptions& options) {
  if (!(options.tolerance >= 0 && options.tolerance <= 1))
    throw UsageError(about("tolerance") + core::number_text(options.tolerance) + " is not a number from 0 to 1",
                     {.argument = "tolerance", .value = core::number_text(options.tolerance), .allowed = "0 to 1"});
  if (options.reference_rows < 0)
    throw UsageError(
        about("reference rows") + std::to_string(options.reference_rows) + " is not a number of rows",
        {.argument = "reference_rows", .value = std::to_string(options.reference_rows), .allowed = "0 or more"});
}

void require_exact_variant(const Execution& execution) {
  if (execution.variant.empty()) return;
  const Variant& variant = core::find_variant(variants(), execution.variant, Room::name);
  if (variant.contract.kind != core::Contract::same_bits)
    throw UnsupportedError(about("variant") + "'" + std::string(variant.name) +
                               "' computes with other arithmetic than the canonical rule, so it cannot check a result",
                           {.argument = "variant", .value = std::string(variant.name)});
}

void require_in_host_memory(MemoryPlace place, const char* what) {
  if (!place.is_host())
    throw UnsupportedError(about(what) + "in GPU memory; a result is checked on the CPU, so copy them to host memory");
}

void check_given_labels(VectorView<const std::int32_t> labels, std::int64_t points, std::int64_t clusters,
                        std::int64_t first_row) {
  execution::check_view(labels, "labels");
  if (labels.size() != points)
    throw InputError(about("labels") + "there are " + std::to_string(labels.size()) + " labels for " +
                         std::to_string(points) + " points; one for each is needed",
                     {.code = error_code::shape_mismatch});
  const auto is_cluster = [&](std::int32_t label) { return label >= 0 && label < clusters; };
  bool all = true;
  for (std::int64_t row = 0; row < labels.size(); ++row) all &= is_cluster(labels[row]);
  for (std::int64_t row = 0; row < labels.size() && !all; ++row)
    if (!is_cluster(labels[row]))
      throw InputError(about("labels") + "the label in row " + std::to_string(first_row + row) +
                           " (counted from 0) is " + std::to_string(labels[row]) + ", but there are " +
                           std::to_string(clusters) + " centroids",
                       {.code = error_code::out_of_range,
                        .row = first_row + row,
                        .value = std::to_string(labels[row]),
                        .allowed = "0 to " + std::to_string(clusters - 1)});
}

template <class T>
Matrix<T> checked_centroids(const KMeansModel<T>& model) {
  execution::check_extent(model.centroids, "centroids");
  require_in_host_memory(model.centroids.place(), "centroids");
  core::check_choice(model.metric, "metric");
  if (model.centroids.rows() < 1 || model.centroids.columns() < 1)
    throw InputError(about("centroids") + "the shape is " + std::to_string(model.centroids.rows()) + " x " +
                         std::to_string(model.centroids.columns()) + "; at least one row and one column are needed",
                     {.code = error_code::shape_mismatch});
  if (!model.standardization.empty()) check_standardization(model.standardization, model.centroids.columns());
  cpu::column_ranges(model.centroids, "centroids", 1);  // throws InputError for values that no fit returns
  if (model.metric == KMeansMetric::euclidean) return {};
  return unit_centroids(model.centroids, "centroids", {});
}

template <class T>
void check_sums_memory(MatrixView<const T> centroids, bool is_reference, const Execution& execution) {
  constexpr std::uint64_t words_of_a_sum = 8;  // of usual data; values of very different sizes need more
  const std::uint64_t of_a_sum = is_reference ? sizeof(core::ExactAccumulator) : words_of_a_sum * sizeof(std::int64_t);
  execution::check_memory(core::checked_multiply(static_cast<std::uint64_t>(centroids.rows()) * of_a_sum,
                                                 static_cast<std::uint64_t>(centroids.columns()), "centroids"),
                          execution);
}

#define GRADUS_INSTANTIATE(T)                                  \
  template Matrix<T> checked_centroids(const KMeansModel<T>&); \
  template void check_sums_memory(MatrixView<const T>, bool, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
