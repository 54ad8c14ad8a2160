#include "kmeans/seeding/initialize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/checked.hpp"
#include "core/philox.hpp"
#include "core/ranks.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "kmeans/gpu/gpu_points.hpp"
#include "kmeans/lloyd/row_sums.hpp"
#include "kmeans/seeding/cover.hpp"
#include "kmeans/seeding/cuda_cover.hpp"
#include "kmeans/seeding/dense_cover.hpp"
#include "kmeans/seeding/filtered_cover.hpp"
#include "kmeans/seeding/idle_cover.hpp"

namespace gradus::kmeans_detail {

namespace {

// Rounds of k-means|| and, in multiples of k, the rows that each is expected to choose: Bahmani et al. found that five
// rounds of 2k already give seeds as good as k-means++ does.
constexpr int oversampling_rounds = 5;
constexpr std::uint64_t oversampling_factor = 2;

// Up to so many columns the triangle inequality spares more than the copy in 8 bits does where points are many, and for
// fewer clusters than that the copy is not made sooner than the distances are (docs/decisions/0013-first-centroids.md).
constexpr std::int64_t most_columns_of_cover = 5;
constexpr std::int64_t fewest_chosen_by_filter = 6;

/// `expected`: how many rows will be chosen.
bool is_filtered(std::int64_t columns, std::int64_t expected, SeedingFilter filter) {
  if (columns > ByteRows<float>::most_columns || filter == SeedingFilter::never || filter == SeedingFilter::dense)
    return false;
  if (filter == SeedingFilter::always) return true;
  return columns > most_columns_of_cover && expected >= fewest_chosen_by_filter;
}

/// Whether all distances of k-means++ are measured, for to leave some out takes longer (docs/decisions/
/// 0013-first-centroids.md).
bool is_dense(std::int64_t columns, std::int64_t clusters, SeedingFilter filter) {
  if (filter != SeedingFilter::where_it_pays) return filter == SeedingFilter::dense;
  return clusters <= (columns <= few_columns ? 64 : columns <= 24 ? 32 : 10);
}

/// Rows that k-means|| chooses in all rounds, about.
std::int64_t sample_rows(std::int64_t clusters) {
  return static_cast<std::int64_t>(oversampling_factor) * oversampling_rounds * clusters + 1;
}

/// Candidates of a step of greedy k-means++.
int trials_of_a_step(std::int64_t clusters) { return 2 + static_cast<int>(std::log(static_cast<double>(clusters))); }

void honour_stop(const std::stop_token& stop) { core::honour_stop(stop, "stopped while choosing the first centroids"); }

template <class T>
Matrix<T> rows_of(MatrixView<const T> points, const std::vector<std::int64_t>& rows) {
  Matrix<T> chosen(static_cast<std::int64_t>(rows.size()), points.columns());
  for (std::size_t index = 0; index < rows.size(); ++index)
    std::copy_n(points.row(rows[index]), points.columns(), chosen.row(static_cast<std::int64_t>(index)));
  return chosen;
}

/// The rows once more from the first one on, until there are k.
void repeat(std::vector<std::int64_t>& rows, std::int64_t k) {
  for (std::size_t index = 0; std::ssize(rows) < k; ++index) {
    const std::int64_t row = rows[index];
    rows.push_back(row);
  }
}

/// Draws rows by weight, none of them twice. On ranks the weights are those of this one's rows.
template <class T>
class WeightedRows {
 public:
  WeightedRows(VectorView<const T> weights, const std::stop_token& stop, core::Ranks* ranks)
      : weights_(weights), stop_(stop), ranks_(ranks), sums_(weights.size()),
        drawn_(static_cast<std::size_t>(weights.size())) {
    rescale();
  }

  /// Whether all rows of positive weight are drawn.
  bool is_exhausted() {
    if (total() == 0) rescale();  // what is left is too light to count beside what was drawn
    return total() == 0;
  }

