// The public entry points: check, choose, run.
#include "gradus/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_job.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "matmul/gpu/operands.hpp"
#include "matmul/gpu/run_on_gpu.hpp"
#include "matmul/measure.hpp"
#include "matmul/options.hpp"
#include "matmul/tensor/panels.hpp"
#include "matmul/variants.hpp"
#include "matmul/views.hpp"

namespace gradus {

namespace room = matmul_detail;

namespace {

void check_options(const MatmulOptions& options, int element_bytes) {
  core::check_options(options);
  if (element_bytes == sizeof(double) &&
      (options.accuracy == MatmulAccuracy::split || options.accuracy == MatmulAccuracy::fast))
    throw UnsupportedError("accuracy '" + std::string(to_string(options.accuracy)) +
                           "' is for float; products of double are 'strict'");
}

/// What the variant that is named gives, or else what is asked for.
MatmulAccuracy wanted_accuracy(const MatmulOptions& options, const Execution& execution) {
  if (execution.variant.empty())
    return options.accuracy == MatmulAccuracy::automatic ? MatmulAccuracy::strict : options.accuracy;
  const room::Variant& variant = core::find_variant(room::variants(), execution.variant, room::Room::name);
  const bool textbook =
      variant.facts.accuracy == MatmulAccuracy::strict && !(variant.contract == core::Contract::same_bits);
  if (options.accuracy != MatmulAccuracy::automatic && (options.accuracy != variant.facts.accuracy || textbook))
    throw UsageError("accuracy '" + std::string(to_string(options.accuracy)) + "': variant '" +
                     std::string(variant.name) + "' " +
                     (textbook ? "rounds products and sums one by one, which is none of the three"
                               : "has the accuracy '" + std::string(to_string(variant.facts.accuracy)) + "'") +
                     "; leave out the one or the other");
  return variant.facts.accuracy;
}

const room::Variant& select(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant =
      execution::wanted_variant(room::variants(), room::choose, shape, execution, room::Room::name);
  execution::check_runs_here(variant, shape, execution, room::Room::name);
  return variant;
}

template <class T>
std::string size_of(MatmulView<T> view) {
  return std::to_string(view.rows()) + " x " + std::to_string(view.columns());
}

/// UsageError unless there is a product of A and B; the number of them.
template <class A, class B>
std::int64_t batches_of(MatmulView<const A> a, MatmulView<const B> b) {
  if (a.columns() != b.rows())
    throw UsageError("A (" + size_of(a) + ") has " + std::to_string(a.columns()) + " columns, and B (" + size_of(b) +
                     ") " + std::to_string(b.rows()) + " rows; these numbers must be the same");
  if (a.batches() == b.batches() || b.batches() == 1) return a.batches();
  if (a.batches() == 1) return b.batches();
  throw UsageError("A is a batch of " + std::to_string(a.batches()) + " matrices and B one of " +
                   std::to_string(b.batches()) + "; these numbers must be the same, or one of them 1");
}

/// Calls visit(index) for all of a row, which may be as long as memory is large, and honours a stop request.
template <class Visit>
void for_stretches(std::int64_t count, const std::stop_token& stop, std::string_view message, const Visit& visit) {
  for (std::int64_t first = 0; first < count; first += core::operations_between_looks) {
    core::honour_stop(stop, message);
    const std::int64_t end = std::min(first + core::operations_between_looks, count);
    for (std::int64_t index = first; index < end; ++index) visit(index);
  }
}

/// beta C, where there is nothing to be added to it.
template <class T>
void scale(const room::Problem<T>& problem) {
  for (std::int64_t batch = 0; batch < problem.batches; ++batch) {
    const room::Operand<T> c = problem.c.at(batch);
    for (std::int64_t row = 0; row < problem.m; ++row)
      for_stretches(problem.n, problem.stop, "stopped while scaling the result", [&](std::int64_t column) {
        c(row, column) = room::scaled(problem.beta, problem.beta == 0 ? T{0} : c(row, column));
      });
  }
}

/// A batch that is one product in fact: the matrices A lie one below the other, as those of C do, and B is the same for
/// all; or likewise side by side.
template <class T>
void join_batch(room::Problem<T>& problem) {
  // Sizes that there are in memory multiply to what fits; where there is nothing to multiply they may be anything.
  if (problem.batches <= 1 || problem.m == 0 || problem.n == 0 || problem.k == 0) return;
  const auto below = [&](const auto& operand) { return operand.batch_stride == problem.m * operand.row_stride; };
  const auto beside = [&](const auto& operand) { return operand.batch_stride == problem.n * operand.column_stride; };
  if (problem.b.batch_stride == 0 && below(problem.a) && below(problem.c)) problem.m *= problem.batches;
  else if (problem.a.batch_stride == 0 && beside(problem.b) && beside(problem.c)) problem.n *= problem.batches;
  else return;
  problem.batches = 1;
}

/// As many threads as have work for longer than to wake them takes.
int worth_threads(const room::Shape& shape, const room::Variant& variant, const Execution& execution) {
  const auto area = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  const int threads = cpu::thread_count(execution);
  const auto worth = [&](double work) {
    return cpu::threads_for(static_cast<std::int64_t>(std::min(work, 1e18)), threads);
  };
  const auto ready = [&](int woken, double work) {
    constexpr double nanoseconds_an_operation = 0.4;
    return execution.threads == 0 ? cpu::ready_threads(woken, nanoseconds_an_operation * work) : woken;
  };
  if (variant.backend == core::Backend::sequential) return 1;
  if (variant.backend != core::Backend::simd) return ready(worth(shape.operations()), shape.operations());
  // A vector at a time; then it also counts how much passes by.
  const double vector = 64.0 / shape.element_bytes;
  const double work =
      shape.operations() / vector + static_cast<double>(shape.batches) *
                                        (area(shape.m, shape.k) + area(shape.k, shape.n) + area(shape.m, shape.n)) / 4;
  const int several = worth(work);
  if (several <= 1) return 1;
  return ready(std::min(2 * several, threads), work);  // to wake twice as many takes hardly longer
}

/// Where the processor reads a view: the view's own address, or that of a copy in host memory of what lies on a GPU,
/// from its first to its last element.
template <class T>
class HostImage {
 public:
  HostImage(MatmulView<const T> view, const char* what, const Execution& execution) : data_(view.data()) {
    if constexpr (cuda::is_compiled) {
      if (bytes(view) == 0) return;
      const room::Extent extent = room::extent_of(view, what);
      const std::int64_t length = extent.last - extent.first + 1;
      copy_ = execution::copy_to_host(MatrixView<const T>(view.data() + extent.first, 1, length, length, view.place()),
                                      what, execution);
      data_ = copy_.data() - extent.first;
    }
  }
  const T* data() const { return data_; }
  /// Of the copy.
  static std::uint64_t bytes(MatmulView<const T> view) {
    if (view.place().is_host() || !room::has_elements(view)) return 0;
    const room::Extent extent = room::extent_of(view, "");
    return static_cast<std::uint64_t>(extent.last - extent.first + 1) * sizeof(T);
  }

