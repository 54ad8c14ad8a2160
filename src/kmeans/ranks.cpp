#include "kmeans/ranks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "execution/gpu_support.hpp"
#include "gradus/communicator.hpp"

namespace gradus::kmeans_detail {

namespace {

std::string line(const char* name, const std::string& value) { return std::string(name) + "=" + value + "\n"; }
template <class Number>
std::string line(const char* name, Number value) {
  return line(name, std::to_string(value));
}
std::string line(const char* name, double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);  // all of its bits
  return line(name, std::string(text));
}

/// The lines of a text.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// UsageError that says what differs from the first rank's.
void require_same(const std::string& own, const std::string& first) {
  const std::vector<std::string> mine = lines_of(own);
  const std::vector<std::string> theirs = lines_of(first);
  for (std::size_t index = 0; index < std::min(mine.size(), theirs.size()); ++index)
    if (mine[index] != theirs[index])
      throw UsageError("'" + mine[index] + "' here, but '" + theirs[index] +
                       "' on rank 0; all ranks must make the same call with the same options");
}

template <class T>
std::string bits_of(MatrixView<const T> rows) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, of words
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t column = 0; column < rows.columns(); ++column) {
      std::uint64_t word = 0;
      std::memcpy(&word, &rows(row, column), sizeof(T));
      hash = (hash ^ word) * 0x100000001b3;
      hash ^= hash >> 32;
    }
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace

std::string call_text(const char* call, const KMeansOptions& options) {
  // In the order of the enumerations, by the words of the command line.
  constexpr const char* inits[] = {"k-means++", "k-means-parallel", "random", "first", "given centroids"};
  constexpr const char* policies[] = {"relocate", "keep", "error"};
  constexpr const char* fewer[] = {"error", "accept"};
  constexpr const char* metrics[] = {"euclidean", "cosine"};
  const auto word = [](const auto& words, auto value) { return std::string(words[static_cast<std::size_t>(value)]); };
  return line("call", std::string(call)) + line("clusters", options.clusters) +
         line("init", word(inits, options.init)) + line("restarts", options.restarts) +
         line("max_iterations", options.max_iterations) + line("tolerance", options.tolerance) +
         line("changed_fraction", options.changed_fraction) + line("empty", word(policies, options.empty)) +
         line("fewer_distinct", word(fewer, options.fewer_distinct)) + line("metric", word(metrics, options.metric)) +
         line("seed", options.seed);
}

template <class T>
std::string rows_text(const char* what, MatrixView<const T> rows) {
  // Those that lie elsewhere are refused before anybody compares them.
  return rows.place().is_host() ? line(what, "rows with the bits " + bits_of(rows)) : "";
}

std::string checkpoint_text(const KMeansCheckpoint& checkpoint) {
  return line("checkpoint", std::string(checkpoint.file.empty() ? "none" : checkpoint.resume ? "resumed" : "written"));
}

template <class T>
Execution begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, std::span<const execution::NamedPlace> places,
                         const std::string& call, const Execution& execution, RunsVariant runs_variant) {
  Execution here = execution;
  here.stop = ranks.stop();
  ranks.agree([&] {
    for (const execution::NamedPlace& place : places)
      if (!place.place.is_host())
        throw UnsupportedError(std::string(place.what) + ": they lie on " + execution::gpu_number(place.place.gpu) +
                               "; on several ranks they are looked at in host memory, from where the variants for GPUs "
                               "take a copy: leave them there, or copy them there");
    if (runs_variant == RunsVariant::no) {
      if (here.device == Device::gpu)
        throw UnsupportedError(
            "this call does not run on a GPU on several ranks; leave the device to the library, or ask for the CPU");
      here.device = Device::cpu;
    } else if (!here.variant.empty()) {
      if (const Variant& variant = core::find_variant(variants(), here.variant, Room::name); !variant.on_ranks)
        throw UnsupportedError("kmeans variant '" + std::string(variant.name) +
                               "' does not run on several ranks; the variants of kmeans that do run there: " +
                               core::names_of_those_with(&Variant::on_ranks, variants()));
    }
  });
  const std::string own =
      line("element type", std::string(sizeof(T) == 4 ? "f32" : "f64")) + line("columns", points.columns()) + call;
  const std::vector<char> first = ranks.from(0, [&] { return std::vector<char>(own.begin(), own.end()); });
  ranks.agree([&] { require_same(own, {first.begin(), first.end()}); });
  ranks.set_rows(points.rows());
  if (ranks.rows() < 1) throw InputError("points: at least one row is needed, but no rank has any");
  if (ranks.rows() > std::int64_t{1} << 36)
    throw InputError("points: " + std::to_string(ranks.rows()) + " rows on all ranks are more than the supported 2^36");
  return here;
}

execution::Machine machine_of_rank(const Execution& execution) {
  execution::Machine machine = execution::this_machine();
  std::vector<execution::Gpu> gpus = machine.gpus();
  const auto usable = std::max<std::int64_t>(1, std::ranges::count_if(gpus, &execution::Gpu::usable));
  const auto sharers = static_cast<std::uint64_t>((execution.communicator->neighbours() + usable - 1) / usable);
  for (execution::Gpu& gpu : gpus) {
    gpu.granted_bytes = execution::to_plan_with(gpu) / std::max<std::uint64_t>(1, sharers);
    if (execution.gpu_memory_limit > 0) gpu.granted_bytes = std::min(gpu.granted_bytes, execution.gpu_memory_limit);
  }
  machine.gpus = execution::Gpus(std::move(gpus));
  return machine;
}

template <class T>
VectorView<const T> weights_of_rank(core::Ranks* ranks, MatrixView<const T> points, VectorView<const T> weights) {
  if (ranks == nullptr || !any_rank(*ranks, [&] { return !weights.empty(); })) return weights;
  ranks->agree([&] {
    if (weights.empty() && points.rows() > 0)
      throw InputError("weights: there are none for the " + std::to_string(points.rows()) +
                       " rows here, but other ranks have weights; one for each row is needed");
  });
  return points.rows() == 0 ? weights_of_no_rows<T>() : weights;
}

#define GRADUS_INSTANTIATE(T)                                                                                  \
  template std::string rows_text(const char*, MatrixView<const T>);                                            \
  template Execution begin_on_ranks(core::Ranks&, MatrixView<const T>, std::span<const execution::NamedPlace>, \
                                    const std::string&, const Execution&, RunsVariant);                        \
  template VectorView<const T> weights_of_rank(core::Ranks*, MatrixView<const T>, VectorView<const T>)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
