#include "kmeans/seeding/initialize.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/philox.hpp"
#include "core/stop.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/seeding/plan.hpp"
#include "kmeans/seeding/seeding_cover.hpp"
#include "kmeans/seeding/weighted_rows.hpp"

namespace gradus::kmeans_detail {

namespace {

void honour_stop(const std::stop_token& stop) { core::honour_stop(stop, while_choosing); }

/// Appends copies of the rows until there are k rows. Starts with a copy of the first row.
void repeat(std::vector<std::int64_t>& rows, std::int64_t k) {
  for (std::size_t index = 0; std::ssize(rows) < k; ++index) {
    const std::int64_t row = rows[index];
    rows.push_back(row);
  }
}

/// Draws `count` of n rows without replacement (Floyd's algorithm). Makes `count` draws and needs no table of n rows.
std::vector<std::int64_t> drawn_rows(std::int64_t n, std::int64_t count, const core::Philox& random,
                                     const std::stop_token& stop) {
  std::vector<std::int64_t> rows;
  std::unordered_set<std::int64_t> taken;
  for (std::int64_t last = n - count; last < n; ++last) {
    honour_stop(stop);
    const auto draw = static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(last - (n - count)), static_cast<std::uint64_t>(last) + 1));
    const std::int64_t row = taken.insert(draw).second ? draw : last;
    taken.insert(row);
    rows.push_back(row);
  }
  return rows;
}

template <class T>
std::vector<std::int64_t> random_rows(const PointSource<T>& points, std::int64_t k, bool accepts_fewer,
                                      const core::Philox& random, const std::stop_token& stop) {
  std::vector<std::int64_t> chosen;
  if (!points.host_weights().empty()) {
    WeightedRows<T> rows(points.host_weights(), points.rank_rows(), stop);
    for (std::int64_t step = 0; step < k && !(accepts_fewer && rows.is_exhausted()); ++step) {
      honour_stop(stop);
      chosen.push_back(rows.draw(random, static_cast<std::uint64_t>(step)));
    }
    repeat(chosen, k);
    return chosen;
  }
  return drawn_rows(points.rank_rows().all(), k, random, stop);
}

/// Chooses rows by greedy k-means++ or k-means||. The points may have weights.
template <class T>
class Seeding {
 public:
  /// `so_far` is the state from which the choice resumes, if there is one.
  Seeding(const PointSource<T>& points, std::int64_t k, bool accepts_fewer, const core::Philox& random,
          const Execution& execution, const SeedingMemory<T>& memory, const SeedingSoFar& so_far)
      : points_(points), k_(k), accepts_fewer_(accepts_fewer), random_(random), execution_(execution), memory_(memory),
        so_far_(so_far) {}

  /// Chooses rows by greedy k-means++. `first_draw` is the index of the first random number; each further draw uses the
  /// next index.
  std::vector<std::int64_t> plus_plus(std::uint64_t first_draw) {
    draws_ = first_draw;
    const auto cover = points_.cover(first_row(), k_, false, memory_);
    std::vector<std::int64_t> chosen = cover->chosen();
    if (so_far_.done != nullptr && !so_far_.done->chosen.empty()) {
      const std::span<const std::int64_t> done = so_far_.done->chosen;
      require_rows(done, chosen.front(), k_);
      for (const std::int64_t& row : done.subspan(1)) {
        honour_stop(execution_.stop);
        cover->bring(std::span(&row, 1));
        cover->add(std::span(&row, 1));
        chosen.push_back(row);
        draws_ += static_cast<std::uint64_t>(trials_of_a_step(k_));
      }
    }
    checkpoints_ = so_far_.checkpoints;
    extend(*cover, chosen);
    return chosen;
  }

