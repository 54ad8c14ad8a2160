// The public entry points: check, choose, run.
#include "gradus/kmeans.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>

#include "core/checked.hpp"
#include "core/failure.hpp"
#include "core/float_environment.hpp"
#include "core/phases.hpp"
#include "core/ranks.hpp"
#include "core/stop.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/checkpoint/checkpoint_file.hpp"
#include "kmeans/gpu/gpu_points.hpp"
#include "kmeans/gpu/host_copy.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/lloyd/distance.hpp"
#include "kmeans/lloyd/idle_rank.hpp"
#include "kmeans/lloyd/lloyd.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/lloyd/unit_rows.hpp"
#include "kmeans/ranks.hpp"
#include "kmeans/seeding/initialize.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

room::Shape shape_of(const KMeansShape& shape, const KMeansOptions& options) {
  return {shape.points,     shape.dimensions,
          options.clusters, shape.element_bytes,
          shape.weighted,   room::first_distances(options.init, options.clusters, shape.dimensions)};
}

template <class T>
KMeansShape public_shape(MatrixView<const T> points, bool weighted) {
  return {points.rows(), points.columns(), static_cast<int>(sizeof(T)), weighted, points.place()};
}

void check_graph_file(const room::Variant& variant, const std::string& graph_file) {
  if (graph_file.empty() || variant.writes_graph) return;
  throw UsageError(
      "kmeans variant '" + std::string(variant.name) + "' has no task graph to write to '" + graph_file +
      "'; the variants that have one: " + core::names_of_those_with(&room::Variant::writes_graph, room::variants()));
}

void check_lock(const room::Variant& variant, const KMeansOptions& options) {
  if (!options.lock.empty()) room::require_lock(options.lock);
  if ((options.lock.empty() && options.locked == KMeansLocked::point) || variant.facts.takes_lock) return;
  throw UsageError("kmeans variant '" + std::string(variant.name) + "' takes no lock" +
                   (options.lock.empty() ? "" : ", not '" + options.lock + "'") + "; 'openmp_locked' does");
}

/// Whether a fit by one of them goes on by another.
bool has_checkpoints(const room::Variant& variant) { return variant.contract.kind == core::Contract::same_bits; }

void check_checkpoint(const room::Variant& variant, const KMeansCheckpoint& checkpoint) {
  if (checkpoint.file.empty() || has_checkpoints(variant)) return;
  std::string names;
  for (const room::Variant& other : room::variants())
    if (has_checkpoints(other)) names += (names.empty() ? "'" : ", '") + std::string(other.name) + "'";
  throw UnsupportedError(
      "kmeans variant '" + std::string(variant.name) +
      "' has no checkpoints, for its sums depend on their order; the variants that have them: " + names);
}

const room::Variant& wanted_variant(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant = execution::wanted_variant(room::variants(), room::choose, shape, execution, "kmeans");
  const bool is_asked_for = !execution.variant.empty() || execution.device != Device::automatic;
  if (execution.communicator == nullptr || is_asked_for || variant.backend != core::Backend::cuda) return variant;
  return room::choose(shape, room::machine_of_rank(execution), execution.device);
}

/// Whether all is done on the GPU, where the points are or are brought. On ranks the variant alone runs there, on a
/// copy of its own.
bool stays_on_gpu(const room::Variant& variant, const Execution& execution) {
  return variant.device_input && execution.communicator == nullptr;
}

/// `points`: where they lie; `others`: what lies beside them; `execution`: as execution::run_where_it_lies() gives it.
const room::Variant& select(const room::Shape& shape, const KMeansOptions& options, const Execution& execution,
                            MemoryPlace points = {}, std::initializer_list<execution::NamedPlace> others = {}) {
  const room::Variant& variant = wanted_variant(shape, execution);
  execution::check_takes_device_input(room::variants(), variant, points, "points", "kmeans");
  for (const execution::NamedPlace& other : others) {
    execution::check_beside(other.place, other.what, variant.backend == core::Backend::cuda, execution.gpu);
    execution::check_takes_device_input(room::variants(), variant, other.place, other.what, "kmeans");
  }
  check_graph_file(variant, options.graph_file);
  check_lock(variant, options);
  check_checkpoint(variant, options.checkpoint);
  execution::check_runs_here(variant, shape, execution, "kmeans");
  return variant;
}

constexpr double endless = std::numeric_limits<double>::infinity();  ///< nanoseconds, worth all threads

/// Whether the number of threads is left to the library: nobody gave one, and the bits do not depend on it.
bool chooses_threads(const room::Variant& variant, const Execution& execution) {
  return execution.threads == 0 && variant.backend == core::Backend::simd &&
         variant.contract.kind == core::Contract::same_bits;
}

/// Of the copy of the points that the variant makes, if it makes one.
std::uint64_t copy_bytes(const room::Shape& shape, const room::Variant& variant, room::SeedingFilter filter) {
  return variant.facts.copy_bytes != nullptr && filter != room::SeedingFilter::never ? variant.facts.copy_bytes(shape)
                                                                                     : 0;
}

/// How much of a fit is asked for.
enum class Extent { first_centroids, fit };

