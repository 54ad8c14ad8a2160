// Compares a room's ladder with its oracle: every row of the table on every case, in every element type, from several
// seeds, with several numbers of threads (on a GPU: block sizes). A room's test file registers it in one line:
//
//   const bool registered = tests::register_ladder<Trial>();
//
// `Trial` is defined in the room's cases.hpp. A row that accepts no case fails, because it would not be tested.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ladder.hpp"
#include "execution/devices.hpp"
#include "execution/machine.hpp"
#include "execution/ways.hpp"
#include "tests/float_environments.hpp"
#include "tests/helpers.hpp"

namespace gradus::tests {

inline constexpr std::uint64_t ladder_seeds[] = {1};
#ifdef GRADUS_SANITIZED
// This build is slow, so each row runs only every second case. Two consecutive rows together run all cases. In the
// release build, each row runs all cases.
inline const std::vector<int> ladder_threads = {1, 3};
inline constexpr std::size_t ladder_stride = 2;
#else
inline const std::vector<int> ladder_threads = {1, 2, 3, 7, 16};  // 16 may exceed the number of cores
inline constexpr std::size_t ladder_stride = 1;
#endif

struct RowOutcome {
  int ran = 0;                           ///< number of cases that ran, per type and seed
  std::size_t runs = 0;                  ///< number of runs; a case runs in several ways
  std::string refusal;                   ///< the reason why the row refused a case, which therefore did not run
  std::vector<std::string> differences;  ///< descriptions of differing results
};

/// Returns a case. Each case is generated and prepared once, and all rows of the table share it.
template <class Trial, class T>
const typename Trial::template PreparedCase<T>& prepared_case(const typename Trial::Case& one, std::uint64_t seed) {
  static std::map<std::pair<std::string, std::uint64_t>, typename Trial::template PreparedCase<T>> all;
  const auto known = all.find({one.name, seed});
  if (known != all.end()) return known->second;
  return all.try_emplace({one.name, seed}, one.make(seed)).first->second;
}

template <class Trial, class T>
void run_row_on(const typename Trial::Case& one, std::uint64_t seed, const typename Trial::Variant& variant,
                RowOutcome& outcome) {
  const auto& prepared = prepared_case<Trial, T>(one, seed);
  if (!prepared.promises(variant.contract)) return;
  if (const core::Support support = variant.supports(prepared.shape(), execution::this_machine()); !support) {
    outcome.refusal = support.reason;
    return;
  }
  ++outcome.ran;
  for (const execution::Way& way : execution::ways_to_run(variant, ladder_threads)) {
    // Only every third run uses a non-default environment, because setting it for many threads is slow.
    const std::size_t turn = outcome.runs++;
    const EnvironmentRow& row =
        float_environments[turn % 3 != 0 ? 0 : 1 + turn / 3 % (std::size(float_environments) - 1)];
    std::optional<InEnvironment> environment;
    if (turn % 3 == 0) environment.emplace(row, runs_on_gpu(variant) ? 1 : way.execution.threads);
    const std::string difference = execution::fault_of(prepared, variant, way.execution);
    environment.reset();
    if (difference.empty()) continue;
    outcome.differences.push_back(one.name + ", " + std::string(execution::element_name<T>()) + ", seed " +
                                  std::to_string(seed) + ", " + way.text + ", " + std::string(row.name) + ": " +
                                  difference);
  }
}

template <class Trial, class... T>
RowOutcome run_row_in(core::Elements<T...>, const typename Trial::Variant& variant, std::size_t first,
                      std::size_t stride) {
  RowOutcome outcome;
  const auto& cases = Trial::cases();
  for (std::size_t at = first; at < cases.size(); at += stride)
    for (const std::uint64_t seed : ladder_seeds) (run_row_on<Trial, T>(cases[at], seed, variant, outcome), ...);
  return outcome;
}

/// Runs the row on all cases, or on every `stride`-th case.
template <class Trial>
RowOutcome run_row(const typename Trial::Variant& variant, std::size_t first = 0, std::size_t stride = 1) {
  return run_row_in<Trial>(typename Trial::Elements(), variant, first, stride);
}

/// Fails the test for every difference. Also fails the test if the row ran no case, unless the machine lacks a GPU that
/// the row needs.
inline void judge(const core::VariantInfo& variant, const RowOutcome& outcome) {
  for (const std::string& difference : outcome.differences) ADD_FAILURE() << variant.name << ", " << difference;
  if (outcome.ran > 0) return;
  if (runs_on_gpu(variant) && !execution::why_no_gpu(execution::this_machine()).empty())
    skip_for_want_of_gpu(outcome.refusal);
  else if (variant.baseline) GTEST_SKIP() << outcome.refusal;
  else ADD_FAILURE() << variant.name << " ran no case: " << outcome.refusal;
}

template <class Trial>
class LadderTest : public testing::Test {
 public:
  LadderTest(const typename Trial::Variant& variant, std::size_t row) : variant_(variant), row_(row) {}
  void TestBody() override { judge(variant_, run_row<Trial>(variant_, row_ % ladder_stride, ladder_stride)); }

 private:
  const typename Trial::Variant& variant_;
  std::size_t row_;
};

/// Registers a test for each row of the room's table, named Ladder.<name of the row>.
template <class Trial>
bool register_ladder() {
  std::size_t row = 0;
  for (const typename Trial::Variant& variant : Trial::variants()) {
    testing::RegisterTest("Ladder", std::string(variant.name).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&variant, row]() -> testing::Test* { return new LadderTest<Trial>(variant, row); });
    ++row;
  }
  return true;
}

}  // namespace gradus::tests