  std::int64_t draw(const core::Philox& random, std::uint64_t index) {
    if (is_exhausted())
      throw InputError(about("weights") + "fewer rows have weight than there are clusters",
                       {.code = error_code::too_few_points});
    const std::uint64_t target = random.below(index, total());
    if (ranks_ == nullptr) return take(target).row;
    const RankTotals::Place place = totals_.find(target);
    const std::span<const std::uint64_t> drawn = ranks_->sum(2, [&](std::span<std::uint64_t> words) {
      if (place.rank != ranks_->rank()) return;
      const Drawn own = take(place.target);
      words[0] = static_cast<std::uint64_t>(ranks_->first_row() + own.row);
      words[1] = own.integer;
    });
    totals_.take(place.rank, drawn[1]);
    return static_cast<std::int64_t>(drawn[0]);
  }

 private:
  struct Drawn {
    std::int64_t row;
    std::uint64_t integer;
  };

  /// Of this rank's rows.
  Drawn take(std::uint64_t target) {
    const std::int64_t row = sums_.row_at(target, [this](std::int64_t each) { return integer_of(each); });
    const std::uint64_t integer = integer_of(row);
    sums_.take(row, integer);
    drawn_[static_cast<std::size_t>(row)] = true;
    return {row, integer};
  }

  std::uint64_t total() const { return ranks_ == nullptr ? sums_.total() : totals_.total(); }
  double left(std::int64_t row) const {
    return drawn_[static_cast<std::size_t>(row)] ? 0.0 : static_cast<double>(weights_[row]) * unit_;
  }
  std::uint64_t integer_of(std::int64_t row) const { return quantize_(left(row)); }

  void rescale() {
    const auto find_largest = [&] {
      double largest = 0;
      for (std::int64_t row = 0; row < weights_.size(); ++row) {
        if (row % core::operations_between_looks == 0) honour_stop(stop_);
        largest = std::max(largest, left(row));
      }
      return largest;
    };
    const auto add_up = [&] {
      for (std::int64_t row = 0; row < weights_.size(); row += RowSums::block_rows) sums_.block_of(row) = 0;
      for (std::int64_t row = 0; row < weights_.size(); ++row) {
        if (row % core::operations_between_looks == 0) honour_stop(stop_);
        sums_.block_of(row) += integer_of(row);
      }
      sums_.refresh();
      return sums_.total();
    };
    unit_ = 1;
    const double largest =
        ranks_ == nullptr ? find_largest()
                          : ranks_->greatest(1, [&](std::span<double> numbers) { numbers[0] = find_largest(); })[0];
    if (largest <= tiny_weight) unit_ = weight_unit(largest);
    quantize_ = Quantizer(largest * unit_, ranks_ == nullptr ? weights_.size() : ranks_->rows());
    if (ranks_ == nullptr) add_up();
    else totals_ = RankTotals(ranks_->gather(add_up));
  }

  VectorView<const T> weights_;
  const std::stop_token& stop_;
  core::Ranks* ranks_;
  RowSums sums_;
  RankTotals totals_;  ///< on ranks
  std::vector<bool> drawn_;
  double unit_ = 1;  ///< a power of two, for weights so small that the quantizer would lose them
  Quantizer quantize_;
};

template <class T>
std::vector<std::int64_t> random_rows(std::int64_t n, VectorView<const T> weights, std::int64_t k, bool accepts_fewer,
                                      const core::Philox& random, const std::stop_token& stop, core::Ranks* ranks) {
  std::vector<std::int64_t> chosen;
  if (!weights.empty()) {
    WeightedRows<T> rows(weights, stop, ranks);
    for (std::int64_t step = 0; step < k && !(accepts_fewer && rows.is_exhausted()); ++step) {
      honour_stop(stop);
      chosen.push_back(rows.draw(random, static_cast<std::uint64_t>(step)));
    }
    repeat(chosen, k);
    return chosen;
  }
  // Floyd's sampling without replacement: k draws, no table of n.
  std::unordered_set<std::int64_t> taken;
  for (std::int64_t last = n - k; last < n; ++last) {
    honour_stop(stop);
    const auto draw = static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(last - (n - k)), static_cast<std::uint64_t>(last) + 1));
    const std::int64_t row = taken.insert(draw).second ? draw : last;
    taken.insert(row);
    chosen.push_back(row);
  }
  return chosen;
}

