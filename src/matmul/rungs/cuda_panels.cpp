// cuda_panels: matrices in host memory pass through the GPU in panels while the GPU computes. The rung serves matrices
// that are larger than the GPU's memory, and matrices whose transfer takes as long as their product.
//
// What changes from `cuda_pipelined`: computation begins before all matrices are on the GPU. C is divided into blocks.
// Each block is the product of a panel of rows of A and a panel of columns of B. While the GPU computes a block, a
// thread uploads the panels of the next block and downloads the previous block. The computation thus hides the copies
// in both directions, except for the first panels and the last block.
// * k is not divided. A block does not depend on the other blocks and has the same bits as without division.
// * The order of the blocks is known in advance, so the rung always evicts the panel whose next use is farthest away.
//   If all of A or all of B fits, each matrix is transferred once. Otherwise one operand is transferred once, and the
//   other operand is transferred once per panel of the first operand.
// * gpu/panel_plan.hpp chooses the sizes of panels: many small blocks hide more of the transfer time, and few large
//   blocks transfer fewer bytes.
// * In a batch of small products, several products form one step.
//
// Operations: as `cuda_pipelined`. Bytes to and from the GPU: if all of A or all of B fits, each matrix once. If
// neither fits, C and one operand once, and the other operand several times. For example, if A is transferred once, B
// is transferred m / (rows of a panel) times. The slower of computation and transfer determines the time.
// Limits: the matrices must be in host memory. The GPU's memory must hold two panels of 128 rows of A and two panels of
// 128 columns of B.
// Source: tiling, as in any product, but at an additional level of the memory hierarchy.
#include "matmul/gpu/panel_plan.hpp"
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"
#include "matmul/variants.hpp"

#ifdef GRADUS_HAS_CUDA
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "core/phases.hpp"
#include "execution/gpu_job.hpp"
#include "matmul/gpu/bring.hpp"
#include "matmul/gpu/panel_plan.hpp"

namespace gradus::matmul_detail {

namespace {

/// A block of C: some rows and columns of some products of the batch.
struct Step {
  std::int64_t first_product, products;
  std::int64_t first_row, rows;
  std::int64_t first_column, columns;
  std::int64_t a_panel, b_panel;
};

std::vector<Step> steps_of(const Shape& shape, const PanelPlan& plan, bool one_a, bool one_b) {
  const std::int64_t row_panels = pieces(shape.m, plan.rows);
  const std::int64_t column_panels = pieces(shape.n, plan.columns);
  std::vector<Step> steps;
  for (std::int64_t group = 0; group < pieces(shape.batches, plan.products); ++group)
    for (std::int64_t number = 0; number < row_panels * column_panels; ++number) {
      const std::int64_t inside = plan.rows_outside ? column_panels : row_panels;
      const std::int64_t outer = number / inside;
      // The direction alternates, so that each pass begins with the panel that the previous pass used last.
      const std::int64_t inner = outer % 2 == 0 ? number % inside : inside - 1 - number % inside;
      const std::int64_t row = plan.rows_outside ? outer : inner;
      const std::int64_t column = plan.rows_outside ? inner : outer;
      Step step{};
      step.first_product = group * plan.products;
      step.products = std::min(plan.products, shape.batches - step.first_product);
      step.first_row = row * plan.rows;
      step.rows = std::min(plan.rows, shape.m - step.first_row);
      step.first_column = column * plan.columns;
      step.columns = std::min(plan.columns, shape.n - step.first_column);
      step.a_panel = (one_a ? 0 : group * row_panels) + row;
      step.b_panel = (one_b ? 0 : group * column_panels) + column;
      steps.push_back(step);
    }
  return steps;
}

/// GPU memory for panels of one operand.
template <class T>
class Places {
 public:
  Places(std::int64_t count, std::int64_t elements, cuda::Arena& memory) {
    for (std::int64_t place = 0; place < count; ++place) places_.push_back({memory.take<T>(elements), -1});
  }

  struct Place {
    T* memory;
    bool is_filled;  ///< true if the panel is already in this place, so that it need not be copied
  };
  /// Returns the place of the panel that a step needs. If the panel is not on the GPU, evicts the panel whose next use
  /// is farthest away, but never a panel that the previous step still uses. `wanted` lists the panel numbers of all
  /// steps.
  Place place_for(std::size_t step, const std::vector<std::int64_t>& wanted) {
    Held* latest = nullptr;
    std::size_t when = 0;
    for (Held& held : places_) {
      if (held.panel == wanted[step]) return {held.memory, true};
      if (step > 0 && held.panel == wanted[step - 1]) continue;
      std::size_t next = step;
      while (held.panel >= 0 && next < wanted.size() && wanted[next] != held.panel) ++next;
      if (held.panel < 0) next = wanted.size() + 1;
      if (latest == nullptr || next > when) {
        latest = &held;
        when = next;
      }
    }
    latest->panel = wanted[step];
    return {latest->memory, false};
  }

