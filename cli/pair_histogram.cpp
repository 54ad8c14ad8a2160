// `gradus pair-histogram`: read points, count their pairs by distance, write the histogram.
#include "gradus/pair_histogram.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/pair_histogram.hpp"
#include "cli/command.hpp"
#include "cli/destination.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "io/npy.hpp"
#include "io/trajectory.hpp"
#include "pair_histogram/fold.hpp"

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
  io::ReadOptions reading;
  PairHistogramBins bins;
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
        "--rdf compares with as many points spread uniformly; give their volume (--volume) or the "
        "periodic --box");
  double volume = 1;
  for (const double length : box.lengths) volume *= length;
  return volume;
}

/// The points moved into the box by whole lengths.
template <class T>
io::PointsOf<T> folded(MatrixView<const T> points, const char* what, const Box& box, const std::stop_token& stop) {
  if (static_cast<std::int64_t>(box.lengths.size()) != points.columns())
    throw UsageError("--fold needs a periodic box with a length for each column of the points");
  return io::own(pair_histogram_detail::fold(points, what, box.lengths, box.origin, stop));
}

/// A row per bin. The columns look at the histogram and the distribution.
std::vector<io::NpyColumn> columns_of(const PairHistogramResult& result,
                                      const std::optional<PairHistogramRadialDistribution>& radial) {
  const std::span<const double> edges(result.edges);
  std::vector<io::NpyColumn> columns{{"lo", edges.first(result.counts.size())},
                                     {"hi", edges.last(result.counts.size())},
                                     {"count", std::span<const std::uint64_t>(result.counts)}};
  const auto add = [&](std::string_view name, const std::vector<double>& values) {
    columns.push_back({name, std::span<const double>(values)});
  };
  if (!result.weighted.empty()) add("weight", result.weighted);
  if (radial) {
    add("g", radial->g);
    add("density", radial->density);
    add("coordination", radial->coordination);
  }
  return columns;
}

