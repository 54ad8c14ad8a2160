#include "shortest_paths/memory.hpp"

#include <algorithm>

#include "shortest_paths/sparse_graph.hpp"

namespace gradus::shortest_paths_detail {

void add_lists(const Sizes& sizes, Bytes& bytes) {
  if (sizes.listed >= 0)
    bytes.add(sparse_graph_bytes(sizes.shape.vertices, sizes.listed, sizes.undirected, sizes.element_bytes));
}

std::uint64_t work_bytes(const Sizes& sizes, const Variant& variant, int threads) {
  const Shape& shape = sizes.shape;
  const std::int64_t n = shape.vertices;
  const auto element = static_cast<std::size_t>(sizes.element_bytes);
  const bool is_matrix = sizes.listed < 0;
  constexpr std::int64_t tree_bytes = 48;
  Bytes bytes;
  bytes.add(variant.memory(shape, threads).host);
  add_lists(sizes, bytes);
  if (sizes.adapted && is_matrix) bytes.add_matrix(n, n, element);
  if (shape.negative) bytes.add_matrix(n, 1, tree_bytes + 4 * element);
  if (takes_edge_lists(variant)) {
    if (is_matrix) bytes.add(sparse_graph_bytes(n, shape.edges, false, sizes.element_bytes));
    return bytes.sum();
  }
  const bool chosen_rows = shape.sources >= 0;
  if (!is_matrix) bytes.add_matrix(n, n, element);
  if (chosen_rows && shape.predecessors) bytes.add_matrix(n, n, sizeof(std::int32_t));
  if (variant.device_input) {
    // Memory in which the CPU grows trees, computes levels or selects rows: see gpu/run_on_gpu.hpp.
    if (chosen_rows || (shape.predecessors ? shape.floating || !sizes.positive : shape.floating && shape.negative)) {
      bytes.add_matrix(n, n, static_cast<std::size_t>(shape.element_bytes));
      bytes.add_matrix(n, n, 3 * element);
    }
  } else {
    if (sizes.widened()) bytes.add_matrix(n, n, 2 * element);
    else if (chosen_rows) bytes.add_matrix(n, n, element);
    if (sizes.copied) bytes.add_matrix(n, n, element);
  }
  // Adds the memory for the facts of the rows, and for the edge lists or trees with which predecessors are searched.
  bytes.add_matrix(n, threads, tree_bytes);
  if (shape.predecessors && shape.floating) bytes.add_matrix(n, threads, tree_bytes);  // lengths along the trees
  const std::int64_t few_edges = n * n / 16;
  if (shape.predecessors && (shape.edges < few_edges || sizes.at_most)) {
    bytes.add_matrix(std::min(shape.edges, few_edges), 1, sizeof(std::int32_t) + 2 * element);
    bytes.add_matrix(n, 1, sizeof(std::int64_t));
    constexpr std::int64_t side_by_side = 256;  // bytes of lengths and predecessors per vertex
    bytes.add_matrix(n, threads, side_by_side);
  }
  return bytes.sum();
}

}  // namespace gradus::shortest_paths_detail
