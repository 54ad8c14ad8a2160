// The last step of a public call, which delivers the labels and the report.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/phases.hpp"
#include "kmeans/api/plan.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::kmeans_detail {

/// Copies labels from the result to the caller's memory.
template <class T>
void deliver(Buffer<std::int32_t>& labels, VectorView<std::int32_t> to, const PointSource<T>& points);

void finish_report(RunReport& report, std::vector<Phase> phases, core::Clock::time_point start);

/// Fills in the report of a run. The variant itself reports its number of threads and the share of points that were
/// rechecked.
void report_run(RunReport& report, const Variant& variant, const Execution& execution, std::vector<Phase> phases,
                core::Clock::time_point start);

/// Returns a function that passes the number of finished points to the progress callback. The callback also receives
/// the name of the phase. If there is no callback, the function does nothing.
std::function<void(std::int64_t)> progress_in(std::string_view phase, std::int64_t points, const Execution& execution);

}  // namespace gradus::kmeans_detail
