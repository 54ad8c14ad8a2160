// LAMMPS dumps.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "core/text.hpp"
#include "files/number.hpp"
#include "pair_histogram/files/trajectory_text.hpp"

namespace gradus::files {

namespace {

constexpr std::size_t axes = trajectory_axes;

class LammpsFrames : public TextFrames {
 public:
  using TextFrames::TextFrames;

 private:
  Frame read_frame(FrameParts parts) override {
    Frame frame;
    std::optional<std::int64_t> count;
    std::optional<Bounds> bounds;
    for (;;) {
      const std::string head(line("an ITEM: of the next frame"));
      if (!head.starts_with("ITEM:")) fail("an ITEM: is expected, not " + core::excerpt(head));
      const std::string_view item = trimmed(std::string_view(head).substr(5));
      if (item == "NUMBER OF ATOMS") {
        if (count) fail("a second ITEM: NUMBER OF ATOMS in one frame");
        count = atom_count(line("the number of atoms"), 1);
      } else if (item.starts_with("BOX BOUNDS")) {
        if (bounds) fail("a second ITEM: BOX BOUNDS in one frame");
        bounds = box_bounds(words_of(item.substr(10)), frame);
      } else if (item.starts_with("ATOMS")) {
        if (!count) fail("the atoms come before their number (ITEM: NUMBER OF ATOMS)");
        if (parts != FrameParts::all) {
          pass_atoms(*count, "ITEM:");
          break;
        }
        const Columns columns = lammps_columns(words_of(item.substr(5)));
        if (columns.scaled && !bounds) fail("scaled coordinates need the bounds of the box (ITEM: BOX BOUNDS)");
        check_count(*count, 2 * static_cast<std::int64_t>(columns.fewest));
        std::vector<double> coordinates = positions(*count, columns, frame.labels);
        if (columns.scaled) unscale(coordinates, *bounds);
        frame.points = points_of(std::move(coordinates));
        break;
      } else {
        line("the value of an ITEM:");  // skips the value of TIMESTEP, UNITS or TIME
      }
    }
    return frame;
  }

  struct Bounds {
    std::array<double, axes> low{};
    BoxVectors vectors{};
  };

  /// Reads the three lines of bounds and sets the frame's box if it is periodic. `words` are the words after BOX
  /// BOUNDS. They give the form of the box (nothing, "xy xz yz" or "abc origin") and the kinds of its bounds (for
  /// example "pp ff fs").
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
          place() +
          ": ITEM: BOX BOUNDS does not say whether the box is periodic; say in which directions it is, or write 'pp pp "
          "pp' behind these words if it is in all, and 'ff ff ff' if it is in none";
    std::string periodic;
    for (std::size_t axis = 0; axis < words.size(); ++axis)
      if (words[axis] == "pp") periodic += "xyz"[axis];

    Bounds bounds = general ? general_bounds() : restricted_bounds(tilted, periodic);
    set_box(frame, bounds.vectors, bounds.low, periodic);
    return bounds;
  }

  template <std::size_t Count>
  std::array<double, Count> bound_numbers() {
    const std::vector<std::string_view> words = words_of(line("the bounds of the box"));
    if (words.size() != Count)
      fail(std::to_string(Count) + " numbers are expected for the bounds, not " + std::to_string(words.size()));
    std::array<double, Count> numbers{};
    for (std::size_t index = 0; index < Count; ++index) numbers[index] = number(words[index], "bounds of the box");
    return numbers;
  }

  /// Reads lines "low high" or "low high tilt". With tilts, the bounds enclose the tilted box. The distance between the
  /// bounds is then greater than the length of the box's edge.
  Bounds restricted_bounds(bool tilted, std::string_view periodic) {
    Bounds bounds;
    std::array<double, axes> high{};
    std::array<double, axes> tilts{};  // in the order xy, xz, yz
    for (std::size_t axis = 0; axis < axes; ++axis) {
      std::array<double, 3> numbers{};
      if (tilted) numbers = bound_numbers<3>();
      else std::ranges::copy(bound_numbers<2>(), numbers.begin());
      bounds.low[axis] = numbers[0];
      high[axis] = numbers[1];
      tilts[axis] = numbers[2];
      check_length(high[axis] - bounds.low[axis], periodic.find("xyz"[axis]) != std::string_view::npos);
    }
    const auto [xy, xz, yz] = tilts;
    bounds.vectors = {high[0] - bounds.low[0], 0, 0, xy, high[1] - bounds.low[1], 0, xz, yz, high[2] - bounds.low[2]};
    if (is_orthogonal(bounds.vectors)) return bounds;
    bounds.low[0] -= std::min({0.0, xy, xz, xy + xz});
    high[0] -= std::max({0.0, xy, xz, xy + xz});
    bounds.low[1] -= std::min(0.0, yz);
    high[1] -= std::max(0.0, yz);
    std::array<double, axes> length{};
    for (std::size_t axis = 0; axis < axes; ++axis) {
      length[axis] = high[axis] - bounds.low[axis];
      if (tilted) check_length(length[axis], periodic.find("xyz"[axis]) != std::string_view::npos);
    }
    bounds.vectors = {length[0], 0, 0, xy, length[1], 0, xz, yz, length[2]};
    return bounds;
  }

