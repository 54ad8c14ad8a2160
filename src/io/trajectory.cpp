#include "io/trajectory.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "io/number.hpp"

namespace gradus::io {

namespace {

constexpr std::int64_t axes = 3;

/// The next word of a line, or nothing.
std::string_view next_word(std::string_view& line) {
  line = trimmed(line);
  const std::size_t length = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(length);
  return word;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) words.push_back(word);
  return words;
}

/// The value of `key` in the comment of an extended XYZ frame: key=value, key="value with blanks" or key={the same},
/// with blanks around the sign or without. Keys do not care for case, as there are writers of both. A quote that is not
/// closed ends with the line.
std::optional<std::string_view> value_of(std::string_view comment, std::string_view key) {
  while (!(comment = trimmed(comment)).empty()) {
    const std::size_t stop = std::min(comment.find_first_of("= \t"), comment.size());
    const std::string_view name = comment.substr(0, stop);
    comment = trimmed(comment.substr(stop));
    if (comment.empty() || comment.front() != '=') continue;  // a word without a value
    comment.remove_prefix(1);
    // A blank behind the sign: the value follows, unless the next word is another key.
    std::string_view rest = trimmed(comment);
    const std::size_t sign_or_quote = next_word(rest).find_first_of("=\"'{");
    if (sign_or_quote == 0 || sign_or_quote == std::string_view::npos) comment = trimmed(comment);
    std::string_view value;
    if (!comment.empty() && (comment.front() == '"' || comment.front() == '\'' || comment.front() == '{')) {
      const char quote = comment.front() == '{' ? '}' : comment.front();
      comment.remove_prefix(1);
      const std::size_t close = std::min(comment.find(quote), comment.size());
      value = comment.substr(0, close);
      comment.remove_prefix(std::min(close + 1, comment.size()));
    } else {
      const std::size_t end = std::min(comment.find_first_of(" \t"), comment.size());
      value = comment.substr(0, end);
      comment.remove_prefix(end);
    }
    if (equal_but_for_case(name, key)) return value;
  }
  return std::nullopt;
}

}  // namespace

