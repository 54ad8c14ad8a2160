// --certify of `gradus kmeans` and `gradus check`: computes and formats a certificate.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gradus/kmeans_certify.hpp"

namespace gradus::cli {

/// Returns the settings of a job for kmeans_certify(), which runs on the CPU and has no variants.
Execution certifying(const Execution& execution);

/// Returns the certificate of a result with this inertia for summary.json.
nlohmann::ordered_json certificate_json(const KMeansCertificate& certificate, double inertia);

/// Returns the certificate as a line of text.
std::string certificate_text(const KMeansCertificate& certificate, std::int64_t clusters, double inertia);

}  // namespace gradus::cli