std::uint64_t host_memory(const room::Shape& shape, const KMeansOptions& options, const Execution& execution,
                          const room::Variant& variant, room::SeedingFilter filter, Extent extent = Extent::fit) {
  const auto n = static_cast<std::uint64_t>(shape.points);
  const auto element_bytes = static_cast<std::uint64_t>(shape.element_bytes);
  const auto centroid_bytes =
      core::checked_multiply(core::checked_multiply(static_cast<std::uint64_t>(shape.clusters),
                                                    static_cast<std::uint64_t>(shape.dimensions), "centroids"),
                             element_bytes, "centroids");
  std::uint64_t bytes = 4 * centroid_bytes;                                // of this, the next and the best fit
  if (extent == Extent::fit) bytes += (options.restarts > 1 ? 8 : 4) * n;  // labels
  if (extent == Extent::fit && !options.checkpoint.file.empty()) bytes += room::checkpoint_bytes(centroid_bytes);
  if (options.metric == KMeansMetric::cosine)
    bytes += core::checked_multiply(n * element_bytes, static_cast<std::uint64_t>(shape.dimensions), "points");
  const int threads = cpu::thread_count(execution);
  if (extent == Extent::first_centroids)
    return bytes + room::column_bytes(shape, threads) + room::seeding_bytes(shape, options.init, filter);
  std::uint64_t iterations = core::checked_add(
      variant.memory(shape, threads).host,
      variant.contract.kind == core::Contract::same_bits ? room::exact_means_bytes(shape) : 0, "the memory of the job");
  const std::uint64_t copy = copy_bytes(shape, variant, filter);
  iterations = core::checked_add(iterations, copy, "the memory of the job");
  const std::uint64_t initialization = room::seeding_bytes(shape, options.init, filter, copy);
  return bytes + room::column_bytes(shape, threads) + std::max(initialization, iterations);
}

/// The copies that make the choice of first centroids and iterations fast are made where there is memory for them.
room::SeedingFilter seeding_filter(const room::Shape& shape, const KMeansOptions& options, const Execution& execution,
                                   const room::Variant& variant, Extent extent = Extent::fit) {
  if (stays_on_gpu(variant, execution)) return room::SeedingFilter::never;  // it chooses on the GPU
  const std::uint64_t needed =
      host_memory(shape, options, execution, variant, room::SeedingFilter::where_it_pays, extent);
  return execution::has_memory(needed, execution) ? room::SeedingFilter::where_it_pays : room::SeedingFilter::never;
}

/// On the GPU, beside points, their copy of unit length and weights. What the choice of first centroids takes there is
/// given back before the variant runs.
std::uint64_t device_memory(const room::Shape& shape, const Execution& execution, const room::Variant& variant) {
  return std::max(room::gpu_cover_bytes(shape.points, shape.dimensions, true),
                  variant.memory(shape, cpu::thread_count(execution)).device);
}

/// What a job knows of its points before it starts, and the memory that this takes.
template <class T>
class Prepared {
 public:
  /// `centroids`: given ones in host memory, or none. `gpu_bytes`: what the job will take on the GPU beside points and
  /// weights. `ranks`: where points and weights are those of this rank's rows, in host memory.
  Prepared(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> centroids, KMeansMetric metric,
           const Execution& execution, bool on_gpu, std::uint64_t gpu_bytes, std::vector<Phase>& phases,
           core::Ranks* ranks)
      : threads_(cpu::start_team(cpu::thread_count(execution))), stop_(execution.stop), points_(points),
        weights_(weights), centroids_(centroids), ranks_(ranks) {
    if (on_gpu) {
      core::PhaseTimer timer(phases, "to_device");
      if (metric == KMeansMetric::cosine)
        gpu_bytes += static_cast<std::uint64_t>(points.rows() * points.columns()) * sizeof(T);
      bring_to_gpu(execution, gpu_bytes);
    }
    core::PhaseTimer timer(phases, "examine");
    examine();
    if (metric != KMeansMetric::cosine) return;
    to_unit_rows();
    examine();
    room::allow_unit_centroids(statistics_, all_rows());
  }

  /// Of all ranks.
  std::int64_t all_rows() const { return ranks_ == nullptr ? points_.rows() : ranks_->rows(); }

  MatrixView<const T> points() const { return points_; }
  VectorView<const T> weights() const { return weights_; }      ///< in host memory
  MatrixView<const T> centroids() const { return centroids_; }  ///< in host memory
  const room::GpuPoints<T>* gpu() const { return gpu_.get(); }

  /// Counted up to the number of clusters. InputError where they are fewer, unless that is accepted.
  std::int64_t different_points(const KMeansOptions& options) const {
    const std::int64_t count = room::count_different(points_, weights_, options.clusters, gpu_.get(), stop_, ranks_);
    if (count == options.clusters || room::accepts_fewer_different(options)) return count;
    room::throw_too_few(options.clusters, count, "different point", weights_.empty() ? "" : " of positive weight");
  }

  /// Several clusters can be told apart.
  void require_distances(std::int64_t clusters) const {
    if (clusters > 1) room::require_distances(statistics_);
  }

  double mean_column_variance() const {
    if constexpr (cuda::is_compiled) {
      if (gpu_)
        if (const std::optional<double> variance = gpu_->mean_column_variance(statistics_)) return *variance;
    }
    return room::mean_column_variance(points_, statistics_, gpu_.get(), threads_, stop_, ranks_);
  }

  /// Of memory for results on the GPU that the points are on: see cuda::Job.
  void admit(const void* address, const char* what) const {
    if constexpr (cuda::is_compiled) gpu_->job()->admit(address, what);
  }
  void store(MatrixView<const std::int32_t> labels, std::int32_t* to) const {
    if constexpr (cuda::is_compiled) gpu_->job()->copy_here(labels, to);
  }
  void distances_on_gpu(KMeansMetric metric, MatrixView<T> distances,
                        const std::function<void(std::int64_t)>& progress) const {
    if constexpr (cuda::is_compiled) gpu_->distances(centroids_, metric, distances, progress);
  }

