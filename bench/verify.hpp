// Compares every variant of a problem with its oracle, for `gradus verify`.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"
#include "gradus/execution.hpp"

namespace gradus::bench {

struct VerifyOptions {
  std::vector<std::string> variants;  ///< names of variants; empty: all variants of the table
  /// If `variants` is empty, verifies only the variants that run on this device. `automatic` stands for all devices.
  Device device = Device::automatic;
  std::vector<std::string> cases;  ///< names of cases; empty: every case
  int seeds = 1;                   ///< number of seeds; each case is made from the seeds 1, 2, …
  /// Numbers of threads with which each variant runs. They may exceed the number of cores, because results must not
  /// depend on them.
  std::vector<int> threads = {1, 2, 3, 7, 16};
};

/// Explains the contracts to users. The text ends with a line break.
inline constexpr std::string_view contract_legend =
    "same bits: the whole result has the oracle's bits, for every number of threads and on every device.\n"
    "same bits of integers: the same for integers; floating-point results are within the bound that the problem "
    "states.\n"
    "within x: the textbook's arithmetic, to this relative tolerance. invariants: several results are correct; the\n"
    "required properties are checked.\n";

/// Returns the greatest relative difference that the contract allows: 0 for equal bits, null if the contract has no
/// bound.
nlohmann::json tolerance_json(const core::Contract& contract);

/// The result of one variant in one data type.
struct VerifyRow {
  std::string variant;
  std::string dtype;
  core::Contract contract;
  std::string skipped;     ///< reason why no case ran; empty if at least one ran
  std::int64_t cases = 0;  ///< number of (case, seed) pairs that ran
  std::int64_t cases_passed = 0;
  /// Number of (case, seed) pairs that did not run, because the contract or the variant does not cover them.
  std::int64_t cases_left_out = 0;
  std::int64_t checks = 0;  ///< number of runs that were compared with the oracle
  double seconds = 0;       ///< total time of the checks
  /// Descriptions of the first few faults: case, seed, threads, and the difference.
  std::vector<std::string> differences;
};

struct VerifyReport {
  std::string problem;
  VerifyOptions options;
  std::vector<VerifyRow> rows;

  bool right() const;  ///< true if some case ran and there was no fault
};

/// Called before each case and seed, with the number of finished steps, the number of all steps, and the name of the
/// case. May throw to stop the verification.
using VerifyProgress = std::function<void(std::int64_t done, std::int64_t total, std::string_view name)>;

nlohmann::json to_json(const VerifyReport& report);

}  // namespace gradus::bench
