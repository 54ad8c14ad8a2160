// `gradus pair-histogram`: read points, count their pairs by distance, write the histogram.
#include "gradus/pair_histogram.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/bin_options.hpp"
#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/lists.hpp"
#include "cli/output.hpp"
#include "core/atomic_file.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/trajectory.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string input;
  std::string others;
  std::string weights;
  std::string other_weights;
  std::string edges;
  std::string output;
  std::optional<io::ElementType> dtype;
  PairBins bins;
  std::vector<double> box;
  std::vector<double> box_origin;
  bool fold = false;
  bool radial = false;
  double volume = 0;  ///< 0: of the box
};

/// The periodic box of a frame: that of the command line, or else that of the file. No lengths: open space.
struct Box {
  std::vector<double> lengths;
  std::vector<double> origin;
};

double volume_of(const Arguments& arguments, const Box& box) {
  if (arguments.volume > 0) return arguments.volume;
  if (box.lengths.empty())
    throw UsageError(
        "--rdf compares with as many points spread uniformly; say in what volume (--volume), or give the "
        "periodic --box");
  double volume = 1;
  for (const double length : box.lengths) volume *= length;
  return volume;
}

/// The points moved into the box by whole lengths.
template <class T>
io::PointsOf<T> folded(MatrixView<const T> points, const Box& box, const std::stop_token& stop) {
  if (static_cast<std::int64_t>(box.lengths.size()) != points.columns())
    throw UsageError("--fold needs a periodic box with a length for each column of the points");
  Matrix<T> inside = Matrix<T>::copy_of(points);
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    if (row % core::operations_between_looks == 0)
      core::honour_stop(stop, "stopped while folding the points into the box");
    for (std::int64_t column = 0; column < points.columns(); ++column) {
      const double length = box.lengths[static_cast<std::size_t>(column)];
      const double low = box.origin.empty() ? 0 : box.origin[static_cast<std::size_t>(column)];
      const double offset = static_cast<double>(points(row, column)) - low;
      if (offset >= 0 && offset <= length) continue;
      T value = static_cast<T>(low + (offset - length * std::floor(offset / length)));
      // Rounding may carry a value over a face of the box.
      while (static_cast<double>(value) - low > length) value = std::nextafter(value, static_cast<T>(low));
      while (static_cast<double>(value) < low) value = std::nextafter(value, std::numeric_limits<T>::infinity());
      inside(row, column) = value;
    }
  }
  return io::own(std::move(inside));
}

std::string csv_text(const PairHistogramResult& result, const std::optional<RadialDistribution>& radial) {
  std::string text = "lo,hi,count";
  if (!result.weighted.empty()) text += ",weight";
  if (radial) text += ",g,density,coordination";
  text += '\n';
  for (std::size_t bin = 0; bin < result.counts.size(); ++bin) {
    text += core::number_text(result.edges[bin]) + ',' + core::number_text(result.edges[bin + 1]) + ',' +
            std::to_string(result.counts[bin]);
    if (!result.weighted.empty()) text += ',' + core::number_text(result.weighted[bin]);
    if (radial)
      for (const std::vector<double>* column : {&radial->g, &radial->density, &radial->coordination})
        text += ',' + core::number_text((*column)[bin]);
    text += '\n';
  }
  return text;
}

/// What all frames add up to.
struct Sum {
  PairHistogramResult histogram;
  std::int64_t frames = 0;
  std::int64_t points = 0;  ///< of a frame; of the first where they differ
  std::int64_t others = 0;
  std::int64_t dimensions = 0;
  std::int64_t all_points = 0;
  double inverse_volumes = 0;
  bool same_numbers = true;  ///< of points and others in all frames
  Box box;                   ///< of the first frame
  std::uint64_t memory = 0;  ///< at most
  double read = 0;           ///< seconds
};

std::optional<RadialDistribution> radial_of(const Arguments& arguments, const Sum& sum) {
  if (!arguments.radial) return std::nullopt;
  if (!sum.same_numbers)
    throw InputError(
        fmt::format("'{}': the frames have different numbers of points, for which --rdf is not defined; "
                    "leave it out, or count such frames one by one",
                    arguments.input));
  return radial_distribution(sum.histogram, sum.dimensions, sum.points, sum.others,
                             static_cast<double>(sum.frames) / sum.inverse_volumes, sum.frames);
}

Json summary_of(const Arguments& arguments, const Sum& sum, const char* dtype,
                const std::optional<RadialDistribution>& radial) {
  const PairHistogramResult& result = sum.histogram;
  Json summary{{"problem", "pair_histogram"},
               {"input", arguments.input},
               {"n", sum.points},
               {"d", sum.dimensions},
               {"frames", sum.frames},
               {"cross", arguments.others.empty() ? Json(nullptr) : Json(sum.others)},
               {"dtype", dtype},
               {"variant", result.variant},
               {"device", result.device},
               {"threads", result.threads},
               {"box", sum.box.lengths.empty() ? Json(nullptr) : Json(sum.box.lengths)},
               {"pairs", result.pairs},
               {"below", result.below},
               {"beyond", result.beyond},
               {"edges", result.edges},
               {"counts", result.counts}};
  if (!result.weighted.empty()) summary["weighted"] = result.weighted;
  if (radial) {
    summary["g"] = radial->g;
    summary["density"] = radial->density;
    summary["coordination"] = radial->coordination;
  }
  summary["rechecked"] = result.rechecked;
  summary["memory_bytes"] = sum.memory;
  return summary;
}

