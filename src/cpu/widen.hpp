// Converts elements of 8 and 16 bits to float.
#pragma once

#include <cstdint>

#include "gradus/stored_matrix.hpp"

namespace gradus::cpu {

/// Converts `count` contiguous elements at `from`. Every result is exact.
void widen(StoredType type, const void* from, std::int64_t count, float* to);

}  // namespace gradus::cpu
