// Orders the work of several streams of a job: a stream with priority, and signals between streams.
#pragma once

#include "cuda/check.hpp"

namespace gradus::cuda {

/// A stream with priority: the GPU schedules its blocks before the blocks of other streams.
class UrgentStream {
 public:
  UrgentStream() {
    int least = 0;
    int greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
  }
  UrgentStream(const UrgentStream&) = delete;
  UrgentStream& operator=(const UrgentStream&) = delete;
  ~UrgentStream() {
    // waits, because pending work may use memory that is freed after this destructor has run
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Makes the work of one stream wait for the work of another stream. The signal does not record the time, so it cannot
/// measure durations.
class Signal {
 public:
  Signal() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() { cudaEventDestroy(event_); }

  /// The signal fires when all work that is now in the stream has finished.
  void follow(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  /// Makes all later work of the stream wait for the signal.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent"); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace gradus::cuda
