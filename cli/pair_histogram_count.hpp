// Counts pairs frame by frame: the pairs of all points, of selected atoms, or of every two kinds of atoms.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/pair_histogram.hpp"
#include "cli/input.hpp"
#include "cli/pair_histogram_groups.hpp"
#include "cli/pair_histogram_result.hpp"
#include "cli/ranks.hpp"
#include "cli/session.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/bins.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/files/trajectory.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::cli::pairs {

/// Calls the function. If the library reports an invalid input, names the file from which the input came.
template <class Function>
decltype(auto) naming_inputs(const Arguments& arguments, const Function& function) {
  try {
    return naming_files(
        {{"points", arguments.input},
         {"others", arguments.others},
         {"weights", arguments.weights.empty() ? arguments.input : arguments.weights},
         {"other weights", arguments.other_weights.empty() ? arguments.others : arguments.other_weights}},
        function);
  } catch (UsageError& error) {
    ErrorFields fields = error.fields();
    if (error.code() == error_code::no_effect && fields.argument == "box_origin")
      error.set_message("--box-origin has no effect: there is no periodic box, which --box or a trajectory gives");
    // An invalid value in a file is an InputError, and not a UsageError.
    if (error.code() == error_code::flat_cell && arguments.options.box.empty()) {
      fields.file = arguments.input;
      throw InputError(about(shown_path(arguments.input)) + error.message(), fields);
    }
    if (error.message().subject != "edges" || arguments.edges.empty()) throw;
    InputError of_file(error.message(), fields);
    name_file(of_file, {{"edges", arguments.edges}});
    throw InputError(of_file);
  }
}

/// Returns the given rows of the matrix. If all rows are given, returns a view without copying.
template <class T>
files::PointsOf<T> picked(const files::PointsOf<T>& points, const std::vector<std::int64_t>& rows) {
  if (std::ssize(rows) == points.view.rows()) return points;
  Matrix<T> some(std::ssize(rows), points.view.columns());
  for (std::int64_t at = 0; at < some.rows(); ++at)
    std::copy_n(points.view.row(rows[static_cast<std::size_t>(at)]), some.columns(), some.row(at));
  return files::own(std::move(some));
}

template <class T>
files::VectorOf<T> picked(const files::VectorOf<T>& values, const std::vector<std::int64_t>& rows) {
  if (std::ssize(rows) == values.view.size()) return values;
  auto some = std::make_shared<std::vector<T>>();
  for (const std::int64_t row : rows) some->push_back(values.view[row]);
  return {{some->data(), std::ssize(*some)}, some};
}

inline std::vector<std::int64_t> all_rows(std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < count; ++row) rows[static_cast<std::size_t>(row)] = row;
  return rows;
}

/// The kinds of atoms in a frame, and the rows of each kind. The kinds are elements if the file has elements, otherwise
/// types, otherwise names. Numeric kinds are sorted by number, names alphabetically.
struct Kinds {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> rows;

