// Which frames of a trajectory are counted: --frames A:B:STEP, by the rules of Python's slices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "cli/session.hpp"
#include "pair_histogram/files/trajectory.hpp"

namespace gradus::cli {

/// Frames are counted from 0. One number is one frame; A:B are those from A on and before B, A:B:STEP every STEP-th of
/// them; what is left out is the beginning, the end, and 1; negative numbers count from the end.
class FrameRange {
 public:
  FrameRange() = default;
  /// UsageError for what is none.
  explicit FrameRange(const std::string& text);

  bool is_given() const { return !text_.empty(); }
  const std::string& text() const { return text_; }
  /// Whether the number of all frames has to be known.
  bool needs_count() const;
  /// With that number: the same frames without counting from the end, in the order of the file.
  void resolve(std::int64_t frames);

  /// The first frame at `frame` or after it that is wanted; nothing where none is.
  std::optional<std::int64_t> next(std::int64_t frame) const;

 private:
  std::string text_;
  std::optional<std::int64_t> first_;
  std::optional<std::int64_t> end_;
  std::int64_t step_ = 1;
  bool single_ = false;
};

/// InputError on all ranks where one of them reads another hash from the file than the first one.
void require_same_file(core::Ranks& ranks, const std::string& path, const std::function<std::uint64_t()>& read);

/// The wanted frames of a file, one after the other. Of several ranks each reads all of them.
class WantedFrames {
 public:
  WantedFrames(files::FrameReader& reader, std::string path, const FrameRange& range, const Session& session)
      : reader_(reader), path_(std::move(path)), range_(range), session_(session) {}

  /// The next wanted frame; nothing where there is none. All ranks call it together: InputError where one of them has
  /// another frame than the first one.
  std::optional<files::Frame> next();
  /// Of the frame that next() gave last, counted from 0.
  std::int64_t number() const { return number_; }
  /// Frames that were read or passed over.
  std::int64_t seen() const { return seen_; }
  /// Tells the user where the last line of the file, which the last frame has, has no end.
  void note_open_end() const;

 private:
  std::optional<files::Frame> next_here();

  files::FrameReader& reader_;
  std::string path_;
  const FrameRange& range_;
  const Session& session_;
  std::int64_t number_ = -1;
  std::int64_t seen_ = 0;
  bool is_open_ = false;
};

}  // namespace gradus::cli
