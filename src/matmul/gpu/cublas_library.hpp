// Access to cuBLAS for its rungs. The library is opened on first use, so that programs run without it.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/phases.hpp"
#include "core/shared_library.hpp"
#include "cuda/job.hpp"
#include "cuda/portions.hpp"
#include "matmul/gpu/first_portion.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// Returns whether the library is available. If it is not, the result states the reason.
core::Support cublas_is_here();

}  // namespace gradus::matmul_detail

namespace gradus::matmul_detail::cublas_library {

using Handle = void*;

inline constexpr int success = 0;
inline constexpr int not_transposed = 0;
inline constexpr int use_always = 2;  // requests emulation wherever the library supports it

enum class Math : int {
  native = 0,      ///< no TF32 and no emulation
  fixed_point = 8  ///< emulates double by several tensor-core passes over integers
};

/// A product function of the library. The library is column-major, so the call computes C' = B' A'. The first operand
/// of the call is our B.
template <class T>
using Multiply = int (*)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const T*, const T*, std::int64_t,
                         long long, const T*, std::int64_t, long long, const T*, T*, std::int64_t, long long,
                         std::int64_t);

class Library {
 public:
  Library() : library_({"libcublas.so.13", "libcublas.so.12"}) {
    if (!library_) {
      trouble_ = "the library libcublas.so.13, or .12, is not here (it comes with CUDA)";
      return;
    }
    create_ = library_.find<int (*)(Handle*)>("cublasCreate_v2");
    set_stream_ = library_.find<int (*)(Handle, cudaStream_t)>("cublasSetStream_v2");
    set_math_mode_ = library_.find<int (*)(Handle, int)>("cublasSetMathMode");
    status_text_ = library_.find<const char* (*)(int)>("cublasGetStatusString");
    set_strategy_ = library_.find<int (*)(Handle, int)>("cublasSetEmulationStrategy");
    single_ = library_.find<Multiply<float>>("cublasSgemmStridedBatched_64");
    double_ = library_.find<Multiply<double>>("cublasDgemmStridedBatched_64");
    if (!create_ || !set_stream_ || !set_math_mode_ || !status_text_ || !single_ || !double_)
      trouble_ = "the library " + library_.file() + " lacks a function that is used";
  }

  const std::string& trouble() const { return trouble_; }

  void check(int status, const char* what) const {
    if (status != success) throw Error(std::string("cuBLAS: ") + what + " failed: " + status_text_(status));
  }

  bool emulates() const { return set_strategy_ != nullptr; }

  /// Returns the handle of GPU `gpu`, which must be current. Handles are cached because creating one is slow.
  Handle handle(int gpu, Math math) const {
    static std::map<std::pair<int, Math>, Handle> handles;
    Handle& handle = handles[{gpu, math}];
    if (handle == nullptr) {
      check(create_(&handle), "cublasCreate");
      check(set_math_mode_(handle, static_cast<int>(math)), "cublasSetMathMode");
      if (math == Math::fixed_point) check(set_strategy_(handle, use_always), "cublasSetEmulationStrategy");
    }
    return handle;
  }

  void set_stream(Handle handle, cudaStream_t stream) const { check(set_stream_(handle, stream), "cublasSetStream"); }

  template <class T>
  void multiply(Handle handle, const Problem<T>& problem) const {
    const Operand<const T>& a = problem.a;
    const Operand<const T>& b = problem.b;
    const Operand<T>& c = problem.c;
    const auto call = [&](Multiply<T> function) {
      check(function(handle, not_transposed, not_transposed, problem.n, problem.m, problem.k, &problem.alpha, b.data,
                     b.row_stride, b.batch_stride, a.data, a.row_stride, a.batch_stride, &problem.beta, c.data,
                     c.row_stride, c.batch_stride, problem.batches),
            "the product");
    };
    if constexpr (sizeof(T) == 4) call(single_);
    else call(double_);
  }

 private:
  core::SharedLibrary library_;
  int (*create_)(Handle*) = nullptr;
  int (*set_stream_)(Handle, cudaStream_t) = nullptr;
  int (*set_math_mode_)(Handle, int) = nullptr;
  int (*set_strategy_)(Handle, int) = nullptr;  ///< exists since version 13 of the library
  const char* (*status_text_)(int) = nullptr;
  Multiply<float> single_ = nullptr;
  Multiply<double> double_ = nullptr;
  std::string trouble_;
};

inline const Library& library() {
  static const Library all;
  return all;
}

/// Computes a product or a batch of products. Divides the work into portions, and calls the library once per portion.
template <class T>
void multiply(const Problem<T>& problem, Math math, const Execution& execution, std::vector<Phase>& phases) {
  static std::mutex one_at_a_time;  // a handle has one stream and is not thread-safe
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const cuda::Stream& stream = problem.gpu->stream();
  const Handle handle = library().handle(problem.gpu->gpu(), math);
  library().set_stream(handle, stream);
  const core::PhaseTimer timer(phases, "multiply");
  // If there is one product, a portion is a range of rows of C, otherwise a range of products of the batch.
  const bool one = problem.batches == 1;
  const std::int64_t count = one ? problem.m : problem.batches;
  const double operations =
      static_cast<double>(problem.n) * static_cast<double>(problem.k) * (one ? 1 : static_cast<double>(problem.m));
  cuda::Portions(problem.stop, first_portion<T>())
      .run(count, operations, one ? 1024 : 1, stream, [&](std::int64_t first, std::int64_t number) {
        if (execution.progress) execution.progress({"multiply", first, count, {}});
        Problem<T> part = problem;
        (one ? part.m : part.batches) = number;
        part.a.data += first * (one ? part.a.row_stride : part.a.batch_stride);
        part.b.data += one ? 0 : first * part.b.batch_stride;
        part.c.data += first * (one ? part.c.row_stride : part.c.batch_stride);
        library().multiply(handle, part);
      });
  stream.wait();
}

}  // namespace gradus::matmul_detail::cublas_library
