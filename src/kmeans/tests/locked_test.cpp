// Tests openmp_locked with each kind of lock and each granularity. Also tests the errors that the variant throws.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "core/philox.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/problem.hpp"

namespace gradus {
namespace {

std::vector<float> points() {
  const core::Philox random(1);
  std::vector<float> values;
  for (std::uint64_t index = 0; index < 3 * 2000; ++index)
    values.push_back(static_cast<float>(random.bits(index) % 1000) / 100);
  return values;
}

KMeansResult<float> fit(const std::string& variant, std::vector<VariantOption> variant_options, int threads) {
  const std::vector<float> values = points();
  KMeansOptions options;
  options.clusters = 7;
  options.max_iterations = 5;
  return kmeans(MatrixView<const float>(values.data(), 2000, 3), options,
                Execution{.device = Device::cpu,
                          .variant = variant,
                          .variant_options = std::move(variant_options),
                          .threads = threads});
}

std::string refusal_of(const std::string& variant, std::vector<VariantOption> variant_options) {
  try {
    fit(variant, std::move(variant_options), 1);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::span<const core::Option> rows_of_options() {
  return core::find_variant(kmeans_detail::variants(), "openmp_locked", "kmeans").options->rows;
}

TEST(Locked, EveryLockAndGranularityGivesTheSame) {
  const double inertia = fit("simd_small_dim", {}, 1).inertia;
  EXPECT_NEAR(fit("openmp_locked", {}, 3).inertia, inertia, 1e-4 * inertia);
  std::vector<std::string> locks{"ttas-lock"};
  for (const core::Choice& lock : core::find_option(rows_of_options(), "lock")->choices)
    if (lock.name != "no_lock") locks.emplace_back(lock.name);
  EXPECT_GT(locks.size(), 12U);
  for (const std::string& lock : locks)
    for (const core::Choice& locked : core::find_option(rows_of_options(), "locked")->choices)
      for (const int threads : {1, 3})
        EXPECT_NEAR(fit("openmp_locked", {{"lock", lock}, {"locked", std::string(locked.name)}}, threads).inertia,
                    inertia, 1e-4 * inertia)
            << lock << ", " << locked.name << ", " << threads << " threads";
}

TEST(Locked, WithoutALockOneThreadIsRight) {
  const double inertia = fit("simd_small_dim", {}, 1).inertia;
  EXPECT_NEAR(fit("openmp_locked", {{"lock", "no_lock"}}, 1).inertia, inertia, 1e-4 * inertia);
  EXPECT_GT(fit("openmp_locked", {{"lock", "no_lock"}}, 3).inertia, 0);
}

TEST(Locked, RefusesUnknownNamesAndOtherVariants) {
  const auto says = [](const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  says(refusal_of("openmp_locked", {{"lock", "clh"}}), "did you mean 'clh_lock'");
  says(refusal_of("openmp_locked", {{"lok", "clh_lock"}}), "did you mean 'lock'");
  says(refusal_of("openmp_locked", {{"dump_graph", "a.dot"}}), "'tbb_flow_graph'");
  for (const core::Option& row : rows_of_options())
    says(refusal_of("openmp_reduce", {{std::string(row.name), std::string(row.choices[0].name)}}),
         "kmeans variant 'openmp_reduce' does not have the option " + std::string(row.name) +
             "; leave it out, or ask for a variant that has it: 'openmp_locked'");
  says(refusal_of("", {{"lock", "clh_lock"}}), "does not have the option lock");
}

}  // namespace
}  // namespace gradus
