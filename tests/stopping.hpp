// Measures how soon a job responds to a stop request, in CPU time, because a busy machine affects wall time.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <stop_token>
#include <thread>

#include "gradus/array.hpp"
#include "gradus/error.hpp"

namespace gradus::tests {

/// Returns the CPU time in seconds that all threads of the process have used.
inline double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Returns wall time in seconds. Jobs on a GPU are measured in wall time, because no other program shares the GPU, and
/// the CPU only waits.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The limit of the response time, in seconds per thread of the job.
inline constexpr double bound_of_a_thread = 0.5;

/// The reaction of a job to a stop request.
struct Reaction {
  bool was_requested = false;  ///< false if the job ended before
  bool interrupted = false;    ///< the job threw InterruptedError
  double seconds = 0;          ///< from the request to the end of the job
};

/// Runs job(stop token), and requests a stop when `clock` has advanced by `seconds` since the start of the job.
template <class Job>
Reaction reaction_of(double seconds, const Job& job, double (*clock)()) {
  std::stop_source source;
  std::atomic<double> requested_at = -1;
  std::atomic<bool> ended = false;
  const double enough = clock() + seconds;
  std::jthread watch([&] {
    while (!ended && clock() < enough) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (ended) return;
    requested_at = clock();
    source.request_stop();
  });
  Reaction reaction;
  try {
    job(source.get_token());
  } catch (const InterruptedError&) {
    reaction.interrupted = true;
  } catch (const Error& error) {
    ADD_FAILURE() << "the job ended with another error: " << error.what();
  }
  const double now = clock();
  ended = true;
  watch.join();
  reaction.was_requested = requested_at >= 0;
  reaction.seconds = now - requested_at;
  return reaction;
}

/// Runs job(stop token), and requests a stop when `clock` has advanced by `seconds` since the start of the job. By then
/// the job must be in the phase to test. On a machine so fast that the job is over by then, or ends before it has
/// noticed the request, it runs again, and the request comes in half the time. The job must throw InterruptedError
/// before its `threads` threads have used half a second each.
template <class Job>
void expect_to_stop_soon(double seconds, int threads, const Job& job, double (*clock)() = processor_seconds) {
  Reaction reaction;
  for (int attempt = 0; attempt < 5 && !reaction.interrupted; ++attempt, seconds /= 2)
    reaction = reaction_of(seconds, job, clock);
  ASSERT_TRUE(reaction.was_requested) << "the job was over before the stop was requested";
  EXPECT_TRUE(reaction.interrupted) << "the job ran to its end";
  EXPECT_LE(reaction.seconds, bound_of_a_thread * threads) << "seconds since the request";
}

/// A matrix of zeros that is larger than memory. Reading the matrix takes no memory. Its first rows can be written.
template <class T>
class EndlessZeros {
 public:
  EndlessZeros(std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns), bytes_(static_cast<std::size_t>(rows * columns) * sizeof(T)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw Error("no address space for the test's points");
  }
  EndlessZeros(const EndlessZeros&) = delete;
  EndlessZeros& operator=(const EndlessZeros&) = delete;
  ~EndlessZeros() { munmap(data_, bytes_); }

  T* data() { return static_cast<T*>(data_); }
  MatrixView<const T> view() const { return {static_cast<const T*>(data_), rows_, columns_}; }
  MatrixView<T> view() { return {static_cast<T*>(data_), rows_, columns_}; }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::size_t bytes_;
  void* data_;
};

}  // namespace gradus::tests
