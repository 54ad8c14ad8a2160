// simd_packed: panels of A and B are packed in the order in which they are read, and the sums of a block of C stay in
// vector registers. Computes the canonical result. The production variant on the CPU.
//
// What changes from `openmp_tiled`: there, each product loads an element of B and a sum, and stores the sum. Here:
// * A block of 12 rows by two vectors of C (4 rows by three vectors if there are only 16 registers) stays in registers
//   for a chain of 256 terms. Two vectors of B and 12 elements of A are loaded for 24 vector fused multiply-adds, and
//   nothing is stored. The sums are independent, and there are enough of them to hide the latency of the arithmetic
//   units.
// * The five loops around this kernel each keep their operands in a level of the memory hierarchy. 256 terms of 12 rows
//   of A stay in the L1 cache and serve a strip of columns of B. Up to 4 KiB of each column of the strip stay in the L2
//   cache and serve all rows. The packed rows of A stay in the last-level cache. C is loaded and stored once per 4 KiB
//   of terms.
// * A is packed into slivers of 12 rows and B into panels of two vectors of columns. The innermost loop reads both
//   sequentially. Packing makes full use of every page and cache line, makes products of transposed matrices equally
//   fast, and pads the borders with zeros. An operand is read in place if it is used only once or twice, or if it fits
//   in the L2 cache.
// * A vector times a matrix is limited by memory bandwidth. Cores do not all read equally fast, so this product is
//   handed out in small pieces (simd/lines.hpp, simd/row.hpp).
// * Highway selects the best instruction set of the CPU at run time (AVX-512, AVX2, ...).
//
// Work: m n k fused multiply-adds, at best two vectors per clock. Bytes: A is copied once per 8192 columns of B, and B
// once per 8192 rows of A.
// Memory: at most 128 MiB of packed panels, plus a copy of C if beta is not 0.
// Limits: none. On CPUs without fused instructions (before 2013), every term calls the C library's fma.
// Source: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008); F. G. Van Zee, R. van
// de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality" (2015).
#include <omp.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "core/checked.hpp"
#include "core/failure.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/scratch.hpp"
#include "cpu/threads.hpp"
#include "execution/machine.hpp"
#include "matmul/problem.hpp"
#include "matmul/simd/kernels.hpp"
#include "matmul/simd/lines.hpp"
#include "matmul/simd/row.hpp"

