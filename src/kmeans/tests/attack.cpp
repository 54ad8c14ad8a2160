// Attacks k-means with difficult random cases: runs every variant that this machine supports, and compares the results
// with the reference.
#include <algorithm>
#include <cmath>

#include "cpu/threads.hpp"
#include "execution/machine.hpp"
#include "kmeans/assign/limited_instructions.hpp"
#include "kmeans/options.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/attack_cases.hpp"
#include "kmeans/tests/attack_reference.hpp"
#include "kmeans/tests/job.hpp"
#include "tests/attack/attack.hpp"
#include "tests/attack/flat.hpp"

namespace gradus::attack {

namespace {

using kmeans_detail::Shape;
using kmeans_detail::Variant;

/// A case whose arrays are contiguous. Its options contain views of these arrays.
template <class T>
class Job {
 public:
  explicit Job(const KMeansCase<T>& made)
      : made_(made), columns_(static_cast<std::int64_t>(made.points[0].size())),
        points_(made.points, columns_, made.room), centroids_(made.centroids, columns_, made.room),
        queries_(made.queries, columns_, 0) {}

  MatrixView<const T> points() const { return points_.view(); }
  MatrixView<const T> queries() const { return queries_.view(); }
  VectorView<const T> weights() const {
    return {made_.weights.data(), static_cast<std::int64_t>(made_.weights.size())};
  }
  KMeansJob<T> options() const {
    KMeansJob<T> options = made_.options;
    options.initial_centroids = centroids_.view();
    options.weights = weights();
    return options;
  }
  Shape shape() const {
    return {points().rows(), points().columns(), made_.options.clusters, sizeof(T), !made_.weights.empty(), 0};
  }

  KMeansResult<T> run(const Execution& execution) const {
    KMeansJob<T> own = options();
    if (!made_.own_labels) return kmeans(points(), own, execution);
    Buffer<std::int32_t> labels(points().rows(), -7);
    own.labels = labels.view();
    KMeansResult<T> result = kmeans(points(), own, execution);
    result.labels = std::move(labels);
    return result;
  }

