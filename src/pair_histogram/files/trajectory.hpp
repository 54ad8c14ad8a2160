// Positions of atoms, frame after frame, from files of any of their formats.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "files/file.hpp"
#include "files/points.hpp"
#include "files/text_input.hpp"
#include "pair_histogram/files/trajectory_format.hpp"

namespace gradus::files {

std::span<const TrajectoryFormat* const> trajectory_formats();

/// The format that the name or the first lines tell, or null.
const TrajectoryFormat* named_trajectory(const std::string& path);
const TrajectoryFormat* trajectory_by_content(std::string_view beginning);

/// Reads the frames of a trajectory one after the other, each when it is asked for.
///
/// * XYZ: a line with the number of atoms, a comment, and for each atom its name and three coordinates; what follows on
///   the line is skipped. Extended XYZ, where the comment holds Lattice="..." (three vectors, with the corner at
///   zero or at Origin="..."), pbc="T T F", or T or F alone for all three (without it a lattice is periodic), and
///   Properties=..., which says where the columns pos, species and id are and how many there are on a line. Lists may
///   also have commas and brackets.
/// * LAMMPS dump: coordinates x y z, or unwrapped xu yu zu, or scaled xs ys zs, or both, xsu ysu zsu, by the frame's
///   box, which is periodic where its bounds are pp. Its bounds may also be of the forms "xy xz yz" and
///   "abc origin". Each line has as many columns as ITEM: ATOMS names, of which id, type and element are read too.
/// * Gromacs .gro: a title, a line with the number of atoms, for each atom columns of fixed width (residue, atom,
///   number, coordinates, perhaps velocities), and the box, which is periodic unless it is zero. Lengths in nm.
/// * DCD, of 32-bit coordinates, in either order of bytes, without fixed atoms; it names no kinds of atoms. Its cell is
///   lengths and angles, or their cosines, or from CHARMM 25 on a symmetric matrix, with a corner at zero, and periodic
///   unless it is zero.
///
/// Atoms with ids (LAMMPS, XYZ) come in the order of their ids, whatever their order in the file; two with one id are
/// an InputError, as is anything else than the above, with file:line. Numbers in text may have a Fortran exponent (D).
class TrajectoryReader {
 public:
  /// `text` stays with the caller; `name` stands in messages. Without a format the beginning of the text tells it: XYZ
  /// where that does not.
  TrajectoryReader(std::span<const std::byte> text, std::string_view name, std::stop_token stop = {},
                   bool labels = false, const TrajectoryFormat* format = nullptr);
  TrajectoryReader(std::unique_ptr<TextInput> text, const TrajectoryFormat& format, std::stop_token stop = {},
                   bool labels = false);
  /// Of a format that is no text.
  TrajectoryReader(std::unique_ptr<MappedFile> file, const TrajectoryFormat& format, std::stop_token stop);
  TrajectoryReader(const TrajectoryReader&) = delete;
  TrajectoryReader& operator=(const TrajectoryReader&) = delete;
  ~TrajectoryReader();

  /// The next frame; nothing after the last one. There is at least one, or the first call throws. InterruptedError
  /// after a stop request.
  std::optional<Frame> next(FrameParts parts = FrameParts::all) { return parser_->read(parts); }

  /// Passes over the next frame, of which only the length is read. Returns whether there was one.
  bool skip() { return parser_->read(FrameParts::none).has_value(); }
  bool is_last_line_open() const { return parser_->is_last_line_open(); }

 private:
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<FrameParser> parser_;
};

/// The frames of any file that holds points: those of a trajectory, recognised by its name, or else by its content,
/// also on standard input, or the one frame that any other file of points is, read as read_points() does. Trajectories
/// of formats that are not read are an UnsupportedError that says how to convert them.
class FrameReader {
 public:
  /// `labels`: whether the frames' labels are wanted.
  explicit FrameReader(std::string path, ReadOptions options = {}, bool labels = false);
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  ~FrameReader();

  /// Throws InterruptedError after a stop request.
  std::optional<Frame> next(FrameParts parts = FrameParts::all);
  bool skip();

  bool is_trajectory() const { return trajectory_ != nullptr; }
  /// As FrameParser's; false for a table.
  bool is_last_line_open() const { return trajectory_ != nullptr && trajectory_->is_last_line_open(); }
  LengthUnit unit() const { return unit_; }

 private:
  std::string path_;
  ReadOptions options_;
  std::unique_ptr<TrajectoryReader> trajectory_;
  std::unique_ptr<TextInput> table_;  ///< standard input, where it is no trajectory
  LengthUnit unit_ = LengthUnit::unknown;
  bool done_ = false;
};

}  // namespace gradus::files
