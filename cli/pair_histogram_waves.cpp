// The structure factor S(q) in `gradus pair-histogram`: sums over the waves that fit the box of each frame.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
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
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/options.hpp"

namespace gradus::cli::pairs {

namespace {

using Json = nlohmann::ordered_json;

/// Sums over the frames.
class Waves {
 public:
  Waves(const Arguments& arguments, const Session& session)
      : arguments_(arguments), session_(session), groups_(arguments, session) {}

  void add(const files::Frame& read) {
    const Box box = box_of(arguments_, read);
    PairHistogramOptions options = options_in(arguments_, box);
    if (!pair_histogram_has_volume(options))
      throw UsageError(
          "--structure-factor: waves fit a box that repeats in all directions; give --box, or of a layer "
          "--dimensions xy");
    const files::Frame frame = groups_.prepared(read, options);
    const std::string what = shown_path(arguments_.input);
    files::Points all = files::convert(frame.points, files::ElementType::f64, what, session_.execution.stop);
    Matrix<double> some;
    MatrixView<const double> points = all.view<double>();
    if (arguments_.selection) {
      const std::vector<std::int64_t> rows = arguments_.selection->rows(frame, what);
      if (rows.empty()) throw InputError(arguments_.selection->no_match(frame, what));
      some = Matrix<double>(std::ssize(rows), points.columns());
      for (std::int64_t at = 0; at < some.rows(); ++at)
        std::copy_n(points.row(rows[static_cast<std::size_t>(at)]), some.columns(), some.row(at));
      points = std::as_const(some).view();
    }
    const auto job = pair_histogram_detail::arrange<double>(points, {}, options, cpu::thread_count(session_.execution),
                                                            session_.execution.stop);
    const StructureFactorBins& bins = arguments_.waves;
    if (frames_.empty())
      vectors_ = structure_factor_vectors(job.options.box, bins, job.dimensions < job.points.columns());
    const std::vector<double> waves = structure_factor_waves(job.options.box, vectors_);
    const std::vector<double> values = structure_factor(job.points, job.options.box, vectors_, session_.execution);
    const auto count = static_cast<std::size_t>(bins.count());
    std::vector<double> mean(count);
    std::vector<double> wave(count);
    std::vector<std::uint64_t> in_bin(count);
    for (std::size_t vector = 0; vector < waves.size(); ++vector) {
      const auto bin = static_cast<std::size_t>(bins.bin(waves[vector]));
      mean[bin] += values[vector];
      wave[bin] += waves[vector];
      ++in_bin[bin];
    }
    if (frames_.empty()) sizes_ = in_bin;
    q_.resize(count);
    for (std::size_t bin = 0; bin < count; ++bin) {
      mean[bin] /= static_cast<double>(in_bin[bin]);  // NaN without vectors
      q_[bin] += wave[bin] / static_cast<double>(in_bin[bin]);
    }
    frames_.push_back(std::move(mean));
    points_ += job.points.rows();
    box_ = box;
  }

  Table table() {
    const std::vector<double> s = mean_of(0, frames_.size());
    std::vector<double> columns[3];
    std::vector<std::vector<double>> blocks;
    for (std::int64_t block = 0; block < arguments_.blocks; ++block)
      blocks.push_back(mean_of(limit(block), limit(block + 1)));
    for (std::size_t bin = 0; bin < s.size(); ++bin) {
      if (sizes_[bin] == 0) continue;
      columns[0].push_back(q_[bin] / static_cast<double>(frames_.size()));
      columns[1].push_back(s[bin]);
      if (!blocks.empty()) columns[2].push_back(error_of(blocks, bin));
      listed_sizes_.push_back(sizes_[bin]);
    }
    Table table;
    table.add("q", std::move(columns[0]));
    table.add("s", std::move(columns[1]));
    if (!blocks.empty()) table.add("s_error", std::move(columns[2]));
    table.add("vectors", listed_sizes_);
    return table;
  }

  std::int64_t frames() const { return std::ssize(frames_); }
  std::int64_t points() const { return points_; }
  std::int64_t vectors() const { return vectors_.rows(); }
  const Box& box() const { return box_; }

 private:
  std::size_t limit(std::int64_t block) const {
    return frames_.size() * static_cast<std::size_t>(block) / static_cast<std::size_t>(arguments_.blocks);
  }
  std::vector<double> mean_of(std::size_t begin, std::size_t end) const {
    std::vector<double> mean(sizes_.size());
    for (std::size_t frame = begin; frame < end; ++frame)
      for (std::size_t bin = 0; bin < mean.size(); ++bin)
        mean[bin] += frames_[frame][bin] / static_cast<double>(end - begin);
    return mean;
  }
  static double error_of(const std::vector<std::vector<double>>& blocks, std::size_t bin) {
    const auto count = static_cast<double>(blocks.size());
    double mean = 0;
    for (const std::vector<double>& block : blocks) mean += block[bin] / count;
    double squares = 0;
    for (const std::vector<double>& block : blocks) squares += (block[bin] - mean) * (block[bin] - mean);
    return std::sqrt(squares / (count - 1) / count);
  }

  const Arguments& arguments_;
  const Session& session_;
  AtomGroups groups_;
  Matrix<std::int64_t> vectors_;
  std::vector<std::uint64_t> sizes_;         ///< number of vectors in each bin in the first frame
  std::vector<std::uint64_t> listed_sizes_;  ///< the sizes of the bins that have vectors
  std::vector<double> q_;                    ///< sum over the frames of the mean wave number of each bin
  std::vector<std::vector<double>> frames_;  ///< S(q) of each frame
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