  /// A problem that refers to this object's memory.
  room::Problem<T> problem() {
    room::Problem<T> problem;
    problem.points = points_;
    problem.weights = weights_;
    problem.initial_centroids = centroids_;
    problem.statistics = statistics_;
    problem.gpu = gpu_.get();
    problem.stop = stop_;
    if (ranks_ != nullptr) {
      problem.ranks = ranks_;
      problem.rank_inertia = &rank_inertia_;
    }
    return problem;
  }

 private:
  void bring_to_gpu(const Execution& execution, std::uint64_t gpu_bytes) {
    if constexpr (cuda::is_compiled) {
      gpu_ = std::make_shared<room::GpuPoints<T>>(points_, weights_, execution, gpu_bytes);
      points_ = gpu_->rows();
      weights_ = gpu_->host_weights();
    } else {
      cuda::refuse_without_cuda("points");
    }
  }

  void examine() {
    if constexpr (cuda::is_compiled) {
      if (gpu_) {
        statistics_ = room::describe(gpu_->column_ranges(), points_.rows(), weights_, centroids_, stop_);
        return;
      }
    }
    statistics_ = room::examine(points_, weights_, centroids_, threads_, stop_, ranks_);
  }

  void points_to_unit_rows() {
    if constexpr (cuda::is_compiled) {
      if (gpu_) {
        gpu_->to_unit_rows();
        points_ = gpu_->rows();
        return;
      }
    }
    core::agree(ranks_, [&] {
      unit_points_ = room::unit_rows(points_, "points", threads_, stop_, ranks_ == nullptr ? 0 : ranks_->first_row());
    });
    points_ = std::as_const(unit_points_).view();
  }

  void to_unit_rows() {
    points_to_unit_rows();
    if (centroids_.rows() == 0) return;
    unit_centroids_ = room::unit_rows(centroids_, "initial centroids", 1, stop_);
    // Those of a fit are at unit length, rounded. To scale them again would move some by a last bit, and with them the
    // labels of points that are as near to two of them.
    for (std::int64_t cluster = 0; cluster < centroids_.rows(); ++cluster)
      if (has_unit_length(centroids_.row(cluster), centroids_.columns()))
        std::copy_n(centroids_.row(cluster), centroids_.columns(), unit_centroids_.row(cluster));
    centroids_ = std::as_const(unit_centroids_).view();
  }

  /// As near as a row is that was scaled to it: by the rounding of its coordinates, and of the sum of their squares.
  static bool has_unit_length(const T* row, std::int64_t d) {
    double squares = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const auto value = static_cast<double>(row[dim]);
      squares = std::fma(value, value, squares);
    }
    constexpr double of_coordinates = 2 * static_cast<double>(std::numeric_limits<T>::epsilon());
    const double of_sum = static_cast<double>(d) * std::numeric_limits<double>::epsilon();
    return std::abs(squares - 1) <= of_coordinates + of_sum;
  }

  int threads_;
  std::stop_token stop_;
  MatrixView<const T> points_;
  VectorView<const T> weights_;
  MatrixView<const T> centroids_;
  std::shared_ptr<room::GpuPoints<T>> gpu_;
  Matrix<T> unit_points_;
  Matrix<T> unit_centroids_;
  room::Statistics statistics_;
  core::Ranks* ranks_;
  core::ExactAccumulator rank_inertia_;
};

void finish_report(RunReport& report, std::vector<Phase> phases, core::Clock::time_point start) {
  core::add_phase(phases, "total", core::seconds_since(start));
  report.phases = std::move(phases);
}

/// What the frame knows of a run; threads and the re-checked share are the variant's to say.
void report_run(RunReport& report, const room::Variant& variant, const Execution& execution, std::vector<Phase> phases,
                core::Clock::time_point start) {
  report.variant = variant.name;
  report.device = execution::device_name(variant.backend == core::Backend::cuda, execution);
  finish_report(report, std::move(phases), start);
}

/// Brings labels that are in the result to where the caller wants them.
template <class T>
void deliver(Buffer<std::int32_t>& labels, VectorView<std::int32_t> to, const Prepared<T>& prepared,
             const std::stop_token& stop) {
  if (to.empty() || labels.size() == 0) return;
  constexpr std::int64_t most = std::int64_t{1} << 24;  // some milliseconds, or some tens of them to a GPU
  for (std::int64_t first = 0; first < to.size(); first += most) {
    core::honour_stop(stop, "stopped while copying the labels");
    const VectorView<std::int32_t> some(to.data() + first, std::min(most, to.size() - first), to.place());
    if (to.place().is_host()) std::copy_n(labels.data() + first, some.size(), some.data());
    else prepared.store({labels.data() + first, some.size(), 1}, some.data());
  }
  labels = {};
}

}  // namespace

namespace {

/// Estimates a fit of a standardized copy in host memory, and the copy.
MemoryEstimate standardized_memory(KMeansShape shape, KMeansOptions options, const Execution& here) {
  shape.place = MemoryPlace::host();
  options.standardize = false;
  MemoryEstimate memory = kmeans_memory(shape, options, here);
  memory.host += static_cast<std::uint64_t>(shape.points * shape.dimensions * shape.element_bytes);
  return memory;
}

}  // namespace

