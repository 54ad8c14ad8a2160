// Positions of atoms, frame after frame: XYZ and extended XYZ, LAMMPS dumps, Gromacs .gro files, DCD.
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

#include "files/file.hpp"
#include "files/points.hpp"
#include "files/text_input.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

/// A word for each atom, by its number among the different ones.
struct AtomWords {
  std::vector<std::string> words;  ///< in the order in which they first occur
  std::vector<std::int32_t> of_atoms;
};

/// What a file says of its atoms beside their positions; null where it says nothing. Of an XYZ file the word before the
/// coordinates is type, element and name at once.
struct AtomLabels {
  std::shared_ptr<const AtomWords> types;
  std::shared_ptr<const AtomWords> elements;
  std::shared_ptr<const AtomWords> names;
  std::shared_ptr<const AtomWords> residues;
  std::shared_ptr<const std::vector<std::int64_t>> ids;
};

/// One frame.
struct Frame {
  Points points;      ///< n x 3 from a trajectory, f64
  AtomLabels labels;  ///< where the reader was asked for them; ids of LAMMPS and XYZ always
  /// A length for each column; the nine numbers of three vectors, where these do not go along x, y and z; or empty.
  std::vector<double> box;
  std::vector<double> box_origin;  ///< its lower corner; empty where there is no box
  /// Directions in which the box repeats, of "xyz": axes, or the three vectors. Empty in open space.
  std::string periodic;
  /// file:line: why the file leaves open whether its box is periodic, so that the caller has to say it; or empty.
  std::string undecided_box;
};

/// The file ends inside a frame, as where the program that wrote it was killed. The frames before it are whole.
class CutFrameError : public InputError {
 public:
  using InputError::InputError;
};

/// The unit of length that a format prescribes.
enum class LengthUnit : std::uint8_t { unknown, angstrom, nanometre };

/// The part of a frame that is read.
enum class FrameParts : std::uint8_t {
  none,  ///< its length alone
  box,   ///< the box, without the atoms
  all
};

class FrameParser;

/// A format of trajectories. The file of its reader ends with its row, and trajectory.cpp lists the rows.
struct TrajectoryFormat {
  std::string_view name;     ///< "extended XYZ"
  std::string_view endings;  ///< of file names, between blanks; of text also with .gz behind it
  std::string_view rules;    ///< for the guide, in Markdown
  LengthUnit unit = LengthUnit::unknown;
  /// By the first lines, which tell a trajectory from a table of numbers.
  bool (*recognises)(std::string_view beginning);
  /// A reader of text, packed or not; or else of the bytes of a file, which stay with the caller.
  std::unique_ptr<FrameParser> (*of_text)(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels) = nullptr;
  std::unique_ptr<FrameParser> (*of_bytes)(std::span<const std::byte> bytes, std::string_view name,
                                           std::stop_token stop) = nullptr;
};

std::span<const TrajectoryFormat* const> trajectory_formats();
/// All endings, for messages: ".xyz, .extxyz, …", with `last` before the last one.
std::string trajectory_endings(std::string_view last = " and ");

/// The format that the name or the first lines tell, or null.
const TrajectoryFormat* named_trajectory(const std::string& path);
inline bool names_trajectory(const std::string& path) { return named_trajectory(path) != nullptr; }
const TrajectoryFormat* trajectory_by_content(std::string_view beginning);

/// A box counts as orthogonal where what is off its diagonal is at most this share of its shortest edge: lattices that
/// were computed have 1e-17 there.
inline constexpr double box_tolerance = 1e-12;

/// Reads the frames of one format one after the other, each when it is asked for.
class FrameParser {
 public:
  FrameParser() = default;
  FrameParser(const FrameParser&) = delete;
  FrameParser& operator=(const FrameParser&) = delete;
  virtual ~FrameParser() = default;
  /// The next frame; nothing after the last one. CutFrameError where the file ends inside it.
  virtual std::optional<Frame> read(FrameParts parts) = 0;
  /// Returns true if the last line of the frame that was read last has no end, so that it may have been cut.
  virtual bool is_last_line_open() const { return false; }
};

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
