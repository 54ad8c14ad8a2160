// The last step of a public call: labels to the caller's memory, and the report.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/phases.hpp"
#include "kmeans/api/plan.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::kmeans_detail {

/// Brings labels that are in the result to where the caller wants them.
template <class T>
void deliver(Buffer<std::int32_t>& labels, VectorView<std::int32_t> to, const PointSource<T>& points);

void finish_report(RunReport& report, std::vector<Phase> phases, core::Clock::time_point start);

/// What the frame knows of a run; threads and the re-checked share are the variant's to say.
void report_run(RunReport& report, const Variant& variant, const Execution& execution, std::vector<Phase> phases,
                core::Clock::time_point start);

/// Reports points of a phase, if the caller wants progress.
std::function<void(std::int64_t)> progress_in(std::string_view phase, std::int64_t points, const Execution& execution);

}  // namespace gradus::kmeans_detail
