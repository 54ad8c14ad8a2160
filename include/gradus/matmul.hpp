/// Matrix multiplication, C = alpha A B + beta C, with a stated bound of its rounding error and, in the accuracy
/// `strict`, the same bits everywhere.
///
/// Canonical result of the accuracy `strict`, in the element type T (float or double) throughout:
///
/// * Block sums: s_b = fma(A(i, l), B(l, j), s_b) from +0, for the indices l of the b-th 256 of k in ascending order.
/// * Total: ((s_0 + s_1) + s_2) + ..., each addition rounded.
/// * C(i, j) = alpha total, rounded, where beta = 0; otherwise fma(beta, C(i, j), alpha total), the product rounded
///   first. alpha and beta are rounded to T before. Where k = 0 or alpha = 0: beta C(i, j), rounded, and +0 where
///   beta = 0.
/// * A NaN is the quiet one with a positive sign and no payload.
///
/// Rounding is to nearest, and denormal numbers count, whatever the calling thread is set to.
///
/// alpha and beta may be NaN or infinite, too, and propagate likewise; where k = 0, alpha is not looked at.
/// Where beta = 0, C is not read; where alpha = 0, A and B are not. NaN and infinity in them are otherwise numbers like
/// all others, and propagate as IEEE 754 says; so does a sum that overflows on its way.
///
/// Error. "Exact" is meant of alpha and beta as rounded to T. Let M = |alpha| |A| |B| + |beta| |C|, u half the distance
/// from 1 to the next T, and eta the least positive T. Where nothing overflows, each element differs from the exact one
/// by at most
///
///   matmul_error_bound() * M + 2 (k + 1) max(|alpha|, 1) eta
///
/// * `strict`: the bound is g / (1 - g), g = (min(k, 256) + ceil(k / 256) + 1) u. It grows by one u for each 256 of k.
/// * `split`, float only: three passes of a GPU's tensor cores, which err less than float would on most matrices. The
///   bound is that of `strict` up to k = 16; from there on that, or the same formula with g = (16 + 3 min(k, 64) +
///   ceil(k / 64) + ceil(k / 128)) u where it is more.
/// * `fast`, float only: one pass, with 11 bits of each factor: likewise, with (1 + 2^-9) g / (1 - g) + 2^-10 + 2^-22.
///
/// Neither is ever chosen unasked. Both are `strict` where there are no tensor cores that serve (they are those of
/// compute capability 9.0), or the product is too small to gain by them.
///
/// Complexity: 2 m n k operations for each product of a batch; O((m + n) min(k, 1024)) elements of memory on a
/// processor, another m n where beta is not 0 or C's elements do not lie side by side, m n k / 256 where m or n is 1.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "gradus/array.hpp"
#include "gradus/error.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/names.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

/// Matrices whose elements may lie apart in both directions, one or a batch of them: element (i, j) of matrix p is
/// data[p * batch_stride + i * row_stride + j * column_stride]. A matrix in Fortran's order has row_stride 1; one
/// repeated has batch_stride 0. Strides of what is read may also be 0 or negative.
template <class T>
class MatmulView {
 public:
  constexpr MatmulView() = default;
  constexpr MatmulView(T* data, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                       std::int64_t column_stride, MemoryPlace place = {})
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride), column_stride_(column_stride),
        place_(place) {}
  /// A view of T converts to a view of const T.
  template <class U>
    requires(std::is_same_v<T, const U>)
  constexpr MatmulView(MatmulView<U> other)
      : MatmulView(other.data(), other.rows(), other.columns(), other.row_stride(), other.column_stride(),
                   other.place()) {
    batches_ = other.batches();
    batch_stride_ = other.batch_stride();
  }
  /// What view_of() of array.hpp makes a view of.
  template <class Source>
    requires requires(Source&& source) {
      { view_of(std::forward<Source>(source)) } -> std::convertible_to<MatrixView<T>>;
    }
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): no MatmulView satisfies the constraint
  constexpr MatmulView(Source&& source) : MatmulView(MatrixView<T>(view_of(std::forward<Source>(source))), 0) {}

  /// The same as the first of `batches` matrices.
  constexpr MatmulView batch(std::int64_t batches, std::int64_t stride) const {
    MatmulView view = *this;
    view.batches_ = batches;
    view.batch_stride_ = stride;
    return view;
  }
  constexpr MatmulView transposed() const {
    MatmulView view = *this;
    std::swap(view.rows_, view.columns_);
    std::swap(view.row_stride_, view.column_stride_);
    return view;
  }

  constexpr T* data() const { return data_; }
  constexpr std::int64_t rows() const { return rows_; }
  constexpr std::int64_t columns() const { return columns_; }
  constexpr std::int64_t row_stride() const { return row_stride_; }
  constexpr std::int64_t column_stride() const { return column_stride_; }
  constexpr std::int64_t batches() const { return batches_; }
  constexpr std::int64_t batch_stride() const { return batch_stride_; }
  constexpr MemoryPlace place() const { return place_; }
  constexpr T& operator()(std::int64_t row, std::int64_t column, std::int64_t matrix = 0) const {
    return data_[matrix * batch_stride_ + row * row_stride_ + column * column_stride_];
  }

 private:
  constexpr MatmulView(MatrixView<T> view, int /*to tell it from the others*/)
      : MatmulView(view.data(), view.rows(), view.columns(), view.row_stride(), 1, view.place()) {}

  T* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t row_stride_ = 0;
  std::int64_t column_stride_ = 0;
  std::int64_t batches_ = 1;
  std::int64_t batch_stride_ = 0;
  MemoryPlace place_;
};