/// Where the seeding's points lie: in host memory.
template <class T>
struct HostRows {
  MatrixView<const T> points;
  VectorView<const T> weights;
  int threads;
  std::stop_token stop;
  SeedingFilter filter;
  std::shared_ptr<ByteRows<T>>* copy;             ///< null: not wanted
  std::shared_ptr<KnownRows<T>> known = nullptr;  ///< on ranks, where points and weights are this one's
  std::shared_ptr<const Matrix<T>> owned = nullptr;
  std::shared_ptr<const core::Ranks::OtherRows> split = nullptr;

  std::unique_ptr<Potential<T>> cover(std::int64_t first, std::int64_t expected, bool groups) const {
    const int trials = trials_of_a_step(expected);
    if (DenseCover<T>::takes(weights, groups, trials) && is_dense(points.columns(), expected, filter)) {
      if (is_idle()) return idle_cover(first, DenseCover<T>::most_trials);
      if (copy != nullptr) *copy = std::make_shared<ByteRows<T>>(points);
      return std::make_unique<DenseCover<T>>(points, first, trials, threads, stop,
                                             copy != nullptr ? copy->get() : nullptr, known.get());
    }
    if (is_filtered(points.columns(), expected, filter)) {
      if (is_idle()) return idle_cover(first, FilteredCover<T>::candidates_of_a_call(points.columns()));
      auto bytes = std::make_shared<ByteRows<T>>(points);
      if (copy != nullptr) *copy = bytes;
      return std::make_unique<FilteredCover<T>>(points, weights, std::move(bytes), first, groups, threads, stop,
                                                known.get());
    }
    if (is_idle()) return idle_cover(first, Cover<T>::candidates_of_a_call);
    return std::make_unique<Cover<T>>(points, weights, first, expected, threads, stop, known.get());
  }
  Matrix<T> copy_rows(const std::vector<std::int64_t>& rows) const {
    return known == nullptr ? rows_of(points, rows) : known->ranks().rows_at(std::span(rows), points);
  }
  static const GpuPoints<T>* gpu() { return nullptr; }
  core::Ranks* ranks() const { return known == nullptr ? nullptr : &known->ranks(); }
  std::int64_t all_rows() const { return known == nullptr ? points.rows() : known->ranks().rows(); }
  /// Before row_of() of the covers looks at them.
  void bring(std::span<const std::int64_t> some) const {
    if (known != nullptr) known->bring(some);
  }
  /// Of the tried rows the chosen one is left.
  void forget_all_but(std::int64_t chosen, std::span<const std::int64_t> tried,
                      std::span<const std::int64_t> before) const {
    if (known == nullptr) return;
    for (const std::int64_t row : tried)
      if (row != chosen && std::find(before.begin(), before.end(), row) == before.end()) known->forget(row);
  }
  /// The same for a sample of the points, with other weights.
  HostRows of_sample(const std::vector<std::int64_t>& rows, VectorView<const T> row_weights) const {
    const auto sample = std::make_shared<const Matrix<T>>(copy_rows(rows));
    if (known == nullptr) return {sample->view(), row_weights, threads, stop, filter, nullptr, nullptr, sample};
    // All ranks have all of it, and each of them works on its share.
    core::Ranks& all = known->ranks();
    const cpu::Range share = cpu::share(sample->rows(), all.rank(), all.size());
    const MatrixView<const T> own = sample->view().slice(share.begin, share.size());
    const VectorView<const T> own_weights(row_weights.data() + share.begin, share.size());
    return {own,
            own_weights.empty() ? weights_of_no_rows<T>() : own_weights,
            threads,
            stop,
            filter,
            nullptr,
            std::make_shared<KnownRows<T>>(all, own),
            sample,
            std::make_shared<const core::Ranks::OtherRows>(all, share.size())};
  }

 private:
  bool is_idle() const { return known != nullptr && points.rows() == 0; }
  std::unique_ptr<Potential<T>> idle_cover(std::int64_t first, std::int64_t candidates_of_a_call) const {
    return std::make_unique<IdleCover<T>>(points, weights, first, candidates_of_a_call, stop, known.get());
  }
};

