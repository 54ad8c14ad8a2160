// Repeated, interleaved runs of a few jobs, on Google Benchmark's engine: it decides how many fits a repetition takes,
// and shuffles the repetitions of all jobs, so that a machine that grows slower meanwhile is unfair to none of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/run_report.hpp"

namespace gradus::bench {

/// One repetition: the mean over the runs it is made of.
struct Sample {
  double seconds = 0;
  std::int64_t runs = 1;
  std::vector<Phase> phases;
};

/// Something to be timed.
struct Job {
  /// Does it once. `seconds` of the sample is what counts; what `run` does besides costs time but is not measured.
  std::function<Sample()> run;
  std::vector<Sample> samples;  ///< filled in by measure()
};

struct Effort {
  int repeats = 5;             ///< samples of each job
  double minimal_seconds = 0;  ///< a sample is made of about as many runs as take this long; 0: of one
};

/// Measures all jobs. `progress` hears of every run: samples begun, samples in all.
/// What a job throws ends the measurement and is thrown on.
void measure(std::vector<Job>& jobs, const Effort& effort,
             const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

}  // namespace gradus::bench
