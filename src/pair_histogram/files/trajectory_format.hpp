// The row type of the list of trajectory formats, and the type of a frame.
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
#include <vector>

#include "files/format.hpp"
#include "files/text_input.hpp"
#include "files/values.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

/// An orthogonal box may have off-diagonal numbers up to this size, relative to its shortest edge. Computed lattices
/// have off-diagonal numbers of about 1e-17.
inline constexpr double box_tolerance = 1e-12;

/// One word per atom, stored as an index into the distinct words.
struct AtomWords {
  std::vector<std::string> words;  ///< the distinct words, in order of first occurrence
  std::vector<std::int32_t> of_atoms;
};

/// Labels of atoms. A label that the file lacks is null. In XYZ the word before the coordinates serves as type, element
/// and name.
struct AtomLabels {
  std::shared_ptr<const AtomWords> types;
  std::shared_ptr<const AtomWords> elements;
  std::shared_ptr<const AtomWords> names;
  std::shared_ptr<const AtomWords> residues;
  /// One number per atom. Consecutive atoms of one residue have the same number.
  std::shared_ptr<const std::vector<std::int64_t>> residue_numbers;
  std::shared_ptr<const AtomWords> molecules;  ///< "0": the atom belongs to no molecule
  std::shared_ptr<const std::vector<std::int64_t>> ids;
};

struct Frame {
  Points points;      ///< n x 3 doubles if read from a trajectory
  AtomLabels labels;  ///< set only if requested, except the ids of LAMMPS and XYZ files, which are always set
  /// Size of the box: one length per column, or the nine numbers of its three vectors if the edges of the box are not
  /// along x, y and z. Empty without a box.
  std::vector<double> box;
  std::vector<double> box_origin;  ///< lower corner of the box; empty without a box
  /// The directions (axes or vectors) in which the box repeats, as letters of "xyz". Empty in open space.
  std::string periodic;
  /// If the file does not determine the box, this text states the place in the file and the reason, and the caller must
  /// choose the box. If the file determines the box, the text is empty.
  std::string undecided_box;
};

/// Thrown if the file ends inside a frame, for example because its writer was killed. All earlier frames are complete.
class CutFrameError : public InputError {
 public:
  using InputError::InputError;
};

enum class LengthUnit : std::uint8_t { unknown, angstrom, nanometre };

enum class FrameParts : std::uint8_t {
  none,  ///< only the length of the frame
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
  /// Returns the next frame, or nothing after the last frame. Throws CutFrameError if the file ends inside the frame.
  virtual std::optional<Frame> read(FrameParts parts) = 0;
  /// Returns true if the last line of the last frame has no line end. The line may then be cut off.
  virtual bool is_last_line_open() const { return false; }
  /// `check` receives the bytes that the positions of a frame take, before they are allocated. It may throw.
  void set_memory_check(std::function<void(std::uint64_t bytes)> check) { check_ = std::move(check); }

 protected:
  void check_memory(std::int64_t atoms) const {
    if (check_) check_(static_cast<std::uint64_t>(atoms) * 3 * sizeof(double));
  }

 private:
  std::function<void(std::uint64_t bytes)> check_;
};

/// A trajectory format. The source file of each reader ends with the TrajectoryFormat object of its format;
/// trajectory.cpp lists these objects.
struct TrajectoryFormat {
  Format file;
  LengthUnit unit = LengthUnit::unknown;
  /// Returns true if the first lines have this format and cannot be a table of numbers.
  bool (*recognises)(std::string_view beginning);
  /// Two functions that make a reader. Only one of the two is set. of_text() reads text that may be compressed.
  /// of_bytes() reads bytes that the caller keeps alive.
  std::unique_ptr<FrameParser> (*of_text)(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels) = nullptr;
  std::unique_ptr<FrameParser> (*of_bytes)(std::span<const std::byte> bytes, std::string_view name,
                                           std::stop_token stop) = nullptr;
};

}  // namespace gradus::files
