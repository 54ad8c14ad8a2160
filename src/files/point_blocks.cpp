#include "files/point_blocks.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace gradus::files {

PointBlocks::PointBlocks(std::string path, ReadOptions options) : path_(std::move(path)), options_(std::move(options)) {
  const core::FileState before = core::state_of(file_of_points(path_));
  if (const std::optional<PointsShape> shape = shape_in_rows(path_, options_)) {
    file_columns_ = shape_in_rows(path_, with_all_columns(options_))->columns;
    rows_ = shape->rows;
    before_ = before;
    head_ = read_rows(path_, 0, 0, options_);
    return;
  }
  head_ = read_points(path_, options_);
  rows_ = head_.rows();
  name_rows_left(head_, rows_);
}
std::int64_t PointBlocks::rows_in(std::uint64_t bytes, ElementType type, std::uint64_t result_bytes) const {
  const auto columns = static_cast<std::uint64_t>(head_.columns());
  const auto file_columns = static_cast<std::uint64_t>(file_columns_);
  // If only some columns are chosen, memory holds all columns of a row, and also a copy of the chosen columns.
  const std::uint64_t numbers = columns == file_columns ? columns : columns + file_columns;
  const std::uint64_t each = numbers * (type == ElementType::f32 ? sizeof(float) : sizeof(double)) + result_bytes;
  return static_cast<std::int64_t>(std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, each)));
}

void PointBlocks::for_each(std::int64_t block, ElementType type,
                           const std::function<void(const Points&, std::int64_t)>& use) {
  if (!before_) {
    head_ = convert(std::move(head_), type, path_, options_.stop);
    return use(head_, 0);
  }
  ReadOptions options = options_;
  options.type = type;
  const auto check = [&] { core::require_unchanged(file_of_points(path_), *before_, path_); };
  std::int64_t first = 0;
  do {
    check();
    const Points points = read_rows(path_, first, std::min(block, rows_ - first), options);
    use(points, first);
    first += points.rows();
  } while (first < rows_);
  check();
}

}  // namespace gradus::files