MemoryEstimate kmeans_memory(const KMeansShape& shape, const KMeansOptions& options, const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  execution::check_execution(execution);
  room::check_options(options);
  execution::check_element_bytes(shape.element_bytes);
  constexpr std::int64_t most_points = std::numeric_limits<std::int32_t>::max();
  if (shape.points < 1 || shape.dimensions < 1 || shape.points > most_points)
    throw UsageError("a fit has 1 to " + std::to_string(most_points) + " points of at least one dimension, not " +
                     std::to_string(shape.points) + " x " + std::to_string(shape.dimensions));
  if (options.clusters > shape.points)
    throw UsageError(std::to_string(options.clusters) + " clusters cannot be made of " + std::to_string(shape.points) +
                     " points");
  execution::check_size({shape.points, shape.dimensions, 64}, "points");
  execution::check_size({4 * cpu::thread_count(execution) + 16, options.clusters, shape.dimensions, 256}, "clusters");
  const Execution here = execution::run_where_it_lies(shape.place, "points", execution);
  if (options.standardize) return standardized_memory(shape, options, here);
  const room::Shape sizes = shape_of(shape, options);
  const room::Variant& variant = select(sizes, options, here, shape.place);
  MemoryEstimate memory{.host =
                            host_memory(sizes, options, here, variant, seeding_filter(sizes, options, here, variant))};
  if (variant.backend != core::Backend::cuda) return memory;
  const auto column_bytes = static_cast<std::uint64_t>(shape.points) * static_cast<std::uint64_t>(shape.element_bytes);
  const std::uint64_t point_bytes = column_bytes * static_cast<std::uint64_t>(shape.dimensions);
  memory.device = device_memory(sizes, here, variant);
  if (options.metric == KMeansMetric::cosine) memory.device += point_bytes;
  if (shape.place.is_host()) memory.device += point_bytes + (shape.weighted ? column_bytes : 0);
  return memory;
}

namespace {

/// What a fit, and the choice of its first centroids, begin with: the checks, where it runs, and what is known of the
/// points.
template <class T>
class Beginning {
 public:
  Beginning(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
            const Execution& execution, Extent extent, core::Ranks* ranks)
      : options_(options), ranks_(ranks), here_(checked(points, options, memory, execution, extent, ranks)),
        weights_(room::weights_of_rank(ranks, points, memory.weights)),
        shape_(shape_of_fit(points, !weights_.empty(), options, ranks)),
        variant_(room::found_on_ranks(ranks, [&]() -> const room::Variant& {
          return select(shape_, options, here_, points.place(),
                        {{memory.weights.place(), "weights"}, {memory.labels.place(), "labels"}});
        })) {
    here_.threads =
        cpu::chosen_threads(chooses_threads(variant_, here_) ? room::nanoseconds_of_a_pass(shape_) : endless, here_);
    filter_ = seeding_filter(shape_, options, here_, variant_, extent);
    if (ranks != nullptr && room::any_rank(*ranks, [&] {
          cpu::start_team(cpu::thread_count(here_));
          return filter_ == room::SeedingFilter::never;
        }))
      filter_ = room::SeedingFilter::never;
    if (filter_ == room::SeedingFilter::never)
      core::agree(ranks, [&] {
        execution::check_memory(host_memory(shape_, options, here_, variant_, filter_, extent), here_);
      });
    MatrixView<const T> given;
    if (options.init == KMeansInit::given)
      given = room::in_host_memory(memory.initial_centroids, "initial centroids", here_, copied_centroids_);
    prepared_.emplace(points, weights_, given, options.metric, here_, stays_on_gpu(variant_, here_),
                      device_memory(shape_, here_, variant_), phases_, ranks);
    const core::PhaseTimer timer(phases_, "examine");
    different_points_ = prepared_->different_points(options);
    prepared_->require_distances(options.clusters);
  }

  const Execution& here() const { return here_; }
  const room::Shape& shape() const { return shape_; }
  const room::Variant& variant() const { return variant_; }
  room::SeedingFilter filter() const { return filter_; }
  Prepared<T>& prepared() { return *prepared_; }
  std::int64_t different_points() const { return different_points_; }
  std::vector<Phase>& phases() { return phases_; }

  /// `copy`, `so_far`: see room::initialize().
  room::FirstCentroids<T> first_centroids(int restart, std::shared_ptr<room::ByteRows<T>>* copy = nullptr,
                                          const room::SeedingSoFar& so_far = {}) {
    const core::PhaseTimer timer(phases_, "initialize");
    const KMeansMemory<T> initial{.initial_centroids = prepared_->centroids(), .weights = prepared_->weights()};
    return room::initialize(prepared_->points(), options_, initial, here_, restart, prepared_->gpu(), filter_, copy,
                            ranks_, so_far);
  }

 private:
  static room::Shape shape_of_fit(MatrixView<const T> points, bool weighted, const KMeansOptions& options,
                                  core::Ranks* ranks) {
    room::Shape shape = shape_of(public_shape(points, weighted), options);
    if (ranks != nullptr) shape.first_distances = 0;  // none that a GPU would make faster
    return shape;
  }

  static Execution checked(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                           const Execution& execution, Extent extent, core::Ranks* ranks) {
    core::agree(ranks, [&] { room::check_arguments(points, options, memory, execution, ranks == nullptr); });
    if (ranks == nullptr) return execution::run_where_it_lies(points.place(), "points", execution);
    Execution here = room::begin_on_ranks(
        *ranks, points,
        {{points.place(), "points"},
         {memory.weights.place(), "weights"},
         {memory.initial_centroids.place(), "initial centroids"},
         {memory.labels.place(), "labels"}},
        room::call_text(extent == Extent::fit ? "kmeans" : "kmeans_initial_centroids", options) +
            room::rows_text("initial centroids", memory.initial_centroids) + room::checkpoint_text(options.checkpoint),
        execution, room::RunsVariant::yes);
    room::check_clusters(options, ranks->rows());
    return here;
  }

