// Benchmarks k-means.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/points.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "kmeans/cases.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/options.hpp"
#include "kmeans/oracle.hpp"
#include "kmeans/points/host_points.hpp"

namespace gradus::bench {

namespace {

using kmeans_detail::Problem;
using kmeans_detail::Shape;
using kmeans_detail::Variant;
using nlohmann::ordered_json;

constexpr std::string_view problem_name = "kmeans";

// Maximum number of operations for the slow oracle. For larger inputs, results are compared only on a prefix of the
// points.
constexpr double oracle_operations = 2e8;

constexpr std::string_view locked_variant = "openmp_locked";

/// Returns the choices for an option of `openmp_locked`.
std::vector<std::string> choices_of(std::string_view option) {
  const Variant& variant = core::find_variant(kmeans_detail::variants(), locked_variant, problem_name);
  std::vector<std::string> names;
  for (const core::Choice& choice : core::find_option(variant.options->rows, option)->choices)
    names.emplace_back(choice.name);
  return names;
}

/// The settings of `openmp_locked`.
struct Locking {
  std::string lock{};
  std::string granularity = choices_of("locked").front();

  std::string title() const {
    if (lock.empty() && granularity == choices_of("locked").front()) return "";
    return fmt::format(", {} for each {}", lock.empty() ? "std_mutex" : lock, granularity);
  }
  std::vector<VariantOption> options() const {
    std::vector<VariantOption> options{{"locked", granularity}};
    if (!lock.empty()) options.push_back({"lock", lock});
    return options;
  }
  /// Returns true if the variant runs without a lock, so that updates are lost. The results of such fits are incorrect,
  /// but their speed is of interest.
  bool loses_updates() const { return lock == "no_lock"; }
};

/// A workload in which every row fits the same points from the same k initial centroids.
template <class T>
class Fit : public Workload {
 public:
  Fit(MatrixView<const T> points, std::string points_name, std::int64_t k, int iterations, Locking locking,
      std::stop_token stop)
      : points_(points), points_name_(std::move(points_name)), k_(k), iterations_(iterations),
        locking_(std::move(locking)), stop_(std::move(stop)) {}

  std::string title() const override {
    return fmt::format("{}, k = {}, at most {} iterations{}", points_title(points_, points_name_), k_, iterations_,
                       locking_.title());
  }

  ordered_json facts() const override {
    ordered_json facts = {{"points", points_name_},  {"n", points_.rows()},      {"d", points_.columns()}, {"k", k_},
                          {"dtype", type_name<T>()}, {"iterations", iterations_}};
    if (!locking_.title().empty()) facts.update({{"lock", locking_.lock}, {"locked", locking_.granularity}});
    return facts;
  }

