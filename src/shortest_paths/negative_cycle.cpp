#include "shortest_paths/negative_cycle.hpp"

#include <algorithm>
#include <numeric>

#include "core/text.hpp"
#include "shortest_paths/search_tree.hpp"

namespace gradus::shortest_paths_detail {

std::string text(Int128 number) {
  const bool negative = number < 0;
  std::string digits;
  do {
    const auto digit = static_cast<int>(number % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    number /= 10;
  } while (number != 0);
  if (negative) digits += '-';
  return {digits.rbegin(), digits.rend()};
}

template <class AnyGraph>
void refuse_if_negative(const AnyGraph& graph, std::span<const std::int32_t> cycle) {
  using T = typename AnyGraph::Weight;
  core::ExactAccumulator exact;
  Int128 whole = 0;
  for (std::size_t index = 0; index < cycle.size(); ++index) {
    const std::int32_t next = cycle[(index + 1) % cycle.size()];
    const T weight = graph.weight(cycle[index], next);
    if constexpr (std::is_floating_point_v<T>) exact.add(double{weight});
    else whole += weight;
  }
  std::string length;
  if constexpr (std::is_floating_point_v<T>) {
    if (exact.sign() >= 0) return;
    length = core::number_text(exact.round<double>());
  } else {
    if (whole >= 0) return;
    length = text(whole);
  }
  std::vector<std::int32_t> vertices(cycle.begin(), cycle.end());
  vertices.push_back(cycle.front());
  throw VertexError(about("weights") + "the graph has a negative cycle, ", vertices, " -> ",
                    ", of length " + length + "; routes through it have no least length",
                    {.code = error_code::negative_cycle, .value = length});
}

template <class AnyGraph>
std::vector<Wider<typename AnyGraph::Weight>> refuse_negative_cycles(const AnyGraph& graph,
                                                                     const std::stop_token& stop) {
  using Label = Wider<typename AnyGraph::Weight>;
  const std::int64_t n = graph.n();
  if (graph.negative_loop() >= 0) {
    const auto vertex = static_cast<std::int32_t>(graph.negative_loop());
    refuse_if_negative(graph, std::span(&vertex, 1));
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  SearchTree<Label> tree(n);
  tree.search(
      graph, -1, order, [&](const std::vector<std::int32_t>& cycle) { refuse_if_negative(graph, cycle); }, stop);
  std::vector<Label> least(static_cast<std::size_t>(n));
  for (std::int64_t v = 0; v < n; ++v) least[static_cast<std::size_t>(v)] = tree.label(v);
  return least;
}

#define GRADUS_INSTANTIATE(G)                                                \
  template void refuse_if_negative(const G&, std::span<const std::int32_t>); \
  template std::vector<Wider<G::Weight>> refuse_negative_cycles(const G&, const std::stop_token&)
GRADUS_INSTANTIATE(Graph<std::int32_t>);
GRADUS_INSTANTIATE(Graph<std::int64_t>);
GRADUS_INSTANTIATE(Graph<float>);
GRADUS_INSTANTIATE(Graph<double>);
GRADUS_INSTANTIATE(SparseGraph<std::int32_t>);
GRADUS_INSTANTIATE(SparseGraph<std::int64_t>);
GRADUS_INSTANTIATE(SparseGraph<float>);
GRADUS_INSTANTIATE(SparseGraph<double>);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
