#include "core/shared_library.hpp"

#include <dlfcn.h>

namespace gradus::core {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> files) {
  for (const char* const file : files) {
    handle_ = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* const why = ::dlerror();
      why_not_ = why == nullptr ? "" : why;
      continue;
    }
    file_ = file;
    return;
  }
}

void* SharedLibrary::find(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace gradus::core
