// DCD: what CHARMM, NAMD, OpenMM and LAMMPS write. Fortran records, each between its length and its length again, in
// either order of bytes; coordinates of 32 bits, a record for each axis.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/column_ranges.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/trajectory_text.hpp"

namespace gradus::io {

namespace {

constexpr std::size_t axes = trajectory_axes;

class DcdFrames : public FrameParser {
 public:
  DcdFrames(std::span<const std::byte> bytes, std::string_view name, std::stop_token stop)
      : bytes_(bytes), name_(name), stop_(std::move(stop)) {}

  std::optional<Frame> next() override {
    if (!begin_frame()) return std::nullopt;
    Frame frame;
    if (has_cell_) read_cell(record("the cell of the frame", cell_bytes), frame);
    std::vector<double> coordinates(axes * static_cast<std::size_t>(atoms_));
    for (std::size_t axis = 0; axis < axes; ++axis) read_axis(axis, coordinates);
    if (has_fourth_) record("the fourth coordinates", coordinate_bytes());
    frame.points = points_of(std::move(coordinates));
    return frame;
  }

  bool skip() override {
    if (!begin_frame()) return false;
    if (has_cell_) record("the cell of the frame", cell_bytes);
    for (std::size_t axis = 0; axis < axes + (has_fourth_ ? 1 : 0); ++axis) record("coordinates", coordinate_bytes());
    return true;
  }

 private:
  static constexpr std::size_t header_bytes = 84;
  static constexpr std::size_t cell_bytes = 48;
  static constexpr std::size_t any = 0;
  using Bytes = std::span<const std::byte>;

  [[noreturn]] void fail(std::size_t place, const std::string& what) const {
    throw InputError(name_ + ": " + what + " (byte " + std::to_string(place) + ")");
  }
  [[noreturn]] void refuse(const std::string& what) const { throw UnsupportedError(name_ + ": " + what); }

  template <class T>
  T value(Bytes bytes, std::size_t place) const {
    std::array<std::byte, sizeof(T)> raw{};
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(place), sizeof(T), raw.begin());
    if (swapped_) std::reverse(raw.begin(), raw.end());
    return std::bit_cast<T>(raw);
  }

  /// The next record, of that length where one is wanted.
  Bytes record(const char* what, std::size_t wanted = any) {
    constexpr std::size_t mark = sizeof(std::int32_t);
    const std::size_t left = bytes_.size() - at_;
    if (left < mark) fail(at_, std::string("the file ends where ") + what + " should be");
    const auto length = static_cast<std::size_t>(value<std::uint32_t>(bytes_, at_));
    if (wanted != any && length != wanted)
      fail(at_, std::string(what) + " should take " + std::to_string(wanted) + " bytes, not " + std::to_string(length));
    if (length + 2 * mark > left) fail(at_, std::string("the file is cut off in ") + what);
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
      refuse("it leaves out " + std::to_string(number(fixed_atoms)) +
             " fixed atoms, which is not read; write all atoms of all frames");
    version_ = number(version);
    has_cell_ = version_ != 0 && number(cell) != 0;
    has_fourth_ = version_ != 0 && number(fourth) != 0;
    record("the title");
    const Bytes count = record("the number of atoms", sizeof(std::int32_t));
    atoms_ = value<std::int32_t>(count, 0);
    if (atoms_ < 0) fail(at_ - 2 * mark, std::to_string(atoms_) + " is not a number of atoms");
    if (static_cast<std::uint64_t>(atoms_) * axes * sizeof(float) > bytes_.size())
      fail(at_ - 2 * mark,
           "it claims " + std::to_string(atoms_) + " atoms, but has only " + std::to_string(bytes_.size()) + " bytes");
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

  /// A, gamma, B, beta, alpha, C: angles in degrees, or their cosines. All zero: there is no box.
  void read_cell(Bytes record, Frame& frame) const {
    std::array<double, 6> numbers{};
    for (std::size_t index = 0; index < numbers.size(); ++index) numbers[index] = value<double>(record, 8 * index);
    const auto [a, gamma, b, beta, alpha, c] = numbers;
    if (a == 0 && b == 0 && c == 0) return;
    const std::size_t place = at_ - cell_bytes - sizeof(std::int32_t);
    // Squares of larger ones may have no place in a double.
    const auto is_possible = [](double length) { return length > 0 && length <= core::largest_magnitude; };
    if (!is_possible(a) || !is_possible(b) || !is_possible(c))
      fail(place, "the cell has a length that is not a number above zero and at most 2^500");
    std::array<double, 3> cosines = {alpha, beta, gamma};
    const bool are_cosines = std::ranges::all_of(cosines, [](double value) { return std::abs(value) <= 1; });
    constexpr int shape_matrices = 25;  // versions of CHARMM from this one on write a matrix
    if (are_cosines && version_ >= shape_matrices && (alpha != 0 || beta != 0 || gamma != 0)) {
      frame.undecided_box = name_ + ": CHARMM " + std::to_string(version_) +
                            " writes cells that are not orthogonal in a form that is not read; give the box";
      return;
    }
    for (double& cosine : cosines) {
      constexpr double right = 90;
      constexpr double straight = 180;
      if (!are_cosines && !(cosine > 0 && cosine < straight))
        fail(place, "the cell has an angle of " + core::number_text(cosine) + " degrees");
      if (!are_cosines) cosine = cosine == right ? 0 : std::cos(cosine / straight * std::numbers::pi);
    }
    const double sine = std::sqrt(1 - cosines[2] * cosines[2]);
    const double x = c * cosines[1];
    const double y = c * (cosines[0] - cosines[1] * cosines[2]) / sine;
    const double z = std::sqrt(c * c - x * x - y * y);
    if (!(sine > 0 && z > 0)) fail(place, "no cell has such angles");
    const BoxVectors vectors = {a, 0, 0, b * cosines[2], b * sine, 0, x, y, z};
    if (is_orthogonal(vectors)) frame.box = {a, b, c};
    else frame.box.assign(vectors.begin(), vectors.end());
    frame.box_origin.assign(axes, 0.0);
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

bool looks_like_dcd(std::string_view beginning) {
  return beginning.size() >= 8 && beginning.substr(4, 4) == "CORD" && (beginning[0] == 'T' || beginning[3] == 'T');
}

std::unique_ptr<FrameParser> dcd_frames(std::span<const std::byte> bytes, std::string_view name, std::stop_token stop) {
  return std::make_unique<DcdFrames>(bytes, name, std::move(stop));
}

}  // namespace gradus::io
