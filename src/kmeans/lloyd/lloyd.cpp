#include "kmeans/lloyd/lloyd.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "core/failure.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/column_ranges.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "kmeans/lloyd/checkpoints.hpp"
#include "kmeans/lloyd/relocation.hpp"
#include "kmeans/means/cluster_shares.hpp"
#include "kmeans/means/exact_means.hpp"
#include "kmeans/means/exact_sums.hpp"
#include "kmeans/means/float_sums.hpp"
#include "kmeans/points/unit_length.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

namespace {

template <class T, class Sums>
class Lloyd {
  static constexpr bool is_exact = std::is_same_v<Sums, ExactSums<T>>;

 public:
  Lloyd(const Problem<T>& problem, const Execution& execution, Engine<T, Sums>& engine, std::vector<Phase>& phases)
      : problem_(problem), execution_(execution), engine_(engine), phases_(phases),
        threads_(cpu::thread_count(execution)) {}

  KMeansResult<T> run() {
    result_.report.threads = threads_;
    result_.centroids = Matrix<T>::copy_of(problem_.initial_centroids);
    if constexpr (is_exact)
      if (engine_.takes_ranks() && !problem_.ranks().is_alone()) {
        total_.emplace(problem_, core::accumulator_limbs + 1);
        choose_shares();
      }
    // Labels on a GPU are copied to host memory only if a cluster is empty and the driver must read labels.
    if (!labels_stay_on_gpu()) make_labels();

    Matrix<T> next(problem_.k(), problem_.d());
    if (problem_.fit_so_far != nullptr && !problem_.fit_so_far->history.empty()) resume(*problem_.fit_so_far);
    bool labels_are_current = false;
    try {
      while (!result_.converged && result_.iterations < problem_.max_iterations) {
        honour_stop();
        labels_are_current = engine_.iterates_itself() ? advance(next) : iterate(next);
      }
    } catch (const InterruptedError&) {
      if (problem_.checkpoints != nullptr && before_ != nullptr) problem_.checkpoints->write(state());
      throw;
    }
    {
      core::PhaseTimer timer(phases_, "finish");
      if (labels_stay_on_gpu()) result_.labels = {};
      result_.inertia = finish(labels_are_current);
      if (!std::isfinite(result_.inertia))
        throw InputError(about("points") +
                         "the inertia is beyond the range of double; scale the points or their weights down");
      count_labels();
      complete_history();
      if (problem_.metric == Metric::cosine) halve_inertia();
    }
    result_.report.rechecked = engine_.rechecked();
    return std::move(result_);
  }

 private:
  /// Returns the sums over all ranks.
  const Sums& sums() const { return total_ ? *total_ : engine_.sums(); }

  /// Calls work(words) on each rank. `words` are `extra` words (at most core::accumulator_limbs), which work() fills.
  /// Then adds up the engines' sums, and also these words, over the ranks. Returns the totals of the words.
  template <class Work>
  std::span<const std::uint64_t> add_up(std::size_t extra, const Work& work) requires is_exact {
    const std::span<std::uint64_t> words = total_->words();
    const std::size_t sums = words.size() - core::accumulator_limbs - 1;
    const std::span<std::uint64_t> own = words.subspan(sums, extra);
    problem_.ranks().sum_all_of(words.first(sums + extra + 1), [&] {
      std::ranges::fill(own, 0);
      work(own);
      total_->copy(engine_.sums());
    });
    return own;
  }

  /// Decides whether each rank updates only a share of the clusters. All ranks decide the same.
  void choose_shares() requires is_exact {
    core::Ranks& ranks = problem_.ranks();
    const auto pays = [&](int threads) {
      return pays_to_share(problem_.k(), problem_.d(), sizeof(T), ranks.size(), threads);
    };
    if (problem_.max_iterations < 1 || ranks.size() == 1 || !pays(1)) return;
    const double most_threads = ranks.greatest([&] { return static_cast<double>(threads_); });
    if (pays(static_cast<int>(most_threads))) shares_.emplace(problem_.k(), ranks.size());
  }

