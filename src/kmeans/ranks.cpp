#include "kmeans/ranks.hpp"

#include "core/text.hpp"
#include "cpu/row_hash.hpp"
#include "ranks/same_call.hpp"

#include "execution/gpu_support.hpp"
#include "gradus/communicator.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/seeding/known_rows.hpp"

namespace gradus::kmeans_detail {

using core::call_line;

template <class T>
std::string rows_text(const char* what, MatrixView<const T> rows) {
  // Rows on a GPU need no text, because the call is rejected before the ranks compare the texts.
  if (!rows.place().is_host()) return "";
  return call_line(what, "rows with the hash " + cpu::hash_text(cpu::hash_of_rows(rows, 0, 1, {})));
}

std::string checkpoint_text(const KMeansCheckpoint& checkpoint) {
  return call_line("checkpoint", std::string(checkpoint.file.empty() ? "none"
                                             : checkpoint.resume     ? "resumed"
                                                                     : "written"));
}

std::string standardization_text(const KMeansStandardization& by) {
  const auto column = [](const std::vector<double>& numbers) {
    return MatrixView<const double>(numbers.data(), std::ssize(numbers), 1);
  };
  return rows_text("means", column(by.mean)) + rows_text("scales", column(by.scale));
}

template <class T>
JobPlace begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, std::span<const execution::NamedPlace> places,
                        const std::string& call, const Execution& execution, RunsVariant runs_variant) {
  Execution here = execution;
  here.stop = ranks.stop();
  ranks.agree([&] {
    here = execution::run_on_gpu_of(points.place(), "points", here);
    for (const execution::NamedPlace& place : places)
      execution::check_reachable(place.place, place.what, here.device == Device::gpu, here.gpu);
    if (runs_variant == RunsVariant::no) {
      if (here.device == Device::gpu)
        throw UnsupportedError(
            "this call does not run on a GPU on several ranks; leave the device to the library, or ask for the CPU");
      here.device = Device::cpu;
    } else if (!here.variant.empty()) {
      if (const Variant& variant = core::find_variant(variants(), here.variant, Room::name); !variant.on_ranks)
        throw UnsupportedError("kmeans variant '" + std::string(variant.name) +
                               "' does not run on several ranks; the variants of kmeans that do run there: " +
                               core::names_with(&Variant::on_ranks, variants()));
    }
  });
  core::require_same_options(ranks, call_line("columns", points.columns()) + call);
  const core::RankRows rows(ranks, points.rows());
  if (rows.all() < 1) throw InputError(about("points") + "at least one row is needed, but no rank has any");
  if (rows.all() > most_points)
    throw InputError(about("points") + std::to_string(rows.all()) + " rows on all ranks are more than the supported " +
                     std::to_string(most_points));
  return {std::move(here), rows};
}

execution::Machine machine_of_rank(const Execution& execution) {
  execution::Machine machine = execution::this_machine();
  std::vector<execution::Gpu> gpus = machine.gpus();
  const auto usable = std::max<std::int64_t>(1, std::ranges::count_if(gpus, &execution::Gpu::usable));
  const auto sharers = static_cast<std::uint64_t>((execution.communicator->neighbours() + usable - 1) / usable);
  for (execution::Gpu& gpu : gpus) {
    gpu.granted_bytes = execution::plannable_memory(gpu) / std::max<std::uint64_t>(1, sharers);
    if (execution.gpu_memory_limit > 0) gpu.granted_bytes = std::min(gpu.granted_bytes, execution.gpu_memory_limit);
  }
  machine.gpus = execution::Gpus(std::move(gpus));
  return machine;
}

template <class T>
VectorView<const T> weights_of_rank(core::Ranks& ranks, MatrixView<const T> points, VectorView<const T> weights) {
  if (!ranks.any([&] { return !weights.empty(); })) return weights;
  ranks.agree([&] {
    if (weights.empty() && points.rows() > 0)
      throw InputError(about("weights") + "there are none for the " + std::to_string(points.rows()) +
                       " rows here, but other ranks have weights; one for each row is needed");
  });
  return points.rows() == 0 ? weights_of_no_rows<T>() : weights;
}

#define GRADUS_INSTANTIATE(T)                                                                                 \
  template std::string rows_text(const char*, MatrixView<const T>);                                           \
  template JobPlace begin_on_ranks(core::Ranks&, MatrixView<const T>, std::span<const execution::NamedPlace>, \
                                   const std::string&, const Execution&, RunsVariant);                        \
  template VectorView<const T> weights_of_rank(core::Ranks&, MatrixView<const T>, VectorView<const T>)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
