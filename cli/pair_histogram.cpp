// `gradus pair-histogram`: read points, count their pairs by distance, write the histogram.
#include "gradus/pair_histogram.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "bench/pair_histogram.hpp"
#include "cli/command.hpp"
#include "cli/destination.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/pair_histogram_frames.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "io/atom_selection.hpp"
#include "io/npy.hpp"
#include "io/trajectory.hpp"
#include "pair_histogram/cell.hpp"
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
  bool centers = false;
  bool partial = false;
  double volume = 0;  ///< 0: of the box
  std::optional<io::AtomSelection> selection;
  std::optional<io::AtomSelection> cross_selection;
  FrameRange frames;

  bool is_cross() const { return !others.empty() || cross_selection.has_value(); }
  bool needs_labels() const { return partial || selection || cross_selection; }
};

/// The periodic box of a frame: that of the command line, or else that of the file. No lengths: open space.
struct Box {
  std::vector<double> lengths;  ///< or the nine numbers of a triclinic cell's vectors
  std::vector<double> origin;
};

double volume_of(const Arguments& arguments, const Box& box) {
  if (arguments.volume > 0) return arguments.volume;
  if (box.lengths.empty())
    throw UsageError(
        "--rdf compares with as many points spread uniformly; give their volume (--volume) or the "
        "periodic --box");
  if (pair_histogram_detail::is_triclinic(box.lengths))
    return std::abs(pair_histogram_detail::Cell(box.lengths).volume());
  double volume = 1;
  for (const double length : box.lengths) volume *= length;
  return volume;
}

/// The points moved into the box by whole lengths.
template <class T>
io::PointsOf<T> folded(MatrixView<const T> points, const char* what, const Box& box, const std::stop_token& stop) {
  const bool in_cell = pair_histogram_detail::is_triclinic(box.lengths) && points.columns() == 3;
  if (!in_cell && static_cast<std::int64_t>(box.lengths.size()) != points.columns())
    throw UsageError("--fold needs a periodic box with a length for each column of the points");
  return io::own(pair_histogram_detail::fold(points, what, box.lengths, box.origin, stop));
}

/// The pairs of one kind: all of them, or with --partial those of two kinds of atoms.
struct Part {
  std::string first;  ///< the kinds, with --partial
  std::string second;
  PairHistogramResult histogram;
  std::int64_t points = 0;  ///< of a frame; of the first where they differ
  std::int64_t others = 0;  ///< 0: pairs among the points
  std::int64_t both = 0;    ///< points that are among the others too, and make no pair with themselves
  bool same_numbers = true;

  bool is_within() const { return others == 0; }
  std::string kinds() const { return first + "-" + second; }
};

/// What all frames add up to.
struct Sum {
  std::vector<Part> parts;
  std::int64_t frames = 0;
  std::int64_t dimensions = 0;
  std::int64_t all_points = 0;
  double inverse_volumes = 0;
  Box box;                        ///< of the first frame
  std::uint64_t memory = 0;       ///< at most
  double read = 0;                ///< seconds
  std::int64_t folded_atoms = 0;  ///< that were moved into the box without having been asked to
  std::int64_t folded_frames = 0;

  double volume() const { return static_cast<double>(frames) / inverse_volumes; }
};

using Radial = PairHistogramRadialDistribution;

/// Of the points with the others around them, or the other way round.
Radial radial_of(const Sum& sum, const Part& part, bool swapped = false) {
  const std::int64_t points = swapped ? part.others : part.points;
  const std::int64_t others = swapped ? part.points : part.others;
  Radial radial =
      pair_histogram_radial_distribution(part.histogram, sum.dimensions, points, others, sum.volume(), sum.frames);
  if (part.both > 0) {
    const double all = static_cast<double>(points) * static_cast<double>(others);
    for (double& g : radial.g) g *= all / (all - static_cast<double>(part.both));
  }
  return radial;
}