  void check_length(double length, bool periodic) const {
    if (!(length >= 0) || !std::isfinite(length))
      fail("the upper bound of the box is below the lower one, or too far from it");
    if (periodic && !(length > 0)) fail("the periodic box has no extent");
  }

  /// Reads three lines. Each line holds one edge vector of the box and one coordinate of the box's corner.
  Bounds general_bounds() {
    Bounds bounds;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::array<double, 4> numbers = bound_numbers<4>();
      std::copy_n(numbers.begin(), axes, bounds.vectors.begin() + static_cast<std::ptrdiff_t>(axis * axes));
      bounds.low[axis] = numbers[3];
    }
    return bounds;
  }

  Columns lammps_columns(const std::vector<std::string_view>& names) const {
    for (std::size_t column = 0; column < names.size(); ++column)
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(column), names[column]) !=
          names.begin() + static_cast<std::ptrdiff_t>(column))
        fail("ITEM: ATOMS names two columns " + core::excerpt(names[column]));
    static constexpr std::array<std::string_view, 4> suffixes = {"", "u", "s", "su"};
    for (const std::string_view suffix : suffixes) {
      Columns columns;
      columns.named = names.size();
      std::size_t found = 0;
      for (std::size_t axis = 0; axis < axes; ++axis) {
        std::string wanted(1, "xyz"[axis]);
        wanted += suffix;
        const auto at = std::find(names.begin(), names.end(), wanted);
        if (at == names.end()) continue;
        ++found;
        columns.position[axis] = static_cast<std::size_t>(at - names.begin());
        columns.fewest = std::max(columns.fewest, columns.position[axis] + 1);
      }
      columns.scaled = suffix.starts_with("s");
      if (found != axes) continue;
      const auto label = [&](std::string_view name, std::optional<std::size_t>& column) {
        const auto at = std::find(names.begin(), names.end(), name);
        if (at == names.end()) return;
        column = static_cast<std::size_t>(at - names.begin());
        columns.fewest = std::max(columns.fewest, *column + 1);
      };
      if (labels()) label("type", columns.type);
      if (labels()) label("element", columns.element);
      if (labels()) label("mol", columns.molecule);
      label("id", columns.id);
      return columns;
    }
    fail("ITEM: ATOMS names no coordinates; x y z, xu yu zu, xs ys zs or xsu ysu zsu are needed");
  }

  void unscale(std::vector<double>& coordinates, const Bounds& bounds) const {
    const bool along_axes = is_orthogonal(bounds.vectors);
    for (std::size_t first = 0; first < coordinates.size(); first += axes) {
      std::array<double, axes> scaled{};
      std::copy_n(coordinates.begin() + static_cast<std::ptrdiff_t>(first), axes, scaled.begin());
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const double low = bounds.low[axis];
        double& coordinate = coordinates[first + axis];
        if (along_axes) {
          const double length = bounds.vectors[axis * (axes + 1)];
          const double position = low + scaled[axis] * length;
          // Rounding must not move an atom from the upper face to a place beyond that face.
          coordinate = scaled[axis] <= 1 ? std::min(position, low + length) : position;
        } else {
          coordinate = low;
          for (std::size_t vector = 0; vector < axes; ++vector)
            coordinate += scaled[vector] * bounds.vectors[vector * axes + axis];
        }
        if (!std::isfinite(coordinate)) fail("a scaled coordinate is too large for its box");
      }
    }
  }
};

}  // namespace

extern constinit const TrajectoryFormat lammps_trajectories{
    .file = {.name = "LAMMPS dump",
             .endings = ".lammpstrj .dump .lammpsdump",
             .rules = "A LAMMPS dump as text: coordinates `x y z`, or unwrapped `xu yu zu`, or scaled `xs ys zs`, or "
                      "both (`xsu ysu "
                      "zsu`): the first of these that the dump has. Each line has as many columns as `ITEM: ATOMS` "
                      "names. The box "
                      "repeats in the directions whose bounds are `pp`. Its bounds are lines `low high`, or of the "
                      "forms `xy xz yz` "
                      "and `abc origin`. `id`, `type` and `element` are read for selections, `mol` for molecules"},
    .recognises = [](std::string_view beginning) { return beginning.starts_with("ITEM:"); },
    .of_text = make_frame_parser<LammpsFrames>,
};

}  // namespace gradus::files
