// What the parts of `gradus pair-histogram` share: the request, what the frames add up to, and how that is told.
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
#include "files/atom_selection.hpp"
#include "files/npy.hpp"
#include "files/points.hpp"
#include "gradus/pair_histogram.hpp"

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
  PairHistogramOptions options{.periodic = ""};  ///< `periodic` is empty: as the file says, or all of --box
  bool radial = false;
  bool centers = false;
  bool partial = false;
  double volume = 0;  ///< 0: of the box
  std::optional<files::AtomSelection> selection;
  std::optional<files::AtomSelection> cross_selection;
  FrameRange frames;

  bool is_cross() const { return !others.empty() || cross_selection.has_value(); }
  bool is_weighted() const { return !weights.empty() || !reading.columns.weight.empty(); }
  bool needs_labels() const { return partial || selection || cross_selection; }
};

/// The periodic box of a frame: that of the command line, or else that of the file. No lengths: open space.
struct Box {
  std::vector<double> lengths;  ///< or the nine numbers of a triclinic cell's vectors
  std::vector<double> origin;
  std::string periodic = "xyz";

  bool operator==(const Box&) const = default;
};

/// Throws InputError where neither the file nor the command line says whether the box of the frame is periodic.
Box box_of(const Arguments& arguments, const files::Frame& frame);

/// The request as the library takes it, for points in such a box.
PairHistogramOptions options_in(const Arguments& arguments, const Box& box);

/// The distance up to which the bins may go in the boxes of all frames; infinite in open space. Reads no atoms.
double least_reach(const Arguments& arguments, files::FrameReader& reader, std::int64_t first_frame = 0);

/// For --rdf: of a frame. UsageError in open space without --volume.
double volume_of(const Arguments& arguments, const Box& box);

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
  PairHistogramOptions options;   ///< likewise
  std::uint64_t memory = 0;       ///< at most
  double read = 0;                ///< seconds
  std::int64_t folded_atoms = 0;  ///< that were moved into the box without having been asked to
  std::int64_t folded_frames = 0;

  double volume() const { return static_cast<double>(frames) / inverse_volumes; }
};

/// For --rdf: UsageError where points in a plane are counted in three dimensions.
void require_space(const Sum& sum);

using Radial = PairHistogramRadialDistribution;

/// Of each part; nothing without --rdf.
std::vector<std::optional<Radial>> radials_of(const Arguments& arguments, const Sum& sum);

/// The columns of a table and what they look at.
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

/// A row per bin.
Table table_of(const Arguments& arguments, const Sum& sum, const std::vector<std::optional<Radial>>& radials);
std::string csv_text(std::span<const files::NpyColumn> columns);
nlohmann::ordered_json summary_of(const Arguments& arguments, const Sum& sum, const char* dtype,
                                  const std::vector<std::optional<Radial>>& radials);
std::string closing_line(const Sum& sum, const char* dtype, double seconds, const std::string& threads);

}  // namespace gradus::cli::pairs
