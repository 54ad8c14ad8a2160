#include "kmeans/batches/batch_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "core/exact_total.hpp"
#include "core/stop.hpp"
#include "gradus/error.hpp"
#include "kmeans/assign/simd_rows.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::int64_t most_additions = std::int64_t{1} << 30;  // additions to a word before its carries are propagated
constexpr std::int64_t rows_at_once = std::int64_t{1} << 26;    // each row makes at most eight additions to a word
constexpr std::int64_t rows_of_a_task = 2048;
constexpr std::int64_t most_sums_in_order = 8192;  // their limbs fit in the second-level cache

/// Returns the value as mantissa * 2^exponent. The resulting exponent depends only on the exponent field of the value.
core::Scaled scaled(double value) { return core::scaled(value); }
core::Scaled scaled(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto field = static_cast<int>(bits >> 23 & 0xff);
  const std::uint32_t fraction = bits & ((1U << 23) - 1);
  return {field == 0 ? fraction : fraction | 1U << 23, (field == 0 ? 1 : field) - 150, bits >> 31 != 0};
}

/// The exponents of the lowest and the highest bit among several values; empty if all values are zero.
struct Exponents {
  int low = std::numeric_limits<int>::max();
  int high = std::numeric_limits<int>::min();
  bool empty() const { return low > high; }
};

template <class T>
Exponents exponents_of(MatrixView<const T> values, int threads) {
  T least = Magnitudes<T>().least;
  T greatest = 0;
  const std::int64_t rows_together =
      values.contiguous() ? core::chunk_length(values.rows(), values.columns(), threads) : 1;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : least) reduction(max : greatest)
  for (std::int64_t row = 0; row < values.rows(); row += rows_together) {
    const Magnitudes<T> found =
        find_magnitudes(values.row(row), std::min(rows_together, values.rows() - row) * values.columns());
    least = std::min(least, found.least);
    greatest = std::max(greatest, found.greatest);
  }
  if (greatest == 0) return {};
  return {scaled(least).exponent, scaled(greatest).exponent + std::numeric_limits<T>::digits};
}

/// Returns the exponents of the products of points and weights.
template <class T>
Exponents exponents_of_terms(MatrixView<const T> points, VectorView<const T> weights, int threads) {
  Exponents exponents = exponents_of(points, threads);
  if (exponents.empty() || weights.empty()) return exponents;
  const Exponents of_weights = exponents_of(MatrixView<const T>(weights.data(), weights.size(), 1), threads);
  if (of_weights.empty()) return {};
  return {exponents.low + of_weights.low, exponents.high + of_weights.high};
}

int word_of(int exponent) { return (exponent - core::accumulator_least_exponent) / 32; }

WordRange words_of(Exponents exponents) {
  if (exponents.empty()) return {};
  // One additional word receives the carries of up to 2^62 additions.
  const int first = word_of(exponents.low);
  return {first, word_of(exponents.high) + 2 - first};
}

/// Calls put(part) for the two parts of the product of two values.
template <class Put>
void put_product(core::Scaled value, core::Scaled weight, const Put& put) {
  const core::UInt128 product = static_cast<core::UInt128>(value.mantissa) * weight.mantissa;
  const int exponent = value.exponent + weight.exponent;
  const bool negative = value.negative != weight.negative;
  constexpr std::uint64_t half = (std::uint64_t{1} << 53) - 1;
  put(core::Scaled{static_cast<std::uint64_t>(product) & half, exponent, negative});
  put(core::Scaled{static_cast<std::uint64_t>(product >> 53), exponent + 53, negative});
}

/// Propagates carries. Afterwards, all words but the last are between -2^31 and 2^31.
void propagate(std::int64_t* words, int count) {
  std::int64_t carry = 0;
  for (int index = 0; index + 1 < count; ++index) {
    const std::int64_t word = words[index] + carry;
    carry = (word + (std::int64_t{1} << 31)) >> 32;
    words[index] = word - (carry << 32);
  }
  words[count - 1] += carry;
}

