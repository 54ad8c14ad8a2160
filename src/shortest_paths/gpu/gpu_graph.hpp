// A graph in the memory of a GPU, and what the frame does there with it and with the matrix in which a variant works:
// what graph.hpp and predecessors.hpp have for host memory, with the same results. Of this a build without CUDA
// defines what host code calls: gpu/not_compiled.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/job.hpp"
#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

/// Starts a job on the GPU of `execution` and brings the weights there: they are used where they lie if they lie there,
/// after what is in Execution::stream; otherwise the graph names a copy afterwards. `job_bytes`: what the job will take
/// there beside them, as far as that is known. UsageError for a view that does not lie where it says, OutOfMemoryError
/// with both numbers where the memory does not suffice.
template <class T>
std::shared_ptr<cuda::Job> bring_to_gpu(Graph<T>& graph, const Execution& execution, std::uint64_t job_bytes);

/// Before results are written to memory of the caller's on the GPU: see cuda::Job::admit().
void admit(cuda::Job& job, const void* address, const char* what);

/// N x N elements of the job's memory.
template <class T>
MatrixView<T> take_matrix(cuda::Job& job, std::int64_t n);

/// Copies a matrix; one of the two lies on the job's GPU. Returns when all is there.
template <class T>
void copy_matrix(MatrixView<const T> from, MatrixView<T> to, cuda::Job& job);

/// As examine() of graph.hpp, its errors included.
template <class T>
Examined<T> examine_on_gpu(const Graph<T>& graph, cuda::Job& job);

/// Whether the graph may have a negative cycle; if not, it has none but for what rounding hides.
template <class T>
bool may_have_negative_cycle(const Graph<T>& graph, const Examined<T>& facts, cuda::Job& job);

/// As fill() of graph.hpp; its end is in the job's stream. The matrix has nothing between its rows.
template <class T, class C>
void fill_on_gpu(const Graph<T>& graph, MatrixView<C> distances, cuda::Job& job);

/// Whether an element of the diagonal is below 0.
template <class C>
bool diagonal_sank_on_gpu(MatrixView<const C> distances, cuda::Job& job);

/// As has_zero_cycle() of predecessors.hpp.
template <class C>
bool has_zero_cycle_on_gpu(MatrixView<const C> distances, C greatest, cuda::Job& job);

/// The canonical predecessors of whole numbers in a graph without cycles of length 0. Matrices have nothing between
/// their rows.
template <class T, class C>
void find_predecessors_on_gpu(const Graph<T>& graph, const Facts& facts, MatrixView<const C> distances, C greatest,
                              MatrixView<std::int32_t> predecessors, cuda::Job& job);

/// From the matrix in which a variant worked to the caller's type, in memory of the GPU: the same, if the type is.
/// Returns the place, row * N + column, of the first distance that T does not hold, or -1.
template <class T, class C>
std::int64_t finish_on_gpu(MatrixView<const C> solved, C greatest, MatrixView<T> distances, cuda::Job& job);

/// One element.
template <class C>
C element_on_gpu(MatrixView<const C> matrix, std::int64_t row, std::int64_t column, cuda::Job& job);

}  // namespace gradus::shortest_paths_detail
