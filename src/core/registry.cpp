#include "core/registry.hpp"

namespace gradus::core {

std::string_view to_string(Backend backend) {
  switch (backend) {
    case Backend::sequential: return "sequential";
    case Backend::openmp: return "openmp";
    case Backend::tbb: return "tbb";
    case Backend::simd: return "simd";
    case Backend::cuda: return "cuda";
  }
  return "?";
}

}  // namespace gradus::core
