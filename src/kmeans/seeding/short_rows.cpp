#include "kmeans/seeding/short_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/seeding/short_rows.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Multiplies four rows by directions in the order [column][direction]. `count` is a multiple of 16.
void project_four(const float* const* rows, std::int64_t columns, const float* directions, std::int64_t count,
                  float* const* out) {
  const hn::CappedTag<float, 8> f;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
  for (std::int64_t first = 0; first < count; first += 2 * lanes) {
    auto a0 = hn::Zero(f), a1 = hn::Zero(f), b0 = hn::Zero(f), b1 = hn::Zero(f);
    auto c0 = hn::Zero(f), c1 = hn::Zero(f), d0 = hn::Zero(f), d1 = hn::Zero(f);
    const float* from = directions + first;
    for (std::int64_t column = 0; column < columns; ++column, from += count) {
      const auto v0 = hn::LoadU(f, from), v1 = hn::LoadU(f, from + lanes);
      const auto a = hn::Set(f, rows[0][column]), b = hn::Set(f, rows[1][column]);
      const auto c = hn::Set(f, rows[2][column]), d = hn::Set(f, rows[3][column]);
      a0 = hn::MulAdd(a, v0, a0), a1 = hn::MulAdd(a, v1, a1);
      b0 = hn::MulAdd(b, v0, b0), b1 = hn::MulAdd(b, v1, b1);
      c0 = hn::MulAdd(c, v0, c0), c1 = hn::MulAdd(c, v1, c1);
      d0 = hn::MulAdd(d, v0, d0), d1 = hn::MulAdd(d, v1, d1);
    }
    hn::StoreU(a0, f, out[0] + first), hn::StoreU(a1, f, out[0] + first + lanes);
    hn::StoreU(b0, f, out[1] + first), hn::StoreU(b1, f, out[1] + first + lanes);
    hn::StoreU(c0, f, out[2] + first), hn::StoreU(c1, f, out[2] + first + lanes);
    hn::StoreU(d0, f, out[3] + first), hn::StoreU(d1, f, out[3] + first + lanes);
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/failure.hpp"
#include "core/stop.hpp"

namespace gradus::kmeans_detail {

HWY_EXPORT(project_four);

namespace {

constexpr std::int64_t together = 32;  // rows between two polls of the stop token
constexpr int iterations = 3;
// If the directions explain less of the squares of a sample, their bounds exclude few candidates.
constexpr double least_share = 0.45;

// Returns the address of a row, or copies the row to `room`.
using RowOf = std::function<const float*(std::int64_t row, float* room)>;

// Multiplies rows by the directions.
void product(std::int64_t rows, std::int64_t columns, const float* directions, std::int64_t count, float* out,
             int threads, const std::stop_token& stop, const RowOf& row_of) {
  core::FirstFailure failure;
#pragma omp parallel num_threads(threads)
  {
    std::vector<float> room, unused;
    failure.run([&] {
      room.resize(static_cast<std::size_t>(4 * columns));
      unused.resize(static_cast<std::size_t>(count));
    });
#pragma omp for schedule(dynamic)
    for (std::int64_t block = 0; block < rows; block += together) {
      if (stop.stop_requested() || failure.happened()) continue;
      const std::int64_t end = std::min(block + together, rows);
      for (std::int64_t row = block; row < end; row += 4) {
        const float* four[4];
        float* to[4];
        for (std::int64_t place = 0; place < 4; ++place) {
          const bool is_row = row + place < end;
          four[place] = is_row ? row_of(row + place, room.data() + place * columns) : four[0];
          to[place] = is_row ? out + (row + place) * count : unused.data();
        }
        HWY_DYNAMIC_DISPATCH(project_four)(four, columns, directions, count, to);
      }
    }
  }
  failure.rethrow();
  core::honour_stop(stop, "the choice of the first centroids");
}

double dot(const float* left, const float* right, std::int64_t length) {
  double sums[4] = {};  // four chains, because an addition takes several cycles
  std::int64_t index = 0;
  for (; index + 4 <= length; index += 4)
    for (std::int64_t place = 0; place < 4; ++place)
      sums[place] += static_cast<double>(left[index + place]) * static_cast<double>(right[index + place]);
  for (; index < length; ++index) sums[0] += static_cast<double>(left[index]) * static_cast<double>(right[index]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Returns the products of all pairs of directions.
std::vector<double> gram(const float* directions, std::int64_t columns, std::int64_t count) {
  std::vector<double> products(static_cast<std::size_t>(count * count));
  for (std::int64_t column = 0; column < columns; ++column) {
    const float* const values = directions + column * count;
    for (std::int64_t left = 0; left < count; ++left)
      for (std::int64_t right = 0; right < count; ++right)
        products[static_cast<std::size_t>(left * count + right)] +=
            static_cast<double>(values[left]) * static_cast<double>(values[right]);
  }
  return products;
}

/// Makes the directions orthonormal, up to rounding, by the Cholesky factor of their products. Clears directions that
/// depend on others.
void orthonormalize(float* directions, std::int64_t columns, std::int64_t count) {
  std::vector<double> factor = gram(directions, columns, count);
  const auto at = [&](std::int64_t row, std::int64_t column) -> double& {
    return factor[static_cast<std::size_t>(row * count + column)];
  };
  std::vector<double> inverse(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < count; ++row) {
    const double before = at(row, row);
    for (std::int64_t column = 0; column <= row; ++column) {
      for (std::int64_t index = 0; index < column; ++index) at(row, column) -= at(row, index) * at(column, index);
      if (column < row) at(row, column) *= inverse[static_cast<std::size_t>(column)];
    }
    const double left = at(row, row);
    inverse[static_cast<std::size_t>(row)] = left > 1e-9 * before ? 1 / std::sqrt(left) : 0;
  }
  std::vector<double> solved(static_cast<std::size_t>(count));
  for (std::int64_t column = 0; column < columns; ++column) {
    float* const values = directions + column * count;
    for (std::int64_t row = 0; row < count; ++row) {
      double value = static_cast<double>(values[row]);
      for (std::int64_t index = 0; index < row; ++index)
        value -= at(row, index) * solved[static_cast<std::size_t>(index)];
      solved[static_cast<std::size_t>(row)] = value * inverse[static_cast<std::size_t>(row)];
      values[row] = static_cast<float>(solved[static_cast<std::size_t>(row)]);
    }
  }
}

}  // namespace

template <class T>
std::int64_t ShortRows<T>::directions_for(std::int64_t columns) {
  return std::clamp<std::int64_t>(columns / 64 * 16, 16, 64);
}

template <class T>
std::uint64_t ShortRows<T>::bytes(std::int64_t rows, std::int64_t columns) {
  if (!pay(rows, columns)) return 0;
  const std::int64_t count = directions_for(columns);
  return ByteRows<float>::bytes(rows, count) + 4 * static_cast<std::uint64_t>(rows * count) +
         8 * static_cast<std::uint64_t>(sample_elements + count * columns);
}

template <class T>
ShortRows<T>::ShortRows(const PointRows<T>& points, const ByteRows<T>& bytes, int threads)
    : columns_(points.columns()), count_(directions_for(points.columns())), threads_(threads), middle_(bytes.middle()),
      scale_(bytes.scale()), directions_(columns_ * count_) {}

template <class T>
std::unique_ptr<ShortRows<T>> ShortRows<T>::make(const PointRows<T>& points, const ByteRows<T>& bytes, int threads,
                                                 const std::stop_token& stop) {
  std::unique_ptr<ShortRows> made(new ShortRows(points, bytes, threads));
  if (!made->find_directions(points, stop)) return nullptr;
  made->project(points, stop);
  return made->longest_ <= 0x1p40 ? std::move(made) : nullptr;
}

template <class T>
void ShortRows<T>::move(const T* row, float* to) const {
  for (std::int64_t dim = 0; dim < columns_; ++dim)
    to[dim] = static_cast<float>((row[dim] - middle_[static_cast<std::size_t>(dim)]) * static_cast<T>(scale_));
}

template <class T>
bool ShortRows<T>::find_directions(const PointRows<T>& points, const std::stop_token& stop) {
  const std::int64_t rows = std::min(points.rows(), std::clamp<std::int64_t>(sample_elements / columns_, 64, 2048));
  Matrix<float> sample(rows, columns_);
  Matrix<float> turned(columns_, rows);
  double squares = 0;
  core::FirstFailure failure;
#pragma omp parallel num_threads(threads_)
  {
    std::vector<T> room;
    failure.run([&] { room.resize(static_cast<std::size_t>(points.room(1))); });
#pragma omp for schedule(static) reduction(+ : squares)
    for (std::int64_t row = 0; row < rows; ++row) {
      if (failure.happened()) continue;
      move(points.row(points.rows() / rows * row, room.data()), sample.row(row));
      squares += dot(sample.row(row), sample.row(row), columns_);
    }
#pragma omp for schedule(static)
    for (std::int64_t dim = 0; dim < columns_; ++dim)
      for (std::int64_t row = 0; row < rows; ++row) turned(dim, row) = sample(row, dim);
  }
  failure.rethrow();
  if (!(squares > 0 && squares < 0x1p80)) return false;
  Matrix<float> products(rows, count_);
  const auto project_sample = [&] {
    product(rows, columns_, directions_.data(), count_, products.data(), threads_, stop,
            [&](std::int64_t row, float*) { return std::as_const(sample).row(row); });
  };
  // Begins with rows of the sample.
  for (std::int64_t dim = 0; dim < columns_; ++dim)
    for (std::int64_t index = 0; index < count_; ++index)
      directions_[dim * count_ + index] = sample(index * rows / count_, dim);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    orthonormalize(directions_.data(), columns_, count_);
    project_sample();
    product(columns_, rows, products.data(), count_, directions_.data(), threads_, stop,
            [&](std::int64_t dim, float*) { return std::as_const(turned).row(dim); });
  }
  for (int pass = 0; pass < 2; ++pass) orthonormalize(directions_.data(), columns_, count_);
  project_sample();
  const double explained = dot(products.data(), products.data(), rows * count_);
  const std::vector<double> pairs = gram(directions_.data(), columns_, count_);
  double most = 0;
  for (std::int64_t row = 0; row < count_; ++row) {
    double sum = 0;
    for (std::int64_t column = 0; column < count_; ++column)
      sum += std::abs(pairs[static_cast<std::size_t>(row * count_ + column)]);
    most = std::max(most, sum);
  }
  norm_ = std::sqrt(most) * (1 + 0x1p-30);
  return short_rows_always ? std::isfinite(norm_) : explained > least_share * squares && norm_ < 2;
}

template <class T>
void ShortRows<T>::project(const PointRows<T>& points, const std::stop_token& stop) {
  Matrix<float> all(points.rows(), count_);
  Buffer<float> squares(points.rows());
  std::vector<std::vector<T>> rooms(static_cast<std::size_t>(threads_));
  for (std::vector<T>& room : rooms) room.resize(static_cast<std::size_t>(points.room(1)));
  product(points.rows(), columns_, directions_.data(), count_, all.data(), threads_, stop,
          [&](std::int64_t row, float* moved) {
            move(points.row(row, rooms[static_cast<std::size_t>(omp_get_thread_num())].data()), moved);
            squares[row] = static_cast<float>(dot(moved, moved, columns_));
            return moved;
          });
  longest_ = std::sqrt(static_cast<double>(*std::max_element(squares.data(), squares.data() + squares.size()))) *
             (1 + 0x1p-20);
  // No column of P P^T has a larger diagonal element than norm_^2.
  const double frobenius = norm_ * std::sqrt(static_cast<double>(count_));
  error_ = 2 * (static_cast<double>(columns_ + 8) * 0x1p-24 * 1.02 * frobenius * longest_ + 0x1p-80);
  rows_ = std::make_unique<ByteRows<float>>(PointRows<float>(std::as_const(all).view()));
  core::FirstFailure failure;
#pragma omp parallel num_threads(threads_)
  {
    std::vector<float> scratch;
    failure.run([&] { scratch.resize(static_cast<std::size_t>(ByteRows<float>::scratch_floats(count_))); });
#pragma omp for schedule(static)
    for (std::int64_t panel = 0; panel < rows_->panels(); ++panel)
      if (!stop.stop_requested() && !failure.happened()) rows_->copy_panel(panel, scratch.data());
  }
  failure.rethrow();
  core::honour_stop(stop, "the choice of the first centroids");
}

template <class T>
void ShortRows<T>::set_limit(std::int64_t row, double distance) {
  if (distance == 0) return rows_->set_limit(row, 0);
  const double scaled = distance * scale_ * scale_ * (1 + 0x1p-30) + 0x1p-100;
  const double needed = (norm_ * std::sqrt(scaled) + error_) * (1 + 0x1p-30);
  rows_->set_limit(row, needed * needed);
}

template <class T>
bool ShortRows<T>::take(std::span<const T* const> candidates) {
  const std::int64_t count = std::ssize(candidates);
  projected_ = Matrix<float>(count, count_);
  std::vector<float> moved(static_cast<std::size_t>(4 * columns_)), unused(static_cast<std::size_t>(count_));
  std::vector<const float*> addresses;
  for (std::int64_t first = 0; first < count; first += 4) {
    const float* four[4];
    float* to[4];
    for (std::int64_t place = 0; place < 4; ++place) {
      const bool is_one = first + place < count;
      float* const row = moved.data() + (is_one ? place : 0) * columns_;
      four[place] = row;
      to[place] = is_one ? projected_.row(first + place) : unused.data();
      if (!is_one) continue;
      move(candidates[static_cast<std::size_t>(first + place)], row);
      if (!(std::sqrt(dot(row, row, columns_)) <= longest_)) return false;
      addresses.push_back(to[place]);
    }
    HWY_DYNAMIC_DISPATCH(project_four)(four, columns_, directions_.data(), count_, to);
  }
  trials_.make(*rows_, std::span<const float* const>(addresses));
  return true;
}

template class ShortRows<float>;
template class ShortRows<double>;

}  // namespace gradus::kmeans_detail
#endif
