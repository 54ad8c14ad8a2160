// matmul_memory()
#include <algorithm>
#include <string>

#include "core/float_environment.hpp"
#include "cpu/threads.hpp"
#include "matmul/api/steps.hpp"
#include "matmul/gpu/operands.hpp"
#include "matmul/measure.hpp"

namespace gradus {

namespace room = matmul_detail;

namespace {

/// Checks the parameters and returns `execution`. If the matrices are on a GPU, the returned copy selects that GPU.
Execution check(const MatmulShape& shape, const MatmulOptions& options, const Execution& execution) {
  execution::check_execution(execution);
  execution::check_element_bytes(shape.element_bytes);
  room::check(options, shape.element_bytes);
  for (const std::int64_t size : {shape.rows, shape.columns, shape.depth, shape.batches})
    if (size < 0) throw UsageError("a product of " + std::to_string(size) + " of something; sizes are not negative");
  execution::check_size({shape.batches, shape.rows, shape.columns, shape.element_bytes}, "C");
  execution::check_size({shape.batches, shape.rows, shape.depth, shape.element_bytes}, "A");
  execution::check_size({shape.batches, shape.depth, shape.columns, shape.element_bytes}, "B");
  const execution::NamedPlace places[] = {{shape.place, "the matrices"}};
  return execution::run_on_gpu_of_views<room::Variant>(places, room::variants(), room::Room::name, execution);
}

room::Shape describe(const MatmulShape& shape, const MatmulOptions& options, const Execution& here) {
  room::Shape sizes{.batches = shape.batches,
                    .m = shape.rows,
                    .n = shape.columns,
                    .k = shape.depth,
                    .element_bytes = shape.element_bytes,
                    .accuracy = room::wanted_accuracy(options, here),
                    .totals = options.beta != 0 || !shape.contiguous_result};
  sizes.bring = room::most_to_bring(sizes, !shape.place.is_host());
  return sizes;
}

/// Returns the size in bytes of the elements that are kept for measuring the error.
template <class T>
std::uint64_t sample_bytes(const MatmulShape& shape, const MatmulOptions& options) {
  room::Problem<T> problem;
  problem.batches = shape.batches;
  problem.m = shape.rows;
  problem.n = shape.columns;
  problem.k = shape.depth;
  problem.beta = static_cast<T>(options.beta);
  return room::ErrorSample<T>::bytes(problem);
}

MemoryEstimate estimate(const room::Shape& sizes, const room::Variant& variant, const MatmulShape& shape,
                        const MatmulOptions& options, int threads) {
  MemoryEstimate most = variant.memory(sizes, threads);
  // If all products of a batch share one A or one B, join_batch() may replace the batch by a single product.
  for (std::int64_t room::Shape::*const side : {&room::Shape::m, &room::Shape::n}) {
    if (sizes.operations() == 0) break;  // if there is nothing to compute, sizes may be too large to multiply
    room::Shape joined = sizes;
    joined.*side *= joined.batches;
    joined.batches = 1;
    const MemoryEstimate of_joined = variant.memory(joined, threads);
    most = {std::max(most.host, of_joined.host), std::max(most.device, of_joined.device)};
  }
  if (options.measure_error) {
    most.host += shape.element_bytes == sizeof(float) ? sample_bytes<float>(shape, options)
                                                      : sample_bytes<double>(shape, options);
  }
  return most;
}

}  // namespace

MemoryEstimate matmul_memory(const MatmulShape& shape, const MatmulOptions& options, const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  const Execution here = check(shape, options, execution);
  const room::Shape sizes = describe(shape, options, here);
  return estimate(sizes, room::choose(sizes, here), shape, options, cpu::thread_count(here));
}

}  // namespace gradus
