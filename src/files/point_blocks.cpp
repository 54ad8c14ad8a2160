#include "files/point_blocks.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "gradus/error.hpp"

namespace gradus::files {

/// The properties of a file that reveal a change of its content.
struct PointBlocks::State {
  explicit State(const std::string& path) {
    struct stat status {};
    if (::stat(file_of_points(path).c_str(), &status) != 0) return;
    device = status.st_dev;
    file = status.st_ino;
    size = status.st_size;
    seconds = status.st_mtim.tv_sec;
    nanoseconds = status.st_mtim.tv_nsec;
  }
  friend bool operator==(const State&, const State&) = default;

  dev_t device = 0;
  ino_t file = 0;
  off_t size = 0;
  time_t seconds = 0;
  long nanoseconds = 0;
};

PointBlocks::PointBlocks(std::string path, ReadOptions options) : path_(std::move(path)), options_(std::move(options)) {
  auto before = std::make_unique<const State>(path_);
  if (const std::optional<PointsShape> shape = shape_in_rows(path_, options_)) {
    file_columns_ = shape_in_rows(path_, with_all_columns(options_))->columns;
    rows_ = shape->rows;
    before_ = std::move(before);
    head_ = read_rows(path_, 0, 0, options_);
    return;
  }
  head_ = read_points(path_, options_);
  rows_ = head_.rows();
  name_rows_left(head_, rows_);
}
PointBlocks::PointBlocks(PointBlocks&&) noexcept = default;
PointBlocks& PointBlocks::operator=(PointBlocks&&) noexcept = default;
PointBlocks::~PointBlocks() = default;

std::int64_t PointBlocks::rows_in(std::uint64_t bytes, ElementType type, std::uint64_t result_bytes) const {
  const auto columns = static_cast<std::uint64_t>(head_.columns());
  const auto file_columns = static_cast<std::uint64_t>(file_columns_);
  // If only some columns are chosen, memory holds all columns of a row, and also a copy of the chosen columns.
  const std::uint64_t numbers = columns == file_columns ? columns : columns + file_columns;
  const std::uint64_t each = numbers * (type == ElementType::f32 ? sizeof(float) : sizeof(double)) + result_bytes;
  return static_cast<std::int64_t>(std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, each)));
}

void PointBlocks::require_unchanged() const {
  const State now(path_);
  if (now == *before_) return;
  std::string how = ", or was replaced by another one";
  if (now.size != before_->size)
    how = ": it had " + std::to_string(before_->size) + " bytes and now has " + std::to_string(now.size);
  throw InputError("'" + path_ + "': the file has changed while it was read" + how +
                       "; run the command again when no program writes to the file",
                   {.code = error_code::cannot_read, .file = path_});
}

void PointBlocks::for_each(std::int64_t block, ElementType type,
                           const std::function<void(const Points&, std::int64_t)>& use) {
  if (!before_) {
    head_ = convert(std::move(head_), type, path_, options_.stop);
    return use(head_, 0);
  }
  ReadOptions options = options_;
  options.type = type;
  std::int64_t first = 0;
  do {
    require_unchanged();
    const Points points = read_rows(path_, first, std::min(block, rows_ - first), options);
    use(points, first);
    first += points.rows();
  } while (first < rows_);
  require_unchanged();
}

}  // namespace gradus::files
