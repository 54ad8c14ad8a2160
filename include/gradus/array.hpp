/// Arrays and views. A view names memory that someone else owns and carries where that memory lives;
/// a Matrix owns host memory. A view itself checks nothing. Every function of the library that takes views checks them
/// before it reads anything, and throws UsageError for an impossible one: a null pointer to elements, negative sizes,
/// rows that begin less than a row apart, a misaligned address, sizes whose bytes overflow 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "gradus/error.hpp"
#include "gradus/export.hpp"

namespace gradus {

/// Where the memory behind a view lives.
struct MemoryPlace {
  enum class Kind : std::uint8_t { host, gpu };
  Kind kind = Kind::host;
  int gpu = 0;  ///< which GPU, when kind is gpu

  static constexpr MemoryPlace host() { return {}; }
  static constexpr MemoryPlace on_gpu(int index) { return {Kind::gpu, index}; }
  constexpr bool is_host() const { return kind == Kind::host; }
  friend constexpr bool operator==(MemoryPlace, MemoryPlace) = default;
};

namespace detail {
/// What a view claims, for check_view().
struct ViewFacts {
  const void* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  MemoryPlace place;
  std::size_t element_bytes;
  std::size_t alignment;
};
/// Throws UsageError, its message beginning with `what`, for an impossible view. Reads no element.
GRADUS_EXPORT void check_view(const ViewFacts& view, const char* what);
}  // namespace detail

/// A view of `size` contiguous elements.
template <class T>
class VectorView {
 public:
  constexpr VectorView() = default;
  constexpr VectorView(T* data, std::int64_t size, MemoryPlace place = {}) : data_(data), size_(size), place_(place) {}
  /// A view of T converts to a view of const T.
  template <class U>
    requires(std::is_same_v<T, const U>)
  constexpr VectorView(VectorView<U> other) : VectorView(other.data(), other.size(), other.place()) {}

  constexpr T* data() const { return data_; }
  constexpr std::int64_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr MemoryPlace place() const { return place_; }
  constexpr T& operator[](std::int64_t index) const { return data_[index]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  MemoryPlace place_;
};

/// A view of a row-major matrix. The elements of a row are contiguous; the rows begin `row_stride` elements apart.
template <class T>
class MatrixView {
 public:
  constexpr MatrixView() = default;
  constexpr MatrixView(T* data, std::int64_t rows, std::int64_t columns, MemoryPlace place = {})
      : MatrixView(data, rows, columns, columns, place) {}
  constexpr MatrixView(T* data, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                       MemoryPlace place = {})
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride), place_(place) {}
  /// A view of T converts to a view of const T.
  template <class U>
    requires(std::is_same_v<T, const U>)
  constexpr MatrixView(MatrixView<U> other)
      : MatrixView(other.data(), other.rows(), other.columns(), other.row_stride(), other.place()) {}

  constexpr T* data() const { return data_; }
  constexpr std::int64_t rows() const { return rows_; }
  constexpr std::int64_t columns() const { return columns_; }
  constexpr std::int64_t row_stride() const { return row_stride_; }
  constexpr MemoryPlace place() const { return place_; }
  constexpr bool contiguous() const { return row_stride_ == columns_; }
  constexpr T* row(std::int64_t index) const { return data_ + index * row_stride_; }
  constexpr T& operator()(std::int64_t row, std::int64_t column) const { return data_[row * row_stride_ + column]; }
  constexpr MatrixView slice(std::int64_t first_row, std::int64_t count) const {
    return {row(first_row), count, columns_, row_stride_, place_};
  }

 private:
  T* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t row_stride_ = 0;
  MemoryPlace place_;
};

namespace detail {
struct FreeDeleter {
  void operator()(void* pointer) const noexcept { std::free(pointer); }
};
}  // namespace detail

/// Owned host memory for `size` elements, aligned to a page when large and to a cache line otherwise, and
/// deliberately left uninitialised: on a machine with several memory nodes a page belongs to the thread that
/// writes it first. Throws gradus::Error when the size overflows or the allocation fails.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::int64_t size) : size_(size) {
    if (size < 0 || static_cast<std::uint64_t>(size) > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T))
      throw Error("cannot allocate " + std::to_string(size) + " elements: the size is out of range");
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
    const std::size_t alignment = bytes >= 65536 ? 4096 : 64;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (rounded == 0) return;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, rounded)));
    if (!data_) throw Error("cannot allocate " + std::to_string(bytes) + " bytes: out of memory");
  }
  Buffer(std::int64_t size, T value) : Buffer(size) {
    for (std::int64_t index = 0; index < size; ++index) data_.get()[index] = value;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  T& operator[](std::int64_t index) { return data_.get()[index]; }
  const T& operator[](std::int64_t index) const { return data_.get()[index]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  VectorView<T> view() { return {data(), size_}; }
  VectorView<const T> view() const { return {data(), size_}; }

 private:
  std::unique_ptr<T, detail::FreeDeleter> data_;
  std::int64_t size_ = 0;
};

/// An owned, contiguous, row-major host matrix; its elements are uninitialised at first (see Buffer).
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t columns)
      : storage_(checked_area(rows, columns)), rows_(rows), columns_(columns) {}
  /// A copy of host memory. UsageError for other memory.
  static Matrix copy_of(MatrixView<const T> source) {
    detail::check_view(
        {source.data(), source.rows(), source.columns(), source.row_stride(), source.place(), sizeof(T), alignof(T)},
        "copy");
    if (!source.place().is_host()) throw UsageError("copy: the elements do not lie in host memory");
    Matrix copy(source.rows(), source.columns());
    for (std::int64_t row = 0; row < source.rows(); ++row)
      for (std::int64_t column = 0; column < source.columns(); ++column) copy(row, column) = source(row, column);
    return copy;
  }

  T* data() { return storage_.data(); }
  const T* data() const { return storage_.data(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  T* row(std::int64_t index) { return data() + index * columns_; }
  const T* row(std::int64_t index) const { return data() + index * columns_; }
  T& operator()(std::int64_t row, std::int64_t column) { return data()[row * columns_ + column]; }
  const T& operator()(std::int64_t row, std::int64_t column) const { return data()[row * columns_ + column]; }
  MatrixView<T> view() { return {data(), rows_, columns_}; }
  MatrixView<const T> view() const { return {data(), rows_, columns_}; }

 private:
  static std::int64_t checked_area(std::int64_t rows, std::int64_t columns) {
    std::int64_t area = 0;
    if (rows < 0 || columns < 0 || __builtin_mul_overflow(rows, columns, &area))
      throw Error("a matrix of " + std::to_string(rows) + " x " + std::to_string(columns) + " is out of range");
    return area;
  }
  Buffer<T> storage_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

}  // namespace gradus
