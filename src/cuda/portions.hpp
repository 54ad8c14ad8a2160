// Splits long work on a GPU into launches of about a tenth of a second. Stop requests take effect between launches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <utility>

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cuda/stream.hpp"

namespace gradus::cuda {

class Portions {
 public:
  /// `operations` is the number of operations in the first launch. Even a slow GPU should finish them in a tenth of a
  /// second.
  explicit Portions(std::stop_token stop, double operations) : stop_(std::move(stop)), operations_(operations) {}

  /// Returns true if run() would need only one launch, and would therefore not wait.
  bool is_one_launch(std::int64_t count, double operations_of_an_element) const {
    return static_cast<double>(count) * operations_of_an_element <= operations_;
  }

  /// Divides [0, count) into consecutive ranges that end at multiples of `granule`, and calls launch(first, number) for
  /// each range. launch() enqueues kernels into the stream. run() waits for the kernels only if the work needs several
  /// launches, so short work has no additional waits. After a stop request, throws InterruptedError when no launch is
  /// in flight.
  template <class Launch>
  void run(std::int64_t count, double operations_of_an_element, std::int64_t granule, const Stream& stream,
           const Launch& launch) {
    core::honour_stop(stop_, "stopped while the GPU was at work");
    if (is_one_launch(count, operations_of_an_element)) return launch(std::int64_t{0}, count);
    for (std::int64_t first = 0; first < count;) {
      const double wanted = operations_ / operations_of_an_element / static_cast<double>(granule);
      const auto granules = static_cast<std::int64_t>(std::clamp(wanted, 1.0, 0x1p40));
      const std::int64_t number = std::min(granules * granule, count - first);
      const auto start = core::Clock::now();
      launch(first, number);
      stream.wait();
      core::honour_stop(stop_, "stopped while the GPU was at work");
      const double seconds = std::max(core::seconds_since(start), 1e-6);
      // The last range may be too short for a good measurement of the speed. A short range can lower the estimate, but
      // never raises it.
      const double factor = std::clamp(seconds_of_a_launch / seconds, 0.25, 8.0);
      if (number == granules * granule || factor < 1) operations_ *= factor;
      first += number;
    }
  }

 private:
  static constexpr double seconds_of_a_launch = 0.1;

  std::stop_token stop_;
  double operations_;
};

}  // namespace gradus::cuda
