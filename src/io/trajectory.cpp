#include "io/trajectory.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "io/foreign_formats.hpp"
#include "io/image.hpp"
#include "io/npy.hpp"
#include "io/number.hpp"
#include "io/trajectory_text.hpp"

namespace gradus::io {

namespace {

std::unique_ptr<FrameParser> parser_of(TrajectoryFormat format, std::unique_ptr<TextInput> text, std::stop_token stop,
                                       bool labels) {
  switch (format) {
    case TrajectoryFormat::xyz: return xyz_frames(std::move(text), std::move(stop), labels);
    case TrajectoryFormat::lammps: return lammps_frames(std::move(text), std::move(stop), labels);
    case TrajectoryFormat::gro: return gro_frames(std::move(text), std::move(stop), labels);
    case TrajectoryFormat::dcd: break;
  }
  __builtin_unreachable();
}

LengthUnit unit_of(TrajectoryFormat format) {
  switch (format) {
    case TrajectoryFormat::xyz:
    case TrajectoryFormat::dcd: return LengthUnit::angstrom;
    case TrajectoryFormat::gro: return LengthUnit::nanometre;
    case TrajectoryFormat::lammps: break;
  }
  return LengthUnit::unknown;
}

/// The name without .gz, whose ending says what is packed.
std::string inner_name(const std::string& path) {
  constexpr std::size_t length = 3;
  return ending_of(path) == ".gz" ? path.substr(0, path.size() - length) : path;
}

bool is_points(std::string_view bytes) {
  const auto raw = std::as_bytes(std::span(bytes));
  return looks_like_npy(raw) || looks_like_image(raw);
}

/// Refuses a foreign format, unless the bytes begin as a trajectory.
void refuse_others(std::string_view beginning, const std::string& name) {
  if (!trajectory_by_content(beginning)) refuse_foreign(beginning, name, Reader::frames);
}

bool is_whole_number(std::string_view text) {
  text = trimmed(text);
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool reads_as_number(std::string_view word) {
  double value = 0;
  return !word.empty() && parse_number(word.data(), word.data() + word.size(), value) == word.data() + word.size();
}

/// The first lines, without what may have been cut off.
std::array<std::string_view, 3> first_lines(std::string_view text) {
  std::array<std::string_view, 3> lines;
  for (std::string_view& line : lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::optional<TrajectoryFormat> named_trajectory(const std::string& path) {
  struct Ending {
    std::string_view ending;
    TrajectoryFormat format;
  };
  static constexpr Ending endings[] = {
      {".xyz", TrajectoryFormat::xyz},          {".extxyz", TrajectoryFormat::xyz},
      {".lammpstrj", TrajectoryFormat::lammps}, {".lammpsdump", TrajectoryFormat::lammps},
      {".dump", TrajectoryFormat::lammps},      {".gro", TrajectoryFormat::gro}};
  if (ending_of(path) == ".dcd") return TrajectoryFormat::dcd;
  const std::string ending = ending_of(inner_name(path));
  for (const Ending& one : endings)
    if (ending == one.ending) return one.format;
  return std::nullopt;
}

std::optional<TrajectoryFormat> trajectory_by_content(std::string_view beginning) {
  if (looks_like_dcd(beginning)) return TrajectoryFormat::dcd;
  if (beginning.starts_with("ITEM:")) return TrajectoryFormat::lammps;
  const auto [first, second, third] = first_lines(beginning);
  if (is_whole_number(first)) {
    // A table whose first row is one whole number has no third row of four words.
    const std::vector<std::string_view> words = words_of(third);
    constexpr std::size_t fewest = 3;
    const bool table = words.size() == 1 || third.find_first_of(",;") != std::string_view::npos;
    const bool positions =
        words.size() > fewest && reads_as_number(words[1]) && reads_as_number(words[2]) && reads_as_number(words[3]);
    const bool named = second.find("Properties=") != std::string_view::npos;
    if (!table && (positions || named)) return TrajectoryFormat::xyz;
  }
  constexpr std::size_t labels = 20;
  if (is_whole_number(second) && third.size() > labels && std::ranges::count(third.substr(labels), '.') >= 3 &&
      third.find(',') == std::string_view::npos)
    return TrajectoryFormat::gro;
  return std::nullopt;
}

TrajectoryReader::TrajectoryReader(std::unique_ptr<TextInput> text, TrajectoryFormat format, std::stop_token stop,
                                   bool labels)
    : parser_(parser_of(format, std::move(text), std::move(stop), labels)) {}
TrajectoryReader::TrajectoryReader(std::span<const std::byte> text, std::string_view name, std::stop_token stop,
                                   bool labels, std::optional<TrajectoryFormat> format) {
  auto input = std::make_unique<TextInput>(text, name, stop);
  if (!format) format = trajectory_by_content(input->beginning());
  refuse_others(input->beginning(), std::string(name));
  if (format == TrajectoryFormat::dcd) {
    parser_ = dcd_frames(text, name, std::move(stop));
    return;
  }
  parser_ = parser_of(format.value_or(TrajectoryFormat::xyz), std::move(input), std::move(stop), labels);
}
TrajectoryReader::TrajectoryReader(std::unique_ptr<MappedFile> file, std::stop_token stop)
    : file_(std::move(file)), parser_(dcd_frames(file_->bytes(), file_->path(), std::move(stop))) {}
TrajectoryReader::~TrajectoryReader() = default;

FrameReader::FrameReader(std::string path, ReadOptions options, bool labels)
    : path_(std::move(path)), options_(std::move(options)) {
  std::optional<TrajectoryFormat> format = named_trajectory(path_);
  std::unique_ptr<TextInput> text;
  if (!format) {
    // The name tells of tables and pictures; whatever else is a matter of the content.
    if (!is_stream(path_) && names_points(path_)) return;
    text = std::make_unique<TextInput>(path_, options_.stop);
    format = trajectory_by_content(text->beginning());
    if (!format) {
      if (is_stream(path_)) table_ = std::move(text);
      else if (!is_points(text->beginning())) refuse_foreign(text->beginning(), path_, Reader::frames);
      return;
    }
  }
  unit_ = unit_of(*format);
  if (format == TrajectoryFormat::dcd) {
    if (is_stream(path_) || ending_of(path_) == ".gz")
      throw UnsupportedError("'" + path_ + "': DCD is read from a file that is not packed; write it to one");
    auto file = std::make_unique<MappedFile>(path_);
    refuse_others(as_text(file->bytes()), path_);
    trajectory_ = std::make_unique<TrajectoryReader>(std::move(file), options_.stop);
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

}  // namespace gradus::io