  Kinds(const files::Frame& frame, const std::vector<std::int64_t>& wanted, const std::string& what) {
    const files::AtomLabels& labels = frame.labels;
    const files::AtomWords* const words = labels.elements ? labels.elements.get()
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

template <class T>
class Counter {
 public:
  Counter(const Arguments& arguments, const Session& session, const files::FrameReader& reader,
          const files::Points& points, AtomGroups& groups)
      : arguments_(arguments), session_(session), groups_(groups), is_trajectory_(reader.is_trajectory()) {
    const core::Clock::time_point start = core::Clock::now();
    files::ReadOptions reading = arguments.reading;
    reading.type = sizeof(T) == 4 ? files::ElementType::f32 : files::ElementType::f64;
    if (!arguments.others.empty()) {
      others_reader_.emplace(arguments.others, reading, arguments.cross_selection.has_value());
      require_same_unit(reader, *others_reader_);
      if (others_reader_->is_trajectory())
        others_frames_.emplace(*others_reader_, arguments.others, arguments.frames, session);
      else others_.points = read_others<T>(arguments.others, reading, points, arguments.input);
    }
    if (!arguments.weights.empty()) weights_ = read_vector_as<T>(arguments.weights, reading);
    if (!arguments.other_weights.empty()) other_weights_ = read_vector_as<T>(arguments.other_weights, reading);
    bins_ = arguments.options.bins;
    if (!arguments.edges.empty()) bins_.edges = bench::read_edges(arguments.edges, reading);
    sum_.read += core::seconds_since(start);
  }

  /// Returns true if the second set of points is a trajectory, too. It then has one frame for each frame of the points.
  bool pairs_frames() const { return others_frames_.has_value(); }
  const WantedFrames* others_frames() const { return others_frames_ ? &*others_frames_ : nullptr; }

  /// Adds the pairs of a frame. If the bins reach too far for the box of this frame, throws an error. Its message
  /// states the limit over all frames, which reach_of_frames() returns.
  void add(const files::Frame& read, const std::function<double()>& reach_of_frames) {
    const Box box = box_here(read);
    files::Frame frame;
    session_.ranks().agree([&] { frame = groups_.prepared(read, options_in(arguments_, box)); });
    next_others(box);
    require_same_atoms(frame, first_ids_,
                       !weights_.view.empty() || goes_by_place(arguments_.selection) ||
                           (others_reader_ == std::nullopt && goes_by_place(arguments_.cross_selection)),
                       arguments_.input);
    PairHistogramOptions options = options_in(arguments_, box);
    options.bins = bins_;
    bench::complete_bins(options);
    bins_ = options.bins;
    const bool folds_by_itself = arguments_.options.box.empty() && is_trajectory_ && !box.lengths.empty();
    options.fold = arguments_.options.fold || folds_by_itself;
    if (arguments_.options.fold && box.lengths.empty()) throw UsageError("--fold needs a periodic box");
    naming_inputs(arguments_, [&] {
      std::vector<Pairs> all;
      pair_histogram_detail::Arranged<T> job;
      session_.ranks().agree([&] {
        files::PointsOf<T> points = std::get<files::PointsOf<T>>(frame.points.values);
        files::PointsOf<T> others;
        if (others_reader_) others = std::get<files::PointsOf<T>>(others_.points.values);
        job = pair_histogram_detail::arrange<T>(points.view, others.view, options,
                                                cpu::thread_count(session_.execution), session_.execution.stop);
        if (is_trajectory_ && arguments_.options.box.empty() && !options.beyond_half)
          check_reach(job.options, reach_of_frames);
        points.view = job.points;
        others.view = job.others;
        if (arguments_.partial) all = of_kinds(frame, points);
        else all.push_back(of_sides(frame, points, others));
      });
      const double volume = arguments_.radial ? volume_of(arguments_, box) : 1;
      std::vector<double> shells;  // of --beyond-half
      if (arguments_.radial && options.beyond_half)
        shells = pair_histogram_shells(pair_histogram_detail::Bins(bins_).nominal_edges(), options);
      for (const Pairs& pairs : all) count(frame, pairs, job.options, volume, shells);
      if (!arguments_.options.fold) sum_.folded_atoms += job.folded;
      if (!arguments_.options.fold && job.folded > 0) ++sum_.folded_frames;
      if (sum_.frames == 0) sum_.dimensions = job.dimensions;
    });
    if (arguments_.radial) require_space(sum_);
    if (sum_.frames++ == 0) {
      sum_.box = box;
      sum_.options = options;
    }
  }

  /// Ends the count after the last frame of the points. Throws InputError if the second trajectory has more frames, or
  /// if a selection has matched no atom of any frame.
  Sum& finish() {
    for (const Matches& one : {selected_, cross_selected_})
      if (one.atoms == 0 && !one.no_match.empty()) throw InputError(one.no_match);
    if (others_frames_ && !arguments_.frames.is_given() && others_frames_->next())
      throw InputError(
          fmt::format("'{}': it has more frames than the points, which are paired frame by frame", arguments_.others));
    return sum_;
  }

 private:
  Box box_here(const files::Frame& frame) const {
    Box box = box_of(arguments_, frame);
    if (sum_.frames > 0 && box.lengths.empty() != sum_.box.lengths.empty())
      throw InputError(fmt::format("'{}': {} is periodic, {} is not; give one box for all of them with --box",
                                   arguments_.input, box.lengths.empty() ? "the first frame" : "this frame",
                                   box.lengths.empty() ? "this frame" : "the first frame"));
    if (sum_.frames > 0 && box.periodic != sum_.box.periodic)
      throw InputError(
          fmt::format("'{}': the box of the first frame is periodic in {}, the box of this frame in {}; give one "
                      "answer for all of them with --periodic",
                      arguments_.input, sum_.box.periodic, box.periodic));
    return box;
  }

  /// `goes_by_place` is true if weights or an index refer to atoms by position. In this case, throws InputError if the
  /// atoms of this frame differ from the atoms of the first frame.
  static void require_same_atoms(const files::Frame& frame, std::shared_ptr<const std::vector<std::int64_t>>& first,
                                 bool goes_by_place, const std::string& file) {
    const auto& ids = frame.labels.ids;
    if (!goes_by_place || !ids) return;
    if (!first) first = ids;
    if (*first != *ids)
      throw InputError(
          fmt::format("'{}': the ids of the atoms differ from the first frame, and weights and 'index' go by the place "
                      "in the order of the ids; select by 'id' or 'type', or write the same atoms in all frames",
                      file));
  }

  void require_same_unit(const files::FrameReader& reader, const files::FrameReader& others) const {
    const auto name = [](files::LengthUnit unit) { return unit == files::LengthUnit::nanometre ? "nm" : "angstrom"; };
    if (reader.unit() == files::LengthUnit::unknown || others.unit() == files::LengthUnit::unknown ||
        reader.unit() == others.unit())
      return;
    throw InputError(fmt::format("lengths in '{}' are in {}, those in '{}' in {}; convert one of the files",
                                 arguments_.input, name(reader.unit()), arguments_.others, name(others.unit())));
  }

  void check_reach(const PairHistogramOptions& options, const std::function<double()>& reach_of_frames) const {
    namespace room = pair_histogram_detail;
    try {
      room::check_reach(room::Bins(options.bins).reach(), options.box);
    } catch (UsageError& error) {
      ErrorFields fields = error.fields();
      fields.remedy =
          option("PairHistogramBins::cutoff", std::min(room::greatest_reach(options.box), reach_of_frames())) +
          " fits all frames";
      error.set_fields(fields);
      throw;
    }
  }

  /// If there is a second trajectory, reads its next frame. Throws InputError if the boxes of both frames differ.
  void next_others(const Box& box) {
    if (!others_frames_) return;
    std::optional<files::Frame> frame = others_frames_->next();
    if (!frame) throw InputError(fmt::format("'{}': it has fewer frames than the points", arguments_.others));
    const bool is_undecided = arguments_.options.periodic.empty() && !frame->undecided_box.empty();
    if (arguments_.options.box.empty() && (is_undecided || !(box_of(arguments_, *frame) == box)))
      throw InputError(
          fmt::format("'{}': its periodic box differs from the box of the points; say with --box which one it is",
                      arguments_.others));
    require_same_atoms(*frame, first_other_ids_,
                       !other_weights_.view.empty() || goes_by_place(arguments_.cross_selection), arguments_.others);
    others_ = std::move(*frame);
  }

  static bool goes_by_place(const std::optional<files::AtomSelection>& selection) {
    return selection && selection->is_by_place();
  }

  /// The atoms that a selection has matched in all frames, and the message for the case that there are none.
  struct Matches {
    std::int64_t atoms = 0;
    std::string no_match;
  };

  /// Returns the selected rows. Throws InputError if there are none, except that a selection by coordinates may match
  /// in another frame: finish() throws if it never does.
  std::vector<std::int64_t> wanted(const std::optional<files::AtomSelection>& selection, const files::Frame& frame,
                                   const std::string& file, Matches& matches) const {
    if (!selection) return all_rows(frame.points.rows());
    const std::string what = shown_path(file);
    std::vector<std::int64_t> rows = selection->rows(frame, what);
    matches.atoms += std::ssize(rows);
    if (rows.empty() && matches.no_match.empty()) matches.no_match = selection->no_match(frame, what);
    if (rows.empty() && !selection->is_by_coordinates()) throw InputError(matches.no_match);
    return rows;
  }

  struct Side {
    files::PointsOf<T> points;
    files::VectorOf<T> weights;
    std::vector<std::int64_t> rows;  ///< rows of the frame that the points are
  };
  struct Pairs {
    std::size_t part = 0;  ///< index in Sum::parts
    Side points;
    std::optional<Side> others;
    std::int64_t both = 0;  ///< number of points that are in both sets
  };

  /// Returns the pairs among the selected points or, if there is a second set of points, the pairs between the two
  /// sets.
  Pairs of_sides(const files::Frame& frame, const files::PointsOf<T>& points, const files::PointsOf<T>& others) {
    if (sum_.frames == 0) sum_.parts.resize(1);
    const std::vector<std::int64_t> rows = wanted(arguments_.selection, frame, arguments_.input, selected_);
    sum_.all_points += std::ssize(rows);
    const files::VectorOf<T> own_weights =
        weights_of_rows(frame.points, weights_, arguments_.weights, arguments_.input);
    check_weights(own_weights, frame.points.rows());
    const auto weights_of = [&](const files::VectorOf<T>& weights, const std::vector<std::int64_t>& some) {
      return weights.view.empty() ? weights : picked(weights, some);
    };
    Pairs pairs;
    pairs.points = {picked(points, rows), weights_of(own_weights, rows), rows};
    if (others_reader_) {
      const std::vector<std::int64_t> other_rows =
          wanted(arguments_.cross_selection, others_, arguments_.others, cross_selected_);
      const files::VectorOf<T> other_weights =
          weights_of_rows(others_.points, other_weights_, arguments_.other_weights, arguments_.others);
      if (!other_weights.view.empty() && other_weights.view.size() != others.view.rows())
        throw InputError(about("other weights") + fmt::format("there are {} weights for {} others",
                                                              other_weights.view.size(), others.view.rows()));
      pairs.others = Side{picked(others, other_rows), weights_of(other_weights, other_rows), other_rows};
      return pairs;
    }
    if (!arguments_.cross_selection) return pairs;
    const std::vector<std::int64_t> other_rows =
        wanted(arguments_.cross_selection, frame, arguments_.input, cross_selected_);
    if (other_rows == rows) return pairs;
    std::vector<std::int64_t> both;
    std::ranges::set_intersection(rows, other_rows, std::back_inserter(both));
    if (!both.empty() && !own_weights.view.empty())
      throw InputError(fmt::format(
          "'{}': {} atoms are in both selections, which cannot be weighted; make the selections equal or let "
          "them have nothing in common",
          arguments_.input, both.size()));
    pairs.others = Side{picked(points, other_rows), weights_of(own_weights, other_rows), other_rows};
    pairs.both = std::ssize(both);
    return pairs;
  }

  /// Returns the pairs of the atoms of every two kinds.
  std::vector<Pairs> of_kinds(const files::Frame& frame, const files::PointsOf<T>& points) {
    const std::vector<std::int64_t> rows = wanted(arguments_.selection, frame, arguments_.input, selected_);
    sum_.all_points += std::ssize(rows);
    const Kinds kinds(frame, rows, arguments_.input == "-" ? "standard input" : "'" + arguments_.input + "'");
    if (sum_.frames == 0)
      for (std::size_t first = 0; first < kinds.names.size(); ++first)
        for (std::size_t second = first; second < kinds.names.size(); ++second)
          sum_.parts.emplace_back().first = kinds.names[first], sum_.parts.back().second = kinds.names[second];
    if (sum_.parts.empty()) throw InputError(fmt::format("'{}': --partial: there are no atoms", arguments_.input));
    std::vector<Side> sides;
    for (const std::vector<std::int64_t>& some : kinds.rows) sides.push_back({picked(points, some), {}, some});
    std::vector<Pairs> all;
    for (std::size_t first = 0; first < kinds.names.size(); ++first)
      for (std::size_t second = first; second < kinds.names.size(); ++second) {
        const std::size_t number = all.size();
        if (number >= sum_.parts.size() || sum_.parts[number].first != kinds.names[first] ||
            sum_.parts[number].second != kinds.names[second])
          throw InputError(
              fmt::format("'{}': --partial: the kinds of atoms differ from the first frame", arguments_.input));
        Pairs& pairs = all.emplace_back();
        pairs.part = number;
        pairs.points = sides[first];
        if (first != second) pairs.others = sides[second];
      }
    if (all.size() != sum_.parts.size())
      throw InputError(
          fmt::format("'{}': --partial: the kinds of atoms differ from the first frame", arguments_.input));
    return all;
  }

  /// Returns the weights, from a column of the points or from a separate file.
  static files::VectorOf<T> weights_of_rows(const files::Points& points, const files::VectorOf<T>& of_file,
                                            const std::string& file, const std::string& input) {
    return points.weights.empty() ? files::of_rows_left(of_file, points.dropped, points.rows(), file)
                                  : files::weights_as<T>(points, input);
  }

  static void check_weights(const files::VectorOf<T>& weights, std::int64_t points) {
    if (!weights.view.empty() && weights.view.size() != points)
      throw InputError(about("weights") +
                       fmt::format("there are {} weights for {} points", weights.view.size(), points));
  }

  static void count_in_either_order(PairHistogramResult& result) {
    for (std::uint64_t& count : result.counts) count *= 2;
    result.below *= 2;
    result.beyond *= 2;
    result.pairs *= 2;
  }

  /// Turns pairs within one set into pairs between this set and itself.
  static void count_in_either_order(Part& part) {
    count_in_either_order(part.histogram);
    part.is_within = false;
    part.others = part.points;
    part.pairs_per_volume *= 2;
    for (double& pairs : part.uniform) pairs *= 2;
    part.excluded *= 2;
    for (Part::Share& share : part.frames) {
      for (std::uint64_t& count : share.counts) count *= 2;
      share.others = share.points;
      share.pairs_per_volume *= 2;
      for (double& pairs : share.uniform) pairs *= 2;
    }
  }

  void count(const files::Frame& frame, const Pairs& pairs, const PairHistogramOptions& options, double volume,
             const std::vector<double>& shells) {
    const MatrixView<const T> points = pairs.points.points.view;
    PairHistogramMemory<T> memory;
    memory.weights = pairs.points.weights.view;
    if (pairs.others) {
      memory.others = pairs.others->points.view;
      memory.other_weights = pairs.others->weights.view;
    }
    PairHistogramResult result = pair_histogram(points, options, memory, session_.execution);
    session_.ranks().agree(
        [&] { sum_.memory = std::max(sum_.memory, memory_of(points, options, memory, result.report.variant)); });
    const std::uint64_t all_pairs = result.pairs;
    bool has_themselves = false;
    if (arguments_.exclude) has_themselves = exclude(frame, pairs, options, result);
    if (pairs.both > 0 && !has_themselves) {  // subtracts pairs of a point with itself, whose distance is 0
      const auto themselves = static_cast<std::uint64_t>(pairs.both);
      (result.edges.front() > 0 ? result.below : result.counts.front()) -= themselves;
      result.pairs -= themselves;
    }
    const std::int64_t n = points.rows();
    std::int64_t m = memory.others.rows();
    std::uint64_t excluded = all_pairs - result.pairs;
    Part& part = sum_.parts[pairs.part];
    const bool is_first = sum_.frames == 0;
    if (is_first) part.is_within = !pairs.others;
    else if (part.is_within != !pairs.others) {  // the two selections are equal in some frames only
      if (!result.weighted.empty())
        throw InputError(fmt::format(
            "'{}': the two selections have the same atoms in some frames and not in others, which cannot be weighted; "
            "make them equal or let them have nothing in common",
            arguments_.input));
      if (part.is_within) count_in_either_order(part);
      else {
        count_in_either_order(result);
        excluded *= 2;
        m = n;
      }
    }
    const double pairs_per_volume = static_cast<double>(result.pairs) / volume;
    part.excluded += excluded;
    part.points += n;
    part.others += m;
    Part::Share share{result.counts, n, m, pairs_per_volume, shells};
    for (double& shell : share.uniform) shell *= pairs_per_volume;
    part.pairs_per_volume += pairs_per_volume;
    add_to(part.uniform, share.uniform);
    if (arguments_.blocks > 0) part.frames.push_back(std::move(share));
    if (is_first) part.histogram = std::move(result);
    else pair_histogram_accumulate(part.histogram, result);
  }

  /// Subtracts the pairs of --exclude-same. Returns true if the pairs of a point with itself are among them.
  bool exclude(const files::Frame& frame, const Pairs& pairs, const PairHistogramOptions& options,
               PairHistogramResult& result) {
    AtomGroups::Exclusion left_out;
    session_.ranks().agree(
        [&] { left_out = groups_.exclusion(frame, pairs.points.rows, pairs.others ? &pairs.others->rows : nullptr); });
    const PairHistogramResult some = pair_histogram_detail::count_in_groups<T>(
        pairs.points.points.view, pairs.others ? pairs.others->points.view : MatrixView<const T>(),
        left_out.points.view(), left_out.others.view(), options, session_.execution);
    for (std::size_t bin = 0; bin < some.counts.size(); ++bin) result.counts[bin] -= some.counts[bin];
    result.below -= some.below;
    result.beyond -= some.beyond;
    result.pairs -= some.pairs;
    return left_out.has_themselves;
  }

  /// Returns the host memory that the variant needed in this run.
  std::uint64_t memory_of(MatrixView<const T> points, const PairHistogramOptions& options,
                          const PairHistogramMemory<T>& memory, const std::string& variant) const {
    Execution ran = session_.execution;
    ran.variant = variant;
    const PairHistogramShape shape{.points = points.rows(),
                                   .others = memory.others.rows(),
                                   .dimensions = points.columns(),
                                   .element_bytes = static_cast<int>(sizeof(T)),
                                   .weighted = !memory.weights.empty()};
    return pair_histogram_memory(shape, options, ran).host;
  }

  const Arguments& arguments_;
  const Session& session_;
  AtomGroups& groups_;
  bool is_trajectory_;
  PairHistogramBins bins_;
  std::optional<files::FrameReader> others_reader_;
  std::optional<WantedFrames> others_frames_;
  files::Frame others_;
  std::shared_ptr<const std::vector<std::int64_t>> first_ids_;
  std::shared_ptr<const std::vector<std::int64_t>> first_other_ids_;
  files::VectorOf<T> weights_;
  files::VectorOf<T> other_weights_;
  Matches selected_;
  Matches cross_selected_;
  Sum sum_;
};

}  // namespace gradus::cli::pairs