  std::vector<std::int64_t> parallel() {
    const std::uint64_t wanted = oversampling_factor * static_cast<std::uint64_t>(k_);
    const auto cover = points_.cover(first_row(), sample_rows(k_), true, memory_);
    int round = 0;
    if (so_far_.done != nullptr && !so_far_.done->sample.empty()) {
      std::span<const std::int64_t> done = so_far_.done->sample;
      require_rows(done, cover->chosen().front(), points_.rank_rows().all());
      done = done.subspan(1);
      for (const std::int64_t count : so_far_.done->rounds) {
        if (count < 0 || count > std::ssize(done) || round++ == oversampling_rounds) refuse_rows();
        const std::span<const std::int64_t> some = done.first(static_cast<std::size_t>(count));
        cover->bring(some);
        cover->add(some);
        done = done.subspan(some.size());
      }
    } else if (so_far_.checkpoints != nullptr) {
      so_far_.checkpoints->seeding.sample = cover->chosen();
    }
    for (; round < oversampling_rounds && cover->total() > 0; ++round) {
      const std::vector<std::int64_t> rows = cover->sample(wanted, random_, round);
      cover->add(rows);
      keep_round(rows);
      if (execution_.progress) execution_.progress({"initialize", round + 1, oversampling_rounds + 1, "k-means||"});
    }
    // If a chosen row has no points, it is a duplicate of another chosen row and is left out.
    const std::vector<std::uint64_t> weights = cover->weights_of_chosen();
    std::vector<std::int64_t> rows;
    std::vector<T> row_weights;
    for (std::size_t index = 0; index < weights.size(); ++index)
      if (weights[index] > 0) {
        rows.push_back(cover->chosen()[index]);
        row_weights.push_back(static_cast<T>(weights[index]));
      }
    if (static_cast<std::int64_t>(rows.size()) <= k_) {
      extend(*cover, rows);
      return rows;
    }
    const VectorView<const T> sample_weights(row_weights.data(), static_cast<std::int64_t>(row_weights.size()));
    Execution quiet = execution_;
    quiet.progress = nullptr;
    const std::unique_ptr<PointSource<T>> sample = points_.sample(rows, sample_weights);
    Seeding of_sample(*sample, k_, accepts_fewer_, random_, quiet, {memory_.filter}, so_far_);
    const auto choose = [&] { return of_sample.plus_plus(draws_); };
    // If each rank has the whole sample, the ranks choose separately. A failure on one rank must still end the job on
    // all ranks.
    std::vector<std::int64_t> chosen = sample->ranks().is_alone() ? points_.ranks().agree(choose) : choose();
    for (std::int64_t& row : chosen) row = rows[static_cast<std::size_t>(row)];
    return chosen;
  }

 private:
  std::int64_t first_row() {
    const std::int64_t n = points_.rank_rows().all();
    if (points_.host_weights().empty())
      return static_cast<std::int64_t>(random_.below(draws_++, static_cast<std::uint64_t>(n)));
    WeightedRows<T> rows(points_.host_weights(), points_.rank_rows(), execution_.stop);
    return rows.draw(random_, draws_++);
  }

  /// Takes steps of greedy k-means++ until `chosen` has k rows.
  void extend(SeedingCover& cover, std::vector<std::int64_t>& chosen) {
    const int trials = trials_of_a_step(k_);
    std::vector<std::uint64_t> targets(static_cast<std::size_t>(trials));
    while (static_cast<std::int64_t>(chosen.size()) < k_) {
      honour_stop(execution_.stop);
      if (cover.total() == 0) return extend_by_different_rows(chosen);
      if (cover.takes_steps(trials)) {  // each call takes several steps
        cover.take_steps(trials, k_, random_, draws_, chosen);
        report(chosen.size());
        keep_steps(chosen);
        continue;
      }
      for (std::uint64_t& target : targets) target = random_.below(draws_++, cover.total());
      const std::vector<std::int64_t> candidates = cover.rows_at(targets);
      const std::vector<std::uint64_t> gains = cover.gains(candidates);
      // Select the candidate with the largest gain. On ties, select the first.
      const auto best = std::max_element(gains.begin(), gains.end()) - gains.begin();
      chosen.push_back(candidates[static_cast<std::size_t>(best)]);
      cover.add(std::span(&chosen.back(), 1));
      cover.forget(candidates);
      report(chosen.size());
      keep_steps(chosen);
    }
  }

  [[noreturn]] static void refuse_rows() {
    throw InputError("the checkpoint holds first centroids that this program does not choose");
  }

  /// Throws InputError if this seeding cannot have chosen the rows, which are from a checkpoint. The first row must be
  /// `first`, because all later rows depend on it. All rows must be in range.
  void require_rows(std::span<const std::int64_t> rows, std::int64_t first, std::int64_t most) const {
    if (rows.front() != first || std::ssize(rows) > most) refuse_rows();
    for (const std::int64_t row : rows)
      if (row < 0 || row >= points_.rank_rows().all()) refuse_rows();
  }

