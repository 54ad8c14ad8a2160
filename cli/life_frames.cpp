#include "cli/life_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "execution/request.hpp"
#include "files/image.hpp"
#include "life/files/pattern.hpp"

namespace gradus::cli {

namespace {

/// Throws an error if the folder has frames of another run. The frames of both runs would be mixed, and their names
/// might differ in length.
void require_no_frames(const std::string& folder) {
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::filesystem::path& path = entry->path();
    if (path.extension() == ".pgm" && path.stem().string().find_first_not_of("0123456789") == std::string::npos)
      throw UsageError("--frames: the folder '" + folder + "' holds frames already, as '" + path.filename().string() +
                       "'; remove them, or name another folder");
  }
}

LifeGrid copy_of(const LifeGrid& cells) {
  LifeGrid copy(cells.height(), cells.width(), LifeGrid::Uninitialised{});
  std::copy_n(cells.words(), cells.height() * cells.stride(), copy.words());
  return copy;
}

}  // namespace

LifeFrames::LifeFrames(Request request, const Execution& execution)
    : request_(std::move(request)), execution_(execution) {
  if (!request_.gif.empty()) gif_file_.emplace(request_.gif, execution.stop);
  if (request_.folder.empty()) return;
  require_no_frames(request_.folder);
  make_folder();
}

LifeFrames::~LifeFrames() { remove_made(); }

void LifeFrames::remove_made() {
  std::error_code ignored;
  for (const std::string& path : made_ | std::views::reverse) std::filesystem::remove(path, ignored);
}

void LifeFrames::make_folder() {
  std::error_code failure;
  std::filesystem::path missing = request_.folder;
  while (!missing.empty() && !std::filesystem::exists(missing, failure)) {
    made_.insert(made_.begin(), missing.string());
    missing = missing.parent_path();
  }
  std::filesystem::create_directories(request_.folder, failure);
  if (!failure) return;
  remove_made();
  throw Error("cannot make the folder '" + request_.folder + "'" + core::reason(failure.value()));
}

void LifeFrames::begin(const LifeOptions& options, const LifeSize& size, std::uint64_t last) {
  last_ = last;
  if (options.boundary != LifeBoundary::plane) window_ = life_detail::world_box(size.width, size.height);
}

void LifeFrames::add(const LifePattern& pattern) {
  ++count_;
  Frame frame = frame_of(pattern);
  if (window_) return show(frame);
  bytes_ += static_cast<std::uint64_t>(frame.cells.height()) * static_cast<std::uint64_t>(frame.cells.stride()) * 8;
  execution::check_memory(bytes_, execution_,
                          "frames of a growing pattern wait for the last one; take fewer (--every)");
  frames_.push_back(std::move(frame));
}

LifeFrames::Frame LifeFrames::frame_of(const LifePattern& pattern) const {
  if (!pattern.tree) return {pattern.generation, pattern.left, pattern.top, copy_of(pattern.cells)};
  const std::optional<life_detail::LifeBox> box = life_detail::bounding_box(*pattern.tree, pattern.left, pattern.top);
  if (!box || (box->height > 0 && box->width > files::most_pixels / box->height))
    throw Error(fmt::format(
        "the cells of generation {} are too far apart for a picture{}; from 1 to {} pixels can be "
        "written; write them as .mc",
        pattern.generation, box ? fmt::format(", in {} x {} cells", box->width, box->height) : "", files::most_pixels));
  return {pattern.generation, box->left, box->top,
          life_detail::grid_of(*pattern.tree, *box, pattern.left, pattern.top, execution_.stop)};
}

void LifeFrames::finish() {
  if (!window_) {
    find_window();
    for (const Frame& frame : frames_) show(frame);
  }
  if (gif_) {
    gif_->finish();
    gif_file_->commit();
  }
  made_.clear();
}

void LifeFrames::find_window() {
  std::int64_t right = 0;
  std::int64_t bottom = 0;
  for (const Frame& frame : frames_) {
    if (frame.cells.width() == 0 || frame.cells.height() == 0) continue;
    const std::int64_t frame_right = frame.left + frame.cells.width();
    const std::int64_t frame_bottom = frame.top + frame.cells.height();
    if (!window_) {
      window_ = life_detail::LifeBox{frame.left, frame.top, 0, 0};
      right = frame_right;
      bottom = frame_bottom;
    }
    window_->left = std::min(window_->left, frame.left);
    window_->top = std::min(window_->top, frame.top);
    right = std::max(right, frame_right);
    bottom = std::max(bottom, frame_bottom);
  }
  if (!window_) {  // shows one dead cell, because no cell was ever alive
    window_ = life_detail::LifeBox{0, 0, 1, 1};
    return;
  }
  window_->width = right - window_->left;
  window_->height = bottom - window_->top;
}

void LifeFrames::show(const Frame& frame) {
  const std::int64_t scale = request_.scale;
  const life_detail::LifeBox& window = *window_;
  if (window.width < 1 || window.height < 1 || window.width > files::most_pixels / scale ||
      window.height > files::most_pixels / scale || window.width * scale > files::most_pixels / (window.height * scale))
    throw Error(fmt::format("frames of {} x {} cells of {} x {} pixels; from 1 to {} pixels can be written",
                            window.width, window.height, scale, scale, files::most_pixels));
  if (gif_file_) add_to_gif(frame);
  if (!request_.folder.empty()) write_to_folder(frame);
}

void LifeFrames::add_to_gif(const Frame& frame) {
  const std::int64_t scale = request_.scale;
  const std::int64_t width = window_->width * scale;
  if (!gif_) gif_.emplace(*gif_file_, width, window_->height * scale, static_cast<int>(request_.milliseconds / 10));
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * window_->height * scale));
  for (std::int64_t y = 0; y < frame.cells.height(); ++y) {
    core::honour_stop(execution_.stop, "stopped while painting frames");
    std::uint8_t* const row = pixels.data() + (y + frame.top - window_->top) * scale * width;
    for (std::int64_t x = 0; x < frame.cells.width(); ++x)
      if (frame.cells(y, x)) std::fill_n(row + (x + frame.left - window_->left) * scale, scale, std::uint8_t{1});
    for (std::int64_t line = 1; line < scale; ++line) std::copy_n(row, width, row + line * width);
  }
  gif_->add(pixels);
}

void LifeFrames::write_to_folder(const Frame& frame) {
  // Makes the frame a bounded world of the window's size. The writer writes all cells of a bounded world, and not only
  // the part with live cells.
  LifePattern pattern;
  pattern.boundary = LifeBoundary::dead;
  pattern.width = window_->width;
  pattern.height = window_->height;
  pattern.left = frame.left - window_->left - window_->width / 2;
  pattern.top = frame.top - window_->top - window_->height / 2;
  pattern.cells = copy_of(frame.cells);
  // File names have equal length, so that they sort by generation.
  const std::string name = fmt::format("{:0{}}.pgm", frame.generation, std::to_string(last_).size());
  const std::string path = std::filesystem::path(request_.folder) / name;
  core::AtomicFile file(path, execution_.stop);
  files::write_life(file, pattern, *files::life_output(".pgm"), request_.scale);
  made_.push_back(path);
  file.commit();
}

}  // namespace gradus::cli