 private:
  const T* data_;
  Matrix<T> copy_;
};

/// The products, by the variant, in whichever memory they lie.
template <class T>
void run(const room::Variant& variant, const room::Problem<T>& problem, const room::There& there, int& threads,
         const Execution& execution, std::vector<Phase>& phases) {
  if (variant.device_input) {
    threads = cpu::start_team(cpu::chosen_threads(std::numeric_limits<double>::infinity(), execution));
    if constexpr (cuda::is_compiled) room::run_on_gpu(problem, there, variant, execution, phases);
    return;
  }
  threads = cpu::start_team(worth_threads(problem.shape(), variant, execution));
  Execution with_threads;
  const Execution* request = &execution;
  if (threads != execution.threads) {
    with_threads = execution;
    with_threads.threads = threads;
    request = &with_threads;
  }
  const cpu::PinnedTeam team(threads, execution.pinning);
  variant.run(problem, *request, phases);
}

/// A or B as the products read it: the caller's, or a copy in double of the caller's floats.
template <class T, class From>
class Input {
  static constexpr bool is_copied = !std::is_same_v<T, From>;

 public:
  Input(MatmulView<const From> given, const char* what) : given_(given) {
    room::check_input(given, what);
    if constexpr (is_copied) {
      execution::check_beside(given.place(), what, false, 0);
      execution::check_size({matrices(), given.rows(), given.columns(), static_cast<std::int64_t>(sizeof(T))}, what);
    }
  }

