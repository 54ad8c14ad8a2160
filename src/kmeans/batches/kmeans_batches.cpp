// KMeansBatches: assigns batches of points by kmeans_predict() and adds them to exact sums.
#include "gradus/kmeans_batches.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/exact_accumulator.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/error.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/batches/batch_sums.hpp"
#include "kmeans/points/unit_length.hpp"
#include "kmeans/points/unit_rows.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

void require_host(MemoryPlace place, const char* what) {
  if (!place.is_host())
    throw UnsupportedError(about(what) +
                           "in GPU memory; batches are added up on the CPU, so copy them to host memory first");
}

/// Throws InputError for the first coordinate that no fit accepts.
template <class T>
void require_coordinates(MatrixView<const T> rows, const char* what, std::int64_t first_row = 0) {
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t column = 0; column < rows.columns(); ++column) {
      const double value = static_cast<double>(rows(row, column));
      if (std::abs(value) <= 0x1p500) continue;
      throw InputError(about(what) + "row " + std::to_string(first_row + row) + ", column " + std::to_string(column) +
                           ": " + core::number_text(value) +
                           "; finite numbers of magnitude at most 2^500 are needed (rows and columns count from 0)",
                       {.row = first_row + row, .column = column});
    }
}

/// Returns a copy of the centroids; for the cosine metric, with the unit length that a fit from them would give them.
template <class T>
Matrix<T> first_centroids(MatrixView<const T> centroids, KMeansMetric metric) {
  KMeansOptions options;
  options.clusters = centroids.rows();
  options.init = KMeansInit::given;
  options.fewer_distinct = KMeansFewerDistinct::accept;
  options.metric = metric;
  Execution on_cpu;
  on_cpu.device = Device::cpu;
  return std::move(kmeans_initial_centroids(centroids, options, KMeansMemory<T>{.initial_centroids = centroids}, on_cpu)
                       .centroids);
}

}  // namespace

template <class T>
struct KMeansBatches<T>::State {
  Matrix<T> centroids;
  KMeansMetric metric;
  room::BatchSums<T> sums;
  core::ExactAccumulator inertia;

  MatrixView<const T> view() const { return centroids.view(); }

  /// Adds points with known labels. Throws nothing but std::bad_alloc, and then leaves everything unchanged.
  void add(MatrixView<const T> points, VectorView<const T> weights, const std::int32_t* labels, int threads) {
    Buffer<double> distances(points.rows());
    room::own_squared_distances(points, view(), labels, distances.data(), threads);
    sums.add(points, weights, labels, threads);
    for (std::int64_t row = 0; row < points.rows(); ++row)
      if (weights.empty()) inertia.add(distances[row]);
      else inertia.add(core::rounded_product(static_cast<double>(weights[row]), distances[row]));
  }
};

template <class T>
KMeansBatches<T>::KMeansBatches(MatrixView<const T> centroids, KMeansMetric metric) {
  execution::whole_call([&] {
    execution::check_extent(centroids, "centroids");
    require_host(centroids.place(), "centroids");
    if (centroids.rows() < 1 || centroids.columns() < 1)
      throw InputError(about("centroids") + "the shape is " + std::to_string(centroids.rows()) + " x " +
                       std::to_string(centroids.columns()) + "; at least one row and one column are needed");
    require_coordinates(centroids, "centroids");
    state_.reset(new State{first_centroids(centroids, metric), metric, {centroids.rows(), centroids.columns()}, {}});
  });
}

template <class T>
KMeansBatches<T>::KMeansBatches(KMeansBatches&&) noexcept = default;
template <class T>
KMeansBatches<T>& KMeansBatches<T>::operator=(KMeansBatches&&) noexcept = default;
template <class T>
KMeansBatches<T>::~KMeansBatches() = default;

template <class T>
KMeansPrediction KMeansBatches<T>::add(MatrixView<const T> points, const KMeansMemory<T>& memory,
                                       const Execution& execution) {
  require_host(points.place(), "points");
  require_host(memory.weights.place(), "weights");
  require_host(memory.labels.place(), "labels");
  if (execution.communicator != nullptr)
    throw UnsupportedError(about("communicator") +
                           "batches are added by one process; merge() combines the sums of several");
  if (points.rows() == 0 && (points.columns() == 0 || points.columns() == state_->centroids.columns())) return {};
  KMeansPrediction prediction = kmeans_predict(KMeansModel<T>{state_->view(), state_->metric, {}}, points, memory, execution);
  execution::whole_call([&] {
    const int threads = cpu::thread_count(execution);
    const std::uint64_t bytes = state_->sums.bytes_with(room::BatchSums<T>::words_of(points, memory.weights, threads));
    execution::check_memory(bytes + 16 * static_cast<std::uint64_t>(points.rows()), execution);
    const std::int32_t* const labels = memory.labels.empty() ? prediction.labels.data() : memory.labels.data();
    if (state_->metric == KMeansMetric::euclidean) return state_->add(points, memory.weights, labels, threads);
    const Matrix<T> unit = room::unit_rows(points, "points", threads, {});
    state_->add(unit.view(), memory.weights, labels, threads);
  });
  return prediction;
}

