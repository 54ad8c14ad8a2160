/// The version. This is the one place where it is written: CMake reads it here.
#pragma once

#include <string_view>

#include "gradus/export.hpp"

#define GRADUS_VERSION_MAJOR 0
#define GRADUS_VERSION_MINOR 2
#define GRADUS_VERSION_PATCH 0
#define GRADUS_VERSION_STRING "0.2.0"

namespace gradus {

/// That of the library which is linked. GRADUS_VERSION_STRING is that of the headers.
GRADUS_EXPORT std::string_view version() noexcept;

}  // namespace gradus
