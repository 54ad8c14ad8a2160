// The tables of the published experiment, for tests.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace gradus::pair_histogram_detail {

/// Returns the published counts of 80 bins of width 500 for the first `points` points of lab_atoms: 10,000 or 512,000.
inline std::vector<std::uint64_t> published_counts(std::int64_t points) {
  std::ifstream file(std::string(GRADUS_SOURCE_DIR) + "/data/pair-histogram-" + std::to_string(points) + "-500.csv");
  std::vector<std::uint64_t> counts;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) counts.push_back(std::stoull(line.substr(line.rfind(',') + 1)));
  return counts;
}

}  // namespace gradus::pair_histogram_detail