 private:
  const KMeansCase<T>& made_;
  std::int64_t columns_;
  Flat<T> points_;
  Flat<T> centroids_;
  Flat<T> queries_;
};

template <class T>
VectorView<const T> elements(const Matrix<T>& matrix) {
  return {matrix.data(), matrix.rows() * matrix.columns()};
}

template <class T>
std::vector<T> copy(VectorView<const T> values) {
  return {values.begin(), values.end()};
}

template <class T>
std::string history_difference(const KMeansResult<T>& is, const KMeansAnswer<T>& expected) {
  for (std::size_t at = 0; at < expected.history.size(); ++at) {
    const KMeansIteration& step = is.history[at];
    const KMeansStep& right = expected.history[at];
    if (step.changed != right.changed)
      return fmt::format("iteration {}: {} labels changed instead of {}", at + 1, step.changed, right.changed);
    if (!same_bits(step.shift, right.shift))
      return fmt::format("iteration {}: the shift is {} instead of {}", at + 1, step.shift, right.shift);
  }
  return "";
}

template <class T>
std::string history_inertia_difference(const KMeansResult<T>& is, const KMeansAnswer<T>& expected) {
  for (std::size_t at = 0; at < expected.history.size(); ++at) {
    const KMeansIteration& step = is.history[at];
    const KMeansStep& right = expected.history[at];
    if (std::isfinite(right.inertia_bound) && step.inertia != right.inertia &&
        !(std::abs(step.inertia - right.inertia) <= right.inertia_bound))
      return fmt::format("iteration {}: the inertia is {} instead of {}, and may be off by {}", at + 1, step.inertia,
                         right.inertia, right.inertia_bound);
  }
  return "";
}

template <class T>
std::string exact_difference(const KMeansResult<T>& is, const KMeansAnswer<T>& expected) {
  const auto iterations = static_cast<int>(expected.history.size());
  return first_difference(
      [&] { return difference_of_one("iterations", is.iterations, iterations); },
      [&] {
        return difference_of_one<std::size_t>("length of the history", is.history.size(), expected.history.size());
      },
      [&] { return history_difference(is, expected); },
      [&] { return difference("element of the centroids", copy(elements(is.centroids)), expected.centroids); },
      [&] { return difference("label", copy(is.labels.view()), expected.labels); },
      [&] { return difference("count", is.counts, expected.counts); },
      [&] { return difference_of_one("inertia", is.inertia, expected.inertia); },
      [&] { return difference_of_one("converged", is.converged, expected.converged); },
      [&] {
        return is.stop_reason == expected.stop_reason
                   ? ""
                   : fmt::format("stop reason: {} instead of {}", to_string(is.stop_reason),
                                 to_string(expected.stop_reason));
      },
      [&] { return history_inertia_difference(is, expected); });
}

/// Compares a result with the expected result, within a tolerance. Used only for variants with textbook arithmetic, and
/// only for cases that are easy enough for them.
template <class T>
std::string tame_difference(const KMeansResult<T>& is, const KMeansAnswer<T>& expected, double tolerance) {
  return first_difference([&] { return difference("label", copy(is.labels.view()), expected.labels); },
                          [&] { return difference("count", is.counts, expected.counts); },
                          [&] {
                            const bool near =
                                std::abs(is.inertia - expected.inertia) <= tolerance * (expected.inertia + 1e-3);
                            return near ? "" : fmt::format("inertia: {} instead of {}", is.inertia, expected.inertia);
                          },
                          [&]() -> std::string {
                            for (std::size_t at = 0; at < expected.centroids.size(); ++at) {
                              const auto value = static_cast<double>(is.centroids.data()[at]);
                              const auto right = static_cast<double>(expected.centroids[at]);
                              if (!(std::abs(value - right) <= tolerance * 100))
                                return fmt::format("element {} of the centroids: {} instead of {}", at, value, right);
                            }
                            return "";
                          });
}

/// Converts a result to an answer. If a case has no reference, the answer of the first variant takes its place, and all
/// other variants are compared with it.
template <class T>
KMeansAnswer<T> answer_of(const KMeansResult<T>& result) {
  KMeansAnswer<T> answer;
  answer.centroids = copy(elements(result.centroids));
  answer.labels = copy(result.labels.view());
  answer.counts = result.counts;
  answer.inertia = result.inertia;
  answer.converged = result.converged;
  answer.stop_reason = result.stop_reason;
  for (const KMeansIteration& step : result.history)
    answer.history.push_back({step.changed, step.shift, step.inertia, std::numeric_limits<double>::infinity()});
  return answer;
}

template <class T>
class Check {
 public:
  explicit Check(const KMeansCase<T>& made) : job_(made), has_reference_(made.has_reference) {}

  const Job<T>& job() const { return job_; }

  /// Returns the expected fit. Computes it on first use.
  const Outcome<KMeansAnswer<T>>& expected() {
    if (expected_) return *expected_;
    if (has_reference_) expected_ = outcome_of([&] { return kmeans_reference(job_.points(), job_.options()); });
    else expected_ = outcome_of([&] { return answer_of(job_.run(plain_execution())); });
    return *expected_;
  }

  /// Returns a description of the first fault in a fit, or "" if there is none.
  std::string fit_fault(const Run& run) {
    const auto is = outcome_of([&] { return job_.run(run.execution); });
    if (std::string wrong = status_difference(is, expected()); !wrong.empty() || !is.answer) return wrong;
    if (run.contract == core::Contract::within)
      return tame_difference(*is.answer, *expected().answer, run.contract.bound);
    return exact_difference(*is.answer, *expected().answer);
  }

