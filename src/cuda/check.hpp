// Error checks. Every CUDA call and launch must use them.
#pragma once

#include <cuda_runtime.h>

#include <source_location>
#include <string>

#include "gradus/error.hpp"

namespace gradus::cuda {

[[noreturn]] inline void fail(cudaError_t error, const std::string& what, const std::source_location& where) {
  cudaGetLastError();  // clears the error, so that a later call does not report it again
  const std::string file = where.file_name();
  const std::string message = what + " failed: " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ", " +
                              file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line()) + ")";
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || error == cudaErrorNoKernelImageForDevice)
    throw UnsupportedError(message);
  if (error == cudaErrorMemoryAllocation) throw OutOfMemoryError(message);
  throw Error(message);
}

/// `what` is the name of the call, for the message.
inline void check(cudaError_t error, const char* what,
                  const std::source_location& where = std::source_location::current()) {
  if (error != cudaSuccess) fail(error, what, where);
}

/// Checks that the driver accepted a launch. Must be called right after the launch. Errors of the running kernel are
/// reported by the next wait.
inline void check_launch(const char* kernel, const std::source_location& where = std::source_location::current()) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    fail(error, std::string("the launch of ") + kernel, where);
}

}  // namespace gradus::cuda
