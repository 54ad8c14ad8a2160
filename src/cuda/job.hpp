// The class Job: a GPU in use by a job. It owns the job's stream, pinned memory for transfers, and the job's GPU
// memory. It copies the caller's views to the GPU, copies results back, and scans rows on the GPU.
//
// Host code includes this header and the other headers of GPU code, so every build contains them. In a build without
// CUDA, these headers only declare the classes, and the functions in each room's gpu/not_compiled.cpp throw
// core::not_compiled().
#pragma once

#include <string>

#include "core/visit_copies.hpp"
#include "gradus/array.hpp"
#include "gradus/error.hpp"
#include "gradus/execution.hpp"

#ifdef GRADUS_HAS_CUDA
#include <utility>

#include "cuda/arena.hpp"
#include "cuda/column_ranges.hpp"
#include "cuda/transfer.hpp"
#endif

namespace gradus::cuda {

class Job;

#ifndef GRADUS_HAS_CUDA

inline constexpr bool is_compiled = false;

#else

inline constexpr bool is_compiled = true;

/// A job on a GPU. During the lifetime of the object, the GPU is the current device of the thread that constructed the
/// object.
class Job {
 public:
  /// Uses the GPU of `execution`, which must exist (execution::start_gpu_job() checks this). `threads` is the number of
  /// CPU threads that take part in transfers. `bytes` is the size of memory(). Throws OutOfMemoryError with the needed
  /// and the free memory.
  Job(const Execution& execution, int threads, std::uint64_t bytes = 0)
      : gpu_(execution.gpu), threads_(threads), callers_stream_(execution.stream), device_(execution.gpu),
        memory_(bytes, execution.gpu_memory_limit), staging_(execution.stop) {}

  int gpu() const { return gpu_; }
  MemoryPlace place() const { return MemoryPlace::on_gpu(gpu_); }
  int threads() const { return threads_; }
  const std::stop_token& stop() const { return staging_.stop(); }
  const Stream& stream() const { return stream_; }
  Staging& staging() { return staging_; }
  /// Returns the job's memory. Its size must be the sum of part_bytes() over all parts that the job takes and
  /// bytes_to_bring() over all views that it brings.
  Arena& memory() { return memory_; }

  /// Must be called before the job reads or writes the caller's GPU memory. The first call waits for the work in
  /// Execution::stream. Throws UsageError, with a message that begins with `what`, if the address is not in this GPU's
  /// memory.
  void admit(const void* address, const char* what);

  /// Returns the number of bytes of memory() that bring() takes for these rows.
  template <class T>
  static std::uint64_t bytes_to_bring(MatrixView<const T> rows) {
    return rows.place().is_host() ? part_bytes(rows.rows() * rows.columns(), sizeof(T)) : 0;
  }
  template <class T>
  static std::uint64_t bytes_to_bring(VectorView<const T> elements) {
    return bytes_to_bring(as_column(elements));
  }

  /// Returns a view of the rows on the GPU. If the rows are already on the GPU, calls admit() and uses them in place.
  /// Otherwise copies them to memory(), without gaps.
  template <class T>
  MatrixView<const T> bring(MatrixView<const T> rows, const char* what) {
    if (!rows.place().is_host()) {
      if (rows.rows() > 0) admit(rows.data(), what);
      return rows;
    }
    T* const copy = memory_.take<T>(rows.rows() * rows.columns());
    copy_here(rows, copy);
    return {copy, rows.rows(), rows.columns(), place()};
  }
  template <class T>
  VectorView<const T> bring(VectorView<const T> elements, const char* what) {
    if (elements.empty()) return elements;
    return {bring(as_column(elements), what).data(), elements.size(), place()};
  }

  /// Copies the rows to `to` on the GPU, without gaps between rows. If the rows are in host memory, returns when the
  /// copy is complete. If the rows are on the GPU, only enqueues the copy.
  template <class T>
  void copy_here(MatrixView<const T> rows, T* to) {
    if (rows.rows() == 0 || rows.columns() == 0) return;
    if (rows.place().is_host()) upload(rows, to, staging_, threads_, stream_);
    else copy_rows(rows, MatrixView<T>(to, rows.rows(), rows.columns()), cudaMemcpyDeviceToDevice);
  }