namespace gradus::matmul_detail {

namespace {

constexpr std::int64_t rounded_up(std::int64_t count, std::int64_t granule) {
  return (count + granule - 1) / granule * granule;
}

constexpr std::int64_t chunk_bytes = 4096;  // bytes of a row of A or a column of B that are packed at a time
constexpr std::int64_t pass_lines = 8192;   // number of rows of A, and of columns of B, that are packed at a time

/// Returns half the size of the L2 cache, in bytes.
std::int64_t half_l2() {
  static const auto half =
      static_cast<std::int64_t>(std::max<std::uint64_t>(execution::this_machine().layout().l2_bytes, 1 << 18) / 2);
  return half;
}

/// Returns the largest number of columns that a strip may have, so that the strip's part of B fits in half of the L2
/// cache. This part holds `terms` elements of each column.
std::int64_t widest_strip(std::int64_t panel, std::int64_t terms, int element_bytes) {
  // Columns with fewer bytes than this are treated as if they had this many bytes. Otherwise strips would become so
  // wide that their sums take more memory than their part of B.
  constexpr std::int64_t few_terms = 512;
  const std::int64_t bytes = std::clamp(terms * element_bytes, few_terms, chunk_bytes);
  return std::max(half_l2() / bytes / panel, std::int64_t{1}) * panel;
}

enum class Reading : std::uint8_t {
  in_place,  ///< read in the caller's matrix
  shared,    ///< packed once, by all threads together
  own        ///< packed by each thread for itself
};

/// The division of a problem into passes. A pass computes a part of C and adds its terms chunk by chunk.
struct Plan {
  /// `a_line` and `b_line` are the distances, in elements, between rows of A and rows of B. The distance is 0 if the
  /// rows are not contiguous.
  Plan(std::int64_t m, std::int64_t n, std::int64_t k, int element_bytes, std::int64_t a_line, std::int64_t b_line,
       Geometry geometry, int threads)
      : panel(geometry.columns), sliver(geometry.rows) {
    const std::int64_t slivers = (m + sliver - 1) / sliver;
    const bool few_rows = slivers <= 4;
    const bool few_columns = n <= 3 * panel;
    // In a large team, each thread has so little work that packing and waiting take a large part of its time.
    const bool large_team = threads > 8;
    const auto fits = [&](std::int64_t rows, std::int64_t columns, std::int64_t bytes) {
      return static_cast<double>(rows) * static_cast<double>(columns) * element_bytes <= static_cast<double>(bytes);
    };
    const std::int64_t l1 = std::int64_t{32} << 10;
    // Packing an operand that stays in the L2 cache takes longer than reading it in place.
    const bool small_b = fits(k, n, large_team ? half_l2() / 2 * 3 : half_l2());
    // Rows whose distance is a power of two would evict each other from the caches before the next sliver needs them.
    const bool a_apart = a_line != 0 && a_line * element_bytes % 4096 != 0;
    const bool a_stays = fits(m, k, half_l2() / 4) || a_apart;
    const bool b_stays = b_line != 0 && geometry.masks && (slivers == 1 || b_line * element_bytes % 1024 != 0);
    const bool b_in_place = ((few_rows || small_b) && b_stays) || (b_line != 0 && geometry.masks && fits(k, n, l1));
    const bool a_in_place =
        few_columns || (small_b && a_stays) || fits(m, 2 * k, l1) || (few_rows && large_team && a_apart);
    a = a_in_place ? Reading::in_place : few_rows ? Reading::own : Reading::shared;
    b = b_in_place ? Reading::in_place : few_rows || few_columns ? Reading::own : Reading::shared;
    by_strips = few_rows;
    // A thread with private columns waits for no other thread. Private columns are worthwhile if the panels can be
    // divided nearly evenly among the threads.
    const std::int64_t all_panels = (n + panel - 1) / panel;
    const bool even = 10 * all_panels >= std::int64_t{7} * threads * ((all_panels + threads - 1) / threads);
    if (large_team && b == Reading::shared && slivers <= 24 && a_apart && even) {
      by_strips = true;
      a = Reading::in_place;
      b = slivers <= 8 && b_stays ? Reading::in_place : Reading::own;
    }
    chunk = std::min(k, chunk_bytes / element_bytes);
    if (a == Reading::in_place && b == Reading::in_place && slivers == 1) {
      constexpr std::int64_t between_looks = 1024 * block_depth;  // terms between polls of the stop request
      chunk = std::min(k, between_looks);
    }
    chunks = (k + chunk - 1) / chunk;
    pass_m = m <= pass_lines / 2 ? m : std::min(m, pass_lines / sliver * sliver);
    pass_n = n <= pass_lines / 2 ? n : std::min(n, pass_lines / panel * panel);
    // Makes all strips equally wide. If there is enough work, each thread gets several slivers of a strip.
    const std::int64_t panels = (pass_n + panel - 1) / panel;
    const std::int64_t rows = (pass_m + sliver - 1) / sliver;
    const std::int64_t widest = widest_strip(panel, chunk, element_bytes) / panel;
    constexpr std::int64_t enough = std::int64_t{1} << 14;  // minimum number of multiply-adds per sliver of a strip
    const std::int64_t least = std::max(enough / (sliver * panel * std::max(chunk, std::int64_t{1})), std::int64_t{1});
    std::int64_t strips = (panels + widest - 1) / widest;
    if (by_strips) strips = rounded_up(strips, threads);
    else if (threads > 1)
      strips = std::max(strips, std::min((std::int64_t{4} * threads + rows - 1) / rows, panels / least));
    strip = (panels + std::min(strips, panels) - 1) / std::min(strips, panels) * panel;
  }

  std::int64_t panel;
  std::int64_t sliver;
  Reading a;
  Reading b;
  bool by_strips;  ///< true if each thread computes all rows of a strip
  std::int64_t chunk;
  std::int64_t chunks;
  std::int64_t pass_m;
  std::int64_t pass_n;
  std::int64_t strip;