  /// Checks properties that must hold for any initial centroids: labels, counts and inertia must agree with the
  /// centroids of the result.
  std::string self_fault(const Run&) {
    if (has_reference_ || !expected().answer || job_.options().metric == KMeansMetric::cosine) return "";
    const KMeansAnswer<T>& answer = *expected().answer;
    const auto again = outcome_of(
        [&] { return predict_reference(centroids(), job_.points(), job_.weights(), KMeansMetric::euclidean); });
    if (!again.answer) return again.message;
    return first_difference([&] { return difference("label", answer.labels, again.answer->labels); },
                            [&] { return difference("count", answer.counts, again.answer->counts); },
                            [&] { return difference_of_one("inertia", answer.inertia, again.answer->inertia); });
  }

  /// Checks that seeding chooses the same initial centroids with the 8-bit copy, with all distances stored, and with
  /// neither.
  std::string seeding_fault(const Run& run) {
    if (!expected().answer) return "";
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
      KMeansJob<T> options = job_.options();
      options.init = init;
      options.initial_centroids = {};
      const auto chosen = [&](kmeans_detail::SeedingFilter filter) {
        const auto is = outcome_of([&] {
          const kmeans_detail::HostPoints<T> points(job_.points(), options.weights, cpu::thread_count(run.execution));
          const auto first = kmeans_detail::initialize<T>(points, options, {}, run.execution, 0, {filter});
          return copy(elements(first.centroids));
        });
        return is.answer ? *is.answer : std::vector<T>();
      };
      const std::vector<T> plain = chosen(kmeans_detail::SeedingFilter::never);
      for (const auto filter : {kmeans_detail::SeedingFilter::always, kmeans_detail::SeedingFilter::dense}) {
        const std::string wrong = difference("element of the first centroids", chosen(filter), plain);
        if (!wrong.empty()) return wrong;
      }
    }
    return "";
  }

  std::string predict_fault(const Run& run) {
    const KMeansMetric metric = job_.options().metric;
    if (!expected().answer || run.contract == core::Contract::within) return "";
    if (!prediction_)
      prediction_ = outcome_of([&] { return predict_reference<T>(centroids(), job_.queries(), {}, metric); });
    const auto is = outcome_of([&] { return kmeans_predict(centroids(), job_.queries(), metric, run.execution); });
    if (std::string wrong = status_difference(is, *prediction_); !wrong.empty() || !is.answer) return wrong;
    return first_difference(
        [&] { return difference("label", copy(is.answer->labels.view()), prediction_->answer->labels); },
        [&] { return difference_of_one("inertia", is.answer->inertia, prediction_->answer->inertia); });
  }

  std::string weighted_predict_fault(const Run& run) {
    const KMeansMetric metric = job_.options().metric;
    if (!expected().answer || run.contract == core::Contract::within) return "";
    if (!weighted_prediction_)
      weighted_prediction_ =
          outcome_of([&] { return predict_reference<T>(centroids(), job_.points(), job_.weights(), metric); });
    const auto is = outcome_of([&] {
      return kmeans_predict(centroids(), job_.points(), KMeansMemory<T>{.weights = job_.weights()}, metric,
                            run.execution);
    });
    if (std::string wrong = status_difference(is, *weighted_prediction_); !wrong.empty() || !is.answer) return wrong;
    return first_difference(
        [&] { return difference("label", copy(is.answer->labels.view()), weighted_prediction_->answer->labels); },
        [&] { return difference_of_one("inertia", is.answer->inertia, weighted_prediction_->answer->inertia); });
  }

  std::string transform_fault(const Run& run) {
    const KMeansMetric metric = job_.options().metric;
    if (!expected().answer) return "";
    const auto right = outcome_of([&] { return transform_reference(centroids(), job_.queries(), metric); });
    const auto is = outcome_of([&] { return kmeans_transform(centroids(), job_.queries(), metric, run.execution); });
    if (std::string wrong = status_difference(is, right); !wrong.empty() || !is.answer) return wrong;
    return difference("distance", copy(elements(*is.answer)), *right.answer);
  }

