// Reads NumPy's .npz: a ZIP archive (ZIP64 too) of .npy files, stored or deflated.
//
// This reader accepts archives of any program: it follows their directory and ignores unknown parts. It needs zlib.
// core/npz.hpp has another reader, which needs no zlib. It accepts only archives that the library has written. It
// checks all bytes of an archive, so that it detects any damage to a checkpoint.
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

/// Returns true if the bytes begin like a non-empty ZIP archive.
bool looks_like_zip(std::span<const std::byte> bytes);

/// Returns the array with this name, or the only array if the name is empty. `owner` keeps the archive alive. Throws
/// InputError if the archive is incomplete, or if the array is damaged, encrypted or missing. Also throws InputError,
/// with a list of the arrays, if the name is empty and there are several arrays. Allocates no more than the archive's
/// size can justify.
ArrayBytes find_npz_array(std::span<const std::byte> bytes, std::string_view name, std::string_view array,
                          const std::shared_ptr<const void>& owner, const std::stop_token& stop = {});

}  // namespace gradus::files
