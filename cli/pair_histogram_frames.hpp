// Selects frames of a trajectory: --frames A:B:STEP, by the rules of Python's slices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "cli/session.hpp"
#include "pair_histogram/files/trajectory.hpp"

namespace gradus::cli {

/// A range of frames, numbered from 0. A single number is one frame. A:B selects the frames A to B - 1, and A:B:STEP
/// selects every STEP-th of these frames. If A is left out, the range begins at the first frame. If B is left out, the
/// range extends to the end. STEP is 1 by default. Negative numbers count from the end.
class FrameRange {
 public:
  FrameRange() = default;
  /// Throws UsageError if the text is not a range.
  explicit FrameRange(const std::string& text);

  bool is_given() const { return !text_.empty(); }
  const std::string& text() const { return text_; }
  /// Returns true if the range depends on the number of frames in the file.
  bool needs_count() const;
  /// Converts numbers that count from the end. `frames` is the number of frames in the file. If STEP is negative,
  /// replaces the range by the same frames in the order of the file.
  void resolve(std::int64_t frames);

  /// Returns the first frame of the range that is not before `frame`, if there is one.
  std::optional<std::int64_t> next(std::int64_t frame) const;

 private:
  std::string text_;
  std::optional<std::int64_t> first_;
  std::optional<std::int64_t> end_;
  std::int64_t step_ = 1;
  bool single_ = false;
};

/// Calls read() on every rank. Throws InputError on all ranks if the hashes that it returns differ between ranks.
void require_same_file(core::Ranks& ranks, const std::string& path, const std::function<std::uint64_t()>& read);

/// Iterates over the selected frames of a file. With several ranks, each rank reads every frame.
class WantedFrames {
 public:
  WantedFrames(files::FrameReader& reader, std::string path, const FrameRange& range, const Session& session)
      : reader_(reader), path_(std::move(path)), range_(range), session_(session) {}

  /// Returns the next frame of the range, if there is one. Collective: throws InputError if a rank's frame differs from
  /// the first rank's frame.
  std::optional<files::Frame> next();
  /// Returns the number of the frame that next() returned last, counted from 0.
  std::int64_t number() const { return number_; }
  /// Returns the number of frames that were read or skipped.
  std::int64_t seen() const { return seen_; }
  /// Prints a note if the last line of the file, which belongs to the last frame, has no line end.
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