  bool waits() const { return a == Reading::shared || b == Reading::shared; }
  /// Number of buffers for packed chunks. With two buffers, one chunk can be packed while the previous one is still
  /// read.
  std::int64_t buffers() const { return chunks > 1 ? 2 : 1; }
  std::int64_t shared_a() const { return a == Reading::shared ? rounded_up(pass_m, sliver) * chunk : 0; }
  std::int64_t shared_b() const { return b == Reading::shared ? rounded_up(pass_n, panel) * chunk : 0; }
  std::int64_t own_a() const { return a == Reading::own ? rounded_up(pass_m, sliver) * chunk : 0; }
  std::int64_t own_b() const { return b == Reading::own ? strip * chunk : 0; }
  std::int64_t totals() const { return sliver * strip; }
};

template <class T>
class Workspace {
 public:
  Workspace(const Plan& plan, int threads)
      : plan_(plan), memory_(static_cast<std::size_t>(elements(plan, threads)) * sizeof(T)) {}

  static std::int64_t elements(const Plan& plan, int threads) {
    return plan.buffers() * (part(plan.shared_a()) + part(plan.shared_b())) + threads * of_thread(plan);
  }

  T* shared_a(std::int64_t turn) { return first() + turn % plan_.buffers() * part(plan_.shared_a()); }
  T* shared_b(std::int64_t turn) {
    return first() + plan_.buffers() * part(plan_.shared_a()) + turn % plan_.buffers() * part(plan_.shared_b());
  }
  T* totals(int thread) {
    return first() + plan_.buffers() * (part(plan_.shared_a()) + part(plan_.shared_b())) + thread * of_thread(plan_);
  }
  T* own_a(int thread) { return totals(thread) + part(plan_.totals()); }
  T* own_b(int thread) { return own_a(thread) + part(plan_.own_a()); }

  /// Makes all threads leave after the barrier of this turn. One thread sets the flag before the barrier, and all
  /// threads read it after the barrier. Turns alternate between two flags, because a slow thread may still be reading
  /// the flag of the previous turn.
  void end_after(std::int64_t turn) { ends_[turn % 2] = true; }
  bool ends_after(std::int64_t turn) const { return ends_[turn % 2]; }

 private:
  /// Returns the size of a part, rounded up so that each part begins at a cache line. An additional cache line makes
  /// parts start at different page offsets.
  static std::int64_t part(std::int64_t elements) { return elements == 0 ? 0 : rounded_up(elements, 64) + 64; }
  static std::int64_t of_thread(const Plan& plan) {
    return part(plan.totals()) + part(plan.own_a()) + part(plan.own_b());
  }
  T* first() { return static_cast<T*>(memory_.data()); }

  const Plan& plan_;
  cpu::Scratch memory_;
  bool ends_[2] = {};
};

/// Reports the progress of the calling thread at intervals. An exception from the callback stops the product.
class ProgressReporter {
 public:
  explicit ProgressReporter(const Execution& execution) : progress_(execution.progress) {}

  void report(std::int64_t done, std::int64_t total) {
    if (!progress_ || failure_.happened() || core::seconds_since(last_report_) < 0.05) return;
    failure_.run([&] { progress_({"multiply", done, total, {}}); });
    last_report_ = core::Clock::now();
  }
  bool failed() const { return failure_.happened(); }
  void rethrow() const { failure_.rethrow(); }

 private:
  const std::function<void(const Progress&)>& progress_;
  core::Clock::time_point last_report_;  // initially the epoch, so that a small product need not read the clock
  core::FirstFailure failure_;
};

/// One thread's share of one product.
template <class T>
class Product {
 public:
  /// If partial sums cannot stay in C, `totals` has space for m x n sums, otherwise it is null. `reporter` is null
  /// except for thread 0.
  Product(const Problem<T>& problem, const Plan& plan, Workspace<T>& workspace, T* totals, ProgressReporter* reporter,
          int thread, int threads)
      : problem_(problem), plan_(plan), workspace_(workspace), totals_(totals), reporter_(reporter), thread_(thread),
        threads_(threads) {}

  /// Runs this thread's share. Every thread of the team must call it. After a stop request, all threads leave at the
  /// same barrier. They do not pass the barriers of the remaining chunks, of which there may be millions.
  void run() {
    for (std::int64_t column = 0; column < problem_.n; column += plan_.pass_n)
      for (std::int64_t row = 0; row < problem_.m; row += plan_.pass_m) {
        const Pass pass{row, std::min(plan_.pass_m, problem_.m - row), column,
                        std::min(plan_.pass_n, problem_.n - column)};
        for (std::int64_t chunk = 0; chunk < plan_.chunks; ++chunk, ++turn_)
          if (!run_chunk(pass, chunk)) return;
      }
  }

