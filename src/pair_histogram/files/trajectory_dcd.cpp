// DCD, written by CHARMM, NAMD, OpenMM and LAMMPS: Fortran records, each preceded and followed by its length, in either
// byte order. Coordinates have 32 bits, one record per axis.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/column_ranges.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/file_fields.hpp"
#include "pair_histogram/files/trajectory_text.hpp"

namespace gradus::files {

namespace {

constexpr std::size_t axes = trajectory_axes;

class DcdFrames : public FrameParser {
 public:
  DcdFrames(std::span<const std::byte> bytes, std::string_view name, std::stop_token stop)
      : bytes_(bytes), name_(name), stop_(std::move(stop)) {}

  std::optional<Frame> read(FrameParts parts) override {
    if (!begin_frame()) return std::nullopt;
    Frame frame;
    if (has_cell_) {
      const Bytes cell = record("the cell of the frame", cell_bytes);
      if (parts != FrameParts::none) read_cell(cell, frame);
    }
    if (parts == FrameParts::all) {
      check_memory(atoms_);
      std::vector<double> coordinates(axes * static_cast<std::size_t>(atoms_));
      for (std::size_t axis = 0; axis < axes; ++axis) read_axis(axis, coordinates);
      frame.points = points_of(std::move(coordinates));
    } else {
      for (std::size_t axis = 0; axis < axes; ++axis) record("coordinates", coordinate_bytes());
    }
    if (has_fourth_) record("the fourth coordinates", coordinate_bytes());
    return frame;
  }

 private:
  static constexpr std::size_t header_bytes = 84;
  static constexpr std::size_t cell_bytes = 48;
  static constexpr std::size_t any = 0;
  using Bytes = std::span<const std::byte>;

  [[noreturn]] void fail(std::size_t place, const std::string& what) const {
    throw InputError(name_ + ": " + what + " (byte " + std::to_string(place) + ")", fields_at_byte(name_, place));
  }
  [[noreturn]] void fail_cut(const std::string& what) const {
    throw CutFrameError(name_ + ": " + what + " (byte " + std::to_string(at_) + ")", fields_at_byte(name_, at_));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw UnsupportedError(name_ + ": " + what, {.file = name_});
  }

  template <class T>
  T value(Bytes bytes, std::size_t place) const {
    std::array<std::byte, sizeof(T)> raw{};
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(place), sizeof(T), raw.begin());
    if (swapped_) std::reverse(raw.begin(), raw.end());
    return std::bit_cast<T>(raw);
  }

  /// Returns the next record. Fails if `wanted` is given and the record has another length.
  Bytes record(const char* what, std::size_t wanted = any) {
    constexpr std::size_t mark = sizeof(std::int32_t);
    const std::size_t left = bytes_.size() - at_;
    if (left < mark) fail_cut(std::string("the file ends where ") + what + " should be");
    const auto length = static_cast<std::size_t>(value<std::uint32_t>(bytes_, at_));
    if (wanted != any && length != wanted)
      fail(at_, std::string(what) + " should take " + std::to_string(wanted) + " bytes, not " + std::to_string(length));
    if (length + 2 * mark > left) fail_cut(std::string("the file is cut off in ") + what);
    const Bytes content = bytes_.subspan(at_ + mark, length);
    if (value<std::uint32_t>(bytes_, at_ + mark + length) != length)
      fail(at_ + mark + length, std::string("the lengths before and behind ") + what + " are not the same");
    at_ += length + 2 * mark;
    return content;
  }

  std::size_t coordinate_bytes() const { return sizeof(float) * static_cast<std::size_t>(atoms_); }

  bool begin_frame() {
    core::honour_stop(stop_, "stopped while reading '" + name_ + "'");
    if (!started_) {
      read_head();
      started_ = true;
      if (at_ == bytes_.size()) fail(at_, "there are no frames");
    }
    return at_ < bytes_.size();
  }