/// On a GPU. The weights are in host memory too.
template <class T>
struct GpuRows {
  const GpuPoints<T>* on_gpu;
  MatrixView<const T> points;
  VectorView<const T> weights;
  std::shared_ptr<const GpuPoints<T>> owned = nullptr;

  std::unique_ptr<CudaCover<T>> cover(std::int64_t first, std::int64_t /*expected*/, bool groups) const {
    return std::make_unique<CudaCover<T>>(*on_gpu, first, groups);
  }
  Matrix<T> copy_rows(const std::vector<std::int64_t>& rows) const { return on_gpu->copy_rows(rows); }
  const GpuPoints<T>* gpu() const { return on_gpu; }
  static core::Ranks* ranks() { return nullptr; }
  std::int64_t all_rows() const { return points.rows(); }
  static void bring(std::span<const std::int64_t> /*rows*/) {}
  static void forget_all_but(std::int64_t /*chosen*/, std::span<const std::int64_t> /*tried*/,
                             std::span<const std::int64_t> /*before*/) {}
  GpuRows of_sample(const std::vector<std::int64_t>& rows, VectorView<const T> row_weights) const {
    const auto copy = std::make_shared<const GpuPoints<T>>(*on_gpu, rows, row_weights,
                                                           gpu_cover_bytes(std::ssize(rows), points.columns(), false));
    return {copy.get(), copy->rows(), row_weights, copy};
  }
};

/// Greedy k-means++ and k-means|| over weighted points.
template <class T, class Rows>
class Seeding {
 public:
  /// `so_far`: where it goes on.
  Seeding(const Rows& rows, std::int64_t k, bool accepts_fewer, const core::Philox& random, const Execution& execution,
          const SeedingSoFar& so_far)
      : rows_(rows), k_(k), accepts_fewer_(accepts_fewer), random_(random), execution_(execution), so_far_(so_far) {}

  /// `first_draw`: the index of the first random number; the draws count up from there.
  std::vector<std::int64_t> plus_plus(std::uint64_t first_draw) {
    draws_ = first_draw;
    const auto cover = rows_.cover(first_row(), k_, false);
    std::vector<std::int64_t> chosen = cover->chosen();
    if (so_far_.done != nullptr && !so_far_.done->chosen.empty()) {
      const std::span<const std::int64_t> done = so_far_.done->chosen;
      require_rows(done, chosen.front(), k_);
      for (const std::int64_t& row : done.subspan(1)) {
        honour_stop(execution_.stop);
        rows_.bring(std::span(&row, 1));
        cover->add(std::span(&row, 1));
        chosen.push_back(row);
        draws_ += static_cast<std::uint64_t>(trials_of_a_step(k_));
      }
    }
    keeper_ = so_far_.keeper;
    extend(*cover, chosen);
    return chosen;
  }

  std::vector<std::int64_t> parallel() {
    const std::uint64_t wanted = oversampling_factor * static_cast<std::uint64_t>(k_);
    const auto cover = rows_.cover(first_row(), sample_rows(k_), true);
    int round = 0;
    if (so_far_.done != nullptr && !so_far_.done->sample.empty()) {
      std::span<const std::int64_t> done = so_far_.done->sample;
      require_rows(done, cover->chosen().front(), rows_.all_rows());
      done = done.subspan(1);
      for (const std::int64_t count : so_far_.done->rounds) {
        if (count < 0 || count > std::ssize(done) || round++ == oversampling_rounds) refuse_rows();
        const std::span<const std::int64_t> some = done.first(static_cast<std::size_t>(count));
        rows_.bring(some);
        cover->add(some);
        done = done.subspan(some.size());
      }
    } else if (so_far_.keeper != nullptr) {
      so_far_.keeper->seeding.sample = cover->chosen();
    }
    for (; round < oversampling_rounds && cover->total() > 0; ++round) {
      const std::vector<std::int64_t> rows = cover->sample(wanted, random_, round);
      cover->add(rows);
      keep_round(rows);
      if (execution_.progress) execution_.progress({"initialize", round + 1, oversampling_rounds + 1, "k-means||"});
    }
    // A row without points of its own repeats another one.
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
    const Rows sample_rows = rows_.of_sample(rows, sample_weights);
    Seeding of_sample(sample_rows, k_, accepts_fewer_, random_, quiet, so_far_);
    std::vector<std::int64_t> chosen = of_sample.plus_plus(draws_);
    for (std::int64_t& row : chosen) row = rows[static_cast<std::size_t>(row)];
    return chosen;
  }

