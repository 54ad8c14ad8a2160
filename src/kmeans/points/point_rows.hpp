// Rows of points in host memory, in the type of the job or in the type in which they are stored. Stored rows are
// widened where they are read, to memory of the reader (`room`). This is the only place that knows of both kinds of
// rows.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>

#include "cpu/threads.hpp"
#include "cpu/widen.hpp"
#include "gradus/array.hpp"
#include "gradus/stored_matrix.hpp"

namespace gradus::kmeans_detail {

template <class T>
class PointRows {
 public:
  PointRows() = default;
  PointRows(MatrixView<const T> rows) : shape_(rows) {}
  PointRows(const StoredMatrixView& stored)
      : shape_(nullptr, stored.rows(), stored.columns(), stored.place()), stored_(stored) {
    static_assert(sizeof(T) == sizeof(float));
  }

  /// Returns the rows if they are in the type of the job. Otherwise, the view has only their shape, and no address.
  const MatrixView<const T>& shape() const { return shape_; }
  const StoredMatrixView& stored() const { return stored_; }
  std::int64_t rows() const { return shape_.rows(); }
  std::int64_t columns() const { return shape_.columns(); }
  MemoryPlace place() const { return shape_.place(); }
  /// Returns the address of the first row, in whichever type.
  const void* data() const { return is_stored() ? stored_.data() : static_cast<const void*>(shape_.data()); }
  bool is_stored() const {
    if constexpr (sizeof(T) == sizeof(float)) return stored_.data() != nullptr;
    else return false;
  }

  PointRows slice(std::int64_t first, std::int64_t count) const {
    if constexpr (sizeof(T) == sizeof(float))
      if (is_stored()) return stored_.slice(first, count);
    return shape_.slice(first, count);
  }

  /// Returns the number of elements that `count` rows need in the room of a reader: 0 if rows are read in place.
  std::int64_t room(std::int64_t count) const { return is_stored() ? count * columns() : 0; }
  /// Returns the address of a row. A stored row is widened to the place `place` of `room`.
  const T* row(std::int64_t number, T* room, std::int64_t place = 0) const {
    if (!is_stored()) return shape_.row(number);
    T* const to = room + place * columns();
    copy(number, 1, to);
    return to;
  }
  /// Returns consecutive rows. Stored rows are widened to `room`.
  MatrixView<const T> block(std::int64_t first, std::int64_t count, T* room) const {
    if (!is_stored()) return shape_.slice(first, count);
    copy(first, count, room);
    return {room, count, columns()};
  }
  /// Copies consecutive rows to `to`, without gaps.
  void copy(std::int64_t first, std::int64_t count, T* to) const {
    const auto each = [&](std::int64_t lines, std::int64_t length) {
      for (std::int64_t line = first; line < first + lines; ++line, to += length) {
        if constexpr (sizeof(T) == sizeof(float))
          if (is_stored()) {
            cpu::widen(stored_.type(), stored_.row(line), length, to);
            continue;
          }
        std::copy_n(shape_.row(line), length, to);
      }
    };
    const std::int64_t stride = is_stored() ? stored_.row_stride() : shape_.row_stride();
    if (stride == columns()) each(std::min<std::int64_t>(count, 1), count * columns());
    else each(count, columns());
  }

 private:
  MatrixView<const T> shape_;
  StoredMatrixView stored_;
};

/// Returns the stored rows if there are any, otherwise `rows`.
template <class T>
PointRows<T> source_rows(MatrixView<const T> rows, [[maybe_unused]] const StoredMatrixView& stored) {
  if constexpr (sizeof(T) == sizeof(float))
    if (stored.data() != nullptr) return stored;
  return rows;
}

inline constexpr std::int64_t block_points = 1024;  ///< number of points per block in the vectorised variants

/// The number of values of a block of widened rows. The block fits in the second-level cache.
inline constexpr std::int64_t cached_values = std::int64_t{1} << 16;

/// The rows of one block of at most block_points points. Each stored row is widened once, before its first use.
template <class T>
class BlockRows {
 public:
  BlockRows(const PointRows<T>& points, std::int64_t most_rows) : points_(points), room_(points.room(most_rows)) {}

  /// Reduces a number of rows per block, which is a power of two, so that widened rows stay in the cache.
  static std::int64_t cached_rows(const PointRows<T>& points, std::int64_t rows) {
    while (points.is_stored() && rows > 64 && rows * points.columns() > cached_values) rows /= 2;
    return rows;
  }

  void begin(cpu::Range block) {
    range_ = block;
    all_ = false;
    widened_.reset();
  }
  cpu::Range range() const { return range_; }
  std::int64_t size() const { return range_.size(); }

  /// Returns the rows of the block.
  MatrixView<const T> all() {
    if (!points_.is_stored()) return view();
    if (!all_) points_.copy(range_.begin, size(), room_.data());
    all_ = true;
    return view();
  }
  /// Returns the rows of the block. Only the rows with the given indices, and of earlier calls, can be read.
  MatrixView<const T> some(const std::int32_t* indices, std::int64_t count) {
    if (points_.is_stored() && !all_)
      for (std::int64_t step = 0; step < count; ++step) widen(indices[step]);
    return view();
  }
  const T* row(std::int64_t index) {
    if (points_.is_stored() && !all_) widen(index);
    return view().row(index);
  }

 private:
  MatrixView<const T> view() const {
    return points_.is_stored() ? MatrixView<const T>(room_.data(), size(), points_.columns())
                               : points_.shape().slice(range_.begin, size());
  }
  void widen(std::int64_t index) {
    const auto bit = static_cast<std::size_t>(index);
    if (widened_[bit]) return;
    widened_[bit] = true;
    points_.copy(range_.begin + index, 1, room_.data() + index * points_.columns());
  }

  PointRows<T> points_;
  Buffer<T> room_;
  cpu::Range range_{0, 0};
  bool all_ = false;
  std::bitset<block_points> widened_;
};

}  // namespace gradus::kmeans_detail