  void keep_round(const std::vector<std::int64_t>& rows) const {
    if (so_far_.checkpoints == nullptr) return;
    SeedingState& seeding = so_far_.checkpoints->seeding;
    seeding.sample.insert(seeding.sample.end(), rows.begin(), rows.end());
    seeding.rounds.push_back(std::ssize(rows));
    if (so_far_.checkpoints->is_due()) so_far_.checkpoints->write_seeding();
  }

  void keep_steps(const std::vector<std::int64_t>& chosen) const {
    if (checkpoints_ == nullptr) return;
    std::vector<std::int64_t>& kept = checkpoints_->seeding.chosen;
    kept.insert(kept.end(), chosen.begin() + std::ssize(kept), chosen.end());
    if (checkpoints_->is_due()) checkpoints_->write_seeding();
  }

  void report(std::size_t chosen) const {
    if (execution_.progress) execution_.progress({"initialize", static_cast<std::int64_t>(chosen), k_, "k-means++"});
  }

  /// Adds rows that differ from the chosen rows. This is needed if rows differ so little that all squared distances are
  /// zero.
  void extend_by_different_rows(std::vector<std::int64_t>& chosen) const {
    std::unordered_set<std::string> seen;
    const auto is_new = [&](const T* row) {
      std::string bytes(static_cast<std::size_t>(points_.rows().columns()) * sizeof(T), '\0');
      for (std::int64_t dim = 0; dim < points_.rows().columns(); ++dim) {
        const T value = row[dim] + T{0};  // maps -0 to 0
        std::memcpy(bytes.data() + static_cast<std::size_t>(dim) * sizeof(T), &value, sizeof(T));
      }
      return seen.insert(std::move(bytes)).second;
    };
    const Matrix<T> before = points_.rows_at(chosen);
    const std::int64_t stretch = core::chunk_length(points_.rows().rows(), 64 + points_.rows().columns());
    for (std::int64_t row = 0; row < before.rows(); ++row) is_new(before.row(row));
    const VectorView<const T> weights = points_.host_weights();
    const auto find = [&](std::vector<std::int64_t>& rows, std::int64_t most, std::int64_t first_row) {
      points_.visit([&](std::int64_t first, MatrixView<const T> some) {
        for (std::int64_t row = 0; row < some.rows() && std::ssize(rows) < most; ++row) {
          if (row % stretch == 0) honour_stop(execution_.stop);
          if ((weights.empty() || weights[first + row] > 0) && is_new(some.row(row)))
            rows.push_back(first_row + first + row);
        }
        return std::ssize(rows) < most;
      });
    };
    core::Ranks& ranks = points_.ranks();
    for (int rank = 0; rank < ranks.size() && std::ssize(chosen) < k_; ++rank) {
      const std::vector<std::int64_t> found = ranks.from(rank, [&] {
        std::vector<std::int64_t> rows;
        find(rows, k_ - std::ssize(chosen), points_.rank_rows().first());
        return rows;
      });
      chosen.insert(chosen.end(), found.begin(), found.end());
      const Matrix<T> rows = points_.rows_at(found);
      // Marks the rows as seen before the search on the next rank.
      for (std::int64_t row = 0; row < rows.rows(); ++row) is_new(rows.row(row));
    }
    if (static_cast<std::int64_t>(chosen.size()) < k_ && !accepts_fewer_)
      throw InputError(about("points") + "fewer different points of positive weight than clusters",
                       {.code = error_code::too_few_points});
    repeat(chosen, k_);
  }

  const PointSource<T>& points_;
  std::int64_t k_;
  bool accepts_fewer_;
  const core::Philox& random_;
  const Execution& execution_;
  SeedingMemory<T> memory_;
  SeedingSoFar so_far_;
  /// The checkpoints of plus_plus(), which sets this pointer. Null while parallel() takes steps without plus_plus();
  /// these steps are not saved.
  SeedingCheckpoints* checkpoints_ = nullptr;
  std::uint64_t draws_ = 0;
};

std::vector<std::int64_t> first_rows(std::int64_t k) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(k));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// Chooses rows of `points` by one of the methods that are random. Returns their numbers in `points`.
template <class T>
std::vector<std::int64_t> chosen_rows(const PointSource<T>& points, const KMeansOptions& options,
                                      const core::Philox& random, const Execution& execution,
                                      const SeedingMemory<T>& memory, const SeedingSoFar& so_far) {
  const bool accepts_fewer = accepts_fewer_different(options);
  if (options.init == KMeansInit::random)
    return random_rows(points, options.clusters, accepts_fewer, random, execution.stop);
  Seeding<T> seeding(points, options.clusters, accepts_fewer, random, execution, memory, so_far);
  return options.init == KMeansInit::kmeans_plus_plus ? seeding.plus_plus(0) : seeding.parallel();
}

