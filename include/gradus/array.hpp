/// Arrays and views. A view refers to memory that another object owns. It records whether this memory is host memory or
/// the memory of a GPU. A Matrix owns host memory.
///
/// Views perform no checks. Every library function checks its views before it reads elements, and throws UsageError for
/// a malformed view: a null pointer to elements, negative sizes, overlapping rows, a misaligned address, or a size in
/// bytes beyond 64 bits.
///
/// A function that reads a matrix accepts every type for which view_of() exists: Matrix, MatrixView of T or const T,
/// contiguous ranges of rows (std::vector<std::array<float, 3>>, a std::span of such rows, float[n][3]), and
/// std::mdspan if the standard library has it. A MatrixView converts from the same types, and a VectorView from any
/// contiguous range of elements.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <version>

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include "gradus/error.hpp"
#include "gradus/export.hpp"

namespace gradus {

/// The location of the elements of a view: host memory or a GPU.
struct MemoryPlace {
  enum class Kind : std::uint8_t { host, gpu };
  Kind kind = Kind::host;
  int gpu = 0;  ///< GPU index if kind is gpu

  static constexpr MemoryPlace host() { return {}; }
  static constexpr MemoryPlace on_gpu(int index) { return {Kind::gpu, index}; }
  constexpr bool is_host() const { return kind == Kind::host; }
  friend constexpr bool operator==(MemoryPlace, MemoryPlace) = default;
};

namespace detail {
/// The properties of a view. check_view() checks them.
struct ViewFacts {
  const void* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  MemoryPlace place;
  std::size_t element_bytes;
  std::size_t alignment;
};
/// Throws UsageError for a malformed view. The message begins with `what`. Reads no element.
GRADUS_EXPORT void check_view(const ViewFacts& view, const char* what);
}  // namespace detail

template <class T>
class VectorView;
template <class T>
class MatrixView;
template <class T>
class Matrix;

namespace detail {

template <class>
inline constexpr bool is_vector_view = false;
template <class T>
inline constexpr bool is_vector_view<VectorView<T>> = true;
template <class>
inline constexpr bool is_matrix_view = false;
template <class T>
inline constexpr bool is_matrix_view<MatrixView<T>> = true;

/// A contiguous range of host memory. Its elements remain valid after the full expression that makes a view of the
/// range. A VectorView does not qualify, because it may refer to GPU memory.
template <class Range>
concept Lasting = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::ranges::borrowed_range<Range> && !is_vector_view<std::remove_cvref_t<Range>>;
template <class Range>
using ElementIn = std::remove_reference_t<std::ranges::range_reference_t<Range>>;

/// A row type that fixes the number of columns.
template <class Row>
struct FixedRow;
template <class T, std::size_t Columns>
struct FixedRow<std::array<T, Columns>> {
  using Element = T;
  static constexpr std::size_t columns = Columns;
};
template <class T, std::size_t Columns>
struct FixedRow<const std::array<T, Columns>> : FixedRow<std::array<const T, Columns>> {};
template <class T, std::size_t Columns>
struct FixedRow<T[Columns]> : FixedRow<std::array<T, Columns>> {};

template <class Range>
concept LastingRows = Lasting<Range> && requires {
  typename FixedRow<ElementIn<Range>>::Element;
} && std::is_arithmetic_v<typename FixedRow<ElementIn<Range>>::Element> &&
    sizeof(ElementIn<Range>) == FixedRow<ElementIn<Range>>::columns *
                                    sizeof(typename FixedRow<ElementIn<Range>>::Element);

}  // namespace detail

// view_of() converts its argument to a matrix view. It rejects temporary objects that own their elements.

template <class T>
constexpr MatrixView<T> view_of(MatrixView<T> view);
template <class T>
MatrixView<T> view_of(Matrix<T>& matrix);
template <class T>
MatrixView<const T> view_of(const Matrix<T>& matrix);
template <class T>
void view_of(const Matrix<T>&& matrix) = delete;
/// Returns a view of a contiguous range of rows. Each row is an array.
template <detail::LastingRows Range>
auto view_of(Range&& rows) -> MatrixView<typename detail::FixedRow<detail::ElementIn<Range>>::Element>;
#ifdef __cpp_lib_mdspan
/// Returns a view of a std::mdspan. Throws UsageError unless the elements of each row are contiguous: layout_right, or
/// layout_stride with a last stride of 1.
template <class T, class Extents, class Layout>
  requires(Extents::rank() == 2 && std::is_arithmetic_v<T> && std::mdspan<T, Extents, Layout>::is_always_strided())
MatrixView<T> view_of(std::mdspan<T, Extents, Layout> matrix);
#endif

/// The element type of view_of(source), without const.
template <class Source>
using ElementOf = std::remove_cvref_t<decltype(*view_of(std::declval<const Source&>()).data())>;

/// A type that view_of() accepts and whose element type is one of the types T.
template <class Source, class... T>
concept RowsOf = (std::same_as<ElementOf<Source>, T> || ...);

/// A view of `size` contiguous elements.
template <class T>
class VectorView {
 public:
  constexpr VectorView() = default;
  constexpr VectorView(T* data, std::int64_t size, MemoryPlace place = {}) : data_(data), size_(size), place_(place) {}
  template <class U>
    requires(std::is_same_v<T, const U>)
  constexpr VectorView(VectorView<U> other) : VectorView(other.data(), other.size(), other.place()) {}
  /// Converts from std::vector, std::span, std::array, Buffer and other contiguous ranges. Rejects temporary objects
  /// that own their elements.
  template <detail::Lasting Range>
    requires(std::is_same_v<T, detail::ElementIn<Range>> || std::is_same_v<T, const detail::ElementIn<Range>>)
  // The constraint excludes views: for views, the copy and move constructors are used.
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
  constexpr VectorView(Range&& elements)
      : VectorView(std::ranges::data(elements), static_cast<std::int64_t>(std::ranges::size(elements))) {}

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

/// A view of a row-major matrix. The elements of a row are contiguous; consecutive rows begin `row_stride` elements
/// apart.
template <class T>
class MatrixView {
 public:
  constexpr MatrixView() = default;
  constexpr MatrixView(T* data, std::int64_t rows, std::int64_t columns, MemoryPlace place = {})
      : MatrixView(data, rows, columns, columns, place) {}
  constexpr MatrixView(T* data, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                       MemoryPlace place = {})
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride), place_(place) {}
  template <class U>
    requires(std::is_same_v<T, const U>)
  constexpr MatrixView(MatrixView<U> other)
      : MatrixView(other.data(), other.rows(), other.columns(), other.row_stride(), other.place()) {}
  /// Converts from every type that view_of() accepts.
  template <class Source>
    requires(!detail::is_matrix_view<std::remove_cvref_t<Source>> && requires(Source && source) {
      { view_of(std::forward<Source>(source)) } -> std::convertible_to<MatrixView>;
    })
  // The constraint excludes views: for views, the copy and move constructors are used.
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
  constexpr MatrixView(Source&& source) : MatrixView(view_of(std::forward<Source>(source))) {}

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

/// Owns uninitialised host memory for `size` elements. Blocks of at least 4 MiB are aligned to a huge page (2 MiB),
/// blocks of at least 64 KiB to a page (4 KiB), and smaller blocks to a cache line (64 B). On a NUMA machine,
/// uninitialised memory lets the system place each page on the node of the thread that first writes to it. Throws
/// OutOfMemoryError if the size overflows or the allocation fails.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::int64_t size) : size_(size) {
    if (size < 0 || static_cast<std::uint64_t>(size) > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T))
      throw OutOfMemoryError("cannot allocate " + std::to_string(size) + " elements: the size is out of range");
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
    const std::size_t alignment = bytes >= 4U << 20 ? 2U << 20 : bytes >= 65536 ? 4096 : 64;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (rounded == 0) return;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, rounded)));
    if (!data_) throw OutOfMemoryError("cannot allocate " + std::to_string(bytes) + " bytes: out of memory");
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

