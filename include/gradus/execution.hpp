/// Settings of a call: device, variant, threads, memory limits, progress, stop requests and ranks. `Execution{}`
/// selects the best variant on the best device present and uses all cores.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/names.hpp"

namespace gradus {

class Communicator;

enum class Device : std::uint8_t {
  /// Uses the GPU that holds the data. If the data is in host memory, uses a GPU if one is present, if the job fits on
  /// it, and if the job is large enough to be faster there. Otherwise uses the CPU.
  automatic,
  cpu,
  gpu
};
template <>
inline constexpr auto enum_names<Device> =
    std::to_array<EnumName<Device>>({{Device::automatic, "auto"}, {Device::cpu, "cpu"}, {Device::gpu, "gpu"}});

/// Binding of worker threads to cores.
enum class Pinning : std::uint8_t {
  none,     ///< the operating system places and moves threads
  compact,  ///< binds neighbouring threads to neighbouring cores, so that they share caches
  scatter   ///< binds neighbouring threads to distant cores, so that they use every cache and memory channel
};
template <>
inline constexpr auto enum_names<Pinning> = std::to_array<EnumName<Pinning>>({{Pinning::none, "none"},
                                                                              {Pinning::compact, "compact"},
                                                                              {Pinning::scatter, "scatter"}});

/// Progress of a long job, passed to Execution::progress.
struct Progress {
  std::string_view phase;   ///< for example "iteration" or "initialise"
  std::int64_t done = 0;    ///< steps completed
  std::int64_t total = 0;   ///< maximum number of steps; the job may finish earlier
  std::string_view detail;  ///< a few human-readable words; may be empty
};

/// Memory that a job needs, in bytes.
struct MemoryEstimate {
  std::uint64_t host = 0;    ///< host memory in addition to the input and the result
  std::uint64_t device = 0;  ///< GPU memory in addition to the input on that GPU
};

/// A variant-specific option.
struct VariantOption {
  std::string name;
  std::string value;  ///< the value as text: the name of a choice, "true" or "false", a number, or a file name
};

struct Execution {
  Device device = Device::automatic;
  int gpu = 0;  ///< GPU index, counted from 0
  /// Indices of the GPUs that share the job; empty: only `gpu`. k-means splits the rows over them, and pair histograms
  /// split the pairs. The result has the bits that one GPU would compute. An index that is listed twice stands for two
  /// parts of the job on one GPU, which is useful only in tests. A call without support for several GPUs throws
  /// UnsupportedError.
  std::vector<int> gpus = {};
  std::string variant = {};  ///< name of the variant; empty: the library chooses it by shape and machine
  /// Options of the variant. The call throws UsageError for an option or value that the variant does not have.
  std::vector<VariantOption> variant_options = {};
  /// Number of CPU threads. 0: one per available core, or fewer if the work is too small for that many.
  /// A process that has run a job on several threads may call fork(). The child lacks these threads, and GNU's OpenMP
  /// runtime would hang in it. In such a child, 0 means one thread, and a call with more than one thread throws
  /// UnsupportedError. A new process (exec, or Python's multiprocessing with "spawn" or "forkserver") has no such
  /// limit.
  int threads = 0;
  Pinning pinning = Pinning::none;
  /// Threads per CUDA block; 0: the variant's choice. For CPU variants, only 0 is valid.
  int block_size = 0;
  /// Limit of the host memory that the job needs in addition to the input; in bytes; 0: all available memory.
  std::uint64_t memory_limit = 0;
  /// Limit of the GPU memory that the job needs in addition to the input on this GPU; in bytes; 0: all free memory.
  std::uint64_t gpu_memory_limit = 0;
  std::function<void(const Progress&)> progress = {};  ///< called only from the thread that made the call
  std::stop_token stop = {};  ///< a stop request makes the call throw InterruptedError within 0.5 s
  /// CUDA stream (cudaStream_t) of the GPU, or null for the default stream. The job reads and writes views of GPU
  /// memory after all work that the caller queued on this stream before the call. When the call returns, its results
  /// are visible to every stream. Without views of GPU memory, the stream is ignored.
  void* stream = nullptr;
  /// The ranks that work on the job together (gradus/communicator.hpp). Null: this process alone. All ranks make the
  /// same call with the same options. For k-means, each rank passes its own rows (possibly none), and the problem is
  /// the concatenation of all rows in rank order. For every other call, each rank passes the whole problem. The result
  /// has the bits that a single process would compute. Per-row results cover only the rows of this rank. If any rank
  /// fails, every rank throws the error of the lowest failing rank. A call without support for ranks throws
  /// UnsupportedError. The object must outlive the call and serves one call at a time.
  Communicator* communicator = nullptr;
};

}  // namespace gradus
