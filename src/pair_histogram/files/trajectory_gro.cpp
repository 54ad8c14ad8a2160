// Gromacs .gro files: columns of fixed width, lengths in nm.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.hpp"
#include "files/number.hpp"
#include "pair_histogram/files/trajectory_text.hpp"

namespace gradus::files {

namespace {

constexpr std::size_t axes = trajectory_axes;

class GroFrames : public TextFrames {
 public:
  using TextFrames::TextFrames;

 private:
  // The width of each of the four labels: residue number, residue name, atom name, atom number.
  static constexpr std::size_t label_width = 5;
  static constexpr std::size_t first_coordinate = 4 * label_width;

  Frame read_frame(FrameParts parts) override {
    // The least number of bytes of an atom's line: the four labels and three numbers, each with at least a digit and a
    // point.
    constexpr std::int64_t least_bytes = 26;
    line("the title of the frame");
    const std::int64_t count = atom_count(line("the number of atoms"), least_bytes);
    Frame frame;
    if (parts == FrameParts::all) frame.points = points_of(atoms(count, frame.labels));
    else pass_atoms(count);
    const std::vector<std::string_view> box = box_words(line("the box"));
    if (parts != FrameParts::none) read_box(box, frame);
    has_nine_ = box.size() == axes * axes;
    return frame;
  }

  std::vector<double> atoms(std::int64_t count, AtomLabels& labels_of_frame) {
    static constexpr std::array<const char*, axes> names = {"x", "y", "z"};
    check_memory_of(count);
    std::vector<double> coordinates;
    AtomWordsBuilder residues;
    AtomWordsBuilder atom_names;
    ResidueBuilder residue_numbers;
    std::vector<std::int64_t> ids;
    bool has_ids = labels();
    std::size_t width = 0;
    for (std::int64_t atom = 0; atom < count; ++atom) {
      honour_stop(atom);
      const std::string_view text = line_of_atom(atom, count);
      if (atom == 0) width = width_of_coordinates(text);
      if (text.size() < first_coordinate + axes * width)
        fail(std::to_string(text.size()) + " characters, but " + std::to_string(first_coordinate + axes * width) +
             " are needed for an atom");
      for (std::size_t axis = 0; axis < axes; ++axis)
        coordinates.push_back(number(trimmed(text.substr(first_coordinate + axis * width, width)), names[axis]));
      if (!labels()) continue;
      residue_numbers.add(text.substr(0, 2 * label_width));
      residues.add(trimmed(text.substr(label_width, label_width)));
      atom_names.add(trimmed(text.substr(2 * label_width, label_width)));
      const std::string_view word = trimmed(text.substr(3 * label_width, label_width));
      // Fortran writes asterisks instead of a number that is too long for its columns.
      has_ids = has_ids && word.find_first_not_of('*') != std::string_view::npos;
      if (!has_ids) continue;
      std::int64_t id = 0;
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      if (error != std::errc{} || stop != word.data() + word.size())
        fail(core::excerpt(word) + " is not an integer (number of the atom)");
      ids.push_back(id);
    }
    if (labels()) {
      labels_of_frame.residues = residues.finish();
      labels_of_frame.residue_numbers = residue_numbers.finish();
      labels_of_frame.names = atom_names.finish();
      if (has_ids) labels_of_frame.ids = std::make_shared<const std::vector<std::int64_t>>(std::move(ids));
    }
    return coordinates;
  }

  /// Returns the width of a coordinate's column. For any precision, it is the distance between two decimal points.
  std::size_t width_of_coordinates(std::string_view text) const {
    const std::size_t first = text.find('.', std::min(first_coordinate, text.size()));
    const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
    constexpr std::size_t most = 40;
    if (second == std::string_view::npos || second - first > most)
      fail("the coordinates of the atom have no decimal points, by whose places a .gro file is read");
    return second - first;
  }

  /// Reads three lengths, or nine numbers in the order v1x v2y v3z v1y v1z v2x v2z v3x v3y. If all are zero, there is
  /// no box.
  void read_box(const std::vector<std::string_view>& words, Frame& frame) const {
    if (words.size() != axes && words.size() != axes * axes)
      fail("the box has " + std::to_string(words.size()) + " numbers; three or nine are needed");
    if (words.size() == axes && has_nine_ && is_last_line_open())
      fail("the box has three numbers, but the box of the frame before has nine");
    std::array<double, axes * axes> numbers{};
    for (std::size_t index = 0; index < words.size(); ++index) numbers[index] = number(words[index], "box");
    if (std::ranges::all_of(numbers, [](double value) { return value == 0; })) return;
    const auto [xx, yy, zz, xy, xz, yx, yz, zx, zy] = numbers;
    set_box(frame, {xx, xy, xz, yx, yy, yz, zx, zy, zz}, {}, "xyz");
  }

  /// Splits the box line into numbers. Numbers that fill their columns have no blanks between them. All numbers have
  /// the same number of decimals, which shows where each number ends.
  static std::vector<std::string_view> box_words(std::string_view text) {
    std::vector<std::string_view> words;
    const std::string_view all = trimmed(text);
    const std::size_t decimals = all.size() - 1 - std::min(all.rfind('.'), all.size() - 1);
    for (std::string_view word : words_of(text)) {
      for (std::size_t point = word.find('.'); std::ranges::count(word, '.') > 1; point = word.find('.')) {
        if (point + 1 + decimals >= word.size()) break;
        words.push_back(word.substr(0, point + 1 + decimals));
        word.remove_prefix(point + 1 + decimals);
      }
      words.push_back(word);
    }
    return words;
  }

  bool has_nine_ = false;  ///< true if the box of the previous frame has nine numbers
};

}  // namespace

extern constinit const TrajectoryFormat gro_trajectories{
    .file = {.name = "Gromacs .gro",
             .endings = ".gro",
             .rules = "A Gromacs file of one frame or more, with any number of decimals; lengths stay in nm. Its box "
                      "of three or "
                      "nine numbers is periodic unless all of them are 0"},
    .unit = LengthUnit::nanometre,
    .recognises =
        [](std::string_view beginning) {
          const auto [first, second, third] = first_lines(beginning);
          constexpr std::size_t labels = 20;
          return is_whole_number(second) && third.size() > labels &&
                 std::ranges::count(third.substr(labels), '.') >= 3 && third.find(',') == std::string_view::npos;
        },
    .of_text = make_frame_parser<GroFrames>,
};

}  // namespace gradus::files