/// An owned, contiguous, row-major matrix in host memory. Its elements are uninitialised (see Buffer).
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t columns)
      : storage_(checked_area(rows, columns)), rows_(rows), columns_(columns) {}
  /// Returns a copy of a matrix in host memory. Throws UsageError for GPU memory.
  static Matrix copy_of(MatrixView<const T> source) {
    detail::check_view(
        {source.data(), source.rows(), source.columns(), source.row_stride(), source.place(), sizeof(T), alignof(T)},
        "copy");
    if (!source.place().is_host()) throw UsageError("copy: the elements are not in host memory");
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
      throw OutOfMemoryError("a matrix of " + std::to_string(rows) + " x " + std::to_string(columns) +
                             " is out of range");
    return area;
  }
  Buffer<T> storage_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

template <class T>
constexpr MatrixView<T> view_of(MatrixView<T> view) {
  return view;
}

template <class T>
MatrixView<T> view_of(Matrix<T>& matrix) {
  return matrix.view();
}

template <class T>
MatrixView<const T> view_of(const Matrix<T>& matrix) {
  return matrix.view();
}

template <detail::LastingRows Range>
auto view_of(Range&& rows) -> MatrixView<typename detail::FixedRow<detail::ElementIn<Range>>::Element> {
  using Row = detail::FixedRow<detail::ElementIn<Range>>;
  // Takes the address of the range instead of its first row, because an empty range has no first row.
  return {reinterpret_cast<typename Row::Element*>(std::ranges::data(rows)),
          static_cast<std::int64_t>(std::ranges::size(rows)), static_cast<std::int64_t>(Row::columns)};
}

#ifdef __cpp_lib_mdspan
template <class T, class Extents, class Layout>
  requires(Extents::rank() == 2 && std::is_arithmetic_v<T> && std::mdspan<T, Extents, Layout>::is_always_strided())
MatrixView<T> view_of(std::mdspan<T, Extents, Layout> matrix) {
  const auto rows = static_cast<std::int64_t>(matrix.extent(0));
  const auto columns = static_cast<std::int64_t>(matrix.extent(1));
  if (rows > 0 && columns > 1 && matrix.stride(1) != 1)
    throw UsageError("mdspan: the elements of a row are " + std::to_string(matrix.stride(1)) +
                     " apart; they must be contiguous, as with std::layout_right");
  const bool has_next_row = rows > 1 && columns > 0;
  return {matrix.data_handle(), rows, columns, has_next_row ? static_cast<std::int64_t>(matrix.stride(0)) : columns};
}
#endif

}  // namespace gradus
