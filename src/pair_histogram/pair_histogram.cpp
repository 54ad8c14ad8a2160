// The public entry points: check, choose, run.
#include "gradus/pair_histogram.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/float_environment.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/gpu/gpu_points.hpp"
#include "pair_histogram/prepare.hpp"
#include "pair_histogram/ranks.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

namespace {

constexpr const char* problem_name = "pair_histogram";

template <class T>
std::array<execution::NamedPlace, 4> places(MatrixView<const T> points, const PairHistogramMemory<T>& memory) {
  return {{{points.place(), "points"},
           {memory.others.place(), "others"},
           {memory.weights.place(), "weights"},
           {memory.other_weights.place(), "other weights"}}};
}

/// The request, with the GPU on which views lie as the one to run on.
template <class T>
Execution where_views_lie(MatrixView<const T> points, const PairHistogramMemory<T>& memory,
                          const Execution& execution) {
  execution::check_execution(execution);
  execution::check_view(points, "points");
  execution::check_view(memory.others, "others");
  execution::check_view(memory.weights, "weights");
  execution::check_view(memory.other_weights, "other weights");
  return execution::where_views_lie<room::Variant>(places(points, memory), room::variants(), problem_name, execution);
}

/// Whether the job runs on a GPU whatever the points are like, so that they can be looked at there.
bool is_bound_for_gpu(const Execution& execution) {
  if (execution.variant.empty()) return execution.device == Device::gpu;
  return core::find_variant(room::variants(), execution.variant, problem_name).device_input;
}

/// The request, with a number of threads where it leaves that to the library: the counts do not depend on it.
template <class T>
Execution with_threads(MatrixView<const T> points, const PairHistogramMemory<T>& memory, const Execution& execution) {
  constexpr double nanoseconds_a_pair = 0.7;  // of those that are looked at; the more are passed over, the less of it
  Execution here = execution;
  const bool chooses =
      execution.threads == 0 &&
      (execution.variant.empty() ||
       core::find_variant(room::variants(), execution.variant, problem_name).backend == core::Backend::simd);
  const auto n = static_cast<double>(points.rows());
  const auto m = static_cast<double>(memory.others.rows());
  const double pairs = chooses ? (m > 0 ? n * m : n * n / 2) : std::numeric_limits<double>::infinity();
  here.threads = cpu::chosen_threads(pairs * nanoseconds_a_pair, execution);
  return here;
}

const room::Variant& select(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant =
      execution::wanted_variant(room::variants(), room::choose, shape, execution, problem_name);
  execution::check_runs_here(variant, shape, execution, problem_name);
  return variant;
}

std::uint64_t host_memory(const room::Shape& shape, const Execution& execution, const room::Variant& variant) {
  // Edges and thresholds of the bins; edges, counts and weights of the result.
  const std::uint64_t bin_bytes = shape.weighted ? 40 : 32;
  const std::int64_t travels =  // and the sum of what did
      execution.communicator == nullptr ? 0
                                        : room::words_on_ranks(shape.bins + 2, shape.weighted ? shape.sum_words : 0);
  return bin_bytes * static_cast<std::uint64_t>(shape.bins + 2) +
         2 * sizeof(std::uint64_t) * static_cast<std::uint64_t>(travels) +
         variant.memory(shape, cpu::thread_count(execution)).host;
}

/// Copies of points that are folded, or whose columns do not all count.
std::uint64_t arranged_bytes(const PairHistogramShape& shape, const PairHistogramOptions& options) {
  const auto rows = static_cast<std::uint64_t>(shape.points + shape.others);
  const std::uint64_t copies = (options.dimensions.empty() ? 0 : 1) + (options.fold ? 1 : 0);
  return copies * rows * static_cast<std::uint64_t>(shape.dimensions * shape.element_bytes);
}

/// What is copied to a GPU.
std::uint64_t copied_bytes(const PairHistogramShape& shape) {
  if (!shape.place.is_host()) return 0;
  return static_cast<std::uint64_t>(shape.points + shape.others) *
         static_cast<std::uint64_t>(shape.dimensions + (shape.weighted ? 1 : 0)) *
         static_cast<std::uint64_t>(shape.element_bytes);
}

[[noreturn]] void throw_sum_too_large(const std::vector<double>& edges, std::size_t bin) {
  throw InputError("weights: the sum of their products in bin " + std::to_string(bin) + " (counted from 0), from " +
                   core::number_text(edges[bin]) + " to " + core::number_text(edges[bin + 1]) +
                   ", is beyond the largest double; divide the weights by a power of two");
}

/// The column in which all points are at one place and the box is less than half as long as in any other.
template <class T>
std::string flat_column(const room::Problem<T>& problem) {
  if (problem.d() != room::dimension_limit || !problem.periodic || problem.n() + (problem.cross ? problem.m() : 0) < 3)
    return {};
  for (std::size_t column = 0; column < problem.box.size(); ++column) {
    const auto is_thin = [&](std::size_t other) {
      return other == column || 2 * problem.box[column] < problem.box[other];
    };
    if (problem.lowest[column] == problem.highest[column] && is_thin(0) && is_thin(1) && is_thin(2))
      return std::string(1, "xyz"[column]);
  }
  return {};
}

/// The histogram as a person gets it. What lies beyond the bins is what is missing from the number of all pairs.
template <class T>
PairHistogramResult finish(const room::Problem<T>& problem, const room::Histogram& histogram) {
  PairHistogramResult result;
  const auto bins = static_cast<std::ptrdiff_t>(problem.bins.count());
  result.edges = problem.bins.nominal_edges();
  result.flat = flat_column(problem);
  result.counts.assign(histogram.counts.begin() + 1, histogram.counts.begin() + 1 + bins);
  result.below = histogram.counts.front();
  result.pairs = static_cast<std::uint64_t>(room::pair_count(problem.n(), problem.m(), problem.cross));
  std::uint64_t counted = result.below;
  for (const std::uint64_t count : result.counts) counted += count;
  if (counted > result.pairs)
    throw Error("internal error: " + std::to_string(counted) + " of " + std::to_string(result.pairs) +
                " pairs were counted");
  result.beyond = result.pairs - counted;
  const std::int64_t stretch = core::stretch_length(bins, 16 + histogram.sum_words);
  for (std::ptrdiff_t bin = 0; problem.weighted() && bin < bins; ++bin) {
    if (bin % stretch == 0) core::honour_stop(problem.stop, room::while_adding_up);
    result.weighted.push_back(problem.sums.round(histogram.sum(bin + 1)));
    if (std::isinf(result.weighted.back())) throw_sum_too_large(result.edges, static_cast<std::size_t>(bin));
  }
  if (result.pairs > 0)
    result.report.rechecked = static_cast<double>(histogram.rechecked) / static_cast<double>(result.pairs);
  return result;
}

}  // namespace