std::string closing_line(const Sum& sum, const char* dtype, double seconds) {
  const PairHistogramResult& result = sum.histogram;
  const auto count = [](std::uint64_t number) { return grouped(static_cast<std::int64_t>(number)); };
  const std::string frames = sum.frames == 1 ? "" : fmt::format(" in {} frames", grouped(sum.frames));
  return fmt::format("{} points x {}{} ({}), {} pairs: {} in {} bins, {}{} beyond, {:.3g} s, {}, {} thread{}",
                     grouped(sum.all_points), sum.dimensions, frames, dtype, count(result.pairs),
                     count(result.pairs - result.below - result.beyond), grouped(std::ssize(result.counts)),
                     result.below > 0 ? count(result.below) + " below, " : "", count(result.beyond), seconds,
                     result.variant, result.threads, result.threads == 1 ? "" : "s");
}

/// Calls the library; what it finds wrong with an input is told of the file that it came from.
template <class T>
PairHistogramResult counted(const Arguments& arguments, MatrixView<const T> points,
                            const PairHistogramOptions<T>& options, const Execution& execution) {
  try {
    return naming_files({{"points", arguments.input},
                         {"others", arguments.others},
                         {"weights", arguments.weights},
                         {"other weights", arguments.other_weights}},
                        [&] { return pair_histogram<T>(points, options, execution); });
  } catch (const UsageError& error) {
    constexpr std::string_view role = "edges: ";
    const std::string_view message = error.what();
    if (arguments.edges.empty() || !message.starts_with(role)) throw;
    throw InputError(fmt::format("'{}': {}", arguments.edges, message.substr(role.size())));
  }
}

/// Calls function; where it throws, the message tells in which frame of a trajectory.
template <class Function>
decltype(auto) naming_frame(bool is_trajectory, std::int64_t frame, Function&& function) {
  const auto named = [&](const char* message) {
    return fmt::format("{} (in frame {}, counted from 1)", message, frame);
  };
  try {
    return function();
  } catch (const UsageError& error) {
    if (is_trajectory) throw UsageError(named(error.what()));
    throw;
  } catch (const InputError& error) {
    if (is_trajectory) throw InputError(named(error.what()));
    throw;
  }
}

/// Counts the pairs of frame after frame.
template <class T>
class Counter {
 public:
  Counter(const Arguments& arguments, const Session& session) : arguments_(arguments), session_(session) {
    const core::Clock::time_point start = core::Clock::now();
    const std::stop_token& stop = session.execution.stop;
    if (!arguments.others.empty()) {
      others_reader_.emplace(
          arguments.others,
          io::ReadOptions{.type = sizeof(T) == 4 ? io::ElementType::f32 : io::ElementType::f64, .stop = stop});
      if (!others_reader_->is_trajectory()) others_ = read_matrix_as<T>(arguments.others, stop);
    }
    if (!arguments.weights.empty()) weights_ = read_vector_as<T>(arguments.weights, stop);
    if (!arguments.other_weights.empty()) other_weights_ = read_vector_as<T>(arguments.other_weights, stop);
    options_.weights = weights_.view;
    options_.other_weights = other_weights_.view;
    options_.bins = arguments.bins;
    if (!arguments.edges.empty()) options_.bins.edges = read_edges(arguments.edges, stop);
    sum_.read += core::seconds_since(start);
  }

  void add(const io::Frame& frame) {
    Box box = arguments_.box.empty() ? Box{frame.box, frame.box_origin} : Box{arguments_.box, {}};
    if (!arguments_.box_origin.empty()) box.origin = arguments_.box_origin;
    next_others();
    complete_bins(options_.bins, box.lengths);
    MatrixView<const T> points = frame.points.view<T>();
    options_.others = others_.view;
    options_.box = box.lengths;
    options_.box_origin = box.origin;
    io::PointsOf<T> inside;
    io::PointsOf<T> others_inside;
    if (arguments_.fold) {
      inside = folded(points, box, session_.execution.stop);
      points = inside.view;
      if (others_reader_) {
        others_inside = folded(others_.view, box, session_.execution.stop);
        options_.others = others_inside.view;
      }
    }
    PairHistogramResult result = counted(arguments_, points, options_, session_.execution);
    sum_.memory = std::max(sum_.memory, pair_histogram_memory<T>(points, options_, session_.execution));
    if (arguments_.radial) sum_.inverse_volumes += 1 / volume_of(arguments_, box);
    if (sum_.frames++ == 0) {
      sum_.histogram = std::move(result);
      sum_.points = points.rows();
      sum_.others = options_.others.rows();
      sum_.dimensions = points.columns();
      sum_.box = box;
    } else {
      accumulate(sum_.histogram, result);
    }
    sum_.same_numbers = sum_.same_numbers && sum_.points == points.rows() && sum_.others == options_.others.rows();
    sum_.all_points += points.rows();
  }

