// Internal library functions that the package's shared library exports in addition to the public API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "execution/launched.hpp"
#include "execution/machine.hpp"
#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"

namespace gradus::python {

GRADUS_EXPORT const execution::Machine& this_machine();
GRADUS_EXPORT std::string why_no_gpu();
GRADUS_EXPORT std::vector<int> first_gpus(int count);
GRADUS_EXPORT Execution on_listed_gpus(const Execution& execution);
GRADUS_EXPORT std::optional<int> gpu_of_memory(const void* address);
GRADUS_EXPORT void wait_for_stream(int gpu, void* stream);
GRADUS_EXPORT void copy_to_gpu(void* to, const void* from, std::size_t bytes, int gpu, void* stream);
GRADUS_EXPORT std::uint64_t available_memory();
GRADUS_EXPORT void check_host_memory(std::uint64_t needed, const Execution& execution);
GRADUS_EXPORT bool has_lost_threads();
GRADUS_EXPORT std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);
GRADUS_EXPORT void check_value(const core::Option& row, const core::Value& value);
GRADUS_EXPORT void refuse_integer(const core::Option& row, const std::string& value);
template <class T>
GRADUS_EXPORT std::string hash_of_rows(MatrixView<const T> rows, const Execution& execution);
/// Connects this process with the others of its launch, once. Returns null if this is the only process.
GRADUS_EXPORT execution::LaunchedProcess* launched_process();
GRADUS_EXPORT int run_program(int argument_count, char** arguments);

}  // namespace gradus::python
