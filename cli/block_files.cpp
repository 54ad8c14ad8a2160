#include "cli/block_files.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "cli/input.hpp"
#include "cli/output.hpp"

namespace gradus::cli {

const files::Points& BlockFiles::add(const std::string& path, const files::ReadOptions& reading) {
  files::PointBlocks blocks(path, reading);
  const files::Points& head = blocks.head();
  if (!blocks_.empty() && head.columns() != columns())
    throw InputError(fmt::format("'{}': rows of {}, but the rows of '{}' have {}; files that are read one after the "
                                 "other have the same columns",
                                 path, counted(head.columns(), "column"), places_.files.front().path, columns()),
                     {.code = error_code::shape_mismatch, .file = path});
  for (const std::int64_t row : head.dropped) dropped_.push_back(rows() + std::ssize(dropped_) + row);
  if (head.row_names && !head.row_names->numbers) {
    if (!names_) names_ = std::make_shared<files::RowNames>();
    names_->heading = head.row_names->heading;
    names_->append(*head.row_names);
  }
  places_.files.push_back({path, rows(), blocks.rows()});
  places_.rows += blocks.rows();
  blocks_.push_back(std::move(blocks));
  return blocks_.back().head();
}

std::shared_ptr<const files::RowNames> BlockFiles::names() const {
  files::Points all;
  all.row_names = names_;
  all.dropped = dropped_;
  files::name_rows_left(all, rows());
  return all.row_names;
}

files::ElementType BlockFiles::type() const {
  files::ElementType type = files::ElementType::f32;
  for (const files::PointBlocks& blocks : blocks_) type = std::max(type, blocks.head().type());
  return type;
}

template <class T>
std::vector<T> BlockFiles::weights(const std::string& path, const files::ReadOptions& reading) const {
  std::vector<T> weights;
  const auto append = [&](const files::VectorOf<T>& some) {
    weights.insert(weights.end(), some.view.data(), some.view.data() + some.view.size());
  };
  if (!path.empty()) append(files::of_rows_left(read_vector_as<T>(path, reading), dropped_, rows(), path));
  else if (!reading.columns.weight.empty())
    for (std::size_t file = 0; file < blocks_.size(); ++file)
      append(files::weights_as<T>(blocks_[file].head(), places_.files[file].path));
  return weights;
}
template std::vector<float> BlockFiles::weights(const std::string&, const files::ReadOptions&) const;
template std::vector<double> BlockFiles::weights(const std::string&, const files::ReadOptions&) const;

void BlockFiles::for_each(std::uint64_t bytes, files::ElementType type, std::uint64_t result_bytes,
                          const std::function<void(const files::Points&, std::int64_t)>& use) {
  for (std::size_t file = 0; file < blocks_.size(); ++file) {
    files::PointBlocks& blocks = blocks_[file];
    const std::int64_t before = places_.files[file].first;
    // If no file has rows, the call for the first file reports that.
    if (blocks.rows() == 0 && (rows() > 0 || file > 0)) continue;
    blocks.for_each(blocks.rows_in(bytes, type, result_bytes), type,
                    [&](const files::Points& points, std::int64_t first) { use(points, before + first); });
  }
}

}  // namespace gradus::cli
