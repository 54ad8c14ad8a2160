// Benchmarks pair-distance histograms.
#include "bench/pair_histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/points.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "core/names.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "pair_histogram/bins.hpp"
#include "pair_histogram/cases.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/options.hpp"
#include "pair_histogram/oracle.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::bench {

namespace {

Axis own_axis(std::string_view name, PairHistogramOptions& options) {
  return axis_of(core::option_row<PairHistogramOptions>(name), &options);
}

}  // namespace

std::vector<Axis> bin_axes(PairHistogramOptions& options, std::string& edges_file) {
  Axis edges = own_axis("edges", options);
  edges.parse = [&edges_file](const std::string& label, const std::string& text) {
    if (text.empty()) throw UsageError(label + ": the name of the file is empty");
    edges_file = text;
  };
  return {own_axis("bin_width", options), own_axis("bins", options), std::move(edges), own_axis("cutoff", options)};
}

namespace {

/// Returns true if the tilts are probably angles in degrees.
bool may_be_angles(const std::array<double, 3>& tilts) {
  return std::ranges::all_of(tilts, [](double tilt) { return tilt >= 30 && tilt <= 150; });
}

}  // namespace

Axis box_axis(PairHistogramOptions& options) {
  Axis axis = own_axis("box", options);
  axis.parse = [&box = options.box](const std::string& label, const std::string& text) {
    box.clear();
    const std::vector<std::string> parts = parse_list(label, text);
    constexpr std::size_t with_tilts = 6;
    constexpr std::size_t vectors = 9;
    if (parts.size() > 3 && parts.size() != with_tilts && parts.size() != vectors)
      throw UsageError(
          fmt::format("{}: there are {} numbers; a box has one length for each coordinate (X,Y,Z), a triclinic "
                      "cell three lengths and three tilts (LX,LY,LZ,XY,XZ,YZ) or the nine numbers of its "
                      "vectors",
                      label, parts.size()));
    if (parts.size() <= 3) {
      for (const std::string& part : parts) box.push_back(parse_positive(label, part));
      return;
    }
    constexpr double most = std::numeric_limits<double>::max();
    const std::vector<double> numbers = parse_real_list(label, text, -most, most);
    box = numbers;
    if (parts.size() == vectors) return;
    for (std::size_t axis = 0; axis < 3; ++axis) parse_positive(label, parts[axis]);
    const auto [x, y, z] = std::array{numbers[0], numbers[1], numbers[2]};
    const auto [xy, xz, yz] = std::array{numbers[3], numbers[4], numbers[5]};
    if (may_be_angles({xy, xz, yz}))
      throw UsageError(
          label +
          ": the last three of six numbers are the tilts XY,XZ,YZ, but these may be angles: all are from 30 to "
          "150; if they are tilts, give the nine numbers of the vectors, " +
          fmt::format("{},0,0,{},{},0,{},{},{}", parts[0], parts[3], parts[1], parts[4], parts[5], parts[2]) +
          "; if they are angles, the vectors that MDAnalysis names triclinic_dimensions");
    box = {x, 0, 0, xy, y, 0, xz, yz, z};
  };
  return axis;
}

void check_bins(const PairHistogramBins& bins, const std::string& edges_file) {
  if (edges_file.empty() == (bins.bin_width == 0))
    throw UsageError("give the width of the bins (--bin-width) or a file with their edges (--edges), one of the two");
  if (!edges_file.empty() && bins.bins != 0)
    throw UsageError("--bins is for bins of equal width; --edges already says how many there are");
}

void complete_bins(PairHistogramOptions& options) {
  const PairHistogramBins& bins = options.bins;
  if (bins.edges.empty() && bins.bin_width > 0 && bins.bins == 0 && bins.cutoff == 0 &&
      (options.box.empty() || options.periodic == "none"))
    throw UsageError(
        "--bins is missing: give the number of bins, a --cutoff up to which they go, or a periodic box (--box), up to "
        "half of which they go");
  options.bins = pair_histogram_complete_bins(options);
}

std::vector<double> read_edges(const std::string& file, files::ReadOptions reading) {
  reading.type.reset();
  const files::VectorOf<double> edges = files::read_vector<double>(file, reading);
  return {edges.view.begin(), edges.view.end()};
}

