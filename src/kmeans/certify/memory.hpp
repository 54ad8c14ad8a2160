// The memory of a certificate.
#pragma once

#include <cstdint>

namespace gradus::kmeans_detail {

/// Returns the bytes that kmeans_certify() needs in addition to its input and to copies for metric and standardization.
std::uint64_t bytes_of_certificate(std::int64_t rows, std::int64_t columns, std::int64_t clusters, int threads);

}  // namespace gradus::kmeans_detail