  Outcome pass() {
    const Outcome outcome = engine_.pass(std::as_const(result_.centroids).view(), result_.labels.data(), phases_);
    honour_stop();
    return outcome;
  }

  /// Returns the labels of the last pass. All ranks must call labels() together: it may copy labels from a GPU, and if
  /// this fails on one rank, all ranks must throw.
  const std::int32_t* labels() {
    if (!std::exchange(labels_are_here_, true))
      problem_.ranks().agree([&] { engine_.bring_labels(result_.labels.data()); });
    return result_.labels.data();
  }

  Outcome pass_on_ranks() requires is_exact {
    Outcome outcome;
    const std::span<const std::uint64_t> changed = add_up(1, [&](std::span<std::uint64_t> words) {
      outcome = pass();
      words[0] = static_cast<std::uint64_t>(outcome.changed);
    });
    return {static_cast<std::int64_t>(changed[0])};
  }

  /// Runs a pass over the points of all ranks.
  Outcome whole_pass() {
    labels_are_here_ = !total_;
    if constexpr (is_exact)
      if (total_) return pass_on_ranks();
    return pass();
  }

  /// Restores the state `done`, from which the fit resumes.
  void resume(const FitState<T>& done) {
    if (result_.labels.size() == 0) make_labels();
    result_.centroids = Matrix<T>::copy_of(done.before.view());
    whole_pass();  // computes the labels; the other results of the pass are not used
    result_.centroids = Matrix<T>::copy_of(done.centroids.view());
    result_.history = done.history;
    result_.iterations = static_cast<int>(done.history.size());
    inertia_is_explained_ = true;
  }

  /// Returns the state between two iterations. Requires `before_` not to be null.
  FitView<T> state() const {
    return {std::as_const(*before_).view(), std::as_const(result_.centroids).view(), result_.history};
  }

  void offer_checkpoint() {
    if (problem_.checkpoints == nullptr || before_ == nullptr || result_.converged) return;
    if (problem_.checkpoints->is_due(result_.iterations)) problem_.checkpoints->write(state());
  }

  double finish_own(bool labels_are_current) {
    const double inertia =
        engine_.finish(std::as_const(result_.centroids).view(), result_.labels.data(), labels_are_current);
    core::honour_stop(problem_.stop, "stopped in the last assignment");
    return inertia;
  }

  double finish(bool labels_are_current) {
    if constexpr (is_exact) {
      if (total_) {
        const std::span<const std::uint64_t> words = add_up(core::accumulator_limbs, [&](std::span<std::uint64_t> own) {
          finish_own(labels_are_current);
          core::Ranks::put(std::span(problem_.rank_inertia, 1), own);
        });
        core::ExactAccumulator inertia;
        core::Ranks::take(words, std::span(&inertia, 1));
        return inertia.template round<double>();
      }
    }
    return finish_own(labels_are_current);
  }

  bool labels_stay_on_gpu() const { return engine_.leaves_labels_on_gpu() && problem_.labels_on_gpu; }

  // Returns true if there is enough work for more than one thread. It takes time to wake threads, and even a parallel
  // region of one thread makes system calls.
  bool pays_team(cpu::Range clusters) const { return threads_ > 1 && clusters.size() * problem_.d() > 4096; }
  cpu::Range all_clusters() const { return {0, problem_.k()}; }

  void make_labels() {
    const std::int64_t n = problem_.n();
    result_.labels = Buffer<std::int32_t>(n);
    std::int32_t* labels = result_.labels.data();
    cpu::prefer_large_pages(labels, static_cast<std::uint64_t>(n) * sizeof(*labels));
    // These engines write all labels when the driver requests them.
    if (engine_.leaves_labels_on_gpu() || engine_.keeps_labels()) return;
    const std::int64_t stretch = core::chunk_length(n, 1, threads_);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t first = 0; first < n; first += stretch)
      if (!problem_.stop.stop_requested())  // each thread writes its part, so that the part's pages are in local memory
        std::fill(labels + first, labels + std::min(first + stretch, n), -1);
    honour_stop();
  }

