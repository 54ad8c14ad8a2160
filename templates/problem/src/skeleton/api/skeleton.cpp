// skeleton() and skeleton_memory(). A call has the steps check, describe, choose, estimate, run and deliver.
#include "gradus/skeleton.hpp"

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "skeleton/problem.hpp"

namespace gradus {

namespace room = skeleton_detail;

namespace {

void check(VectorView<const std::uint64_t> values, const Execution& execution) {
  execution::check_execution(execution);
  execution::check_view(values, "values");
  execution::check_reachable(values.place(), "the values", false, 0);
}

const room::Variant& choose(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant =
      execution::wanted_variant(room::variants(), room::choose, shape, execution, room::Room::name);
  execution::check_runs_here(variant, shape, execution, room::Room::name);
  return variant;
}

}  // namespace

SkeletonResult skeleton(VectorView<const std::uint64_t> values, const SkeletonOptions& options,
                        const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    const auto start = core::Clock::now();
    check(values, here);
    const room::Problem problem{.values = values, .start = options.start, .stop = here.stop};
    const room::Variant& variant = choose(problem.shape(), here);
    const int threads = cpu::start_team(variant.backend == core::Backend::sequential ? 1 : cpu::thread_count(here));
    execution::check_memory(variant.memory(problem.shape(), threads).host, here);
    SkeletonResult result;
    result.sum = variant.run(problem, here, result.report.phases);
    result.report.variant = variant.name;
    result.report.device = execution::device_name(variant.backend == core::Backend::cuda, here);
    result.report.threads = threads;
    core::add_phase(result.report.phases, "total", core::seconds_since(start));
    return result;
  });
}

MemoryEstimate skeleton_memory(const SkeletonShape& shape, const SkeletonOptions&, const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    execution::check_execution(here);
    if (shape.values < 0) throw UsageError("values: " + std::to_string(shape.values) + " is not a number of values");
    const room::Shape sizes{.values = shape.values};
    return choose(sizes, here).memory(sizes, cpu::thread_count(here));
  });
}

}  // namespace gradus
