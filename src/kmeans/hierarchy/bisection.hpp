// Splits clusters in two until there are k.
#pragma once

#include "gradus/kmeans_bisecting.hpp"

namespace gradus::kmeans_detail {

/// Returns the bytes that kmeans_bisecting() needs. The first split has the most rows.
std::uint64_t bisecting_bytes(const KMeansShape& shape, const KMeansOptions& options, const Execution& execution);

/// Returns the result of kmeans_bisecting() without device, threads and total time in its report. The arguments must
/// have been checked.
template <class T>
KMeansBisection<T> bisect(MatrixView<const T> points, const KMeansOptions& options, KMeansSplit split,
                          const KMeansMemory<T>& memory, const Execution& execution,
                          const KMeansFirstTwo<T>& first_two);

}  // namespace gradus::kmeans_detail
