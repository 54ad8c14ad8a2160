// Libraries that are opened on first use, so that Gradus does not depend on them.
#pragma once

#include <initializer_list>
#include <string>

namespace gradus::core {

/// A dynamically loaded library. It stays open until the process ends, because libraries that start threads must not be
/// closed.
class SharedLibrary {
 public:
  /// Opens the first of `files` that can be opened.
  explicit SharedLibrary(std::initializer_list<const char*> files);

  explicit operator bool() const { return handle_ != nullptr; }
  /// Returns the file name under which the library was opened.
  const std::string& file() const { return file_; }
  /// Returns the system's error message for the last file, if no file could be opened.
  const std::string& why_not() const { return why_not_; }
  /// Returns the library's function with this name, or null.
  void* find(const char* name) const;
  /// Overload for a known type, which is a pointer to a function.
  template <class Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(find(name));
  }

 private:
  void* handle_ = nullptr;
  std::string file_;
  std::string why_not_;
};

}  // namespace gradus::core
