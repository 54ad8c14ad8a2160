// Positions of atoms, frame after frame: XYZ, extended XYZ and LAMMPS dumps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "io/points.hpp"

namespace gradus::io {

/// One frame. The box is a periodic one; open space has none.
struct Frame {
  Points points;                   ///< n x 3 from a trajectory, f64
  std::vector<double> box;         ///< a length for each column, or empty
  std::vector<double> box_origin;  ///< its lower corner; as long as `box`
  /// file:line: why the file leaves open whether its box is periodic, so that one has to be given; or empty.
  std::string undecided_box;
};

/// Whether the ending of the name is that of a trajectory: .xyz, .extxyz, .lammpstrj, .dump, .lammpsdump.
bool names_trajectory(const std::string& path);

/// A box counts as orthogonal where what is off its diagonal is at most this share of its shortest edge: lattices that
/// were computed have 1e-17 there.
inline constexpr double box_tolerance = 1e-12;

/// Reads the frames of a file one after the other, each when it is asked for.
///
/// * XYZ: a line with the number of atoms, a comment, and for each atom its name and three coordinates; what follows on
///   the line is skipped. Extended XYZ, where the comment holds Lattice="..." (of an orthogonal box, with its corner
///   at zero or at Origin="..."), pbc="T T T" or "F F F", T or F alone for all three (without it a lattice is
///   periodic), and Properties=..., which says where the column pos is and how many there are on a line.
/// * LAMMPS dump: coordinates x y z, or unwrapped xu yu zu, or scaled xs ys zs, or both, xsu ysu zsu, by the frame's
///   box, which is periodic where all its bounds are pp. Its bounds may also be of the forms "xy xz yz" and
///   "abc origin". Each line has as many columns as ITEM: ATOMS names. Atoms are in the file's order.
///
/// Anything else is an InputError with file:line. A periodic box that is not orthogonal along x, y and z, or a box that
/// is periodic in some directions only, is an UnsupportedError.
class TrajectoryReader {
 public:
  /// `text` stays with the caller; `name` stands in messages.
  TrajectoryReader(std::span<const std::byte> text, std::string_view name, std::stop_token stop = {});
  TrajectoryReader(const TrajectoryReader&) = delete;
  TrajectoryReader& operator=(const TrajectoryReader&) = delete;
  ~TrajectoryReader();

  /// The next frame; nothing after the last one. There is at least one, or the first call throws. InterruptedError
  /// after a stop request.
  std::optional<Frame> next();

  /// Whether text begins as a LAMMPS dump does.
  static bool looks_like_lammps_dump(std::string_view text) { return text.starts_with("ITEM:"); }

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

/// The frames of any file that holds points: those of a trajectory (.xyz, .extxyz, .lammpstrj, .dump, .lammpsdump), or
/// the one frame that any other file of points is, read as read_points() does.
class FrameReader {
 public:
  explicit FrameReader(std::string path, ReadOptions options = {});
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  ~FrameReader();

  /// Throws InterruptedError after a stop request.
  std::optional<Frame> next();

  bool is_trajectory() const { return trajectory_ != nullptr; }

 private:
  struct Trajectory;
  std::string path_;
  ReadOptions options_;
  std::unique_ptr<Trajectory> trajectory_;
  bool done_ = false;
};

}  // namespace gradus::io
