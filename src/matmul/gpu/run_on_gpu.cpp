#include "matmul/gpu/run_on_gpu.hpp"

#include <memory>

#include "core/phases.hpp"
#include "execution/gpu_job.hpp"
#include "matmul/gpu/bring.hpp"

namespace gradus::matmul_detail {

template <class T>
void run_on_gpu(const Problem<T>& given, const OnGpu& there, const Variant& variant, const Execution& execution,
                std::vector<Phase>& phases) {
  const GpuOperands<T> operands = gpu_operands(given, there);
  Shape shape = operands.problem.shape();
  shape.bring = operands.memory();
  std::shared_ptr<cuda::Job> job;
  Problem<T> problem = operands.problem;
  {
    const core::PhaseTimer timer(phases, "to_device");
    job = execution::start_gpu_job(execution, variant.memory(shape, 1).device);
    problem.gpu = job.get();
    problem.a = bring(operands.a, "A", true, *job);
    problem.b = bring(operands.b, "B", true, *job);
    problem.c = bring(operands.c, "C", problem.beta != 0, *job);
  }
  variant.run(problem, execution, phases);
  const core::PhaseTimer timer(phases, "to_host");
  take_back(problem.c, operands.c, *job);
}

template <class T>
void scale_on_gpu(const Problem<T>& given, const Execution& execution) {
  const std::shared_ptr<cuda::Job> job = execution::start_gpu_job(execution);
  Problem<T> problem = given;
  problem.gpu = job.get();
  scale_there(problem);
}

#define GRADUS_INSTANTIATE(T)                                                                                       \
  template void run_on_gpu(const Problem<T>&, const OnGpu&, const Variant&, const Execution&, std::vector<Phase>&); \
  template void scale_on_gpu(const Problem<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::matmul_detail