  /// Copies rows on the GPU to the caller's rows, in host memory or on the GPU. Returns when the copy is complete.
  template <class T>
  void copy_back(MatrixView<const T> from, MatrixView<T> to) {
    if (from.rows() == 0 || from.columns() == 0) return;
    if (to.place().is_host() && from.contiguous() && to.contiguous())
      return download(from.data(), to.data(), from.rows() * from.columns(), staging_, threads_, stream_);
    copy_rows(from, to, to.place().is_host() ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
    stream_.wait();
  }

  /// Copies rows from the GPU to host memory, and returns the copy. Meant for few rows: for large matrices, copy_back()
  /// is faster.
  template <class T>
  Matrix<T> copy_to_host(MatrixView<const T> rows) const {
    Matrix<T> copy(rows.rows(), rows.columns());
    copy_rows(rows, copy.view(), cudaMemcpyDeviceToHost);
    stream_.wait();
    return copy;
  }

  /// Returns the range of each column of rows on the GPU, and the first invalid value.
  template <class T>
  core::FoundRanges find_ranges(MatrixView<const T> rows) {
    return find_column_ranges(rows, scratch(column_range_words(rows.columns())), stream_);
  }
  template <class T>
  core::FoundRanges find_ranges(VectorView<const T> elements) {
    return find_ranges(as_column(elements));
  }
  /// Returns the range of each column of rows on the GPU. Throws the same errors as cpu::column_ranges(). Row numbers
  /// in the errors begin with `first`.
  template <class T>
  core::ColumnRanges column_ranges(MatrixView<const T> rows, const char* what, std::int64_t first = 0) {
    core::FoundRanges found = find_ranges(rows);
    if (found.bad_row >= 0) core::throw_bad_value(what, first + found.bad_row, found.bad_column, found.bad_value);
    return std::move(found.ranges);
  }

  using Word = unsigned long long;  ///< CUDA's atomic operations support this type
  /// Returns at least `words` words for temporary use. All calls return the same memory.
  Word* scratch(std::int64_t words) {
    if (words > scratch_words_) {
      own_scratch_ = DeviceBuffer<Word>(words);
      scratch_ = own_scratch_.data();
      scratch_words_ = words;
    }
    return scratch_;
  }
  /// Takes the scratch words from memory(), so that they need no separate allocation. Call reserve_scratch() if the
  /// number of words is known in advance.
  void reserve_scratch(std::int64_t words) {
    scratch_ = memory_.take<Word>(words);
    scratch_words_ = words;
  }

 private:
  template <class T>
  static MatrixView<const T> as_column(VectorView<const T> elements) {
    return {elements.data(), elements.size(), 1, elements.place()};
  }

  template <class T>
  void copy_rows(MatrixView<const T> from, MatrixView<T> to, cudaMemcpyKind kind) const {
    if (from.rows() == 0) return;
    if (from.contiguous() && to.contiguous()) {  // a copy row by row would take the driver about 0.2 us per row
      const std::size_t bytes = static_cast<std::size_t>(from.rows() * from.columns()) * sizeof(T);
      return check(cudaMemcpyAsync(to.data(), from.data(), bytes, kind, stream_), "cudaMemcpyAsync");
    }
    check(cudaMemcpy2DAsync(to.data(), static_cast<std::size_t>(to.row_stride()) * sizeof(T), from.data(),
                            static_cast<std::size_t>(from.row_stride()) * sizeof(T),
                            static_cast<std::size_t>(from.columns()) * sizeof(T), static_cast<std::size_t>(from.rows()),
                            kind, stream_),
          "cudaMemcpy2DAsync");
  }

  int gpu_;
  int threads_;
  void* callers_stream_;
  bool callers_work_is_done_ = false;
  CurrentDevice device_;
  Arena memory_;
  DeviceBuffer<Word> own_scratch_;
  Word* scratch_ = nullptr;
  std::int64_t scratch_words_ = 0;
  Staging staging_;
  Stream stream_;  ///< declared last and thus destroyed first: its destructor waits for work that still uses the memory
};

#endif

/// Calls visit(number of the first row, rows in host memory) for consecutive blocks of rows until visit() returns
/// false. If the rows are on a GPU, `job` is a Job on this GPU, and visit() receives copies of the rows. If the rows
/// are in host memory, `job` is null.
template <class T, class AnyJob, class Visit>
void visit_rows(MatrixView<const T> rows, const AnyJob* job, const Visit& visit) {
  if constexpr (is_compiled) {
    if (job) {
      const auto copy = [&](std::int64_t first, std::int64_t count) {
        return job->copy_to_host(rows.slice(first, count));
      };
      return core::visit_copies<T>(rows.rows(), copy, visit);
    }
  }
  visit(std::int64_t{0}, rows);
}

/// Refuses rows on a GPU in a build without CUDA.
[[noreturn]] inline void refuse_without_cuda(const char* what) {
  throw UnsupportedError(std::string(what) + " are on a GPU, but this build has no CUDA; pass host memory");
}

}  // namespace gradus::cuda
