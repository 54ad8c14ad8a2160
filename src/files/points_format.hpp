// The row type of point formats, and the options for reading.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "files/columns.hpp"
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
  bool names_matter = true;                   ///< messages report a first line of numbers that may be names
  ColumnChoice columns = {};                  ///< used by read_points(); selects by number if columns have no names
  int threads = 1;                            ///< number of threads that parse a text table
  /// Called with notes for the user. A note states file:line and the doubtful decision.
  std::function<void(const std::string&)> note = nullptr;
};

struct ArrayBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string name;  ///< name for messages: "a.npz:name"
};

/// A format of points: a row of the list of formats in points.cpp. The row is defined at the end of the source file of
/// the format's reader.
struct PointsFormat {
  Format file;
  bool is_table = false;                             ///< true for text whose columns may have names
  bool (*names)(const std::string& path) = nullptr;  ///< recognises names that `endings` does not cover
  /// Recognises the content. Null if the content cannot be distinguished from other text.
  bool (*recognises)(std::span<const std::byte> beginning) = nullptr;
  bool has_any_name = false;  ///< true if the content is recognised under any name
  Points (*read)(const std::string& path, const ReadOptions& options);
  // For arrays only. The first function reads all dimensions unchanged; the second finds the .npy file in the bytes of
  // a stream.
  Tensor (*read_tensor)(const std::string& path, const std::stop_token& stop) = nullptr;
  ArrayBytes (*in_stream)(const ArrayBytes& all, const std::stop_token& stop) = nullptr;
};

}  // namespace gradus::files