 private:
  struct Pass {
    std::int64_t row, rows, column, columns;
  };

  bool stopped() const { return problem_.stop.stop_requested() || (reporter_ != nullptr && reporter_->failed()); }

  void report() const {
    if (thread_ != 0 || reporter_ == nullptr) return;
    const std::int64_t passes =
        (problem_.m + plan_.pass_m - 1) / plan_.pass_m * ((problem_.n + plan_.pass_n - 1) / plan_.pass_n);
    reporter_->report(turn_, passes * plan_.chunks);
  }

  /// Waits at a barrier until the other threads have packed the elements that this thread reads.
  void wait_for_others() const {
    if (threads_ > 1 && plan_.waits()) {
#pragma omp barrier
    }
  }

  /// Packs slivers of rows of A into `to`, each sliver at its place.
  void pack_a(const Pass& pass, cpu::Range slivers, std::int64_t first, std::int64_t steps, T* to) const {
    for (std::int64_t sliver = slivers.begin; sliver < slivers.end && !stopped(); ++sliver) {
      const std::int64_t row = sliver * plan_.sliver;
      pack(Packing<T>{&problem_.a(pass.row + row, first), problem_.a.row_stride, problem_.a.column_stride,
                      std::min(plan_.sliver, pass.rows - row), steps, plan_.sliver, to + row * plan_.chunk});
    }
  }

  /// Packs panels of columns of B into `to`. The first panel in `to` is panel `origin`.
  void pack_b(const Pass& pass, cpu::Range panels, std::int64_t origin, std::int64_t first, std::int64_t steps,
              T* to) const {
    for (std::int64_t panel = panels.begin; panel < panels.end && !stopped(); ++panel) {
      const std::int64_t column = panel * plan_.panel;
      pack(Packing<T>{&problem_.b(first, pass.column + column), problem_.b.column_stride, problem_.b.row_stride,
                      std::min(plan_.panel, pass.columns - column), steps, plan_.panel,
                      to + (panel - origin) * plan_.panel * plan_.chunk});
    }
  }

  /// Returns false after a stop request. If threads wait for each other, all return false in the same turn.
  bool run_chunk(const Pass& pass, std::int64_t chunk) {
    const std::int64_t first = chunk * plan_.chunk;
    const std::int64_t steps = std::min(plan_.chunk, problem_.k - first);
    const std::int64_t slivers = (pass.rows + plan_.sliver - 1) / plan_.sliver;
    const std::int64_t panels = (pass.columns + plan_.panel - 1) / plan_.panel;
    const std::int64_t strips = (pass.columns + plan_.strip - 1) / plan_.strip;
    // With a single buffer, all threads must have finished reading the previous chunk.
    if (plan_.buffers() == 1 && turn_ > 0) wait_for_others();
    T* const a = plan_.a == Reading::shared ? workspace_.shared_a(turn_) : workspace_.own_a(thread_);
    T* const b = plan_.b == Reading::shared ? workspace_.shared_b(turn_) : workspace_.own_b(thread_);
    if (plan_.a == Reading::shared) pack_a(pass, cpu::share(slivers, thread_, threads_), first, steps, a);
    if (plan_.a == Reading::own) pack_a(pass, {0, slivers}, first, steps, a);
    if (plan_.b == Reading::shared) pack_b(pass, cpu::share(panels, thread_, threads_), 0, first, steps, b);
    const bool wait = threads_ > 1 && plan_.waits();
    if (wait && thread_ == 0 && stopped()) workspace_.end_after(turn_);
    wait_for_others();
    if (wait ? workspace_.ends_after(turn_) : stopped()) return false;

    // Proceeds strip by strip, so that the thread's strip of B stays in its L2 cache for all slivers.
    const cpu::Range own = plan_.by_strips
                               ? times(cpu::share(strips, thread_, threads_), slivers)
                               : cpu::Range{unit_of(thread_, slivers, panels), unit_of(thread_ + 1, slivers, panels)};
    std::int64_t packed_strip = -1;
    for (std::int64_t unit = own.begin; unit < own.end && !stopped(); ++unit) {
      report();
      const std::int64_t column = unit / slivers * plan_.strip;
      const std::int64_t row = unit % slivers * plan_.sliver;
      Strip<T> strip;
      strip.rows = std::min(plan_.sliver, pass.rows - row);
      strip.columns = std::min(plan_.strip, pass.columns - column);
      strip.steps = steps;
      strip.block = block_depth;
      strip.a_packed = plan_.a != Reading::in_place;
      strip.a = strip.a_packed ? a + row * plan_.chunk : &problem_.a(pass.row + row, first);
      strip.a_row = problem_.a.row_stride;
      strip.a_step = problem_.a.column_stride;
      strip.next_a =
          strip.a_packed && unit + 1 < own.end ? a + (unit + 1) % slivers * plan_.sliver * plan_.chunk : strip.a;
      strip.b_padded = plan_.b != Reading::in_place;
      strip.b_step = strip.b_padded ? plan_.panel : problem_.b.row_stride;
      strip.b_panel = strip.b_padded ? plan_.panel * plan_.chunk : plan_.panel;
      strip.b = &problem_.b(first, pass.column + column);
      if (plan_.b == Reading::shared) strip.b = b + column * plan_.chunk;
      if (plan_.b == Reading::own) {
        strip.b = b;
        const std::int64_t origin = column / plan_.panel;
        if (packed_strip != unit / slivers)
          pack_b(pass, {origin, origin + (strip.columns + plan_.panel - 1) / plan_.panel}, origin, first, steps, b);
        packed_strip = unit / slivers;
      }
      run_strip(strip, chunk, pass.row + row, pass.column + column);
    }
    return true;
  }

