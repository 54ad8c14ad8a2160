// Test cases on which matmul_test and `gradus verify` compare every variant with the oracle. Benchmarks do the same
// before they measure. Each case is a small product with one difficult property.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "matmul/oracle.hpp"
#include "matmul/problem.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

enum class Layout : std::uint8_t {
  rows,         ///< row-major, contiguous
  padded_rows,  ///< row-major, with padding between rows
  columns,      ///< column-major, as in Fortran
  padded_columns,
  apart,      ///< padding between all elements
  backwards,  ///< negative strides; only for operands that are read
  repeated    ///< one matrix for the whole batch; only for operands that are read
};

/// Position (row, column) of an element of an operand. `index` is unique among all elements of the batch.
struct Place {
  char operand;  ///< 'A', 'B' or 'C'
  std::int64_t row;
  std::int64_t column;
  std::uint64_t index;
};
struct Limits {
  double greatest;
  double least_normal;
  double least;
};

struct CaseData {
  std::int64_t batches = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double alpha = 1;
  double beta = 0;
  Layout a = Layout::rows;
  Layout b = Layout::rows;
  Layout c = Layout::rows;
  std::function<double(const Place&, const Limits&)> element;
};

struct Case {
  std::string name;
  std::function<CaseData(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Returns "" if `value` satisfies the contract of a variant, otherwise a description of the error.
template <class T>
std::string judge(T value, const Element<T>& truth, const Problem<T>& problem, const core::Contract& contract,
                  MatmulAccuracy accuracy);

/// Owns a batch of matrices with the given layout.
template <class T>
class LaidOut {
 public:
  LaidOut() = default;
  LaidOut(std::int64_t batches, std::int64_t rows, std::int64_t columns, Layout layout);

  MatmulView<T> view() { return view_of_base(elements_.data()); }
  MatmulView<const T> view() const { return view_of_base(elements_.data()); }
  /// Returns all elements of the memory, including the padding.
  std::vector<T>& elements() { return elements_; }
  const std::vector<T>& elements() const { return elements_; }

 private:
  template <class U>
  MatmulView<U> view_of_base(U* base) const {
    return MatmulView<U>(base + first_, rows_, columns_, row_stride_, column_stride_).batch(batches_, batch_stride_);
  }
  std::int64_t batches_ = 0, rows_ = 0, columns_ = 0;
  std::int64_t first_ = 0, row_stride_ = 0, column_stride_ = 0, batch_stride_ = 0;
  std::vector<T> elements_;
};

/// A test case in type T and the oracle's answer. The answer is computed once, on first use, for all variants and
/// thread counts.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const { return problem_.shape(); }
  const Truth<T>& truth() const;
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case and compares C with the oracle's C. Returns "" if C is correct.
  std::string check(const Variant& variant, const Execution& execution) const;
  /// Returns a description of the errors in C or in its padding after a run of the variant, or "" if there are none.
  std::string fault_in(const LaidOut<T>& c, const Variant& variant) const;

  const LaidOut<T>& a() const { return a_; }
  const LaidOut<T>& b() const { return b_; }
  const LaidOut<T>& c() const { return c_; }
  const MatmulOptions& options() const { return options_; }

 private:
  LaidOut<T> a_;
  LaidOut<T> b_;
  LaidOut<T> c_;
  MatmulOptions options_;
  Problem<T> problem_;
  mutable std::optional<Truth<T>> truth_;
};

/// The types and functions of this problem that generic code needs: the variant table and the loops over test cases.
struct Trial : Room {
  using Variant = matmul_detail::Variant;
  using Case = matmul_detail::Case;
  template <class T>
  using PreparedCase = matmul_detail::PreparedCase<T>;
  /// Returns the contract with the error bounds for elements of type T.
  template <class T>
  static core::Contract contract_in(const Variant& variant) {
    core::Contract contract = variant.contract;
    if (contract == core::Contract::within && variant.facts.accuracy == MatmulAccuracy::strict)
      contract.bound = rounded_unit<T>;
    return contract;
  }
  static core::Rows<Variant> variants() { return matmul_detail::variants(); }
  static const std::vector<Case>& cases() { return matmul_detail::cases(); }
};

}  // namespace gradus::matmul_detail
