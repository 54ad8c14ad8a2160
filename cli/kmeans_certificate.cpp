#include "cli/kmeans_certificate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "core/names.hpp"

namespace gradus::cli {

namespace {

constexpr double confidence = 1;  // every method is a proof

std::string_view words_of(KMeansBound method) {
  if (method == KMeansBound::one_column) return "the optimum of one column";
  if (method == KMeansBound::potentials) return "potentials in the plane";
  return method == KMeansBound::groups ? "separate groups of clusters" : "the spectrum of the points";
}

}  // namespace

Execution certifying(const Execution& execution) {
  Execution result;
  result.device = Device::cpu;
  result.threads = execution.threads;
  result.pinning = execution.pinning;
  result.memory_limit = execution.memory_limit;
  result.stop = execution.stop;
  return result;
}

nlohmann::ordered_json certificate_json(const KMeansCertificate& certificate, double inertia) {
  return {{"bound", certificate.bound},
          {"gap", certificate.gap(inertia)},
          {"method", to_string(certificate.method)},
          {"confidence", confidence},
          {"seconds", certificate.report.phases.back().seconds}};
}

std::string certificate_text(const KMeansCertificate& certificate, std::int64_t clusters, double inertia) {
  if (certificate.method == KMeansBound::none && inertia > 0)
    return fmt::format("certificate: no bound found; a clustering into {} may be better by any amount\n",
                       counted(clusters, "cluster"));
  const double percent = std::ceil(certificate.gap(inertia) * 1e4) / 100;
  return fmt::format(
      "certificate: no clustering into {} is better by more than {:.2f} % (inertia at least {:.8g}; "
      "proven by {})\n",
      counted(clusters, "cluster"), percent, certificate.bound, words_of(certificate.method));
}

}  // namespace gradus::cli
