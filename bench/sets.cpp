// Benchmarks concurrent sets.
#include "gradus/sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "sets/cases.hpp"

namespace gradus::bench {

namespace {

using nlohmann::ordered_json;
using sets_detail::Mix;
using sets_detail::Outcome;
using sets_detail::Problem;

constexpr std::string_view problem_name = "sets";

struct SetAxes {
  std::vector<std::int64_t> sizes{1024};
  std::vector<Mix> mixes{{80, 10, 10}};
  std::int64_t operations = 200000;
  double most_seconds = 0;
  std::uint64_t seed = 1;
};

std::string text(const Mix& mix) { return fmt::format("{}/{}/{}", mix.contains, mix.insert, mix.erase); }

Mix parse_mix(const std::string& label, const std::string& text) {
  std::vector<int> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    parts.push_back(static_cast<int>(parse_whole(label, text.substr(begin, end - begin), 0, 100)));
    begin = end + 1;
  }
  if (parts.size() != 3 || parts[0] + parts[1] + parts[2] != 100)
    throw UsageError(fmt::format("{}: '{}' should be three shares of a hundred, as in 80/10/10", label, text));
  return {parts[0], parts[1], parts[2]};
}

/// A workload of threads that use a set of a given size, with one mix of calls.
class SetWorkload : public Workload {
 public:
  SetWorkload(std::int64_t size, const Mix& mix, const SetAxes& axes, std::stop_token stop) {
    problem_.range = 2 * size;
    problem_.operations = axes.operations;
    problem_.most_seconds = axes.most_seconds;
    problem_.mix = mix;
    problem_.seed = axes.seed;
    problem_.stop = std::move(stop);
  }

  std::string title() const override {
    return fmt::format("{} keys of {}, {} calls: {} % contains, {} % insert, {} % erase", problem_.range / 2,
                       problem_.range, problem_.operations, problem_.mix.contains, problem_.mix.insert,
                       problem_.mix.erase);
  }

  ordered_json facts() const override {
    return {{"size", problem_.range / 2},
            {"range", problem_.range},
            {"mix", text(problem_.mix)},
            {"operations", problem_.operations},
            {"most_seconds", problem_.most_seconds},
            {"seed", problem_.seed}};
  }

