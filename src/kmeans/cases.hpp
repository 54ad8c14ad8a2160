// Cases on which every variant is compared with the oracle: by kmeans_test, by `gradus verify`, and by the harness
// before it times anything. A case is a small problem with something awkward about it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

struct CaseData {
  Matrix<double> points;
  std::vector<double> weights;
  std::int64_t clusters = 1;
  int max_iterations = 10;
  double tolerance = 0;
  double changed_fraction = 0;
  EmptyCluster empty = EmptyCluster::relocate;
  Metric metric = Metric::euclidean;
  /// In float, by which points and weights that only a double holds are multiplied.
  double float_scale = 1;
  double float_weight_scale = 1;
  std::vector<std::int64_t> first_rows;  ///< rows that are the initial centroids; empty: the first k
  std::int64_t padding = 0;              ///< elements between the rows
  /// Whether the textbook's arithmetic is expected to come near the oracle: not where ties or cancellation decide.
  bool well_conditioned = true;
};

struct Case {
  std::string name;
  std::function<CaseData(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Compares a result with the oracle's under a variant's contract; "" where it is right, otherwise what is wrong.
template <class T>
std::string compare(const KMeansResult<T>& result, const KMeansResult<T>& truth, const Problem<T>& problem,
                    const core::VariantInfo& variant);

/// A case in type T with the oracle's answer, worked out once for all variants and thread counts.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const;
  MatrixView<const T> points() const { return rows_; }
  const KMeansOptions<T>& options() const { return options_; }
  /// "" where a result of points() and options() is right under the variant's contract.
  std::string compare_with_truth(const KMeansResult<T>& result, const core::VariantInfo& variant) const {
    return compare(result, truth_, problem_, variant);
  }
  /// Runs `variant` on the case and compares; "" where it is right.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Buffer<T> points_;  ///< rows that may be padded
  Buffer<T> weights_;
  Matrix<T> first_;
  KMeansOptions<T> options_;
  Buffer<T> unit_points_;  ///< of length one each, where the metric is cosine
  Matrix<T> unit_first_;
  MatrixView<const T> rows_;
  Problem<T> problem_;
  KMeansResult<T> truth_;
};

/// Runs `variant` on the case in type T and compares; "" where it is right.
template <class T>
std::string check_case(const Variant& variant, const CaseData& data, const Execution& execution) {
  return PreparedCase<T>(data).check(variant, execution);
}

}  // namespace gradus::kmeans_detail
