// `gradus info`: describes this machine and this build.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cpu/memory.hpp"
#include "execution/gpu_rates.hpp"
#include "execution/machine.hpp"
#include "files/format.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string bytes_text(std::uint64_t bytes) {
  if (bytes == 0) return "unknown";
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string gpu_text(const execution::Machine& machine) {
  if (machine.gpus().empty()) return machine.cuda_compiled ? "none found" : "none: this build has no CUDA variants";
  std::vector<std::string> texts;
  for (const execution::Gpu& gpu : machine.gpus())
    texts.push_back(fmt::format("{}: {} ({}, {} multiprocessors, compute capability {}){}", gpu.index, gpu.name,
                                bytes_text(gpu.memory_bytes), gpu.multiprocessors, gpu.compute_capability,
                                gpu.usable ? "" : ", for which this build has no code"));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::vector<int> usable_gpus(const execution::Machine& machine) {
  std::vector<int> gpus;
  for (const execution::Gpu& gpu : machine.gpus())
    if (gpu.usable) gpus.push_back(gpu.index);
  return gpus;
}

/// A pair of GPUs.
struct Pair {
  int first;
  int second;
  execution::GpuLink link;
};

std::vector<Pair> pairs_of(const std::vector<int>& gpus) {
  std::vector<Pair> pairs;
  for (std::size_t first = 0; first < gpus.size(); ++first)
    for (std::size_t second = first + 1; second < gpus.size(); ++second)
      pairs.push_back({gpus[first], gpus[second], execution::link_between(gpus[first], gpus[second])});
  return pairs;
}

/// Describes the links between several GPUs, and the rates by which `--gpus auto` decides.
std::string links_text(const std::vector<int>& gpus) {
  const std::vector<Pair> pairs = pairs_of(gpus);
  const bool are_equal = std::ranges::all_of(pairs, [&](const Pair& pair) { return pair.link == pairs[0].link; });
  std::vector<std::string> texts;
  if (are_equal) texts.push_back(fmt::format("{} between all", execution::name_of(pairs[0].link)));
  else
    for (const Pair& pair : pairs)
      texts.push_back(fmt::format("{}-{} {}", pair.first, pair.second, execution::name_of(pair.link)));
  const execution::GpuRates rates = execution::rates_of(gpus);
  return fmt::format("{}; --gpus auto assumes {:g} GB/s and the speeds {:.2f} (NVIDIA H200: 1)", fmt::join(texts, ", "),
                     execution::bytes_per_second(rates.link) / 1e9, fmt::join(rates.speeds, ", "));
}

Json links_json(const std::vector<int>& gpus) {
  Json links = Json::array();
  for (const Pair& pair : pairs_of(gpus))
    links.push_back({{"gpus", {pair.first, pair.second}},
                     {"link", execution::name_of(pair.link)},
                     {"assumed_bytes_per_second", execution::bytes_per_second(pair.link)}});
  return links;
}

/// Returns the formats that the readers support. The documentation shows them as a table.
Json formats_json() {
  Json all;
  for (const files::Reader reader : files::all_readers) {
    const files::ReadFormats* const formats = files::formats_for(reader);
    if (formats == nullptr) continue;
    Json& rows = all[formats->kind] = Json::array();
    for (const files::Format* const format : formats->rows())
      rows.push_back({{"name", format->name}, {"endings", format->endings}, {"rules", format->rules}});
  }
  return all;
}

Json info_json(const execution::Machine& machine) {
  Json gpus = Json::array();
  for (const execution::Gpu& gpu : machine.gpus())
    gpus.push_back({{"index", gpu.index},
                    {"name", gpu.name},
                    {"memory_bytes", gpu.memory_bytes},
                    {"multiprocessors", gpu.multiprocessors},
                    {"compute_capability", gpu.compute_capability},
                    {"usable", gpu.usable},
                    {"speed", gpu.usable ? Json(execution::speed_of(gpu.index)) : Json()}});
  return {{"version", version()},
          {"compiler", GRADUS_COMPILER},
          {"build_type", GRADUS_BUILD_TYPE},
          {"cuda_compiled", machine.cuda_compiled},
          {"processor", machine.processor},
          {"cores", machine.cores},
          {"physical_cores", machine.layout().physical_cores},
          {"hardware_threads_per_core", machine.layout().hardware_threads_per_core},
          {"packages", machine.layout().packages},
          {"memory_nodes", machine.layout().memory_nodes},
          {"simd", machine.simd},
          {"fused_multiply_add", machine.fused_multiply_add},
          {"l1_bytes", machine.layout().l1_bytes},
          {"l2_bytes", machine.layout().l2_bytes},
          {"l3_bytes", machine.layout().l3_bytes},
          {"memory_bytes", machine.memory_bytes},
          {"available_memory_bytes", cpu::available_memory()},
          {"gpus", std::move(gpus)},
          {"gpu_links", links_json(usable_gpus(machine))},
          {"formats", formats_json()}};
}

int info(const Session& session) {
  const execution::Machine& machine = execution::this_machine();
  if (session.json) {
    session.print_json(info_json(machine));
    return 0;
  }
  const auto line = [&](std::string_view name, const std::string& value) {
    session.print(session.bold(fmt::format("{:<11}", name)) + value + "\n");
  };
  line("gradus", fmt::format("{} ({}, {})", version(), GRADUS_COMPILER, GRADUS_BUILD_TYPE));
  line("processor", machine.processor.empty() ? "unknown" : machine.processor);
  line("cores", fmt::format("{} usable; {} physical with {} hardware thread{} each, {} package{}, {} memory node{}",
                            machine.cores, machine.layout().physical_cores, machine.layout().hardware_threads_per_core,
                            machine.layout().hardware_threads_per_core == 1 ? "" : "s", machine.layout().packages,
                            machine.layout().packages == 1 ? "" : "s", machine.layout().memory_nodes,
                            machine.layout().memory_nodes == 1 ? "" : "s"));
  line("SIMD", fmt::format("{}{}", machine.simd.empty() ? "none" : fmt::format("{}", fmt::join(machine.simd, ", ")),
                           machine.fused_multiply_add ? "; fused multiply-add" : ""));
  line("caches", fmt::format("L1 {}, L2 {}, L3 {}", bytes_text(machine.layout().l1_bytes),
                             bytes_text(machine.layout().l2_bytes), bytes_text(machine.layout().l3_bytes)));
  line("memory", fmt::format("{}, of which {} are available", bytes_text(machine.memory_bytes),
                             bytes_text(cpu::available_memory())));
  line("GPUs", gpu_text(machine));
  if (const std::vector<int> gpus = usable_gpus(machine); gpus.size() > 1) line("GPU links", links_text(gpus));
  return 0;
}

}  // namespace

Action setup_info(Options&, Session& session) {
  return [&session] { return info(session); };
}

}  // namespace gradus::cli