  /// Returns a thread's first unit of work. A unit is a sliver times a strip. The last strip may be narrow, so panels,
  /// not strips, are divided among the threads.
  std::int64_t unit_of(int thread, std::int64_t slivers, std::int64_t panels) const {
    const std::int64_t width = plan_.strip / plan_.panel;
    const std::int64_t last = (panels + width - 1) / width - 1;
    const std::int64_t before = slivers * panels / threads_ * thread + slivers * panels % threads_ * thread / threads_;
    const std::int64_t strip = std::min(before / (slivers * width), last);
    const std::int64_t of_strip = strip < last ? width : panels - last * width;
    return strip * slivers + (before - strip * slivers * width + of_strip / 2) / of_strip;
  }

  static cpu::Range times(cpu::Range range, std::int64_t factor) { return {range.begin * factor, range.end * factor}; }

  /// Multiplies one strip whose operands are ready. (row, column) is the position of the result in C.
  void run_strip(Strip<T>& strip, std::int64_t chunk, std::int64_t row, std::int64_t column) {
    const Operand<T>& c = problem_.c;
    const bool last = chunk + 1 == plan_.chunks;
    const bool in_lines = c.column_stride == 1;
    T* const scratch = workspace_.totals(thread_);
    T* const kept = totals_ != nullptr ? totals_ + row * problem_.n + column : &c(row, column);
    const std::int64_t kept_line = totals_ != nullptr ? problem_.n : c.row_stride;
    strip.totals = scratch;
    strip.totals_line = plan_.strip;
    strip.before = chunk > 0 ? kept : nullptr;
    strip.before_line = kept_line;
    const bool to_c = last && in_lines && totals_ == nullptr;
    strip.after = last && !to_c ? scratch : kept;
    strip.after_line = last && !to_c ? plan_.strip : kept_line;
    strip.finish = to_c;
    strip.alpha = problem_.alpha;
    strip.beta = problem_.beta;
    multiply(strip);
    if (!last || to_c) return;
    for (std::int64_t i = 0; i < strip.rows; ++i)
      for (std::int64_t j = 0; j < strip.columns; ++j) {
        T& result = c(row + i, column + j);
        result =
            finished(scratch[i * plan_.strip + j], problem_.alpha, problem_.beta, problem_.beta == 0 ? T{0} : result);
      }
  }

