// Error bounds of the arithmetic of a certificate. All of them are at least twice as large as the worst case.
#pragma once

#include <cstdint>

namespace gradus::kmeans_detail {

/// Factors that round a positive number up or down after at most eight roundings.
inline constexpr double rounded_up = 1 + 0x1p-48;
inline constexpr double rounded_down = 1 - 0x1p-48;

/// Returns a bound for the relative error of a sum of non-negative numbers with this many roundings per number.
constexpr double error_of_sum(std::int64_t roundings) { return static_cast<double>(roundings + 8) * 0x1p-52; }

/// Exceeds any error by underflow of a certificate, per point and column, where coordinates and weights are at most 1.
inline constexpr double underflow = 0x1p-500;

}  // namespace gradus::kmeans_detail
