// Reads the points of several files block by block, as if they were one file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/point_files.hpp"
#include "files/point_blocks.hpp"

namespace gradus::cli {

class BlockFiles {
 public:
  /// Opens a file, whose rows follow the rows of the file before. Returns the head of its points. Throws the errors of
  /// files::PointBlocks, and InputError if the first file has another number of columns.
  const files::Points& add(const std::string& path, const files::ReadOptions& reading);

  std::int64_t rows() const { return places_.rows; }
  std::int64_t columns() const { return blocks_.front().head().columns(); }
  /// Returns the widest type of the files, which holds all their values.
  files::ElementType type() const;
  /// Returns the names of the rows of all files, or null if they have none.
  std::shared_ptr<const files::RowNames> names() const;
  /// Returns the places of the files' rows, without points. They name the file of a row in an error.
  const PointFiles& places() const { return places_; }

  /// Reads one weight per row from the file `path` or, if it is empty, from the column of weights.
  template <class T>
  std::vector<T> weights(const std::string& path, const files::ReadOptions& reading) const;

  /// Calls use(points, number of the first row) for each block, in order: see files::PointBlocks. A block takes about
  /// `bytes` of memory, of which results take `result_bytes` per row.
  void for_each(std::uint64_t bytes, files::ElementType type, std::uint64_t result_bytes,
                const std::function<void(const files::Points&, std::int64_t)>& use);

 private:
  std::vector<files::PointBlocks> blocks_;
  PointFiles places_;
  std::vector<std::int64_t> dropped_;       ///< rows of the files that were left out, counted over all files
  std::shared_ptr<files::RowNames> names_;  ///< from the column of row names
};

}  // namespace gradus::cli
