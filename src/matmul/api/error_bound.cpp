// matmul_error_bound()
#include <algorithm>
#include <cmath>
#include <string>

#include "core/float_environment.hpp"
#include "matmul/api/steps.hpp"
#include "matmul/tensor/panels.hpp"

namespace gradus {

namespace room = matmul_detail;

double matmul_error_bound(MatmulAccuracy accuracy, std::int64_t depth, int element_bytes) {
  const core::DefaultFloatEnvironment environment;
  execution::check_element_bytes(element_bytes);
  MatmulOptions options;
  options.accuracy = accuracy;
  room::check(options, element_bytes);
  if (depth < 0) throw UsageError(about("depth") + std::to_string(depth) + " is not a number of products");
  const double unit = element_bytes == sizeof(float) ? room::unit_roundoff<float> : room::unit_roundoff<double>;
  const auto k = static_cast<double>(depth);
  const auto block = static_cast<double>(room::block_depth);
  const double strict = room::error_of(std::min(k, block) + std::ceil(k / block) + 1, unit);
  if (accuracy == MatmulAccuracy::automatic || accuracy == MatmulAccuracy::strict ||
      depth <= room::tensor::strict_depth)
    return strict;
  return std::max(strict, room::tensor::error_bound(depth, room::tensor::parts_of(accuracy)));
}

}  // namespace gradus