  MatmulView<const From> given() const { return given_; }
  /// Without an address as long as the copy is to be made.
  MatmulView<const T> view() const {
    if constexpr (is_copied)
      return MatmulView<const T>(copy_.data(), given_.rows(), given_.columns(), given_.columns(), 1)
          .batch(given_.batches(), matrices() == 1 ? 0 : given_.rows() * given_.columns());
    else return given_;
  }
  /// Of the copy.
  std::uint64_t bytes() const {
    return is_copied ? static_cast<std::uint64_t>(matrices() * given_.rows() * given_.columns()) * sizeof(T) : 0;
  }
  void copy(const Execution& execution) {
    if constexpr (is_copied) {
      copy_ = Matrix<T>(matrices() * given_.rows(), given_.columns());
      for (std::int64_t matrix = 0; matrix < matrices(); ++matrix)
        for (std::int64_t row = 0; row < given_.rows(); ++row)
          for_stretches(given_.columns(), execution.stop, "stopped while widening the input", [&](std::int64_t column) {
            copy_(matrix * given_.rows() + row, column) = given_(row, column, matrix);
          });
    }
  }

 private:
  /// That differ.
  std::int64_t matrices() const {
    return given_.batch_stride() == 0 ? std::min<std::int64_t>(given_.batches(), 1) : given_.batches();
  }

  MatmulView<const From> given_;
  Matrix<T> copy_;
};

/// A call: what is multiplied, and where.
template <class T, class A, class B>
class Call {
 public:
  Call(MatmulView<const A> a, MatmulView<const B> b, const MatmulOptions& options, const MatmulMemory<T>& memory,
       const Execution& asked)
      : options_(options), a_(a, "A"), b_(b, "B"), c_(memory.product) {
    batches_ = batches_of(a, b);
    m_ = a.rows();
    n_ = b.columns();
    execution::check_size({batches_, m_, n_, static_cast<std::int64_t>(sizeof(T))}, "C");
    reads_ = static_cast<T>(options.alpha) != 0 && batches_ > 0 && m_ > 0 && n_ > 0;
    given_ = c_.data() != nullptr || c_.rows() != 0 || c_.columns() != 0;
    if (given_) {
      room::check_result(c_, batches_, m_, n_);
      room::check_apart(c_, a, "A");
      room::check_apart(c_, b, "B");
    } else if (static_cast<T>(options.beta) != 0) {
      throw UsageError("beta is " + std::to_string(options.beta) + ", but there is no C to be multiplied by it");
    }
    places_[0] = {a.place(), "A"};
    places_[1] = {b.place(), "B"};
    places_[2] = {c_.place(), "C"};
    execution_ = execution::where_views_lie<room::Variant>(places_, room::variants(), room::Room::name, asked);
    there_ = {!a.place().is_host(), !b.place().is_host(), !c_.place().is_host()};
    if (!given_) c_ = MatmulView<T>(nullptr, m_, n_, n_, 1).batch(batches_, m_ * n_);
  }

  MatmulResult<T> run() {
    room::Problem<T> problem = joined_problem();
    const room::Variant& variant = chosen(problem);
    int threads = variant.backend == core::Backend::sequential ? 1 : cpu::thread_count(execution_);
    execution::check_memory(needed(variant, threads), execution_);
    if (reads_) {
      a_.copy(execution_);
      b_.copy(execution_);
    }
    MatmulResult<T> result;
    if (!given_) allocate(result.product);
    problem = joined_problem();
    std::vector<Phase>& phases = result.report.phases;
    phases.reserve(6);
    const room::ErrorSample<T> sample = options_.measure_error ? sample_before() : room::ErrorSample<T>();
    multiply(variant, problem, threads, phases);
    if (options_.measure_error) result.error = error_of(sample, threads, phases);
    result.report.variant = variant.name;
    result.report.device = execution::device_name(variant.backend == core::Backend::cuda, execution_);
    result.report.threads = threads;
    return result;
  }

 private:
  /// What is read of an operand: all or nothing.
  template <class From>
  MatmulView<const T> read(const Input<T, From>& input) const {
    return reads_ ? input.view() : MatmulView<const T>();
  }

  /// As the caller says it.
  room::Problem<T> problem() const {
    room::Problem<T> of = room::problem_of<T>(a_.view(), b_.view(), c_, options_.alpha, options_.beta);
    of.stop = execution_.stop;
    return of;
  }

