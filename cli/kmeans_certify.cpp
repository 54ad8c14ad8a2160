#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/kmeans_certificate.hpp"
#include "cli/output.hpp"
#include "core/names.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "gradus/kmeans_certify.hpp"
#include "kmeans/certify/memory.hpp"

namespace gradus::cli {

namespace {

std::string_view words_of(const std::string& method) {
  if (method == to_string(KMeansBound::one_column)) return "the optimum of one column";
  if (method == to_string(KMeansBound::potentials)) return "potentials in the plane";
  return method == to_string(KMeansBound::groups) ? "separate groups of clusters" : "the spectrum of the points";
}

}  // namespace

void add_certify_options(Options& options, CertifyArguments& arguments, const std::string& description) {
  options.flag("--certify", arguments.is_wanted, description);
  options.ineffective_if(
      options.real("--certify-effort", arguments.effort,
                   "with two columns: work of the search for a bound, as a multiple of the work of a fit", 0, 1e6),
      [&arguments] { return arguments.is_wanted ? "" : "there is no certificate without --certify"; });
}

void require_memory_of_certificate(std::int64_t rows, std::int64_t columns, std::int64_t clusters,
                                   const Execution& execution) {
  execution::check_memory(kmeans_detail::bytes_of_certificate(rows, columns, clusters, cpu::thread_count(execution)),
                          execution, "without --certify it may need less");
}

template <class T>
nlohmann::ordered_json certificate_json(const KMeansModel<T>& model, MatrixView<const T> points,
                                        VectorView<const std::int32_t> labels, VectorView<const T> weights,
                                        double inertia, const Execution& execution, double effort) {
  constexpr double confidence = 1;  // every method is a proof
  Execution here;
  here.device = Device::cpu;
  here.threads = execution.threads;
  here.pinning = execution.pinning;
  here.memory_limit = execution.memory_limit;
  here.stop = execution.stop;
  const KMeansCertificate certificate = kmeans_certify(model, points, labels, weights, here, effort);
  return {{"bound", certificate.bound},
          {"gap", certificate.gap(inertia)},
          {"method", to_string(certificate.method)},
          {"confidence", confidence},
          {"seconds", certificate.report.phases.back().seconds}};
}

template nlohmann::ordered_json certificate_json(const KMeansModel<float>&, MatrixView<const float>,
                                                 VectorView<const std::int32_t>, VectorView<const float>, double,
                                                 const Execution&, double);
template nlohmann::ordered_json certificate_json(const KMeansModel<double>&, MatrixView<const double>,
                                                 VectorView<const std::int32_t>, VectorView<const double>, double,
                                                 const Execution&, double);

std::string certificate_text(const nlohmann::ordered_json& certificate, std::int64_t clusters) {
  const auto gap = certificate.at("gap").get<double>();
  const auto method = certificate.at("method").get<std::string>();
  if (gap > 0 && method == to_string(KMeansBound::none))
    return fmt::format("certificate: no bound found; a clustering into {} may be better by any amount\n",
                       counted(clusters, "cluster"));
  if (gap < 1e-9)
    return fmt::format("certificate: no clustering into {} is better, but for rounding errors\n",
                       counted(clusters, "cluster"));
  return fmt::format(
      "certificate: no clustering into {} is better by more than {:.2f} % (inertia at least {:.8g}; proven by {})\n",
      counted(clusters, "cluster"), std::ceil(gap * 1e4) / 100, certificate.at("bound").get<double>(),
      words_of(method));
}

}  // namespace gradus::cli
