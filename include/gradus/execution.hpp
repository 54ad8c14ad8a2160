/// Where and how to run. `Execution{}` means: the best variant on the best device present, on all cores.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "gradus/names.hpp"

namespace gradus {

class Communicator;

enum class Device : std::uint8_t {
  automatic,  ///< where views lie on a GPU, that one; else a GPU where there is one that the job fits and gains from (a
              ///< small one is done before a GPU is ready), otherwise the CPU
  cpu,
  gpu
};
template <>
inline constexpr auto enum_names<Device> =
    std::to_array<EnumName<Device>>({{Device::automatic, "auto"}, {Device::cpu, "cpu"}, {Device::gpu, "gpu"}});

/// How worker threads are bound to cores.
enum class Pinning : std::uint8_t {
  none,     ///< the operating system places and moves them
  compact,  ///< neighbouring threads on neighbouring cores: caches are shared
  scatter   ///< neighbouring threads as far apart as possible: every cache and memory channel is used
};
template <>
inline constexpr auto enum_names<Pinning> = std::to_array<EnumName<Pinning>>({{Pinning::none, "none"},
                                                                              {Pinning::compact, "compact"},
                                                                              {Pinning::scatter, "scatter"}});

/// What a long job reports now and then.
struct Progress {
  std::string_view phase;   ///< for example "iteration" or "initialise"
  std::int64_t done = 0;    ///< steps finished
  std::int64_t total = 0;   ///< steps at most; the job may end sooner
  std::string_view detail;  ///< a few human-readable words; may be empty
};

/// Bytes that a job takes.
struct MemoryEstimate {
  std::uint64_t host = 0;    ///< beyond the input and the result in host memory
  std::uint64_t device = 0;  ///< on a GPU, beyond the input there
};

struct Execution {
  Device device = Device::automatic;
  int gpu = 0;               ///< which GPU, when there are several
  std::string variant = {};  ///< empty: chosen from the shape and the machine
  /// 0: one per available core, or as many of those as the work pays for. A forked child of a process that ran a job on
  /// several threads does not have them, and the runtime would wait for them: there 0 means one, and several threads
  /// are refused with UnsupportedError. A new process (exec; the methods 'spawn' and 'forkserver' of Python's
  /// multiprocessing) has no such limit.
  int threads = 0;
  Pinning pinning = Pinning::none;
  int block_size = 0;                  ///< threads per CUDA block; 0: the variant's own choice, the only one on a CPU
  std::uint64_t memory_limit = 0;      ///< bytes a job may take beyond its input; 0: what the machine has available
  std::uint64_t gpu_memory_limit = 0;  ///< bytes of a GPU's memory it may take beyond its input there; 0: what is free
  std::function<void(const Progress&)> progress = {};  ///< called from the calling thread only
  std::stop_token stop = {};  ///< a stop request ends the job with InterruptedError within half a second
  /// A CUDA stream (cudaStream_t) of the GPU, or null for CUDA's default stream. Views of GPU memory are read and
  /// written after what the caller put into it before the call; when the call returns its results are there, for any
  /// stream. Ignored where no view lies on a GPU.
  void* stream = nullptr;
  /// The ranks that do the job together (gradus/communicator.hpp), or null: this process does it alone. All of them
  /// make the same call, with the same options. The views of k-means are those of this rank's rows, of which there may
  /// be none: the rows of all ranks, one rank's after the other's, are the problem. Those of other calls are the whole
  /// problem, the same on all ranks. The result is, to the bit, that of one process; of rows it has this rank's. An
  /// error is thrown on all ranks: that of the lowest rank that has one. UnsupportedError where a call does not know
  /// ranks. The object must outlive the call; one call at a time may use it.
  Communicator* communicator = nullptr;
};

}  // namespace gradus