  const KMeansOptions& options_;
  core::Ranks* ranks_;
  Execution here_;
  VectorView<const T> weights_;
  room::Shape shape_;
  const room::Variant& variant_;
  room::SeedingFilter filter_ = room::SeedingFilter::never;
  std::vector<Phase> phases_;
  Matrix<T> copied_centroids_;
  std::optional<Prepared<T>> prepared_;
  std::int64_t different_points_ = 0;
};

template <class T>
KMeansResult<T> run(const room::Variant& variant, const room::Problem<T>& problem, const Execution& execution,
                    std::vector<Phase>& phases) {
  if (problem.ranks != nullptr && problem.n() == 0) return room::idle_rank(problem, execution, phases);
  return variant.run(problem, execution, phases);
}

/// How far a job is, and who keeps it: on ranks the first one, for what they would keep is the same on all of them.
template <class T>
struct Kept {
  room::JobState<T> state;
  bool resumed = false;
  std::unique_ptr<room::CheckpointFile<T>> file;  ///< null: nobody does here
};

template <class T>
Kept<T> look_at_checkpoint(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                           const Execution& here, core::Ranks* ranks) {
  const KMeansCheckpoint& wanted = options.checkpoint;
  if (wanted.file.empty()) return {};
  Kept<T> kept;
  const bool is_first = ranks == nullptr || ranks->rank() == 0;
  const auto tell = [&](const std::string& text) {
    if (is_first && wanted.note) wanted.note(text);
  };
  const std::string job =
      room::job_text(room::call_text("kmeans", options), points, memory.weights, memory.initial_centroids, here, ranks);
  core::agree(ranks, [&] {
    if (is_first) room::require_no_other_file(wanted.file, wanted.resume);
  });
  std::optional<room::JobState<T>> found;
  if (wanted.resume) found = room::read_checkpoint<T>(options, job, points.columns(), ranks);
  core::agree(ranks, [&] {
    if (!is_first) return;
    std::error_code none;
    const bool exists = std::filesystem::exists(wanted.file, none);
    kept.file = std::make_unique<room::CheckpointFile<T>>(wanted, job, options.clusters, points.columns());
    if (exists && !wanted.resume)
      tell("'" + wanted.file + "' exists, and the first checkpoint of this fit replaces it; to resume goes on from it");
  });
  if (!found) {
    if (wanted.resume) tell("there is no checkpoint '" + wanted.file + "': the fit begins anew");
    return kept;
  }
  kept.resumed = true;
  kept.state = std::move(*found);
  const std::string of_fits = options.restarts == 1 ? ""
                                                    : " of fit " + std::to_string(kept.state.restart + 1) + " of " +
                                                          std::to_string(options.restarts);
  std::string place = "before the first iteration" + of_fits;
  if (kept.state.restart == options.restarts) place = "the fit was done";
  else if (kept.state.fit) place = "after iteration " + std::to_string(kept.state.fit->history.size()) + of_fits;
  tell("'" + wanted.file + "' is resumed: " + place);
  return kept;
}

/// Of a fit that a checkpoint held: labels and counts.
template <class T>
void complete(KMeansResult<T>& done, const room::Variant& variant, room::Problem<T> problem, const Execution& execution,
              std::vector<Phase>& phases, const std::string& file) {
  problem.initial_centroids = std::as_const(done.centroids).view();
  problem.max_iterations = 0;  // only the last assignment
  problem.bytes = nullptr;
  problem.checkpoints = nullptr;
  problem.fit_so_far = nullptr;
  KMeansResult<T> again = run(variant, problem, execution, phases);
  if (again.inertia != done.inertia)
    throw InputError("'" + file + "': the inertia of its best fit is not that of its centroids");
  done.labels = std::move(again.labels);
  done.counts = std::move(again.counts);
  done.report = std::move(again.report);
}

template <class T>
KMeansResult<T> fit(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                    const Execution& execution, core::Ranks* ranks) {
  const auto start = core::Clock::now();
  Beginning<T> beginning(points, options, memory, execution, Extent::fit, ranks);
  Prepared<T>& prepared = beginning.prepared();
  const room::Variant& variant = beginning.variant();
  std::vector<Phase>& phases = beginning.phases();
  room::Problem<T> problem = prepared.problem();
  problem.max_iterations = options.max_iterations;
  problem.changed_limit =
      static_cast<std::int64_t>(options.changed_fraction * static_cast<double>(prepared.all_rows()));
  problem.empty = options.empty;
  problem.different_points = beginning.different_points();
  problem.metric = options.metric;
  problem.graph_file = options.graph_file;
  problem.lock = options.lock;
  problem.locked = options.locked;
  problem.may_copy = beginning.filter() != room::SeedingFilter::never;
  if (!memory.labels.empty() && !memory.labels.place().is_host()) {
    prepared.admit(memory.labels.data(), "labels");
    // Of several fits it is known only afterwards whose labels are wanted.
    if (options.restarts == 1) problem.labels_on_gpu = memory.labels.data();
  }
  if (options.tolerance > 0) {
    const core::PhaseTimer timer(phases, "examine");
    problem.shift_limit = options.tolerance * prepared.mean_column_variance();
  }
  // Where it pays for itself by the iterations that follow.
  const bool copies = options.max_iterations > 1 && options.clusters > 1 &&
                      copy_bytes(beginning.shape(), variant, beginning.filter()) > 0;

  Kept<T> kept = look_at_checkpoint(points, options, memory, beginning.here(), ranks);
  problem.checkpoints = kept.file.get();
  const int first_restart = kept.state.restart;
  std::optional<KMeansResult<T>> best = std::move(kept.state.best);
  bool is_complete = !best;
  const auto fit_once = [&](int restart) {
    const bool goes_on = restart == first_restart;
    const room::FitState<T>* const so_far = goes_on && kept.state.fit ? &*kept.state.fit : nullptr;
    if (kept.file) {
      kept.file->begin_fit(restart, best ? &*best : nullptr, so_far != nullptr);
      if (goes_on && kept.state.seeding) kept.file->seeding = *kept.state.seeding;
      if (!goes_on && kept.file->is_due_between_fits()) kept.file->write_seeding();
    }
    problem.bytes = nullptr;
    problem.fit_so_far = so_far;
    if (so_far != nullptr) {
      problem.initial_centroids = so_far->centroids.view();
      return run(variant, problem, beginning.here(), phases);
    }
    const Matrix<T> first =
        beginning
            .first_centroids(restart, copies ? &problem.bytes : nullptr,
                             {goes_on && kept.state.seeding ? &*kept.state.seeding : nullptr, kept.file.get()})
            .centroids;
    problem.initial_centroids = first.view();
    return run(variant, problem, beginning.here(), phases);
  };
  for (int restart = first_restart; restart < options.restarts; ++restart) {
    try {
      KMeansResult<T> result = fit_once(restart);
      if (!best || result.inertia < best->inertia) {
        best = std::move(result);
        best->restart = restart;
        is_complete = true;
      }
    } catch (const InterruptedError&) {
      if (kept.file) kept.file->write_what_is_chosen();
      throw;
    }
  }
  if (!is_complete) complete(*best, variant, problem, beginning.here(), phases, options.checkpoint.file);
  best->resumed = kept.resumed;
  best->metric = options.metric;
  if (kept.file && first_restart < options.restarts) {
    kept.file->begin_fit(options.restarts, &*best);
    kept.file->write_seeding();
    kept.file->wait();
  }
  deliver(best->labels, memory.labels, prepared, beginning.here().stop);
  report_run(best->report, variant, beginning.here(), std::move(phases), start);
  return std::move(*best);
}

template <class T>
KMeansInitialCentroids<T> initial_centroids(MatrixView<const T> points, const KMeansOptions& options,
                                            const KMeansMemory<T>& memory, const Execution& execution,
                                            core::Ranks* ranks) {
  const auto start = core::Clock::now();
  core::agree(ranks, [&] { room::check_no_labels(memory); });
  Beginning<T> beginning(points, options, memory, execution, Extent::first_centroids, ranks);
  room::FirstCentroids<T> first = beginning.first_centroids(0);
  RunReport report{
      .device = execution::device_name(stays_on_gpu(beginning.variant(), beginning.here()), beginning.here()),
      .threads = cpu::thread_count(beginning.here())};
  finish_report(report, std::move(beginning.phases()), start);
  return {std::move(first.centroids), std::move(first.rows), std::move(report)};
}

/// Tells of points of a phase, if anybody listens.
std::function<void(std::int64_t)> progress_in(std::string_view phase, std::int64_t points, const Execution& execution) {
  if (!execution.progress) return [](std::int64_t) {};
  return [phase, points, &execution](std::int64_t done) { execution.progress({phase, done, points, {}}); };
}

/// Where a job with given centroids runs; on ranks after they have met.
template <class T>
Execution place_of_model(const char* call, MatrixView<const T> centroids, MatrixView<const T> points,
                         std::initializer_list<execution::NamedPlace> others, KMeansMetric metric,
                         const Execution& execution, core::Ranks* ranks, room::RunsVariant runs_variant) {
  if (ranks == nullptr) return execution::run_where_it_lies(points.place(), "points", execution);
  std::vector<execution::NamedPlace> places(others);
  places.push_back({points.place(), "points"});
  places.push_back({centroids.place(), "centroids"});
  return room::begin_on_ranks(
      *ranks, points, places,
      room::call_text(call, {.clusters = centroids.rows(), .metric = metric}) + room::rows_text("centroids", centroids),
      execution, runs_variant);
}

template <class T>
KMeansPrediction predict(MatrixView<const T> centroids, MatrixView<const T> points, const KMeansMemory<T>& memory,
                         KMeansMetric metric, const Execution& execution, core::Ranks* ranks) {
  const auto start = core::Clock::now();
  core::agree(ranks, [&] { room::check_model(centroids, points, metric, execution); });
  const VectorView<std::int32_t> labels = memory.labels;
  Execution here = place_of_model("kmeans_predict", centroids, points,
                                  {{memory.weights.place(), "weights"}, {labels.place(), "labels"}}, metric, execution,
                                  ranks, room::RunsVariant::yes);
  const VectorView<const T> weights = room::weights_of_rank(ranks, points, memory.weights);
  const room::Shape shape{points.rows(), points.columns(), centroids.rows(), static_cast<int>(sizeof(T)),
                          !weights.empty()};
  KMeansOptions options;
  options.init = KMeansInit::given;
  options.metric = metric;
  const room::Variant& variant = room::found_on_ranks(ranks, [&]() -> const room::Variant& {
    return select(shape, options, here, points.place(), {{weights.place(), "weights"}, {labels.place(), "labels"}});
  });
  here.threads =
      cpu::chosen_threads(chooses_threads(variant, here) ? room::nanoseconds_of_a_pass(shape) : endless, here);
  core::agree(ranks, [&] {
    execution::check_memory(host_memory(shape, options, here, variant, room::SeedingFilter::never), here);
    cpu::start_team(cpu::thread_count(here));
  });
  Matrix<T> copied_centroids;
  std::vector<Phase> phases;
  Prepared<T> prepared(points, weights, room::in_host_memory(centroids, "centroids", here, copied_centroids), metric,
                       here, stays_on_gpu(variant, here), variant.memory(shape, cpu::thread_count(here)).device, phases,
                       ranks);
  prepared.require_distances(centroids.rows());
  room::Problem<T> problem = prepared.problem();
  problem.metric = metric;
  problem.max_iterations = 0;  // no update: only the last assignment
  if (!labels.empty() && !labels.place().is_host()) {
    prepared.admit(labels.data(), "labels");
    problem.labels_on_gpu = labels.data();
  }
  const std::function<void(std::int64_t)> progress = progress_in("assign", points.rows(), here);
  if (here.progress) problem.progress = progress;
  progress(0);
  KMeansResult<T> result = run(variant, problem, here, phases);
  deliver(result.labels, labels, prepared, here.stop);
  progress(points.rows());
  report_run(result.report, variant, here, std::move(phases), start);
  return {std::move(result.labels), result.inertia, std::move(result.report)};
}

// On the processor, all in host memory.
template <class T>
void find_distances(MatrixView<const T> centroids, MatrixView<const T> points, MatrixView<T> distances,
                    KMeansMetric metric, int threads, const std::stop_token& stop,
                    const std::function<void(std::int64_t)>& progress) {
  // Tiles that stay in the cache: a whole row of the result would not, with many centroids.
  constexpr std::int64_t tile = 64;
  const std::int64_t tiles = (points.rows() + tile - 1) / tile;
  cpu::SharedWork work(tiles, threads, 1);
  std::atomic<std::int64_t> done{0};
  core::FirstFailure failure;
  const auto find = [&](int part) {
    core::Occasion occasion;
    double squared[tile * tile];
    const T* some_points[tile];
    const T* some_centroids[tile];
    for (cpu::Range one = work.next(part); one.size() > 0; one = work.next(part)) {
      const std::int64_t first = one.begin * tile;
      const std::int64_t count = std::min(tile, points.rows() - first);
      for (std::int64_t row = 0; row < count; ++row) some_points[row] = points.row(first + row);
      for (std::int64_t cluster = 0; cluster < centroids.rows(); cluster += tile) {
        if (stop.stop_requested() || failure.happened()) return;  // a tile is work enough between two looks
        const std::int64_t clusters = std::min(tile, centroids.rows() - cluster);
        for (std::int64_t row = 0; row < clusters; ++row) some_centroids[row] = centroids.row(cluster + row);
        room::squared_distances<T>(some_points, count, some_centroids, clusters, points.columns(), squared);
        const double* next = squared;
        for (std::int64_t column = cluster; column < cluster + clusters; ++column)
          for (std::int64_t row = first; row < first + count; ++row, ++next)
            distances(row, column) = static_cast<T>(metric == KMeansMetric::cosine ? 0.5 * *next : std::sqrt(*next));
      }
      const std::int64_t finished = done.fetch_add(count, std::memory_order_relaxed) + count;  // a figure, no order
      if (part == 0 && occasion.is_there()) progress(finished);  // part 0 is the calling thread's
    }
  };
  if (threads == 1) {  // a team of one would take some calls of the system, as long as a small job
    find(0);
  } else {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; ++part) failure.run([&] { find(part); });
  }
  failure.rethrow();
  core::honour_stop(stop, "stopped while computing distances");
}