  core::Support support(std::string_view variant) const override {
    return variant_of(variant).supports(shape(), execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    iteration_seconds_.resize(rows.size());
    inertias_.resize(rows.size());
    std::string verified = verify_on_prefix(rows, report);
    if (run_once_on_everything(rows, report)) verified += "; on all points the production variants agree to the bit";
    return verified;
  }

  Sample run(const Row& row) override {
    const auto start = core::Clock::now();
    const KMeansResult<T> result = fit(row, points_, iterations_);
    Sample sample = sample_of(core::seconds_since(start), result.report.phases);
    for (const KMeansIteration& iteration : result.history) iteration_seconds_[row.index].push_back(iteration.seconds);
    return sample;
  }

  /// Returns the work of a fit. Each pass reads the points once, and takes a multiply-add per point, centroid and
  /// dimension. The last pass labels the points with the final centroids. On a GPU, the time of a fit may consist
  /// mostly of copies before and after the iterations, so work and time of a single iteration are returned.
  std::vector<Work> work(const Row& row) const override {
    const double passes = row.on_gpu ? 1.0 : row.iterations + 1.0;
    const double seconds = row.on_gpu ? median(iteration_seconds_[row.index]) : row.seconds.median;
    const auto fma_rate = sizeof(T) == 4 ? &Ceilings::fma_f32_per_second : &Ceilings::fma_f64_per_second;
    return {{&Ceilings::read_bytes_per_second, shape().bytes() * passes, seconds},
            {fma_rate, shape().operations() * passes, seconds}};
  }

  std::vector<Figure> figures(const Row& row) const override {
    const double per_iteration = row.seconds.median / row.iterations;
    // The time within the iterations excludes four parts of the fit: reading, examining, copying to a device, and the
    // last labelling. The figure "milliseconds_per_iteration" includes these parts.
    Figure in_one{"median_milliseconds_in_an_iteration", nullptr, "in one", "-"};
    if (!iteration_seconds_[row.index].empty()) {
      const double seconds = median(iteration_seconds_[row.index]);
      in_one.value = 1e3 * seconds;
      in_one.text = milliseconds(seconds);
    }
    return {{"milliseconds_per_iteration", 1e3 * per_iteration, "ms/iteration", milliseconds(per_iteration)},
            in_one,
            {"inertia", inertias_[row.index]}};
  }

 private:
  Shape shape() const { return {points_.rows(), points_.columns(), k_, static_cast<int>(sizeof(T)), false}; }

  KMeansResult<T> fit(const Row& row, MatrixView<const T> points, int iterations) const {
    KMeansOptions options;
    options.clusters = k_;
    options.init = KMeansInit::given;
    options.max_iterations = iterations;
    options.tolerance = 0;
    Execution execution = execution_of(row, stop_);
    if (row.variant == locked_variant) execution.variant_options = locking_.options();
    return kmeans(points, options, {.initial_centroids = points_.slice(0, k_)}, execution);
  }

  Problem<T> problem_of(MatrixView<const T> points, int iterations) const {
    Problem<T> problem;
    problem.points = points;
    problem.initial_centroids = points_.slice(0, k_);
    problem.max_iterations = iterations;
    problem.statistics = kmeans_detail::examine<T>(points, {}, problem.initial_centroids, cpu::thread_count({}));
    return problem;
  }

  static const Variant& variant_of(std::string_view name) {
    return core::find_variant(kmeans_detail::variants(), name, problem_name);
  }

  bool is_wrong_on_purpose(const Row& row) const { return row.variant == locked_variant && locking_.loses_updates(); }

  // Returns a number of points and a number of iterations that the oracle can compute within a second or so.
  std::pair<std::int64_t, int> oracle_share() const {
    const double row_operations = static_cast<double>(k_) * static_cast<double>(points_.columns());
    int iterations = iterations_;
    std::int64_t prefix = static_cast<std::int64_t>(oracle_operations / row_operations / (iterations + 1));
    const std::int64_t least = std::min(points_.rows(), 2 * k_);
    if (prefix < least) {
      prefix = least;
      const double passes = oracle_operations / row_operations / static_cast<double>(prefix);
      iterations = std::clamp(static_cast<int>(passes) - 1, std::min(2, iterations), iterations);
    }
    prefix = std::min(prefix, points_.rows());
    while (prefix < points_.rows() && !distinct_enough(prefix)) prefix = std::min(points_.rows(), 4 * prefix);
    return {prefix, iterations};
  }

  bool distinct_enough(std::int64_t prefix) const {
    return kmeans_detail::count_different<T>(kmeans_detail::HostPoints<T>(points_.slice(0, prefix)), k_) == k_;
  }

  std::string verify_on_prefix(std::vector<Row>& rows, const Reporter& report) const {
    const auto [count, iterations] = oracle_share();
    const MatrixView<const T> prefix = points_.slice(0, count);
    const Problem<T> problem = problem_of(prefix, iterations);
    report("verify", 0, std::ssize(rows));
    const KMeansResult<T> truth = oracle(problem);
    for_each_sound(rows, "verify", report, [&, iterations = iterations](Row& row) {
      if (is_wrong_on_purpose(row)) return;
      const KMeansResult<T> result = fit(row, prefix, iterations);
      const std::string difference = compare(result, truth, problem, variant_of(row.variant).contract, false);
      if (!difference.empty()) mark_wrong(row, difference);
    });
    std::string verified = count == points_.rows()
                               ? "all points against the oracle"
                               : fmt::format("the first {} points against the oracle, {} iteration{}", count,
                                             iterations, iterations == 1 ? "" : "s");
    if (std::ranges::any_of(rows, [this](const Row& row) { return is_wrong_on_purpose(row); }))
      verified += "; openmp_locked is incorrect: without a lock updates are lost";
    return verified;
  }

  // Runs one untimed fit of all points for each row. This fit warms up caches and memory, and its peak memory is
  // measured. Compares the production variants with each other. Compares the inertia of every other variant with the
  // inertia of a production variant. Returns false if no production variant ran.
  bool run_once_on_everything(std::vector<Row>& rows, const Reporter& report) {
    KMeansResult<T> reference;
    const Row* reference_row = nullptr;
    Problem<T> problem;
    for_each_sound(rows, "warm up", report, [&](Row& row) {
      const PeakMemory memory;
      KMeansResult<T> result = fit(row, points_, iterations_);
      row.memory_bytes = memory.bytes();
      inertias_[row.index] = result.inertia;
      row.iterations = result.iterations;
      row.rechecked = result.report.rechecked;
      if (row.contract != core::Contract::same_bits) return;
      if (reference_row) {
        const std::string difference = compare(result, reference, problem, variant_of(row.variant).contract, false);
        if (!difference.empty()) mark_wrong(row, "unlike " + reference_row->variant + ", " + difference);
      } else {
        problem = problem_of(points_, iterations_);
        reference = std::move(result);
        reference_row = &row;
      }
    });
    if (!reference_row) return false;
    for (Row& row : rows)
      if (row.trouble.empty() && row.contract != core::Contract::same_bits && !is_wrong_on_purpose(row) &&
          !variant_of(row.variant).contract.allows(inertias_[row.index], reference.inertia))
        mark_wrong(row,
                   fmt::format("the inertia is {:.9g} instead of {:.9g}", inertias_[row.index], reference.inertia));
    return true;
  }

  MatrixView<const T> points_;
  std::string points_name_;
  std::int64_t k_;
  int iterations_;
  Locking locking_;
  std::stop_token stop_;
  /// for each row: the seconds of every iteration, from all samples
  std::vector<std::vector<double>> iteration_seconds_;
  std::vector<double> inertias_;  ///< for each row: inertia of its fit
};

class Fits : public Workloads {
 public:
  std::vector<Axis> axes() override {
    std::vector<Axis> axes = points_.axes();
    axes.push_back({.name = "clusters",
                    .letter = "k",
                    .form = "K,...",
                    .help = "numbers of clusters",
                    .initial = "16",
                    .parse = [this](const std::string& label, const std::string& text) {
                      clusters_ = parse_whole_list(label, text, 1, std::numeric_limits<int>::max());
                    }});
    axes.push_back({.name = "iterations",
                    .letter = "",
                    .form = "N",
                    .help = "maximum number of iterations",
                    .initial = std::to_string(iterations_),
                    .parse = [this](const std::string& label, const std::string& text) {
                      iterations_ = static_cast<int>(parse_whole(label, text, 1, 1000000000));
                    }});
    axes.push_back({.name = "lock",
                    .letter = "",
                    .form = "NAME,...",
                    .help = "locks of openmp_locked, by their names in the ladder of locks",
                    .initial = "std_mutex",
                    .parse = [this](const std::string& label, const std::string& text) {
                      locks_.clear();
                      const std::vector<std::string> names = choices_of("lock");
                      for (const std::string& name : parse_list(label, text))
                        locks_.push_back(names[parse_choice(label, core::with_underscores(name), names)]);
                    }});
    axes.push_back({.name = "locked",
                    .letter = "",
                    .form = "HOW_MUCH",
                    .help = "how much work openmp_locked does per locking: point, chunk, thread",
                    .initial = "point",
                    .parse =
                        [this](const std::string& label, const std::string& text) {
                          locked_ = choices_of("locked")[parse_choice(label, text, choices_of("locked"))];
                        },
                    .choices = choices_of("locked")});
    return axes;
  }