 private:
  std::int64_t first_row() {
    const std::int64_t row =
        rows_.weights.empty()
            ? static_cast<std::int64_t>(random_.below(draws_++, static_cast<std::uint64_t>(rows_.all_rows())))
            : WeightedRows<T>(rows_.weights, execution_.stop, rows_.ranks()).draw(random_, draws_++);
    rows_.bring(std::span(&row, 1));
    return row;
  }

  /// Steps of greedy k-means++ until k rows are chosen.
  template <class AnyCover>
  void extend(AnyCover& cover, std::vector<std::int64_t>& chosen) {
    std::vector<std::uint64_t> targets(static_cast<std::size_t>(trials_of_a_step(k_)));
    while (static_cast<std::int64_t>(chosen.size()) < k_) {
      honour_stop(execution_.stop);
      if (cover.total() == 0) return extend_by_different_rows(chosen);
      if constexpr (requires { cover.takes_steps(0); }) {  // several at a time, where they are computed
        const auto trials = static_cast<int>(targets.size());
        if (cover.takes_steps(trials)) {
          cover.take_steps(trials, k_, random_, draws_, chosen);
          report(chosen.size());
          keep_steps(chosen);
          continue;
        }
      }
      for (std::uint64_t& target : targets) target = random_.below(draws_++, cover.total());
      const std::vector<std::int64_t> candidates = cover.rows_at(targets);
      const std::vector<std::uint64_t> gains = cover.gains(candidates);
      // The one that leaves the least; the first on ties.
      const auto best = std::max_element(gains.begin(), gains.end()) - gains.begin();
      chosen.push_back(candidates[static_cast<std::size_t>(best)]);
      cover.add(std::span(&chosen.back(), 1));
      rows_.forget_all_but(chosen.back(), candidates, cover.chosen());
      report(chosen.size());
      keep_steps(chosen);
    }
  }

  [[noreturn]] static void refuse_rows() {
    throw InputError("the checkpoint holds first centroids that this program does not choose");
  }

  /// Of those that a checkpoint holds: the first one, from which all others follow, and where they can be at all.
  void require_rows(std::span<const std::int64_t> rows, std::int64_t first, std::int64_t most) const {
    if (rows.front() != first || std::ssize(rows) > most) refuse_rows();
    for (const std::int64_t row : rows)
      if (row < 0 || row >= rows_.all_rows()) refuse_rows();
  }

  void keep_round(const std::vector<std::int64_t>& rows) const {
    if (so_far_.keeper == nullptr) return;
    SeedingState& seeding = so_far_.keeper->seeding;
    seeding.sample.insert(seeding.sample.end(), rows.begin(), rows.end());
    seeding.rounds.push_back(std::ssize(rows));
    if (so_far_.keeper->is_due()) so_far_.keeper->write_seeding();
  }

  void keep_steps(const std::vector<std::int64_t>& chosen) const {
    if (keeper_ == nullptr) return;
    std::vector<std::int64_t>& kept = keeper_->seeding.chosen;
    kept.insert(kept.end(), chosen.begin() + std::ssize(kept), chosen.end());
    if (keeper_->is_due()) keeper_->write_seeding();
  }

  void report(std::size_t chosen) const {
    if (execution_.progress) execution_.progress({"initialize", static_cast<std::int64_t>(chosen), k_, "k-means++"});
  }