/// In host memory, beside the result.
template <class T>
std::uint64_t transform_memory(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                               const Execution& execution) {
  const room::Shape shape{points.rows(), points.columns(), centroids.rows(), static_cast<int>(sizeof(T)), false};
  const bool on_gpu = execution.device == Device::gpu;
  const bool unit_length = metric == KMeansMetric::cosine;
  std::int64_t copied_rows = unit_length || !centroids.place().is_host() ? centroids.rows() : 0;
  if (unit_length && !centroids.place().is_host()) copied_rows += centroids.rows();
  if (unit_length && !on_gpu) copied_rows += points.rows();
  return core::checked_add(room::column_bytes(shape, cpu::thread_count(execution)),
                           core::checked_multiply(static_cast<std::uint64_t>(copied_rows) * sizeof(T),
                                                  static_cast<std::uint64_t>(points.columns()), "points"),
                           "the memory of the job");
}

template <class T>
RunReport transform(MatrixView<const T> centroids, MatrixView<const T> points, MatrixView<T> distances,
                    KMeansMetric metric, const Execution& execution, core::Ranks* ranks) {
  const auto start = core::Clock::now();
  core::agree(ranks, [&] { room::check_distances(centroids, points, distances); });
  Execution here = place_of_model("kmeans_transform", centroids, points, {{distances.place(), "distances"}}, metric,
                                  execution, ranks, room::RunsVariant::no);
  const bool on_gpu = here.device == Device::gpu;
  const room::Shape shape{points.rows(), points.columns(), centroids.rows(), static_cast<int>(sizeof(T)), false};
  here.threads = cpu::chosen_threads(on_gpu ? endless : room::nanoseconds_of_distances(shape), here);
  core::agree(ranks, [&] {
    if (on_gpu) execution::require_gpu(execution::this_machine(), here.gpu);
    execution::check_beside(distances.place(), "distances", on_gpu, here.gpu);
    execution::check_memory(transform_memory(centroids, points, metric, here), here);
    cpu::start_team(cpu::thread_count(here));
  });
  Matrix<T> copied_centroids;
  std::vector<Phase> phases;
  const Prepared<T> prepared(points, {}, room::in_host_memory(centroids, "centroids", here, copied_centroids), metric,
                             here, on_gpu, 0, phases, ranks);
  if (!distances.place().is_host()) prepared.admit(distances.data(), "distances");
  const int threads = cpu::thread_count(here);
  const std::function<void(std::int64_t)> progress = progress_in("distances", points.rows(), here);
  {
    const core::PhaseTimer timer(phases, "distances");
    progress(0);
    core::agree(ranks, [&] {
      if (on_gpu) prepared.distances_on_gpu(metric, distances, progress);
      else find_distances(prepared.centroids(), prepared.points(), distances, metric, threads, here.stop, progress);
    });
    progress(points.rows());
  }
  RunReport report{.device = execution::device_name(on_gpu, here), .threads = threads};
  finish_report(report, std::move(phases), start);
  return report;
}

}  // namespace

