#include "python/bindings/execution.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gradus/rows_of_rank.hpp"

#include "python/bindings/choices.hpp"
#include "python/bindings/library.hpp"
#include "python/bindings/module.hpp"

namespace gradus::python {

namespace {

constexpr auto poll_interval = std::chrono::milliseconds(50);

void set_device(Execution& execution, const std::string& text) {
  constexpr std::string_view numbered = "gpu:";
  if (const std::optional<Device> named = from_string<Device>(text)) {
    execution.device = *named;
    return;
  }
  if (text.starts_with(numbered)) {
    const char* first = text.data() + numbered.size();
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, execution.gpu);
    if (error == std::errc() && end == last && execution.gpu >= 0) {
      execution.device = Device::gpu;
      return;
    }
  }
  std::vector<std::string_view> names;
  std::string list;
  for (const EnumName<Device>& row : enum_names<Device>)
    list.append(names.empty() ? "" : ", ").append(names.emplace_back(row.name));
  throw UsageError(about("device") + "there is no '" + text + "', only " + list + " and gpu:0, gpu:1, ..." +
                   did_you_mean(text, names));
}

/// Converts a number to int. Throws UsageError for a number that is too large. Replaces a number that is too small by
/// the least int.
int narrow(const char* name, std::int64_t number) {
  constexpr int most = std::numeric_limits<int>::max();
  if (number > most)
    throw UsageError(about(name) + std::to_string(number) + " is more than the greatest number, " +
                     std::to_string(most));
  return static_cast<int>(std::max<std::int64_t>(number, std::numeric_limits<int>::min()));
}

/// The GPUs of a call: "all", "auto", the number of GPUs, or a list of their indices.
using GpuList = std::vector<std::int64_t>;
using GpuChoice = std::variant<std::string, std::int64_t, GpuList>;

std::vector<int> indices_of(const GpuList& given) {
  if (given.empty()) throw UsageError(about("gpus") + "the list is empty; None stands for the usual choice");
  std::vector<int> gpus;
  for (const std::int64_t gpu : given) {
    if (gpu < 0) throw UsageError(about("gpus") + std::to_string(gpu) + " is no index of a GPU; 0 is the first");
    gpus.push_back(narrow("gpus", gpu));
  }
  return gpus;
}

std::vector<int> gpus_of(const GpuChoice& choice) {
  if (const auto* const list = std::get_if<GpuList>(&choice)) return indices_of(*list);
  if (const auto* const name = std::get_if<std::string>(&choice)) {
    if (*name != "all")
      throw UsageError(about("gpus") + "'" + *name + "' is not 'all', 'auto', a number or a list of indices");
    return first_gpus(0);
  }
  const std::int64_t count = std::get<std::int64_t>(choice);
  if (count < 1) throw UsageError(about("gpus") + std::to_string(count) + "; 1 is the minimum");
  return first_gpus(narrow("gpus", count));
}

/// Sets the GPUs of the call. `device` must not contradict them.
void set_gpus(Request& request, const std::optional<GpuChoice>& choice, const std::string& device) {
  if (!choice) return;
  Execution& execution = request.execution;
  if (execution.device == Device::cpu || device.find(':') != std::string::npos)
    throw UsageError(about("gpus") + "`device` is '" + device + "'; leave out one of the two");
  request.chooses_gpus = *choice == GpuChoice("auto");
  if (request.chooses_gpus) return;
  execution.gpus = gpus_of(*choice);
  execution = on_listed_gpus(execution);
}

/// Returns 1 in a forked child that lost its threads. Otherwise, if OMP_NUM_THREADS or threadpoolctl sets a limit below
/// the number of cores, returns this limit. Otherwise returns 0, which means all cores.
int usual_threads() {
  if (has_lost_threads()) return 1;
  const int limit = omp_get_max_threads();
  return limit < this_machine().cores ? limit : 0;
}

Request make_request(const std::string& device, const std::optional<GpuChoice>& gpus,
                     std::optional<std::string> variant, std::optional<std::int64_t> threads,
                     const std::string& pinning, std::optional<std::int64_t> block_size,
                     std::optional<std::uint64_t> memory_limit, std::optional<std::uint64_t> stream,
                     nb::object progress) {
  Request request;
  Execution& execution = request.execution;
  set_device(execution, device);
  request.names_gpu = device.find(':') != std::string::npos;
  set_gpus(request, gpus, device);
  execution.variant = std::move(variant).value_or("");
  if (threads && *threads < 1)
    throw UsageError(about("threads") + std::to_string(*threads) + "; 1 is the minimum, None stands for all cores");
  execution.threads = threads ? narrow("threads", *threads) : usual_threads();
  execution.pinning = choice<Pinning>("pinning", pinning);
  execution.block_size = narrow("block_size", block_size.value_or(0));
  execution.memory_limit = memory_limit.value_or(0);
  execution.gpu_memory_limit = memory_limit.value_or(0);
  // DLPack denotes the legacy default stream by 1, CUDA by null.
  const std::uint64_t address = stream.value_or(0);
  execution.stream = reinterpret_cast<void*>(address <= 1 ? 0 : address);
  if (!progress.is_none() && !PyCallable_Check(progress.ptr()))
    throw UsageError(about("progress") + "not a function of (phase, done, total, detail)");
  request.progress = std::move(progress);
  return request;
}

/// Returns (first row, number of rows) of this rank.
Fields own_rows(std::int64_t rows, const Request& request) {
  const RowRange own =
      Job(request).run([rows](const Execution& execution) { return rows_of_rank(rows, *execution.communicator); });
  return nb::make_tuple(own.first, own.rows);
}

/// Connects this process with the others that a launcher has started. Returns (address of the communicator, rank,
/// number of ranks, GPU of this rank), or None if this is the only process.
std::optional<Fields> join_launch() {
  execution::LaunchedProcess* process = nullptr;
  {
    const nb::gil_scoped_release release;
    process = launched_process();
  }
  if (process == nullptr) return {};
  Communicator& communicator = process->communicator();
  return Fields(nb::make_tuple(reinterpret_cast<std::uint64_t>(&communicator), communicator.rank(), communicator.size(),
                               process->gpu()));
}

/// Returns the bytes of all ranks of the launch, which may have different lengths.
nb::typed<nb::list, nb::bytes> gather_in_launch(const nb::bytes& own) {
  const std::span<const std::byte> text(reinterpret_cast<const std::byte*>(own.c_str()), own.size());
  std::vector<std::vector<std::byte>> all;
  {
    const nb::gil_scoped_release release;
    Communicator& communicator = launched_process()->communicator();
    const std::uint64_t length = text.size();
    std::vector<std::uint64_t> lengths(static_cast<std::size_t>(communicator.size()));
    communicator.gather(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)));
    const std::size_t longest = std::ranges::max(lengths);
    std::vector<std::byte> padded(text.begin(), text.end());
    padded.resize(longest);
    std::vector<std::byte> texts(longest * lengths.size());
    communicator.gather(padded, texts);
    for (std::size_t rank = 0; rank < lengths.size(); ++rank)
      all.emplace_back(texts.begin() + static_cast<std::ptrdiff_t>(rank * longest),
                       texts.begin() + static_cast<std::ptrdiff_t>(rank * longest + lengths[rank]));
  }
  nb::typed<nb::list, nb::bytes> list;
  for (const std::vector<std::byte>& one : all) list.append(nb::bytes(one.data(), one.size()));
  return list;
}

}  // namespace

