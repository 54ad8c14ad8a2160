// --certify of `gradus kmeans` and `gradus check`: computes and formats a certificate.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/options.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

/// --certify and --certify-effort.
struct CertifyArguments {
  bool is_wanted = false;
  double effort = 1;
};
void add_certify_options(Options& options, CertifyArguments& arguments, const std::string& description);

/// Throws OutOfMemoryError if a certificate needs more memory than the job may use.
void require_memory_of_certificate(std::int64_t rows, std::int64_t columns, std::int64_t clusters,
                                   const Execution& execution);

/// Certifies the labels of a result on the CPU. Returns the certificate of a result with this inertia for summary.json.
template <class T>
nlohmann::ordered_json certificate_json(const KMeansModel<T>& model, MatrixView<const T> points,
                                        VectorView<const std::int32_t> labels, VectorView<const T> weights,
                                        double inertia, const Execution& execution, double effort);

/// Returns the certificate of a result with this number of clusters as a line of text.
std::string certificate_text(const nlohmann::ordered_json& certificate, std::int64_t clusters);

}  // namespace gradus::cli
