// Estimates how much host memory a job needs in addition to its input. The estimate is made before the job allocates
// memory.
#pragma once

#include "core/checked.hpp"
#include "shortest_paths/request.hpp"

namespace gradus::shortest_paths_detail {

/// A sum of bytes that does not wrap.
class Bytes {
 public:
  void add(std::uint64_t bytes) { sum_ = core::checked_add(sum_, bytes, "the memory of the job"); }
  void add_matrix(std::int64_t rows, std::int64_t columns, std::size_t element) {
    add(core::checked_multiply(
        core::checked_multiply(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), "a matrix"),
        std::uint64_t{element}, "a matrix"));
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

/// The sizes that determine how much memory a job needs in addition to its input and results.
struct Sizes {
  Shape shape;
  std::int64_t listed = -1;  ///< number of edges in the caller's list, or -1 for a matrix
  int element_bytes = 4;     ///< bytes of the caller's weights
  bool adapted = false;      ///< true if edges are converted before use
  bool undirected = false;
  bool copied = false;    ///< true if results overwrite weights that the job needs until the end
  bool positive = false;  ///< true if all edges are known to be positive
  bool at_most = false;   ///< true if the given number of edges is an upper bound

  bool widened() const { return shape.wide || shape.element_bytes != element_bytes; }
};

/// Adds the memory of the edge lists, if the caller passes an edge list.
void add_lists(const Sizes& sizes, Bytes& bytes);

/// Returns the memory that a job needs in addition to its input and results.
std::uint64_t work_bytes(const Sizes& sizes, const Variant& variant, int threads);

/// Returns true if results overwrite weights that the job needs until the end.
template <class T>
bool needs_copy(const Request<T>& request, const GraphFacts<T>& facts) {
  return request.is_matrix() && request.rules().unchanged() &&
         request.memory.distances.data() == request.graph.weights.data() && request.n() > 0 &&
         (request.options.predecessors || (std::is_floating_point_v<T> && facts.negative));
}

template <class T>
Sizes sizes_of(const Request<T>& request, const Shape& shape) {
  return {.shape = shape,
          .listed = request.listed(),
          .element_bytes = static_cast<int>(sizeof(T)),
          .adapted = !request.rules().unchanged(),
          .undirected = request.options.undirected};
}

template <class T>
void add_results(const Request<T>& request, Bytes& bytes) {
  if (request.memory.distances.rows() == 0) bytes.add_matrix(request.rows(), request.n(), sizeof(T));
  if (request.options.predecessors && request.memory.predecessors.rows() == 0)
    bytes.add_matrix(request.rows(), request.n(), sizeof(std::int32_t));
}

/// Returns the memory of the results and the edge lists, which every variant needs.
template <class T>
std::uint64_t estimate_least(const Request<T>& request) {
  Bytes bytes;
  add_results(request, bytes);
  add_lists(sizes_of(request, {.vertices = request.n()}), bytes);
  return bytes.sum();
}

template <class T>
std::uint64_t estimate(const Request<T>& request, const GraphFacts<T>& facts, const Shape& shape,
                       const Variant& variant) {
  Sizes sizes = sizes_of(request, shape);
  sizes.copied = needs_copy(request, facts);
  sizes.positive = facts.positive;
  Bytes bytes;
  add_results(request, bytes);
  bytes.add(work_bytes(sizes, variant, request.threads));
  return bytes.sum();
}

}  // namespace gradus::shortest_paths_detail
