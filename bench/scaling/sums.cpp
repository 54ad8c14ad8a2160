// Times only the sums over ranks, which are a part of each iteration of a fit. bench/scaling/scaling.py uses this
// program to measure the link. The arguments are numbers of words. For each number, the ranks repeat a sum of that many
// words. The first rank prints, in JSON, how long each sum took on the slowest rank.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "gradus/communicator.hpp"
#include "gradus/mpi.hpp"
#include "ranks/mpi_header.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int fewest_samples = 5;
constexpr int most_samples = 201;
constexpr double enough_seconds = 0.15;

double one_sum(gradus::Communicator& communicator, std::span<std::uint64_t> words) {
  std::uint64_t together = 1;
  communicator.sum({&together, 1});  // synchronizes the start on all ranks
  const auto start = Clock::now();
  communicator.sum(words);
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  communicator.greatest({&seconds, 1});
  return seconds;
}

std::vector<double> samples_of(gradus::Communicator& communicator, std::size_t count) {
  std::vector<std::uint64_t> words(count, 1);
  std::vector<double> samples;
  double all = 0;
  // one_sum() returns the same time on every rank, so all ranks make the same number of sums.
  for (int number = 0; number < most_samples && (number <= fewest_samples || all < enough_seconds); ++number) {
    const double seconds = one_sum(communicator, words);
    if (number == 0) continue;  // during the first sum, MPI allocates its buffers
    samples.push_back(seconds);
    all += seconds;
  }
  return samples;
}

}  // namespace

int main(int argument_count, char** arguments) {
  int provided = 0;
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
  {
    const auto communicator = gradus::mpi_communicator(MPI_COMM_WORLD);
    const bool prints = communicator->rank() == 0;
    if (prints) std::printf("{\"ranks\": %d, \"sums\": [", communicator->size());
    for (int index = 1; index < argument_count; ++index) {
      const std::size_t count = std::strtoull(arguments[index], nullptr, 10);
      const std::vector<double> samples = samples_of(*communicator, count);
      if (!prints) continue;
      std::printf("%s\n {\"words\": %zu, \"seconds\": [", index == 1 ? "" : ",", count);
      for (std::size_t number = 0; number < samples.size(); ++number)
        std::printf("%s%.9f", number == 0 ? "" : ", ", samples[number]);
      std::printf("]}");
    }
    if (prints) std::printf("]}\n");
  }
  MPI_Finalize();
  return 0;
}
