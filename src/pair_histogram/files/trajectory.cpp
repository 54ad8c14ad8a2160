#include "pair_histogram/files/trajectory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "files/file.hpp"
#include "files/foreign_formats.hpp"

namespace gradus::files {

// The formats. Contents are tested in this order, and messages list the formats in this order.
// clang-format off
#define GRADUS_TRAJECTORY_FORMATS \
  FORMAT(xyz) \
  FORMAT(lammps) \
  FORMAT(gro) \
  FORMAT(dcd) \
  FORMAT(xtc) \
  FORMAT(trr) \
  FORMAT(pdb)
// clang-format on
#define FORMAT(id) extern constinit const TrajectoryFormat id##_trajectories;
GRADUS_TRAJECTORY_FORMATS
#undef FORMAT

namespace {

constexpr const TrajectoryFormat* formats[] = {
#define FORMAT(id) &id##_trajectories,
    GRADUS_TRAJECTORY_FORMATS
#undef FORMAT
};

/// Rejects a file in a known format that holds no trajectories. If the first bytes also match a trajectory format,
/// accepts the file.
void refuse_others(std::string_view beginning, const std::string& name) {
  if (!trajectory_by_content(beginning)) refuse_foreign(beginning, name, Reader::frames);
}

std::vector<const Format*> rows() {
  std::vector<const Format*> rows;
  for (const TrajectoryFormat* const format : formats) rows.push_back(&format->file);
  return rows;
}

const RegisteredFormats registered(Reader::frames, {.kind = "trajectory", .rows = rows, .text = [] {
                                                      return endings_for(Reader::frames) + ", and points in " +
                                                             endings_for(Reader::points) + " can be read";
                                                    }});

}  // namespace

std::span<const TrajectoryFormat* const> trajectory_formats() { return formats; }

const TrajectoryFormat* named_trajectory(const std::string& path) {
  const auto found = std::ranges::find_if(formats, [&](const auto* format) { return format->file.names(path); });
  return found != std::end(formats) ? *found : nullptr;
}

const TrajectoryFormat* trajectory_by_content(std::string_view beginning) {
  const auto found = std::ranges::find_if(formats, [&](const auto* format) { return format->recognises(beginning); });
  return found != std::end(formats) ? *found : nullptr;
}

TrajectoryReader::TrajectoryReader(std::unique_ptr<TextInput> text, const TrajectoryFormat& format,
                                   std::stop_token stop, bool labels)
    : parser_(format.of_text(std::move(text), std::move(stop), labels)) {}
TrajectoryReader::TrajectoryReader(std::span<const std::byte> text, std::string_view name, std::stop_token stop,
                                   bool labels, const TrajectoryFormat* format) {
  auto input = std::make_unique<TextInput>(text, name, stop);
  if (format == nullptr) format = trajectory_by_content(input->beginning());
  refuse_others(input->beginning(), std::string(name));
  if (format == nullptr) format = &xyz_trajectories;
  parser_ = format->of_text != nullptr ? format->of_text(std::move(input), std::move(stop), labels)
                                       : format->of_bytes(text, name, std::move(stop));
}
TrajectoryReader::TrajectoryReader(std::unique_ptr<MappedFile> file, const TrajectoryFormat& format,
                                   std::stop_token stop)
    : file_(std::move(file)), parser_(format.of_bytes(file_->bytes(), file_->path(), std::move(stop))) {}
TrajectoryReader::~TrajectoryReader() = default;

FrameReader::FrameReader(std::string path, ReadOptions options, bool labels)
    : path_(std::move(path)), options_(std::move(options)) {
  const TrajectoryFormat* format = named_trajectory(path_);
  std::unique_ptr<TextInput> text;
  if (format == nullptr) {
    // Tables and images are identified by their names, all other files by their content.
    if (!is_stream(path_) && names_points(path_)) return;
    text = std::make_unique<TextInput>(path_, options_.stop);
    format = trajectory_by_content(text->beginning());
    if (format == nullptr) {
      if (is_stream(path_)) table_ = std::move(text);
      else if (!recognises_points(text->beginning())) refuse_foreign(text->beginning(), path_, Reader::frames);
      return;
    }
  }
  unit_ = format->unit;
  if (format->of_text == nullptr) {
    if (is_stream(path_) || ending_of(path_) == ".gz")
      throw UnsupportedError("'" + path_ + "': " + std::string(format->file.name) +
                             " is read from a file that is not packed; write it to one");
    auto file = std::make_unique<MappedFile>(path_);
    refuse_others(as_text(file->bytes()), path_);
    trajectory_ = std::make_unique<TrajectoryReader>(std::move(file), *format, options_.stop);
    return;
  }
  if (!text) text = std::make_unique<TextInput>(path_, options_.stop);
  if (!is_stream(path_)) refuse_others(text->beginning(), path_);
  trajectory_ = std::make_unique<TrajectoryReader>(std::move(text), *format, options_.stop, labels);
}
FrameReader::~FrameReader() = default;

std::optional<Frame> FrameReader::next(FrameParts parts) {
  if (options_.stop.stop_requested()) throw InterruptedError("stopped while reading '" + path_ + "'");
  if (trajectory_) {
    std::optional<Frame> frame = trajectory_->next(parts);
    if (frame && options_.type && parts == FrameParts::all)
      frame->points = convert(std::move(frame->points), *options_.type, path_, options_.stop);
    return frame;
  }
  if (std::exchange(done_, true)) return std::nullopt;
  Frame frame;
  frame.points = table_ ? read_points(*table_, options_) : read_points(path_, options_);
  return frame;
}

bool FrameReader::skip() {
  if (trajectory_) return trajectory_->skip();
  return !std::exchange(done_, true);
}

}  // namespace gradus::files