/// Returns true if no sum has carries that must be propagated. Each sum has `count` words.
bool is_propagated(std::span<const std::int64_t> words, std::int64_t count) {
  for (std::int64_t index = 0; index < std::ssize(words); ++index) {
    const std::int64_t limit = std::int64_t{1} << (index % count + 1 < count ? 31 : 62);
    if (const std::int64_t word = words[static_cast<std::size_t>(index)]; word < -limit || word > limit) return false;
  }
  return true;
}

/// A number: integer * 2^exponent.
struct FixedPoint {
  core::Int128 integer = 0;
  int exponent = 0;
};

/// Returns the number that `words` represents, or nothing if it does not fit in a FixedPoint. `first` is the number of
/// the first word. All carries must have been propagated.
std::optional<FixedPoint> fixed_point(std::span<const std::int64_t> words, int first) {
  while (!words.empty() && words.back() == 0) words = words.first(words.size() - 1);
  while (!words.empty() && words.front() == 0) {
    words = words.subspan(1);
    ++first;
  }
  if (words.empty()) return FixedPoint{};
  const auto top = static_cast<std::uint64_t>(std::abs(words.back()));
  if (static_cast<std::size_t>(std::bit_width(top)) + 32 * (words.size() - 1) > 125) return std::nullopt;
  FixedPoint number{0, core::accumulator_least_exponent + 32 * first};
  for (std::size_t index = words.size(); index-- > 0;)
    number.integer = number.integer * (core::Int128{1} << 32) + words[index];
  return number;
}

/// Some rows of one cluster.
struct Piece {
  std::int64_t cluster;
  std::span<const std::int64_t> rows;
};

/// The rows of each cluster, in ascending order.
class RowsByLabel {
 public:
  RowsByLabel(const std::int32_t* labels, std::int64_t rows, std::int64_t clusters, int threads)
      : starts_(static_cast<std::size_t>(clusters) + 1), rows_(static_cast<std::size_t>(rows)) {
    // Each part is a range of rows with its counts of labels. With many clusters, one part needs the least time.
    const std::int64_t parts = std::clamp<std::int64_t>(rows / (4 * clusters), 1, threads);
    std::vector<std::int64_t> next(static_cast<std::size_t>(parts * clusters));
    const auto for_parts = [&](const auto& visit) {
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static)
      for (std::int64_t part = 0; part < parts; ++part)
        for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row)
          visit(row, next[static_cast<std::size_t>(part * clusters + labels[row])]);
    };
    for_parts([](std::int64_t, std::int64_t& count) { ++count; });
    std::int64_t start = 0;
    for (std::int64_t cluster = 0; cluster < clusters; ++cluster) {
      for (std::int64_t part = 0; part < parts; ++part)
        start += std::exchange(next[static_cast<std::size_t>(part * clusters + cluster)], start);
      starts_[static_cast<std::size_t>(cluster) + 1] = start;
    }
    for_parts([this](std::int64_t row, std::int64_t& place) { rows_[static_cast<std::size_t>(place++)] = row; });
  }

  std::span<const std::int64_t> rows_of(std::int64_t cluster) const {
    const auto index = static_cast<std::size_t>(cluster);
    return std::span(rows_).subspan(static_cast<std::size_t>(starts_[index]),
                                    static_cast<std::size_t>(starts_[index + 1] - starts_[index]));
  }

  std::vector<Piece> pieces() const {
    std::vector<Piece> pieces;
    for (std::int64_t cluster = 0; cluster + 1 < std::ssize(starts_); ++cluster)
      for (std::span<const std::int64_t> rest = rows_of(cluster); !rest.empty();) {
        const std::size_t count = std::min(rest.size(), static_cast<std::size_t>(rows_of_a_task));
        pieces.push_back({cluster, rest.first(count)});
        rest = rest.subspan(count);
      }
    return pieces;
  }

 private:
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> rows_;
};

