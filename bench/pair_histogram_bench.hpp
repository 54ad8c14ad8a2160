// Measurements of pair-distance histograms over axes: what `gradus bench pair-histogram` does.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/group.hpp"
#include "gradus/pair_histogram.hpp"

namespace gradus::bench {

struct PairHistogramBench : Bench {
  PairBins bins;
  std::vector<double> box;  ///< lengths of a periodic box; empty: open space
};

/// Its share of the multiply-adds is that of d differences and d multiply-adds for each of all pairs, at the rate of
/// float: so much a program must do that looks at every pair, once each difference counts as a multiply-add.
struct PairHistogramRow : Row {
  double pairs_per_second = 0;    ///< all pairs over the time, also those that a variant need not look at
  double counted_per_second = 0;  ///< those in the bins
};

/// All rows on the same points.
struct PairHistogramGroup : GroupHead {
  PairBins bins;
  std::vector<double> box;
  std::uint64_t pairs = 0;    ///< all of them
  std::uint64_t counted = 0;  ///< in the bins
  std::vector<PairHistogramRow> rows;
};

using PairHistogramBenchReport = Report<PairHistogramGroup>;

/// Measures one after the other, and the ceilings of the machine in the same run.
PairHistogramBenchReport bench_pair_histogram(const std::vector<PairHistogramBench>& benches,
                                              const BenchCallbacks& callbacks);

nlohmann::ordered_json to_json(const PairHistogramBenchReport& report);

/// The group as a table for a person.
Table table(const PairHistogramGroup& group);
/// What the group's rows have in common, in words.
std::string title(const PairHistogramGroup& group);

}  // namespace gradus::bench
