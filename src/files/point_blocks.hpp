// Reads the points of a file block by block, so that a file larger than memory can be processed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "files/file.hpp"
#include "files/points.hpp"

namespace gradus::files {

/// The points of a file as a sequence of blocks of rows. A file whose rows cannot be read independently of each other
/// (see shape_in_rows()) is one block.
class PointBlocks {
 public:
  /// Reads the header of the file. If the file is one block, reads the whole file. Throws the errors of read_points().
  PointBlocks(std::string path, ReadOptions options);

  /// Returns the names, weights, type and number of columns of the points. If the file is read by rows, the returned
  /// object has no rows.
  const Points& head() const { return head_; }
  std::int64_t rows() const { return rows_; }

  /// Returns how many rows fit in `bytes`, but at least 1. Counts the memory for reading the rows, for converting them
  /// to `type`, and for the results, which take `result_bytes` per row.
  std::int64_t rows_in(std::uint64_t bytes, ElementType type, std::uint64_t result_bytes) const;

  /// Calls use(points, number of the first row) for each block of `block` rows, in order. The last block may be
  /// shorter. A file that has no rows, or is not read by rows, is one block. Converts the points to `type`. The points
  /// are valid until use() returns. for_each() may be called several times.
  ///
  /// Throws the errors of read_rows(), and InputError if the file changes during the calls.
  void for_each(std::int64_t block, ElementType type, const std::function<void(const Points&, std::int64_t)>& use);

 private:
  std::string path_;
  ReadOptions options_;
  Points head_;
  std::int64_t rows_ = 0;
  std::int64_t file_columns_ = 0;          ///< number of columns before a choice of columns
  std::optional<core::FileState> before_;  ///< no value if the file is one block
};

}  // namespace gradus::files
