#include "bench/workload.hpp"

#include <fmt/format.h>

#include "gradus/error.hpp"

namespace gradus::bench {

void Reporter::operator()(std::string_view phase, std::int64_t done, std::int64_t total) const {
  if (stop_.stop_requested()) throw InterruptedError("stopped while measuring");
  if (progress_) progress_({phase, done, total, input_});
}

Execution execution_of(const Row& row, const std::stop_token& stop) {
  Execution execution;
  execution.variant = row.variant;
  execution.block_size = row.block_size;
  execution.threads = row.threads;
  execution.pinning = row.pinning;
  execution.stop = stop;
  return execution;
}

void mark_wrong(Row& row, const std::string& difference) {
  row.trouble = "WRONG RESULT: " + difference;
  row.wrong = true;
}

Sample sample_of(double seconds, const std::vector<Phase>& phases) {
  Sample sample;
  sample.seconds = seconds;
  for (const Phase& phase : phases)
    if (phase.name != "total") sample.phases.push_back(phase);
  return sample;
}

std::string milliseconds(double seconds) {
  const double value = 1e3 * seconds;
  return fmt::format("{:.{}f}", value, value < 1 ? 4 : value < 10 ? 3 : value < 1000 ? 1 : 0);
}

}  // namespace gradus::bench
