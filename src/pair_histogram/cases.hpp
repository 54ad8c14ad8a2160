// Cases on which every variant is compared with the oracle: by pair_histogram_test, by `gradus verify`, and before
// anything is timed. A case is a small problem with something awkward about it.
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
  Matrix<double> others;  ///< no columns: pairs among the points
  PairHistogramBins bins;
  std::vector<double> box;
  std::vector<double> box_origin;
  std::vector<double> weights;
  std::vector<double> other_weights;
  std::int64_t padding = 0;  ///< elements between the rows
};

struct Case {
  std::string name;
  std::function<CaseData(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Judges a result by the contract of all variants, which is the oracle's bits: "" where it is right, otherwise what is
/// wrong.
std::string compare(const PairHistogramResult& result, const PairHistogramResult& truth);

/// A case in type T with the oracle's answer, worked out once for all variants and thread counts, when it is first
/// asked for.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const { return problem_.shape(); }
  MatrixView<const T> points() const { return problem_.points; }
  const PairHistogramOptions& options() const { return options_; }
  const PairHistogramMemory<T>& memory() const { return memory_; }
  const PairHistogramResult& truth() const;
  /// Whether a variant with this contract promises anything of the case.
  static bool promises(const core::Contract&) { return true; }
  /// "" where the result is right.
  std::string compare_with_truth(const PairHistogramResult& result) const { return compare(result, truth()); }
  /// Runs `variant` on the case and compares; "" where it is right.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Buffer<T> points_;  ///< rows that may be padded
  Buffer<T> others_;
  Buffer<T> weights_;
  Buffer<T> other_weights_;
  PairHistogramOptions options_;
  PairHistogramMemory<T> memory_;
  Problem<T> problem_;
  mutable std::optional<PairHistogramResult> truth_;
};

/// What a loop over table and cases wants to know of the room.
struct Trial : Room {
  using Variant = pair_histogram_detail::Variant;
  using Case = pair_histogram_detail::Case;
  template <class T>
  using PreparedCase = pair_histogram_detail::PreparedCase<T>;
  static core::Rows<Variant> variants() { return pair_histogram_detail::variants(); }
  static const std::vector<Case>& cases() { return pair_histogram_detail::cases(); }
};

}  // namespace gradus::pair_histogram_detail
