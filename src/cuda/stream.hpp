// RAII wrappers of the current device, streams and events.
#pragma once

#include <utility>

#include "cuda/check.hpp"

namespace gradus::cuda {

/// Makes a GPU the calling thread's current device for the lifetime of the object.
class CurrentDevice {
 public:
  explicit CurrentDevice(int gpu) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    check(cudaSetDevice(gpu), "cudaSetDevice");
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    // waits, because pending work may use memory that is freed after this destructor has run
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  operator cudaStream_t() const { return stream_; }
  /// Waits for all work in the stream, and reports errors of this work.
  void wait(const std::source_location& where = std::source_location::current()) const {
    check(cudaStreamSynchronize(stream_), "the work in the stream", where);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }

  operator cudaEvent_t() const { return event_; }
  void record(const Stream& stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  void wait() const { check(cudaEventSynchronize(event_), "the work before an event"); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace gradus::cuda
