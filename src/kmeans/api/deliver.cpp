#include "kmeans/api/deliver.hpp"

#include <algorithm>
#include <utility>

#include "core/stop.hpp"
#include "execution/devices.hpp"

namespace gradus::kmeans_detail {

template <class T>
void deliver(Buffer<std::int32_t>& labels, VectorView<std::int32_t> to, const PointSource<T>& points) {
  if (to.empty() || labels.size() == 0) return;
  // Copying this number of labels takes some milliseconds in host memory, and tens of milliseconds to a GPU.
  constexpr std::int64_t most = std::int64_t{1} << 24;
  for (std::int64_t first = 0; first < to.size(); first += most) {
    core::honour_stop(points.stop(), "stopped while copying the labels");
    const VectorView<std::int32_t> some(to.data() + first, std::min(most, to.size() - first), to.place());
    if (to.place().is_host()) std::copy_n(labels.data() + first, some.size(), some.data());
    else points.store_labels({labels.data() + first, some.size(), 1}, some.data());
  }
  labels = {};
}

template void deliver(Buffer<std::int32_t>&, VectorView<std::int32_t>, const PointSource<float>&);
template void deliver(Buffer<std::int32_t>&, VectorView<std::int32_t>, const PointSource<double>&);

void finish_report(RunReport& report, std::vector<Phase> phases, core::Clock::time_point start) {
  core::add_phase(phases, "total", core::seconds_since(start));
  report.phases = std::move(phases);
}

void report_run(RunReport& report, const Variant& variant, const Execution& execution, std::vector<Phase> phases,
                core::Clock::time_point start) {
  report.variant = variant.name;
  report.device = execution::device_name(variant.backend == core::Backend::cuda, execution);
  finish_report(report, std::move(phases), start);
}

std::function<void(std::int64_t)> progress_in(std::string_view phase, std::int64_t points, const Execution& execution) {
  if (!execution.progress) return [](std::int64_t) {};
  return [phase, points, &execution](std::int64_t done) { execution.progress({phase, done, points, {}}); };
}

}  // namespace gradus::kmeans_detail
