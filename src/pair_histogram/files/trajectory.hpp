// Readers of atom positions, frame by frame, from trajectory files of several formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Returns the format that the file's name or first lines indicate, or null if they indicate none.
const TrajectoryFormat* named_trajectory(const std::string& path);
const TrajectoryFormat* trajectory_by_content(std::string_view beginning);

/// Reads the frames of a trajectory one by one, on request.
///
/// * XYZ: a line with the number of atoms, a comment, and one line per atom with its name and three coordinates; the
///   rest of the line is skipped. In extended XYZ the comment may hold Lattice="..." (three vectors), Origin="..." (the
///   corner, otherwise zero) and pbc="T T F", or one T or F for all directions. Without pbc a lattice is periodic.
///   Properties=... gives the positions of the columns pos, species and id and the number of columns per line. Lists
///   may also have commas and brackets.
/// * LAMMPS dump: coordinates x y z, unwrapped xu yu zu, scaled xs ys zs, or scaled and unwrapped xsu ysu zsu. The
///   frame's box is periodic in the directions whose bounds are pp. The bounds may also have the forms "xy xz yz" and
///   "abc origin". The line ITEM: ATOMS names all columns of an atom's line. Besides the coordinates, the columns id,
///   type and element are read.
/// * Gromacs .gro: a title, a line with the number of atoms, one line per atom with columns of fixed width (residue,
///   atom, number, coordinates, optionally velocities), and the box. The box is periodic unless it is zero. Lengths are
///   in nm.
/// * DCD with 32-bit coordinates, in either byte order, without fixed atoms. The format has no kinds of atoms. The cell
///   is given by lengths and angles, by lengths and cosines, or by a symmetric matrix (CHARMM 25 and later). The corner
///   is at zero, and the cell is periodic unless it is zero.
/// * XTC and TRR of Gromacs, without kinds of atoms. The box is periodic unless it is zero. Lengths are in nm.
/// * PDB: atoms by the columns of ATOM and HETATM, frames by MODEL, ENDMDL and END, and the box by CRYST1.
///
/// Atoms with ids (LAMMPS, XYZ) are returned in the order of their ids. Duplicate ids and all other deviations from
/// these formats throw InputError, which states the file and the line (in DCD, the byte). Numbers in text may have a
/// Fortran exponent (D).
class TrajectoryReader {
 public:
  /// Reads from memory. The caller keeps `text` alive, and `name` appears in messages. If `format` is null, the
  /// beginning of the text determines the format. If the beginning matches no format, the text is read as XYZ.
  TrajectoryReader(std::span<const std::byte> text, std::string_view name, std::stop_token stop = {},
                   bool labels = false, const TrajectoryFormat* format = nullptr);
  TrajectoryReader(std::unique_ptr<TextInput> text, const TrajectoryFormat& format, std::stop_token stop = {},
                   bool labels = false);
  TrajectoryReader(std::unique_ptr<MappedFile> file, const TrajectoryFormat& format, std::stop_token stop);
  TrajectoryReader(const TrajectoryReader&) = delete;
  TrajectoryReader& operator=(const TrajectoryReader&) = delete;
  ~TrajectoryReader();

  /// Returns the next frame, or nothing after the last frame. Throws InputError if the file has no frame. Throws
  /// InterruptedError after a stop request.
  std::optional<Frame> next(FrameParts parts = FrameParts::all) { return parser_->read(parts); }

  /// Skips the next frame and reads only its length. Returns false if there was no frame.
  bool skip() { return parser_->read(FrameParts::none).has_value(); }
  bool is_last_line_open() const { return parser_->is_last_line_open(); }
  void set_memory_check(std::function<void(std::uint64_t bytes)> check) { parser_->set_memory_check(std::move(check)); }

 private:
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<FrameParser> parser_;
};

/// Reads the frames of any file of points. A trajectory is recognised by its name or, if the name indicates no format,
/// by its content. Any other file of points is a single frame, read as read_points() does. Throws UnsupportedError,
/// with a remedy, for unsupported trajectories.
class FrameReader {
 public:
  /// The labels of the atoms are read only if `labels` is true.
  explicit FrameReader(std::string path, ReadOptions options = {}, bool labels = false);
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  ~FrameReader();

  /// Throws InterruptedError after a stop request.
  std::optional<Frame> next(FrameParts parts = FrameParts::all);
  bool skip();

  bool is_trajectory() const { return trajectory_ != nullptr; }
  /// For a trajectory, returns FrameParser::is_last_line_open(). For a table, returns false.
  bool is_last_line_open() const { return trajectory_ != nullptr && trajectory_->is_last_line_open(); }
  LengthUnit unit() const { return unit_; }
  /// Calls FrameParser::set_memory_check() if the file is a trajectory.
  void set_memory_check(std::function<void(std::uint64_t bytes)> check) {
    if (trajectory_) trajectory_->set_memory_check(std::move(check));
  }

 private:
  std::string path_;
  ReadOptions options_;
  std::unique_ptr<TrajectoryReader> trajectory_;
  std::unique_ptr<TextInput> table_;  ///< standard input, if it holds a table
  LengthUnit unit_ = LengthUnit::unknown;
  bool done_ = false;
};

}  // namespace gradus::files