template <class T>
void KMeansBatches<T>::merge(const KMeansBatches& other) {
  execution::whole_call([&] {
    const MatrixView<const T> here = state_->view();
    const MatrixView<const T> there = other.state_->view();
    const auto size = static_cast<std::size_t>(here.rows() * here.columns());
    if (state_->metric != other.state_->metric || here.rows() != there.rows() || here.columns() != there.columns() ||
        std::memcmp(here.data(), there.data(), size * sizeof(T)) != 0)
      throw UsageError(
          "merge(): the two objects have different centroids or metrics; only sums of points that were assigned to the "
          "same centroids can be combined");
    state_->sums.merge(other.state_->sums);
    state_->inertia.merge(other.state_->inertia);
  });
}

template <class T>
Matrix<T> KMeansBatches<T>::means(int threads) const {
  return execution::whole_call([&] {
    Execution execution;
    execution.threads = threads;
    Matrix<T> means = Matrix<T>::copy_of(state_->view());
    const std::int64_t columns = means.columns();
#pragma omp parallel for num_threads(cpu::thread_count(execution)) schedule(dynamic, 16)
    for (std::int64_t cluster = 0; cluster < means.rows(); ++cluster) {
      if (!state_->sums.has_weight(cluster)) continue;
      state_->sums.mean(cluster, means.row(cluster));
      if (state_->metric == KMeansMetric::cosine && !room::scale_to_unit_length(means.row(cluster), columns))
        std::copy_n(state_->centroids.row(cluster), columns, means.row(cluster));
    }
    return means;
  });
}

template <class T>
double KMeansBatches<T>::move(int threads) {
  Matrix<T> moved = means(threads);
  double movement = 0;
  for (std::int64_t cluster = 0; cluster < moved.rows(); ++cluster)
    for (std::int64_t column = 0; column < moved.columns(); ++column) {
      const double by = static_cast<double>(moved(cluster, column)) - static_cast<double>(state_->centroids(cluster, column));
      movement += by * by;
    }
  state_->centroids = std::move(moved);
  return movement;
}

template <class T>
void KMeansBatches<T>::forget() {
  state_->sums.clear();
  state_->inertia = {};
}

template <class T>
void KMeansBatches<T>::replace(std::int64_t cluster, VectorView<const T> centroid) {
  execution::whole_call([&] {
    Matrix<T>& centroids = state_->centroids;
    if (cluster < 0 || cluster >= centroids.rows())
      throw UsageError(about("cluster") + std::to_string(cluster) + "; 0 to " + std::to_string(centroids.rows() - 1) +
                       " are possible");
    require_host(centroid.place(), "centroid");
    if (centroid.size() != centroids.columns())
      throw UsageError(about("centroid") + "there are " + std::to_string(centroid.size()) + " coordinates, but " +
                       std::to_string(centroids.columns()) + " are needed");
    const MatrixView<const T> row(centroid.data(), 1, centroid.size());
    require_coordinates(row, "centroid");
    std::copy_n(first_centroids(row, state_->metric).data(), centroid.size(), centroids.row(cluster));
    state_->sums.clear(cluster);
  });
}

template <class T>
MatrixView<const T> KMeansBatches<T>::centroids() const {
  return state_->view();
}
template <class T>
KMeansMetric KMeansBatches<T>::metric() const {
  return state_->metric;
}
template <class T>
const std::vector<std::int64_t>& KMeansBatches<T>::counts() const {
  return state_->sums.counts();
}

template <class T>
std::vector<double> KMeansBatches<T>::weights() const {
  std::vector<double> weights;
  for (std::int64_t cluster = 0; cluster < state_->centroids.rows(); ++cluster)
    weights.push_back(state_->sums.weight(cluster));
  return weights;
}

template <class T>
double KMeansBatches<T>::inertia() const {
  const double inertia = state_->inertia.template round<double>();
  if (!std::isfinite(inertia))
    throw InputError("the inertia is beyond the range of double; scale the points or their weights down");
  return state_->metric == KMeansMetric::cosine ? 0.5 * inertia : inertia;
}

template class KMeansBatches<float>;
template class KMeansBatches<double>;

}  // namespace gradus
