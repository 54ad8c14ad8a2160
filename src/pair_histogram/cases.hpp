// Cases on which every variant is compared with the oracle: by pair_histogram_test, by `gradus verify`, and before
// anything is timed. A case is a small problem with something awkward about it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

struct CaseData {
  Matrix<double> points;
  Matrix<double> others;  ///< no columns: pairs among the points
  PairBins bins;
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

/// Compares a result with the oracle's, to the bit; "" where it is right, otherwise what is wrong.
std::string compare(const PairHistogramResult& result, const PairHistogramResult& truth);

/// A case in type T with the oracle's answer, worked out once for all variants and thread counts.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const { return problem_.shape(); }
  MatrixView<const T> points() const { return problem_.points; }
  const PairHistogramOptions<T>& options() const { return options_; }
  /// "" where the result is right.
  std::string compare_with_truth(const PairHistogramResult& result) const { return compare(result, truth_); }
  /// Runs `variant` on the case and compares; "" where it is right.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Buffer<T> points_;  ///< rows that may be padded
  Buffer<T> others_;
  Buffer<T> weights_;
  Buffer<T> other_weights_;
  PairHistogramOptions<T> options_;
  Problem<T> problem_;
  PairHistogramResult truth_;
};

}  // namespace gradus::pair_histogram_detail
