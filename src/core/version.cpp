#include "gradus/version.hpp"

#define GRADUS_TEXT_OF(number) #number
#define GRADUS_TEXT(number) GRADUS_TEXT_OF(number)

namespace gradus {

// The version's text must match its numbers.
static_assert(
    std::string_view(GRADUS_VERSION_STRING) ==
    GRADUS_TEXT(GRADUS_VERSION_MAJOR) "." GRADUS_TEXT(GRADUS_VERSION_MINOR) "." GRADUS_TEXT(GRADUS_VERSION_PATCH));

std::string_view version() noexcept { return GRADUS_VERSION_STRING; }

}  // namespace gradus
