// Archives in the format of NumPy's savez(): an uncompressed ZIP file of .npy files (.npz). NumPy and this
// library can read these archives. files/npz.hpp reads archives from other sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/atomic_file.hpp"

namespace gradus::core {

/// Returns the header of a .npy file, version 1.0 in C order, padded to a multiple of 64 bytes. `descr` is the type in
/// Python's notation, with quotes.
std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape);

/// Formats a shape as a Python tuple: "(3, 4)" or "(3,)".
std::string shape_text(std::span<const std::int64_t> shape);

template <class T>
std::string_view npy_descr() {
  if constexpr (std::is_same_v<T, float>) return "'<f4'";
  else if constexpr (std::is_same_v<T, double>) return "'<f8'";
  else if constexpr (std::is_same_v<T, std::int32_t>) return "'<i4'";
  else if constexpr (std::is_same_v<T, std::int64_t>) return "'<i8'";
  else if constexpr (std::is_same_v<T, std::uint64_t>) return "'<u8'";
  else return "'|u1'";  // bytes or text
}

/// Arrays to be written. add() copies them.
class NpzContent {
 public:
  template <class T>
  void add(std::string_view name, std::span<const std::int64_t> shape, const T* elements) {
    std::size_t bytes = sizeof(T);
    for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
    add_file(name, npy_header(npy_descr<T>(), shape), elements, bytes);
  }

  /// Adds a one-dimensional array.
  template <class T>
  void add(std::string_view name, std::span<const T> elements) {
    const auto size = static_cast<std::int64_t>(elements.size());
    add(name, std::span(&size, 1), elements.data());
  }

  /// Writes the archive, with checksums of all bytes. Throws Error if the archive exceeds the 4 GiB limit of the plain
  /// ZIP format.
  void write(AtomicFile& file) const;
  /// Returns the bytes of the archive, with the same limit.
  std::vector<std::byte> bytes() const;

 private:
  struct Entry {
    std::string name;  ///< with the ending .npy
    std::vector<std::byte> bytes;
  };
  void add_file(std::string_view name, const std::string& header, const void* elements, std::size_t bytes);
  /// Calls write(part) for each part of the archive. `where` names the archive in errors.
  template <class Write>
  void write_parts(const std::string& where, const Write& write) const;

  std::vector<Entry> entries_;
};

/// The arrays of an archive that NpzContent wrote. The constructor throws InputError if any byte differs from the byte
/// that NpzContent would write. The message calls the archive `name`.
class NpzArrays {
 public:
  NpzArrays(std::span<const std::byte> bytes, std::string name);

  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// Returns the elements of an array with `columns` columns. If `columns` is 0, the array is one-dimensional. Throws
  /// InputError if the array is missing or has another type or shape.
  template <class T>
  std::vector<T> get(std::string_view name, std::int64_t columns = 0) const {
    const std::span<const std::byte> bytes = elements(name, npy_descr<T>(), sizeof(T), columns);
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  struct Entry {
    std::string_view name;
    std::span<const std::byte> bytes;
  };
  const Entry* find(std::string_view name) const;
  std::span<const std::byte> elements(std::string_view name, std::string_view descr, std::size_t size,
                                      std::int64_t columns) const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::string name_;
  std::vector<Entry> entries_;
};

}  // namespace gradus::core
