// Grids that stay on a GPU: copied and counted there.
#pragma once

#include <cstdint>

#include "life/problem.hpp"

namespace gradus::life_detail {

/// Copies cells on the job's GPU to another grid of the same size there; bits past the width become 0. In the stream.
void copy_there(const LifeGridView& from, const LifeGridSpan& to, cuda::Job& job);
/// Live cells of a grid on the job's GPU, whose bits past the width are 0. Waits for the stream.
std::uint64_t count_there(const LifeGridView& cells, cuda::Job& job);

}  // namespace gradus::life_detail