  /// For rows that differ by so little that all squared distances are zero: the first ones that are not chosen yet.
  void extend_by_different_rows(std::vector<std::int64_t>& chosen) const {
    std::unordered_set<std::string> seen;
    const auto is_new = [&](const T* row) {
      std::string bytes(static_cast<std::size_t>(rows_.points.columns()) * sizeof(T), '\0');
      for (std::int64_t dim = 0; dim < rows_.points.columns(); ++dim) {
        const T value = row[dim] + T{0};  // -0 counts as 0
        std::memcpy(bytes.data() + static_cast<std::size_t>(dim) * sizeof(T), &value, sizeof(T));
      }
      return seen.insert(std::move(bytes)).second;
    };
    const Matrix<T> before = rows_.copy_rows(chosen);
    const std::int64_t stretch = core::stretch_length(rows_.points.rows(), 64 + rows_.points.columns());
    for (std::int64_t row = 0; row < before.rows(); ++row) is_new(before.row(row));
    const auto find = [&](std::vector<std::int64_t>& rows, std::int64_t most, std::int64_t first_row) {
      visit_rows(rows_.points, rows_.gpu(), [&](std::int64_t first, MatrixView<const T> some) {
        for (std::int64_t row = 0; row < some.rows() && std::ssize(rows) < most; ++row) {
          if (row % stretch == 0) honour_stop(execution_.stop);
          if ((rows_.weights.empty() || rows_.weights[first + row] > 0) && is_new(some.row(row)))
            rows.push_back(first_row + first + row);
        }
        return std::ssize(rows) < most;
      });
    };
    if (core::Ranks* const ranks = rows_.ranks(); ranks == nullptr) {
      find(chosen, k_, 0);
    } else {
      for (int rank = 0; rank < ranks->size() && std::ssize(chosen) < k_; ++rank) {
        const std::vector<std::int64_t> found = ranks->from(rank, [&] {
          std::vector<std::int64_t> rows;
          find(rows, k_ - std::ssize(chosen), ranks->first_row());
          return rows;
        });
        chosen.insert(chosen.end(), found.begin(), found.end());
        const Matrix<T> rows = rows_.copy_rows(found);
        for (std::int64_t row = 0; row < rows.rows(); ++row) is_new(rows.row(row));  // for the ranks behind
      }
    }
    if (static_cast<std::int64_t>(chosen.size()) < k_ && !accepts_fewer_)
      throw InputError(about("points") + "fewer different points of positive weight than clusters",
                       {.code = error_code::too_few_points});
    repeat(chosen, k_);
  }

  const Rows& rows_;
  std::int64_t k_;
  bool accepts_fewer_;
  const core::Philox& random_;
  const Execution& execution_;
  SeedingSoFar so_far_;
  SeedingCheckpoints* keeper_ = nullptr;  ///< of steps of k-means++, where these are all that there is
  std::uint64_t draws_ = 0;
};

template <class T, class Rows>
FirstCentroids<T> choose_rows(const Rows& rows, const KMeansOptions& options, const Execution& execution, int restart,
                              const SeedingSoFar& so_far) {
  const core::Philox random(options.seed, static_cast<std::uint64_t>(restart));
  const std::int64_t k = options.clusters;
  const bool accepts_fewer = accepts_fewer_different(options);
  Seeding<T, Rows> seeding(rows, k, accepts_fewer, random, execution, so_far);
  std::vector<std::int64_t> chosen;
  switch (options.init) {
    case KMeansInit::random:
      chosen = random_rows(rows.all_rows(), rows.weights, k, accepts_fewer, random, execution.stop, rows.ranks());
      break;
    case KMeansInit::kmeans_plus_plus: chosen = seeding.plus_plus(0); break;
    case KMeansInit::kmeans_parallel: chosen = seeding.parallel(); break;
    case KMeansInit::first:
    case KMeansInit::given: throw UsageError("unknown initialization");
  }
  return {rows.copy_rows(chosen), std::move(chosen)};
}

std::vector<std::int64_t> first_rows(std::int64_t k) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(k));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

}  // namespace

bool accepts_fewer_different(const KMeansOptions& options) {
  return options.fewer_distinct == KMeansFewerDistinct::accept;
}

