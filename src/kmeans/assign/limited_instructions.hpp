// Limits the instruction sets that k-means uses, for tests and measurements.
#pragma once

#include <string_view>

#include "cpu/forced_target.hpp"
#include "kmeans/assign/byte_tiles.hpp"

namespace gradus::kmeans_detail {

/// Limits the instructions for the lifetime of the object. `most` is "best", "tiles" (AMX for all shapes; code that
/// computes the same scores on CPUs without AMX), "avx512" (no AMX) or "avx2" (neither AMX nor AVX-512).
class LimitedInstructions {
 public:
  explicit LimitedInstructions(std::string_view most) : forced_(most == "avx2" ? HWY_AVX2 : 0) {
    tile_use = most == "best" ? TileUse::where_they_pay : most == "tiles" ? TileUse::always : TileUse::never;
  }
  ~LimitedInstructions() { tile_use = TileUse::where_they_pay; }
  LimitedInstructions(const LimitedInstructions&) = delete;
  LimitedInstructions& operator=(const LimitedInstructions&) = delete;

 private:
  cpu::ForcedTarget forced_;
};

}  // namespace gradus::kmeans_detail