  const Problem<T>& problem_;
  const Plan& plan_;
  Workspace<T>& workspace_;
  T* totals_;
  ProgressReporter* reporter_;
  int thread_;
  int threads_;
  std::int64_t turn_ = 0;
};

/// Returns the problem or its transpose, so that vectors run along the contiguous lines of C. If the lines are so short
/// that a vector would be half empty, vectors run across the lines instead. The elements of such a vector are stored
/// one by one. Vectors across the lines are worthwhile only if there are enough lines and terms.
template <class T>
Problem<T> turned(const Problem<T>& problem, Geometry geometry) {
  const bool lines_down = problem.c.row_stride == 1 && problem.c.column_stride != 1;
  const std::int64_t length = lines_down ? problem.m : problem.n;
  const std::int64_t lines = lines_down ? problem.n : problem.m;
  const bool across = 2 * length <= geometry.vector && lines >= geometry.vector && problem.k >= 16;
  return lines_down != across ? problem.transposed() : problem;
}

template <class T>
Plan plan_of(const Problem<T>& problem, Geometry geometry, int threads) {
  const auto line = [](const auto& operand) { return operand.column_stride == 1 ? operand.row_stride : 0; };
  return {problem.m, problem.n, problem.k, sizeof(T), line(problem.a), line(problem.b), geometry, threads};
}

/// Returns true if the partial sums between chunks cannot be kept in C.
template <class T>
bool needs_totals(const Problem<T>& problem, const Plan& plan) {
  return plan.chunks > 1 && (problem.beta != 0 || problem.c.column_stride != 1);
}

/// Computes the products of a batch from packed panels, or as a FewTimesLines or a RowProduct.
template <class T>
class Products {
 public:
  Products(const Problem<T>& given, Geometry geometry, int threads)
      : lines_(given, geometry), problem_(lines_.is_one ? lines_.problem : turned(given, geometry)),
        is_row_(!lines_.is_one && RowProduct<T>::suits(problem_, geometry)),
        plan_(plan_of(problem_, geometry, threads)), threads_(threads) {}

  /// Computes one product with all threads of the team.
  void multiply_one(std::int64_t batch, ProgressReporter& reporter) const {
    const Problem<T> problem = problem_.at(batch);
    if (lines_.is_one) {
      if (threads_ == 1) return multiply_lines(problem, {0, problem.m});
      cpu::SharedWork lines(problem.m, threads_, lines_of_a_piece(problem.m, threads_));
#pragma omp parallel num_threads(threads_)
      {
        const int thread = omp_get_thread_num();
        for (cpu::Range own = lines.next(thread); own.size() > 0 && !problem.stop.stop_requested();
             own = lines.next(thread))
          multiply_lines(problem, own);
      }
      return;
    }
    if (is_row_) {
      cpu::Scratch sums(row_sums_bytes());
      RowProduct<T> product(problem, static_cast<T*>(sums.data()), threads_);
#pragma omp parallel num_threads(threads_)
      {
        const int thread = omp_get_thread_num();
        product.chain(thread);
#pragma omp barrier
        product.add(cpu::share(problem.n, thread, omp_get_num_threads(), 64));
      }
      return;
    }
    Workspace<T> workspace(plan_, threads_);
    Buffer<T> totals(needs_totals(problem, plan_) ? problem.m * problem.n : 0);
    if (threads_ == 1) return Product<T>(problem, plan_, workspace, totals.data(), &reporter, 0, 1).run();
#pragma omp parallel num_threads(threads_)
    Product<T>(problem, plan_, workspace, totals.data(), &reporter, omp_get_thread_num(), omp_get_num_threads()).run();
  }

  /// Computes the whole batch. Each thread of the team computes whole products, so the plan must be for one thread.
  void multiply_each(int team, ProgressReporter& reporter) const {
    const std::int64_t totals_size = !lines_.is_one && needs_totals(problem_, plan_) ? problem_.m * problem_.n : 0;
#pragma omp parallel num_threads(team)
    {
      Workspace<T> workspace(plan_, lines_.is_one ? 0 : 1);
      Buffer<T> totals(totals_size);
      cpu::Scratch sums(is_row_ ? row_sums_bytes() : 0);
      const cpu::Range own = cpu::share(problem_.batches, omp_get_thread_num(), omp_get_num_threads());
      for (std::int64_t batch = own.begin; batch < own.end; ++batch) {
        if (problem_.stop.stop_requested() || reporter.failed()) break;
        if (omp_get_thread_num() == 0) reporter.report(batch - own.begin, own.size());
        const Problem<T> problem = problem_.at(batch);
        if (lines_.is_one) {
          multiply_lines(problem, {0, problem.m});
        } else if (is_row_) {
          RowProduct<T> product(problem, static_cast<T*>(sums.data()), 1);
          product.chain(0);
          product.add({0, problem.n});
        } else {
          Product<T>(problem, plan_, workspace, totals.data(), nullptr, 0, 1).run();
        }
      }
    }
  }