  room::Problem<T> joined_problem() const {
    room::Problem<T> of = problem();
    join_batch(of);
    return of;
  }

  room::Shape shape(const room::Problem<T>& of) const {
    room::Shape shape = of.shape();
    shape.accuracy = wanted_accuracy(options_, execution_);
    shape.bring = room::gpu_operands(of, there_).memory();
    return shape;
  }

  const room::Variant& chosen(const room::Problem<T>& of) {
    shape_ = shape(of);
    const room::Variant& variant = select(shape_, execution_);
    for (const execution::NamedPlace& one : places_)
      execution::check_takes_device_input(room::variants(), variant, one.place, one.what, room::Room::name);
    return variant;
  }

  /// Bytes of host memory that the call takes.
  std::uint64_t needed(const room::Variant& variant, int threads) const {
    std::uint64_t bytes = variant.memory(shape_, threads).host + (reads_ ? a_.bytes() + b_.bytes() : 0);
    if (!given_) bytes += static_cast<std::uint64_t>(batches_ * m_ * n_) * sizeof(T);
    if (options_.measure_error)
      bytes += room::ErrorSample<T>::bytes(problem()) + HostImage<T>::bytes(read(a_)) + HostImage<T>::bytes(read(b_)) +
               HostImage<T>::bytes(MatmulView<const T>(c_));
    return bytes;
  }

  void allocate(Matrix<T>& product) {
    product = Matrix<T>(batches_ * m_, n_);
    cpu::prefer_large_pages(product.data(), static_cast<std::uint64_t>(batches_ * m_ * n_) * sizeof(T));
    c_ = MatmulView<T>(product.data(), m_, n_, n_, 1).batch(batches_, m_ * n_);
  }

  void multiply(const room::Variant& variant, const room::Problem<T>& of, int& threads, std::vector<Phase>& phases) {
    if (of.batches == 0 || of.m == 0 || of.n == 0) return;
    if (of.k > 0 && of.alpha != 0) return gradus::run(variant, of, there_, threads, execution_, phases);
    if (!there_.c) scale(of);
    else if constexpr (cuda::is_compiled) room::scale_on_gpu(of, execution_);
  }

  /// Of C, before it is written.
  room::ErrorSample<T> sample_before() const {
    room::Problem<T> before = problem();
    const HostImage<T> image(before.beta == 0 ? MatmulView<const T>() : c_, "C", execution_);
    before.c.data = const_cast<T*>(image.data());
    return room::ErrorSample<T>(before);
  }

  MatmulError error_of(const room::ErrorSample<T>& sample, int threads, std::vector<Phase>& phases) const {
    const core::PhaseTimer timer(phases, "measure_error");
    const HostImage<T> images[] = {{read(a_), "A", execution_}, {read(b_), "B", execution_}, {c_, "C", execution_}};
    room::Problem<T> after = problem();
    after.a.data = images[0].data();
    after.b.data = images[1].data();
    after.c.data = const_cast<T*>(images[2].data());
    return sample.measure(after, cpu::start_team(threads), execution_.stop);
  }