MemoryEstimate pair_histogram_memory(const PairHistogramShape& shape, const PairHistogramOptions& options,
                                     const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  execution::check_execution(execution, execution::TakesRanks::yes);
  Execution here = execution::run_where_it_lies(shape.place, "points", execution);
  if (here.communicator != nullptr) here.device = Device::cpu;
  PairHistogramShape arranged = shape;
  const room::Shape sizes = room::describe_shape(arranged, room::arranged_options(options, arranged.dimensions), here);
  const std::uint64_t copies = arranged_bytes(shape, options);
  // Which variant the points would have chosen is not known: the most that one of them takes.
  MemoryEstimate most;
  const auto consider = [&](const room::Variant& variant) {
    const core::Memory memory = variant.memory(sizes, cpu::thread_count(here));
    most.host = std::max(most.host, host_memory(sizes, here, variant) + copies);
    if (variant.device_input) most.device = std::max(most.device, memory.device + copied_bytes(shape));
  };
  if (!here.variant.empty()) {
    consider(select(sizes, here));
    return most;
  }
  for (const room::Variant* variant : room::choosable(sizes, execution::this_machine(), here.device)) {
    // Only a GPU has blocks of threads; the job refuses a size of them where it runs on the processor.
    if (here.block_size != 0 && !variant->device_input) continue;
    consider(*variant);
  }
  if (here.block_size != 0 && most.host == 0) select(sizes, here);
  return most;
}