/// Calls put(part) for the parts of the raw sum of `times` values in a limb: 0 is the high limb, 2 the low one.
template <class Put>
void put_limb(const core::TotalGrid& grid, int limb, std::uint64_t raw, std::uint64_t times, const Put& put) {
  const std::uint64_t bits = raw - times * static_cast<std::uint64_t>(core::integer_magic_bits);
  const bool negative = static_cast<std::int64_t>(bits) < 0;
  const std::uint64_t magnitude = negative ? 0 - bits : bits;
  const int exponent = grid.least_exponent() + (2 - limb) * grid.grid.bits;
  put(core::Scaled{magnitude & 0xffffffff, exponent, negative});
  put(core::Scaled{magnitude >> 32, exponent + 32, negative});
}

/// Sums the rows of a piece, column by column: most values in three limbs (core::TotalGrid) with vector instructions,
/// values that are too small for the limbs one by one.
template <class Value>
class PieceSums {
 public:
  PieceSums(std::int64_t columns, const core::TotalGrid& grid)
      : columns_(columns), together_(std::max<std::int64_t>(1, few_columns / columns)), grid_(grid),
        to_high_(size(lanes()), grid.grid.to_high), exact_from_(size(lanes()), grid.exact_from),
        limbs_(size(3 * lanes())),
        rows_(std::clamp<std::int64_t>(values_at_once / columns, 1, rows_of_a_task), columns) {}

  /// Calls write(index, row) to get each of the `count` rows, and put(column, number) for each number that is to be
  /// added to a sum. Throws no exceptions.
  template <class Write, class Put>
  void sum(std::int64_t count, const Write& write, const Put& put) {
    std::ranges::fill(limbs_, 0);
    std::uint64_t longer_rows = 0;
    std::uint64_t single_rows = 0;
    for (std::int64_t first = 0; first < count; first += rows_.rows()) {
      const std::int64_t some = std::min(rows_.rows(), count - first);
      for (std::int64_t index = 0; index < some; ++index) write(first + index, rows_.row(index));
      const std::int64_t longer = some / together_;
      add(rows_.row(0), longer, lanes(), put);
      add(rows_.row(longer * together_), some % together_, columns_, put);
      longer_rows += static_cast<std::uint64_t>(longer);
      single_rows += static_cast<std::uint64_t>(some % together_);
    }
    const std::uint64_t times = longer_rows * static_cast<std::uint64_t>(together_) + single_rows;
    for (std::int64_t column = 0; column < columns_; ++column)
      for (int limb = 0; limb < 3; ++limb) {
        std::uint64_t raw = 0;
        for (std::int64_t lane = column; lane < lanes(); lane += columns_) raw += limbs_[size(limb * lanes() + lane)];
        put_limb(grid_, limb, raw, times, [&](core::Scaled part) { put(column, part); });
      }
  }

 private:
  static constexpr std::int64_t few_columns = 32;  // shorter rows are combined, so that they fill vectors
  static constexpr std::int64_t values_at_once = std::int64_t{1} << 14;

  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }
  std::int64_t lanes() const { return together_ * columns_; }

  /// Adds `count` rows with `columns` values each. A row may consist of several rows of the piece.
  template <class Put>
  void add(const Value* rows, std::int64_t count, std::int64_t columns, const Put& put) {
    const ColumnLimbs limbs{columns, to_high_.data(), grid_.grid.to_low, exact_from_.data(), lanes(), limbs_.data()};
    for (std::int64_t row = 0; row < count;) {
      const AddedRows added = add_to_columns(rows + row * columns, columns, count - row, limbs);
      row += added.count;
      for (std::int64_t index = (row - added.doubtful) * columns; index < row * columns; ++index)
        if (!grid_.holds(static_cast<double>(rows[index]))) put(index % columns_, scaled(rows[index]));
    }
  }

  std::int64_t columns_;
  std::int64_t together_;
  core::TotalGrid grid_;
  std::vector<double> to_high_, exact_from_;  ///< one number per lane
  std::vector<std::uint64_t> limbs_;          ///< raw limbs: high, then middle, then low
  Matrix<Value> rows_;
};

}  // namespace

template <class T>
BatchSums<T>::BatchSums(std::int64_t clusters, std::int64_t columns)
    : clusters_(clusters), columns_(columns), counts_(static_cast<std::size_t>(clusters)) {}

