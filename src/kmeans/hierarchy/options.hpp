// Options of kmeans_bisecting().
#pragma once

#include <string_view>

#include "core/options.hpp"

namespace gradus::kmeans_detail {

/// Returns true if the option of a fit is an option of kmeans_bisecting(), too.
inline bool is_of_bisecting(const core::Option& row) {
  return row.name == "clusters" || row.calls.find("kmeans_bisecting") != std::string_view::npos;
}

}  // namespace gradus::kmeans_detail
