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
  /// The wanted element type. Default: the smallest type that holds every value of the file's type exactly. f32 from
  /// f64 rounds to nearest; a value beyond the range of f32 throws InputError.
  std::optional<ElementType> type;
  std::stop_token stop;                       ///< a stop request throws InterruptedError
  HeaderLine header = HeaderLine::automatic;  ///< for text tables; ignored for other files
  NumberStyle style = {};                     ///< for text tables
  Comment comment = {};                       ///< for text tables
  Missing missing = Missing::error;           ///< for text tables; used by read_points()
  bool names_matter = true;                   ///< report a first line of numbers that might be names
  ColumnChoice columns = {};                  ///< used by read_points(); by number if columns have no names
  int threads = 1;                            ///< threads that parse a text table
  /// Called with notes for the user: file:line, and the doubtful decision.
  std::function<void(const std::string&)> note = nullptr;
};

struct ArrayBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string name;  ///< for messages: "a.npz:name"
};

/// A format of points. Each reader's file ends with its row, and points.cpp lists the rows.
struct PointsFormat {
  Format file;
  bool is_table = false;                             ///< text whose columns may have names
  bool (*names)(const std::string& path) = nullptr;  ///< recognises names other than by the endings
  /// Recognises the content. Null: it cannot be distinguished from other text.
  bool (*recognises)(std::span<const std::byte> beginning) = nullptr;
  bool has_any_name = false;  ///< recognised by content under any name
  Points (*read)(const std::string& path, const ReadOptions& options);
  // For arrays: reads all dimensions as they are; and finds the .npy file in all bytes of a stream.
  Tensor (*read_tensor)(const std::string& path, const std::stop_token& stop) = nullptr;
  ArrayBytes (*in_stream)(const ArrayBytes& all, const std::stop_token& stop) = nullptr;
};

}  // namespace gradus::files
