#include "bench/verify.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace gradus::bench {

bool VerifyReport::right() const {
  const auto has_failed = [](const VerifyRow& row) { return row.cases_passed != row.cases; };
  const auto has_run = [](const VerifyRow& row) { return row.checks > 0; };
  return std::any_of(rows.begin(), rows.end(), has_run) && std::none_of(rows.begin(), rows.end(), has_failed);
}

nlohmann::json tolerance_json(const core::Contract& contract) {
  const bool bounded =
      contract == core::Contract::within || (contract == core::Contract::same_bits && contract.of.empty());
  return bounded ? nlohmann::json(contract.bound) : nlohmann::json(nullptr);
}

nlohmann::json to_json(const VerifyReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const VerifyRow& row : report.rows)
    rows.push_back({{"variant", row.variant},
                    {"dtype", row.dtype},
                    {"contract", core::kind_text(row.contract)},
                    {"tolerance", tolerance_json(row.contract)},
                    {"skipped", row.skipped.empty() ? nlohmann::json(nullptr) : nlohmann::json(row.skipped)},
                    {"cases", row.cases},
                    {"cases_passed", row.cases_passed},
                    {"cases_left_out", row.cases_left_out},
                    {"checks", row.checks},
                    {"seconds", row.seconds},
                    {"differences", row.differences}});
  return {{"problem", report.problem},
          {"right", report.right()},
          {"seeds", report.options.seeds},
          {"threads", report.options.threads},
          {"variants", rows}};
}

}  // namespace gradus::bench
