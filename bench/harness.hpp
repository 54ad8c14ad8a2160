// Runs jobs repeatedly on Google Benchmark's engine. The engine chooses the number of runs per repetition. It also
// shuffles the repetitions of all jobs, so that changes of the machine's speed affect all jobs alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/run_report.hpp"

namespace gradus::bench {

/// The result of one repetition: the mean over its runs.
struct Sample {
  double seconds = 0;
  std::int64_t runs = 1;
  std::vector<Phase> phases;
};

struct Job {
  /// Runs the job once. The member `seconds` of the result is the time of the job. The remaining time of the call is
  /// not counted.
  std::function<Sample()> run;
  std::vector<Sample> samples;
};

struct Effort {
  int repeats = 5;
  double minimal_seconds = 0;  ///< the runs of a sample take about this long in total; 0: one run per sample
};

/// Measures all jobs. Calls `progress` for every run, with the number of started samples and the number of all samples.
/// If a job throws an exception, ends the measurement and rethrows it.
void measure(std::vector<Job>& jobs, const Effort& effort,
             const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

}  // namespace gradus::bench