  // Lets the engine run several iterations. If the engine leaves the next iteration to the driver, runs that iteration
  // too.
  bool advance(Matrix<T>& next) {
    StopRules rules{problem_.max_iterations - result_.iterations, problem_.shift_limit, problem_.changed_limit};
    before_ = nullptr;
    if (problem_.checkpoints != nullptr) {
      rules.iterations = std::min(rules.iterations, problem_.checkpoints->steps_to_make(result_.iterations));
      std::copy_n(result_.centroids.data(), next.rows() * next.columns(), next.data());
    }
    const Steps steps = engine_.advance(result_.centroids.view(), rules, phases_);
    inertia_is_explained_ = steps.inertia_is_explained;
    for (const KMeansIteration& record : steps.records) {
      honour_stop();
      ++result_.iterations;
      stop_rules(record, false);
      result_.history.push_back(record);
      report();
    }
    if (steps.records.size() == 1) before_ = &next;
    offer_checkpoint();
    return steps.needs_frame ? iterate(next) : steps.same_centroids;
  }

  // Runs one iteration. Returns true if the labels are still current for the new centroids.
  bool iterate(Matrix<T>& next) {
    const auto start = core::Clock::now();
    KMeansIteration record;
    if (result_.labels.size() == 0) make_labels();
    const Outcome outcome = whole_pass();
    core::PhaseTimer timer(phases_, "update");
    record.changed = outcome.changed;
    inertia_is_explained_ = std::isnan(outcome.inertia);
    make_room_for_update();
    if (inertia_is_explained_ && !shares_) explain(sums(), all_clusters());
    const bool relocated = update(sums(), next);
    record.inertia = inertia_is_explained_ ? total(updated_.explained) : outcome.inertia;
    record.shift = total(updated_.moved);
    const bool same_centroids = same_places(result_.centroids, next);
    std::swap(result_.centroids, next);
    ++result_.iterations;
    // If the relocations changed no centroid, further iterations would change nothing, so the fit stops.
    stop_rules(record, relocated && !same_centroids);
    record.seconds = core::seconds_since(start);
    result_.history.push_back(record);
    before_ = &next;
    report();
    offer_checkpoint();
    return same_centroids;
  }

  /// Returns the clusters that have no point of positive weight, in ascending order.
  std::vector<std::int32_t> empty_clusters(const FloatSums<T>& sums) const {
    return clusters_that([&](std::int64_t cluster) { return !(sums.weight(cluster) > 0); });
  }
  std::vector<std::int32_t> empty_clusters(const ExactSums<T>& sums) {
    const auto unknown = clusters_that([&](auto cluster) { return sums.presence(cluster) == Presence::unknown; });
    if (unknown.empty()) return clusters_that([&](auto cluster) { return sums.presence(cluster) == Presence::none; });
    // If a weight is tiny compared with the largest weight, the sum can lose it. Therefore, the individual weights
    // decide.
    const std::vector<bool> with_weight = clusters_with_weight(problem_, labels());
    return clusters_that([&](auto cluster) { return !with_weight[static_cast<std::size_t>(cluster)]; });
  }

  template <class Predicate>
  std::vector<std::int32_t> clusters_that(const Predicate& is_wanted) const {
    std::vector<std::int32_t> clusters;
    for (std::int32_t cluster = 0; cluster < static_cast<std::int32_t>(problem_.k()); ++cluster)
      if (is_wanted(cluster)) clusters.push_back(cluster);
    return clusters;
  }

