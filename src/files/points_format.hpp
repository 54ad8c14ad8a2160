// The row of a format of points, and how such files are read.
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
  /// The element type wanted; nothing: the least one that holds every value of the file's type exactly.
  /// f32 from f64 rounds to nearest, and a value beyond the range of f32 is an InputError.
  std::optional<ElementType> type;
  std::stop_token stop;                       ///< a stop request ends the reading with InterruptedError
  HeaderLine header = HeaderLine::automatic;  ///< of tables of text; without a meaning for other files
  NumberStyle style = {};                     ///< likewise
  Comment comment = {};                       ///< likewise
  Missing missing = Missing::error;           ///< likewise; of read_points()
  bool names_matter = true;                   ///< a first line of numbers that might be names is told of
  ColumnChoice columns = {};                  ///< of read_points(); by number where columns have no names
  int threads = 1;                            ///< that parse a table of text
  /// Called with what a person should hear: file:line: what was decided in doubt.
  std::function<void(const std::string&)> note = nullptr;
};

/// The bytes of a .npy file, and what keeps them alive.
struct ArrayBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string name;  ///< for messages: "a.npz:name"
};

/// A format of points. The file of its reader ends with its row, and points.cpp lists the rows.
struct PointsFormat {
  Format file;
  bool is_table = false;                                               ///< text, whose columns may have names
  bool (*names)(const std::string& path) = nullptr;                    ///< other names than those with the endings
  bool (*recognises)(std::span<const std::byte> beginning) = nullptr;  ///< null: it cannot be told from other text
  bool has_any_name = false;  ///< files are recognised whatever they are called
  Points (*read)(const std::string& path, const ReadOptions& options);
  // Of arrays: as they are in a file, with all of their dimensions; and the .npy file in all bytes of a stream.
  Tensor (*read_tensor)(const std::string& path, const std::stop_token& stop) = nullptr;
  ArrayBytes (*in_stream)(const ArrayBytes& all, const std::stop_token& stop) = nullptr;
};

}  // namespace gradus::files
