// Ranks that are processes of torchrun, or of a launcher that sets the same variables. They exchange data through NCCL,
// which also connects them. Plain C++, also in builds without CUDA.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "execution/machine.hpp"
#include "ranks/launch.hpp"
#include "ranks/process.hpp"

namespace gradus::execution {

/// Returns the GPU of a process: GPU `named` or, if it is negative, the GPU whose number is the local rank, modulo the
/// number of visible GPUs. Throws UnsupportedError if there is no such GPU.
int gpu_of_launch(const Machine& machine, const core::Launch& launch, int named);

/// This process of a job that a launcher has started.
class LaunchedProcess : public core::Process {
 public:
  virtual int gpu() const = 0;  ///< GPU through which this process exchanges data
};

struct LaunchRequest {
  int gpu = 0;       ///< GPU of this process: gpu_of_launch()
  double limit = 0;  ///< longest time in seconds until all processes have arrived; 0: no limit
  std::stop_token stop;
  /// Called on a separate thread if another process of this machine has ended and this process still waits some seconds
  /// later, which NCCL cannot always interrupt. May be empty; must not return.
  std::function<void(const std::string& why)> give_up;
};

/// Connects all processes of the launch. The object is never destroyed, because at the end of the process CUDA may
/// already have shut down. Throws UnsupportedError if there is no CUDA or no NCCL, or if two processes have the same
/// GPU, and Error if NCCL cannot connect the processes.
LaunchedProcess& join_launch(const core::Launch& launch, const LaunchRequest& request);

}  // namespace gradus::execution