template <class T>
WordRange BatchSums<T>::words_of(MatrixView<const T> points, VectorView<const T> weights, int threads) {
  return kmeans_detail::words_of(exponents_of_terms(points, weights, threads));
}

template <class T>
WordRange BatchSums<T>::range_with(WordRange words) const {
  if (words.count == 0) return range_;
  if (range_.count == 0) return words;
  const int first = std::min(range_.first, words.first);
  return {first, std::max(range_.end(), words.end()) - first};
}

template <class T>
std::uint64_t BatchSums<T>::bytes_with(WordRange words) const {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(sums()),
                             static_cast<std::uint64_t>(range_with(words).count) * sizeof(std::int64_t), &bytes))
    return std::numeric_limits<std::uint64_t>::max();
  return bytes;
}

template <class T>
void BatchSums<T>::cover(WordRange words) {
  const WordRange wider = range_with(words);
  if (wider.count == range_.count) return;
  std::vector<std::int64_t> moved(static_cast<std::size_t>(sums() * wider.count));
  for (std::int64_t sum = 0; sum < sums() && range_.count > 0; ++sum)
    std::copy_n(words_.data() + sum * range_.count, range_.count,
                moved.data() + sum * wider.count + range_.first - wider.first);
  words_ = std::move(moved);
  range_ = wider;
  settle();  // the last word may be too large for an inner word, because it has kept its carries
}

template <class T>
void BatchSums<T>::settle() {
  for (std::int64_t sum = 0; sum < sums() && range_.count > 0; ++sum)
    propagate(words_.data() + sum * range_.count, range_.count);
  additions_ = 1;  // after the propagation, a word is as small as after one addition to zero
}

template <class T>
void BatchSums<T>::expect(std::int64_t additions) {
  if (additions_ + additions > most_additions) settle();
  additions_ += additions;
}

template <class T>
void BatchSums<T>::make_weights() {
  if (!weights_.empty()) return;
  std::vector<core::ExactAccumulator> weights(static_cast<std::size_t>(clusters_));
  for (std::size_t cluster = 0; cluster < weights.size(); ++cluster) weights[cluster].add(counts_[cluster], 0);
  weights_ = std::move(weights);
}

