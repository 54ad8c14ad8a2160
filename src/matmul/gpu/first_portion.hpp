// What the GPU variants do at first, before they know how fast they are.
#pragma once

namespace gradus::matmul_detail {

/// Multiplications and additions of the first launches; see cuda::Portions.
inline constexpr double first_portion = 4e9;

}  // namespace gradus::matmul_detail
