// A graph in GPU memory, and the driver's operations on this graph and on a variant's matrix. The operations have the
// same results as the operations in graph.hpp and predecessors.hpp for host memory. In a build without CUDA,
// gpu/not_compiled.cpp defines the functions that host code calls.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/job.hpp"
#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

/// Starts a job on the GPU of `execution` and makes the weights available there. Weights that are already on this GPU
/// are used in place, after the work that is pending in Execution::stream. Other weights are copied, and `graph` then
/// refers to the copy. `job_bytes` is the part of the job's further GPU memory that is already known. Throws UsageError
/// if a view is not in the memory that it claims, and OutOfMemoryError, with the required and the available bytes, if
/// memory does not suffice.
template <class T>
std::shared_ptr<cuda::Job> bring_to_gpu(Graph<T>& graph, const Execution& execution, std::uint64_t job_bytes);

/// Must be called before results are written to the caller's memory on the GPU: see cuda::Job::admit().
void admit(cuda::Job& job, const void* address, const char* what);

template <class T>
MatrixView<T> take_matrix(cuda::Job& job, std::int64_t n);

/// Copies a matrix to or from the job's GPU. Returns when the copy is complete.
template <class T>
void copy_matrix(MatrixView<const T> from, MatrixView<T> to, cuda::Job& job);

/// Examines the graph like examine() of graph.hpp and throws the same errors.
template <class T>
GraphFacts<T> examine_on_gpu(const Graph<T>& graph, cuda::Job& job);

/// Returns true if the graph may have a negative cycle. If the result is false, no cycle is negative by more than the
/// rounding errors.
template <class T>
bool may_have_negative_cycle(const Graph<T>& graph, const GraphFacts<T>& facts, cuda::Job& job);

/// Fills the matrix like fill() of graph.hpp, in the job's stream. The matrix must be contiguous.
template <class T, class C>
void fill_on_gpu(const Graph<T>& graph, MatrixView<C> distances, cuda::Job& job);

template <class C>
bool diagonal_is_negative_on_gpu(MatrixView<const C> distances, cuda::Job& job);

/// Returns the result of has_zero_cycle() of predecessors.hpp.
template <class C>
bool has_zero_cycle_on_gpu(MatrixView<const C> distances, C greatest, cuda::Job& job);

/// Finds the canonical integer predecessors in a graph without cycles of length 0. Matrices must be contiguous.
template <class T, class C>
void find_predecessors_on_gpu(const Graph<T>& graph, const Facts& facts, MatrixView<const C> distances, C greatest,
                              MatrixView<std::int32_t> predecessors, cuda::Job& job);

/// Converts the variant's matrix to the caller's type, in GPU memory. If the types are equal, input and output may be
/// the same memory. Returns the index, row * N + column, of the first distance that exceeds T, or -1.
template <class T, class C>
std::int64_t finish_on_gpu(MatrixView<const C> solved, C greatest, MatrixView<T> distances, cuda::Job& job);

template <class C>
C element_on_gpu(MatrixView<const C> matrix, std::int64_t row, std::int64_t column, cuda::Job& job);

}  // namespace gradus::shortest_paths_detail
