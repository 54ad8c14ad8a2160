/// Matrix multiplication, C = alpha A B + beta C, with a stated bound of the rounding error. The accuracy `strict`
/// returns the same bits everywhere.
///
/// Canonical result of `strict`, computed in the element type T (float or double):
///
/// * Block sums: s_b = fma(A(i, l), B(l, j), s_b) from +0, for ascending l in the b-th block of 256 indices of k.
/// * Total: ((s_0 + s_1) + s_2) + ..., each addition rounded.
/// * Result: let p = alpha * total, rounded, where alpha and beta are first rounded to T. If beta = 0, C(i, j) = p.
///   Otherwise C(i, j) = fma(beta, C(i, j), p).
/// * If k = 0 or alpha = 0, the result is beta * C(i, j), rounded, or +0 if beta = 0.
/// * Every NaN is the quiet NaN with a positive sign and no payload.
///
/// Rounding is to nearest and denormals are kept, whatever floating-point mode the calling thread has set.
///
/// NaN and infinity in A, B, C, alpha and beta propagate as IEEE 754 specifies. A partial sum that overflows becomes
/// infinity and propagates in the same way. Operands without effect are not read: C if beta = 0, A and B if alpha = 0,
/// alpha if k = 0.
///
/// Error bound. Let "exact" be the exact result for the values of alpha and beta after they are rounded to T. Let M =
/// |alpha| |A| |B| + |beta| |C|. Let u be half the distance from 1 to the next T, and eta the smallest positive T. If
/// nothing overflows, each element differs from the exact one by at most
///
///   matmul_error_bound() * M + 2 (k + 1) max(|alpha|, 1) eta
///
/// matmul_error_bound() is, with e(x) = x u / (1 - x u):
///
/// * `strict`: e(min(k, 256) + ceil(k / 256) + 1). Beyond k = 256, this bound grows by one u for every 256 of k.
/// * `split`, float only: three passes of the GPU's tensor cores, with smaller errors than float on most matrices. For
///   k <= 16 the bound is the bound of `strict`. For larger k it is the bound of `strict` or E = e(16 + 3 min(k, 64) +
///   ceil(k / 64) + ceil(k / 128)), whichever is larger.
/// * `fast`, float only: one pass, with 11 bits of each factor. The bound is the bound of `split` with (1 + 2^-9) E +
///   2^-10 + 2^-22 in place of E.
///
/// `split` and `fast` run only on request. If the GPU has no suitable tensor cores (compute capability 9.0), or if a
/// product is too small to gain from them, `strict` runs instead.
///
/// Complexity: 2 m n k operations per product of a batch. Memory on a CPU: O((m + n) min(k, 1024)) elements. If beta is
/// not 0 or C is not contiguous, another m n elements are needed. If m or n is 1, another m n k / 256 elements are
/// needed.
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

/// A matrix, or a batch of matrices, with any strides. Element (i, j) of matrix p is data[p * batch_stride + i *
/// row_stride + j * column_stride]. A column-major (Fortran) matrix has row_stride 1. A batch that repeats one matrix
/// has batch_stride 0. Strides of inputs may be 0 or negative.
template <class T>
class MatmulView {
 public:
  constexpr MatmulView() = default;
  constexpr MatmulView(T* data, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                       std::int64_t column_stride, MemoryPlace place = {})
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride), column_stride_(column_stride),
        place_(place) {}
  template <class U>
    requires(std::is_same_v<T, const U>)
  constexpr MatmulView(MatmulView<U> other)
      : MatmulView(other.data(), other.rows(), other.columns(), other.row_stride(), other.column_stride(),
                   other.place()) {
    batches_ = other.batches();
    batch_stride_ = other.batch_stride();
  }
  /// Converts from every type that view_of() of array.hpp accepts.
  template <class Source>
    requires requires(Source&& source) {
      { view_of(std::forward<Source>(source)) } -> std::convertible_to<MatrixView<T>>;
    }
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): no MatmulView satisfies the constraint
  constexpr MatmulView(Source&& source) : MatmulView(MatrixView<T>(view_of(std::forward<Source>(source))), 0) {}

  /// Returns a batch of `batches` matrices, whose first matrix is this one.
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
  constexpr MatmulView(MatrixView<T> view, int /*distinguishes this constructor*/)
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

