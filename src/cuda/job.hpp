// A GPU in use by a job: the device, the job's stream, pinned memory for transfers, and the job's memory there. Views
// of the caller's are brought here, results are copied back, and rows here are looked at.
//
// Host code includes this, and the headers of GPU code that rest on it, in every build. Without CUDA there are the
// names of the classes alone; the functions that host code calls then throw core::not_compiled(), which each room
// defines in gpu/not_compiled.cpp.
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

/// Current for the thread that makes it, for as long as it lives.
class Job {
 public:
  /// On the GPU of `execution`, which is there (execution::start_gpu_job() checks it). `threads`: of the processor, for
  /// transfers. `bytes`: of memory(). OutOfMemoryError with what is needed and what is free where they do not
  /// suffice.
  Job(const Execution& execution, int threads, std::uint64_t bytes = 0)
      : gpu_(execution.gpu), threads_(threads), callers_stream_(execution.stream), device_(execution.gpu),
        memory_(bytes, execution.gpu_memory_limit), staging_(execution.stop) {}

  int gpu() const { return gpu_; }
  MemoryPlace place() const { return MemoryPlace::on_gpu(gpu_); }
  int threads() const { return threads_; }
  const std::stop_token& stop() const { return staging_.stop(); }
  const Stream& stream() const { return stream_; }
  Staging& staging() { return staging_; }
  /// What the job said that it takes: the sum of part_bytes() and bytes_to_bring().
  Arena& memory() { return memory_; }

  /// Before memory of the caller's here is read or written: waits, once for all of it, for what is in
  /// Execution::stream. UsageError that begins with `what` where the address is not memory of this GPU, whatever the
  /// view of it says.
  void admit(const void* address, const char* what);

  /// What bring() takes of memory().
  template <class T>
  static std::uint64_t bytes_to_bring(MatrixView<const T> rows) {
    return rows.place().is_host() ? part_bytes(rows.rows() * rows.columns(), sizeof(T)) : 0;
  }
  template <class T>
  static std::uint64_t bytes_to_bring(VectorView<const T> elements) {
    return bytes_to_bring(as_column(elements));
  }

  /// The rows here: themselves, once admit() lets them in, where they lie here; otherwise a copy in memory(), whose
  /// rows have nothing between them.
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

  /// Copies the rows, without what may lie between them, to `to` here. From host memory it returns when all is there;
  /// from here the copy is in the stream.
  template <class T>
  void copy_here(MatrixView<const T> rows, T* to) {
    if (rows.rows() == 0 || rows.columns() == 0) return;
    if (rows.place().is_host()) upload(rows, to, staging_, threads_, stream_);
    else copy_rows(rows, MatrixView<T>(to, rows.rows(), rows.columns()), cudaMemcpyDeviceToDevice);
  }

  /// Copies rows here to as many of the caller's, in host memory or here; returns when all is there.
  template <class T>
  void copy_back(MatrixView<const T> from, MatrixView<T> to) {
    if (from.rows() == 0 || from.columns() == 0) return;
    if (to.place().is_host() && from.contiguous() && to.contiguous())
      return download(from.data(), to.data(), from.rows() * from.columns(), staging_, threads_, stream_);
    copy_rows(from, to, to.place().is_host() ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
    stream_.wait();
  }

  /// A copy of rows here; for few of them: large ones travel faster by copy_back().
  template <class T>
  Matrix<T> copy_to_host(MatrixView<const T> rows) const {
    Matrix<T> copy(rows.rows(), rows.columns());
    copy_rows(rows, copy.view(), cudaMemcpyDeviceToHost);
    stream_.wait();
    return copy;
  }

  /// The range of each column of rows here, and the first value that cannot be used.
  template <class T>
  core::FoundRanges find_ranges(MatrixView<const T> rows) {
    return find_column_ranges(rows, scratch(column_range_words(rows.columns())), stream_);
  }
  template <class T>
  core::FoundRanges find_ranges(VectorView<const T> elements) {
    return find_ranges(as_column(elements));
  }
  /// What cpu::column_ranges() gives for rows in host memory, its errors included.
  template <class T>
  core::ColumnRanges column_ranges(MatrixView<const T> rows, const char* what) {
    core::FoundRanges found = find_ranges(rows);
    if (found.bad_row >= 0) core::throw_bad_value(what, found.bad_row, found.bad_column, found.bad_value);
    return std::move(found.ranges);
  }

  using Word = unsigned long long;  ///< of CUDA's atomic operations
  /// So many words at least, for short work: the same memory at every call.
  Word* scratch(std::int64_t words) {
    if (words > scratch_words_) {
      own_scratch_ = DeviceBuffer<Word>(words);
      scratch_ = own_scratch_.data();
      scratch_words_ = words;
    }
    return scratch_;
  }
  /// Takes them from memory(), which saves a job that knows their number an allocation.
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
    if (from.contiguous() && to.contiguous()) {  // row by row the driver takes some 0.2 us for each
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
  Stream stream_;  ///< ends first, and waits for what still uses the memory
};

#endif

/// Calls visit(number of the first row, rows in host memory) with some rows after the other until it returns false.
/// `job`: a Job where the rows lie on its GPU, from which they are copied; null where they are in host memory.
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

/// In a build without CUDA, where rows are to be used on a GPU after all.
[[noreturn]] inline void refuse_without_cuda(const char* what) {
  throw UnsupportedError(std::string(what) + " are on a GPU, but this build has no CUDA; pass host memory");
}

}  // namespace gradus::cuda
