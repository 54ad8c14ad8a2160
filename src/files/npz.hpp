// NumPy's .npz: a ZIP archive (also in the format ZIP64) of .npy files, stored or deflated.
//
// This reader takes the archives of any program: it follows their directory, ignores what it does not know, and needs
// zlib. The reader of core/npz.hpp shares nothing with it. It takes only archives that the library has written and
// compares all of their bytes, so that no damage to a checkpoint goes unnoticed, and the library needs no zlib.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "files/points_format.hpp"

namespace gradus::files {

/// A file and the array in it that is meant.
struct NpzPath {
  std::string file;
  std::string array;  ///< without .npy; empty: the only one
};

/// "a.npz" or "a.npz:name", whether there is such a file or not; nothing for other paths.
std::optional<NpzPath> npz_path(const std::string& path);

/// Whether the bytes begin as a ZIP archive with content does.
bool looks_like_zip(std::span<const std::byte> bytes);

/// The array of that name in the archive, which `owner` keeps alive; of the only one, where the name is empty.
/// InputError for what is no whole archive, for an array that is damaged, encrypted or not there, and, with the names,
/// where one must be chosen. Nothing is allocated that the archive's size does not vouch for.
ArrayBytes find_npz_array(std::span<const std::byte> bytes, std::string_view name, std::string_view array,
                          const std::shared_ptr<const void>& owner, const std::stop_token& stop = {});

}  // namespace gradus::files