  // Computes the new centroids. Returns true if a point was moved to an empty cluster.
  bool update(const Sums& sums, Matrix<T>& next) {
    const std::vector<std::int32_t> empty = empty_clusters(sums);
    std::vector<Relocation> relocations;
    if (!empty.empty()) {
      if (problem_.empty == EmptyCluster::error)
        throw Error("cluster " + std::to_string(empty.front()) + " became empty in iteration " +
                        std::to_string(result_.iterations + 1),
                    {.code = error_code::empty_cluster,
                     .argument = "empty",
                     .value = "error",
                     .remedy = option("KMeansOptions::empty", "relocate") + " or " +
                               option("KMeansOptions::empty", "keep") + " continues instead"});
      if (problem_.empty == EmptyCluster::relocate) {
        HostFarPoints<T> points(problem_, result_.centroids.view(), labels());
        relocations = relocate<T>(problem_, std::ssize(empty), points);
      }
    }
    const Matrix<T> moved = rows_of<T>(problem_, relocations);
    std::vector<bool> has_mean(static_cast<std::size_t>(problem_.k()), true);
    for (const std::int32_t cluster : empty) has_mean[static_cast<std::size_t>(cluster)] = false;
    before_ = nullptr;  // find_centroids() overwrites `next`, to which `before_` may point
    updated_.centroids = next.view();
    find_centroids(sums, has_mean, relocations, moved);
    honour_stop();
    for (std::size_t move = 0; move < relocations.size(); ++move)
      replace(relocations[move].to, moved.row(static_cast<std::int64_t>(move)));
    if (problem_.has_surplus() && problem_.empty == EmptyCluster::relocate)
      place_surplus(std::span(empty).subspan(relocations.size()), has_mean);
    return !relocations.empty();
  }

  /// Gives each surplus cluster the centroid of a cluster with points: see KMeansFewerDistinct.
  void place_surplus(std::span<const std::int32_t> surplus, const std::vector<bool>& has_points) {
    const auto lowest_that = [&](const auto& is_wanted) {
      std::int64_t cluster = 0;
      while (cluster < problem_.k() && !(has_points[static_cast<std::size_t>(cluster)] && is_wanted(cluster)))
        ++cluster;
      return cluster;
    };
    core::RarePoll look(problem_.stop, "stopped while placing clusters without points");
    for (const std::int32_t one : surplus) {
      const T* const place = result_.centroids.row(one);
      std::int64_t repeated = lowest_that([&](std::int64_t cluster) {
        look.honour_stop();
        return std::equal(place, place + problem_.d(), result_.centroids.row(cluster));
      });
      if (repeated == problem_.k()) repeated = lowest_that([](std::int64_t) { return true; });
      replace(one, updated_.centroids.row(repeated));
    }
  }

  void make_room_for_update() {
    const auto k = static_cast<std::size_t>(problem_.k());
    updated_.explained.resize(k);
    updated_.moved.resize(k);
    updated_.doubtful.resize(k);
  }

  /// Sets the new centroid of a cluster.
  void replace(std::int64_t cluster, const T* centroid) {
    std::copy_n(centroid, problem_.d(), updated_.centroids.row(cluster));
    note_movement(cluster);
  }

  void note_movement(std::int64_t cluster) {
    const T* const from = result_.centroids.row(cluster);
    const T* const to = updated_.centroids.row(cluster);
    double sum = 0;
    for (std::int64_t dim = 0; dim < problem_.d(); ++dim) {
      const double moved = static_cast<double>(to[dim]) - static_cast<double>(from[dim]);
      sum += moved * moved;
    }
    updated_.moved[static_cast<std::size_t>(cluster)] = sum;
  }

  /// Runs work(cluster) for each cluster. Stops early if a stop is requested.
  template <class Work>
  void for_each_cluster(cpu::Range clusters, const Work& work) const {
    core::FirstFailure failure;
    const auto run = [&](std::int64_t cluster) {
      if (!problem_.stop.stop_requested()) failure.run([&] { work(cluster); });
    };
    if (pays_team(clusters)) {
#pragma omp parallel for num_threads(threads_) schedule(static)
      for (std::int64_t cluster = clusters.begin; cluster < clusters.end; ++cluster) run(cluster);
    } else {
      for (std::int64_t cluster = clusters.begin; cluster < clusters.end; ++cluster) run(cluster);
    }
    failure.rethrow();
    honour_stop();
  }

