// Wrappers that make POSIX thread locks satisfy the C++ standard's Lockable.
#pragma once

#include <pthread.h>

namespace gradus::cpu {

class PthreadMutex {
 public:
  PthreadMutex() = default;
  PthreadMutex(const PthreadMutex&) = delete;
  PthreadMutex& operator=(const PthreadMutex&) = delete;
  ~PthreadMutex() { pthread_mutex_destroy(&mutex_); }
  void lock() { pthread_mutex_lock(&mutex_); }
  bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class PthreadSpin {
 public:
  PthreadSpin() { pthread_spin_init(&spin_, PTHREAD_PROCESS_PRIVATE); }
  PthreadSpin(const PthreadSpin&) = delete;
  PthreadSpin& operator=(const PthreadSpin&) = delete;
  ~PthreadSpin() { pthread_spin_destroy(&spin_); }
  void lock() { pthread_spin_lock(&spin_); }
  bool try_lock() { return pthread_spin_trylock(&spin_) == 0; }
  void unlock() { pthread_spin_unlock(&spin_); }

 private:
  pthread_spinlock_t spin_{};
};

}  // namespace gradus::cpu