 private:
  static Execution plain_execution() {
    Execution execution;
    execution.device = Device::cpu;
    execution.threads = 1;
    return execution;
  }
  MatrixView<const T> centroids() {
    return {expected().answer->centroids.data(), job_.options().clusters, job_.points().columns()};
  }

  Job<T> job_;
  bool has_reference_;
  std::optional<Outcome<KMeansAnswer<T>>> expected_;
  std::optional<Outcome<KMeansAnswer<T>>> prediction_;
  std::optional<Outcome<KMeansAnswer<T>>> weighted_prediction_;
};

template <class T>
std::string headline(const KMeansCase<T>& made) {
  return fmt::format("{}, {} x {}, k = {}: {}", sizeof(T) == 4 ? "f32" : "f64", made.points.size(),
                     made.points[0].size(), made.options.clusters, made.kind);
}

template <class T>
std::string full_text(const KMeansCase<T>& made, bool with_queries) {
  const KMeansJob<T>& options = made.options;
  std::string text = fmt::format("  {}, {} x {}, room between rows {}", sizeof(T) == 4 ? "f32" : "f64",
                                 made.points.size(), made.points[0].size(), made.room);
  for (const core::Option& row : core::option_rows<KMeansOptions>)
    if (row.recorded)
      text +=
          fmt::format(", {} {}", row.name, core::value_text(row, row.get(static_cast<const KMeansOptions*>(&options))));
  text += "\n";
  text += listing("points", made.points);
  if (!made.weights.empty()) text += listing("weights", made.weights);
  if (!made.centroids.empty()) text += listing("first centroids", made.centroids);
  if (with_queries) text += listing("queries", made.queries);
  return text;
}

/// Makes the case simpler in one of several ways, which are numbered. Returns false if no way has the number `step`.
/// See shrunk().
template <class T>
bool make_simpler(KMeansCase<T>& made, std::int64_t step) {
  KMeansJob<T>& options = made.options;
  const auto take = [&step](auto count) {  // returns true if `step` is one of the next `count` steps
    const auto all = static_cast<std::int64_t>(count);
    if (step < all) return true;
    step -= all;
    return false;
  };
  for (std::size_t length = made.points.size() / 2; length > 0; length /= 2) {
    const std::size_t pieces = made.points.size() / length;
    if (!take(pieces)) continue;
    const std::size_t begin = static_cast<std::size_t>(step) * length;
    remove_at(begin, begin + length, made.points, made.weights);
    return true;
  }
  if (const std::size_t d = made.points.empty() ? 0 : made.points[0].size(); d > 1 && take(d)) {
    const auto column = static_cast<std::size_t>(step);
    for (Rows<T>* rows : {&made.points, &made.centroids, &made.queries})
      for (std::vector<T>& row : *rows) remove_at(column, column + 1, row);
    return true;
  }
  if (options.clusters > 1 && take(options.clusters)) {
    const auto cluster = static_cast<std::size_t>(step);
    remove_at(cluster, cluster + 1, made.centroids);
    --options.clusters;
    return true;
  }
  if (made.queries.size() > 1 && take(made.queries.size())) {
    remove_at(static_cast<std::size_t>(step), static_cast<std::size_t>(step) + 1, made.queries);
    return true;
  }
  const auto change = [&](auto& value, auto to) {
    if (value == to || !take(1)) return false;
    value = to;
    return true;
  };
  if (change(options.max_iterations, 1) ||
      (options.max_iterations > 1 && change(options.max_iterations, options.max_iterations - 1)) ||
      change(options.tolerance, 0.0) || change(made.room, 0) || change(made.own_labels, false))
    return true;
  for (const core::Option& row : core::option_rows<KMeansOptions>) {
    constexpr std::string_view kept[] = {"clusters", "init", "max_iterations", "tolerance", "seed"};
    if (std::ranges::find(kept, row.name) != std::end(kept)) continue;
    KMeansOptions* const own = &options;
    const core::Value usual = row.default_value();
    if (row.get(own) == usual || !take(1)) continue;
    row.set(own, usual);
    return true;
  }
  if (!made.weights.empty() && take(1)) {
    made.weights.clear();
    return true;
  }
  const auto simplify = [&](std::vector<T>& values) {
    for (T& value : values)
      for (const T to : {T{0}, T{1}, static_cast<T>(static_cast<float>(value)), std::round(value)}) {
        if (value == 0 || (value == 1 && to != 0) || to == value || !std::isfinite(to) || !take(1)) continue;
        value = to;
        return true;
      }
    return false;
  };
  for (Rows<T>* rows : {&made.points, &made.centroids, &made.queries})
    for (std::vector<T>& row : *rows)
      if (simplify(row)) return true;
  return simplify(made.weights);
}

template <class T>
class Attack {
 public:
  Attack(const AttackOptions& options, AttackReport& report) : options_(options), report_(report) {}