template <class T>
void BatchSums<T>::add(MatrixView<const T> points, VectorView<const T> weights, const std::int32_t* labels,
                       int threads) {
  for (; points.rows() > rows_at_once; points = points.slice(rows_at_once, points.rows() - rows_at_once)) {
    const auto some = [](VectorView<const T> all, std::int64_t first, std::int64_t count) {
      return all.empty() ? all : VectorView<const T>(all.data() + first, count);
    };
    add(points.slice(0, rows_at_once), some(weights, 0, rows_at_once), labels, threads);
    weights = some(weights, rows_at_once, points.rows() - rows_at_once);
    labels += rows_at_once;
  }
  // The product of two floats is exact in double. Products of doubles are added word by word.
  using Product = std::conditional_t<sizeof(T) == 4, double, T>;
  const Exponents exponents = exponents_of_terms(points, weights, threads);
  if (weights.empty() && sums() <= most_sums_in_order && points.rows() / threads >= 64 * clusters_)
    return add_in_order(points, labels, threads, exponents.empty() ? 0 : exponents.high,
                        kmeans_detail::words_of(exponents));
  const RowsByLabel by_label(labels, points.rows(), clusters_, threads);
  const std::vector<Piece> pieces = by_label.pieces();
  cover(kmeans_detail::words_of(exponents));
  if (!weights.empty()) make_weights();
  const core::TotalGrid grid(exponents.empty() ? 0 : exponents.high, rows_of_a_task);
  std::vector<PieceSums<T>> plain;
  std::vector<PieceSums<Product>> weighted;
  for (int part = 0; part < threads; ++part)
    if (weights.empty()) plain.emplace_back(columns_, grid);
    else weighted.emplace_back(columns_, grid);
  expect(8 * points.rows());
  // The statements below throw no exceptions.
  const auto sum_piece = [&](const Piece& piece, std::size_t part) {
    const auto put = [&](std::int64_t column, core::Scaled value) { this->put(piece.cluster, column, value); };
    // Returns the number of a row. The rows of a piece are far apart, so the row after the next few is fetched early.
    const auto row_of = [&](std::int64_t index) {
      constexpr std::int64_t ahead = 8;
      __builtin_prefetch(
          points.row(piece.rows[static_cast<std::size_t>(std::min(index + ahead, std::ssize(piece.rows) - 1))]));
      return piece.rows[static_cast<std::size_t>(index)];
    };
    if (weights.empty())
      return plain[part].sum(
          std::ssize(piece.rows),
          [&](std::int64_t index, T* row) { std::copy_n(points.row(row_of(index)), columns_, row); }, put);
    if constexpr (sizeof(T) == 4)
      return weighted[part].sum(
          std::ssize(piece.rows),
          [&](std::int64_t index, Product* row) {
            const auto weight = static_cast<Product>(weights[row_of(index)]);
            const T* const coordinates = points.row(row_of(index));
            for (std::int64_t column = 0; column < columns_; ++column) row[column] = weight * coordinates[column];
          },
          put);
    for (const std::int64_t row : piece.rows)
      for (std::int64_t column = 0; column < columns_; ++column)
        put_product(scaled(points(row, column)), scaled(weights[row]),
                    [&](core::Scaled part_of_product) { put(column, part_of_product); });
  };
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (int part = 0; part < threads; ++part)
      for (auto index = static_cast<std::size_t>(part); index < pieces.size();
           index += static_cast<std::size_t>(threads))
        if (!exponents.empty()) sum_piece(pieces[index], static_cast<std::size_t>(part));
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t cluster = 0; cluster < clusters_; ++cluster) {
      const std::span<const std::int64_t> rows = by_label.rows_of(cluster);
      counts_[static_cast<std::size_t>(cluster)] += std::ssize(rows);
      if (weights_.empty()) continue;
      core::ExactAccumulator& weight = weights_[static_cast<std::size_t>(cluster)];
      if (weights.empty()) weight.add(std::ssize(rows), 0);
      else
        for (const std::int64_t row : rows) weight.add(static_cast<double>(weights[row]));
    }
  }
}

template <class T>
void BatchSums<T>::put(std::int64_t cluster, std::int64_t column, core::Scaled value) {
  std::int64_t* const sum = words(cluster) + column * range_.count;
  core::for_each_limb(value, [&](int word, std::int64_t addend) {
#pragma omp atomic
    sum[word - range_.first] += addend;
  });
}

template <class T>
void BatchSums<T>::add_in_order(MatrixView<const T> points, const std::int32_t* labels, int threads, int exponent,
                                WordRange words) {
  constexpr std::int64_t rows_of_limbs = std::int64_t{1} << 16;
  const core::TotalGrid grid(exponent, rows_of_limbs);
  const std::vector<double> to_high(static_cast<std::size_t>(columns_), grid.grid.to_high);
  const std::vector<double> exact_from(static_cast<std::size_t>(columns_), grid.exact_from);
  const auto of_a_part = static_cast<std::size_t>(3 * sums());
  std::vector<std::uint64_t> limbs(of_a_part * static_cast<std::size_t>(threads));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(clusters_ * threads));
  const std::vector<std::int64_t> counts_before = counts_;
  cover(words);
  expect(8 * points.rows());
  // The statements below throw no exceptions.
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < threads; ++part) {
    const std::int64_t end = points.rows() * (part + 1) / threads;
    std::uint64_t* const own = limbs.data() + static_cast<std::size_t>(part) * of_a_part;
    std::int64_t* const own_counts = counts.data() + part * clusters_;
    const ColumnLimbs columns{columns_, to_high.data(), grid.grid.to_low, exact_from.data(), columns_, own};
    for (std::int64_t first = points.rows() * part / threads; first < end; first += rows_of_limbs) {
      const std::int64_t count = std::min(rows_of_limbs, end - first);
      std::fill_n(own, of_a_part, 0);
      std::fill_n(own_counts, clusters_, 0);
      for (std::int64_t row = first; row < first + count; ++row) ++own_counts[labels[row]];
      for (std::int64_t row = first; row < first + count;) {
        const AddedRows added =
            add_to_clusters(points.row(row), points.row_stride(), first + count - row, labels + row, columns);
        row += added.count;
        for (std::int64_t column = 0; column < columns_ && added.doubtful > 0; ++column)
          if (const T value = points(row - 1, column); !grid.holds(static_cast<double>(value)))
            put(labels[row - 1], column, scaled(value));
      }
      for (std::int64_t cluster = 0; cluster < clusters_; ++cluster) {
        const std::int64_t times = own_counts[cluster];
        for (std::int64_t column = 0; column < columns_ && times > 0; ++column)
          for (int limb = 0; limb < 3; ++limb)
            put_limb(grid, limb, own[(3 * cluster + limb) * columns_ + column], static_cast<std::uint64_t>(times),
                     [&](core::Scaled value) { put(cluster, column, value); });
#pragma omp atomic
        counts_[static_cast<std::size_t>(cluster)] += times;
      }
    }
  }
  for (std::size_t cluster = 0; cluster < weights_.size(); ++cluster)
    weights_[cluster].add(counts_[cluster] - counts_before[cluster], 0);
}