/// Reports that too few of the drawn rows differ. If no row has weight, accepting fewer clusters would not help.
[[noreturn]] void throw_too_few_drawn(const KMeansOptions& options, std::int64_t different) {
  const std::string found = different == 0 ? "none has positive weight"
                                           : "only " + std::to_string(different) +
                                                 " differ and have positive weight, which are fewer than " +
                                                 std::to_string(options.clusters) + " clusters";
  throw InputError(
      about("points") + "of the " + std::to_string(options.init_rows) +
          " rows from which the first centroids are chosen (" + option("KMeansOptions::init_rows") + "), " + found,
      {.code = error_code::too_few_points,
       .argument = "init_rows",
       .value = std::to_string(options.init_rows),
       .remedy = different == 0 ? "choose them from more rows" : "choose them from more rows" + how_to_accept_fewer()});
}

/// Chooses rows among KMeansOptions::init_rows rows, which are drawn first.
template <class T>
std::vector<std::int64_t> chosen_among_some(const PointSource<T>& points, const KMeansOptions& options, int restart,
                                            const core::Philox& random, const Execution& execution,
                                            const SeedingMemory<T>& memory, const SeedingSoFar& so_far) {
  // A separate stream of random numbers, which no restart uses.
  const core::Philox draws(options.seed, ~static_cast<std::uint64_t>(restart));
  std::vector<std::int64_t> numbers = drawn_rows(points.rank_rows().all(), options.init_rows, draws, execution.stop);
  std::ranges::sort(numbers);
  Matrix<T> weights(std::ssize(numbers), 1);
  std::fill_n(weights.data(), weights.rows(), T{1});
  if (const VectorView<const T> own = points.host_weights(); !own.empty())
    weights = points.rank_rows().rows_at(numbers, MatrixView<const T>(own.data(), points.rank_rows().own(), 1));
  const std::unique_ptr<PointSource<T>> sample =
      points.sample(numbers, VectorView<const T>(weights.data(), weights.rows()));
  const auto choose = [&] {
    const std::int64_t different = count_different(*sample, options.clusters);
    if (different == 0 || (different < options.clusters && !accepts_fewer_different(options)))
      throw_too_few_drawn(options, different);
    return chosen_rows(*sample, options, random, execution, {memory.filter}, so_far);
  };
  // If each rank has the whole sample, a failure on one rank must still end the job on all of them.
  std::vector<std::int64_t> chosen = sample->ranks().is_alone() ? points.ranks().agree(choose) : choose();
  for (std::int64_t& row : chosen) row = numbers[static_cast<std::size_t>(row)];
  return chosen;
}

}  // namespace

bool accepts_fewer_different(const KMeansOptions& options) {
  return options.fewer_distinct == KMeansFewerDistinct::accept;
}

void accept_fewer_different(KMeansOptions& options) { options.fewer_distinct = KMeansFewerDistinct::accept; }

ErrorMessage how_to_accept_fewer() {
  return ", or for clusters without points: " + option("KMeansOptions::fewer_distinct", "accept");
}

template <class T>
FirstCentroids<T> initialize(const PointSource<T>& points, const KMeansOptions& options, MatrixView<const T> given,
                             const Execution& execution, int restart, const SeedingMemory<T>& memory,
                             const SeedingSoFar& so_far) {
  if (options.init == KMeansInit::given) return {Matrix<T>::copy_of(given), {}};
  const core::Philox random(options.seed, static_cast<std::uint64_t>(restart));
  const bool among_all = options.init_rows == 0 || options.init_rows >= points.rank_rows().all();
  std::vector<std::int64_t> chosen;
  if (options.init == KMeansInit::first) chosen = first_rows(options.clusters);
  else if (among_all) chosen = chosen_rows(points, options, random, execution, memory, so_far);
  else chosen = chosen_among_some(points, options, restart, random, execution, memory, so_far);
  return {points.rows_at(chosen), std::move(chosen)};
}

#define GRADUS_INSTANTIATE(T)                                                                             \
  template FirstCentroids<T> initialize(const PointSource<T>&, const KMeansOptions&, MatrixView<const T>, \
                                        const Execution&, int, const SeedingMemory<T>&, const SeedingSoFar&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
