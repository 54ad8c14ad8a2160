// Options of kmeans1d().
#pragma once

#include <string_view>

#include "core/options.hpp"

namespace gradus::kmeans_detail {

/// Returns true if the option of a fit is an option of kmeans1d(), too. The other options describe Lloyd's algorithm.
inline bool is_of_optimum(const core::Option& row) {
  return row.name == "clusters" || row.calls.find("kmeans1d") != std::string_view::npos;
}

}  // namespace gradus::kmeans_detail
