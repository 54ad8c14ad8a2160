// Types and functions that the parts of `gradus pair-histogram` share: the request, the sum over frames, and the
// report.
#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/pair_histogram_frames.hpp"
#include "files/npy.hpp"
#include "files/points.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/files/atom_selection.hpp"

namespace gradus::cli::pairs {

struct Arguments {
  std::string input;
  std::string others;
  std::string weights;
  std::string other_weights;
  std::string edges;
  std::string output;
  std::string page;  ///< the file of --report
  files::ReadOptions reading;
  /// The axes along which the box repeats. If `periodic` is empty, a box from --box repeats along all axes, and for a
  /// box from the file, the file states the axes.
  PairHistogramOptions options{.periodic = ""};
  bool radial = false;
  bool centers = false;
  bool partial = false;
  double volume = 0;  ///< volume for --rdf; 0: the volume of the box
  std::optional<files::AtomSelection> selection;
  std::optional<files::AtomSelection> cross_selection;
  FrameRange frames;

  bool is_cross() const { return !others.empty() || cross_selection.has_value(); }
  bool is_weighted() const { return !weights.empty() || !reading.columns.weight.empty(); }
  bool needs_labels() const { return partial || selection || cross_selection; }
};

/// The periodic box of a frame. It comes from the command line. If the command line has no box, it comes from the file.
/// In open space, `lengths` is empty.
struct Box {
  std::vector<double> lengths;  ///< lengths of the edges, or the nine components of a triclinic cell's vectors
  std::vector<double> origin;
  std::string periodic = "xyz";

  bool operator==(const Box&) const = default;
};

/// Returns the box of a frame. Throws InputError if neither the file nor the command line states whether the box is
/// periodic.
Box box_of(const Arguments& arguments, const files::Frame& frame);

/// Returns the library's options for points in this box.
PairHistogramOptions options_in(const Arguments& arguments, const Box& box);

/// Returns the greatest distance that bins may reach in the boxes of all frames. It is infinite in open space. Reads no
/// atoms.
double least_reach(const Arguments& arguments, files::FrameReader& reader, std::int64_t first_frame = 0);

/// Returns the volume of a frame for --rdf. Throws UsageError in open space without --volume.
double volume_of(const Arguments& arguments, const Box& box);

/// Pairs of one kind: all pairs or, with --partial, the pairs of two kinds of atoms.
struct Part {
  std::string first;  ///< with --partial: the kinds of atoms
  std::string second;
  PairHistogramResult histogram;
  std::int64_t points = 0;  ///< number of points in a frame; if the number varies, its value in the first frame
  std::int64_t others = 0;  ///< number of points of the second set; 0: pairs are counted within the first set
  std::int64_t both = 0;    ///< number of points that are in both sets; they form no pair with themselves
  bool same_numbers = true;

  bool is_within() const { return others == 0; }
  std::string kinds() const { return first + "-" + second; }
};

/// The sum over all frames.
struct Sum {
  std::vector<Part> parts;
  std::int64_t frames = 0;
  std::int64_t dimensions = 0;
  std::int64_t all_points = 0;
  double inverse_volumes = 0;
  Box box;
  PairHistogramOptions options;
  std::uint64_t memory = 0;       ///< maximum memory, in bytes
  double read = 0;                ///< time of reading, in seconds
  std::int64_t folded_atoms = 0;  ///< number of atoms that were moved into the box although --fold was not given
  std::int64_t folded_frames = 0;

  double volume() const { return static_cast<double>(frames) / inverse_volumes; }
};

/// Called with --rdf. Throws UsageError if the points are in a plane but have three coordinates.
void require_space(const Sum& sum);

using Radial = PairHistogramRadialDistribution;

/// Returns the radial distribution of each part. Without --rdf, returns nothing.
std::vector<std::optional<Radial>> radials_of(const Arguments& arguments, const Sum& sum);

/// A table. Its columns refer to `names` and `values`.
struct Table {
  std::deque<std::string> names;
  std::deque<std::vector<double>> values;
  std::vector<files::NpyColumn> columns;

  void add(std::string name, std::span<const std::uint64_t> counts) {
    columns.push_back({names.emplace_back(std::move(name)), counts});
  }
  void add(std::string name, std::vector<double> numbers) {
    columns.push_back(
        {names.emplace_back(std::move(name)), std::span<const double>(values.emplace_back(std::move(numbers)))});
  }
};

Table table_of(const Arguments& arguments, const Sum& sum, const std::vector<std::optional<Radial>>& radials);
std::string csv_text(std::span<const files::NpyColumn> columns);
nlohmann::ordered_json summary_of(const Arguments& arguments, const Sum& sum, const char* dtype,
                                  const std::vector<std::optional<Radial>>& radials);
std::string closing_line(const Sum& sum, const char* dtype, double seconds, const std::string& threads);

}  // namespace gradus::cli::pairs
