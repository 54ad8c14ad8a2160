// XYZ and extended XYZ.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/text.hpp"
#include "files/number.hpp"
#include "pair_histogram/files/trajectory_text.hpp"

namespace gradus::files {

namespace {

constexpr std::size_t axes = trajectory_axes;

/// Returns the value with which `comment` begins, and removes it from `comment`. (The caller has removed the name and
/// the equals sign.) A value is enclosed in quotes, braces or brackets, or ends at a blank. If the closing quote, brace
/// or bracket is missing, the value ends with the line.
std::string_view take_value(std::string_view& comment) {
  const char first = comment.empty() ? ' ' : comment.front();
  std::size_t end = std::min(comment.find_first_of(" \t"), comment.size());
  std::size_t quotes = 0;  // number of quotes at each end
  if (first == '"' || first == '\'' || first == '{') {
    end = std::min(comment.find(first == '{' ? '}' : first, 1), comment.size());
    quotes = 1;
  } else if (first == '[') {
    int depth = 0;
    for (end = 0; end < comment.size(); ++end) {
      depth += comment[end] == '[' ? 1 : comment[end] == ']' ? -1 : 0;
      if (depth == 0) break;
    }
    end = std::min(end + 1, comment.size());
  }
  const std::string_view value = comment.substr(quotes, end - quotes);
  comment.remove_prefix(std::min(end + quotes, comment.size()));
  return value;
}

/// Returns the value of `key` (in any case) in the comment of an extended XYZ frame. The forms are key=value,
/// key="value with blanks", key={value with blanks} and key=[a, list], with or without blanks around the equals sign.
std::optional<std::string_view> value_of(std::string_view comment, std::string_view key) {
  while (!(comment = trimmed(comment)).empty()) {
    const std::size_t stop = std::min(comment.find_first_of("= \t"), comment.size());
    const std::string_view name = comment.substr(0, stop);
    comment = trimmed(comment.substr(stop));
    if (comment.empty() || comment.front() != '=') continue;  // the word has no value
    comment.remove_prefix(1);
    // If a blank follows the equals sign, the next word is the value, unless that word is another key.
    std::string_view rest = trimmed(comment);
    const std::size_t sign_or_quote = next_word(rest).find_first_of("=\"'{[");
    if (sign_or_quote == 0 || sign_or_quote == std::string_view::npos) comment = trimmed(comment);
    const std::string_view value = take_value(comment);
    if (equal_but_for_case(name, key)) return value;
  }
  return std::nullopt;
}

/// Returns the words of a list, separated by blanks, commas, quotes or brackets.
std::vector<std::string_view> list_of(std::string_view text) {
  constexpr std::string_view separators = " \t,\"'[]{}";
  std::vector<std::string_view> words;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(separators), text.size()));
    if (text.empty()) return words;
    const std::size_t length = std::min(text.find_first_of(separators), text.size());
    words.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

class XyzFrames : public TextFrames {
 public:
  using TextFrames::TextFrames;

 private:
  Frame read_frame(FrameParts parts) override {
    // The least number of bytes of an atom's line. The shortest line is "0 0 0" with its line end. Such lines are valid
    // if Properties names only positions.
    constexpr std::int64_t least_bytes = 6;
    const std::int64_t count = atom_count(line("the number of atoms"), least_bytes);
    const std::string_view comment = line("the comment of the frame");
    Frame frame;
    if (parts != FrameParts::none) xyz_box(comment, frame);
    if (parts != FrameParts::all) {
      pass_atoms(count);
      return frame;
    }
    const Columns columns = xyz_columns(comment);
    frame.points = points_of(positions(count, columns, frame.labels));
    frame.labels.elements = frame.labels.names = frame.labels.types;
    return frame;
  }

  void xyz_box(std::string_view comment, Frame& frame) const {
    const auto lattice = value_of(comment, "lattice");
    const auto flags = value_of(comment, "pbc");
    if (!lattice) {
      if (flags && !periodic_directions(*flags).empty())
        frame.undecided_box = place() + ": pbc says that the frame is periodic, but there is no Lattice; give the box";
      return;
    }
    const std::vector<std::string_view> numbers = list_of(*lattice);
    if (numbers.size() != axes * axes)
      fail("Lattice has " + std::to_string(numbers.size()) + " numbers; the nine of three vectors are needed");
    BoxVectors vectors{};
    for (std::size_t index = 0; index < vectors.size(); ++index) vectors[index] = number(numbers[index], "Lattice");
    if (lattice->find('[', 1) != std::string_view::npos) check_nested(vectors);
    std::array<double, axes> corner{};
    if (const auto origin = value_of(comment, "origin")) {
      const std::vector<std::string_view> words = list_of(*origin);
      if (words.size() != axes) fail("Origin has " + std::to_string(words.size()) + " numbers; three are needed");
      for (std::size_t axis = 0; axis < axes; ++axis) corner[axis] = number(words[axis], "Origin");
    }
    set_box(frame, vectors, corner, flags ? periodic_directions(*flags) : "xyz");
  }