  core::Support support(std::string_view variant) const override {
    return find(variant).supports(problem_.shape(), execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    Problem recorded = problem_;
    recorded.records = true;
    recorded.operations = std::min<std::int64_t>(problem_.operations, 20000);
    for_each_sound(rows, "verify", report, [&](Row& row) {
      const PeakMemory memory;
      const std::string fault = find_fault(recorded, use(row, recorded));
      row.memory_bytes = memory.bytes();
      if (!fault.empty()) mark_wrong(row, fault);
    });
    return fmt::format("{} calls each{} by a recorded, linearizable history; every run by its keys and their sum",
                       recorded.operations, recorded.most_seconds > 0 ? ", or fewer where they took long," : "");
  }

  Sample run(const Row& row) override {
    std::vector<Phase> phases;
    const Outcome outcome = use(row, problem_, &phases);
    if (const std::string fault = find_fault(problem_, outcome); !fault.empty())
      throw VerificationError(fmt::format("{} with {} threads: {}", row.variant, row.threads, fault));
    RowStatistics& statistics = statistics_[row.index];
    statistics.peak_garbage = std::max(statistics.peak_garbage, outcome.peak_garbage_bytes);
    statistics.leaked = std::max(statistics.leaked, outcome.leaked_bytes);
    statistics.yes =
        static_cast<double>(outcome.answered_yes) / static_cast<double>(std::max<std::int64_t>(1, outcome.operations));
    // Extrapolates from the measured calls to all calls.
    const auto calls = static_cast<double>(std::max<std::int64_t>(1, outcome.operations));
    return sample_of(outcome.seconds * static_cast<double>(problem_.operations) / calls, phases);
  }

  std::vector<Work> work(const Row&) const override { return {}; }

  std::vector<Figure> figures(const Row& row) const override {
    const double rate = static_cast<double>(problem_.operations) / row.seconds.median;
    const RowStatistics statistics = statistics_.contains(row.index) ? statistics_.at(row.index) : RowStatistics{};
    const double kibibytes = static_cast<double>(statistics.peak_garbage) / 1024;
    return {{"operations_per_second", rate, "M calls/s", fmt::format("{:.3g}", 1e-6 * rate)},
            {"peak_garbage_bytes", statistics.peak_garbage, "garbage KiB", fmt::format("{:.1f}", kibibytes)},
            {"leaked_bytes", statistics.leaked, "leaked", fmt::format("{}", statistics.leaked)},
            {"share_answered_yes", statistics.yes}};
  }

 private:
  struct RowStatistics {
    std::size_t peak_garbage = 0;  ///< bytes that await reclamation: maximum over all runs
    std::int64_t leaked = 0;       ///< bytes that remain allocated after the set's destruction: maximum over all runs
    double yes = 0;
  };

  static const sets_detail::Variant& find(std::string_view variant) {
    return core::find_variant(sets_detail::variants(), variant, problem_name);
  }

  Outcome use(const Row& row, const Problem& problem, std::vector<Phase>* phases = nullptr) const {
    std::vector<Phase> ignored;
    return find(row.variant).run(problem, execution_of(row, problem.stop), phases != nullptr ? *phases : ignored);
  }

  Problem problem_;
  std::map<std::size_t, RowStatistics> statistics_;
};

class SetWorkloads : public Workloads {
 public:
  std::vector<Axis> axes() override {
    return {
        {.name = "size",
         .letter = "n",
         .form = "N,...",
         .help = "keys in the set; keys are drawn from twice as many",
         .initial = "1024",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.sizes.clear();
               for (const std::string& part : parse_list(label, text))
                 axes_.sizes.push_back(parse_whole(label, part, 1, std::int64_t{1} << 28));
             }},
        {.name = "mix",
         .letter = "",
         .form = "C/I/E,...",
         .help = "percentages of contains, insert and erase calls",
         .initial = "80/10/10",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.mixes.clear();
               for (const std::string& part : parse_list(label, text)) axes_.mixes.push_back(parse_mix(label, part));
             },
         .choices = {"100/0/0", "80/10/10", "20/40/40", "0/50/50"}},
        {.name = "operations",
         .letter = "",
         .form = "N",
         .help = "calls of all threads together",
         .initial = "200000",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.operations = parse_whole(label, text, 1, std::int64_t{1} << 32);
             }},
        {.name = "most-seconds",
         .letter = "",
         .form = "S",
         .help = "after which a run ends with fewer calls; its time is extrapolated to all calls; 0: never",
         .initial = "0",
         .parse = [this](const std::string& label,
                         const std::string& text) { axes_.most_seconds = parse_real(label, text, 0, 1e6); }},
        {.name = "seed",
         .letter = "",
         .form = "N",
         .help = "seed of the keys and calls",
         .initial = "1",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.seed = parse_unsigned(label, text, 0, std::numeric_limits<std::uint64_t>::max());
             }},
    };
  }

  void prepare(const InputCallbacks&) override {}

  /// Multiplies the number of calls by `share`. Does not change the sizes of the sets, because the published figures
  /// hold only for these sizes.
  void scale(double share) override {
    axes_.operations =
        std::max<std::int64_t>(1000, static_cast<std::int64_t>(share * static_cast<double>(axes_.operations)));
  }

  void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) override {
    for (const std::int64_t size : axes_.sizes)
      for (const Mix& mix : axes_.mixes) {
        SetWorkload workload(size, mix, axes_, callbacks.stop);
        use(workload);
      }
  }

 private:
  SetAxes axes_;
};

}  // namespace

extern const ProblemRow sets_problem;
const ProblemRow sets_problem{
    .name = problem_name,
    .summary = "concurrent sets: many threads insert, erase and look up keys at a time",
    .figures =
        "time: of the calls alone, extrapolated if a run ended early; keys are drawn and the set is filled beforehand. "
        "calls: of all threads together over "
        "the "
        "time, in 10^6 per second. garbage: the peak size of removed nodes not yet freed, sampled every 1024 calls. "
        "leaked: bytes not returned after the set's destruction.",
    .ladder = &sets_detail::ladder,
    .verify = verify_room<sets_detail::Trial>,
    .cases = case_names_of<sets_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<SetWorkloads>(); },
};

}  // namespace gradus::bench
