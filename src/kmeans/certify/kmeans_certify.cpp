// kmeans_certify(): a lower bound for the inertia of every clustering.
#include "gradus/kmeans_certify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/error.hpp"
#include "gradus/kmeans1d.hpp"
#include "kmeans/certify/group_bound.hpp"
#include "kmeans/certify/grouped_rows.hpp"
#include "kmeans/certify/memory.hpp"
#include "kmeans/certify/plane_bound.hpp"
#include "kmeans/certify/rounding.hpp"
#include "kmeans/check/arguments.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/unit_rows.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

std::uint64_t bytes_of_certificate(std::int64_t rows, std::int64_t columns, std::int64_t clusters, int threads) {
  return bytes_of_grouped_rows(rows, columns) + bytes_of_group_bound(rows, columns, clusters, threads) +
         (columns == 2 ? bytes_of_plane_bound() : 0);
}

}  // namespace kmeans_detail

namespace {

/// Potentials are not computed if the groups give this share of the inertia.
constexpr double good_enough = 0.95;

/// Pairs of cells that the search for potentials may compare, per row and cluster and unit of effort. A fit computes
/// about 16 distances per row and cluster, and 32 of them take the time of a pair.
constexpr double pairs_of_effort = 0.5;
constexpr double least_pairs = 0x1p16;

/// A bound below this is 0.
constexpr double least_bound = 0x1p-960;

template <class T>
class CertificateJob {
 public:
  CertificateJob(const KMeansModel<T>& model, MatrixView<const T> points, VectorView<const std::int32_t> labels,
                 VectorView<const T> weights, const Execution& execution, double effort)
      : model_(model), points_(points), labels_(labels), weights_(weights), execution_(execution), effort_(effort) {}

  KMeansCertificate run() {
    const auto start = core::Clock::now();
    check();
    prepare();
    if (points_.columns() == 1 && model_.metric == KMeansMetric::euclidean && is_short()) certify_column();
    else certify_groups();
    // No result of Gradus is below the bound, either: its inertia is a sum of rounded squared distances.
    result_.bound *= 1 - room::error_of_sum(points_.columns() + 8);
    if (!(result_.bound >= least_bound)) result_.bound = 0;
    result_.bound = std::min(result_.bound, std::numeric_limits<double>::max());
    if (!(result_.bound > 0)) result_.method = KMeansBound::none;
    result_.report.device = execution::device_name(false, execution_);
    result_.report.threads = threads_;
    core::add_phase(result_.report.phases, "total", core::seconds_since(start));
    return std::move(result_);
  }

 private:
  /// Returns true if kmeans1d() supports the number of points.
  bool is_short() const { return points_.rows() <= std::numeric_limits<std::int32_t>::max(); }

  void check() {
    execution::check_execution(execution_);
    if (!(effort_ >= 0) || std::isinf(effort_))
      throw InputError(
          about("effort") + std::to_string(effort_) + " is not a multiple of the work of a fit; 1 is usual",
          {.code = error_code::out_of_range, .value = std::to_string(effort_), .allowed = "at least 0"});
    if (execution_.communicator != nullptr)
      throw UnsupportedError(about("communicator") +
                             "a certificate needs all points in one process; leave the communicator out");
    if (execution_.device == Device::gpu || !execution_.gpus.empty())
      throw UnsupportedError(about("device") + "a certificate is computed on the CPU; ask for no GPU");
    if (!execution_.variant.empty() || !execution_.variant_options.empty())
      throw UnsupportedError(about("variant") + "a certificate has no variants; leave it out");
    room::require_in_host_memory(points_.place(), "points");
    room::require_in_host_memory(labels_.place(), "labels");
    room::require_in_host_memory(weights_.place(), "weights");
    execution::check_extent(points_, "points");
    execution::check_view(weights_, "weights");
    execution::check_number(weights_, points_.rows(), "weights", "points");
    room::checked_centroids(model_);
    room::check_model(model_.centroids, room::PointRows<T>(points_), model_.metric, execution_);
    room::check_given_labels(labels_, points_.rows(), model_.centroids.rows(), 0);
  }

  /// Replaces the points by those that the metric compares, and checks values and memory.
  void prepare() {
    const core::RankRows rows(points_.rows(), 0);
    threads_ = room::team_for(points_.rows() * points_.columns(), execution_);
    Execution here = execution_;
    if (!model_.standardization.empty()) {
      standardized_.emplace(points_, model_.standardization, rows, here);
      points_ = standardized_->rows();
      here = standardized_->here();
    }
    if (model_.metric == KMeansMetric::cosine) {
      here = room::beside_copy(points_.rows(), points_.columns(), sizeof(T), here);
      unit_ = room::unit_rows<T>(points_, "points", threads_, here.stop);
      points_ = std::as_const(unit_).view();
    }
    room::examine(points_, weights_, MatrixView<const T>{}, threads_, here.stop);  // refuses NaN, infinity and the like
    execution::check_memory(room::bytes_of_certificate(points_.rows(), points_.columns(), clusters(), threads_), here,
                            "fewer points need less");
    limit_ = here.memory_limit;
  }