  /// Rejects an asymmetric list of lists, because writers disagree whether the vectors are its inner lists or its
  /// columns.
  void check_nested(const BoxVectors& vectors) const {
    for (std::size_t row = 0; row < axes; ++row)
      for (std::size_t column = 0; column < row; ++column)
        if (vectors[row * axes + column] != vectors[column * axes + row])
          refuse(
              "Lattice is a list of lists that is not symmetric, and programs do not agree whether these are the "
              "vectors; write Lattice=\"ax ay az bx by bz cx cy cz\"");
  }

  /// Parses the value of pbc, which is T or F, True or False, or 1 or 0, given once or per direction. Returns the
  /// periodic directions.
  std::string periodic_directions(std::string_view text) const {
    std::vector<std::string_view> flags = list_of(text);
    if (flags.size() == 1) flags.assign(axes, flags.front());
    if (flags.size() != axes)
      fail("pbc says for all three directions, or for each of them, whether the box is periodic; here are " +
           std::to_string(flags.size()));
    std::string periodic;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::string_view flag = flags[axis];
      const bool yes = flag == "T" || flag == "1" || equal_but_for_case(flag, "true");
      if (!yes && flag != "F" && flag != "0" && !equal_but_for_case(flag, "false"))
        fail("pbc is made of T and F, not " + core::excerpt(flag));
      if (yes) periodic += "xyz"[axis];
    }
    return periodic;
  }

  /// Parses Properties=species:S:1:pos:R:3:..., a list of entries with a name, a type and a number of columns.
  Columns xyz_columns(std::string_view comment) const {
    const auto properties = value_of(comment, "properties");
    if (!properties) {
      Columns columns{.position = {1, 2, 3}, .fewest = 4, .type = {}, .element = {}, .id = {}};
      if (labels()) columns.type = 0;
      return columns;
    }
    std::vector<std::string_view> parts;
    for (std::string_view rest = *properties; !rest.empty();) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      parts.push_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    Columns columns;
    std::size_t fewest_of_labels = 0;
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
      const auto is = [&](const char* name) { return width == 1 && equal_but_for_case(parts[part], name); };
      if (labels() && !columns.type && (is("species") || is("element"))) columns.type = column;
      else if (!columns.id && is("id") && parts[part + 1] == "I") columns.id = column;
      else continue;
      fewest_of_labels = column + 1;
    }
    if (columns.fewest != 0) {
      columns.fewest = std::max(columns.fewest, fewest_of_labels);
      return columns;
    }
    fail("Properties does not name a column pos");
  }
};

}  // namespace

extern constinit const TrajectoryFormat xyz_trajectories{
    .file = {.name = "XYZ",
             .endings = ".xyz .extxyz",
             .rules =
                 "A line with the number of atoms, a comment, and for each atom a name and three coordinates; further "
                 "columns are skipped. In the comment of extended XYZ, `Lattice=\"…\"` gives a box (with its corner at "
                 "zero, or at `Origin=\"…\"`) that repeats in all directions, or in the directions of `pbc=\"T T F\"`; "
                 "lists may "
                 "have commas and brackets (`pbc=[T, T, F]`). `Properties=…` gives the positions of the columns `pos`, "
                 "`species` and `id` and the number of columns"},
    .unit = LengthUnit::angstrom,
    .recognises =
        [](std::string_view beginning) {
          const auto [first, second, third] = first_lines(beginning);
          if (!is_whole_number(first)) return false;
          // A table that starts with a single integer cannot have four words in its third row.
          const std::vector<std::string_view> words = words_of(third);
          constexpr std::size_t fewest = 3;
          const bool table = words.size() == 1 || third.find_first_of(",;") != std::string_view::npos;
          const bool positions = words.size() > fewest && reads_as_number(words[1]) && reads_as_number(words[2]) &&
                                 reads_as_number(words[3]);
          return !table && (positions || second.find("Properties=") != std::string_view::npos);
        },
    .of_text = make_frame_parser<XyzFrames>,
};

}  // namespace gradus::files