namespace detail {
template <class T>
constexpr MatmulView<T> matmul_view_of(MatmulView<T> view) {
  return view;
}
template <class Source>
auto matmul_view_of(Source&& source) -> MatmulView<std::remove_reference_t<decltype(*view_of(source).data())>> {
  return view_of(std::forward<Source>(source));
}
template <class Source>
using MatmulElement = std::remove_cvref_t<decltype(*matmul_view_of(std::declval<const Source&>()).data())>;
template <class T>
inline constexpr bool is_float_or_double = std::is_same_v<T, float> || std::is_same_v<T, double>;
}  // namespace detail

/// Matrices of float or double: a MatmulView, or whatever view_of() of array.hpp makes a view of.
template <class Source>
concept MatmulOperand = detail::is_float_or_double<detail::MatmulElement<Source>>;

enum class MatmulAccuracy : std::uint8_t {
  automatic,  ///< that of the variant that Execution::variant names, and `strict` where it names none
  strict,     ///< the canonical result
  split,      ///< permits what three passes of tensor cores give
  fast        ///< permits what one pass gives, few digits
};
template <>
inline constexpr auto enum_names<MatmulAccuracy> =
    std::to_array<EnumName<MatmulAccuracy>>({{MatmulAccuracy::automatic, "automatic"},
                                             {MatmulAccuracy::strict, "strict"},
                                             {MatmulAccuracy::split, "split"},
                                             {MatmulAccuracy::fast, "fast"}});

/// What is computed.
struct MatmulOptions {
  double alpha = 1;
  double beta = 0;
  MatmulAccuracy accuracy = MatmulAccuracy::automatic;
  bool measure_error = false;  ///< compare the result with the exact one, which takes longer than to find it
};

/// Where the result goes.
template <class T>
struct MatmulMemory {
  /// C: m x n, as many as there are products; written, and read where beta is not 0. No element lies where another
  /// does, nor where an element of A or B does; where that cannot be seen from the extents, or from equal strides that
  /// keep two views apart, it counts as if one did. Empty: MatmulResult::product.
  MatmulView<T> product = {};
};

/// How far results are from the exact ones.
struct MatmulError {
  double greatest = 0;  ///< |C - exact| / M at its greatest, M as above; elements where that is no number left out
  std::int64_t elements = 0;  ///< that were compared: all of them, or so many spread evenly where they are too many
};

template <class T>
struct MatmulResult {
  Matrix<T> product;  ///< where no memory was given; those of a batch one below the other
  MatmulError error;  ///< where it was asked for
  RunReport report;
};

/// The sizes on which a job's memory depends.
struct MatmulShape {
  std::int64_t rows = 0;     ///< m, of A and C
  std::int64_t columns = 0;  ///< n, of B and C
  std::int64_t depth = 0;    ///< k, columns of A and rows of B
  std::int64_t batches = 1;
  int element_bytes = 4;          ///< 4: float, 8: double
  bool contiguous_result = true;  ///< the elements of C lie side by side along rows or along columns
  MemoryPlace place = {};         ///< where the matrices lie
};

namespace detail {

// What libgradus has of the call below, for float and double.
template <class A, class B>
GRADUS_EXPORT MatmulResult<std::common_type_t<A, B>> matmul(MatmulView<const A> a, MatmulView<const B> b,
                                                            const MatmulOptions& options,
                                                            const MatmulMemory<std::common_type_t<A, B>>& memory,
                                                            const Execution& execution);

}  // namespace detail

/// Multiplies A (m x k) by B (k x n), or each A of a batch by the B of the same number; where one of them is not a
/// batch (batches = 1), it stands for all. Where one is of float and the other of double, all is double, by a copy of
/// the former. Throws
/// UsageError where the shapes do not fit each other, for impossible views and options, beta without a C, results that
/// overlap what is read, and an accuracy that the variant does not have; UnsupportedError for `split` and `fast` of
/// double and for a variant or device that cannot run here, OutOfMemoryError where memory does not suffice,
/// InterruptedError after a stop request.
template <MatmulOperand A, MatmulOperand B>
auto matmul(const A& a, const B& b, const MatmulOptions& options,
            const MatmulMemory<std::common_type_t<detail::MatmulElement<A>, detail::MatmulElement<B>>>& memory,
            const Execution& execution = {}) {
  return detail::matmul<detail::MatmulElement<A>, detail::MatmulElement<B>>(
      detail::matmul_view_of(a), detail::matmul_view_of(b), options, memory, execution);
}
template <MatmulOperand A, MatmulOperand B>
auto matmul(const A& a, const B& b, const MatmulOptions& options = {}, const Execution& execution = {}) {
  using T = std::common_type_t<detail::MatmulElement<A>, detail::MatmulElement<B>>;
  return matmul(a, b, options, MatmulMemory<T>{}, execution);
}

/// The factor of M in the bound of the error that the accuracy (`automatic` is `strict`) has for products of this depth
/// in elements of 4 or 8 bytes; infinity where k is so great that there is none. UsageError for others.
GRADUS_EXPORT double matmul_error_bound(MatmulAccuracy accuracy, std::int64_t depth, int element_bytes);

/// Memory that `matmul` takes beyond its input and result, at most; where the types of A and B differ, also a copy of
/// the floats as double. UsageError for impossible options and sizes.
GRADUS_EXPORT MemoryEstimate matmul_memory(const MatmulShape& shape, const MatmulOptions& options,
                                           const Execution& execution = {});

}  // namespace gradus