namespace detail {

template <class T>
KMeansResult<T> kmeans(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                       const Execution& execution) {
  if (options.standardize)
    return execution::whole_call([&] {
      room::check_fit(points, options, memory, execution);
      return room::fit_standardized(points, options, memory, execution);
    });
  return execution::whole_call<T>("kmeans", execution, [&](const auto& here, core::Ranks* ranks) {
    return fit(points, options, memory, here, ranks);
  });
}

template <class T>
KMeansInitialCentroids<T> kmeans_initial_centroids(MatrixView<const T> points, const KMeansOptions& options,
                                                   const KMeansMemory<T>& memory, const Execution& execution) {
  if (options.standardize)
    return execution::whole_call([&] {
      room::check_no_labels(memory);
      room::check_fit(points, options, memory, execution);
      return room::first_centroids_standardized(points, options, memory, execution);
    });
  return execution::whole_call<T>("kmeans_initial_centroids", execution, [&](const auto& here, core::Ranks* ranks) {
    return initial_centroids(points, options, memory, here, ranks);
  });
}

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                const KMeansMemory<T>& memory, KMeansMetric metric, const Execution& execution) {
  return execution::whole_call<T>("kmeans_predict", execution, [&](const auto& here, core::Ranks* ranks) {
    core::agree(ranks, [&] { room::check_prediction(centroids, points, memory, here); });
    return predict(centroids, points, memory, metric, here, ranks);
  });
}

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                                const Execution& execution) {
  return detail::kmeans_predict(centroids, points, KMeansMemory<T>{}, metric, execution);
}

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                VectorView<std::int32_t> labels, KMeansMetric metric, const Execution& execution) {
  return execution::whole_call<T>("kmeans_predict", execution, [&](const auto& here, core::Ranks* ranks) {
    core::agree(ranks, [&] {
      room::check_prediction(centroids, points, KMeansMemory<T>{.labels = labels}, here);
      room::check_labels(labels, points.rows());
    });
    return predict(centroids, points, KMeansMemory<T>{.labels = labels}, metric, here, ranks);
  });
}