  void read_head() {
    constexpr std::size_t mark = sizeof(std::uint32_t);
    if (bytes_.size() < 2 * mark) fail(0, "the file is too short for DCD");
    if (value<std::uint32_t>(bytes_, 0) != header_bytes) {
      swapped_ = true;
      if (value<std::uint32_t>(bytes_, 0) != header_bytes) fail(0, "this is not the beginning of a DCD file");
    }
    const std::size_t magic = mark;
    if (bytes_.size() >= 3 * mark && value<std::uint32_t>(bytes_, mark) == 0)
      refuse("a DCD file with lengths of 64 bits, which is not read; write it with lengths of 32 bits");
    const Bytes header = record("the header", header_bytes);
    const std::string word(reinterpret_cast<const char*>(header.data()), 4);
    if (word != "CORD") fail(magic, "a DCD file of coordinates has the word CORD here, not " + core::excerpt(word));
    const auto number = [&](std::size_t index) { return value<std::int32_t>(header, 4 + 4 * index); };
    constexpr std::size_t fixed_atoms = 8;
    constexpr std::size_t cell = 10;
    constexpr std::size_t fourth = 11;
    constexpr std::size_t version = 19;
    if (number(fixed_atoms) != 0)
      refuse("the frames after the first leave out " + std::to_string(number(fixed_atoms)) + " fixed " +
             (number(fixed_atoms) == 1 ? "atom" : "atoms") +
             "; such files are not read; write the trajectory with all atoms in every frame");
    version_ = number(version);
    has_cell_ = version_ != 0 && number(cell) != 0;
    has_fourth_ = version_ != 0 && number(fourth) != 0;
    read_title();
    const Bytes count = record("the number of atoms", sizeof(std::int32_t));
    atoms_ = value<std::int32_t>(count, 0);
    if (atoms_ < 0) fail(at_ - 2 * mark, std::to_string(atoms_) + " is not a number of atoms");
    if (static_cast<std::uint64_t>(atoms_) * axes * sizeof(float) > bytes_.size())
      fail(at_ - 2 * mark,
           "it claims " + std::to_string(atoms_) + " atoms, but has only " + std::to_string(bytes_.size()) + " bytes");
  }

  /// Reads the title, which is a count of lines followed by lines of 80 bytes. Some programs write an incorrect record
  /// length before and after the title, so the count determines where the title ends.
  void read_title() {
    constexpr std::size_t mark = sizeof(std::int32_t);
    constexpr std::size_t line = 80;
    if (bytes_.size() - at_ >= 2 * mark) {
      const std::size_t lines = value<std::uint32_t>(bytes_, at_ + mark);
      const std::size_t end = at_ + 2 * mark + lines * line;
      if (lines <= bytes_.size() / line && end + mark <= bytes_.size() &&
          value<std::uint32_t>(bytes_, end) == value<std::uint32_t>(bytes_, at_)) {
        at_ = end + mark;
        return;
      }
    }
    record("the title");
  }

  void read_axis(std::size_t axis, std::vector<double>& coordinates) {
    static constexpr std::array<const char*, axes> names = {"the coordinates x", "the coordinates y",
                                                            "the coordinates z"};
    const std::size_t begin = at_;
    const Bytes values = record(names[axis], coordinate_bytes());
    for (std::size_t atom = 0; atom < static_cast<std::size_t>(atoms_); ++atom) {
      const auto coordinate = value<float>(values, sizeof(float) * atom);
      if (!std::isfinite(coordinate))
        fail(begin + sizeof(std::int32_t) + sizeof(float) * atom,
             "the coordinate of atom " + std::to_string(atom) + " (counted from 0) is not a finite number");
      coordinates[axes * atom + axis] = static_cast<double>(coordinate);
    }
  }

  using Cell = std::array<double, 6>;  ///< the six numbers of a cell, in the file's order
  static bool is_possible_length(double length) { return length > 0 && length <= core::largest_magnitude; }

  /// Returns the vectors of a cell that is given by a matrix (XX, XY, YY, XZ, YZ, ZZ). Returns nothing if the matrix is
  /// not positive definite.
  static std::optional<BoxVectors> vectors_of_matrix(const Cell& cell) {
    const auto [xx, xy, yy, xz, yz, zz] = cell;
    const double plane = xx * yy - xy * xy;
    const double volume = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    if (!(xx > 0 && plane > 0 && volume > 0)) return std::nullopt;
    return BoxVectors{xx, xy, xz, xy, yy, yz, xz, yz, zz};
  }

