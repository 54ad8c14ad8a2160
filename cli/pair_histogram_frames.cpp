#include "cli/pair_histogram_frames.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <variant>
#include <vector>

#include "bench/parse.hpp"
#include "cpu/row_hash.hpp"
#include "cpu/threads.hpp"
#include "gradus/error.hpp"
#include "ranks/ranks.hpp"

namespace gradus::cli {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;

/// Returns a hash of the content of a frame, or 0 if there is no frame.
std::uint64_t hash_of(const std::optional<files::Frame>& frame, const Session& session) {
  if (!frame) return 0;
  std::uint64_t hash = 1;
  const auto add = [&hash](std::uint64_t word) { hash = (hash ^ (hash >> 29) ^ word) * 0x9e3779b97f4a7c15; };
  const auto add_rows = [&]<class T>(MatrixView<const T> rows) {
    add(sizeof(T));
    add(static_cast<std::uint64_t>(rows.rows()));
    add(static_cast<std::uint64_t>(rows.columns()));
    add(cpu::hash_of_rows(rows, 0, cpu::thread_count(session.execution), session.execution.stop));
  };
  const auto add_numbers = [&](const std::vector<double>& numbers) {
    add_rows(MatrixView<const double>(numbers.data(), std::ssize(numbers), 1));
  };
  std::visit([&](const auto& points) { add_rows(points.view); }, frame->points.values);
  add_numbers(frame->box);
  add_numbers(frame->box_origin);
  add(std::hash<std::string>()(frame->undecided_box));
  const files::AtomLabels& labels = frame->labels;
  for (const auto* words : {&labels.types, &labels.elements, &labels.names, &labels.residues, &labels.molecules}) {
    add(*words ? 1 : 2);
    if (!*words) continue;
    for (const std::string& word : (*words)->words) add(std::hash<std::string>()(word));
    for (const std::int32_t atom : (*words)->of_atoms) add(static_cast<std::uint64_t>(atom));
  }
  for (const auto& numbers : {labels.ids, labels.residue_numbers})
    for (std::size_t atom = 0; numbers && atom < numbers->size(); ++atom)
      add(static_cast<std::uint64_t>((*numbers)[atom]));
  return hash;
}

}  // namespace

FrameRange::FrameRange(const std::string& text) : text_(text) {
  std::vector<std::string> parts(1);
  for (const char character : text) {
    if (character == ':') parts.emplace_back();
    else parts.back() += character;
  }
  constexpr std::size_t most_parts = 3;
  if (text.empty() || parts.size() > most_parts)
    throw UsageError(
        fmt::format("--frames is A:B:STEP, A:B, or the number of one frame, counted from 0, not '{}'", text));
  const auto number = [&](std::size_t part) -> std::optional<std::int64_t> {
    if (part >= parts.size() || parts[part].empty()) return std::nullopt;
    return bench::parse_whole("--frames", parts[part], -most, most);
  };
  first_ = number(0);
  end_ = number(1);
  step_ = number(2).value_or(1);
  if (step_ == 0)
    throw UsageError(fmt::format("--frames: the step of '{}' is 0; it must be at least 1, or negative", text));
  single_ = parts.size() == 1;
}

bool FrameRange::needs_count() const { return step_ < 0 || first_.value_or(0) < 0 || end_.value_or(0) < 0; }

void FrameRange::resolve(std::int64_t frames) {
  if (single_) {
    // If the file has too few frames, the range is empty. Its start does not move to the nearest frame that exists.
    const std::int64_t wanted = *first_ < 0 ? *first_ + frames : *first_;
    first_ = wanted < 0 ? most : wanted;
    return;
  }
  const std::int64_t least = step_ < 0 ? -1 : 0;
  const auto clipped = [&](const std::optional<std::int64_t>& given, std::int64_t left_out) {
    if (!given) return left_out;
    return std::clamp(*given < 0 ? *given + frames : *given, least, frames + least);
  };
  std::int64_t first = clipped(first_, step_ < 0 ? frames - 1 : 0);
  std::int64_t end = clipped(end_, step_ < 0 ? -1 : frames);
  if (step_ < 0) {  // replaces the range by the same frames in ascending order
    const std::int64_t count = first > end ? (first - end - 1) / -step_ + 1 : 0;
    const std::int64_t last = first;
    step_ = -step_;
    first = count > 0 ? last - (count - 1) * step_ : 0;
    end = count > 0 ? last + 1 : 0;
  }
  first_ = first;
  end_ = end;
}

std::optional<std::int64_t> FrameRange::next(std::int64_t frame) const {
  const std::int64_t first = first_.value_or(0);
  const std::int64_t end = single_ ? first + 1 : end_.value_or(std::numeric_limits<std::int64_t>::max());
  if (frame < first) frame = first;
  else if (const std::int64_t off = (frame - first) % step_; off > 0) frame += step_ - off;
  if (frame >= end) return std::nullopt;
  return frame;
}

std::optional<files::Frame> WantedFrames::next() {
  std::optional<files::Frame> frame;
  require_same_file(session_.ranks(), path_, [&] {
    frame = next_here();
    return session_.ranks().is_alone() ? std::uint64_t{0} : hash_of(frame, session_);
  });
  return frame;
}

void require_same_file(core::Ranks& ranks, const std::string& path, const std::function<std::uint64_t()>& read) {
  const std::vector<std::uint64_t> hashes = ranks.gather(read);
  if (std::ranges::all_of(hashes, [&](std::uint64_t hash) { return hash == hashes.front(); })) return;
  ranks.agree([&] {
    if (hashes[static_cast<std::size_t>(ranks.rank())] != hashes.front())
      throw InputError(fmt::format("'{}': here it is another file than on rank 0", path));
  });
}

void WantedFrames::note_open_end() const {
  if (!is_open_) return;
  session_.note(
      fmt::format("'{}': the last line has no end: if the file was cut there, so may be its last number{}", path_,
                  number_ > 0 ? fmt::format("; --frames :{} leaves that frame, the last one, out", number_) : ""));
}

std::optional<files::Frame> WantedFrames::next_here() {
  const std::optional<std::int64_t> wanted = range_.next(seen_);
  if (!wanted) return std::nullopt;
  try {
    for (; seen_ < *wanted; ++seen_)
      if (!reader_.skip()) return std::nullopt;
    std::optional<files::Frame> frame = reader_.next();
    if (frame) {
      number_ = seen_++;
      is_open_ = reader_.is_last_line_open();
    }
    return frame;
  } catch (const files::CutFrameError& error) {
    if (seen_ == 0) throw;
    ErrorFields fields = error.fields();
    if (!fields.remedy.empty()) fields.remedy += "; ";
    fields.remedy +=
        fmt::format("{} before it {} whole: --frames :{}",
                    seen_ == 1 ? "the frame" : fmt::format("the {} frames", seen_), seen_ == 1 ? "is" : "are", seen_);
    throw InputError(error.message(), fields);
  }
}

}  // namespace gradus::cli