class TrajectoryReader::Parser {
 public:
  Parser(std::string_view text, std::string_view name, std::stop_token stop)
      : text_(text), name_(name), stop_(std::move(stop)) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    lammps_ = looks_like_lammps_dump(text_);
  }

  std::optional<Frame> next() {
    if (line_ > 0 && trimmed_end()) return std::nullopt;
    return lammps_ ? lammps_frame() : xyz_frame();
  }

 private:
  static constexpr std::int64_t atoms_between_looks = 4096;

  /// Where the columns of an atom's line stand, counted from 0.
  struct Columns {
    std::array<std::size_t, axes> position{};
    std::size_t fewest = 0;  ///< that a line must have
    std::size_t named = 0;   ///< that each line has, where the file says so; otherwise 0
    bool scaled = false;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(name_ + ":" + std::to_string(line_) + ": " + what);
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw UnsupportedError(name_ + ":" + std::to_string(line_) + ": " + what);
  }

  /// Whether nothing but blank lines is left.
  bool trimmed_end() const { return text_.find_first_not_of(" \t\r\n") == std::string_view::npos; }

  /// The next line without its end; `what` is missing where there is none.
  std::string_view line(std::string_view what) {
    ++line_;
    if (text_.empty()) fail("the file ends where " + std::string(what) + " should be");
    const std::size_t newline = std::min(text_.find('\n'), text_.size());
    std::string_view taken = text_.substr(0, newline);
    text_.remove_prefix(std::min(newline + 1, text_.size()));
    if (!taken.empty() && taken.back() == '\r') taken.remove_suffix(1);
    return taken;
  }

  /// The number of atoms, no more than the rest of the file can hold at `least` bytes each.
  std::int64_t atom_count(std::string_view text, std::int64_t least) const {
    const std::string_view word = trimmed(text);
    std::int64_t count = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (error != std::errc{} || stop != word.data() + word.size() || count < 0)
      fail(core::excerpt(word) + " is not a number of atoms");
    return check_count(count, least);
  }

  std::int64_t check_count(std::int64_t count, std::int64_t least) const {
    if (count > static_cast<std::int64_t>(text_.size()) / least + 1)
      fail("the frame claims " + std::to_string(count) + " atoms, but only " + std::to_string(text_.size()) +
           " bytes follow");
    return count;
  }

  double number(std::string_view word, std::string_view what) const {
    double value = 0;
    if (parse_number(word.data(), word.data() + word.size(), value) != word.data() + word.size() || word.empty())
      fail(core::excerpt(word) + " is not a number (" + std::string(what) + ")");
    if (!std::isfinite(value)) fail(core::excerpt(word) + " is not a finite number (" + std::string(what) + ")");
    return value;
  }

  /// The atoms' lines.
  Matrix<double> positions(std::int64_t count, const Columns& columns) {
    static constexpr std::array<std::string_view, axes> names = {"x", "y", "z"};
    Matrix<double> points(count, axes);
    for (std::int64_t atom = 0; atom < count; ++atom) {
      if (atom % atoms_between_looks == 0) core::honour_stop(stop_, "stopped while reading '" + name_ + "'");
      std::string_view rest = line("the line of atom " + std::to_string(atom + 1) + " of " + std::to_string(count));
      std::size_t column = 0;
      int found = 0;
      for (; column < columns.fewest; ++column) {
        const std::string_view word = next_word(rest);
        if (word.empty())
          fail(std::to_string(column) + (column == 1 ? " column" : " columns") + ", but " +
               std::to_string(columns.fewest) + " are needed for an atom");
        for (std::size_t axis = 0; axis < axes; ++axis)
          if (columns.position[axis] == column) {
            points(atom, static_cast<std::int64_t>(axis)) = number(word, names[axis]);
            ++found;
          }
        if (found == axes) break;
      }
      if (columns.named == 0) continue;
      // A word too many or too few may have moved the coordinates to other columns.
      std::size_t there = column + 1;
      while (!next_word(rest).empty()) ++there;
      if (there != columns.named)
        fail(std::to_string(there) + " columns, but the frame names " + std::to_string(columns.named));
    }
    return points;
  }

  // ---- XYZ ----

  Frame xyz_frame() {
    constexpr std::int64_t least_bytes = 6;  // "0 0 0" and the end of the line, where Properties names nothing else
    const std::string_view head = line("the number of atoms");
    const std::int64_t count = atom_count(head, least_bytes);
    const std::string_view comment = line("the comment of the frame");
    Frame frame;
    xyz_box(comment, frame);
    const Columns columns = xyz_columns(comment);
    frame.points.values = own(positions(count, columns));
    return frame;
  }

  void xyz_box(std::string_view comment, Frame& frame) const {
    const auto lattice = value_of(comment, "lattice");
    const auto periodic = value_of(comment, "pbc");
    if (!lattice) {
      if (periodic && is_periodic_xyz(periodic))
        frame.undecided_box = name_ + ":" + std::to_string(line_) +
                              ": pbc says that the frame is periodic, but there is no Lattice; give the box";
      return;
    }
    const std::vector<std::string_view> numbers = words_of(*lattice);
    if (numbers.size() != axes * axes)
      fail("Lattice has " + std::to_string(numbers.size()) + " numbers; the nine of three vectors are needed");
    Vectors vectors{};
    for (std::size_t index = 0; index < vectors.size(); ++index) vectors[index] = number(numbers[index], "Lattice");
    if (!is_periodic_xyz(periodic)) return;
    if (!is_orthogonal(vectors)) refuse_skewed();
    frame.box = lengths_of(vectors);
    frame.box_origin.assign(axes, 0.0);
    if (const auto origin = value_of(comment, "origin")) {
      const std::vector<std::string_view> corner = words_of(*origin);
      if (corner.size() != axes) fail("Origin has " + std::to_string(corner.size()) + " numbers; three are needed");
      for (std::size_t axis = 0; axis < axes; ++axis) frame.box_origin[axis] = number(corner[axis], "Origin");
    }
  }

  /// The value of pbc: T or F for each axis, or one for all. Without it a lattice is periodic.
  bool is_periodic_xyz(const std::optional<std::string_view>& text) const {
    if (!text) return true;
    std::vector<std::string_view> flags = words_of(*text);
    if (flags.size() == 1) flags.assign(axes, flags.front());
    if (flags.size() != axes)
      fail("pbc says for all three directions, or for each of them, whether the box is periodic; here are " +
           std::to_string(flags.size()));
    std::ptrdiff_t periodic = 0;
    for (const std::string_view flag : flags) {
      const bool yes = flag == "T" || equal_but_for_case(flag, "true");
      if (!yes && flag != "F" && !equal_but_for_case(flag, "false"))
        fail("pbc is made of T and F, not " + core::excerpt(flag));
      periodic += yes ? 1 : 0;
    }
    return all_or_none(periodic);
  }

  /// Of `periodic` directions of a box; UnsupportedError where it is periodic in some only.
  bool all_or_none(std::ptrdiff_t periodic) const {
    if (periodic != 0 && periodic != axes)
      refuse("the box is periodic in some directions only; it has to be in all of them or in none");
    return periodic == axes;
  }

  /// Three vectors one after the other.
  using Vectors = std::array<double, axes * axes>;

  /// Whether the vectors go along x, y and z.
  static bool is_orthogonal(const Vectors& vectors) {
    double shortest = std::abs(vectors[0]);
    for (std::size_t axis = 1; axis < axes; ++axis) shortest = std::min(shortest, std::abs(vectors[axis * (axes + 1)]));
    for (std::size_t index = 0; index < vectors.size(); ++index)
      if (index % (axes + 1) != 0 && std::abs(vectors[index]) > box_tolerance * shortest) return false;
    return true;
  }

  std::vector<double> lengths_of(const Vectors& vectors) const {
    std::vector<double> lengths;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      lengths.push_back(vectors[axis * (axes + 1)]);
      if (!(lengths.back() > 0)) fail("a length of the lattice is not positive");
    }
    return lengths;
  }

  [[noreturn]] void refuse_skewed() const {
    refuse("the box is not orthogonal (along x, y and z); only such boxes are supported");
  }

  /// Properties=species:S:1:pos:R:3:... names the columns in their order, each with a type and how many there are.
  Columns xyz_columns(std::string_view comment) const {
    const auto properties = value_of(comment, "properties");
    if (!properties) return {.position = {1, 2, 3}, .fewest = 4};
    std::vector<std::string_view> parts;
    for (std::string_view rest = *properties; !rest.empty();) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      parts.push_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    Columns columns;
    for (std::size_t part = 0; part + 2 < parts.size(); part += 3) {
      std::size_t width = 0;
      const std::string_view text = parts[part + 2];
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), width);
      if (error != std::errc{} || stop != text.data() + text.size() || width < 1 || width > 1000)
        fail("Properties: " + core::excerpt(text) + " is not a number of columns");
      const std::size_t column = std::exchange(columns.named, columns.named + width);
      if (columns.fewest == 0 && equal_but_for_case(parts[part], "pos")) {
        if (width != axes || parts[part + 1] != "R")
          fail("Properties: pos must be three real columns (pos:R:3), not " + core::excerpt(parts[part + 1]) + " x " +
               std::to_string(width));
        columns.position = {column, column + 1, column + 2};
        columns.fewest = column + axes;
      }
    }
    if (columns.fewest != 0) return columns;
    fail("Properties does not name a column pos");
  }

  // ---- LAMMPS ----

  Frame lammps_frame() {
    Frame frame;
    std::optional<std::int64_t> count;
    std::optional<Bounds> bounds;
    for (;;) {
      const std::string_view head = line("an ITEM: of the next frame");
      if (!looks_like_lammps_dump(head)) fail("an ITEM: is expected, not " + core::excerpt(head));
      const std::string_view item = trimmed(head.substr(5));
      if (item == "NUMBER OF ATOMS") {
        count = atom_count(line("the number of atoms"), 1);
      } else if (item.starts_with("BOX BOUNDS")) {
        bounds = box_bounds(words_of(item.substr(10)), frame);
      } else if (item.starts_with("ATOMS")) {
        if (!count) fail("the atoms come before their number (ITEM: NUMBER OF ATOMS)");
        const Columns columns = lammps_columns(words_of(item.substr(5)));
        if (columns.scaled && !bounds) fail("scaled coordinates need the bounds of the box (ITEM: BOX BOUNDS)");
        if (columns.scaled && !bounds->orthogonal) refuse_skewed();
        check_count(*count, 2 * static_cast<std::int64_t>(columns.fewest));
        Matrix<double> points = positions(*count, columns);
        if (columns.scaled) unscale(points, *bounds);
        frame.points.values = own(std::move(points));
        break;
      } else {
        line("the value of ITEM: " + std::string(item));  // TIMESTEP, UNITS, TIME
      }
    }
    return frame;
  }

  /// The box of a frame; where it is not orthogonal, what it is does not matter.
  struct Bounds {
    std::array<double, axes> low{};
    std::array<double, axes> length{};
    bool orthogonal = true;
  };

  /// Reads the three lines of bounds, and gives the frame its box where it is periodic. `words` stand behind BOX
  /// BOUNDS: how the box is written (nothing, "xy xz yz" or "abc origin") and what its bounds are ("pp ff fs", say).
  Bounds box_bounds(std::vector<std::string_view> words, Frame& frame) {
    const auto taken = [&](std::initializer_list<std::string_view> form) {
      if (words.size() < form.size() || !std::equal(form.begin(), form.end(), words.begin())) return false;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(form.size()));
      return true;
    };
    const bool tilted = taken({"xy", "xz", "yz"});
    const bool general = !tilted && taken({"abc", "origin"});
    for (const std::string_view flag : words)
      if (flag.size() != 2 || flag.find_first_not_of("pfsm") != std::string_view::npos)
        fail(core::excerpt(flag) + " is not the kind of a boundary, such as pp or ff");
    if (!words.empty() && words.size() != axes)
      fail("three boundaries are expected, not " + std::to_string(words.size()));
    if (words.empty())
      frame.undecided_box =
          name_ + ":" + std::to_string(line_) +
          ": ITEM: BOX BOUNDS does not say whether the box is periodic; give the box, or write 'pp pp "
          "pp' behind these words if it is, and 'ff ff ff' if it is not";
    const bool periodic = all_or_none(std::count(words.begin(), words.end(), "pp"));

    Bounds bounds = general ? general_bounds() : restricted_bounds(tilted, periodic);
    if (!periodic) return bounds;
    if (!bounds.orthogonal) refuse_skewed();
    frame.box.assign(bounds.length.begin(), bounds.length.end());
    frame.box_origin.assign(bounds.low.begin(), bounds.low.end());
    return bounds;
  }

  /// The numbers of a line of bounds.
  template <std::size_t Count>
  std::array<double, Count> bound_numbers() {
    const std::vector<std::string_view> words = words_of(line("the bounds of the box"));
    if (words.size() != Count)
      fail(std::to_string(Count) + " numbers are expected for the bounds, not " + std::to_string(words.size()));
    std::array<double, Count> numbers{};
    for (std::size_t index = 0; index < Count; ++index) numbers[index] = number(words[index], "bounds of the box");
    return numbers;
  }

  /// Lines "low high", or "low high tilt". The bounds are those of the box where it is not tilted.
  Bounds restricted_bounds(bool tilted, bool periodic) {
    Bounds bounds;
    Vectors vectors{};
    constexpr std::array<std::size_t, axes> tilts = {3, 6, 7};  // xy, xz, yz
    for (std::size_t axis = 0; axis < axes; ++axis) {
      std::array<double, 3> numbers{};
      if (tilted) numbers = bound_numbers<3>();
      else std::ranges::copy(bound_numbers<2>(), numbers.begin());
      bounds.low[axis] = numbers[0];
      bounds.length[axis] = numbers[1] - numbers[0];
      if (!(bounds.length[axis] >= 0) || !std::isfinite(bounds.length[axis]))
        fail("the upper bound of the box is below the lower one, or too far from it");
      if (periodic && !(bounds.length[axis] > 0)) fail("the periodic box has no extent");
      vectors[axis * (axes + 1)] = bounds.length[axis];
      vectors[tilts[axis]] = numbers[2];
    }
    bounds.orthogonal = is_orthogonal(vectors);
    return bounds;
  }

  /// Lines of an edge of the box and a coordinate of its corner.
  Bounds general_bounds() {
    Bounds bounds;
    Vectors vectors{};
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::array<double, 4> numbers = bound_numbers<4>();
      std::copy_n(numbers.begin(), axes, vectors.begin() + static_cast<std::ptrdiff_t>(axis * axes));
      bounds.low[axis] = numbers[3];
    }
    bounds.orthogonal = is_orthogonal(vectors);
    if (bounds.orthogonal) std::ranges::copy(lengths_of(vectors), bounds.length.begin());
    return bounds;
  }

  Columns lammps_columns(const std::vector<std::string_view>& names) const {
    static constexpr std::array<std::string_view, 4> suffixes = {"", "u", "s", "su"};
    for (const std::string_view suffix : suffixes) {
      Columns columns;
      columns.named = names.size();
      std::size_t found = 0;
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::string wanted = std::string(1, "xyz"[axis]) + std::string(suffix);
        const auto at = std::find(names.begin(), names.end(), wanted);
        if (at == names.end()) continue;
        ++found;
        columns.position[axis] = static_cast<std::size_t>(at - names.begin());
        columns.fewest = std::max(columns.fewest, columns.position[axis] + 1);
      }
      columns.scaled = suffix.starts_with("s");
      if (found == axes) return columns;
    }
    fail("ITEM: ATOMS names no coordinates; x y z, xu yu zu, xs ys zs or xsu ysu zsu are needed");
  }

  static void unscale(Matrix<double>& points, const Bounds& bounds) {
    for (std::int64_t atom = 0; atom < points.rows(); ++atom)
      for (std::int64_t axis = 0; axis < axes; ++axis) {
        const double low = bounds.low[static_cast<std::size_t>(axis)];
        const double length = bounds.length[static_cast<std::size_t>(axis)];
        // Rounding must not carry an atom at the upper face past it.
        const double scaled = points(atom, axis);
        const double position = low + scaled * length;
        points(atom, axis) = scaled <= 1 ? std::min(position, low + length) : position;
      }
  }

  std::string_view text_;  ///< what is left
  std::string name_;
  std::stop_token stop_;
  std::int64_t line_ = 0;  ///< lines taken
  bool lammps_ = false;
};

