// The one answer of a backend that this build does not have.
#pragma once

namespace gradus::core {

/// Throws UnsupportedError: this build has no `backend`, for example "CUDA".
[[noreturn]] void not_compiled(const char* backend);

}  // namespace gradus::core