 private:
  std::size_t row_sums_bytes() const {
    return static_cast<std::size_t>(RowProduct<T>::sums_of(problem_.n, problem_.k)) * sizeof(T);
  }

  FewTimesLines<T> lines_;
  Problem<T> problem_;
  bool is_row_;
  Plan plan_;
  int threads_;
};

}  // namespace

core::Memory packed_memory(const Shape& shape, int threads) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0 || shape.batches == 0) return {};
  const Geometry geometry =
      shape.element_bytes == sizeof(float) ? matmul_detail::geometry<float>() : matmul_detail::geometry<double>();
  std::int64_t elements = 0;
  for (const bool turned : {false, true})
    for (const std::int64_t a_line : {0, 1}) {
      // Assumes the worst case, in which no rows are contiguous. Then all operands are packed, or each thread packs its
      // columns.
      const Plan plan(turned ? shape.n : shape.m, turned ? shape.m : shape.n, shape.k, shape.element_bytes, a_line, 0,
                      geometry, shape.batches > 1 ? 1 : threads);
      const std::int64_t alone = Workspace<double>::elements(plan, 1) * threads;
      elements = std::max(elements, shape.batches > 1 ? alone : Workspace<double>::elements(plan, threads));
    }
  const auto element_bytes = static_cast<std::uint64_t>(shape.element_bytes);
  auto bytes = static_cast<std::uint64_t>(elements) * element_bytes;
  const auto each_thread = static_cast<std::uint64_t>(shape.batches > 1 ? threads : 1);
  if (std::min(shape.m, shape.n) == 1) {
    const std::uint64_t chains =
        core::checked_multiply(static_cast<std::uint64_t>(RowProduct<float>::sums_of(1, shape.k)),
                               static_cast<std::uint64_t>(std::max(shape.m, shape.n)), "sums");
    bytes = core::checked_add(bytes, core::checked_multiply(chains, each_thread * element_bytes, "sums"), "sums");
  }
  const bool short_lines = std::min(shape.m, shape.n) * 2 <= geometry.vector;
  if (shape.k * shape.element_bytes > chunk_bytes && (shape.totals || short_lines)) {
    const std::uint64_t each = core::checked_multiply(static_cast<std::uint64_t>(shape.m) * element_bytes,
                                                      static_cast<std::uint64_t>(shape.n), "sums");
    bytes = core::checked_add(bytes, core::checked_multiply(each, each_thread, "sums"), "sums");
  }
  return {.host = bytes};
}

template <class T>
Done simd_packed(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "multiply");
  const int threads = cpu::thread_count(execution);
  // Starting a thread team and waiting at its barriers costs as much as a few million products.
  const double each = problem.shape().operations() / static_cast<double>(problem.batches);
  const bool whole_products =
      problem.batches > 1 && problem.batches >= threads && (each < 1e7 || problem.batches >= 8 * std::int64_t{threads});
  const Products<T> products(problem, geometry<T>(), whole_products ? 1 : threads);
  ProgressReporter reporter(execution);
  if (whole_products) {
    products.multiply_each(threads, reporter);
  } else {
    for (std::int64_t batch = 0; batch < problem.batches; ++batch) {
      core::honour_stop(problem.stop, "stopped while multiplying");
      products.multiply_one(batch, reporter);
      reporter.rethrow();
    }
  }
  reporter.rethrow();
  core::honour_stop(problem.stop, "stopped while multiplying");
  return {};
}

extern constinit const Variant simd_packed_rung{
    .name = "simd_packed",
    .summary = "packed panels, sums in vector registers, a block size for each level of the memory",
    .change =
        "no sum is loaded or stored for 256 terms; fused multiply-add instructions; the CPU's "
        "best instructions; the canonical result",
    .backend = core::Backend::simd,
    .memory = packed_memory,
    .run = {simd_packed<float>, simd_packed<double>},
};

}  // namespace gradus::matmul_detail