std::vector<std::optional<Radial>> radials_of(const Arguments& arguments, const Sum& sum) {
  std::vector<std::optional<Radial>> radials(sum.parts.size());
  for (std::size_t part = 0; arguments.radial && part < radials.size(); ++part) {
    if (!sum.parts[part].same_numbers)
      throw InputError(
          fmt::format("'{}': the frames have different numbers of points{}, for which --rdf is not defined; "
                      "leave it out, or count such frames one by one",
                      arguments.input, arguments.partial ? " of a kind" : ""));
    radials[part] = radial_of(sum, sum.parts[part]);
  }
  return radials;
}

/// The columns of a table and what they look at.
struct Table {
  std::deque<std::string> names;
  std::deque<std::vector<double>> values;
  std::vector<io::NpyColumn> columns;

  void add(std::string name, std::span<const std::uint64_t> counts) {
    columns.push_back({names.emplace_back(std::move(name)), counts});
  }
  void add(std::string name, std::vector<double> numbers) {
    columns.push_back(
        {names.emplace_back(std::move(name)), std::span<const double>(values.emplace_back(std::move(numbers)))});
  }
};

/// A name that needs no quotes in any format.
std::string column_name(std::string_view what, const std::string& first, const std::string& second) {
  std::string name = fmt::format("{}_{}-{}", what, first, second);
  for (char& character : name)
    if (character <= ' ' || character > '~' || std::string_view(",;\"'\\").find(character) != std::string_view::npos)
      character = '_';
  return name;
}

/// A row per bin.
Table table_of(const Arguments& arguments, const Sum& sum, const std::vector<std::optional<Radial>>& radials) {
  Table table;
  const std::vector<double>& edges = sum.parts.front().histogram.edges;
  table.add("lo", std::vector<double>(edges.begin(), edges.end() - 1));
  table.add("hi", std::vector<double>(edges.begin() + 1, edges.end()));
  if (arguments.centers) {
    std::vector<double> centers;
    for (std::size_t bin = 0; bin + 1 < edges.size(); ++bin) centers.push_back(edges[bin] / 2 + edges[bin + 1] / 2);
    table.add("center", std::move(centers));
  }
  for (std::size_t index = 0; index < sum.parts.size(); ++index) {
    const Part& part = sum.parts[index];
    const std::optional<Radial>& radial = radials[index];
    const auto named = [&](const char* what, bool swapped = false) {
      if (!arguments.partial) return std::string(what);
      return swapped ? column_name(what, part.second, part.first) : column_name(what, part.first, part.second);
    };
    table.add(named("count"), std::span<const std::uint64_t>(part.histogram.counts));
    if (!part.histogram.weighted.empty()) table.add(named("weight"), part.histogram.weighted);
    if (!radial) continue;
    table.add(named("g"), radial->g);
    if (!arguments.partial) table.add("density", radial->density);
    table.add(named("coordination"), radial->coordination);
    if (arguments.partial && !part.is_within())
      table.add(named("coordination", true), radial_of(sum, part, true).coordination);
  }
  return table;
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

Json summary_of(const Arguments& arguments, const Sum& sum, const char* dtype,
                const std::vector<std::optional<Radial>>& radials) {
  const Part& whole = sum.parts.front();
  const RunReport& report = whole.histogram.report;
  Json summary{{"problem", "pair_histogram"},
               {"input", arguments.input},
               {"n", arguments.partial ? sum.all_points / sum.frames : whole.points},
               {"d", sum.dimensions},
               {"frames", sum.frames},
               {"cross", arguments.is_cross() ? Json(whole.others) : Json(nullptr)},
               {"dtype", dtype},
               {"variant", report.variant},
               {"device", report.device},
               {"threads", report.threads},
               {"box", sum.box.lengths.empty() ? Json(nullptr) : Json(sum.box.lengths)}};
  const auto describe = [](Json& into, const Part& part, const std::optional<Radial>& radial) {
    into["pairs"] = part.histogram.pairs;
    into["below"] = part.histogram.below;
    into["beyond"] = part.histogram.beyond;
    into["counts"] = part.histogram.counts;
    if (!part.histogram.weighted.empty()) into["weighted"] = part.histogram.weighted;
    if (!radial) return;
    into["g"] = radial->g;
    into["density"] = radial->density;
    into["coordination"] = radial->coordination;
  };
  summary["edges"] = whole.histogram.edges;
  if (!arguments.partial) describe(summary, whole, radials.front());
  for (std::size_t index = 0; arguments.partial && index < sum.parts.size(); ++index) {
    const Part& part = sum.parts[index];
    Json of_part{{"kinds", {part.first, part.second}},
                 {"n", part.points},
                 {"cross", part.is_within() ? Json(nullptr) : Json(part.others)}};
    describe(of_part, part, radials[index]);
    summary["partial"].push_back(std::move(of_part));
  }
  summary["rechecked"] = report.rechecked;
  summary["memory_bytes"] = sum.memory;
  return summary;
}

std::string closing_line(const Sum& sum, const char* dtype, double seconds) {
  std::uint64_t pairs = 0;
  std::uint64_t below = 0;
  std::uint64_t beyond = 0;
  for (const Part& part : sum.parts) {
    pairs += part.histogram.pairs;
    below += part.histogram.below;
    beyond += part.histogram.beyond;
  }
  const PairHistogramResult& result = sum.parts.front().histogram;
  const auto count = [](std::uint64_t number) { return grouped(static_cast<std::int64_t>(number)); };
  const std::string frames = sum.frames == 1 ? "" : " in " + counted(sum.frames, "frame");
  return fmt::format("{} x {}{} ({}), {}: {} in {}, {}{} beyond, {:.3g} s, {}, {}", counted(sum.all_points, "point"),
                     sum.dimensions, frames, dtype, counted(static_cast<std::int64_t>(pairs), "pair"),
                     count(pairs - below - beyond), counted(std::ssize(result.counts), "bin"),
                     below > 0 ? count(below) + " below, " : "", count(beyond), seconds, result.report.variant,
                     counted(result.report.threads, "thread"));
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
    if (arguments.box.empty() && message.starts_with("box: the three vectors"))
      throw InputError(fmt::format("'{}': {}", arguments.input, message));
    if (arguments.edges.empty() || !message.starts_with(role)) throw;
    throw InputError(fmt::format("'{}': {}", arguments.edges, message.substr(role.size())));
  }
}

