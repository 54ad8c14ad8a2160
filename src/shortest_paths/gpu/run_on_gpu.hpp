// A job's part on a GPU: what the frame does around a variant that works there.
#pragma once

#include <cstdint>
#include <vector>

#include "shortest_paths/prepared.hpp"

namespace gradus::shortest_paths_detail {

/// The job's part on a GPU, from the graph on.
template <class T>
void run_on_gpu(const Request<T>& request, const Variant& variant, Prepared<T>& input, MatrixView<T> distances,
                MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases);

}  // namespace gradus::shortest_paths_detail