std::string csv_text(std::span<const io::NpyColumn> columns) {
  const auto text_of = [](auto value) {
    if constexpr (std::is_same_v<decltype(value), double>) return core::number_text(value);
    else return std::to_string(value);
  };
  std::string text;
  const auto end_field = [&](std::size_t column) { text += column + 1 == columns.size() ? '\n' : ','; };
  for (std::size_t column = 0; column < columns.size(); ++column) {
    text += columns[column].name;
    end_field(column);
  }
  const std::size_t rows = std::visit([](const auto& values) { return values.size(); }, columns.front().values);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns.size(); ++column) {
      text += std::visit([&](const auto& values) { return text_of(values[row]); }, columns[column].values);
      end_field(column);
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

std::optional<PairHistogramRadialDistribution> radial_of(const Arguments& arguments, const Sum& sum) {
  if (!arguments.radial) return std::nullopt;
  if (!sum.same_numbers)
    throw InputError(
        fmt::format("'{}': the frames have different numbers of points, for which --rdf is not defined; "
                    "leave it out, or count such frames one by one",
                    arguments.input));
  return pair_histogram_radial_distribution(sum.histogram, sum.dimensions, sum.points, sum.others,
                                            static_cast<double>(sum.frames) / sum.inverse_volumes, sum.frames);
}

Json summary_of(const Arguments& arguments, const Sum& sum, const char* dtype,
                const std::optional<PairHistogramRadialDistribution>& radial) {
  const PairHistogramResult& result = sum.histogram;
  Json summary{{"problem", "pair_histogram"},
               {"input", arguments.input},
               {"n", sum.points},
               {"d", sum.dimensions},
               {"frames", sum.frames},
               {"cross", arguments.others.empty() ? Json(nullptr) : Json(sum.others)},
               {"dtype", dtype},
               {"variant", result.report.variant},
               {"device", result.report.device},
               {"threads", result.report.threads},
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
  summary["rechecked"] = result.report.rechecked;
  summary["memory_bytes"] = sum.memory;
  return summary;
}

std::string closing_line(const Sum& sum, const char* dtype, double seconds) {
  const PairHistogramResult& result = sum.histogram;
  const auto count = [](std::uint64_t number) { return grouped(static_cast<std::int64_t>(number)); };
  const std::string frames = sum.frames == 1 ? "" : " in " + counted(sum.frames, "frame");
  return fmt::format("{} x {}{} ({}), {}: {} in {}, {}{} beyond, {:.3g} s, {}, {}", counted(sum.all_points, "point"),
                     sum.dimensions, frames, dtype, counted(static_cast<std::int64_t>(result.pairs), "pair"),
                     count(result.pairs - result.below - result.beyond), counted(std::ssize(result.counts), "bin"),
                     result.below > 0 ? count(result.below) + " below, " : "", count(result.beyond), seconds,
                     result.report.variant, counted(result.report.threads, "thread"));
}

/// Calls function; what the library finds wrong with an input is told of the file that it came from.
template <class Function>
decltype(auto) naming_inputs(const Arguments& arguments, const Function& function) {
  try {
    return naming_files({{"points", arguments.input},
                         {"others", arguments.others},
                         {"weights", arguments.weights},
                         {"other weights", arguments.other_weights}},
                        function);
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
    io::ReadOptions reading = arguments.reading;
    reading.type = sizeof(T) == 4 ? io::ElementType::f32 : io::ElementType::f64;
    if (!arguments.others.empty()) {
      others_reader_.emplace(arguments.others, reading);
      if (!others_reader_->is_trajectory()) others_ = read_matrix_as<T>(arguments.others, reading);
    }
    if (!arguments.weights.empty()) weights_ = read_vector_as<T>(arguments.weights, reading);
    if (!arguments.other_weights.empty()) other_weights_ = read_vector_as<T>(arguments.other_weights, reading);
    memory_.weights = weights_.view;
    memory_.other_weights = other_weights_.view;
    options_.bins = arguments.bins;
    if (!arguments.edges.empty()) options_.bins.edges = bench::read_edges(arguments.edges, reading);
    sum_.read += core::seconds_since(start);
  }

  void add(const io::Frame& frame) {
    if (arguments_.box.empty() && !frame.undecided_box.empty()) throw InputError(frame.undecided_box + " (--box)");
    Box box{frame.box, frame.box_origin};
    if (!arguments_.box.empty()) box.lengths = arguments_.box;
    if (!arguments_.box_origin.empty()) box.origin = arguments_.box_origin;
    if (box.origin.size() != box.lengths.size() && arguments_.box_origin.empty()) box.origin.clear();
    if (sum_.frames > 0 && box.lengths.empty() != sum_.box.lengths.empty())
      throw InputError(fmt::format("'{}': {} is periodic, {} is not; give one box for all of them with --box",
                                   arguments_.input, box.lengths.empty() ? "the first frame" : "this frame",
                                   box.lengths.empty() ? "this frame" : "the first frame"));
    next_others(box);
    bench::complete_bins(options_.bins, box.lengths);
    MatrixView<const T> points = frame.points.view<T>();
    memory_.others = others_.view;
    options_.box = box.lengths;
    options_.box_origin = box.origin;
    io::PointsOf<T> inside;
    io::PointsOf<T> others_inside;
    PairHistogramResult result = naming_inputs(arguments_, [&] {
      if (arguments_.fold) {
        inside = folded(points, "points", box, session_.execution.stop);
        points = inside.view;
        if (others_reader_) {
          others_inside = folded(others_.view, "others", box, session_.execution.stop);
          memory_.others = others_inside.view;
        }
      }
      return pair_histogram(points, options_, memory_, session_.execution);
    });
    sum_.memory = std::max(sum_.memory, memory_of(points, result.report.variant));
    if (arguments_.radial) sum_.inverse_volumes += 1 / volume_of(arguments_, box);
    if (sum_.frames++ == 0) {
      sum_.histogram = std::move(result);
      sum_.points = points.rows();
      sum_.others = memory_.others.rows();
      sum_.dimensions = points.columns();
      sum_.box = box;
    } else {
      pair_histogram_accumulate(sum_.histogram, result);
    }
    sum_.same_numbers = sum_.same_numbers && sum_.points == points.rows() && sum_.others == memory_.others.rows();
    sum_.all_points += points.rows();
  }

  /// When all frames of the points were added: the others must have none left.
  Sum& finish() {
    if (others_reader_ && others_reader_->is_trajectory() && others_reader_->next())
      throw InputError(
          fmt::format("'{}': it has more frames than the points, which are paired frame by frame", arguments_.others));
    return sum_;
  }

 private:
  /// The others of the next frame, where they come from a trajectory too. Their box must be that of the points.
  void next_others(const Box& box) {
    if (!others_reader_ || !others_reader_->is_trajectory()) return;
    const std::optional<io::Frame> frame = others_reader_->next();
    if (!frame) throw InputError(fmt::format("'{}': it has fewer frames than the points", arguments_.others));
    if (arguments_.box.empty() && (frame->box != box.lengths || !frame->undecided_box.empty()))
      throw InputError(fmt::format("'{}': its periodic box is not that of the points; say with --box which one it is",
                                   arguments_.others));
    others_ = std::get<io::PointsOf<T>>(frame->points.values);
  }

  /// Of the host, for the variant that ran.
  std::uint64_t memory_of(MatrixView<const T> points, const std::string& variant) const {
    Execution ran = session_.execution;
    ran.variant = variant;
    const PairHistogramShape shape{.points = points.rows(),
                                   .others = memory_.others.rows(),
                                   .dimensions = points.columns(),
                                   .element_bytes = static_cast<int>(sizeof(T)),
                                   .weighted = !memory_.weights.empty()};
    return pair_histogram_memory(shape, options_, ran).host;
  }

  const Arguments& arguments_;
  const Session& session_;
  PairHistogramOptions options_;
  PairHistogramMemory<T> memory_;
  std::optional<io::FrameReader> others_reader_;
  io::PointsOf<T> others_;
  io::VectorOf<T> weights_;
  io::VectorOf<T> other_weights_;
  Sum sum_;
};

/// Squared distances so small have few digits in double, or none: separations below 1e-162 count as 0.
void note_tiny_edges(const Session& session, std::span<const double> edges) {
  constexpr double least = 0x1p-500;
  const auto positive = std::ranges::find_if(edges, [](double edge) { return edge > 0; });
  if (positive != edges.end() && *positive < least)
    session.note(
        fmt::format("bins end at {} and squares of such distances lose digits in double; scale the points up "
                    "(all is exact from 2^-500 = 3.1e-151 on)",
                    core::number_text(*positive)));
}

template <class T>
int count_pairs(const Arguments& arguments, const Session& session, io::FrameReader& reader,
                std::optional<io::Frame> frame, core::Clock::time_point start) {
  const char* const dtype = sizeof(T) == 4 ? "f32" : "f64";
  double read = core::seconds_since(start);
  Counter<T> counter(arguments, session);
  Destination destination(arguments.output, session.execution.stop, true);
  for (std::int64_t number = 1; frame; ++number) {
    naming_frame(reader.is_trajectory(), number, [&] { counter.add(*frame); });
    const core::Clock::time_point read_start = core::Clock::now();
    frame = reader.next();
    read += core::seconds_since(read_start);
  }
  session.end_progress();
  const Sum& sum = counter.finish();
  note_tiny_edges(session, sum.histogram.edges);
  const std::optional<PairHistogramRadialDistribution> radial = radial_of(arguments, sum);

  const auto write_start = core::Clock::now();
  const std::vector<io::NpyColumn> columns = columns_of(sum.histogram, radial);
  const auto summary = [&] {
    Json all = summary_of(arguments, sum, dtype, radial);
    all["seconds"] = seconds_of(read + sum.read, "histogram", sum.histogram.report.phases,
                                core::seconds_since(write_start), core::seconds_since(start));
    return all;
  };
  if (destination.is_file()) {
    core::AtomicFile& file = destination.file();
    if (destination.format() == TableFormat::npy) {
      io::write_npy_table(file, columns);
    } else {
      const std::string text = destination.format() == TableFormat::csv ? csv_text(columns) : json_text(summary());
      file.expect(text.size());
      file.write(text);
    }
    file.commit();
  }
  if (session.json) {
    session.print_json(summary());
    return 0;
  }
  if (!destination.is_file()) session.print(csv_text(columns));
  session.note(closing_line(sum, dtype, core::seconds_since(start)) +
               (destination.is_file() ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

void add_space_options(Options& options, Arguments& arguments) {
  constexpr double most = std::numeric_limits<double>::max();
  options.heading("Space");
  options.axis(bench::box_axis(arguments.box));
  options.value("--box-origin", "X,Y,Z", "lower corner of the box [0,0,0]", [&arguments](const std::string& text) {
    arguments.box_origin = parse_real_list("--box-origin", text, -most, most);
  });
  options.flag("--fold", arguments.fold, "move points that lie outside the box into it, by whole lengths");
  options.flag("--rdf", arguments.radial,
               "also the radial distribution g, the density around a point, and the coordination number");
  options.useless_where(
      options.value("--volume", "V", "for --rdf: volume that the points occupy [that of the box]",
                    [&arguments](const std::string& text) { arguments.volume = parse_positive("--volume", text); }),
      [&arguments] { return arguments.radial ? "" : "it needs --rdf"; });
}

Action setup_pair_histogram(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("INPUT", arguments->input, "INPUT",
                                 "points with 1 to 3 coordinates, one per row: .npy, .csv, .tsv; - for CSV on standard "
                                 "input; or the frames of a trajectory, added up: .xyz, .extxyz, .lammpstrj, .dump"));
  add_table_output(options, arguments->output,
                   "write the histogram there, .csv, .npy or .json [CSV on standard output]", true);
  options.file("--cross", arguments->others, "FILE", "count the pairs between the points and those of this file");
  options.file("--weights", arguments->weights, "FILE", "one weight per point; a pair weighs their product");
  options.useless_where(
      options.file("--cross-weights", arguments->other_weights, "FILE", "weights of the points of --cross"),
      [arguments = arguments.get()] { return arguments->others.empty() ? "it needs --cross" : ""; });
  add_reading_options(options, session, arguments->reading);
  add_column_options(options, arguments->reading, false);
  options.heading("Bins");
  for (const bench::Axis& axis : bench::bin_axes(arguments->bins, arguments->edges)) options.axis(axis);
  add_space_options(options, *arguments);
  return [arguments, &session] {
    const auto start = core::Clock::now();
    bench::check_bins(arguments->bins, arguments->edges);
    const std::vector<std::string> inputs{arguments->input, arguments->others, arguments->weights,
                                          arguments->other_weights, arguments->edges};
    arguments->reading.threads = cpu::thread_count(session.execution);
    require_one_standard_input(inputs);
    require_table_for_header(arguments->reading, inputs);
    require_no_input_overwritten({arguments->output}, inputs);
    io::FrameReader reader(arguments->input, arguments->reading);
    if (!reader.is_trajectory()) {  // what is missing is refused before anything is read
      PairHistogramBins bins = arguments->bins;
      const Box box{arguments->box, arguments->box_origin};
      bench::complete_bins(bins, box.lengths);
      if (arguments->radial) volume_of(*arguments, box);
    }
    std::optional<io::Frame> frame = reader.next();
    const bool single = frame->points.type() == io::ElementType::f32;
    return single ? count_pairs<float>(*arguments, session, reader, std::move(frame), start)
                  : count_pairs<double>(*arguments, session, reader, std::move(frame), start);
  };
}

}  // namespace

ProblemCommands pair_histogram_commands();
ProblemCommands pair_histogram_commands() {
  return {.commands = {{"pair-histogram", "count pairs of points by their distance",
                        "gradus pair-histogram atoms.npy --bin-width 0.05 --box 40,40,40 --rdf -o rdf.csv\n"
                        "gradus pair-histogram stars.csv --edges edges.csv --cross galaxies.csv\n"
                        "gradus pair-histogram lab-atoms.npy --bin-width 500 --bins 80",
                        Common::job, "pair_histogram", setup_pair_histogram,
                        "gradus pair-histogram points.npy --bin-width 2 --bins 50", "count their pairs by distance"}},
          .examples = {
              {"verify", "gradus verify pair-histogram --variant openmp_privatized --threads 1,2"},
              {"bench", "gradus bench pair-histogram --data atoms.npy --bin-width 0.05 --cutoff 1 --box 40,40,40"}}};
}

}  // namespace gradus::cli
