#include "core/not_compiled.hpp"

#include <string>

#include "gradus/error.hpp"

namespace gradus::core {

void not_compiled(const char* backend) { throw UnsupportedError("this build has no " + std::string(backend)); }

}  // namespace gradus::core
