#include "core/generate.hpp"

#include <algorithm>

#include "core/philox.hpp"
#include "core/startable.hpp"
#include "core/stop.hpp"

namespace gradus::core {

namespace {

constexpr std::string_view while_generating = "stopped while generating points";

// Each random stream serves a different purpose. All streams are derived from one seed.
constexpr std::uint64_t coordinate_stream = 0;
constexpr std::uint64_t centre_stream = 1;
constexpr std::uint64_t member_stream = 2;

/// Returns an approximately normal number: the sum of eight uniform numbers, scaled to variance 1. Its magnitude is at
/// most 4.9. This sum has the same bits everywhere, whereas logarithms and cosines differ between C libraries.
double bell(const Philox& random, std::uint64_t index) {
  std::int64_t sum = 0;
  for (const std::uint64_t half : {2 * index, 2 * index + 1})
    for (const std::uint32_t word : random.block(half)) sum += word;
  constexpr std::int64_t mean = 4 * ((std::int64_t{1} << 32) - 1);
  constexpr double root_of_three_halves = 1.224744871391589;  // the variance of the sum is 8 / 12
  return static_cast<double>(sum - mean) * (root_of_three_halves * 0x1p-32);
}

double between(double low, double high, double fraction) { return low + (high - low) * fraction; }

template <class T>
class RowMaker {
 public:
  RowMaker(const PointSpecification& specification, std::int64_t columns)
      : specification_(specification), columns_(columns) {}

  void make(std::int64_t row, T* target) const {
    switch (specification_.kind) {
      case Generator::uniform: return uniform(row, target);
      case Generator::blobs: return blob(row, target);
      case Generator::lab_points: return lab(row, target);
      case Generator::lab_atoms: return;  // lab_atoms() generates all coordinates as one sequence
    }
  }

 private:
  std::uint64_t index(std::int64_t row, std::int64_t column) const {
    return static_cast<std::uint64_t>(row) * static_cast<std::uint64_t>(columns_) + static_cast<std::uint64_t>(column);
  }

  void uniform(std::int64_t row, T* target) const {
    for (std::int64_t column = 0; column < columns_; ++column)
      target[column] =
          static_cast<T>(between(specification_.low, specification_.high, coordinates_.uniform(index(row, column))));
  }

  void blob(std::int64_t row, T* target) const {
    const auto cluster = static_cast<std::int64_t>(
        members_.below(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(specification_.clusters)));
    for (std::int64_t column = 0; column < columns_; ++column) {
      const double centre = between(specification_.low, specification_.high, centres_.uniform(index(cluster, column)));
      target[column] = static_cast<T>(centre + specification_.spread * bell(coordinates_, index(row, column)));
    }
  }

  // Computes a point as the laboratory's code does: seed = i, then rand_r(&seed) / (float)RAND_MAX * 10 for each
  // coordinate. The arithmetic is in float even if T is double.
  void lab(std::int64_t row, T* target) const {
    auto state = static_cast<std::uint32_t>(row);
    for (std::int64_t column = 0; column < columns_; ++column) {
      constexpr auto largest = static_cast<float>(0x7fffffff);
      const float value = static_cast<float>(lab_random(state)) / largest * 10;
      target[column] = static_cast<T>(value);
    }
  }

  const PointSpecification& specification_;
  std::int64_t columns_;
  Philox coordinates_{specification_.seed, coordinate_stream};
  Philox centres_{specification_.seed, centre_stream};
  Philox members_{specification_.seed, member_stream};
};

// Computes the coordinates as the published program does: srand(1), then (double)rand() / RAND_MAX * 23000 for each
// coordinate in turn.
template <class T>
void lab_atoms(std::int64_t first_row, MatrixView<T> points, const std::stop_token& stop) {
  LabSequence sequence(1);
  for (std::int64_t skipped = 0; skipped < first_row * points.columns(); ++skipped) {
    if (skipped % operations_between_polls == 0) honour_stop(stop, while_generating);
    sequence.next();
  }
  const std::int64_t chunk = chunk_length(points.rows(), points.columns());
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    if (row % chunk == 0) honour_stop(stop, while_generating);
    for (std::int64_t column = 0; column < points.columns(); ++column)
      points(row, column) = static_cast<T>(static_cast<double>(sequence.next()) / 0x7fffffff * 23000);
  }
}

}  // namespace

std::string_view to_string(Generator kind) {
  switch (kind) {
    case Generator::uniform: return "uniform";
    case Generator::blobs: return "blobs";
    case Generator::lab_points: return "lab-points";
    case Generator::lab_atoms: return "lab-atoms";
  }
  return "?";
}

std::int32_t lab_random(std::uint32_t& state) {
  // Performs three steps of a linear congruential generator. Each step contributes 10 or 11 bits of its state, from bit
  // 16 upwards.
  std::uint32_t result = 0;
  for (const int bits : {11, 10, 10}) {
    state = state * 1103515245u + 12345u;
    result = result << bits | (state >> 16 & ((1u << bits) - 1));
  }
  return static_cast<std::int32_t>(result);
}

LabSequence::LabSequence(std::uint32_t seed) {
  // A multiplicative generator modulo 2^31 - 1, whose seed must not be 0, gives the initial numbers. The arithmetic is
  // signed, so a seed above 2^31 is negative.
  constexpr std::int64_t modulus = 0x7fffffff;
  std::int64_t word = static_cast<std::int32_t>(seed == 0 ? 1 : seed);
  for (std::uint32_t& number : state_) {
    number = static_cast<std::uint32_t>(word);
    word = word * 16807 % modulus;
    if (word < 0) word += modulus;
  }
  oldest_ = separation;  // the C library begins with this element
  for (std::size_t discarded = 0; discarded < 10 * degree; ++discarded) next();
}

std::int32_t LabSequence::next() {
  // x(i) = x(i - 31) + x(i - 3) modulo 2^32. The result omits the lowest bit, which is the least random.
  std::uint32_t& oldest = state_[oldest_];
  oldest += state_[(oldest_ + degree - separation) % degree];
  oldest_ = (oldest_ + 1) % degree;
  return static_cast<std::int32_t>(oldest >> 1);
}

template <class T>
void generate_points(const PointSpecification& specification, std::int64_t first_row, MatrixView<T> points, int threads,
                     const std::stop_token& stop) {
  if (specification.kind == Generator::lab_atoms) return lab_atoms(first_row, points, stop);
  const RowMaker<T> maker(specification, points.columns());
  const std::int64_t chunk = chunk_length(points.rows(), 32 * points.columns(), threads);
  const int team = points.rows() > chunk ? startable_threads(threads) : 1;
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::int64_t first = 0; first < points.rows(); first += chunk) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + chunk, points.rows()); ++row)
      maker.make(first_row + row, points.row(row));
  }
  honour_stop(stop, while_generating);
}

template void generate_points(const PointSpecification&, std::int64_t, MatrixView<float>, int, const std::stop_token&);
template void generate_points(const PointSpecification&, std::int64_t, MatrixView<double>, int, const std::stop_token&);

}  // namespace gradus::core
