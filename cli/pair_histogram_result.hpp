// Types and functions that the parts of `gradus pair-histogram` share: the request, the sum over frames, and the
// report.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/destination.hpp"
#include "cli/pair_histogram_frames.hpp"
#include "core/phases.hpp"
#include "files/npy.hpp"
#include "files/points.hpp"
#include "gradus/pair_histogram.hpp"
#include "gradus/pair_histogram_structure_factor.hpp"
#include "pair_histogram/files/atom_selection.hpp"
#include "pair_histogram/files/topology.hpp"

namespace gradus::cli::pairs {

/// Pairs of atoms that do not count: of one residue, of one molecule, or joined by a bond.
enum class Exclude : std::uint8_t { residue, molecule, bonded };

}  // namespace gradus::cli::pairs

namespace gradus {
template <>
inline constexpr auto enum_names<cli::pairs::Exclude> =
    std::to_array<EnumName<cli::pairs::Exclude>>({{cli::pairs::Exclude::residue, "residue"},
                                                  {cli::pairs::Exclude::molecule, "molecule"},
                                                  {cli::pairs::Exclude::bonded, "bonded"}});
}  // namespace gradus

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
  std::string topology;  ///< the file that names the atoms of `input`; empty: `input` itself
  std::optional<Exclude> exclude;
  std::optional<files::AtomGrouping> mass_centers;
  StructureFactorBins waves;  ///< of --structure-factor; q_max is 0 without it
  std::int64_t blocks = 0;    ///< number of blocks of frames for standard errors; 0: no errors

  bool is_cross() const { return !others.empty() || cross_selection.has_value(); }
  bool is_weighted() const { return !weights.empty() || !reading.columns.weight.empty(); }
  bool has_waves() const { return waves.q_max > 0; }
  bool uses_topology() const {
    const bool selects = selection && selection->is_by_labels();
    const bool selects_others = others.empty() && cross_selection && cross_selection->is_by_labels();
    return partial || exclude || mass_centers || selects || selects_others;
  }
  bool needs_labels() const { return partial || selection || cross_selection || exclude || mass_centers; }
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

/// If the error is about an argument that an option of the command line gives, names the option in the message.
void name_option(const Arguments& arguments, Error& error);

/// Returns the library's options for points in this box.
PairHistogramOptions options_in(const Arguments& arguments, const Box& box);

/// Returns the greatest distance that bins may reach in the boxes of all frames. It is infinite in open space. Reads no
/// atoms.
double least_reach(const Arguments& arguments, files::FrameReader& reader, std::int64_t first_frame = 0);

/// Reads the file of --cross. If both files name their columns, finds the columns of the points by their names. Throws
/// InputError if the chosen columns of both files have the same names in different orders. `input` is the file of the
/// points.
template <class T>
files::Points read_others(const std::string& path, files::ReadOptions reading, const files::Points& points,
                          const std::string& input);

/// Throws InputError if there are fewer frames than --blocks needs.
void require_frames_for_blocks(const Arguments& arguments, std::int64_t frames);

/// Returns the volume of a frame for --rdf. Throws UsageError in open space without --volume.
double volume_of(const Arguments& arguments, const Box& box);

/// Pairs of one kind: all pairs or, with --partial, the pairs of two kinds of atoms.
struct Part {
  std::string first;  ///< with --partial: the kinds of atoms
  std::string second;
  PairHistogramResult histogram;
  bool is_within = true;    ///< pairs are counted within the first set
  std::int64_t points = 0;  ///< sum of the numbers of points of all frames
  std::int64_t others = 0;  ///< sum of the numbers of points of the second set
  double pairs_per_volume = 0;
  /// With --beyond-half, the number of pairs of uniform points in each bin: the sum over the frames of pairs_per_volume
  /// times the size of the shell in the box. Otherwise empty.
  std::vector<double> uniform;
  std::uint64_t excluded = 0;  ///< pairs that --exclude-same left out
  /// What one frame added.
  struct Share {
    std::vector<std::uint64_t> counts;
    std::int64_t points = 0;
    std::int64_t others = 0;
    double pairs_per_volume = 0;
    std::vector<double> uniform;  ///< see Part::uniform
  };
  std::vector<Share> frames;  ///< only with --blocks

  std::string kinds() const { return first + "-" + second; }
};

/// Adds numbers to a sum, which is empty at first.
void add_to(std::vector<double>& sum, const std::vector<double>& numbers);

/// The sum over all frames.
struct Sum {
  std::vector<Part> parts;
  std::int64_t frames = 0;
  std::int64_t dimensions = 0;
  std::int64_t all_points = 0;
  Box box;
  PairHistogramOptions options;
  std::uint64_t memory = 0;       ///< maximum memory, in bytes
  double read = 0;                ///< time of reading, in seconds
  std::int64_t folded_atoms = 0;  ///< number of atoms that were moved into the box although --fold was not given
  std::int64_t folded_frames = 0;
};

/// Called with --rdf. Throws UsageError if the points are in a plane but have three coordinates.
void require_space(const Sum& sum);

/// A radial distribution and, with --blocks, its standard errors.
struct Radial : PairHistogramRadialDistribution {
  std::vector<double> g_error;
  std::vector<double> coordination_error;
};

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

/// Writes the table to its destination, or prints it. `summary` makes the JSON.
void deliver_table(Destination& destination, const Session& session, const Table& table,
                   const std::function<nlohmann::ordered_json()>& summary);

/// Calls the function. Adds the frame to the message of an error.
using NamingFrame = std::function<void(const std::function<void()>&)>;

/// Called with --structure-factor. Writes S(q), averaged over the frames, from `frame` on.
int write_structure_factor(const Arguments& arguments, const Session& session, WantedFrames& frames,
                           std::optional<files::Frame> frame, const NamingFrame& naming, core::Clock::time_point start);

Table table_of(const Arguments& arguments, const Sum& sum, const std::vector<std::optional<Radial>>& radials);
std::string csv_text(std::span<const files::NpyColumn> columns);
nlohmann::ordered_json summary_of(const Arguments& arguments, const Sum& sum, const char* dtype,
                                  const std::vector<std::optional<Radial>>& radials);
std::string closing_line(const Sum& sum, const char* dtype, double seconds, const std::string& threads);

}  // namespace gradus::cli::pairs
