/// The version of Gradus. CMake reads it from this file, so it is written only here.
#pragma once

#include <string_view>

#include "gradus/export.hpp"

#define GRADUS_VERSION_MAJOR 0
#define GRADUS_VERSION_MINOR 2
#define GRADUS_VERSION_PATCH 0
#define GRADUS_VERSION_STRING "0.2.0"

namespace gradus {

/// Returns the version of the linked library. GRADUS_VERSION_STRING is the version of the headers.
GRADUS_EXPORT std::string_view version() noexcept;

}  // namespace gradus