template <class T>
RunReport kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points, MatrixView<T> distances,
                           KMeansMetric metric, const Execution& execution) {
  return execution::whole_call<T>("kmeans_transform", execution, [&](const auto& here, core::Ranks* ranks) {
    core::agree(ranks, [&] { room::check_model(centroids, points, metric, here); });
    return transform(centroids, points, distances, metric, here, ranks);
  });
}

template <class T>
Matrix<T> kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                           const Execution& execution) {
  return execution::whole_call<T>("kmeans_transform", execution, [&](const auto& here, core::Ranks* ranks) {
    Matrix<T> distances;
    core::agree(ranks, [&] {
      room::check_model(centroids, points, metric, here);
      const Execution at = execution::run_where_it_lies(points.place(), "points", here);
      const auto result = core::checked_multiply(static_cast<std::uint64_t>(points.rows()),
                                                 static_cast<std::uint64_t>(centroids.rows()) * sizeof(T), "distances");
      execution::check_memory(
          core::checked_add(result, transform_memory(centroids, points, metric, at), "the memory of the job"), at);
      distances = Matrix<T>(points.rows(), centroids.rows());
    });
    transform(centroids, points, distances.view(), metric, here, ranks);
    return distances;
  });
}

#define GRADUS_INSTANTIATE(T)                                                                                         \
  template KMeansResult<T> kmeans(MatrixView<const T>, const KMeansOptions&, const KMeansMemory<T>&,                  \
                                  const Execution&);                                                                  \
  template KMeansInitialCentroids<T> kmeans_initial_centroids(MatrixView<const T>, const KMeansOptions&,              \
                                                              const KMeansMemory<T>&, const Execution&);              \
  template KMeansPrediction kmeans_predict(MatrixView<const T>, MatrixView<const T>, KMeansMetric, const Execution&); \
  template KMeansPrediction kmeans_predict(MatrixView<const T>, MatrixView<const T>, const KMeansMemory<T>&,          \
                                           KMeansMetric, const Execution&);                                           \
  template KMeansPrediction kmeans_predict(MatrixView<const T>, MatrixView<const T>, VectorView<std::int32_t>,        \
                                           KMeansMetric, const Execution&);                                           \
  template Matrix<T> kmeans_transform(MatrixView<const T>, MatrixView<const T>, KMeansMetric, const Execution&);      \
  template RunReport kmeans_transform(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, KMeansMetric,          \
                                      const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace detail
}  // namespace gradus
