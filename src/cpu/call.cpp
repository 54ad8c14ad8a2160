#include "cpu/call.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>

namespace gradus::cpu {
namespace {

/// The state of a thread of the OpenMP runtime: the number of the last call that set the environment of the thread, and
/// the environment of the thread before that call.
struct Worker {
  std::uint64_t call = 0;
  core::FloatEnvironment before;
};

constinit thread_local Worker worker;
constinit thread_local Call* outermost = nullptr;

}  // namespace

Call* Call::current() { return outermost; }

Call::Call() {
  static std::atomic<std::uint64_t> calls{0};
  if (outermost != nullptr) return;
  number_ = calls.fetch_add(1, std::memory_order_relaxed) + 1;
  outermost = this;
}

void Call::take_team(int threads) {
  if (threads <= threads_) return;
  // The parallel region below may start threads, which inherit the environment of this thread. Without this call, they
  // would inherit the caller's environment, so this thread gets the caller's environment back for the region.
  const bool is_default = environment_.before().is_default();
  if (!is_default) environment_.before().set();
  bool changed = false;
#pragma omp parallel num_threads(threads) reduction(|| : changed)
  if (omp_get_thread_num() != 0 && worker.call != number_) {
    worker = {number_, core::FloatEnvironment::of_this_thread()};
    changed = !worker.before.is_default();
    if (changed) core::FloatEnvironment::set_default();
  }
  if (!is_default) core::FloatEnvironment::set_default();
  threads_ = threads;
  changed_ = changed_ || changed;
}

Call::~Call() {
  if (number_ == 0) return;
  outermost = nullptr;
  if (threads_ == 1 || (!changed_ && environment_.before().is_default())) return;
    // The runtime may have started threads after take_team(). The earlier environment of these threads is unknown, so
    // they get the caller's environment.
#pragma omp parallel num_threads(threads_)
  if (omp_get_thread_num() != 0) (worker.call == number_ ? worker.before : environment_.before()).set();
}

}  // namespace gradus::cpu
