// matmul()
#include <limits>
#include <optional>

#include "cpu/chosen_threads.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "execution/report.hpp"
#include "execution/whole_call.hpp"
#include "matmul/api/call.hpp"
#include "matmul/api/steps.hpp"
#include "matmul/gpu/run_on_gpu.hpp"
#include "matmul/host_image.hpp"
#include "matmul/measure.hpp"
#include "matmul/threads.hpp"

namespace gradus {

namespace room = matmul_detail;

namespace {

template <class T, class A, class B>
room::Shape describe(const room::Call<T, A, B>& call) {
  const room::Problem<T> problem = call.joined_problem();
  room::Shape shape = problem.shape();
  shape.accuracy = room::wanted_accuracy(call.options, call.execution);
  shape.bring = room::gpu_operands(problem, call.there).memory();
  return shape;
}

template <class T, class A, class B>
const room::Variant& choose(const room::Call<T, A, B>& call, const room::Shape& shape) {
  const room::Variant& variant = room::choose(shape, call.execution);
  for (const execution::NamedPlace& one : call.places)
    execution::check_takes_device_input(room::variants(), variant, one.place, one.what, room::Room::name);
  return variant;
}

/// Returns true if choose() selects simd_packed on every machine, and if estimate() returns less than 16 MiB, which
/// every machine has. The steps describe, choose and estimate take as long as such a product, so it skips them.
template <class T, class A, class B>
bool is_small(const room::Call<T, A, B>& call) {
  const Execution& asked = call.execution;
  const MatmulAccuracy accuracy = call.options.accuracy;
  return asked.device != Device::gpu && (asked.variant.empty() || asked.variant == room::simd_packed_rung.name) &&
         asked.block_size == 0 && asked.memory_limit == 0 && asked.variant_options.empty() &&
         (accuracy == MatmulAccuracy::automatic || accuracy == MatmulAccuracy::strict) && !call.options.measure_error &&
         room::is_worth_one_thread(call.problem().shape());
}

/// Returns the bytes of host memory that the call needs.
template <class T, class A, class B>
std::uint64_t estimate(const room::Call<T, A, B>& call, const room::Shape& shape, const room::Variant& variant,
                       int threads) {
  std::uint64_t bytes = variant.memory(shape, threads).host + (call.reads ? call.a.bytes() + call.b.bytes() : 0);
  if (!call.given) bytes += static_cast<std::uint64_t>(call.batches * call.m * call.n) * sizeof(T);
  if (call.options.measure_error)
    bytes += room::ErrorSample<T>::bytes(call.problem()) + room::HostImage<T>::bytes(call.read(call.a)) +
             room::HostImage<T>::bytes(call.read(call.b)) + room::HostImage<T>::bytes(MatmulView<const T>(call.c));
  return bytes;
}

/// Computes beta C, which is the result if there are no products to add.
template <class T>
void scale(const room::Problem<T>& problem) {
  for (std::int64_t batch = 0; batch < problem.batches; ++batch) {
    const room::Operand<T> c = problem.c.at(batch);
    for (std::int64_t row = 0; row < problem.m; ++row)
      room::for_stretches(problem.n, problem.stop, "stopped while scaling the result", [&](std::int64_t column) {
        c(row, column) = room::scaled(problem.beta, problem.beta == 0 ? T{0} : c(row, column));
      });
  }
}

template <class T>
void multiply(const room::Variant& variant, const room::Problem<T>& problem, const room::OnGpu& there, int& threads,
              Execution& execution, std::vector<Phase>& phases) {
  if (variant.device_input) {
    threads = cpu::start_team(cpu::chosen_threads(std::numeric_limits<double>::infinity(), execution));
    room::run_on_gpu(problem, there, variant, execution, phases);
    return;
  }
  threads = cpu::start_team(room::worth_threads(problem.shape(), variant, execution));
  execution.threads = threads;
  const cpu::PinnedTeam team(threads, execution.pinning);
  variant.run(problem, execution, phases);
}

template <class T, class A, class B>
Matrix<T> allocate(room::Call<T, A, B>& call) {
  Matrix<T> product(call.batches * call.m, call.n);
  cpu::prefer_large_pages(product.data(), static_cast<std::uint64_t>(call.batches * call.m * call.n) * sizeof(T));
  call.c = MatmulView<T>(product.data(), call.m, call.n, call.n, 1).batch(call.batches, call.m * call.n);
  return product;
}

template <class T, class A, class B>
room::ErrorSample<T> sample_before(const room::Call<T, A, B>& call) {
  room::Problem<T> before = call.problem();
  const room::HostImage<T> image(before.beta == 0 ? MatmulView<const T>() : call.c, "C", call.execution);
  before.c.data = const_cast<T*>(image.data());
  return room::ErrorSample<T>(before);
}

template <class T, class A, class B>
MatmulError measure_error(const room::Call<T, A, B>& call, const room::ErrorSample<T>& sample, int threads,
                          std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "measure_error");
  const room::HostImage<T> images[] = {{call.read(call.a), "A", call.execution},
                                       {call.read(call.b), "B", call.execution},
                                       {call.c, "C", call.execution}};
  room::Problem<T> after = call.problem();
  after.a.data = images[0].data();
  after.b.data = images[1].data();
  after.c.data = const_cast<T*>(images[2].data());
  return sample.measure(after, cpu::start_team(threads), call.execution.stop);
}

/// Computes the products and, if requested, their error. On entry, `threads` is the estimated number of threads. On
/// return, it is the number that was used.
template <class T, class A, class B>
MatmulResult<T> run(room::Call<T, A, B>& call, const room::Variant& variant, int& threads, std::vector<Phase>& phases) {
  if (call.reads) {
    call.a.copy(call.execution);
    call.b.copy(call.execution);
  }
  MatmulResult<T> result;
  if (!call.given) result.product = allocate(call);
  const bool measures = call.options.measure_error;
  const room::ErrorSample<T> sample = measures ? sample_before(call) : room::ErrorSample<T>();
  const room::Problem<T> problem = call.joined_problem();
  if (problem.batches > 0 && problem.m > 0 && problem.n > 0) {
    if (problem.k > 0 && problem.alpha != 0) multiply(variant, problem, call.there, threads, call.execution, phases);
    else if (!call.there.c) scale(problem);
    else room::scale_on_gpu(problem, call.execution);
  }
  if (measures) result.error = measure_error(call, sample, threads, phases);
  return result;
}

template <class T, class A, class B>
MatmulResult<T> find_product(MatmulView<const A> a, MatmulView<const B> b, const MatmulOptions& options,
                             const MatmulMemory<T>& memory, const Execution& asked, execution::Timing timing) {
  execution::check_execution(asked);
  room::check(options, sizeof(T));
  room::Call<T, A, B> call = room::check(a, b, options, memory, asked);
  const room::Variant* variant = &room::simd_packed_rung;
  int threads = cpu::thread_count(call.execution);
  if (!is_small(call)) {
    const room::Shape shape = describe(call);
    variant = &choose(call, shape);
    threads = execution::threads_of(*variant, threads);
    execution::check_memory(estimate(call, shape, *variant, threads), call.execution);
  }
  timing.phases.reserve(6);
  MatmulResult<T> result = run(call, *variant, threads, timing.phases);
  execution::deliver(result.report, *variant, call.execution, threads, std::move(timing));
  return result;
}

}  // namespace

namespace detail {

template <class A, class B>
MatmulResult<std::common_type_t<A, B>> matmul(MatmulView<const A> a, MatmulView<const B> b,
                                              const MatmulOptions& options,
                                              const MatmulMemory<std::common_type_t<A, B>>& memory,
                                              const Execution& execution) {
  execution::Timing timing;
  return execution::whole_call(
      execution, [&](const Execution& here) { return find_product(a, b, options, memory, here, std::move(timing)); });
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
