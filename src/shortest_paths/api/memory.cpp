// shortest_paths_memory()
#include <limits>
#include <string>

#include "core/float_environment.hpp"
#include "cpu/threads.hpp"
#include "shortest_paths/api/steps.hpp"
#include "shortest_paths/memory.hpp"
#include "shortest_paths/options.hpp"

namespace gradus {

namespace room = shortest_paths_detail;

namespace {

void check(const ShortestPathsShape& shape, const ShortestPathsOptions& options, const Execution& execution) {
  execution::check_execution(execution);
  execution::check_element_bytes(shape.element_bytes);
  const std::int64_t n = shape.vertices;
  if (n < 0 || n > std::numeric_limits<std::int32_t>::max())
    throw UsageError("a graph has 0 to 2147483647 vertices, not " + std::to_string(n));
  room::check_sources(options.sources, n);
  core::check_options(options);
  if (shape.edges < -1)
    throw UsageError(about("edges") + std::to_string(shape.edges) + " is not a number of them, nor -1");
  execution::check_size({shape.edges < 0 ? 1 : shape.edges, 64}, "edges");
}

room::Sizes describe(const ShortestPathsShape& shape, const ShortestPathsOptions& options) {
  const bool is_matrix = shape.edges < 0;
  const std::int64_t n = shape.vertices;
  const std::int64_t given = is_matrix ? n * std::max<std::int64_t>(n - 1, 0) : shape.edges;
  room::Sizes sizes;
  sizes.listed = is_matrix ? -1 : shape.edges;
  sizes.element_bytes = shape.element_bytes;
  sizes.adapted = options.undirected || options.unweighted;
  sizes.undirected = options.undirected;
  sizes.at_most = true;
  const bool next = shape.wide_sums && shape.element_bytes == 4;
  sizes.shape = {.vertices = n,
                 .edges = options.undirected && !is_matrix ? 2 * given : given,
                 .sources = options.sources.empty() ? -1 : std::ssize(options.sources),
                 .element_bytes = next ? 8 : shape.element_bytes,
                 .floating = shape.floating,
                 .negative = shape.negative,
                 .wide = shape.wide_sums && !next,
                 .predecessors = options.predecessors};
  sizes.copied = is_matrix && shape.in_place && (options.predecessors || (shape.floating && shape.negative));
  return sizes;
}

}  // namespace

MemoryEstimate shortest_paths_memory(const ShortestPathsShape& shape, const ShortestPathsOptions& options,
                                     const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  check(shape, options, execution);
  const room::Sizes sizes = describe(shape, options);
  const room::Variant& variant = room::choose(sizes.shape, execution);
  const int threads = cpu::thread_count(execution);
  return {.host = room::work_bytes(sizes, variant, threads), .device = variant.memory(sizes.shape, threads).device};
}

}  // namespace gradus