 private:
  struct Held {
    T* memory;
    std::int64_t panel;
  };
  std::vector<Held> places_;
};

/// Synchronizes the copying thread and the computing thread: counts the steps that are ready and the blocks that are
/// computed.
class Handover {
 public:
  void step_is_ready() { change(ready_); }
  void block_is_computed() { change(computed_); }
  /// Wakes the other thread. A thread that ends early must call this function, because the other thread may be waiting.
  void give_up() {
    const std::lock_guard<std::mutex> lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }
  /// Waits until `count` steps are ready. Returns false if the other thread gave up.
  bool wait_for_ready(std::size_t count) { return wait_for(ready_, count); }
  bool wait_for_computed(std::size_t count) { return wait_for(computed_, count); }

 private:
  void change(std::size_t& count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count;
    changed_.notify_all();
  }
  bool wait_for(const std::size_t& count, std::size_t wanted) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return count >= wanted || given_up_; });
    return count >= wanted;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ready_ = 0;
  std::size_t computed_ = 0;
  bool given_up_ = false;
};

template <class T>
class PanelRun {
 public:
  PanelRun(const Problem<T>& problem, const Execution& execution, const PanelPlan& plan, const PanelNeeds& needs,
           cuda::Job& job)
      : problem_(problem), execution_(execution), job_(job),
        steps_(steps_of(problem.shape(), plan, problem.a.batch_stride == 0, problem.b.batch_stride == 0)),
        a_places_(plan.a_places, plan.products * plan.rows * problem.k, job.memory()),
        b_places_(plan.b_places, plan.products * plan.columns * problem.k, job.memory()), ready_(steps_.size()) {
    for (const Step& step : steps_) {
      a_wanted_.push_back(step.a_panel);
      b_wanted_.push_back(step.b_panel);
    }
    for (std::size_t turn = 0; turn < std::min<std::size_t>(2, steps_.size()); ++turn)
      c_places_[turn] = job.memory().template take<T>(plan.products * plan.rows * plan.columns);
    if (needs.a_is_turned) a_unturned_ = job.memory().template take<T>(plan.products * plan.rows * problem.k);
    if (needs.b_is_turned) b_unturned_ = job.memory().template take<T>(plan.products * plan.columns * problem.k);
    rest_ = job.memory().mark();
    inner_execution_ = execution;
    inner_execution_.progress = nullptr;
  }

  void run() {
    std::exception_ptr failure;
    std::thread copier([&] {
      try {
        copy_all();
      } catch (...) {
        failure = std::current_exception();
        handover_.give_up();
      }
    });
    try {
      multiply_all();
    } catch (...) {
      handover_.give_up();
      copier.join();
      throw;
    }
    copier.join();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  struct Ready {
    T* a;
    T* b;
  };

  void multiply_all() {
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      if (!handover_.wait_for_ready(step + 1)) return;
      if (execution_.progress)
        execution_.progress(
            {"multiply", static_cast<std::int64_t>(step), static_cast<std::int64_t>(steps_.size()), {}});
      multiply(step);
      handover_.block_is_computed();
    }
  }

