// Benchmarks locks: threads enter critical sections that one lock protects.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "locks/cases.hpp"

namespace gradus::bench {

namespace {

using locks_detail::Problem;
using locks_detail::Result;
using locks_detail::Variant;
using nlohmann::ordered_json;

constexpr std::string_view problem_name = "locks";
// The maximum number of timed waits. Waits are timed in a separate run, because timing a wait reads the clock twice,
// which would slow down the measured run.
constexpr std::int64_t most_timed_waits = 200000;

std::string nanoseconds(double value) { return fmt::format("{:.3g}", value); }

/// A workload of threads that compete for one lock. Each thread works inside and outside of the critical section.
class LockWorkload : public Workload {
 public:
  LockWorkload(Problem problem, std::stop_token stop) : problem_(std::move(problem)) {
    problem_.stop = std::move(stop);
  }

  std::string title() const override {
    return fmt::format("{} critical sections of {} steps, {} steps between them", problem_.sections, problem_.critical,
                       problem_.outside);
  }

  ordered_json facts() const override {
    return {{"sections", problem_.sections}, {"critical", problem_.critical}, {"outside", problem_.outside}};
  }

  core::Support support(std::string_view variant) const override {
    return variant_called(variant).supports(problem_.shape(), execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    for_each_sound(rows, "verify", report, [&](Row& row) {
      Problem timed = problem_;
      timed.sections = std::min(timed.sections, most_timed_waits);
      timed.times_waits = true;
      const PeakMemory memory;
      Result result = contend(row, timed);
      row.memory_bytes = memory.bytes();
      RowStatistics& statistics = statistics_[row.index];
      statistics = {};
      statistics.waits = result.waits;
    });
    return "mutual exclusion, and that no update is lost, in each run of a lock";
  }

  Sample run(const Row& row) override {
    const Result result = contend(row, problem_);
    RowStatistics& statistics = statistics_.at(row.index);
    const auto sections = static_cast<double>(std::max<std::int64_t>(1, result.sections()));
    statistics.jain.push_back(result.jain());
    statistics.again.push_back(static_cast<double>(result.again) / sections);
    statistics.near.push_back(static_cast<double>(result.near) / sections);
    statistics.processor.push_back(1e9 * result.processor_seconds / sections);
    statistics.lost.push_back(static_cast<double>(result.sections() - result.counted) / sections);
    return {result.seconds, 1, {}};
  }

  std::vector<Work> work(const Row&) const override { return {}; }

  std::vector<Figure> figures(const Row& row) const override {
    const RowStatistics& statistics = statistics_.at(row.index);
    const double rate = static_cast<double>(problem_.sections) / row.seconds.median;
    const auto wait = [&](double share) { return static_cast<double>(statistics.waits.percentile(share)); };
    const double jain = median(statistics.jain);
    const double again = median(statistics.again);
    const double near = median(statistics.near);
    const double processor = median(statistics.processor);
    const double lost = median(statistics.lost);
    const auto longest = static_cast<double>(statistics.waits.longest());
    const std::int64_t bytes = variant_called(row.variant).facts.bytes;
    return {{"sections_per_second", rate, "M/s", fmt::format("{:.3g}", 1e-6 * rate)},
            {"jain_index", jain, "Jain", fmt::format("{:.2f}", jain)},
            {"wait_median_ns", wait(0.5), "wait ns", nanoseconds(wait(0.5))},
            {"wait_99_ns", wait(0.99), "99 %", nanoseconds(wait(0.99))},
            {"wait_99_9_ns", wait(0.999)},
            {"wait_longest_ns", longest, "longest", nanoseconds(longest)},
            {"same_thread", again, "again", fmt::format("{:.2f}", again)},
            {"same_memory_node", near, "near", fmt::format("{:.2f}", near)},
            {"processor_ns", processor, "CPU ns", nanoseconds(processor)},
            {"lost_updates", lost, "lost", fmt::format("{:.2g}", lost)},
            {"lock_bytes", bytes, "bytes", bytes > 0 ? fmt::format("{}", bytes) : "-"}};
  }

 private:
  struct RowStatistics {
    locks_detail::Waits waits;
    std::vector<double> jain;
    std::vector<double> again;
    std::vector<double> near;
    std::vector<double> processor;
    std::vector<double> lost;
  };

  static const Variant& variant_called(std::string_view name) {
    return core::find_variant(locks_detail::variants(), name, problem_name);
  }

  /// Runs the threads. Throws VerificationError if the lock has not ensured mutual exclusion.
  static Result contend(const Row& row, const Problem& problem) {
    const Variant& variant = variant_called(row.variant);
    std::vector<Phase> phases;
    Result result = variant.run(problem, execution_of(row, problem.stop), phases);
    const std::string fault = locks_detail::judge(problem, result, variant, row.threads);
    if (!fault.empty()) throw VerificationError(fmt::format("{} with {} threads: {}", row.variant, row.threads, fault));
    return result;
  }

  Problem problem_;
  std::map<std::size_t, RowStatistics> statistics_;
};

class LockWorkloads : public Workloads {
 public:
  std::vector<Axis> axes() override {
    return {
        {.name = "sections",
         .letter = "",
         .form = "N",
         .help = "critical sections of a run, by all threads together",
         .initial = "200000",
         .parse = [this](const std::string& label,
                         const std::string& text) { sections_ = parse_whole(label, text, 1, std::int64_t{1} << 40); }},
        {.name = "critical",
         .letter = "",
         .form = "STEPS,...",
         .help = "work inside a critical section, in steps of about a nanosecond",
         .initial = "0",
         .parse = [this](const std::string& label,
                         const std::string& text) { critical_ = parse_whole_list(label, text, 0, 1 << 30); }},
        {.name = "outside",
         .letter = "",
         .form = "STEPS,...",
         .help = "work of a thread between two of its critical sections",
         .initial = "0",
         .parse = [this](const std::string& label,
                         const std::string& text) { outside_ = parse_whole_list(label, text, 0, 1 << 30); }},
    };
  }

  void prepare(const InputCallbacks&) override {}

  void scale(double share) override {
    sections_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(sections_)));
  }

  void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) override {
    for (const int critical : critical_)
      for (const int outside : outside_) {
        Problem problem;
        problem.sections = sections_;
        problem.critical = critical;
        problem.outside = outside;
        LockWorkload workload(std::move(problem), callbacks.stop);
        use(workload);
      }
  }

 private:
  std::int64_t sections_ = 200000;
  std::vector<int> critical_{0};
  std::vector<int> outside_{0};
};

}  // namespace

extern const ProblemRow locks_problem;
const ProblemRow locks_problem{
    .name = problem_name,
    .summary = "mutual exclusion: from one flag to queues of threads",
    .figures =
        "M/s: critical sections, in 10^6 per second. Jain: (sum x)^2 / (n sum x^2) of the threads' sections x, 1 if "
        "all had the same number. wait: from requesting the lock to holding it, in nanoseconds, in a separate run "
        "whose clock reads take as long as a short section: the median, what 99 % did not exceed, and the longest. "
        "again, near: the share of sections whose thread, or one of the same node of the memory, was the last inside. "
        "If again is near 1 with several threads, these ran one after the other: measure more --sections. CPU: "
        "CPU time of all threads over sections. lost: the share of updates that were lost. bytes: of a lock.",
    .ladder = &locks_detail::ladder,
    .verify = verify_room<locks_detail::Trial>,
    .cases = case_names_of<locks_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<LockWorkloads>(); },
};

}  // namespace gradus::bench
