// The boxes of frames: selects the box of a frame, and computes how far bins may reach in all boxes.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "cli/output.hpp"
#include "cli/pair_histogram_result.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::cli::pairs {

void name_option(const Arguments& arguments, Error& error) {
  ErrorMessage message = error.message();
  const bool is_given = (message.subject == "box" && !arguments.options.box.empty()) ||
                        (message.subject == "dimensions" && !arguments.options.dimensions.empty()) ||
                        (message.subject == "periodic" && !arguments.options.periodic.empty());
  if (!is_given) return;
  message.subject = "--" + message.subject;
  error.set_message(std::move(message));
}

namespace {

/// Throws UsageError if the number of lengths of --box is neither the number of columns nor of measured columns.
void require_lengths(const Arguments& arguments, std::int64_t columns) {
  const std::vector<double>& lengths = arguments.options.box;
  const auto count = std::ssize(lengths);
  if (columns == 0 || count == columns || count == std::ssize(arguments.options.dimensions) ||
      pair_histogram_detail::is_triclinic(lengths))
    return;
  std::string each;
  for (std::int64_t column = 0; column < columns; ++column)
    each += (column > 0 ? "," : "") + core::number_text(lengths.front());
  throw UsageError(fmt::format("--box has {}, but the points have {}; give one length for each, such as --box {}",
                               counted(count, "length"), counted(columns, "coordinate"), each));
}

}  // namespace

Box box_of(const Arguments& arguments, const files::Frame& frame) {
  const bool is_given = !arguments.options.box.empty();
  if (!is_given && arguments.options.periodic.empty() && !frame.undecided_box.empty())
    throw InputError(frame.undecided_box + (frame.box.empty() ? " (--box)" : " (--periodic), or give the box (--box)"));
  if (!is_given && frame.box.empty() && !arguments.options.periodic.empty() && arguments.options.periodic != "none")
    throw UsageError(fmt::format("--periodic: '{}' gives no box that could repeat; give it by --box", arguments.input));
  Box box{is_given ? arguments.options.box : frame.box, frame.box_origin, is_given ? "xyz" : frame.periodic};
  if (!arguments.options.periodic.empty()) box.periodic = arguments.options.periodic;
  if (box.periodic == "none" || box.periodic.empty()) box = {};
  // --box does not specify an origin. The box therefore gets the origin of the file's box, provided that this origin
  // has as many coordinates as the points.
  if (is_given && frame.points.columns() > 0 && std::ssize(box.origin) != frame.points.columns()) box.origin.clear();
  if (is_given && !box.lengths.empty()) require_lengths(arguments, frame.points.columns());
  if (box.lengths.empty()) box.periodic = "xyz";
  if (!arguments.options.box_origin.empty()) box.origin = arguments.options.box_origin;
  return box;
}

PairHistogramOptions options_in(const Arguments& arguments, const Box& box) {
  PairHistogramOptions options = arguments.options;
  options.box = box.lengths;
  options.box_origin = box.origin;
  options.periodic = box.periodic;
  return options;
}

namespace {

double reach_in(const PairHistogramOptions& options) {
  namespace room = pair_histogram_detail;
  if (options.box.empty()) return std::numeric_limits<double>::infinity();
  std::int64_t columns = room::columns_for(options);
  const PairHistogramOptions arranged = room::arranged_options(options, columns);
  room::check_box(arranged.box, {}, columns);
  return room::greatest_reach(arranged.box);
}

}  // namespace

double least_reach(const Arguments& arguments, files::FrameReader& reader, std::int64_t first_frame) {
  double least = std::numeric_limits<double>::infinity();
  std::int64_t frame = first_frame;
  try {
    while (const std::optional<std::int64_t> wanted = arguments.frames.next(frame)) {
      for (; frame < *wanted; ++frame)
        if (!reader.skip()) return least;
      const std::optional<files::Frame> read = reader.next(files::FrameParts::box);
      if (!read) return least;
      ++frame;
      least = std::min(least, reach_in(options_in(arguments, box_of(arguments, *read))));
    }
  } catch (const files::CutFrameError&) {  // the error is reported when the frame is read
  }
  return least;
}

}  // namespace gradus::cli::pairs
