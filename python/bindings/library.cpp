#include "python/bindings/library.hpp"

#include "cli/program.hpp"
#include "core/names.hpp"
#include "cpu/memory.hpp"
#include "cpu/row_hash.hpp"
#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/gpu_group.hpp"
#include "execution/gpu_memory.hpp"
#include "execution/request.hpp"

namespace gradus::python {

const execution::Machine& this_machine() { return execution::this_machine(); }
std::string why_no_gpu() { return execution::why_no_gpu(execution::this_machine()); }
std::vector<int> first_gpus(int count) { return execution::first_gpus(execution::this_machine(), count); }
Execution on_listed_gpus(const Execution& execution) { return execution::on_listed_gpus(execution); }
std::optional<int> gpu_of_memory(const void* address) { return execution::gpu_of_memory(address); }
void wait_for_stream(int gpu, void* stream) { execution::wait_for_stream(gpu, stream); }
void copy_to_gpu(void* to, const void* from, std::size_t bytes, int gpu, void* stream) {
  execution::copy_to_gpu(to, from, bytes, gpu, stream);
}
std::uint64_t available_memory() { return cpu::available_memory(); }
void check_host_memory(std::uint64_t needed, const Execution& execution) {
  execution::check_memory(needed, execution, {});
}
bool has_lost_threads() { return cpu::has_lost_threads(); }
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  return core::did_you_mean(name, candidates);
}
void check_value(const core::Option& row, const core::Value& value) { core::check_value(row, value, row.front_name()); }
void refuse_integer(const core::Option& row, const std::string& value) {
  core::refuse_integer(row, row.front_name(), value);
}
template <class T>
std::string hash_of_rows(MatrixView<const T> rows, const Execution& execution) {
  return cpu::hash_text(cpu::hash_of_rows(rows, 0, cpu::thread_count(execution), execution.stop));
}
template std::string hash_of_rows(MatrixView<const float>, const Execution&);
template std::string hash_of_rows(MatrixView<const double>, const Execution&);
execution::LaunchedProcess* launched_process() {
  static execution::LaunchedProcess* const process = []() -> execution::LaunchedProcess* {
    const std::optional<core::Launch> launch = core::launch_in_environment();
    if (!launch) return nullptr;
    const int gpu = execution::gpu_of_launch(execution::this_machine(), *launch, -1);
    return &execution::join_launch(*launch, {.gpu = gpu, .limit = core::connect_limit, .stop = {}, .give_up = {}});
  }();
  return process;
}
int run_program(int argument_count, char** arguments) { return cli::run_program(argument_count, arguments); }

}  // namespace gradus::python
