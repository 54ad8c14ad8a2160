// Reports to the thread sanitizer that an event in one thread happens before an event in another thread. The sanitizer
// cannot see such an order if it results from a library that was built without the sanitizer. In builds without the
// sanitizer, these functions are empty.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRADUS_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace gradus::cpu {

/// Announces an event. Everything that this thread has done so far happens before everything that another thread does
/// after a later call of announce_seen(event).
inline void announce_done([[maybe_unused]] const void* event) {
#ifdef GRADUS_THREAD_SANITIZER
  __tsan_release(const_cast<void*>(event));
#endif
}

inline void announce_seen([[maybe_unused]] const void* event) {
#ifdef GRADUS_THREAD_SANITIZER
  __tsan_acquire(const_cast<void*>(event));
#endif
}

}  // namespace gradus::cpu