Job::Job(const Request& request)
    : execution_(request.execution), progress_(request.progress), only_checks_(request.only_checks),
      next_(Clock::now()) {
  if (progress_.is_none()) next_ += poll_interval;
  execution_.stop = stop_.get_token();
  execution_.progress = [this](const Progress& progress) { poll(progress); };
}

// Runs inside the job's loops and must not throw. If a Python exception occurs, stores it and requests a stop.
void Job::poll(const Progress& progress) {
  // The last report is always made, so that a progress bar reaches its end.
  const bool is_last = progress.done == progress.total && !progress_.is_none();
  if (raised_ || (!is_last && Clock::now() < next_)) return;
  const nb::gil_scoped_acquire acquire;
  try {
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    if (!progress_.is_none())
      progress_(nb::str(progress.phase.data(), progress.phase.size()), progress.done, progress.total,
                nb::str(progress.detail.data(), progress.detail.size()));
  } catch (nb::python_error& error) {
    raised_.emplace(std::move(error));
    stop_.request_stop();
  }
  next_ = Clock::now() + poll_interval;
}

Fields to_python(const RunReport& report) {
  nb::dict phases;
  for (const Phase& phase : report.phases) phases[phase.name.c_str()] = phase.seconds;
  return nb::make_tuple(report.variant, report.device, report.threads, phases, report.rechecked);
}

void bind_execution(nb::module_& module) {
  nb::class_<Request>(module, "Request")
      .def(
          "__init__",
          [](Request* place, const std::string& device, std::optional<std::string> variant,
             std::optional<std::int64_t> threads, const std::string& pinning, std::optional<std::int64_t> block_size,
             std::optional<std::uint64_t> memory_limit, std::optional<std::uint64_t> stream, nb::object progress,
             const std::optional<GpuChoice>& gpus) {
            new (place) Request(make_request(device, gpus, std::move(variant), threads, pinning, block_size,
                                             memory_limit, stream, std::move(progress)));
          },
          nb::arg("device"), nb::arg("variant").none(), nb::arg("threads").none(), nb::arg("pinning"),
          nb::arg("block_size").none(), nb::arg("memory_limit").none(), nb::arg("stream").none(),
          nb::arg("progress").none(), nb::arg("gpus").none() = nb::none())
      .def_rw("only_checks", &Request::only_checks)
      .def(
          "use_gpu",
          [](Request& request, int gpu) {
            if (!request.names_gpu) request.execution.gpu = gpu;
          },
          nb::arg("gpu"))
      .def_prop_ro("gpus", [](const Request& request) { return request.execution.gpus; })
      .def(
          "set_variant_option",
          [](Request& request, std::string name, std::string value) {
            request.execution.variant_options.push_back({std::move(name), std::move(value)});
          },
          nb::arg("name"), nb::arg("value"))
      .def_prop_rw(
          "communicator",
          [](const Request& request) {
            return std::optional(reinterpret_cast<std::uint64_t>(request.execution.communicator));
          },
          // The address that gradus_mpi_open() or join_launch() returned.
          [](Request& request, std::optional<std::uint64_t> address) {
            request.execution.communicator = reinterpret_cast<Communicator*>(address.value_or(0));
          },
          nb::for_setter(nb::arg("address").none()));
  module.def("rows_of_rank", &own_rows, nb::arg("rows"), nb::arg("request"));
  module.def("join_launch", &join_launch);
  module.def("gather_in_launch", &gather_in_launch, nb::arg("own"));
  module.def("has_lost_threads", &has_lost_threads);
  module.def("seconds_in_library", [] { return seconds_in_library; });
}

}  // namespace gradus::python
