#include "execution/report.hpp"

#include <utility>

#include "execution/request.hpp"

namespace gradus::execution {

void deliver(RunReport& report, const core::VariantInfo& variant, const Execution& execution, int threads,
             Timing timing) {
  report.variant = variant.name;
  report.device = device_name(variant.backend == core::Backend::cuda, execution);
  report.threads = threads;
  core::add_phase(timing.phases, "total", core::seconds_since(timing.start));
  report.phases = std::move(timing.phases);
}

}  // namespace gradus::execution