  void run(std::uint64_t number) {
    const KMeansCase<T> made = make_kmeans_case<T>(options_.seed, number);
    Check<T> check(made);
    CaseReport report("kmeans", options_, number, report_);
    if (!check.expected().answer) ++report_.refused;
    if (options_.verbose) fmt::print("kmeans case {}: {}\n", number, headline(made));
    const auto judge = [&](const std::string& what, const Run& run, std::string (Check<T>::*fault)(const Run&)) {
      const bool is_first = report.judge(what + " by " + run.text, (check.*fault)(run), headline(made));
      if (is_first && options_.shrink) show_shrunk(made, run, fault);
    };
    const auto runs = runs_of(kmeans_detail::variants(), check.job().shape(), options_, number);
    for (const Run& run : runs)
      if (run.contract == core::Contract::same_bits || (made.tame && made.has_reference))
        judge("kmeans", run, &Check<T>::fit_fault);
    for (std::size_t at = 0; at < runs.size(); ++at)
      // Predictions are checked only in the last run of each variant.
      if (at + 1 == runs.size() || runs[at].execution.variant != runs[at + 1].execution.variant)
        for (const auto fault : {&Check<T>::predict_fault, &Check<T>::weighted_predict_fault})
          judge("predict", runs[at], fault);
    if (!runs.empty()) {
      judge("transform", runs.back(), &Check<T>::transform_fault);
      judge("the assignment", runs.back(), &Check<T>::self_fault);
      judge("first centroids", runs.back(), &Check<T>::seeding_fault);
    }
    report.finish();
  }

 private:
  void show_shrunk(const KMeansCase<T>& made, const Run& run, std::string (Check<T>::*fault)(const Run&)) {
    const std::function<bool(KMeansCase<T>&, std::int64_t)> smaller = make_simpler<T>;
    const auto small = shrunk<KMeansCase<T>>(made, smaller, [&](const KMeansCase<T>& candidate) {
      const bool possible =
          !candidate.points.empty() && candidate.options.clusters <= static_cast<std::int64_t>(candidate.points.size());
      if (!possible) return false;
      Check<T> check(candidate);
      return check.expected().answer.has_value() && !(check.*fault)(run).empty();
    });
    Check<T> check(small);
    fmt::print("  smaller: {}\n{}", (check.*fault)(run), full_text(small, fault != &Check<T>::fit_fault));
  }

  const AttackOptions& options_;
  AttackReport& report_;
};

}  // namespace

AttackReport attack_kmeans(const AttackOptions& options);
AttackReport attack_kmeans(const AttackOptions& options) {
  const kmeans_detail::LimitedInstructions limited(options.instructions);
  AttackReport report;
  Attack<float> in_float(options, report);
  Attack<double> in_double(options, report);
  for (std::uint64_t number = options.first; number < options.first + options.cases; ++number) {
    if (number % 3 == 0) in_float.run(number);
    else in_double.run(number);
  }
  return report;
}

}  // namespace gradus::attack
