// What programs use of a C library newer than 2.28: see stubs.py. Everything here is hidden in what it is linked into.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define VERSION_OF_STAT 1
#else
#define VERSION_OF_STAT 0
#endif

// 2.32. Zero: there may be several threads, so that shared_ptr counts atomically.
char __libc_single_threaded = 0;

// 2.33. Until then these were inline functions of the headers.
extern int __xstat(int, const char*, struct stat*) __attribute__((visibility("default")));
extern int __lxstat(int, const char*, struct stat*) __attribute__((visibility("default")));
extern int __fxstat(int, int, struct stat*) __attribute__((visibility("default")));
extern int __fxstatat(int, int, const char*, struct stat*, int) __attribute__((visibility("default")));
int stat(const char* path, struct stat* result) { return __xstat(VERSION_OF_STAT, path, result); }
int lstat(const char* path, struct stat* result) { return __lxstat(VERSION_OF_STAT, path, result); }
int fstat(int file, struct stat* result) { return __fxstat(VERSION_OF_STAT, file, result); }
int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return __fxstatat(VERSION_OF_STAT, folder, path, result, flags);
}
// On 64-bit machines these are the same.
int stat64(const char* path, struct stat64* result) { return stat(path, (struct stat*)result); }
int lstat64(const char* path, struct stat64* result) { return lstat(path, (struct stat*)result); }
int fstat64(int file, struct stat64* result) { return fstat(file, (struct stat*)result); }
int fstatat64(int folder, const char* path, struct stat64* result, int flags) {
  return fstatat(folder, path, (struct stat*)result, flags);
}

// 2.29 and 2.30.
int getcpu(unsigned* cpu, unsigned* node) { return (int)syscall(SYS_getcpu, cpu, node, NULL); }
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// 2.30. Callers wait in a loop and read the clock again, as std::condition_variable does.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  struct timespec then = *until, now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  then.tv_sec += real.tv_sec - now.tv_sec;
  then.tv_nsec += real.tv_nsec - now.tv_nsec;
  while (then.tv_nsec < 0) then.tv_nsec += 1000000000, --then.tv_sec;
  while (then.tv_nsec >= 1000000000) then.tv_nsec -= 1000000000, ++then.tv_sec;
  return pthread_cond_timedwait(condition, mutex, &then);
}
