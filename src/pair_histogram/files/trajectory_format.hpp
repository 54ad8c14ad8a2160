// The row of a format of trajectories, and the frames that their files hold.
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

#include "files/format.hpp"
#include "files/text_input.hpp"
#include "files/values.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

/// A box counts as orthogonal where what is off its diagonal is at most this share of its shortest edge: lattices that
/// were computed have 1e-17 there.
inline constexpr double box_tolerance = 1e-12;

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

/// A format of trajectories. The file of its reader ends with its row, and trajectory.cpp lists the rows.
struct TrajectoryFormat {
  Format file;
  LengthUnit unit = LengthUnit::unknown;
  /// By the first lines, which tell a trajectory from a table of numbers.
  bool (*recognises)(std::string_view beginning);
  /// A reader of text, packed or not; or else of the bytes of a file, which stay with the caller.
  std::unique_ptr<FrameParser> (*of_text)(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels) = nullptr;
  std::unique_ptr<FrameParser> (*of_bytes)(std::span<const std::byte> bytes, std::string_view name,
                                           std::stop_token stop) = nullptr;
};

}  // namespace gradus::files