  void prepare(const InputCallbacks& callbacks) override {
    points_.prepare(callbacks);
    for (const auto& [set, type] : points_.sets())
      if (!set.generator.empty())
        for (const int k : clusters_) require_points(k, set.rows);
  }

  std::vector<std::string> files() const override { return points_.files(); }

  /// Multiplies the numbers of points and of iterations by `share`. Does not reduce the iterations below 10.
  void scale(double share) override {
    constexpr int few_iterations = 10;
    points_.scale(share, 2 * std::int64_t{clusters_.front()});
    iterations_ = std::max(static_cast<int>(share * iterations_), std::min(iterations_, few_iterations));
  }

  void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) override {
    points_.for_each(callbacks, [&]<class T>(MatrixView<const T> points, const PointSet& set) {
      for (const int k : clusters_)
        for (const std::string& lock : locks_) {
          require_points(k, points.rows());
          Fit<T> fit(points, set.name(), k, iterations_, {lock, locked_}, callbacks.stop);
          use(fit);
        }
    });
  }

 private:
  static void require_points(int k, std::int64_t points) {
    if (k > points) throw UsageError(fmt::format("{} clusters cannot be made of {} points", k, points));
  }

  PointAxes points_{{.generator = "uniform", .rows = 1000000, .columns = 16, .file = ""}};
  std::vector<int> clusters_ = {16};
  std::vector<std::string> locks_ = {""};
  std::string locked_ = choices_of("locked").front();
  int iterations_ = 10;  ///< maximum number of iterations; a fit ends earlier if no label changes
};

}  // namespace

extern const ProblemRow kmeans_problem;
const ProblemRow kmeans_problem{
    .name = problem_name,
    .summary = "k-means clustering: labels and centroids of points",
    .figures =
        "in one: median time of a single iteration, without the work before and after. read: the points, read once per "
        "pass, over the time, as a share of the read bandwidth of the same number of threads. fma: a multiply-add for "
        "each point, centroid and dimension per pass, as a share of the multiply-add rate; a variant that skips work "
        "may exceed 100 %. On a GPU both refer to the time of one iteration.",
    .ladder = &kmeans_detail::ladder,
    .options = core::option_rows<KMeansOptions>,
    .verify = verify_room<kmeans_detail::Trial>,
    .cases = case_names_of<kmeans_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<Fits>(); },
};

}  // namespace gradus::bench