namespace {

template <class T>
PairHistogramResult count(MatrixView<const T> given_points, const PairHistogramOptions& given_options,
                          const PairHistogramMemory<T>& given_memory, const Execution& execution, core::Ranks& ranks) {
  const auto start = core::Clock::now();
  std::vector<Phase> phases;
  const Execution asked = ranks.is_alone()
                              ? where_views_lie(given_points, given_memory, execution)
                              : room::begin_on_ranks(ranks, given_points, given_options, given_memory, execution);
  room::Arranged<T> arranged;
  ranks.agree([&] {
    const PairHistogramShape shape{.points = given_points.rows(),
                                   .others = given_memory.others.rows(),
                                   .dimensions = given_points.columns(),
                                   .element_bytes = static_cast<int>(sizeof(T))};
    execution::check_memory(arranged_bytes(shape, given_options), asked);
    arranged = room::arrange(given_points, given_memory.others, given_options, cpu::thread_count(asked), asked.stop);
  });
  const MatrixView<const T> points = arranged.points;
  const PairHistogramOptions& options = arranged.options;
  PairHistogramMemory<T> memory = given_memory;
  memory.others = arranged.others;
  const Execution here = ranks.is_alone() ? with_threads(points, memory, asked) : asked;
  room::Problem<T> problem;
  const auto examine = [&] {
    const core::PhaseTimer timer(phases, "examine");
    room::examine(problem, cpu::thread_count(here));
  };
  const bool examine_on_gpu = is_bound_for_gpu(here);
  room::Shape shape;
  const room::Variant* chosen = nullptr;
  ranks.agree([&] {
    problem = room::describe(points, options, memory, here);
    if (!examine_on_gpu) examine();
    shape = problem.shape();
    chosen = &select(shape, here);
    // With all threads, as pair_histogram_memory() says.
    execution::check_memory(host_memory(shape, asked, *chosen), here);
  });
  const room::Variant& variant = *chosen;

  const int threads = variant.backend == core::Backend::sequential ? 1 : cpu::thread_count(here);
  const auto run = [&](const Execution& how) {
    const cpu::PinnedTeam team(threads, here.pinning);
    std::shared_ptr<cuda::Job> gpu;
    if (variant.device_input) {
      const core::PhaseTimer timer(phases, "to_device");
      if constexpr (cuda::is_compiled) gpu = room::bring_to_gpu(problem, here, variant.memory(shape, threads).device);
      else cuda::refuse_without_cuda("points");
    }
    if (examine_on_gpu) {
      examine();
      // Now that the weights were looked at.
      execution::check_memory(host_memory(problem.shape(), asked, variant), here);
    }
    return variant.run(problem, how, phases);
  };
  PairHistogramResult result;
  if (ranks.is_alone()) {
    result = finish(problem, run(here));
  } else {
    room::Histogram own;
    room::agree_at_length(ranks, [&](const auto& look) {
      Execution how = here;
      how.stop = problem.stop = execution.stop;
      how.progress = [&](const Progress& progress) {
        if (here.progress) here.progress(progress);
        look();
      };
      own = run(how);
    });
    problem.stop = here.stop;
    const room::Histogram all = room::sum_of_ranks(ranks, own);
    ranks.agree([&] { result = finish(problem, all); });
  }
  if (!options.dimensions.empty()) result.flat.clear();
  result.report.variant = variant.name;
  result.report.device = execution::device_name(variant.device_input, here);
  result.report.threads = threads;
  core::add_phase(phases, "total", core::seconds_since(start));
  result.report.phases = std::move(phases);
  return result;
}

}  // namespace

