// Compares two measurements of the same rows, and marks changes that exceed the noise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"
#include "bench/result_file.hpp"
#include "bench/statistics.hpp"

namespace gradus::bench {

/// The probability with which a comparison of two measurements of the same program marks at least one row. The interval
/// of each row misses the row's true ratio with a probability of `doubt_of_all_rows` divided by the number of rows
/// (Bonferroni).
inline constexpr double doubt_of_all_rows = 0.01;
/// The ratio by which two runs of the same program may differ even without noise, because code and memory are placed
/// differently.
inline constexpr double negligible_ratio = 1.02;

enum class Mark {
  none,
  slower,
  faster,
  few,      ///< there are too few samples
  broken,   ///< the row had a time before, but has none now
  mended,   ///< the row had no time before, but has one now
  without,  ///< the row has no time in either measurement
};

/// A row that is in both measurements.
struct Change {
  const Group* group = nullptr;
  const Row* before = nullptr;
  const Row* after = nullptr;
  Ratio ratio;  ///< ratio of the seconds; above 1 means slower
  /// ratio of the machines' speeds, computed from the ceilings for the row's threads; above 1 means slower
  double machine = 1;
  Mark mark = Mark::none;
};

struct Comparison {
  std::vector<Change> changes;
  std::vector<std::string> only_before;  ///< descriptions of rows that are only in the first measurement
  std::vector<std::string> only_after;
  double doubt = doubt_of_all_rows;  ///< error probability of the interval of each row
};

/// Compares two runs. A row is slower if two conditions hold:
/// 1. The interval of its ratio is above the range of "no change". This range extends from 1 to the ratio of the
///   machines (Change::machine), and is then widened by negligible_ratio at both ends.
/// 2. The ratio of its fastest new sample to the upper quartile of its old samples is also above this range.
///
/// The second condition is needed because the samples of one run are not independent: other load may affect most of the
/// run. But load only adds time, and it rarely affects all samples. A row is faster under the mirrored conditions.
/// Throws InputError if the problems differ or if the runs have no row in common.
Comparison compare(const ResultFile& before, const ResultFile& after);

/// Compares pairs of runs, before[i] with after[i]. The two programs must have run in turn. Events on the machine then
/// affect both runs of a pair with equal probability, so no second condition is needed: a row is slower if the interval
/// of median_ratio() is above the range of "no change". The ratio of a pair uses the fastest sample of each run,
/// because other load only adds time. If there is only one pair, its two runs are compared by the function above.
/// Throws InputError if a row is missing in a file.
Comparison compare(const std::vector<ResultFile>& before, const std::vector<ResultFile>& after);

/// Returns the first fact in which the machines differ, or "" if both runs used the same machine.
std::string difference_of_machines(const ResultFile& before, const ResultFile& after);

/// Returns "slower", "too few samples", …, or "" for no change.
std::string_view to_string(Mark mark);

nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace gradus::bench