/// Matrices of float or double: a MatmulView, or anything that view_of() of array.hpp accepts.
template <class Source>
concept MatmulOperand = detail::is_float_or_double<detail::MatmulElement<Source>>;

enum class MatmulAccuracy : std::uint8_t {
  automatic,  ///< the accuracy of the named variant; `strict` if the call names no variant
  strict,     ///< the canonical result
  split,      ///< permits the error of three tensor-core passes
  fast        ///< permits the error of one tensor-core pass: few correct digits
};
template <>
inline constexpr auto enum_names<MatmulAccuracy> =
    std::to_array<EnumName<MatmulAccuracy>>({{MatmulAccuracy::automatic, "automatic"},
                                             {MatmulAccuracy::strict, "strict"},
                                             {MatmulAccuracy::split, "split"},
                                             {MatmulAccuracy::fast, "fast"}});

struct MatmulOptions {
  double alpha = 1;
  double beta = 0;
  MatmulAccuracy accuracy = MatmulAccuracy::automatic;
  bool measure_error = false;  ///< compares the result with the exact one; the comparison takes longer than the product
};

/// Memory for the result.
template <class T>
struct MatmulMemory {
  /// C, m x n, with as many matrices as there are products. The call writes C, and reads C if beta is not 0. No two
  /// elements of C may overlap, and no element of C may overlap an element of A or B. Two views count as overlapping
  /// unless their extents or equal strides prove that they are disjoint. If this view is empty, MatmulResult::product
  /// contains the product.
  MatmulView<T> product = {};
};

struct MatmulError {
  double greatest = 0;        ///< maximum over all elements of |C - exact| / M (see the head of this file), without NaN
  std::int64_t elements = 0;  ///< number of elements compared: all, or an evenly spread sample of a large product
};

template <class T>
struct MatmulResult {
  Matrix<T> product;  ///< empty if the caller gave memory; the matrices of a batch are stacked vertically
  MatmulError error;  ///< set if MatmulOptions::measure_error is true
  RunReport report;
};

/// The size of a job, which determines the memory that the job needs.
struct MatmulShape {
  std::int64_t rows = 0;     ///< m: rows of A and C
  std::int64_t columns = 0;  ///< n: columns of B and C
  std::int64_t depth = 0;    ///< k: columns of A and rows of B
  std::int64_t batches = 1;
  int element_bytes = 4;          ///< 4: float, 8: double
  bool contiguous_result = true;  ///< true if C is contiguous along rows or along columns
  MemoryPlace place = {};         ///< location of the matrices
};

namespace detail {

// The templates below call this function. libgradus instantiates it for float and double.
template <class A, class B>
GRADUS_EXPORT MatmulResult<std::common_type_t<A, B>> matmul(MatmulView<const A> a, MatmulView<const B> b,
                                                            const MatmulOptions& options,
                                                            const MatmulMemory<std::common_type_t<A, B>>& memory,
                                                            const Execution& execution);

}  // namespace detail

/// Multiplies A (m x k) by B (k x n). In batches, each A is multiplied by the B of the same index; an operand with one
/// matrix is used for every product. If one operand is float and the other double, the call works on a copy of the
/// float operand in double precision.
///
/// Throws UsageError for malformed views and invalid options, for an accuracy that the named variant does not have, and
/// if beta is not 0 but the caller passes no C. Also throws UsageError if the shapes do not match or if the result
/// overlaps an input. Throws UnsupportedError for `split` and `fast` in double, and if the variant or device cannot run
/// here. Throws OutOfMemoryError if memory does not suffice. Throws InterruptedError after a stop request.
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

/// Returns the factor of M in the error bound of this accuracy (see the head of this file). `depth` is k, and
/// `element_bytes` is 4 or 8. `automatic` counts as `strict`. Returns infinity if k is so large that no bound exists.
/// Throws UsageError for other sizes.
GRADUS_EXPORT double matmul_error_bound(MatmulAccuracy accuracy, std::int64_t depth, int element_bytes);

/// Returns an upper bound of the memory that matmul() needs in addition to its input and result. If one of A and B is
/// float and the other double, a job also needs memory for a copy of the float matrix in double precision. Throws
/// UsageError for invalid options and sizes.
GRADUS_EXPORT MemoryEstimate matmul_memory(const MatmulShape& shape, const MatmulOptions& options,
                                           const Execution& execution = {});

}  // namespace gradus
