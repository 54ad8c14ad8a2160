// Cases on which every variant is compared with the oracle: by kmeans_test, by `gradus verify`, and by the harness
// before it times anything. A case is a small problem with something awkward about it.
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

/// Lets a fit be made where points coincide, so that a test need not count the different ones.
void accept_coinciding_points(KMeansOptions& options);

/// Judges a result by its contract: "" where it is right beside the oracle's, otherwise what is wrong.
///
/// The textbook's rounding sends a point between two clusters to the other one now and then, and its centroids follow.
/// What a contract of the kind `within` promises is an inertia as good as the oracle's, and labels and counts that
/// belong together; centroids near the oracle's only where the data are `well_conditioned`.
template <class T>
std::string compare(const KMeansResult<T>& result, const KMeansResult<T>& truth, const Problem<T>& problem,
                    const core::Contract& contract, bool well_conditioned);

/// A case in type T with the oracle's answer, worked out once for all variants and thread counts, when it is first
/// asked for.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const;
  MatrixView<const T> points() const { return rows_; }
  const KMeansOptions& options() const { return options_; }
  const KMeansMemory<T>& memory() const { return memory_; }
  const KMeansResult<T>& truth() const;
  /// Whether a variant with this contract promises anything of the case.
  bool promises(const core::Contract& contract) const {
    return contract != core::Contract::within || well_conditioned_;
  }
  /// "" where a result of points() and options() keeps the contract.
  std::string compare_with_truth(const KMeansResult<T>& result, const core::Contract& contract) const {
    return compare(result, truth(), problem_, contract, well_conditioned_);
  }
  /// Runs `variant` on the case and compares; "" where it is right.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Buffer<T> points_;  ///< rows that may be padded
  Buffer<T> weights_;
  Matrix<T> first_;
  KMeansOptions options_;
  KMeansMemory<T> memory_;
  Buffer<T> unit_points_;  ///< of length one each, where the metric is cosine
  Matrix<T> unit_first_;
  MatrixView<const T> rows_;
  Problem<T> problem_;
  mutable std::optional<KMeansResult<T>> truth_;
  bool well_conditioned_ = true;
};

/// What a loop over table and cases wants to know of the room.
struct Trial : Room {
  using Variant = kmeans_detail::Variant;
  using Case = kmeans_detail::Case;
  template <class T>
  using PreparedCase = kmeans_detail::PreparedCase<T>;
  static core::Rows<Variant> variants() { return kmeans_detail::variants(); }
  static const std::vector<Case>& cases() { return kmeans_detail::cases(); }
};

}  // namespace gradus::kmeans_detail
