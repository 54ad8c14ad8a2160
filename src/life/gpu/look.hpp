// Copies and counts grids that stay on a GPU.
#pragma once

#include <cstdint>

#include "life/problem.hpp"

namespace gradus::life_detail {

/// Copies cells to another grid of the same size. Both grids must be on the job's GPU. The copy is asynchronous, in the
/// job's stream. Bits past the width become 0.
void copy_on_gpu(const LifeGridView& from, const LifeGridSpan& to, cuda::Job& job);
/// Returns the number of live cells of a grid on the job's GPU. Bits past the width must be 0. Waits for the stream.
std::uint64_t count_on_gpu(const LifeGridView& cells, cuda::Job& job);

}  // namespace gradus::life_detail