  /// Runs update(clusters) for all clusters. If the ranks share the update, runs it only for this rank's share, and
  /// receives the results of all other shares from the other ranks.
  template <class Update>
  void update_all(const Sums& sums, const Update& update) {
    if constexpr (is_exact) {
      if (shares_) {
        const int rank = problem_.ranks().rank();
        const ShareMessage<T> message(shares_->largest(), problem_.d());
        problem_.ranks().exchange(
            message.bytes(),
            [&](std::span<std::byte> own) {
              const cpu::Range clusters = shares_->of(rank);
              explain(sums, clusters);
              update(clusters);
              message.write(updated_, clusters, own.data());
            },
            [&](int other, std::span<const std::byte> bytes) {
              if (other != rank) message.read(bytes.data(), shares_->of(other), updated_);
            });
        return;
      }
    }
    update(all_clusters());
  }

  std::vector<DoubtfulMean> doubtful_means() const {
    std::vector<DoubtfulMean> means;
    for (std::size_t cluster = 0; cluster < updated_.doubtful.size(); ++cluster)
      if (!updated_.doubtful[cluster].empty())
        means.push_back({static_cast<std::int32_t>(cluster), updated_.doubtful[cluster]});
    return means;
  }

  /// Computes the means of the clusters without the relocated points. A cluster without a mean keeps its centroid.
  void find_centroids(const Sums& sums, const std::vector<bool>& has_mean, const std::vector<Relocation>& relocations,
                      const Matrix<T>& moved) {
    std::vector<std::vector<RemovedPoint<T>>> without(static_cast<std::size_t>(problem_.k()));
    for (std::size_t move = 0; move < relocations.size(); ++move) {
      const double weight = relocations[move].weight;
      without[static_cast<std::size_t>(relocations[move].from)].push_back(
          {moved.row(static_cast<std::int64_t>(move)), weight, weight * problem_.statistics.weight_scale});
    }
    const bool has_means = engine_.update(updated_.centroids);
    // Completes the update of a cluster after its mean is computed.
    const auto settle = [&](std::int64_t cluster) {
      T* const mean = updated_.centroids.row(cluster);
      // A mean of length zero has no direction. In this case, the sum of the distances to the cluster's points is the
      // same for every centroid, so the cluster keeps its centroid.
      const bool stays = !has_mean[static_cast<std::size_t>(cluster)] ||
                         (problem_.metric == Metric::cosine && !scale_to_unit_length(mean, problem_.d()));
      if (stays) std::copy_n(result_.centroids.row(cluster), problem_.d(), mean);
      note_movement(cluster);
    };
    const auto find = [&](std::int64_t cluster) {
      const auto at = static_cast<std::size_t>(cluster);
      updated_.doubtful[at].clear();
      if (has_mean[at] && !(has_means && without[at].empty())) {
        T* const mean = updated_.centroids.row(cluster);
        if constexpr (is_exact) sums.mean(cluster, mean, without[at], updated_.doubtful[at]);
        else sums.mean(cluster, mean, without[at]);
      }
      if (updated_.doubtful[at].empty()) settle(cluster);
    };
    update_all(sums, [&](cpu::Range clusters) { for_each_cluster(clusters, find); });
    std::vector<DoubtfulMean> doubtful = doubtful_means();
    if (doubtful.empty()) return;
    // If the sums do not determine a mean, there are two remedies. One computes this mean exactly. The other scans all
    // values for their lowest bits. Many doubtful means are exact ties. If the scan shows that the sums lost nothing,
    // such ties are no longer doubtful. The scan is more expensive than a few exact means. It is therefore delayed
    // until the accumulated cost of exact means exceeds the cost of the scan. The scan and the sums of doubtful means
    // are distributed over the ranks, but every rank computes all of these means.
    //
    // The costs are in units of one scanned value. An exact mean costs `of_mean` per column, and `of_value` per column
    // and point of the cluster.
    constexpr double of_mean = 4000;
    constexpr double of_value = 16;
    const double ranks = problem_.ranks().size();
    for (const DoubtfulMean& mean : doubtful)
      price_of_doubts_ += static_cast<double>(mean.dims.size()) *
                          (of_mean + of_value * static_cast<double>(sums.count(mean.cluster)) / ranks);
    const double price_of_look =
        static_cast<double>(problem_.source->rank_rows().all()) * static_cast<double>(problem_.d()) / ranks;
    if (std::vector<int>& finest = *problem_.statistics.finest; price_of_doubts_ > price_of_look && finest.empty()) {
      std::vector<int> enough;
      for (const core::Grid& grid : problem_.statistics.columns)
        enough.push_back(grid.unit - problem_.statistics.finest_weight);
      finest = finest_bits(enough);
      for (const DoubtfulMean& mean : doubtful) find(mean.cluster);
      doubtful = doubtful_means();
      if (doubtful.empty()) return;
    }
    exact_means<T>(problem_, labels(), relocations, doubtful, updated_.centroids, threads_);
    for (const DoubtfulMean& mean : doubtful) settle(mean.cluster);
  }