template <class T>
FirstCentroids<T> initialize(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                             const Execution& execution, int restart, const GpuPoints<T>* gpu, SeedingFilter filter,
                             std::shared_ptr<ByteRows<T>>* copy, core::Ranks* ranks, const SeedingSoFar& so_far) {
  if (options.init == KMeansInit::given) return {Matrix<T>::copy_of(memory.initial_centroids), {}};
  if constexpr (cuda::is_compiled) {
    if (gpu) {
      if (options.init == KMeansInit::first)
        return {gpu->job()->copy_to_host(points.slice(0, options.clusters)), first_rows(options.clusters)};
      const GpuRows<T> rows{gpu, points, memory.weights};
      return choose_rows<T>(rows, options, execution, restart, so_far);
    }
  }
  HostRows<T> rows{points, memory.weights, cpu::thread_count(execution), execution.stop, filter, copy};
  if (ranks != nullptr) rows.known = std::make_shared<KnownRows<T>>(*ranks, points);
  if (options.init == KMeansInit::first) {
    std::vector<std::int64_t> first = first_rows(options.clusters);
    return {rows.copy_rows(first), std::move(first)};
  }
  return choose_rows<T>(rows, options, execution, restart, so_far);
}

double first_distances(KMeansInit init, std::int64_t clusters, std::int64_t columns) {
  const auto k = static_cast<double>(clusters);
  // The products of bytes that rule most pairs out made the whole choice 7 to 100 times as fast (docs/results/
  // kmeans-first-centroids-16-cores-h200.txt): a pair counts a tenth.
  const auto filtered = [&](std::int64_t expected) {
    return is_filtered(columns, expected, SeedingFilter::where_it_pays) ? 0.1 : 1.0;
  };
  switch (init) {
    case KMeansInit::kmeans_plus_plus: return filtered(clusters) * k * (trials_of_a_step(clusters) + 1);
    case KMeansInit::kmeans_parallel:
      return filtered(sample_rows(clusters)) * k * oversampling_factor * oversampling_rounds;
    case KMeansInit::random:
    case KMeansInit::first:
    case KMeansInit::given: break;
  }
  return 0;
}

std::uint64_t seeding_bytes(const Shape& shape, KMeansInit init, SeedingFilter filter, std::uint64_t copy) {
  if (init != KMeansInit::kmeans_plus_plus && init != KMeansInit::kmeans_parallel) return 0;
  const auto of_plain_cover = [](std::int64_t rows) { return 16 * static_cast<std::uint64_t>(rows); };
  const auto of_cover = [&](std::int64_t rows, std::int64_t expected) {
    const bool filtered = is_filtered(shape.dimensions, expected, filter);
    return filtered ? FilteredCover<float>::bytes(rows, shape.dimensions) : of_plain_cover(rows);
  };
  if (init == KMeansInit::kmeans_plus_plus) {
    const std::uint64_t bytes = of_cover(shape.points, shape.clusters);
    const int trials = trials_of_a_step(shape.clusters);
    if (!DenseCover<float>::takes({}, shape.weighted, trials) || !is_dense(shape.dimensions, shape.clusters, filter))
      return bytes;
    // No less than without room for it.
    return copy +
           std::max(DenseCover<float>::bytes(shape.points, shape.dimensions, trials), of_plain_cover(shape.points));
  }
  const std::int64_t expected = sample_rows(shape.clusters);
  const std::int64_t sample = std::min(shape.points, expected + shape.clusters);
  const auto row_bytes = static_cast<std::uint64_t>(shape.dimensions) * static_cast<std::uint64_t>(shape.element_bytes);
  return of_cover(shape.points, expected) + of_cover(sample, shape.clusters) +
         core::checked_multiply(static_cast<std::uint64_t>(sample), row_bytes, "centroids");
}

template FirstCentroids<float> initialize(MatrixView<const float>, const KMeansOptions&, const KMeansMemory<float>&,
                                          const Execution&, int, const GpuPoints<float>*, SeedingFilter,
                                          std::shared_ptr<ByteRows<float>>*, core::Ranks*, const SeedingSoFar&);
template FirstCentroids<double> initialize(MatrixView<const double>, const KMeansOptions&, const KMeansMemory<double>&,
                                           const Execution&, int, const GpuPoints<double>*, SeedingFilter,
                                           std::shared_ptr<ByteRows<double>>*, core::Ranks*, const SeedingSoFar&);

}  // namespace gradus::kmeans_detail
