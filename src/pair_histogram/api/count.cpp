// pair_histogram()
#include <limits>
#include <memory>

#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "execution/report.hpp"
#include "execution/whole_call.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/api/steps.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/gpu/gpu_points.hpp"
#include "pair_histogram/prepare.hpp"
#include "pair_histogram/ranks.hpp"
#include "pair_histogram/result.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

namespace {

/// Returns a copy of the request. If the views are on a GPU, the copy selects that GPU.
template <class T>
Execution check(MatrixView<const T> points, const PairHistogramMemory<T>& memory, const Execution& execution) {
  execution::check_execution(execution);
  const std::array places = room::check_views(points, memory);
  return execution::run_on_gpu_of_views<room::Variant>(places, room::variants(), room::Room::name, execution);
}

template <class T>
struct Job {
  room::Arranged<T> arranged;  ///< owns the data that `problem` views
  room::Problem<T> problem;
  room::Shape shape;
  Execution execution;
  bool examined = false;  ///< if false, the points are examined later, on the GPU

  void examine(std::vector<Phase>& phases) {
    const core::PhaseTimer timer(phases, "examine");
    room::examine(problem, cpu::thread_count(execution));
  }
};

/// Returns true if the job runs on a GPU, whatever the values of the points are. The GPU can then examine the points.
bool is_bound_for_gpu(const Execution& execution) {
  if (execution.variant.empty()) return execution.device == Device::gpu;
  return core::find_variant(room::variants(), execution.variant, room::Room::name).device_input;
}

/// Returns the number of threads to use. If the caller did not set this number, chooses one. The counts of the
/// histogram do not depend on the number of threads.
int chosen_threads(std::int64_t points, std::int64_t others, const Execution& execution) {
  // The time per visited pair. If many pairs are skipped, the average over all pairs is smaller.
  constexpr double nanoseconds_a_pair = 0.7;
  const bool chooses =
      execution.threads == 0 &&
      (execution.variant.empty() ||
       core::find_variant(room::variants(), execution.variant, room::Room::name).backend == core::Backend::simd);
  const auto n = static_cast<double>(points);
  const auto m = static_cast<double>(others);
  const double pairs = chooses ? (m > 0 ? n * m : n * n / 2) : std::numeric_limits<double>::infinity();
  return cpu::chosen_threads(pairs * nanoseconds_a_pair, execution);
}

template <class T>
Job<T> describe(MatrixView<const T> points, const PairHistogramOptions& options, const PairHistogramMemory<T>& memory,
                const Execution& asked, std::vector<Phase>& phases) {
  Job<T> job;
  const PairHistogramShape given{.points = points.rows(),
                                 .others = memory.others.rows(),
                                 .dimensions = points.columns(),
                                 .element_bytes = static_cast<int>(sizeof(T))};
  execution::check_memory(room::estimate_copies(given, options), asked);
  job.arranged = room::arrange(points, memory.others, options, cpu::thread_count(asked), asked.stop);
  job.execution = asked;
  if (asked.communicator == nullptr)
    job.execution.threads = chosen_threads(job.arranged.points.rows(), job.arranged.others.rows(), asked);
  job.examined = !is_bound_for_gpu(job.execution);
  PairHistogramMemory<T> arranged_memory = memory;
  arranged_memory.others = job.arranged.others;
  job.problem = room::describe(job.arranged.points, job.arranged.options, arranged_memory, job.execution);
  if (job.examined) job.examine(phases);
  job.shape = job.problem.shape();
  return job;
}

/// Runs the variant. `asked` is the caller's request; the memory estimate uses its thread count.
template <class T>
room::Histogram run(Job<T>& job, const room::Variant& variant, const Execution& asked, const Execution& how,
                    int threads, std::vector<Phase>& phases) {
  const cpu::PinnedTeam team(threads, how.pinning);
  std::shared_ptr<cuda::Job> gpu;
  if (variant.device_input) {
    const core::PhaseTimer timer(phases, "to_device");
    gpu = room::bring_to_gpu(job.problem, how, variant.memory(job.shape, threads).device);
  }
  if (!job.examined) {
    job.examine(phases);
    // By now, the weights have been examined, so this estimate is exact.
    execution::check_memory(room::estimate(job.problem.shape(), variant, asked).host, how);
  }
  return variant.run(job.problem, how, phases);
}

/// Counts this rank's share of the pairs and adds up the shares of all ranks. `stop` is the caller's stop token.
template <class T>
room::Histogram run_on_ranks(core::Ranks& ranks, Job<T>& job, const room::Variant& variant, const Execution& asked,
                             const std::stop_token& stop, int threads, std::vector<Phase>& phases) {
  room::Histogram own;
  room::agree_at_length(ranks, [&](const auto& look) {
    Execution how = job.execution;
    how.stop = job.problem.stop = stop;
    how.progress = [&](const Progress& progress) {
      if (job.execution.progress) job.execution.progress(progress);
      look();
    };
    own = run(job, variant, asked, how, threads, phases);
  });
  job.problem.stop = job.execution.stop;
  return room::sum_of_ranks(ranks, own);
}

template <class T>
PairHistogramResult deliver(const Job<T>& job, const room::Histogram& histogram) {
  PairHistogramResult result = room::result_of(job.problem, histogram);
  if (!job.arranged.options.dimensions.empty()) result.flat.clear();
  return result;
}

template <class T>
PairHistogramResult count(MatrixView<const T> points, const PairHistogramOptions& options,
                          const PairHistogramMemory<T>& memory, const Execution& execution, core::Ranks& ranks,
                          room::RankData data) {
  execution::Timing timing;
  const Execution asked = ranks.is_alone() ? check(points, memory, execution)
                                           : room::begin_on_ranks(ranks, points, options, memory, data, execution);
  Job<T> job;
  const room::Variant* variant = nullptr;
  ranks.agree([&] {
    job = describe(points, options, memory, asked, timing.phases);
    variant = &room::choose_within(job.shape, job.arranged.options, job.execution);
    execution::check_memory(room::estimate(job.shape, *variant, asked).host, job.execution);
  });
  const int threads = execution::threads_of(*variant, cpu::thread_count(job.execution));
  const room::Histogram histogram =
      ranks.is_alone() ? run(job, *variant, asked, job.execution, threads, timing.phases)
                       : run_on_ranks(ranks, job, *variant, asked, execution.stop, threads, timing.phases);
  PairHistogramResult result;
  ranks.agree([&] { result = deliver(job, histogram); });
  execution::deliver(result.report, *variant, job.execution, threads, std::move(timing));
  return result;
}

}  // namespace

template <class T>
PairHistogramResult room::count(MatrixView<const T> points, const PairHistogramOptions& options,
                                const PairHistogramMemory<T>& memory, const Execution& execution, RankData data) {
  return execution::whole_call<T>("pair_histogram", execution, [&](const Execution& here, core::Ranks& ranks) {
    return gradus::count(points, options, memory, here, ranks, data);
  });
}

namespace detail {

template <class T>
PairHistogramResult pair_histogram(MatrixView<const T> points, const PairHistogramOptions& options,
                                   const PairHistogramMemory<T>& memory, const Execution& execution) {
  if (execution::is_for_several_gpus(execution)) return room::count_on_gpus(points, options, memory, execution);
  return room::count(points, options, memory, execution, room::RankData::compared);
}

}  // namespace detail

#define GRADUS_INSTANTIATE(T)                                                                                \
  template PairHistogramResult room::count(MatrixView<const T>, const PairHistogramOptions&,                 \
                                           const PairHistogramMemory<T>&, const Execution&, room::RankData); \
  template PairHistogramResult detail::pair_histogram(MatrixView<const T>, const PairHistogramOptions&,      \
                                                      const PairHistogramMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus
