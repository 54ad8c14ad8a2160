#include "life/gpu/run_on_gpu.hpp"

#include <memory>

#include "core/phases.hpp"
#include "execution/gpu_job.hpp"
#include "life/gpu/look.hpp"

namespace gradus::life_detail {

std::uint64_t run_on_gpu(const Problem& given, const Variant& variant, const Execution& execution,
                         std::vector<Phase>& phases) {
  const Shape shape{.height = given.cells.height, .width = given.cells.width};
  Problem problem = given;
  std::shared_ptr<cuda::Job> job;
  {
    const core::PhaseTimer timer(phases, "to_device");
    job = execution::start_gpu_job(execution, variant.memory(shape, 1).device);
    problem.gpu = job.get();
    const std::int64_t words = given.cells.row_words();
    const auto copy = [&] { return job->memory().take<std::uint64_t>(given.cells.height * words); };
    // A GPU variant needs its input and output in different memory.
    const bool in_place = given.cells.words == given.result.words;
    if (!given.cells.place.is_host()) job->admit(given.cells.words, "cells");
    if (given.cells.place.is_host() || in_place) {
      problem.cells = {copy(), given.cells.height, given.cells.width, words, job->place()};
      job->copy_here(rows_of(given.cells), const_cast<std::uint64_t*>(problem.cells.words));
    }
    if (given.result.place.is_host())
      problem.result = {copy(), given.cells.height, given.cells.width, words, job->place()};
    else job->admit(given.result.words, "memory for cells");
  }
  if (problem.generations > 0) variant.run(problem, execution, phases);
  else copy_on_gpu(problem.cells, problem.result, *job);
  if (!given.result.place.is_host()) {
    const core::PhaseTimer timer(phases, "count");
    return count_on_gpu(problem.result, *job);
  }
  const core::PhaseTimer timer(phases, "to_host");
  job->copy_back(rows_of(LifeGridView(problem.result)), rows_of(given.result));
  return 0;
}

}  // namespace gradus::life_detail
