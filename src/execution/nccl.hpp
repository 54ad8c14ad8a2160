// NCCL, which adds up and moves data between GPUs. The library is opened at run time, so that Gradus does not depend on
// it. Only units compiled with CUDA include this file.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <string>

#include "core/shared_library.hpp"

namespace gradus::execution {

/// The functions of NCCL that are used here, as nccl.h declares them.
struct Nccl {
  struct Connection;
  struct Id {
    std::array<char, 128> bytes;
  };
  /// ncclConfig_t of NCCL 2.14. Later versions accept it and use their defaults for the members that it lacks.
  struct Settings {
    std::size_t size = sizeof(Settings);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;
  };
  enum Result { success = 0, invalid_usage = 5, in_progress = 7 };
  enum Type { uint8 = 1, uint64 = 5, float64 = 8 };
  enum Operation { sum = 0, greatest = 2, least = 3 };

  /// Returns the functions. The first call opens the library.
  static const Nccl& functions();

  core::SharedLibrary library{"libnccl.so.2", "libnccl.so"};
  int (*get_unique_id)(Id*) = nullptr;
  int (*init_rank)(Connection**, int, Id, int) = nullptr;
  int (*init_rank_config)(Connection**, int, Id, int, Settings*) = nullptr;  ///< null before NCCL 2.14
  int (*get_async_error)(Connection*, int*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Connection*, cudaStream_t) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, Connection*, cudaStream_t) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, Connection*, cudaStream_t) = nullptr;
  int (*finalize)(Connection*) = nullptr;  ///< null before NCCL 2.14
  int (*destroy)(Connection*) = nullptr;
  int (*abort)(Connection*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  const char* (*get_last_error)(Connection*) = nullptr;  ///< null before NCCL 2.13

  /// Returns true if the functions that every version has were found.
  explicit operator bool() const;
  /// Returns a text for a result that is not success, with NCCL's explanation if there is one.
  std::string text_of(int result, const char* call, Connection* connection = nullptr) const;
  /// Throws Error unless the result is success.
  void check(int result, const char* call) const;

 private:
  Nccl();
};

}  // namespace gradus::execution
