/// Batches of k-means problems: independent fits to matrices of one shape, in one call.
///
/// All problems have the same options, and therefore the same seed. The result of a problem has the bits of kmeans()
/// for its matrix with these options, if the variant has the contract "same bits". A separate call can thus reproduce
/// any problem.
///
/// On the CPU, small problems run next to each other, each on one thread; large problems run one after the other, each
/// on all threads. On GPUs, a few problems run at a time on each GPU. The matrices are read in place. They may
/// interleave: the columns of a matrix in groups are a batch, whose centroids are the codebooks of a product quantizer
/// (Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", 2011).
///
///   const KMeansBatchResult<float> fits = kmeans_batch(column_groups(points.view(), 8), {.clusters = 256});
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/run_report.hpp"
#include "gradus/stored_matrix.hpp"

namespace gradus {

/// Matrices of one shape. View is a MatrixView or a StoredMatrixView.
template <class View>
struct MatrixBatch {
  View first = {};
  std::int64_t count = 1;
  std::int64_t stride = 0;       ///< the number of elements from the start of a matrix to the next; of any sign
  const char* name = "problem";  ///< the word for a matrix in error messages
};

template <class View>
MatrixBatch(View, std::int64_t = 1, std::int64_t = 0, const char* = "problem") -> MatrixBatch<View>;

/// Returns the columns of a matrix in `groups` groups of consecutive columns. Throws UsageError unless the number of
/// columns is divisible by `groups`.
template <class T>
MatrixBatch<MatrixView<T>> column_groups(MatrixView<T> rows, std::int64_t groups);
GRADUS_EXPORT MatrixBatch<StoredMatrixView> column_groups(const StoredMatrixView& rows, std::int64_t groups);

/// Optional inputs and output memory of a batch of problems, as in KMeansMemory.
template <class T>
struct KMeansBatchMemory {
  /// With KMeansInit::given: clusters x d for each problem. A stride of 0 gives all problems the same centroids.
  MatrixBatch<MatrixView<const T>> initial_centroids = {};
  MatrixView<const T> weights = {};  ///< a row of n weights for each problem, or a single row for all problems
  /// A row of n labels for each problem. If this view is given, KMeansResult::labels stays empty.
  MatrixView<std::int32_t> labels = {};
};

template <class T>
struct KMeansBatchResult {
  std::vector<KMeansResult<T>> problems;
  RunReport report;  ///< covers the whole call; `variant` is the variant of the first problem
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansBatchResult<T> kmeans_batch(const MatrixBatch<MatrixView<const T>>& points,
                                                const KMeansOptions& options, const KMeansBatchMemory<T>& memory,
                                                const Execution& execution);
GRADUS_EXPORT std::int64_t columns_of_group(std::int64_t columns, std::int64_t groups);

}  // namespace detail

template <class T>
MatrixBatch<MatrixView<T>> column_groups(MatrixView<T> rows, std::int64_t groups) {
  const std::int64_t columns = detail::columns_of_group(rows.columns(), groups);
  return {{rows.data(), rows.rows(), columns, rows.row_stride(), rows.place()}, groups, columns, "subspace"};
}

/// Fits every matrix of the batch: on the CPU, or on the GPUs that the request names. Matrices in GPU memory are fitted
/// on this GPU.
///
/// Throws the errors of kmeans(), whose messages name the problem: "problem 3: ...", counted from 0. If several
/// problems fail, this is the first of them. Throws InputError for a batch without problems, UsageError for options of
/// a single fit (checkpoint, dump_graph) and for labels that overlap an input, and UnsupportedError for several ranks,
/// and for several GPUs if the points are in GPU memory. Progress of the phase "problems" counts completed problems.
///
/// Memory in addition to the input: labels and centroids of all problems, and the memory of the fits that run at the
/// same time; see kmeans_batch_memory().
template <class T>
KMeansBatchResult<std::remove_const_t<T>> kmeans_batch(const MatrixBatch<MatrixView<T>>& points,
                                                       const KMeansOptions& options,
                                                       const KMeansBatchMemory<std::remove_const_t<T>>& memory = {},
                                                       const Execution& execution = {}) {
  return detail::kmeans_batch<std::remove_const_t<T>>({points.first, points.count, points.stride, points.name}, options,
                                                      memory, execution);
}

/// Overload for rows of 8-bit integers or 16-bit floating-point numbers; see kmeans().
GRADUS_EXPORT KMeansBatchResult<float> kmeans_batch(const MatrixBatch<StoredMatrixView>& points,
                                                    const KMeansOptions& options,
                                                    const KMeansBatchMemory<float>& memory = {},
                                                    const Execution& execution = {});

/// Returns the memory that kmeans_batch() needs in addition to its input. `shape` is the shape of one problem. Throws
/// the errors of kmeans_memory().
GRADUS_EXPORT MemoryEstimate kmeans_batch_memory(const KMeansShape& shape, std::int64_t problems,
                                                 const KMeansOptions& options, const Execution& execution = {});

}  // namespace gradus
