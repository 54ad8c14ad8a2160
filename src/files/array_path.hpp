// Paths of arrays in files that may hold several arrays: "a.npz:name".
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gradus::files {

struct ArrayPath {
  std::string file;
  std::string array;  ///< name of the array; empty: the file's only array
};

/// Parses "a.npz:name", or "a.npz" without a name, if ".npz" is one of the blank-separated `endings`. The file need not
/// exist. Returns nullopt for paths without such an ending. The ending may be in upper or lower case.
std::optional<ArrayPath> array_path(const std::string& path, std::string_view endings);

/// Returns the index of the array with this name, or of the only array if the name is empty. If several arrays have the
/// same name, the last one counts. Throws InputError, with a list of the arrays of `file`, if no array has this name,
/// or if the name is empty and the file has several arrays.
std::size_t choose_array(std::span<const std::string_view> names, std::string_view file, std::string_view array);

}  // namespace gradus::files