namespace {

using nlohmann::ordered_json;
using pair_histogram_detail::Problem;
using pair_histogram_detail::Variant;

constexpr std::string_view problem_name = "pair_histogram";

// Maximum number of pairs for the slow oracle. For larger inputs, results are compared only on a prefix of the points.
constexpr double oracle_pairs = 1e8;

ordered_json to_json(const PairHistogramBins& bins) {
  ordered_json json = ordered_json::object();
  if (bins.edges.empty()) json = {{"bin_width", bins.bin_width}, {"bins", bins.bins}};
  else json["edges"] = bins.edges;
  json["cutoff"] = bins.cutoff > 0 ? ordered_json(bins.cutoff) : ordered_json(nullptr);
  return json;
}

std::string bins_title(const PairHistogramBins& bins) {
  const std::string cutoff = bins.cutoff > 0 ? ", cutoff " + core::number_text(bins.cutoff) : "";
  if (bins.edges.empty()) return fmt::format("{} bins of {}{}", bins.bins, core::number_text(bins.bin_width), cutoff);
  return fmt::format("{} bins from {} to {}{}", bins.edges.size() - 1, core::number_text(bins.edges.front()),
                     core::number_text(bins.edges.back()), cutoff);
}

std::string box_title(const std::vector<double>& box) {
  std::string text;
  if (pair_histogram_detail::is_triclinic(box)) return ", in a periodic cell";
  for (const double length : box) text += (text.empty() ? ", periodic " : " x ") + core::number_text(length);
  return text;
}

std::string giga(double rate) { return fmt::format("{:.{}f}", 1e-9 * rate, rate < 1e9 ? 4 : rate < 1e11 ? 2 : 0); }

/// A workload in which every row counts the pairs of the same points in the same bins.
template <class T>
class Count : public Workload {
 public:
  Count(MatrixView<const T> points, std::string points_name, PairHistogramOptions options, std::stop_token stop)
      : points_(points), points_name_(std::move(points_name)), stop_(std::move(stop)), options_(std::move(options)) {
    problem_ = pair_histogram_detail::prepare<T>(points, options_, {}, Execution{});
  }

  std::string title() const override {
    return fmt::format("{}, {}{}", points_title(points_, points_name_), bins_title(options_.bins),
                       box_title(options_.box));
  }

  ordered_json facts() const override {
    return {{"points", points_name_},
            {"n", points_.rows()},
            {"d", points_.columns()},
            {"dtype", type_name<T>()},
            {"bins", to_json(options_.bins)},
            {"box", options_.box.empty() ? ordered_json(nullptr) : ordered_json(options_.box)},
            {"pairs", pairs_},
            {"counted", counted_}};
  }

  core::Support support(std::string_view variant) const override {
    return core::find_variant(pair_histogram_detail::variants(), variant, problem_name)
        .supports(problem_.shape(), execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    std::string verified = verify_on_prefix(rows, report);
    run_once_on_everything(rows, report);
    return verified;
  }

  Sample run(const Row& row) override {
    const auto start = core::Clock::now();
    const PairHistogramResult result = count(row, points_);
    return sample_of(core::seconds_since(start), result.report.phases);
  }

  /// Returns the minimum work of a program that visits every pair: d differences and d multiply-adds per pair. A
  /// difference counts as a multiply-add. The ceiling is the rate of multiply-adds in float.
  std::vector<Work> work(const Row& row) const override {
    return {{&Ceilings::fma_f32_per_second, 2 * static_cast<double>(points_.columns()) * static_cast<double>(pairs_),
             row.seconds.median}};
  }

  std::vector<Figure> figures(const Row& row) const override {
    const double pairs = static_cast<double>(pairs_) / row.seconds.median;
    const double counted = static_cast<double>(counted_) / row.seconds.median;
    return {{"pairs_per_second", pairs, "pairs G/s", giga(pairs)},
            {"counted_pairs_per_second", counted, "counted G/s", giga(counted)}};
  }

 private:
  PairHistogramResult count(const Row& row, MatrixView<const T> points) const {
    return pair_histogram(points, options_, execution_of(row, stop_));
  }

  std::string verify_on_prefix(std::vector<Row>& rows, const Reporter& report) {
    const auto most = static_cast<std::int64_t>(std::sqrt(2 * oracle_pairs));
    const MatrixView<const T> prefix = points_.slice(0, std::min(points_.rows(), most));
    report("verify", 0, std::ssize(rows));
    truth_ = oracle(pair_histogram_detail::prepare<T>(prefix, options_, {}, Execution{}));
    for_each_sound(rows, "verify", report, [&](Row& row) { check(row, count(row, prefix), truth_, ""); });
    if (prefix.rows() == points_.rows()) return "all points against the oracle";
    return fmt::format("the first {} points against the oracle; ", prefix.rows()) + set_reference(prefix, rows);
  }

  // Verifies the default variant on the prefix. The truth then covers only the prefix, so it is replaced by this
  // variant's counts of all points. If all rows run this variant, the truth is left empty. Returns a description of
  // what was verified.
  std::string set_reference(MatrixView<const T> prefix, const std::vector<Row>& rows) {
    const PairHistogramResult prefix_truth = std::exchange(truth_, {});
    const Variant& variant = pair_histogram_detail::choose(problem_.shape(), execution::this_machine(), Device::cpu);
    if (std::ranges::all_of(rows, [&](const Row& row) { return row.variant == variant.name; }))
      return fmt::format("on all points only {} ran", variant.name);
    Row row;
    row.variant = variant.name;
    const std::string difference = pair_histogram_detail::compare(count(row, prefix), prefix_truth);
    if (!difference.empty()) return fmt::format("no more, because {} is incorrect there: {}", variant.name, difference);
    truth_ = count(row, points_);
    return fmt::format("all points against the counts of {}, verified in the same way", variant.name);
  }

  static void check(Row& row, const PairHistogramResult& result, const PairHistogramResult& truth,
                    const std::string& whom) {
    const std::string difference = pair_histogram_detail::compare(result, truth);
    if (!difference.empty()) mark_wrong(row, whom + difference);
  }

  // Counts the pairs of all points once for each row, untimed. This run warms up caches and memory, and its peak memory
  // is measured. The result of the run is compared with the truth.
  void run_once_on_everything(std::vector<Row>& rows, const Reporter& report) {
    for_each_sound(rows, "warm up", report, [&](Row& row) {
      const PeakMemory memory;
      const PairHistogramResult result = count(row, points_);
      row.memory_bytes = memory.bytes();
      row.rechecked = result.report.rechecked;
      if (truth_.edges.empty()) truth_ = result;  // without a truth, the result of the first row becomes the truth
      check(row, result, truth_, "on all points, ");
      pairs_ = truth_.pairs;
      counted_ = truth_.pairs - truth_.below - truth_.beyond;
    });
  }

  MatrixView<const T> points_;
  std::string points_name_;
  std::stop_token stop_;
  PairHistogramOptions options_;
  Problem<T> problem_;
  PairHistogramResult truth_;  ///< expected counts: first of the prefix, later of all points
  std::uint64_t pairs_ = 0;    ///< number of pairs of all points
  std::uint64_t counted_ = 0;  ///< number of pairs in the bins
};

class Counts : public Workloads {
 public:
  std::vector<Axis> axes() override {
    std::vector<Axis> axes = points_.axes();
    for (Axis& axis : bin_axes(options_, edges_file_)) {
      if (axis.name == "bin-width") axis.initial = "500 for lab-atoms";
      if (axis.name == "bins") axis.initial = "80 for lab-atoms; else " + axis.initial;
      axes.push_back(std::move(axis));
    }
    axes.push_back(box_axis(options_));
    return axes;
  }