template <class T>
void BatchSums<T>::merge(const BatchSums& other) {
  if (!other.weights_.empty()) make_weights();
  cover(other.range_);
  BatchSums settled = other;
  settled.settle();
  expect(2);
  for (std::int64_t sum = 0; sum < sums(); ++sum)
    for (int word = 0; word < settled.range_.count; ++word)
      words_[static_cast<std::size_t>(sum * range_.count + settled.range_.first - range_.first + word)] +=
          settled.words_[static_cast<std::size_t>(sum * settled.range_.count + word)];
  for (std::int64_t cluster = 0; cluster < clusters_; ++cluster) {
    const auto index = static_cast<std::size_t>(cluster);
    if (!weights_.empty()) weights_[index].merge(other.weight_sum(cluster));
    counts_[index] += other.counts_[index];
  }
}

template <class T>
void BatchSums<T>::add_up(core::Ranks& ranks) {
  const std::vector<double> ends = ranks.greatest(3, [&](std::span<double> numbers) {
    numbers[0] = range_.count > 0 ? core::accumulator_limbs - range_.first : 0;
    numbers[1] = range_.count > 0 ? range_.end() : 0;
    numbers[2] = weights_.empty() ? 0 : 1;
  });
  const int first = core::accumulator_limbs - static_cast<int>(ends[0]);
  if (ends[1] > 0) cover({first, static_cast<int>(ends[1]) - first});
  if (ends[2] > 0) make_weights();
  settle();
  const auto replace = [&](std::vector<std::int64_t>& own) {
    const std::vector<std::uint64_t> sums =
        ranks.sum(own.size(), [&](std::span<std::uint64_t> words) { std::ranges::copy(own, words.begin()); });
    std::ranges::copy(sums, own.begin());
  };
  replace(words_);
  replace(counts_);
  ranks.add_up(
      weights_.size() * core::accumulator_limbs, [] {},
      [&](std::span<std::uint64_t> words) { core::Ranks::put(weights_, words); },
      [&](std::span<const std::uint64_t> words) { core::Ranks::take(words, weights_); });
  additions_ = ranks.size();
}

template <class T>
void BatchSums<T>::clear() {
  std::ranges::fill(words_, 0);
  std::ranges::fill(counts_, 0);
  weights_.clear();
  additions_ = 0;
}

template <class T>
void BatchSums<T>::clear(std::int64_t cluster) {
  std::fill_n(words(cluster), columns_ * range_.count, std::int64_t{0});
  counts_[static_cast<std::size_t>(cluster)] = 0;
  if (!weights_.empty()) weights_[static_cast<std::size_t>(cluster)] = {};
}

