// The row type of trajectory formats, and the frames that their files contain.
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

/// The off-diagonal numbers of an orthogonal box, relative to its shortest edge. Computed lattices have about 1e-17.
inline constexpr double box_tolerance = 1e-12;

/// One word per atom, stored as an index into the distinct words.
struct AtomWords {
  std::vector<std::string> words;  ///< distinct, in order of first occurrence
  std::vector<std::int32_t> of_atoms;
};

/// Labels of atoms, null if the file lacks them. In XYZ the word before the coordinates is type, element and name.
struct AtomLabels {
  std::shared_ptr<const AtomWords> types;
  std::shared_ptr<const AtomWords> elements;
  std::shared_ptr<const AtomWords> names;
  std::shared_ptr<const AtomWords> residues;
  std::shared_ptr<const std::vector<std::int64_t>> ids;
};

struct Frame {
  Points points;      ///< n x 3 from a trajectory, f64
  AtomLabels labels;  ///< if requested; ids of LAMMPS and XYZ always
  /// A length per column; the nine numbers of three vectors if these are not along x, y and z; or empty.
  std::vector<double> box;
  std::vector<double> box_origin;  ///< lower corner of the box; empty without a box
  /// The directions in which the box repeats, from "xyz": axes or vectors. Empty in open space.
  std::string periodic;
  /// If the file leaves open whether its box is periodic, so that the caller must decide: file:line and the reason.
  std::string undecided_box;
};

/// The file ends inside a frame, for example because its writer was killed. All earlier frames are complete.
class CutFrameError : public InputError {
 public:
  using InputError::InputError;
};

enum class LengthUnit : std::uint8_t { unknown, angstrom, nanometre };

enum class FrameParts : std::uint8_t {
  none,  ///< only its length
  box,   ///< the box, without the atoms
  all
};

/// Reads the frames of one format one by one, on request.
class FrameParser {
 public:
  FrameParser() = default;
  FrameParser(const FrameParser&) = delete;
  FrameParser& operator=(const FrameParser&) = delete;
  virtual ~FrameParser() = default;
  /// Returns the next frame, or nothing after the last. Throws CutFrameError if the file ends inside the frame.
  virtual std::optional<Frame> read(FrameParts parts) = 0;
  /// Returns true if the last line of the last frame has no line end, so that it may be cut off.
  virtual bool is_last_line_open() const { return false; }
};

/// A trajectory format. Each reader's file ends with its row, and trajectory.cpp lists the rows.
struct TrajectoryFormat {
  Format file;
  LengthUnit unit = LengthUnit::unknown;
  /// Returns true if the first lines have this format and are not a table of numbers.
  bool (*recognises)(std::string_view beginning);
  /// One of the two is set: a reader of text, possibly compressed, or a reader of bytes, which the caller keeps alive.
  std::unique_ptr<FrameParser> (*of_text)(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels) = nullptr;
  std::unique_ptr<FrameParser> (*of_bytes)(std::span<const std::byte> bytes, std::string_view name,
                                           std::stop_token stop) = nullptr;
};

}  // namespace gradus::files
