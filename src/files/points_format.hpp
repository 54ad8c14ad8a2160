// The row type for formats of points, and the options for reading points.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "files/columns.hpp"
#include "files/elements.hpp"
#include "files/format.hpp"
#include "files/header.hpp"
#include "files/number.hpp"
#include "files/values.hpp"

namespace gradus::files {

struct ReadOptions {
  /// The requested element type. By default, the smallest type that holds every value of the file's type exactly.
  /// Conversion from f64 to f32 rounds to nearest; a value beyond the range of f32 throws InputError.
  std::optional<ElementType> type;
  std::stop_token stop;                       ///< a stop request throws InterruptedError
  HeaderLine header = HeaderLine::automatic;  ///< for text tables; other files ignore it
  NumberStyle style = {};                     ///< for text tables
  Comment comment = {};                       ///< for text tables
  Missing missing = Missing::error;           ///< for text tables; used by read_points()
  bool names_matter = true;                   ///< if true, a note reports a first line of numbers that may be names
  ColumnChoice columns = {};                  ///< used by read_points(); selects by number if the columns have no names
  int threads = 1;                            ///< number of threads that parse a text table
  bool keep_stored = false;                   ///< does not convert points of a StoredType: see Points::stored
  /// Called with notes for the user. A note states file:line and the doubtful decision.
  std::function<void(const std::string&)> note = nullptr;
};

struct ArrayBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string name;  ///< name for messages: "a.npz:name"
};

/// A format of points. Each format is a row of the list in points.cpp, and is defined at the end of the source file of
/// its reader.
struct PointsFormat {
  Format file;
  bool is_table = false;    ///< true for text whose columns may have names
  bool has_arrays = false;  ///< true if "file:name" is an array of the file; see array_path()
  /// Returns true if the content has this format. Null if the format cannot be distinguished from other text.
  bool (*recognises)(std::span<const std::byte> beginning) = nullptr;
  bool has_any_name = false;  ///< true if the content is recognised under any name
  Points (*read)(const std::string& path, const ReadOptions& options) = nullptr;  ///< null if rows_in suffices
  /// For formats whose rows can be read independently of each other: finds the rows in the bytes of a file. Checks the
  /// header against the number of bytes, and throws InputError. Returns nothing if the file stores its values in
  /// another order. `path` may name an array of the file.
  std::optional<RowsInFile> (*rows_in)(std::span<const std::byte> bytes, const std::string& path,
                                       const std::stop_token& stop) = nullptr;
  // For formats of arrays. The first function reads an array without changing its dimensions. The second function finds
  // the .npy file in the bytes of a stream.
  Tensor (*read_tensor)(const std::string& path, const std::stop_token& stop) = nullptr;
  ArrayBytes (*in_stream)(const ArrayBytes& all, const std::stop_token& stop) = nullptr;
};

}  // namespace gradus::files
