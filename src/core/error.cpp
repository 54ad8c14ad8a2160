#include "gradus/error.hpp"

namespace gradus {
// Out of line so that each class's type information lives in the library alone and exceptions cross its boundary.
Error::~Error() = default;
UsageError::~UsageError() = default;
InputError::~InputError() = default;
UnsupportedError::~UnsupportedError() = default;
VerificationError::~VerificationError() = default;
InterruptedError::~InterruptedError() = default;
}  // namespace gradus
