// openblas: OpenBLAS, the library that Debian and NumPy use for products. A baseline for comparison, never chosen.
//
// What changes from `simd_packed`: the kernels and the threads are OpenBLAS's. The kernels are written in assembly for
// each CPU. The order of the additions depends on the CPU and on the number of threads, and so do the bits of the
// result.
//
// The library is opened on first use, so that programs run without it. It is libopenblas.so.0, or the file named by the
// environment variable GRADUS_OPENBLAS (for example, the one inside a NumPy package).
//
// Limits: fewer than 2^31 rows and columns. A matrix that is contiguous along neither axis is copied.
// Source: https://www.openblas.net
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>

#include "core/phases.hpp"
#include "core/shared_library.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

namespace {

constexpr int row_major = 101;
constexpr int not_transposed = 111;
constexpr int transposed = 112;

/// The functions of the library. In the copies inside NumPy packages, the function names have a prefix, and integers
/// have 64 bits.
class Library {
 public:
  Library() : library_({file()}) {
    if (!library_) {
      trouble_ =
          std::string("the library ") + file() + " was not found (install Debian's package libopenblas0-pthread)";
      return;
    }
    wide_ = library_.find("scipy_cblas_sgemm64_") != nullptr;
    single_ = find("cblas_sgemm");
    double_ = find("cblas_dgemm");
    set_threads_ = find("openblas_set_num_threads");
    if (single_ == nullptr || double_ == nullptr || set_threads_ == nullptr)
      trouble_ = std::string("the library ") + file() + " has no cblas_sgemm, or is not OpenBLAS";
  }

  const std::string& trouble() const { return trouble_; }

  void set_threads(int threads) const { reinterpret_cast<void (*)(int)>(set_threads_)(threads); }

  /// Computes C = alpha A B + beta C. The rows of C are contiguous.
  template <class T>
  void multiply(int turn_a, int turn_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                std::int64_t a_line, const T* b, std::int64_t b_line, T beta, T* c, std::int64_t c_line) const {
    void* const function = sizeof(T) == 4 ? single_ : double_;
    if (wide_) call<T, std::int64_t>(function, turn_a, turn_b, m, n, k, alpha, a, a_line, b, b_line, beta, c, c_line);
    else call<T, int>(function, turn_a, turn_b, m, n, k, alpha, a, a_line, b, b_line, beta, c, c_line);
  }

 private:
  static const char* file() {
    const char* const named = std::getenv("GRADUS_OPENBLAS");
    return named != nullptr ? named : "libopenblas.so.0";
  }

  void* find(const std::string& name) const { return library_.find((wide_ ? "scipy_" + name + "64_" : name).c_str()); }

  template <class T, class Integer>
  static void call(void* function, int turn_a, int turn_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                   const T* a, std::int64_t a_line, const T* b, std::int64_t b_line, T beta, T* c,
                   std::int64_t c_line) {
    using Function =
        void (*)(int, int, int, Integer, Integer, Integer, T, const T*, Integer, const T*, Integer, T, T*, Integer);
    const auto integer = [](std::int64_t value) { return static_cast<Integer>(value); };
    reinterpret_cast<Function>(function)(row_major, turn_a, turn_b, integer(m), integer(n), integer(k), alpha, a,
                                         integer(a_line), b, integer(b_line), beta, c, integer(c_line));
  }

  core::SharedLibrary library_;
  bool wide_ = false;
  void* single_ = nullptr;
  void* double_ = nullptr;
  void* set_threads_ = nullptr;
  std::string trouble_;
};

const Library& library() {
  static const Library all;
  return all;
}

/// An operand in the layout that the library accepts: contiguous rows or columns.
template <class T>
struct Lines {
  Lines(const Operand<const T>& operand, std::int64_t rows, std::int64_t columns) : data(operand.data) {
    const auto fits = [](std::int64_t stride, std::int64_t length) {
      return stride >= std::max<std::int64_t>(length, 1) && stride <= std::numeric_limits<int>::max();
    };
    if (operand.column_stride == 1 && fits(operand.row_stride, columns)) {
      line = operand.row_stride;
    } else if (operand.row_stride == 1 && fits(operand.column_stride, rows)) {
      line = operand.column_stride;
      turn = transposed;
    } else {
      copy = Buffer<T>(rows * columns);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column) copy[row * columns + column] = operand(row, column);
      data = copy.data();
      line = columns;
    }
  }
  const T* data;
  std::int64_t line = 0;
  int turn = not_transposed;
  Buffer<T> copy;
};

core::Support openblas_is_here(const Shape&, const execution::Machine&) {
  return library().trouble().empty() ? core::Support::yes() : core::Support::no(library().trouble());
}

}  // namespace

template <class T>
Done openblas(const Problem<T>& given, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "multiply");
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (given.m > most || given.n > most || given.k > most)
    throw UnsupportedError("OpenBLAS supports fewer than 2^31 rows and columns; use simd_packed");
  const Problem<T> problem = given.c.column_stride == 1 || given.c.row_stride != 1 ? given : given.transposed();
  static std::mutex one_at_a_time;  // the thread count is global to the library
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  library().set_threads(cpu::thread_count(execution));
  for (std::int64_t batch = 0; batch < problem.batches; ++batch) {
    core::honour_stop(problem.stop, "stopped while multiplying");
    const Lines<T> a(problem.a.at(batch), problem.m, problem.k);
    const Lines<T> b(problem.b.at(batch), problem.k, problem.n);
    const Operand<T> c = problem.c.at(batch);
    const bool in_lines = c.column_stride == 1 && c.row_stride >= problem.n && c.row_stride <= most;
    if (in_lines) {
      library().multiply(a.turn, b.turn, problem.m, problem.n, problem.k, problem.alpha, a.data, a.line, b.data, b.line,
                         problem.beta, c.data, c.row_stride);
      continue;
    }
    Buffer<T> totals(problem.m * problem.n);
    library().multiply(a.turn, b.turn, problem.m, problem.n, problem.k, T{1}, a.data, a.line, b.data, b.line, T{0},
                       totals.data(), problem.n);
    for (std::int64_t row = 0; row < problem.m; ++row)
      for (std::int64_t column = 0; column < problem.n; ++column) {
        T& result = c(row, column);
        result =
            finished(totals[row * problem.n + column], problem.alpha, problem.beta, problem.beta == 0 ? T{0} : result);
      }
  }
  return {};
}

extern constinit const Variant openblas_rung{
    .name = "openblas",
    .summary = "the library OpenBLAS, for comparison",
    .change = "third-party kernels, in assembly for each CPU",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .baseline = true,
    .supports = openblas_is_here,
    .run = {openblas<float>, openblas<double>},
};

}  // namespace gradus::matmul_detail
