// Runs a GPU variant: the steps of the driver around the variant.
#pragma once

#include <cstdint>
#include <vector>

#include "shortest_paths/prepared.hpp"

namespace gradus::shortest_paths_detail {

/// Runs the GPU part of a job, once the graph is prepared.
template <class T>
void run_on_gpu(const Request<T>& request, const Variant& variant, Prepared<T>& input, MatrixView<T> distances,
                MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases);

}  // namespace gradus::shortest_paths_detail
