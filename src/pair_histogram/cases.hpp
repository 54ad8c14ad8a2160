// Small, awkward cases on which the tests and `gradus verify` compare every variant with the oracle. Benchmarks do the
// same before they measure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

struct CaseData {
  Matrix<double> points;
  Matrix<double> others;  ///< has no columns if pairs are counted among the points
  PairHistogramBins bins;
  std::vector<double> box;
  std::vector<double> box_origin;
  std::vector<double> weights;
  std::vector<double> other_weights;
  std::int64_t padding = 0;  ///< unused elements between the rows
};

struct Case {
  std::string name;
  std::function<CaseData(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Returns "" if the result equals the oracle's `truth` bit by bit, otherwise the difference.
std::string compare(const PairHistogramResult& result, const PairHistogramResult& truth);

/// A case in type T. The oracle's result is computed on first use and kept for all variants and thread counts.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const { return problem_.shape(); }
  MatrixView<const T> points() const { return problem_.points; }
  const PairHistogramOptions& options() const { return options_; }
  const PairHistogramMemory<T>& memory() const { return memory_; }
  const PairHistogramResult& truth() const;
  /// Returns true if a variant with this contract must be correct on the case.
  static bool promises(const core::Contract&) { return true; }
  std::string compare_with_truth(const PairHistogramResult& result) const { return compare(result, truth()); }
  /// Runs `variant` on the case. Returns "" if the result is correct.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Buffer<T> points_;  ///< rows with optional padding
  Buffer<T> others_;
  Buffer<T> weights_;
  Buffer<T> other_weights_;
  PairHistogramOptions options_;
  PairHistogramMemory<T> memory_;
  Problem<T> problem_;
  mutable std::optional<PairHistogramResult> truth_;
};

/// The types and lists of this problem, for code that loops over the variant table and the cases.
struct Trial : Room {
  using Variant = pair_histogram_detail::Variant;
  using Case = pair_histogram_detail::Case;
  template <class T>
  using PreparedCase = pair_histogram_detail::PreparedCase<T>;
  static core::Rows<Variant> variants() { return pair_histogram_detail::variants(); }
  static const std::vector<Case>& cases() { return pair_histogram_detail::cases(); }
};

}  // namespace gradus::pair_histogram_detail
