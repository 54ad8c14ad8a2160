// Tells the thread sanitizer of an order of threads that it cannot see, because it is made inside a library that was
// built without the sanitizer. In any other build these functions are empty.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRADUS_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace gradus::cpu {

/// What this thread did so far happens before what follows an announce_seen(event) after this.
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
