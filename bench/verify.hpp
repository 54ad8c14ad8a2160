// Every variant of a problem against its oracle: what `gradus verify` does.
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
  std::vector<std::string> variants;            ///< names; empty: every row of the table
  Device device = Device::automatic;            ///< without names: the rows that run on this one; automatic: all
  std::vector<std::string> cases;               ///< names; empty: every case
  int seeds = 1;                                ///< each case is made from the seeds 1, 2, …
  std::vector<int> threads = {1, 2, 3, 7, 16};  ///< cores need not suffice: a result may not depend on them
};

/// What the words of a contract mean, for people: whole lines.
inline constexpr std::string_view contract_legend =
    "same bits: the whole result has the oracle's bits, for every number of threads and on every device.\n"
    "same bits of integers: the same for integers; floating-point results are within the bound that the problem "
    "states.\n"
    "within x: the textbook's arithmetic, to this relative tolerance. invariants: several results are correct; the\n"
    "required properties are checked.\n";

/// The bound on the relative difference: 0 where all bits are the same, null where the contract names none.
nlohmann::json tolerance_json(const core::Contract& contract);

/// What became of one variant in one data type.
struct VerifyRow {
  std::string variant;
  std::string dtype;  ///< f32, i64, …
  core::Contract contract;
  std::string skipped;     ///< why nothing ran, or empty
  std::int64_t cases = 0;  ///< case and seed pairs that ran
  std::int64_t cases_passed = 0;
  std::int64_t cases_left_out = 0;       ///< outside the variant's contract, or not supported in that shape
  std::int64_t checks = 0;               ///< runs compared with the oracle
  double seconds = 0;                    ///< of these runs
  std::vector<std::string> differences;  ///< the first few: case, seed, threads, and what was wrong
};

struct VerifyReport {
  std::string problem;
  VerifyOptions options;
  std::vector<VerifyRow> rows;

  bool right() const;  ///< something ran, and nothing was wrong
};

/// Called now and then with the steps done, the steps in all, and the case at hand; may throw to stop.
using VerifyProgress = std::function<void(std::int64_t done, std::int64_t total, std::string_view name)>;

nlohmann::json to_json(const VerifyReport& report);

}  // namespace gradus::bench
