// Reports to the thread sanitizer an ordering of threads that it cannot see because it is established inside a library
// built without the sanitizer. In other builds these functions are empty.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRADUS_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace gradus::cpu {

/// Everything this thread did so far happens before whatever follows a later announce_seen(event).
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