  const MatmulOptions& options_;
  Input<T, A> a_;
  Input<T, B> b_;
  MatmulView<T> c_;
  bool given_ = false;  ///< the memory of C
  bool reads_ = false;  ///< A and B; otherwise they may be anything
  std::int64_t batches_ = 0;
  std::int64_t m_ = 0;
  std::int64_t n_ = 0;
  execution::NamedPlace places_[3];
  Execution execution_;
  room::There there_;
  room::Shape shape_;
};

}  // namespace

double matmul_error_bound(MatmulAccuracy accuracy, std::int64_t depth, int element_bytes) {
  const core::DefaultFloatEnvironment environment;
  execution::check_element_bytes(element_bytes);
  MatmulOptions options;
  options.accuracy = accuracy;
  check_options(options, element_bytes);
  if (depth < 0) throw UsageError("depth: " + std::to_string(depth) + " is not a number of products");
  const double unit = element_bytes == sizeof(float) ? room::unit_roundoff<float> : room::unit_roundoff<double>;
  const auto k = static_cast<double>(depth);
  const auto block = static_cast<double>(room::block_depth);
  const double strict = room::error_of(std::min(k, block) + std::ceil(k / block) + 1, unit);
  if (accuracy == MatmulAccuracy::automatic || accuracy == MatmulAccuracy::strict ||
      depth <= room::tensor::strict_depth)
    return strict;
  return std::max(strict, room::tensor::error_bound(depth, room::tensor::parts_of(accuracy)));
}

namespace {

/// Of the elements that are kept until the error is measured.
template <class T>
std::uint64_t sample_bytes(const MatmulShape& shape, const MatmulOptions& options) {
  room::Problem<T> problem;
  problem.batches = shape.batches;
  problem.m = shape.rows;
  problem.n = shape.columns;
  problem.k = shape.depth;
  problem.beta = static_cast<T>(options.beta);
  return room::ErrorSample<T>::bytes(problem);
}

}  // namespace

MemoryEstimate matmul_memory(const MatmulShape& shape, const MatmulOptions& options, const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  execution::check_execution(execution);
  execution::check_element_bytes(shape.element_bytes);
  check_options(options, shape.element_bytes);
  for (const std::int64_t size : {shape.rows, shape.columns, shape.depth, shape.batches})
    if (size < 0) throw UsageError("a product of " + std::to_string(size) + " of something; sizes are not negative");
  execution::check_size({shape.batches, shape.rows, shape.columns, shape.element_bytes}, "C");
  execution::check_size({shape.batches, shape.rows, shape.depth, shape.element_bytes}, "A");
  execution::check_size({shape.batches, shape.depth, shape.columns, shape.element_bytes}, "B");
  const execution::NamedPlace places[] = {{shape.place, "the matrices"}};
  const Execution here =
      execution::where_views_lie<room::Variant>(places, room::variants(), room::Room::name, execution);
  room::Shape sizes{.batches = shape.batches,
                    .m = shape.rows,
                    .n = shape.columns,
                    .k = shape.depth,
                    .element_bytes = shape.element_bytes,
                    .accuracy = wanted_accuracy(options, execution),
                    .totals = options.beta != 0 || !shape.contiguous_result};
  sizes.bring = room::most_to_bring(sizes, !shape.place.is_host());
  const room::Variant& variant = select(sizes, here);
  const int threads = cpu::thread_count(here);
  MemoryEstimate most = variant.memory(sizes, threads);
  // A batch with one A or one B for all may become one product.
  for (std::int64_t room::Shape::*const side : {&room::Shape::m, &room::Shape::n}) {
    if (sizes.operations() == 0) break;  // then sizes may be anything
    room::Shape joined = sizes;
    joined.*side *= joined.batches;
    joined.batches = 1;
    const MemoryEstimate of_joined = variant.memory(joined, threads);
    most = {std::max(most.host, of_joined.host), std::max(most.device, of_joined.device)};
  }
  if (options.measure_error) {
    most.host += shape.element_bytes == sizeof(float) ? sample_bytes<float>(shape, options)
                                                      : sample_bytes<double>(shape, options);
  }
  return most;
}

namespace detail {

template <class A, class B>
MatmulResult<std::common_type_t<A, B>> matmul(MatmulView<const A> a, MatmulView<const B> b,
                                              const MatmulOptions& options,
                                              const MatmulMemory<std::common_type_t<A, B>>& memory,
                                              const Execution& execution) {
  using T = std::common_type_t<A, B>;
  const auto start = core::Clock::now();
  return execution::whole_call(execution, [&](const Execution& here) {
    execution::check_execution(here);
    check_options(options, sizeof(T));
    MatmulResult<T> result = Call<T, A, B>(a, b, options, memory, here).run();
    core::add_phase(result.report.phases, "total", core::seconds_since(start));
    return result;
  });
}

template MatmulResult<float> matmul(MatmulView<const float>, MatmulView<const float>, const MatmulOptions&,
                                    const MatmulMemory<float>&, const Execution&);
template MatmulResult<double> matmul(MatmulView<const double>, MatmulView<const double>, const MatmulOptions&,
                                     const MatmulMemory<double>&, const Execution&);
template MatmulResult<double> matmul(MatmulView<const float>, MatmulView<const double>, const MatmulOptions&,
                                     const MatmulMemory<double>&, const Execution&);
template MatmulResult<double> matmul(MatmulView<const double>, MatmulView<const float>, const MatmulOptions&,
                                     const MatmulMemory<double>&, const Execution&);

}  // namespace detail

}  // namespace gradus
