// KMeansBatches: assigns batches of points by kmeans_predict() and adds them to exact sums.
#include "gradus/kmeans_batches.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/exact_accumulator.hpp"
#include "core/npz.hpp"
#include "core/stop.hpp"
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

/// Throws InputError if a coordinate is a value that no fit accepts. The message names the first such coordinate.
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

/// Returns a copy of the centroids. For the cosine metric, scales the copy to unit length, as a fit scales its initial
/// centroids.
template <class T>
Matrix<T> first_centroids(MatrixView<const T> centroids, KMeansMetric metric) {
  if (metric == KMeansMetric::euclidean) return Matrix<T>::copy_of(centroids);
  return room::unit_centroids(centroids, "centroids", {});
}

}  // namespace

template <class T>
struct KMeansBatches<T>::State {
  Matrix<T> centroids;
  KMeansMetric metric;
  room::BatchSums<T> sums;
  core::ExactAccumulator inertia;

  MatrixView<const T> view() const { return centroids.view(); }

  /// Adds points with known labels. The only possible exception is std::bad_alloc; after it, everything is unchanged.
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
KMeansBatches<T>::KMeansBatches(std::unique_ptr<State> state) : state_(std::move(state)) {}
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
  // kmeans_predict() refuses weights that are all zero, but a batch may consist of points of weight zero.
  const VectorView<const T> weights = memory.weights;
  const bool weightless =
      !weights.empty() && weights.size() == points.rows() &&
      std::all_of(weights.data(), weights.data() + weights.size(), [](T weight) { return weight == 0; });
  KMeansMemory<T> of_prediction = memory;
  if (weightless) of_prediction.weights = {};
  KMeansPrediction prediction =
      kmeans_predict(KMeansModel<T>{state_->view(), state_->metric, {}}, points, of_prediction, execution);
  if (weightless) prediction.inertia = 0;
  execution::whole_call([&] {
    // The last report of progress may cause a stop request after the prediction has polled for the last time.
    core::honour_stop(execution.stop, "stopped before the batch was added");
    const int threads = cpu::thread_count(execution);
    const std::uint64_t bytes = state_->sums.bytes_with(room::BatchSums<T>::words_of(points, memory.weights, threads));
    execution::check_memory(bytes + 16 * static_cast<std::uint64_t>(points.rows()), execution);
    const std::int32_t* const labels = memory.labels.empty() ? prediction.labels.data() : memory.labels.data();
    if (state_->metric == KMeansMetric::euclidean) return state_->add(points, memory.weights, labels, threads);
    const Matrix<T> unit = room::unit_rows<T>(points, "points", threads, {});
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
      const double by =
          static_cast<double>(moved(cluster, column)) - static_cast<double>(state_->centroids(cluster, column));
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

template <class T>
std::vector<std::byte> KMeansBatches<T>::save() const {
  return execution::whole_call([&] {
    const MatrixView<const T> centroids = state_->view();
    const std::array<std::int64_t, 3> shape{centroids.rows(), centroids.columns(),
                                            static_cast<std::int64_t>(state_->metric)};
    core::ExactAccumulator inertia = state_->inertia;
    core::NpzContent content;
    content.add<std::int64_t>("shape", shape);
    content.add("centroids", std::span(shape).first(2), centroids.data());
    content.add<std::int64_t>("inertia", inertia.propagated_limbs());
    state_->sums.save(content);
    return content.bytes();
  });
}

template <class T>
KMeansBatches<T> KMeansBatches<T>::restore(std::span<const std::byte> saved) {
  return execution::whole_call([&] {
    const core::NpzArrays arrays(saved, "saved KMeansBatches");
    const std::vector<std::int64_t> shape = arrays.get<std::int64_t>("shape");
    const std::vector<std::int64_t> limbs = arrays.get<std::int64_t>("inertia");
    if (shape.size() != 3 || shape[0] < 1 || shape[1] < 1 || shape[2] < 0 || shape[2] > 1 ||
        limbs.size() != core::accumulator_limbs)
      throw InputError(about("saved") + "KMeansBatches saves other arrays");
    const std::vector<T> coordinates = arrays.get<T>("centroids", shape[1]);
    const MatrixView<const T> centroids(coordinates.data(), std::ssize(coordinates) / shape[1], shape[1]);
    if (centroids.rows() != shape[0])
      throw InputError(about("saved") + "there are " + std::to_string(centroids.rows()) + " centroids, not " +
                       std::to_string(shape[0]));
    require_coordinates(centroids, "saved");
    auto state = std::make_unique<State>(State{Matrix<T>::copy_of(centroids),
                                               static_cast<KMeansMetric>(shape[2]),
                                               room::BatchSums<T>::restore(arrays, shape[0], shape[1]),
                                               {}});
    state->inertia.merge(limbs);
    return KMeansBatches(std::move(state));
  });
}

template class KMeansBatches<float>;
template class KMeansBatches<double>;

}  // namespace gradus
