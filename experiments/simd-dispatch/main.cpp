// Times the kernels and checks that their labels agree. The runs of the kernels alternate.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernel.hpp"

int main() {
  // With few points, the data fit the caches, and arithmetic takes most of the time.
  constexpr std::int64_t count = std::int64_t{1} << 13;
  constexpr int rounds = 2001;
  auto* points = static_cast<float*>(std::aligned_alloc(64, 2 * count * sizeof(float)));
  auto* labels = static_cast<std::int32_t*>(std::aligned_alloc(64, count * sizeof(std::int32_t)));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 10);
  std::generate_n(points, 2 * count, [&] { return uniform(random); });

  struct Candidate {
    const char* name;
    Kernel* kernel;
    std::vector<double> seconds;
    std::vector<std::int32_t> labels;
  };
  std::vector<Candidate> candidates = {{"Highway", nearest_highway, {}, {}}};
  candidates.push_back({"std::experimental::simd, SSE4", nearest_stdx_sse4, {}, {}});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    candidates.push_back({"std::experimental::simd, AVX2", nearest_stdx_avx2, {}, {}});
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    candidates.push_back({"std::experimental::simd, AVX-512", nearest_stdx_avx512, {}, {}});

  for (int round = 0; round < rounds; ++round)
    for (Candidate& candidate : candidates) {
      const auto start = std::chrono::steady_clock::now();
      candidate.kernel(points, count, points, labels);
      const auto end = std::chrono::steady_clock::now();
      candidate.seconds.push_back(std::chrono::duration<double>(end - start).count());
      if (round == 0) candidate.labels.assign(labels, labels + count);
    }
  for (Candidate& candidate : candidates) {
    std::nth_element(candidate.seconds.begin(), candidate.seconds.begin() + rounds / 2, candidate.seconds.end());
    std::int64_t different = 0;
    for (std::int64_t point = 0; point < count; ++point)
      different +=
          candidate.labels[static_cast<std::size_t>(point)] != candidates[0].labels[static_cast<std::size_t>(point)];
    std::printf("%-34s %6.3f ns a point, %lld labels differ from Highway's\n", candidate.name,
                candidate.seconds[rounds / 2] / count * 1e9, static_cast<long long>(different));
  }
  std::free(points);
  std::free(labels);
}
