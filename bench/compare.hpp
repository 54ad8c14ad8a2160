// Compares two measurements of the same rows and marks changes beyond noise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"
#include "bench/result_file.hpp"
#include "bench/statistics.hpp"

namespace gradus::bench {

/// The probability that a comparison of measurements of the same program marks any row. The interval of a row misses
/// its ratio with this probability divided by the number of rows (Bonferroni).
inline constexpr double doubt_of_all_rows = 0.01;
/// The ratio by which runs of the same program differ without noise, because of the placement of code and memory.
inline constexpr double negligible_ratio = 1.02;

enum class Mark {
  none,
  slower,
  faster,
  few,      ///< too few samples
  broken,   ///< the row no longer has a time
  mended,   ///< the row had no time before
  without,  ///< neither has a time
};

/// A row that both measurements have.
struct Change {
  const Group* group = nullptr;
  const Row* before = nullptr;
  const Row* after = nullptr;
  Ratio ratio;         ///< ratio of the seconds; above 1: slower
  double machine = 1;  ///< the median ratio of the ceilings of the row's threads; above 1: slower
  Mark mark = Mark::none;
};

struct Comparison {
  std::vector<Change> changes;
  std::vector<std::string> only_before;  ///< descriptions of rows
  std::vector<std::string> only_after;
  double doubt = doubt_of_all_rows;  ///< error probability of each row's interval
};

/// Compares two runs. A row is slower if two conditions hold. Its interval is beyond everything that counts as no
/// change: the range from 1 to the change of the machine, extended by negligible_ratio on both sides. And its fastest
/// new sample is beyond the upper quartile of the old ones by the same margin. The second condition is needed because
/// samples of one run are not independent: other load may affect most of one run. But load only adds time and rarely
/// affects all samples. A row is faster under the mirrored conditions. Throws InputError if the problems differ or no
/// row is common.
Comparison compare(const ResultFile& before, const ResultFile& after);

/// Compares runs that alternated, before[i] with after[i]. Events on the machine affect both runs of a pair with equal
/// probability, so a row is slower if the interval of median_ratio() is beyond everything that counts as no change. The
/// ratio of a pair uses the fastest samples, since other load only adds time. A single pair is compared as above.
/// Throws InputError if a row is missing in a file.
Comparison compare(const std::vector<ResultFile>& before, const std::vector<ResultFile>& after);

/// Returns the first fact in which the machines differ, or "" if both runs used the same machine.
std::string difference_of_machines(const ResultFile& before, const ResultFile& after);

/// Returns "slower", "too few samples", …, or "" for none.
std::string_view to_string(Mark mark);

nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace gradus::bench
