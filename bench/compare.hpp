// Two measurements of the same rows beside each other: what became slower or faster, by more than noise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"
#include "bench/result_file.hpp"
#include "bench/statistics.hpp"

namespace gradus::bench {

/// How often a comparison of measurements of the same program may mark any row at all. Each row's interval misses its
/// ratio with that probability, divided by the number of rows (Bonferroni).
inline constexpr double doubt_of_all_rows = 0.01;
/// What two runs of the same program differ by without any noise within them: where the system put its code and memory.
inline constexpr double negligible_ratio = 1.02;

enum class Mark {
  none,  ///< no more than noise
  slower,
  faster,
  few,      ///< too few samples to tell
  broken,   ///< the row has no time any more
  mended,   ///< it had none before
  without,  ///< neither has one
};

/// A row that both measurements have.
struct Change {
  const Group* group = nullptr;  ///< the new one
  const Row* before = nullptr;
  const Row* after = nullptr;
  Ratio ratio;         ///< of the seconds: above 1 it became slower
  double machine = 1;  ///< likewise by the ceilings of the row's team: the median of their ratios
  Mark mark = Mark::none;
};

struct Comparison {
  std::vector<Change> changes;
  std::vector<std::string> only_before;  ///< rows in words
  std::vector<std::string> only_after;
  double doubt = doubt_of_all_rows;  ///< of each row's interval
};

/// A row is slower where its interval lies beyond all that would be no change: from 1 to what the machine itself
/// changed by, and negligible_ratio to either side. And its fastest new sample must lie as far beyond three quarters of
/// the old ones: samples of one run are not independent, since a load may be there through all of it, and may be there
/// more often in the other run; but it only ever adds time, and rarely leaves no sample alone. Likewise where it is
/// faster. InputError where they are of different problems, or have no row in common.
Comparison compare(const ResultFile& before, const ResultFile& after);

/// Of measurements that took turns, before[i] next to after[i]: what happens on the machine while a pair is measured
/// meets either with the same probability, and so a row is slower where the interval of median_ratio() lies beyond what
/// would be no change. The ratio of a pair is that of the fastest samples, since other work only ever adds time. One
/// pair is compared as above. InputError where a row is not in all of them.
Comparison compare(const std::vector<ResultFile>& before, const std::vector<ResultFile>& after);

/// "" where both were measured on the same machine, or the first of the facts that differ and how.
std::string difference_of_machines(const ResultFile& before, const ResultFile& after);

/// "slower", "too few samples", ...; "" where there is nothing to say.
std::string_view to_string(Mark mark);

nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace gradus::bench
