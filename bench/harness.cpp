#include "bench/harness.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <exception>
#include <map>

#include "core/phases.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

namespace {

// Starts the engine. The engine reads its configuration from a command line, so it gets a fixed one. The options of
// gradus do not reach the engine.
void start_engine() {
  static const bool started = [] {
    std::string name = "gradus";
    std::string interleaving = "--benchmark_enable_random_interleaving=true";
    char* arguments[] = {name.data(), interleaving.data(), nullptr};
    int count = 2;
    benchmark::Initialize(&count, arguments);
    return true;
  }();
  (void)started;
}

// Returns true if a run has failed. Google Benchmark 1.8 renamed the field that states this.
template <class Run>
bool has_failed(const Run& run) {
  if constexpr (requires { run.error_occurred; }) return run.error_occurred;
  else return run.skipped != 0;
}

// Stores the samples in their jobs instead of printing them.
class Collector : public benchmark::BenchmarkReporter {
 public:
  Collector(std::vector<Job>& jobs, const std::vector<std::vector<std::string>>& phase_names)
      : jobs_(jobs), phase_names_(phase_names) {}

  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || has_failed(run)) continue;
      const std::size_t job = std::stoul(run.run_name.function_name);
      Sample sample;
      sample.runs = run.iterations;
      sample.seconds = run.real_accumulated_time / static_cast<double>(run.iterations);
      for (const std::string& name : phase_names_[job])
        if (const auto found = run.counters.find(name); found != run.counters.end())
          sample.phases.push_back({name, found->second.value});
      jobs_[job].samples.push_back(std::move(sample));
    }
  }

 private:
  std::vector<Job>& jobs_;
  const std::vector<std::vector<std::string>>& phase_names_;
};

}  // namespace

void measure(std::vector<Job>& jobs, const Effort& effort,
             const std::function<void(std::int64_t, std::int64_t)>& progress) {
  start_engine();
  std::exception_ptr failure;
  std::vector<std::vector<std::string>> phase_names(jobs.size());  // phases in order of first use
  std::int64_t begun = 0;
  const std::int64_t total = static_cast<std::int64_t>(jobs.size()) * effort.repeats;

  benchmark::ClearRegisteredBenchmarks();
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    jobs[index].samples.clear();
    auto* registered = benchmark::RegisterBenchmark(std::to_string(index).c_str(), [&, index](benchmark::State& state) {
      std::vector<Phase> phases;
      for (auto _ : state) {
        if (failure) {
          state.SkipWithError("an earlier run failed");
          break;
        }
        if (progress) progress(std::min(begun++, total), total);
        try {
          const Sample sample = jobs[index].run();
          state.SetIterationTime(sample.seconds);
          for (const Phase& phase : sample.phases) core::add_phase(phases, phase.name, phase.seconds);
        } catch (...) {
          failure = std::current_exception();
          state.SkipWithError("this run failed");
          break;
        }
      }
      std::vector<std::string>& names = phase_names[index];
      for (const Phase& phase : phases) {
        state.counters[phase.name] = benchmark::Counter(phase.seconds, benchmark::Counter::kAvgIterations);
        if (std::find(names.begin(), names.end(), phase.name) == names.end()) names.push_back(phase.name);
      }
    });
    registered->UseManualTime()->Repetitions(effort.repeats)->ReportAggregatesOnly(false);
    if (effort.minimal_seconds > 0) registered->MinTime(effort.minimal_seconds);
    else registered->Iterations(1);
  }
  Collector collector(jobs, phase_names);
  benchmark::RunSpecifiedBenchmarks(&collector, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (failure) std::rethrow_exception(failure);
  for (const Job& job : jobs)
    if (static_cast<int>(job.samples.size()) != effort.repeats)
      throw Error("the benchmark engine returned " + std::to_string(job.samples.size()) + " samples instead of " +
                  std::to_string(effort.repeats));
}

}  // namespace gradus::bench