  Sum& sum() { return sum_; }

 private:
  /// The others of the next frame, where they come from a trajectory too.
  void next_others() {
    if (!others_reader_ || !others_reader_->is_trajectory()) return;
    const std::optional<io::Frame> frame = others_reader_->next();
    if (!frame) throw InputError(fmt::format("'{}': it has fewer frames than the points", arguments_.others));
    others_ = std::get<io::PointsOf<T>>(frame->points.values);
  }

  const Arguments& arguments_;
  const Session& session_;
  PairHistogramOptions<T> options_;
  std::optional<io::FrameReader> others_reader_;
  io::PointsOf<T> others_;
  io::VectorOf<T> weights_;
  io::VectorOf<T> other_weights_;
  Sum sum_;
};

template <class T>
int count_pairs(const Arguments& arguments, const Session& session, io::FrameReader& reader,
                std::optional<io::Frame> frame, core::Clock::time_point start) {
  const char* const dtype = sizeof(T) == 4 ? "f32" : "f64";
  double read = core::seconds_since(start);
  Counter<T> counter(arguments, session);
  // The file is opened first, so that a place that cannot be written is found before the work and not after it.
  std::optional<core::AtomicFile> file;
  if (!arguments.output.empty()) file.emplace(arguments.output, session.execution.stop);
  for (std::int64_t number = 1; frame; ++number) {
    naming_frame(reader.is_trajectory(), number, [&] { counter.add(*frame); });
    const core::Clock::time_point read_start = core::Clock::now();
    frame = reader.next();
    read += core::seconds_since(read_start);
  }
  session.end_progress();
  const Sum& sum = counter.sum();
  const std::optional<RadialDistribution> radial = radial_of(arguments, sum);

  const auto write_start = core::Clock::now();
  const std::string text = csv_text(sum.histogram, radial);
  if (file) {
    file->write(text);
    file->commit();
  }
  const double write = core::seconds_since(write_start);
  const double seconds = core::seconds_since(start);
  if (session.json) {
    Json summary = summary_of(arguments, sum, dtype, radial);
    summary["seconds"] = seconds_of(read + sum.read, "histogram", sum.histogram.phases, write, seconds);
    session.print_json(summary);
    return 0;
  }
  if (!file) session.print(text);
  session.note(closing_line(sum, dtype, seconds) + (file ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

void add_space_options(Options& options, Arguments& arguments) {
  constexpr double least = std::numeric_limits<double>::denorm_min();
  constexpr double most = std::numeric_limits<double>::max();
  options.heading("Space");
  add_box_option(options, arguments.box);
  options.value("--box-origin", "X,Y,Z", "its lower corner [0,0,0]", [&arguments](const std::string& text) {
    arguments.box_origin = parse_real_list("--box-origin", text, -most, most);
  });
  options.flag("--fold", arguments.fold, "move points that lie outside the box into it, by whole lengths");
  options.flag("--rdf", arguments.radial,
               "also the radial distribution g, the density around a point, and the coordination number");
  options.value(
      "--volume", "V", "for --rdf: volume that the points lie in [of the box]",
      [&arguments](const std::string& text) { arguments.volume = parse_real("--volume", text, least, most); });
}

}  // namespace

Action setup_pair_histogram(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("INPUT", arguments->input, "INPUT",
                                 "points with 1 to 3 coordinates, one per row: .npy, .csv, .tsv; - for CSV on standard "
                                 "input; or the frames of a trajectory, added up: .xyz, .extxyz, .lammpstrj, .dump"));
  options.file("-o,--output", arguments->output, "FILE", "write the histogram there instead of to standard output");
  options.file("--cross", arguments->others, "FILE", "count the pairs of a point with one of these");
  options.file("--weights", arguments->weights, "FILE", "one weight per point; a pair weighs their product");
  options.file("--cross-weights", arguments->other_weights, "FILE", "those of the points of --cross");
  add_dtype_option(options, arguments->dtype);
  options.heading("Bins");
  add_bin_options(options, arguments->bins, arguments->edges);
  add_space_options(options, *arguments);
  return [arguments, &session] {
    const auto start = core::Clock::now();
    check_bins(arguments->bins, arguments->edges);
    require_one_standard_input(
        {arguments->input, arguments->others, arguments->weights, arguments->other_weights, arguments->edges});
    io::FrameReader reader(arguments->input, {.type = arguments->dtype, .stop = session.execution.stop});
    if (!reader.is_trajectory()) {  // what is missing is refused before anything is read
      PairBins bins = arguments->bins;
      const Box box{arguments->box, arguments->box_origin};
      complete_bins(bins, box.lengths);
      if (arguments->radial) volume_of(*arguments, box);
    }
    std::optional<io::Frame> frame = reader.next();
    const bool single = frame->points.type() == io::ElementType::f32;
    return single ? count_pairs<float>(*arguments, session, reader, std::move(frame), start)
                  : count_pairs<double>(*arguments, session, reader, std::move(frame), start);
  };
}

}  // namespace gradus::cli
