// Libraries of others that are opened when they are first asked for, so that nothing here depends on them.
#pragma once

#include <initializer_list>
#include <string>

namespace gradus::core {

/// Stays open to the end of the process: libraries with threads of their own do not bear to be closed.
class SharedLibrary {
 public:
  /// Opens the first of `files`, in their order, that can be opened.
  explicit SharedLibrary(std::initializer_list<const char*> files);

  explicit operator bool() const { return handle_ != nullptr; }
  /// Of a library that was opened: the file's name as it was given.
  const std::string& file() const { return file_; }
  /// Otherwise: what the system says of the last one.
  const std::string& why_not() const { return why_not_; }
  /// Of a library that was opened: the function of this name, or null where it has none.
  void* find(const char* name) const;
  /// The same, of a type that the caller knows: a pointer to a function.
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
