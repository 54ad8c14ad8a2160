// Small problems, each with one difficult property. Every variant is compared with the oracle on these problems: by
// kmeans_test, by `gradus verify`, and by the benchmark harness before it measures times.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

struct CaseData : KMeansOptions {
  CaseData() : KMeansOptions{.clusters = 1, .init = KMeansInit::given, .max_iterations = 10, .tolerance = 0} {}

  Matrix<double> points;
  std::vector<double> weights;
  /// For the float version: the factor that brings points or weights into the range of float.
  double float_scale = 1;
  double float_weight_scale = 1;
  std::vector<std::int64_t> first_rows;  ///< the rows that are the initial centroids; if empty, the first k rows
  std::int64_t padding = 0;              ///< number of unused elements between two rows

  /// True if textbook arithmetic should agree with the oracle. This requires that neither ties nor cancellation affect
  /// the result.
  bool well_conditioned = true;
};

struct Case {
  std::string name;
  std::function<CaseData(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Makes the options accept coinciding points, so that a test need not count how many points are different.
void accept_coinciding_points(KMeansOptions& options);

/// Checks a result against its contract. Returns "" if the result is correct, otherwise a description of the defect.
///
/// If a point is on the border of two clusters, textbook rounding and the oracle sometimes assign it to different
/// clusters. This also changes the centroids. Therefore the contract `within` promises only two things for all data:
/// the inertia is as good as the oracle's inertia, and the counts match the labels. For `well_conditioned` data, it
/// also promises that the centroids are near the oracle's centroids.
template <class T>
std::string compare(const KMeansResult<T>& result, const KMeansResult<T>& truth, const Problem<T>& problem,
                    const core::Contract& contract, bool well_conditioned);

/// A case with elements of type T. The oracle's result is computed on first use, and all variants and thread counts are
/// compared with it.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const;
  MatrixView<const T> points() const { return rows_; }
  const KMeansOptions& options() const { return options_; }
  const KMeansMemory<T>& memory() const { return memory_; }
  const KMeansResult<T>& truth() const;
  /// Returns true if the contract promises anything about the result of this case.
  bool promises(const core::Contract& contract) const {
    return contract != core::Contract::within || well_conditioned_;
  }
  /// Compares a result for points() and options() with the oracle's result. Returns "" if the result keeps the
  /// contract, otherwise a description of the defect.
  std::string compare_with_truth(const KMeansResult<T>& result, const core::Contract& contract) const {
    return compare(result, truth(), problem_, contract, well_conditioned_);
  }
  /// Runs `variant` on the case and compares the result. Returns "" if the result is correct, otherwise a description
  /// of the defect.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Buffer<T> points_;  ///< the rows, with padding if the case has any
  Buffer<T> weights_;
  Matrix<T> first_;
  KMeansOptions options_;
  KMeansMemory<T> memory_;
  Buffer<T> unit_points_;  ///< rows scaled to unit length, for the cosine metric
  Matrix<T> unit_first_;
  MatrixView<const T> rows_;
  Problem<T> problem_;
  mutable std::optional<KMeansResult<T>> truth_;
  bool well_conditioned_ = true;
};

/// The cases of this problem, in a form for loops over all problems.
struct Trial : Room {
  using Variant = kmeans_detail::Variant;
  using Case = kmeans_detail::Case;
  template <class T>
  using PreparedCase = kmeans_detail::PreparedCase<T>;
  static core::Rows<Variant> variants() { return kmeans_detail::variants(); }
  static const std::vector<Case>& cases() { return kmeans_detail::cases(); }
};

}  // namespace gradus::kmeans_detail
