// The error for a backend that is not part of this build.
#pragma once

namespace gradus::core {

/// Throws UnsupportedError: this build has no `backend` (for example "CUDA").
[[noreturn]] void not_compiled(const char* backend);

}  // namespace gradus::core