/// Calls function; where it throws, the message tells in which frame of a trajectory.
template <class Function>
decltype(auto) naming_frame(bool is_trajectory, std::int64_t frame, Function&& function) {
  const auto named = [&](const char* message) {
    return fmt::format("{} (in frame {}, counted from 0)", message, frame);
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

/// The rows of a matrix with these numbers; the matrix itself where it is all of them.
template <class T>
io::PointsOf<T> picked(const io::PointsOf<T>& points, const std::vector<std::int64_t>& rows) {
  if (std::ssize(rows) == points.view.rows()) return points;
  Matrix<T> some(std::ssize(rows), points.view.columns());
  for (std::int64_t at = 0; at < some.rows(); ++at)
    std::copy_n(points.view.row(rows[static_cast<std::size_t>(at)]), some.columns(), some.row(at));
  return io::own(std::move(some));
}

template <class T>
io::VectorOf<T> picked(const io::VectorOf<T>& values, const std::vector<std::int64_t>& rows) {
  if (std::ssize(rows) == values.view.size()) return values;
  auto some = std::make_shared<std::vector<T>>();
  for (const std::int64_t row : rows) some->push_back(values.view[row]);
  return {{some->data(), std::ssize(*some)}, some};
}

std::vector<std::int64_t> all_rows(std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < count; ++row) rows[static_cast<std::size_t>(row)] = row;
  return rows;
}

/// The kinds of the atoms of a frame, by element where the file has these, or else by type, or by name; with the rows
/// of each. Numbers come in their order, words in that of the alphabet.
struct Kinds {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> rows;

  Kinds(const io::Frame& frame, const std::vector<std::int64_t>& wanted, const std::string& what) {
    const io::AtomLabels& labels = frame.labels;
    const io::AtomWords* const words = labels.elements ? labels.elements.get()
                                       : labels.types  ? labels.types.get()
                                                       : labels.names.get();
    if (words == nullptr)
      throw InputError(
          what +
          ": --partial: the file does not say of what kind the atoms are (element, type or name); name the "
          "two sides by --select 'index A-B' and --cross-select");
    std::vector<std::size_t> order;
    std::vector<bool> is_there(words->words.size());
    for (const std::int64_t row : wanted)
      is_there[static_cast<std::size_t>(words->of_atoms[static_cast<std::size_t>(row)])] = true;
    for (std::size_t word = 0; word < words->words.size(); ++word)
      if (is_there[word]) order.push_back(word);
    constexpr std::size_t most = 40;
    if (order.size() > most)
      throw InputError(
          fmt::format("{}: --partial: there are {} kinds of atoms; at most {} are paired with each other; "
                      "choose some of them by --select",
                      what, order.size(), most));
    const auto as_number = [&](std::size_t word) -> std::optional<std::int64_t> {
      const std::string& text = words->words[word];
      if (text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
      return std::stoll(text);
    };
    std::ranges::sort(order, [&](std::size_t left, std::size_t right) {
      const auto left_number = as_number(left);
      const auto right_number = as_number(right);
      if (left_number && right_number) return *left_number < *right_number;
      if (left_number || right_number) return left_number.has_value();
      return words->words[left] < words->words[right];
    });
    std::vector<std::size_t> place(words->words.size());
    for (const std::size_t word : order) {
      place[word] = names.size();
      names.push_back(words->words[word]);
    }
    rows.resize(names.size());
    for (const std::int64_t row : wanted)
      rows[place[static_cast<std::size_t>(words->of_atoms[static_cast<std::size_t>(row)])]].push_back(row);
  }
};

/// Counts the pairs of frame after frame.
template <class T>
class Counter {
 public:
  Counter(const Arguments& arguments, const Session& session, bool is_trajectory)
      : arguments_(arguments), session_(session), is_trajectory_(is_trajectory) {
    const core::Clock::time_point start = core::Clock::now();
    io::ReadOptions reading = arguments.reading;
    reading.type = sizeof(T) == 4 ? io::ElementType::f32 : io::ElementType::f64;
    if (!arguments.others.empty()) {
      others_reader_.emplace(arguments.others, reading, arguments.cross_selection.has_value());
      if (others_reader_->is_trajectory()) others_frames_.emplace(*others_reader_, arguments.frames);
      else others_.points.values = read_matrix_as<T>(arguments.others, reading);
    }
    if (!arguments.weights.empty()) weights_ = read_vector_as<T>(arguments.weights, reading);
    if (!arguments.other_weights.empty()) other_weights_ = read_vector_as<T>(arguments.other_weights, reading);
    options_.bins = arguments.bins;
    if (!arguments.edges.empty()) options_.bins.edges = bench::read_edges(arguments.edges, reading);
    sum_.read += core::seconds_since(start);
  }

  void add(const io::Frame& frame) {
    const Box box = box_of(frame);
    next_others(box);
    bench::complete_bins(options_.bins, box.lengths);
    options_.box = box.lengths;
    options_.box_origin = box.origin;
    const bool folds_by_itself = arguments_.box.empty() && is_trajectory_ && !box.lengths.empty();
    const std::int64_t folded_before = sum_.folded_atoms;
    naming_inputs(arguments_, [&] {
      io::PointsOf<T> points = std::get<io::PointsOf<T>>(frame.points.values);
      io::PointsOf<T> others;
      if (others_reader_) others = std::get<io::PointsOf<T>>(others_.points.values);
      if (arguments_.fold || folds_by_itself) {
        points = in_box(points, "points", box);
        if (others_reader_) others = in_box(others, "others", box);
      }
      if (arguments_.partial) add_kinds(frame, points);
      else add_sides(frame, points, others);
    });
    if (sum_.folded_atoms > folded_before) ++sum_.folded_frames;
    if (arguments_.radial) sum_.inverse_volumes += 1 / volume_of(arguments_, box);
    if (sum_.frames++ == 0) {
      sum_.dimensions = frame.points.columns();
      sum_.box = box;
    }
  }

  /// When all frames of the points were added: the others must have none left.
  Sum& finish() {
    if (others_frames_ && !arguments_.frames.is_given() && others_frames_->next())
      throw InputError(
          fmt::format("'{}': it has more frames than the points, which are paired frame by frame", arguments_.others));
    return sum_;
  }

 private:
  Box box_of(const io::Frame& frame) const {
    if (arguments_.box.empty() && !frame.undecided_box.empty()) throw InputError(frame.undecided_box + " (--box)");
    Box box{frame.box, frame.box_origin};
    if (!arguments_.box.empty()) box.lengths = arguments_.box;
    if (!arguments_.box_origin.empty()) box.origin = arguments_.box_origin;
    if (box.lengths.empty() && arguments_.box_origin.empty()) box.origin.clear();
    if (!arguments_.box.empty() && arguments_.box_origin.empty() &&
        static_cast<std::int64_t>(box.origin.size()) != frame.points.columns())
      box.origin.clear();
    if (sum_.frames > 0 && box.lengths.empty() != sum_.box.lengths.empty())
      throw InputError(fmt::format("'{}': {} is periodic, {} is not; give one box for all of them with --box",
                                   arguments_.input, box.lengths.empty() ? "the first frame" : "this frame",
                                   box.lengths.empty() ? "this frame" : "the first frame"));
    return box;
  }

  /// The others of the next frame, where they come from a trajectory too. Their box must be that of the points.
  void next_others(const Box& box) {
    if (!others_frames_) return;
    std::optional<io::Frame> frame = others_frames_->next();
    if (!frame) throw InputError(fmt::format("'{}': it has fewer frames than the points", arguments_.others));
    if (arguments_.box.empty() && (frame->box != box.lengths || !frame->undecided_box.empty()))
      throw InputError(fmt::format("'{}': its periodic box is not that of the points; say with --box which one it is",
                                   arguments_.others));
    others_ = std::move(*frame);
  }

  io::PointsOf<T> in_box(const io::PointsOf<T>& points, const char* what, const Box& box) {
    io::PointsOf<T> inside = folded(points.view, what, box, session_.execution.stop);
    for (std::int64_t row = 0; !arguments_.fold && row < inside.view.rows(); ++row)
      if (!std::equal(inside.view.row(row), inside.view.row(row) + inside.view.columns(), points.view.row(row)))
        ++sum_.folded_atoms;
    return inside;
  }

  std::vector<std::int64_t> wanted(const std::optional<io::AtomSelection>& selection, const io::Frame& frame,
                                   const std::string& file) const {
    if (!selection) return all_rows(frame.points.rows());
    return selection->rows(frame, file == "-" ? "standard input" : "'" + file + "'");
  }

  /// One kind of pairs: among the selected points, or between them and others.
  void add_sides(const io::Frame& frame, const io::PointsOf<T>& points, const io::PointsOf<T>& others) {
    if (sum_.frames == 0) sum_.parts.resize(1);
    const std::vector<std::int64_t> rows = wanted(arguments_.selection, frame, arguments_.input);
    sum_.all_points += std::ssize(rows);
    check_weights(frame.points.rows());
    const auto weights_of = [&](const io::VectorOf<T>& weights, const std::vector<std::int64_t>& some) {
      return weights.view.empty() ? weights : picked(weights, some);
    };
    Side side{picked(points, rows), weights_of(weights_, rows)};
    if (others_reader_) {
      const std::vector<std::int64_t> other_rows = wanted(arguments_.cross_selection, others_, arguments_.others);
      if (!other_weights_.view.empty() && other_weights_.view.size() != others.view.rows())
        throw InputError(fmt::format("other weights: there are {} weights for {} others", other_weights_.view.size(),
                                     others.view.rows()));
      return count(sum_.parts[0], side, Side{picked(others, other_rows), weights_of(other_weights_, other_rows)}, 0);
    }
    if (!arguments_.cross_selection) return count(sum_.parts[0], side, std::nullopt, 0);
    const std::vector<std::int64_t> other_rows = wanted(arguments_.cross_selection, frame, arguments_.input);
    if (other_rows == rows) return count(sum_.parts[0], side, std::nullopt, 0);
    std::vector<std::int64_t> both;
    std::ranges::set_intersection(rows, other_rows, std::back_inserter(both));
    if (!both.empty() && !weights_.view.empty())
      throw InputError(fmt::format(
          "'{}': {} atoms are in both selections, which cannot be weighted; make the selections equal or let "
          "them have nothing in common",
          arguments_.input, both.size()));
    count(sum_.parts[0], side, Side{picked(points, other_rows), weights_of(weights_, other_rows)}, std::ssize(both));
  }

  /// All pairs of kinds.
  void add_kinds(const io::Frame& frame, const io::PointsOf<T>& points) {
    const std::vector<std::int64_t> rows = wanted(arguments_.selection, frame, arguments_.input);
    sum_.all_points += std::ssize(rows);
    const Kinds kinds(frame, rows, arguments_.input == "-" ? "standard input" : "'" + arguments_.input + "'");
    if (sum_.frames == 0)
      for (std::size_t first = 0; first < kinds.names.size(); ++first)
        for (std::size_t second = first; second < kinds.names.size(); ++second)
          sum_.parts.emplace_back().first = kinds.names[first], sum_.parts.back().second = kinds.names[second];
    if (sum_.parts.empty()) throw InputError(fmt::format("'{}': --partial: there are no atoms", arguments_.input));
    std::size_t number = 0;
    for (std::size_t first = 0; first < kinds.names.size(); ++first)
      for (std::size_t second = first; second < kinds.names.size(); ++second, ++number) {
        if (number >= sum_.parts.size() || sum_.parts[number].first != kinds.names[first] ||
            sum_.parts[number].second != kinds.names[second])
          throw InputError(
              fmt::format("'{}': --partial: the kinds of atoms are not those of the first frame", arguments_.input));
        const Side side{picked(points, kinds.rows[first]), {}};
        if (first == second) count(sum_.parts[number], side, std::nullopt, 0);
        else count(sum_.parts[number], side, Side{picked(points, kinds.rows[second]), {}}, 0);
      }
    if (number != sum_.parts.size())
      throw InputError(
          fmt::format("'{}': --partial: the kinds of atoms are not those of the first frame", arguments_.input));
  }

  /// Some points and their weights.
  struct Side {
    io::PointsOf<T> points;
    io::VectorOf<T> weights;
  };

  void check_weights(std::int64_t points) const {
    if (!weights_.view.empty() && weights_.view.size() != points)
      throw InputError(fmt::format("weights: there are {} weights for {} points", weights_.view.size(), points));
  }

  void count(Part& part, const Side& points, const std::optional<Side>& others, std::int64_t both) {
    PairHistogramMemory<T> memory;
    memory.weights = points.weights.view;
    if (others) {
      memory.others = others->points.view;
      memory.other_weights = others->weights.view;
    }
    PairHistogramResult result = pair_histogram(points.points.view, options_, memory, session_.execution);
    sum_.memory = std::max(sum_.memory, memory_of(points.points.view, memory, result.report.variant));
    if (both > 0) {  // a point at no distance from itself, once for each that is on both sides
      const auto pairs = static_cast<std::uint64_t>(both);
      (result.edges.front() > 0 ? result.below : result.counts.front()) -= pairs;
      result.pairs -= pairs;
    }
    const std::int64_t n = points.points.view.rows();
    const std::int64_t m = memory.others.rows();
    if (sum_.frames == 0) {
      part.histogram = std::move(result);
      part.points = n;
      part.others = m;
      part.both = both;
    } else {
      pair_histogram_accumulate(part.histogram, result);
    }
    part.same_numbers = part.same_numbers && part.points == n && part.others == m && part.both == both;
  }

  /// Of the host, for the variant that ran.
  std::uint64_t memory_of(MatrixView<const T> points, const PairHistogramMemory<T>& memory,
                          const std::string& variant) const {
    Execution ran = session_.execution;
    ran.variant = variant;
    const PairHistogramShape shape{.points = points.rows(),
                                   .others = memory.others.rows(),
                                   .dimensions = points.columns(),
                                   .element_bytes = static_cast<int>(sizeof(T)),
                                   .weighted = !memory.weights.empty()};
    return pair_histogram_memory(shape, options_, ran).host;
  }

  const Arguments& arguments_;
  const Session& session_;
  bool is_trajectory_;
  PairHistogramOptions options_;
  std::optional<io::FrameReader> others_reader_;
  std::optional<WantedFrames> others_frames_;
  io::Frame others_;
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

void note_folded(const Session& session, const Sum& sum) {
  if (sum.folded_atoms > 0)
    session.note(
        fmt::format("{} of {} lay outside the file's box and {} moved into it by whole lengths, which changes no "
                    "distance",
                    counted(sum.folded_atoms, "atom"), counted(sum.folded_frames, "frame"),
                    sum.folded_atoms == 1 ? "was" : "were"));
}

template <class T>
int count_pairs(const Arguments& arguments, const Session& session, const io::FrameReader& reader, WantedFrames& frames,
                std::optional<io::Frame> frame, core::Clock::time_point start) {
  const char* const dtype = sizeof(T) == 4 ? "f32" : "f64";
  double read = core::seconds_since(start);
  Counter<T> counter(arguments, session, reader.is_trajectory());
  Destination destination(arguments.output, session.execution.stop, true);
  while (frame) {
    naming_frame(reader.is_trajectory(), frames.number(), [&] { counter.add(*frame); });
    const core::Clock::time_point read_start = core::Clock::now();
    frame = frames.next();
    read += core::seconds_since(read_start);
  }
  session.end_progress();
  const Sum& sum = counter.finish();
  note_tiny_edges(session, sum.parts.front().histogram.edges);
  note_folded(session, sum);
  const std::vector<std::optional<Radial>> radials = radials_of(arguments, sum);

  const auto write_start = core::Clock::now();
  const Table table = table_of(arguments, sum, radials);
  const auto summary = [&] {
    Json all = summary_of(arguments, sum, dtype, radials);
    std::vector<Phase> phases;
    for (const Part& part : sum.parts)
      for (const Phase& phase : part.histogram.report.phases) core::add_phase(phases, phase.name, phase.seconds);
    all["seconds"] =
        seconds_of(read + sum.read, "histogram", phases, core::seconds_since(write_start), core::seconds_since(start));
    return all;
  };
  if (destination.is_file()) {
    core::AtomicFile& file = destination.file();
    if (destination.format() == TableFormat::npy) {
      io::write_npy_table(file, table.columns);
    } else {
      const std::string text =
          destination.format() == TableFormat::csv ? csv_text(table.columns) : json_text(summary());
      file.expect(text.size());
      file.write(text);
    }
    file.commit();
  }
  if (session.json) {
    session.print_json(summary());
    return 0;
  }
  if (!destination.is_file()) session.print(csv_text(table.columns));
  session.note(closing_line(sum, dtype, core::seconds_since(start)) +
               (destination.is_file() ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

/// The number of all frames of a file, for ranges that count from the end.
std::int64_t frames_of(const Arguments& arguments) {
  if (arguments.input == "-")
    throw UsageError(
        fmt::format("--frames {}: standard input does not tell how many frames will come, so that none can be "
                    "counted from the end; name a file, or count from the beginning",
                    arguments.frames.text()));
  io::FrameReader reader(arguments.input, arguments.reading);
  std::int64_t frames = 0;
  while (reader.skip()) ++frames;
  return frames;
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

void add_atom_options(Options& options, Arguments& arguments) {
  options.heading("Atoms and frames of a trajectory");
  const auto selection = [](std::optional<io::AtomSelection>& target, const char* name) {
    return [&target, name](const std::string& text) { target.emplace(text, name); };
  };
  options.value(
      "--select", "ATOMS",
      "count these only: 'type O', 'element H', 'name OW', 'residue SOL', 'id 1-100,205', 'index 0-99', 'all', and "
      "what 'not', 'and', 'or' and parentheses make of them",
      selection(arguments.selection, "--select"));
  options.value("--cross-select", "ATOMS",
                "count the pairs between the points and these atoms, of the file of --cross where there is one",
                selection(arguments.cross_selection, "--cross-select"));
  options.useless_where(
      options.flag("--partial", arguments.partial,
                   "columns for each pair of kinds of atoms: by element where the file has it, or else type, or name"),
      [&arguments]() -> std::string {
        if (arguments.is_cross()) return "it pairs all kinds with each other; leave out --cross and --cross-select";
        return arguments.weights.empty() ? "" : "it counts without weights; leave out --weights";
      });
  options.value(
      "--frames", "A:B:STEP",
      "of the frames, counted from 0: from A on, before B, every STEP-th, by the rules of Python's slices; or the "
      "number of one [all]",
      [&arguments](const std::string& text) { arguments.frames = FrameRange(text); });
}

Action setup_pair_histogram(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(
      options.file("INPUT", arguments->input, "INPUT",
                   "points with 1 to 3 coordinates, one per row: .npy, .csv, .tsv; - for CSV on standard "
                   "input; or the frames of a trajectory, added up: .xyz, .extxyz, .lammpstrj, .dump, .gro, .dcd; "
                   "text also with .gz or on standard input"));
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
  options.flag("--centers", arguments->centers, "also a column with the middle of each bin");
  add_atom_options(options, *arguments);
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
    io::FrameReader reader(arguments->input, arguments->reading, arguments->needs_labels());
    if (!reader.is_trajectory()) {  // what is missing is refused before anything is read
      if (arguments->frames.is_given())
        throw UsageError(fmt::format("--frames has no effect: '{}' is no trajectory", arguments->input));
      PairHistogramBins bins = arguments->bins;
      const Box box{arguments->box, arguments->box_origin};
      bench::complete_bins(bins, box.lengths);
      if (arguments->radial) volume_of(*arguments, box);
    }
    if (arguments->frames.needs_count()) arguments->frames.resolve(frames_of(*arguments));
    WantedFrames frames(reader, arguments->frames);
    std::optional<io::Frame> frame = frames.next();
    if (!frame)
      throw InputError(fmt::format("'{}': --frames {} takes none of its {}, counted from 0", arguments->input,
                                   arguments->frames.text(),
                                   counted(arguments->input == "-" ? frames.seen() : frames_of(*arguments), "frame")));
    const bool single = frame->points.type() == io::ElementType::f32;
    return single ? count_pairs<float>(*arguments, session, reader, frames, std::move(frame), start)
                  : count_pairs<double>(*arguments, session, reader, frames, std::move(frame), start);
  };
}

}  // namespace

ProblemCommands pair_histogram_commands();
ProblemCommands pair_histogram_commands() {
  return {.commands = {{"pair-histogram", "count pairs of points by their distance",
                        "gradus pair-histogram atoms.npy --bin-width 0.05 --box 40,40,40 --rdf -o rdf.csv\n"
                        "gradus pair-histogram stars.csv --edges edges.csv --cross galaxies.csv\n"
                        "gradus pair-histogram lab-atoms.npy --bin-width 500 --bins 80\n"
                        "gradus pair-histogram trajectory.xyz --bin-width 0.05 --rdf --partial --frames ::10",
                        Common::job, "pair_histogram", setup_pair_histogram,
                        "gradus pair-histogram points.npy --bin-width 2 --bins 50", "count their pairs by distance"}},
          .examples = {
              {"verify", "gradus verify pair-histogram --variant openmp_privatized --threads 1,2"},
              {"bench", "gradus bench pair-histogram --data atoms.npy --bin-width 0.05 --cutoff 1 --box 40,40,40"}}};
}

}  // namespace gradus::cli