TrajectoryReader::TrajectoryReader(std::span<const std::byte> text, std::string_view name, std::stop_token stop)
    : parser_(std::make_unique<Parser>(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()), name,
                                       std::move(stop))) {}
TrajectoryReader::~TrajectoryReader() = default;

std::optional<Frame> TrajectoryReader::next() { return parser_->next(); }

bool names_trajectory(const std::string& path) {
  static constexpr std::array<std::string_view, 5> endings = {".xyz", ".extxyz", ".lammpstrj", ".lammpsdump", ".dump"};
  return std::find(endings.begin(), endings.end(), ending_of(path)) != endings.end();
}

struct FrameReader::Trajectory {
  Trajectory(const std::string& path, const std::stop_token& stop) : file(path), reader(file.bytes(), path, stop) {}
  MappedFile file;
  TrajectoryReader reader;
};

FrameReader::FrameReader(std::string path, ReadOptions options) : path_(std::move(path)), options_(std::move(options)) {
  if (names_trajectory(path_)) trajectory_ = std::make_unique<Trajectory>(path_, options_.stop);
}
FrameReader::~FrameReader() = default;

std::optional<Frame> FrameReader::next() {
  if (options_.stop.stop_requested()) throw InterruptedError("stopped while reading '" + path_ + "'");
  if (trajectory_) {
    std::optional<Frame> frame = trajectory_->reader.next();
    if (frame && options_.type) frame->points = convert(std::move(frame->points), *options_.type, path_, options_.stop);
    return frame;
  }
  if (std::exchange(done_, true)) return std::nullopt;
  Frame frame;
  frame.points = read_points(path_, options_);
  return frame;
}

}  // namespace gradus::io
