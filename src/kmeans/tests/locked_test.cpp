// openmp_locked with each lock and each granularity, and what is refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/philox.hpp"
#include "gradus/kmeans.hpp"

namespace gradus {
namespace {

std::vector<float> points() {
  const core::Philox random(1);
  std::vector<float> values;
  for (std::uint64_t index = 0; index < 3 * 2000; ++index)
    values.push_back(static_cast<float>(random.bits(index) % 1000) / 100);
  return values;
}

KMeansResult<float> fit(const std::string& variant, const std::string& lock, KMeansLocked locked, int threads) {
  const std::vector<float> values = points();
  KMeansOptions options;
  options.clusters = 7;
  options.max_iterations = 5;
  options.lock = lock;
  options.locked = locked;
  return kmeans(MatrixView<const float>(values.data(), 2000, 3), options,
                Execution{.device = Device::cpu, .variant = variant, .threads = threads});
}

TEST(Locked, EveryLockAndGranularityGivesTheSame) {
  const double inertia = fit("simd_small_dim", "", KMeansLocked::point, 1).inertia;
  for (const char* lock : {"", "openmp_critical", "pthread_mutex", "std_mutex", "pthread_spin", "tas_lock", "ttas-lock",
                           "ticket_lock", "array_lock", "clh_lock", "mcs_lock", "cna_lock", "park_lock"})
    for (const KMeansLocked locked : {KMeansLocked::point, KMeansLocked::chunk, KMeansLocked::thread})
      for (const int threads : {1, 3})
        EXPECT_NEAR(fit("openmp_locked", lock, locked, threads).inertia, inertia, 1e-4 * inertia)
            << lock << ", " << static_cast<int>(locked) << ", " << threads << " threads";
}

TEST(Locked, WithoutALockOneThreadIsRight) {
  const double inertia = fit("simd_small_dim", "", KMeansLocked::point, 1).inertia;
  EXPECT_NEAR(fit("openmp_locked", "no_lock", KMeansLocked::point, 1).inertia, inertia, 1e-4 * inertia);
  EXPECT_GT(fit("openmp_locked", "no_lock", KMeansLocked::point, 3).inertia, 0);
}

TEST(Locked, RefusesUnknownLocksAndOtherVariants) {
  EXPECT_THROW(fit("openmp_locked", "clh", KMeansLocked::point, 1), UsageError);
  EXPECT_THROW(fit("openmp_reduce", "clh_lock", KMeansLocked::point, 1), UsageError);
  EXPECT_THROW(fit("openmp_reduce", "", KMeansLocked::chunk, 1), UsageError);
}

}  // namespace
}  // namespace gradus