  std::vector<int> finest_bits(const std::vector<int>& enough) const {
    const std::vector<double> negated = problem_.ranks().greatest(enough.size(), [&](std::span<double> numbers) {
      std::vector<int> least = enough;
      problem_.source->visit([&](std::int64_t, MatrixView<const T> rows) {
        least = cpu::finest_bits(rows, least, threads_, problem_.stop);
        return true;
      });
      std::ranges::transform(least, numbers.begin(), [](int bit) { return -static_cast<double>(bit); });
    });
    std::vector<int> finest;
    for (const double bit : negated) finest.push_back(static_cast<int>(-bit));
    return finest;
  }

  // Computes one term of the explained inertia for each cluster, without a pass over the points. Let m be the middle of
  // the data, c the centroid of a cluster, mu its mean and W its weight. The inertia of an assignment is a constant of
  // the data minus the sum of W (2 (c - m).(mu - m) - |c - m|^2) over the clusters. total() adds up the terms. The
  // constant is computed at the end, from the inertia of the last assignment. Weights and coordinates are scaled by
  // powers of two, so that all values stay in the range of double.
  void explain(const Sums& sums, cpu::Range clusters) {
    const Statistics& statistics = problem_.statistics;
    const std::int64_t d = problem_.d();
    core::FirstFailure failure;
    const auto work_out = [&](std::int64_t cluster, std::vector<double>& mean) {
      double& part = updated_.explained[static_cast<std::size_t>(cluster)];
      part = 0;
      const double weight = sums.weight(cluster) * statistics.weight_scale;
      if (!(weight > 0) || problem_.stop.stop_requested() || failure.happened()) return;
      sums.mean_from_middle(cluster, mean.data());
      double sum = 0;
      for (std::int64_t dim = 0; dim < d; ++dim) {
        const auto column = static_cast<std::size_t>(dim);
        const double centroid = (static_cast<double>(result_.centroids(cluster, dim)) - statistics.middle[column]) *
                                statistics.coordinate_scale;
        sum += centroid * (2 * (mean[column] * statistics.coordinate_scale) - centroid);
      }
      part = weight * sum;
    };
    if (pays_team(clusters)) {
#pragma omp parallel num_threads(threads_)
      {
        std::vector<double> mean;
        failure.run([&] { mean.resize(static_cast<std::size_t>(d)); });
#pragma omp for schedule(static)
        for (std::int64_t cluster = clusters.begin; cluster < clusters.end; ++cluster) work_out(cluster, mean);
      }
    } else {
      std::vector<double> mean(static_cast<std::size_t>(d));
      for (std::int64_t cluster = clusters.begin; cluster < clusters.end; ++cluster) work_out(cluster, mean);
    }
    failure.rethrow();
    honour_stop();
  }

  /// Adds up the parts in ascending order, so that the sum does not depend on which rank computed which part.
  static double total(const std::vector<double>& parts) {
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }

  void complete_history() {
    if (!inertia_is_explained_) return;
    const Statistics& statistics = problem_.statistics;
    // Multiplies and divides in an order that keeps intermediate results in range.
    const double scale = statistics.coordinate_scale;
    make_room_for_update();
    explain(sums(), all_clusters());
    const double constant = result_.inertia * scale * statistics.weight_scale * scale + total(updated_.explained);
    for (KMeansIteration& record : result_.history)
      record.inertia = std::max(0.0, constant - record.inertia) / scale / statistics.weight_scale / scale;
  }

  void halve_inertia() {
    result_.inertia *= 0.5;
    for (KMeansIteration& record : result_.history) record.inertia *= 0.5;
  }

  void stop_rules(const KMeansIteration& record, bool relocated) {
    if (record.changed == 0 && !relocated) stop(StopReason::labels_unchanged);
    else if (problem_.shift_limit > 0 && record.shift <= problem_.shift_limit) stop(StopReason::centroids_settled);
    else if (record.changed <= problem_.changed_limit && problem_.changed_limit > 0)
      stop(StopReason::few_labels_changed);
  }

  void stop(StopReason reason) {
    result_.converged = true;
    result_.stop_reason = reason;
  }

  static bool same_places(const Matrix<T>& a, const Matrix<T>& b) {
    return std::equal(a.data(), a.data() + a.rows() * a.columns(), b.data());  // 0 and -0 are equal
  }

  void count_labels() {
    result_.counts.assign(static_cast<std::size_t>(problem_.k()), 0);
    if (!engine_.has_sums()) {
      for (std::int64_t point = 0; point < problem_.n(); ++point)
        ++result_.counts[static_cast<std::size_t>(result_.labels[point])];
      return;
    }
    for (std::int64_t cluster = 0; cluster < problem_.k(); ++cluster)
      result_.counts[static_cast<std::size_t>(cluster)] = sums().count(cluster);
  }

  void honour_stop() const {
    if (problem_.stop.stop_requested())
      throw InterruptedError("stopped in iteration " + std::to_string(result_.iterations + 1));
  }

  void report() const {
    if (!execution_.progress) return;
    const std::string detail = std::to_string(result_.history.back().changed) + " labels changed";
    execution_.progress({"iteration", result_.iterations, problem_.max_iterations, detail});
  }

  const Problem<T>& problem_;
  const Execution& execution_;
  Engine<T, Sums>& engine_;
  std::optional<Sums> total_;            ///< the sums over several ranks, with additional words at the end
  std::optional<ClusterShares> shares_;  ///< set if each rank updates only a share of the clusters
  std::vector<Phase>& phases_;
  int threads_;
  KMeansResult<T> result_;
  UpdatedClusters<T> updated_;
  const Matrix<T>* before_ = nullptr;  ///< centroids before the last iteration; null if they were overwritten
  bool labels_are_here_ = true;        ///< true if result_ has the labels of the last pass
  bool inertia_is_explained_ = false;
  double price_of_doubts_ = 0;  ///< accumulated cost of exact means, in units of one scanned value
};

}  // namespace

template <class T, class Sums>
KMeansResult<T> run_lloyd(const Problem<T>& problem, const Execution& execution, Engine<T, Sums>& engine,
                          std::vector<Phase>& phases) {
  const cpu::PinnedTeam team(cpu::thread_count(execution), execution.pinning);
  return Lloyd<T, Sums>(problem, execution, engine, phases).run();
}

#define GRADUS_INSTANTIATE(T, Sums) \
  template KMeansResult<T> run_lloyd(const Problem<T>&, const Execution&, Engine<T, Sums<T>>&, std::vector<Phase>&)
GRADUS_INSTANTIATE(float, FloatSums);
GRADUS_INSTANTIATE(float, ExactSums);
GRADUS_INSTANTIATE(double, FloatSums);
GRADUS_INSTANTIATE(double, ExactSums);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