  void prepare(const InputCallbacks& callbacks) override {
    points_.prepare(callbacks, {edges_file_});
    const auto sets = points_.sets();
    const bool published = core::with_underscores(sets.front().first.generator) == "lab_atoms";
    const bool no_bins =
        options_.bins.bin_width == 0 && options_.bins.bins == 0 && options_.bins.cutoff == 0 && edges_file_.empty();
    if (published && no_bins) {
      options_.bins.bin_width = 500;
      options_.bins.bins = 80;
    }
    check_bins(options_.bins, edges_file_);
    complete_bins(options_);
    if (!edges_file_.empty()) {
      files::ReadOptions reading = points_.reading();
      reading.stop = callbacks.stop;
      options_.bins.edges = read_edges(edges_file_, reading);
    }
    pair_histogram_detail::Bins::bytes(options_.bins);  // throws if there are too many bins
    (void)pair_histogram_detail::Bins(options_.bins);   // throws if the options are invalid
    for (const auto& [set, type] : sets)
      if (!set.generator.empty()) require_pairs(set.rows);
  }

  std::vector<std::string> files() const override {
    std::vector<std::string> files = points_.files();
    files.push_back(edges_file_);
    return files;
  }

  void scale(double share) override { points_.scale(share, 2); }

  void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) override {
    points_.for_each(callbacks, [&]<class T>(MatrixView<const T> points, const PointSet& set) {
      require_pairs(points.rows());
      Count<T> count(points, set.name(), options_, callbacks.stop);
      use(count);
    });
  }

 private:
  static void require_pairs(std::int64_t points) {
    if (points < 2) throw UsageError(fmt::format("{} points have no pairs to count", points));
  }

  PointAxes points_{{.generator = "lab_atoms", .rows = 20000, .columns = 3, .file = ""}};
  PairHistogramOptions options_;
  std::string edges_file_;
};

}  // namespace

extern const ProblemRow pair_histogram_problem;
const ProblemRow pair_histogram_problem{
    .name = problem_name,
    .summary = "pair-distance histogram: how many pairs of points are at each distance",
    .figures =
        "pairs: all pairs over the time, in 10^9 per second, whether or not a variant visits each; counted: the pairs "
        "in the bins. fma: a difference and a multiply-add for each pair and dimension, as a share of the float rate "
        "of the same number of threads; a variant that skips pairs may exceed 100 %.",
    .ladder = &pair_histogram_detail::ladder,
    .options = core::option_rows<PairHistogramOptions>,
    .verify = verify_room<pair_histogram_detail::Trial>,
    .cases = case_names_of<pair_histogram_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<Counts>(); },
};

}  // namespace gradus::bench