template <class T>
void BatchSums<T>::save(core::NpzContent& content) const {
  BatchSums settled = *this;
  settled.settle();
  const std::array<std::int64_t, 2> range{settled.range_.first, settled.range_.count};
  content.add<std::int64_t>("range", range);
  content.add<std::int64_t>("words", settled.words_);
  content.add<std::int64_t>("counts", settled.counts_);
  std::vector<std::int64_t> limbs;
  for (core::ExactAccumulator& weight : settled.weights_)
    limbs.insert(limbs.end(), weight.propagated_limbs().begin(), weight.propagated_limbs().end());
  content.add<std::int64_t>("weights", limbs);
}

template <class T>
BatchSums<T> BatchSums<T>::restore(const core::NpzArrays& arrays, std::int64_t clusters, std::int64_t columns) {
  BatchSums sums(clusters, columns);
  const std::vector<std::int64_t> range = arrays.get<std::int64_t>("range");
  const std::vector<std::int64_t> limbs = arrays.get<std::int64_t>("weights");
  sums.words_ = arrays.get<std::int64_t>("words");
  sums.counts_ = arrays.get<std::int64_t>("counts");
  constexpr std::int64_t words = core::accumulator_limbs;
  const bool fits = range.size() == 2 && range[0] >= 0 && range[1] >= 0 && range[0] <= words &&
                    range[1] <= words - range[0] && std::ssize(sums.counts_) == clusters &&
                    std::ssize(sums.words_) == clusters * columns * range[1] &&
                    (limbs.empty() || std::ssize(limbs) == clusters * words);
  if (!fits || std::ranges::any_of(sums.counts_, [](std::int64_t count) { return count < 0; }) ||
      !is_propagated(sums.words_, range[1]) || !is_propagated(limbs, words))
    throw InputError(about("saved") + "these are no sums of " + std::to_string(clusters) + " x " +
                     std::to_string(columns) + " coordinates, as KMeansBatches saves them");
  sums.range_ = {static_cast<int>(range[0]), static_cast<int>(range[1])};
  sums.additions_ = 1;
  for (auto rest = std::span(limbs); !rest.empty(); rest = rest.subspan(core::accumulator_limbs))
    sums.weights_.emplace_back().merge(rest.first(core::accumulator_limbs));
  return sums;
}

template <class T>
core::ExactAccumulator BatchSums<T>::weight_sum(std::int64_t cluster) const {
  if (!weights_.empty()) return weights_[static_cast<std::size_t>(cluster)];
  core::ExactAccumulator weight;
  weight.add(counts_[static_cast<std::size_t>(cluster)], 0);
  return weight;
}

template <class T>
double BatchSums<T>::weight(std::int64_t cluster) const {
  return weight_sum(cluster).template round<double>();
}

template <class T>
bool BatchSums<T>::has_weight(std::int64_t cluster) const {
  if (weights_.empty()) return counts_[static_cast<std::size_t>(cluster)] > 0;
  return weights_[static_cast<std::size_t>(cluster)].sign() > 0;
}

template <class T>
void BatchSums<T>::mean(std::int64_t cluster, T* out) const {
  core::ExactAccumulator weight = weight_sum(cluster);
  const std::optional<FixedPoint> divisor = fixed_point(weight.propagated_limbs(), 0);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(range_.count));
  for (std::int64_t column = 0; column < columns_; ++column) {
    std::copy_n(words(cluster) + column * range_.count, range_.count, sum.data());
    if (range_.count > 0) propagate(sum.data(), range_.count);
    const std::optional<FixedPoint> dividend = fixed_point(sum, range_.first);
    if (dividend && divisor) {
      out[column] = core::round_quotient<T>(dividend->integer, static_cast<core::UInt128>(divisor->integer),
                                            dividend->exponent - divisor->exponent);
      continue;
    }
    std::array<std::int64_t, core::accumulator_limbs> limbs{};
    std::ranges::copy(sum, limbs.begin() + range_.first);
    core::ExactAccumulator exact;
    exact.merge(limbs);
    out[column] = exact.template quotient<T>(weight);
  }
}

template class BatchSums<float>;
template class BatchSums<double>;

}  // namespace gradus::kmeans_detail
