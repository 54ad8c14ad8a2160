// The structure factor S(q) in `gradus pair-histogram`: sums over the waves that fit the box of each frame.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/destination.hpp"
#include "cli/errors.hpp"
#include "cli/output.hpp"
#include "cli/pair_histogram_groups.hpp"
#include "cli/pair_histogram_result.hpp"
#include "cli/repeat.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "gradus/frame_averages.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/options.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::cli::pairs {

namespace {

using Json = nlohmann::ordered_json;

/// Throws UsageError if waves do not fit the box, because it does not repeat in all directions.
void require_waves(const Arguments& arguments, const PairHistogramOptions& options) {
  if (options.box.empty())
    throw UsageError(
        fmt::format("--structure-factor sums over the waves that fit a periodic box, and there is none; {}",
                    arguments.options.periodic == "none" ? "leave out --periodic none" : "give its lengths (--box)"));
  if (!pair_histogram_has_volume(options))
    throw UsageError(
        fmt::format("--structure-factor sums over the waves that fit a box in all directions, and this one repeats "
                    "only in {0}; sum "
                    "over the waves of a layer with --dimensions, such as --dimensions xy",
                    options.periodic));
}

/// S(q) of the frames.
class Waves {
 public:
  Waves(const Arguments& arguments, const Session& session)
      : arguments_(arguments), session_(session), groups_(arguments, session) {}

  void add(const files::Frame& read) {
    const Box box = box_of(arguments_, read);
    PairHistogramOptions options = options_in(arguments_, box);
    require_waves(arguments_, options);
    const files::Frame frame = groups_.prepared(read, options);
    const std::string what = shown_path(arguments_.input);
    files::Points all = files::convert(frame.points, files::ElementType::f64, what, session_.execution.stop);
    Matrix<double> some;
    MatrixView<const double> points = all.view<double>();
    if (arguments_.selection) {
      const std::vector<std::int64_t> rows = arguments_.selection->rows(frame, what);
      if (rows.empty() && no_match_.empty()) no_match_ = arguments_.selection->no_match(frame, what);
      if (rows.empty() && !arguments_.selection->is_by_coordinates()) throw InputError(no_match_);
      some = Matrix<double>(std::ssize(rows), points.columns());
      for (std::int64_t at = 0; at < some.rows(); ++at)
        std::copy_n(points.row(rows[static_cast<std::size_t>(at)]), some.columns(), some.row(at));
      points = std::as_const(some).view();
    }
    const auto job = pair_histogram_detail::arrange<double>(points, {}, options, cpu::thread_count(session_.execution),
                                                            session_.execution.stop);
    pair_histogram_detail::check_box(job.options.box, {}, job.points.columns());
    if (frames_++ == 0)
      vectors_ = structure_factor_vectors(job.options.box, arguments_.waves, job.dimensions < job.points.columns());
    const StructureFactorFrame found =
        structure_factor_in_bins(job.points, job.options.box, vectors_, arguments_.waves, session_.execution);
    q_.insert(q_.end(), found.q.begin(), found.q.end());
    s_.insert(s_.end(), found.s.begin(), found.s.end());
    if (sizes_.empty()) sizes_ = found.vectors;
    points_ += job.points.rows();
    if (job.points.rows() == 0) ++empty_frames_;
    box_ = box;
  }

  /// Throws InputError if no frame has points.
  Table table() {
    if (points_ == 0 && !no_match_.empty()) throw InputError(no_match_);
    if (empty_frames_ > 0)
      session_.note(fmt::format("{}, in which {} matches no atom, {} not count", counted(empty_frames_, "frame"),
                                "--select", empty_frames_ == 1 ? "does" : "do"));
    const std::vector<double> q = average_frames(rows_of(q_)).mean;
    const FrameAverages s = average_frames(rows_of(s_), std::max<std::int64_t>(arguments_.blocks, 1));
    std::vector<double> columns[3];
    for (std::size_t bin = 0; bin < sizes_.size(); ++bin) {
      if (sizes_[bin] == 0) continue;
      columns[0].push_back(q[bin]);
      columns[1].push_back(s.mean[bin]);
      columns[2].push_back(s.error[bin]);
      listed_sizes_.push_back(sizes_[bin]);
    }
    Table table;
    table.add("q", std::move(columns[0]));
    table.add("s", std::move(columns[1]));
    if (arguments_.blocks > 0) table.add("s_error", std::move(columns[2]));
    table.add("vectors", listed_sizes_);
    return table;
  }

  std::int64_t frames() const { return frames_; }
  std::int64_t points() const { return points_; }
  std::int64_t vectors() const { return vectors_.rows(); }
  const Box& box() const { return box_; }

 private:
  MatrixView<const double> rows_of(const std::vector<double>& of_frames) const {
    return {of_frames.data(), frames_, std::ssize(sizes_)};
  }

  const Arguments& arguments_;
  const Session& session_;
  AtomGroups groups_;
  Matrix<std::int64_t> vectors_;
  std::vector<std::uint64_t> sizes_;         ///< number of vectors in each bin in the first frame
  std::vector<std::uint64_t> listed_sizes_;  ///< the sizes of the bins that have vectors
  std::vector<double> q_;                    ///< mean wave number of each bin, frame by frame
  std::vector<double> s_;                    ///< S(q) of each bin, frame by frame
  std::string no_match_;                     ///< message for the case that the selection matches no atom of any frame
  std::int64_t frames_ = 0;
  std::int64_t empty_frames_ = 0;
  std::int64_t points_ = 0;
  Box box_;
};

}  // namespace

int write_structure_factor(const Arguments& arguments, const Session& session, WantedFrames& frames,
                           std::optional<files::Frame> frame, const NamingFrame& naming,
                           core::Clock::time_point start) {
  Destination destination(arguments.output, session.execution.stop, true);
  Waves waves(arguments, session);
  for (; frame; frame = frames.next()) naming([&] { waves.add(*frame); });
  require_frames_for_blocks(arguments, waves.frames());
  frames.note_open_end();
  session.end_progress();
  const Table table = waves.table();
  const auto summary = [&] {
    Json all{{"problem", "structure_factor"},
             {"input", arguments.input},
             {"n", waves.points()},
             {"frames", waves.frames()},
             {"box", waves.box().lengths},
             {"device", "cpu"},
             {"threads", cpu::thread_count(session.execution)}};
    for (const files::NpyColumn& column : table.columns)
      std::visit([&](const auto& values) { all[std::string(column.name)] = std::vector(values.begin(), values.end()); },
                 column.values);
    add_record(all, session, core::option_rows<PairHistogramOptions>, &arguments.options);
    all["seconds"] = {{"total", core::seconds_since(start)}};
    return all;
  };
  deliver_table(destination, session, table, summary);
  session.note(fmt::format(
      "{}{}: S(q) of {} in {}, {:.3g} s{}", counted(waves.points(), "point"),
      waves.frames() == 1 ? "" : " in " + counted(waves.frames(), "frame"), counted(waves.vectors(), "vector"),
      counted(std::ssize(std::get<0>(table.columns.front().values)), "bin"), core::seconds_since(start),
      destination.is_file() ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

}  // namespace gradus::cli::pairs