  /// Reads the frame's cell. If all lengths are zero, the frame has no box.
  void read_cell(Bytes record, Frame& frame) const {
    Cell cell{};
    for (std::size_t index = 0; index < cell.size(); ++index) cell[index] = value<double>(record, 8 * index);
    const auto [a, gamma, b, beta, alpha, c] = cell;
    if (a == 0 && b == 0 && c == 0) return;
    const std::size_t place = at_ - cell_bytes - sizeof(std::int32_t);
    // The squares of lengths above 2^500 may overflow.
    if (!is_possible_length(a) || !is_possible_length(b) || !is_possible_length(c))
      fail(place, "the cell has a length that is not a number above zero and at most 2^500");
    for (const double angle : {alpha, beta, gamma})
      if (!(std::abs(angle) <= core::largest_magnitude)) fail(place, "the cell has an angle that is not a number");
    const std::optional<BoxVectors> vectors = cell_vectors(cell, place, frame);
    if (!vectors) return;
    if (is_orthogonal(*vectors)) frame.box = {(*vectors)[0], (*vectors)[4], (*vectors)[8]};
    else frame.box.assign(vectors->begin(), vectors->end());
    frame.box_origin.assign(axes, 0.0);
    frame.periodic = "xyz";
  }

  /// Returns the vectors of the frame's cell. From version 25 on, CHARMM writes a matrix. Other programs write lengths
  /// with angles or cosines. Most of these store a version below 25 (NAMD, OpenMM, LAMMPS, VMD), but some store a
  /// higher version (cpptraj). If the numbers could be read in both ways, sets Frame::undecided_box and returns
  /// nothing.
  std::optional<BoxVectors> cell_vectors(const Cell& cell, std::size_t place, Frame& frame) const {
    constexpr int first_with_matrix = 25;
    constexpr double least_angle = 20;  // degrees; no cell of a simulation has a sharper angle
    const std::array<double, axes> angles = {cell[4], cell[3], cell[1]};
    const bool are_cosines = std::ranges::all_of(angles, [](double value) { return std::abs(value) <= 1; });
    const bool are_angles = std::ranges::all_of(angles, [](double value) { return value >= least_angle; });
    const std::string numbers =
        core::number_text(cell[4]) + ", " + core::number_text(cell[3]) + " and " + core::number_text(cell[1]);
    const bool writes_matrix = version_ >= first_with_matrix;
    const std::optional<BoxVectors> by_matrix = vectors_of_matrix(cell);
    const std::optional<BoxVectors> by_angles = vectors_of_angles({cell[0], cell[2], cell[5]}, angles, !are_cosines);
    const bool may_be_angles = by_angles && (are_cosines || are_angles);
    const bool is_orthogonal_either_way = std::ranges::all_of(angles, [](double value) { return value == 0; });
    if (may_be_angles && (!writes_matrix || !by_matrix)) return by_angles;
    if (writes_matrix && by_matrix && (!may_be_angles || is_orthogonal_either_way)) return by_matrix;
    if (writes_matrix && by_matrix)
      frame.undecided_box = name_ + ": CHARMM " + std::to_string(version_) + " writes the cell as a matrix, but " +
                            numbers +
                            " may also be angles in degrees, or their cosines, as other programs write; give the box";
    else if (!writes_matrix && by_matrix)
      frame.undecided_box = name_ + ": version " + std::to_string(version_) +
                            " writes the cell as lengths and angles, but " + numbers +
                            " look like a shape matrix of CHARMM; give the box";
    else fail(place, "no cell has the angles " + numbers);
    return std::nullopt;
  }

  Bytes bytes_;
  std::string name_;
  std::stop_token stop_;
  std::size_t at_ = 0;
  bool swapped_ = false;
  bool started_ = false;
  std::int32_t version_ = 0;
  bool has_cell_ = false;
  bool has_fourth_ = false;
  std::int32_t atoms_ = 0;
};

}  // namespace

extern constinit const TrajectoryFormat dcd_trajectories{
    .file = {.name = "DCD",
             .endings = ".dcd",
             .rules =
                 "The binary trajectories of CHARMM, NAMD, OpenMM and LAMMPS, in either byte order, not packed. They "
                 "name no kinds of atoms: select by `index`. The cell is lengths and angles, or their cosines. From "
                 "version 25 on, which CHARMM names in the file, the cell is a symmetric matrix. Numbers that would do "
                 "for both are refused, as cosines in a file that names such a version: give `--box`. Files that leave "
                 "out fixed atoms are not read",
             .may_be_packed = false},
    .unit = LengthUnit::angstrom,
    .recognises =
        [](std::string_view beginning) {
          return beginning.size() >= 8 && beginning.substr(4, 4) == "CORD" &&
                 (beginning[0] == 'T' || beginning[3] == 'T');
        },
    .of_bytes = [](std::span<const std::byte> bytes, std::string_view name, std::stop_token stop)
        -> std::unique_ptr<FrameParser> { return std::make_unique<DcdFrames>(bytes, name, std::move(stop)); },
};

}  // namespace gradus::files
