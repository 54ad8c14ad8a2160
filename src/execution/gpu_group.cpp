#include "execution/gpu_group.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/gpu_job.hpp"
#include "execution/request.hpp"
#include "gradus/communicator.hpp"
#include "gradus/error.hpp"
#include "ranks/thread_group.hpp"

namespace gradus::execution {

namespace {

/// The groups that no job uses at the moment. The key is the list of the group's GPUs. Groups are never destroyed,
/// because CUDA may shut down before the process destroys its static objects.
struct IdleGroups {
  std::mutex mutex;
  std::multimap<std::vector<int>, std::shared_ptr<core::ThreadGroup>> groups;
};

IdleGroups& idle_groups() {
  static auto* const groups = new IdleGroups;
  return *groups;
}

std::shared_ptr<core::ThreadGroup> take_group(const std::vector<int>& gpus) {
  IdleGroups& idle = idle_groups();
  const std::lock_guard lock(idle.mutex);
  if (auto found = idle.groups.extract(gpus)) return std::move(found.mapped());
  return std::make_shared<core::ThreadGroup>(static_cast<int>(gpus.size()));
}

}  // namespace

bool has_idle_group(const std::vector<int>& gpus) {
  IdleGroups& idle = idle_groups();
  const std::lock_guard lock(idle.mutex);
  return idle.groups.contains(gpus);
}

Execution on_first_gpu(Execution execution) {
  if (execution.gpus.empty()) return execution;
  refuse_cpu_with_gpus(execution);
  execution.device = Device::gpu;
  execution.gpu = execution.gpus.front();
  execution.gpus.clear();
  return execution;
}

Execution on_listed_gpus(Execution execution) {
  Execution first = on_first_gpu(execution);
  if (is_for_several_gpus(execution)) first.gpus = std::move(execution.gpus);
  return first;
}

GpuGroup::GpuGroup(const Execution& execution, int ranks_on_cpu)
    : execution_(execution), size_(execution.gpus.empty() ? ranks_on_cpu : static_cast<int>(execution.gpus.size())) {
  refuse_cpu_with_gpus(execution);
  if (execution.communicator != nullptr)
    throw UnsupportedError(about("gpus") + "with a communicator, each rank uses one GPU; start one rank for each GPU");
  for (const int gpu : execution.gpus) require_gpu(this_machine(), gpu);
  group_ = execution.gpus.empty() ? std::make_shared<core::ThreadGroup>(size_) : take_group(execution.gpus);
}

GpuGroup::~GpuGroup() {
  if (!group_ || group_->has_ended() || execution_.gpus.empty()) return;
  IdleGroups& idle = idle_groups();
  const std::lock_guard lock(idle.mutex);
  idle.groups.emplace(execution_.gpus, std::move(group_));
}

Execution GpuGroup::of_rank(Communicator& communicator) const {
  Execution here = execution_;
  if (!here.gpus.empty()) {
    here.gpu = here.gpus[static_cast<std::size_t>(communicator.rank())];
    here.gpus.clear();
    here.device = Device::gpu;
  }
  here.communicator = &communicator;
  here.stream = nullptr;
  if (here.threads > 0) here.threads = std::max(1, here.threads / size());
  if (here.memory_limit > 0)  // 0 means no limit
    here.memory_limit = std::max<std::uint64_t>(1, here.memory_limit / static_cast<std::uint64_t>(size()));
  if (communicator.rank() > 0) here.progress = {};
  return here;
}

void GpuGroup::run_all(const std::function<void(int, const Execution&)>& job) {
  try {
    group_->run([&](Communicator& communicator) { job(communicator.rank(), of_rank(communicator)); });
  } catch (Error& error) {
    ErrorFields fields = error.fields();  // The caller knows nothing of ranks, so the error must not name one.
    fields.rank.reset();
    fields.ranks = 1;
    error.set_fields(fields);
    throw;
  }
}

std::vector<RowRange> GpuGroup::divide(std::int64_t rows, const PartMemory& needed) {
  std::vector<PartGpu> gpus = part_gpus(execution_.gpus);
  if (execution_.gpu_memory_limit > 0)
    for (PartGpu& gpu : gpus) gpu.memory_bytes = std::min(gpu.memory_bytes, execution_.gpu_memory_limit);
  std::vector<RowRange> shares = shares_of_gpus(rows, gpus, needed);
  // A job that is small for its GPUs need not know their free memory. The question would start them one step earlier.
  constexpr std::uint64_t parts_of_memory = 8;
  const auto is_small = [&] {
    for (std::size_t part = 0; part < gpus.size(); ++part)
      if (needed(part, shares[part].rows) > gpus[part].memory_bytes / parts_of_memory) return false;
    return true;
  };
  if (is_small()) return shares;
  const std::vector<std::uint64_t> free =
      run([](int /*rank*/, const Execution& here) { return gpu_memory_to_take(here); });
  for (std::size_t part = 0; part < gpus.size(); ++part) {
    const auto sharers = static_cast<std::uint64_t>(std::ranges::count(execution_.gpus, execution_.gpus[part]));
    gpus[part].memory_bytes = std::min(gpus[part].memory_bytes, free[part] / sharers);
  }
  return shares_of_gpus(rows, gpus, needed);
}

void GpuGroup::describe(RunReport& report) const {
  report.threads *= size();
  if (execution_.gpus.empty()) return;
  std::string names;
  std::size_t of_one_name = 0;
  for (std::size_t index = 0; index < execution_.gpus.size(); index += of_one_name) {
    const auto name = [&](std::size_t which) { return require_gpu(this_machine(), execution_.gpus[which]).name; };
    of_one_name = 1;
    while (index + of_one_name < execution_.gpus.size() && name(index + of_one_name) == name(index)) ++of_one_name;
    names += (names.empty() ? "" : " + ") + std::to_string(of_one_name) + " x " + name(index);
  }
  report.device = names;
}

GpuStart::GpuStart(const Execution& execution) {
  const bool is_for_gpus = execution.device == Device::gpu || !execution.gpus.empty();
  if (!is_for_gpus || execution.communicator != nullptr) return;
  thread_ = std::thread([asked = execution]() mutable {
    asked.progress = {};
    if (asked.gpus.empty()) asked.gpus = {asked.gpu};
    try {
      GpuGroup(asked).run([&](int /*rank*/, const Execution& here) {
        connect_gpu(here);
        return 0;
      });
    } catch (...) {
      // The job will encounter the same error and report it.
    }
  });
}

GpuStart::~GpuStart() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace gradus::execution