  std::int64_t clusters() const { return model_.centroids.rows(); }

  void certify_groups() {
    const room::GroupedRows rows =
        room::grouped_rows(points_, labels_, weights_, clusters(), threads_, execution_.stop);
    const room::GroupBound found = room::group_bound(rows, clusters(), threads_, execution_.stop);
    double best = found.value;
    result_.method = found.is_of_groups ? KMeansBound::groups : KMeansBound::spectrum;
    if (points_.columns() == 2 && best < good_enough * found.inertia) {
      const double of_plane = room::plane_bound(rows, clusters(), budget(), threads_, execution_.stop);
      if (of_plane > best) result_.method = KMeansBound::potentials;
      best = std::max(best, of_plane);
    }
    // The root of the inertia is the length of a projection of the rows, so it changes by no more than they moved.
    const double root = std::sqrt(best) * room::rounded_down - std::sqrt(rows.moved) * room::rounded_up;
    const double half = model_.metric == KMeansMetric::cosine ? 0.5 : 1;
    result_.bound =
        root > 0 ? std::ldexp(half * root * root * room::rounded_down, 2 * rows.exponent + rows.weight_exponent) : 0;
  }

  double budget() const {
    const double of_fit = static_cast<double>(points_.rows()) * static_cast<double>(clusters());
    return std::max(effort_ * pairs_of_effort * of_fit, least_pairs);
  }

  void certify_column() {
    Matrix<double> values(points_.rows(), 1);
    std::vector<double> weights;
    for (std::int64_t row = 0; row < points_.rows(); ++row) {
      values(row, 0) = static_cast<double>(points_(row, 0));
      if (!weights_.empty()) weights.push_back(static_cast<double>(weights_[row]));
    }
    if (different(values, weights) <= clusters()) return;  // the least inertia is 0
    Execution here;
    here.device = Device::cpu;
    here.stop = execution_.stop;
    here.memory_limit = limit_;
    const KMeans1dResult<double> best =
        gradus::kmeans1d(values, {.clusters = clusters()}, {.weights = {weights.data(), std::ssize(weights)}}, here);
    double rounding = 0;   // inertia of the rounding errors of the centroids
    double underflow = 0;  // largest sum of the errors of squared distances that are not normal numbers
    for (std::int64_t row = 0; row < points_.rows(); ++row) {
      const double error = best.centroids(best.labels[row], 0) * std::numeric_limits<double>::epsilon();
      const double weight = weights.empty() ? 1 : weights[static_cast<std::size_t>(row)];
      rounding += weight * error * error;
      underflow += weight * std::numeric_limits<double>::denorm_min();
    }
    result_.bound = best.inertia - (rounding + underflow) * (1 + room::error_of_sum(points_.rows()));
    result_.method = KMeansBound::one_column;
    threads_ = 1;
  }

  /// Returns the number of different values of positive weight.
  static std::int64_t different(const Matrix<double>& values, const std::vector<double>& weights) {
    std::vector<double> sorted;
    for (std::int64_t row = 0; row < values.rows(); ++row)
      if (weights.empty() || weights[static_cast<std::size_t>(row)] > 0) sorted.push_back(values(row, 0));
    std::sort(sorted.begin(), sorted.end());
    return std::unique(sorted.begin(), sorted.end()) - sorted.begin();
  }

  const KMeansModel<T>& model_;
  MatrixView<const T> points_;
  VectorView<const std::int32_t> labels_;
  VectorView<const T> weights_;
  const Execution& execution_;
  double effort_;
  std::optional<room::StandardizedPoints<T>> standardized_;
  Matrix<T> unit_;
  std::uint64_t limit_ = 0;
  int threads_ = 1;
  KMeansCertificate result_;
};

}  // namespace

namespace detail {

template <class T>
KMeansCertificate kmeans_certify(const KMeansModel<T>& model, MatrixView<const T> points,
                                 VectorView<const std::int32_t> labels, VectorView<const T> weights,
                                 const Execution& execution, double effort) {
  return execution::whole_call(execution, [&](const Execution& here) {
    return CertificateJob<T>(model, points, labels, weights, here, effort).run();
  });
}

template KMeansCertificate kmeans_certify(const KMeansModel<float>&, MatrixView<const float>,
                                          VectorView<const std::int32_t>, VectorView<const float>, const Execution&,
                                          double);
template KMeansCertificate kmeans_certify(const KMeansModel<double>&, MatrixView<const double>,
                                          VectorView<const std::int32_t>, VectorView<const double>, const Execution&,
                                          double);

}  // namespace detail

}  // namespace gradus
