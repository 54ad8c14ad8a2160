// Several streams of one job: one that goes first, and what one has to wait for in another.
#pragma once

#include "cuda/check.hpp"

namespace gradus::cuda {

/// A stream whose blocks are scheduled before those of other streams.
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
    cudaStreamSynchronize(stream_);  // what is under way may still use memory that ends after this object
    cudaStreamDestroy(stream_);
  }

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Orders work of one stream behind work of another; it keeps no time.
class Signal {
 public:
  Signal() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() { cudaEventDestroy(event_); }

  /// Comes when all that is in the stream now is done.
  void follow(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  /// What is put into the stream from now on waits for the signal.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent"); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace gradus::cuda