  /// Prepares each step while the previous step is computed. Runs in a separate thread with a separate stream. The
  /// preparation of step s starts when step s - 2 is done, because both steps may use the same places for panels and
  /// for the block of C.
  void copy_all() {
    const std::shared_ptr<cuda::Job> job = execution::start_gpu_job(execution_);
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      if (step >= 2) {
        if (!handover_.wait_for_computed(step - 1)) return;
        take_away(step - 2, *job);
      }
      make_ready(step, *job);
      handover_.step_is_ready();
    }
    for (std::size_t step = steps_.size() < 2 ? 0 : steps_.size() - 2; step < steps_.size(); ++step) {
      if (!handover_.wait_for_computed(step + 1)) return;
      take_away(step, *job);
    }
  }

  void make_ready(std::size_t number, cuda::Job& job) {
    const Step& step = steps_[number];
    const auto a = a_places_.place_for(number, a_wanted_);
    const auto b = b_places_.place_for(number, b_wanted_);
    if (!a.is_filled) fill(a_of(step), transfer_of_panel(a_of(step), a_unturned_), a.memory, a_unturned_, job);
    if (!b.is_filled) fill(b_of(step), transfer_of_panel(b_of(step), b_unturned_), b.memory, b_unturned_, job);
    const CallerMatrix<T> c = c_of(step);
    if (problem_.beta != 0) fill(c, transfer_of(c), c_places_[number % 2], static_cast<T*>(nullptr), job);
    job.stream().wait();
    ready_[number] = {a.memory, b.memory};
  }

  void take_away(std::size_t number, cuda::Job& job) {
    const CallerMatrix<T> c = c_of(steps_[number]);
    take_back(in_rows(c, c_places_[number % 2]), c, job);
  }

  /// Returns how to transfer one panel. A panel may be contiguous although the whole matrix is not, for example if the
  /// panel has one row or is the last product of a batch. Memory for transposing exists only if the whole matrix is
  /// transposed.
  static Transfer transfer_of_panel(const CallerMatrix<const T>& panel, const T* unturned) {
    const Transfer transfer = transfer_of(panel);
    return transfer == Transfer::uploaded_and_transposed && unturned == nullptr ? Transfer::packed : transfer;
  }

  CallerMatrix<const T> a_of(const Step& step) const {
    Operand<const T> a = problem_.a.at(step.first_product);
    a.batch_stride = problem_.a.batch_stride;
    a.data = &a(step.first_row, 0);
    return {a, step.products, step.rows, problem_.k, false};
  }
  CallerMatrix<const T> b_of(const Step& step) const {
    Operand<const T> b = problem_.b.at(step.first_product);
    b.batch_stride = problem_.b.batch_stride;
    b.data = &b(0, step.first_column);
    return {b, step.products, problem_.k, step.columns, false};
  }
  CallerMatrix<T> c_of(const Step& step) const {
    Operand<T> c = problem_.c.at(step.first_product);
    c.batch_stride = problem_.c.batch_stride;
    c.data = &c(step.first_row, step.first_column);
    return {c, step.products, step.rows, step.columns, false};
  }

  void multiply(std::size_t number) {
    const Step& step = steps_[number];
    job_.memory().release(rest_);
    Problem<T> part = problem_;
    part.batches = step.products;
    part.m = step.rows;
    part.n = step.columns;
    part.gpu = &job_;
    part.a = in_rows<const T, const T>(a_of(step), ready_[number].a);
    part.b = in_rows<const T, const T>(b_of(step), ready_[number].b);
    part.c = in_rows(c_of(step), c_places_[number % 2]);
    std::vector<Phase> phases;
    choose_there(part.shape(), execution::this_machine()).run(part, inner_execution_, phases);
  }

  const Problem<T>& problem_;
  const Execution& execution_;
  cuda::Job& job_;
  Execution inner_execution_;  ///< the execution settings without a progress callback, for single steps
  std::vector<Step> steps_;
  std::vector<std::int64_t> a_wanted_;
  std::vector<std::int64_t> b_wanted_;
  Places<T> a_places_;
  Places<T> b_places_;
  std::vector<Ready> ready_;  ///< indexed by step
  T* c_places_[2] = {};
  T* a_unturned_ = nullptr;  ///< a panel of A before transposition, if columns are contiguous in host memory
  T* b_unturned_ = nullptr;
  cuda::Arena::Mark rest_;  ///< where the working memory of a step begins
  Handover handover_;
};

}  // namespace

template <class T>
Done cuda_panels(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const std::shared_ptr<cuda::Job> job = execution::start_gpu_job(execution);
  const std::uint64_t most = execution::gpu_memory_to_take(execution);
  const auto is_turned = [](const Operand<const T>& operand, std::int64_t batches, std::int64_t rows,
                            std::int64_t columns) {
    return transfer_of(CallerMatrix<const T>{operand, batches, rows, columns, false}) ==
           Transfer::uploaded_and_transposed;
  };
  const PanelNeeds needs{
      .a_is_turned = is_turned(problem.a, problem.batches, problem.m, problem.k),
      .b_is_turned = is_turned(problem.b, problem.batches, problem.k, problem.n),
      .working = [](const Shape& step) { return working_memory_there(step, execution::this_machine()); }};
  const Shape shape = problem.shape();
  const PanelPlan plan = plan_panels(shape, needs, most);
  if (plan.rows == 0)
    throw OutOfMemoryError("the job needs " + core::size_text(least_panel_bytes(shape, needs)) +
                           " of the GPU's memory at least, but only " + core::size_text(most) + " are available");
  job->memory().reserve(plan.bytes);
  const core::PhaseTimer timer(phases, "multiply");
  PanelRun<T>(problem, execution, plan, needs, *job).run();
  return {};
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

namespace {

PanelNeeds any_panels(const execution::Machine& machine) {
  return {.working = [&machine](const Shape& step) { return working_memory_there(step, machine); }};
}

core::Support panels_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = pipelined_on_gpu(shape, machine); !gpu) return gpu;
  if (shape.operations() > 0 &&
      least_panel_bytes(shape, any_panels(machine)) > execution::plannable_memory(execution::least_gpu(machine)))
    return core::Support::no("panels of " + std::to_string(panel_granule) +
                             " rows and columns do not fit the GPU's memory");
  return core::Support::yes();
}

// Returns the least memory with which the rung works. With more memory it transfers fewer bytes.
core::Memory panels_memory(const Shape& shape, int) {
  const std::uint64_t least =
      shape.operations() > 0 ? least_panel_bytes(shape, any_panels(execution::this_machine())) : 0;
  return {.host = cuda::staging_bytes + shape.bring.host, .device = least};
}

}  // namespace

extern constinit const Variant cuda_panels_rung{
    .name = "cuda_panels",
    .summary = "host matrices pass through the GPU in panels while it computes; also larger than its memory",
    .change = "copies overlap the arithmetic of other panels; only some panels must fit the GPU's memory",
    .backend = core::Backend::cuda,
    .supports = panels_on_gpu,
    .memory = panels_memory,
    .run = GRADUS_CUDA_RUNS(cuda_panels<float>, cuda_panels<double>),
};

}  // namespace gradus::matmul_detail