namespace detail {

template <class T>
PairHistogramResult pair_histogram(MatrixView<const T> points, const PairHistogramOptions& options,
                                   const PairHistogramMemory<T>& memory, const Execution& execution) {
  return execution::whole_call<T>("pair_histogram", execution, [&](const Execution& here, core::Ranks& ranks) {
    return count(points, options, memory, here, ranks);
  });
}

#define GRADUS_INSTANTIATE(T)                                                                   \
  template PairHistogramResult pair_histogram(MatrixView<const T>, const PairHistogramOptions&, \
                                              const PairHistogramMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace detail

void pair_histogram_accumulate(PairHistogramResult& sum, const PairHistogramResult& next) {
  const core::DefaultFloatEnvironment environment;
  for (const PairHistogramResult* one : {&std::as_const(sum), &next})
    if (one->edges.size() != one->counts.size() + 1 ||
        (!one->weighted.empty() && one->weighted.size() != one->counts.size()))
      throw UsageError("a histogram must have one edge more than counts, and a weight for each of them or none");
  if (sum.edges != next.edges || sum.weighted.size() != next.weighted.size())
    throw UsageError("histograms of different bins, or with weights and without, cannot be added");
  if (next.pairs > std::numeric_limits<std::uint64_t>::max() - sum.pairs)
    throw InputError("more than 2^64 pairs, all histograms together, cannot be counted");
  for (std::size_t bin = 0; bin < sum.weighted.size(); ++bin)
    if (!std::isfinite(sum.weighted[bin] + next.weighted[bin])) throw_sum_too_large(sum.edges, bin);
  const double rechecked = sum.report.rechecked * static_cast<double>(sum.pairs) +  // of pairs
                           next.report.rechecked * static_cast<double>(next.pairs);
  for (std::size_t bin = 0; bin < sum.counts.size(); ++bin) sum.counts[bin] += next.counts[bin];
  for (std::size_t bin = 0; bin < sum.weighted.size(); ++bin) sum.weighted[bin] += next.weighted[bin];
  sum.below += next.below;
  sum.beyond += next.beyond;
  sum.pairs += next.pairs;
  sum.report.rechecked = sum.pairs > 0 ? rechecked / static_cast<double>(sum.pairs) : 0;
  if (sum.flat.empty()) sum.flat = next.flat;
  for (const Phase& phase : next.report.phases) core::add_phase(sum.report.phases, phase.name, phase.seconds);
}

PairHistogramBins pair_histogram_complete_bins(PairHistogramBins bins, const std::vector<double>& box) {
  return pair_histogram_complete_bins(PairHistogramOptions{.bins = std::move(bins), .box = box});
}

PairHistogramBins pair_histogram_complete_bins(const PairHistogramOptions& options) {
  const core::DefaultFloatEnvironment environment;
  PairHistogramBins bins = options.bins;
  if (!(bins.bin_width > 0) || !bins.edges.empty() || bins.bins != 0) return bins;
  const std::string missing =
      "the number of bins is missing: give it, or a cutoff up to which they go, or a periodic box, up to half of "
      "which they go";
  if (bins.cutoff == 0 && options.box.empty()) throw UsageError(missing);
  if (bins.cutoff == 0) {
    std::int64_t columns = room::columns_for(options);
    const PairHistogramOptions arranged = room::arranged_options(options, columns);
    if (arranged.box.empty()) throw UsageError(missing);
    room::check_box(arranged.box, {}, columns);
    bins.cutoff = room::greatest_reach(arranged.box);
  }
  double count = std::ceil(bins.cutoff / bins.bin_width);
  if (count * bins.bin_width < bins.cutoff) ++count;  // the quotient was rounded down to a whole number
  if (!(count <= static_cast<double>(room::bin_limit)))
    throw UsageError("a bin width of " + core::number_text(bins.bin_width) + " up to " +
                     core::number_text(bins.cutoff) + " makes more bins than the supported " +
                     std::to_string(room::bin_limit));
  bins.bins = static_cast<std::int64_t>(count);
  return bins;
}

bool pair_histogram_has_volume(const PairHistogramOptions& options) { return room::repeats_everywhere(options); }

double pair_histogram_volume(const std::vector<double>& box, const std::string& periodic,
                             const std::string& dimensions) {
  const core::DefaultFloatEnvironment environment;
  PairHistogramOptions options;
  options.box = box;
  options.periodic = periodic;
  options.dimensions = dimensions;
  if (options.box.empty()) throw UsageError("box: open space has no volume");
  if (!pair_histogram_has_volume(options))
    throw UsageError("box: it is periodic in " + options.periodic +
                     " only, and open directions have no volume; give that of the points");
  std::int64_t columns = room::columns_for(options);
  const PairHistogramOptions arranged = room::arranged_options(options, columns);
  const std::vector<double>& closed_box = arranged.box;
  room::check_box(closed_box, {}, columns);
  if (room::is_triclinic(closed_box) && dimensions.size() == 2)
    return std::abs(closed_box[0] * closed_box[4] - closed_box[1] * closed_box[3]);
  if (room::is_triclinic(closed_box)) return std::abs(room::Cell::reduced(closed_box).volume());
  double volume = 1;
  for (const double length : closed_box) volume *= length;
  return volume;
}

}  // namespace gradus
