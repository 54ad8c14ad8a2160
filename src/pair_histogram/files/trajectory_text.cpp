#include "pair_histogram/files/trajectory_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/file_fields.hpp"
#include "files/number.hpp"

namespace gradus::files {

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

void AtomWordsBuilder::add(std::string_view word) {
  // Fast path: consecutive atoms often have the same word.
  if (!words_.of_atoms.empty() && words_.words[static_cast<std::size_t>(words_.of_atoms.back())] == word) {
    words_.of_atoms.push_back(words_.of_atoms.back());
    return;
  }
  const auto [found, is_new] = numbers_.try_emplace(std::string(word), static_cast<std::int32_t>(words_.words.size()));
  if (is_new) words_.words.emplace_back(word);
  words_.of_atoms.push_back(found->second);
}

void AtomWordsBuilder::reorder(const std::vector<std::size_t>& order) {
  if (words_.of_atoms.empty()) return;
  const std::vector<std::int32_t> given = std::move(words_.of_atoms);
  words_.of_atoms.clear();
  for (const std::size_t atom : order) words_.of_atoms.push_back(given[atom]);
}

bool is_orthogonal(const BoxVectors& vectors, std::string_view periodic) {
  const auto repeats = [&](std::size_t axis) { return periodic.find("xyz"[axis]) != std::string_view::npos; };
  double shortest = std::numeric_limits<double>::infinity();
  for (std::size_t axis = 0; axis < trajectory_axes; ++axis)
    if (repeats(axis)) shortest = std::min(shortest, std::abs(vectors[axis * (trajectory_axes + 1)]));
  for (std::size_t index = 0; index < vectors.size(); ++index)
    if (repeats(index / trajectory_axes) && index % (trajectory_axes + 1) != 0 &&
        std::abs(vectors[index]) > box_tolerance * shortest)
      return false;
  return true;
}

Points points_of(std::vector<double> coordinates) {
  auto owner = std::make_shared<const std::vector<double>>(std::move(coordinates));
  const auto rows = static_cast<std::int64_t>(owner->size()) / trajectory_axes;
  return {.values = PointsOf<double>{{owner->data(), rows, trajectory_axes}, owner}, .picture = {}, .column_names = {}};
}

TextFrames::TextFrames(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels)
    : text_(std::move(text)), stop_(std::move(stop)), labels_(labels) {}

std::optional<Frame> TextFrames::read(FrameParts parts) {
  if (std::exchange(started_, true) && at_end()) return std::nullopt;
  return read_frame(parts);
}

std::string TextFrames::place() const { return text_->name() + ":" + std::to_string(line_); }
void TextFrames::fail(const std::string& what) const {
  if (is_open_)
    throw CutFrameError(place() + ": " + what + "; the file ends in this line", fields_of_file(text_->name(), line_));
  throw InputError(place() + ": " + what, fields_of_file(text_->name(), line_));
}
void TextFrames::refuse(const std::string& what) const {
  throw UnsupportedError(place() + ": " + what, {.file = text_->name(), .row = static_cast<std::int64_t>(line_)});
}
void TextFrames::fail_cut(const std::string& what) const {
  throw CutFrameError(place() + ": the file ends where " + what + " should be", fields_of_file(text_->name(), line_));
}

std::string_view TextFrames::line(const char* what) {
  ++line_;
  if (blank_ > 0) {
    --blank_;
    return {};
  }
  is_open_ = text_->is_line_open();
  if (ahead_) {
    current_ = std::move(*ahead_);
    ahead_.reset();
    return current_;
  }
  std::optional<std::string_view> taken = text_->next_line();
  if (!taken) fail_cut(what);
  is_open_ = text_->is_line_open();
  return *taken;
}

std::string_view TextFrames::line_of_atom(std::int64_t atom, std::int64_t count) {
  if (blank_ == 0 && !ahead_) {
    ++line_;
    if (const std::optional<std::string_view> taken = text_->next_line()) {
      is_open_ = text_->is_line_open();
      return *taken;
    }
    fail_cut("the line of atom " + std::to_string(atom + 1) + " of " + std::to_string(count));
  }
  return line("the line of an atom");
}

bool TextFrames::at_end() {
  while (!ahead_) {
    const std::optional<std::string_view> taken = text_->next_line();
    if (!taken) return true;
    if (trimmed(*taken).empty()) ++blank_;
    else ahead_ = *taken;
  }
  return false;
}

std::optional<std::string_view> TextFrames::peek() {
  if (TextFrames::at_end()) return std::nullopt;
  line_ += std::exchange(blank_, 0);
  return *ahead_;
}

std::int64_t TextFrames::atom_count(std::string_view text, std::int64_t least) const {
  const std::string_view word = trimmed(text);
  std::int64_t count = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error != std::errc{} || stop != word.data() + word.size() || count < 0)
    fail(core::excerpt(word) + " is not a number of atoms");
  return check_count(count, least);
}

std::int64_t TextFrames::check_count(std::int64_t count, std::int64_t least) const {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::optional<std::uint64_t> left = text_->bytes_left();
  if (left && count > static_cast<std::int64_t>(*left) / least + 1)
    throw CutFrameError(place() + ": the frame claims " + std::to_string(count) + " atoms, but only " +
                            std::to_string(*left) + " bytes follow",
                        fields_of_file(text_->name(), line_));
  if (count > most)
    fail("the frame claims " + std::to_string(count) + " atoms; at most " + std::to_string(most) + " can be read");
  return count;
}

namespace {

/// Returns the reason why the repeating directions do not form a box, or nothing if they do.
std::string_view flaw_of(const BoxVectors& vectors, std::string_view periodic, bool orthogonal) {
  std::vector<std::array<double, trajectory_axes>> repeated;
  for (std::size_t axis = 0; axis < trajectory_axes; ++axis) {
    if (periodic.find("xyz"[axis]) == std::string_view::npos) continue;
    const double* const vector = vectors.data() + axis * trajectory_axes;
    repeated.push_back({vector[0], vector[1], vector[2]});
    if (orthogonal && !(vector[axis] > 0)) return "a length of the lattice is not positive";
  }
  if (orthogonal) return {};
  // The size of the body that the repeating vectors span: the squared length of one vector, the squared area of two, or
  // the volume of three.
  double size = 0;
  for (const double number : repeated.front()) size += number * number;
  if (repeated.size() > 1) {
    const auto& [a, b] = std::tie(repeated[0], repeated[1]);
    const std::array<double, trajectory_axes> cross = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                                                       a[0] * b[1] - a[1] * b[0]};
    size = cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2];
    if (repeated.size() > 2)
      size = std::abs(repeated[2][0] * cross[0] + repeated[2][1] * cross[1] + repeated[2][2] * cross[2]);
  }
  if (size > 0 && std::isfinite(size)) return {};
  return periodic.size() == trajectory_axes ? "the three vectors of the box are in a plane, or too long"
                                            : "the periodic vectors of the box are parallel, or too long";
}

}  // namespace

std::string_view put_box(Frame& frame, const BoxVectors& vectors, const std::array<double, trajectory_axes>& corner,
                         std::string periodic) {
  const std::string_view repeated = periodic.empty() ? "xyz" : std::string_view(periodic);
  const bool orthogonal = is_orthogonal(vectors, repeated);
  if (const std::string_view flaw = flaw_of(vectors, repeated, orthogonal); !flaw.empty())
    return periodic.empty() ? std::string_view() : flaw;
  if (orthogonal) frame.box = {vectors[0], vectors[4], vectors[8]};
  else frame.box.assign(vectors.begin(), vectors.end());
  frame.box_origin.assign(corner.begin(), corner.end());
  frame.periodic = std::move(periodic);
  return {};
}

void TextFrames::set_box(Frame& frame, const BoxVectors& vectors, const std::array<double, trajectory_axes>& corner,
                         std::string periodic) const {
  if (const std::string_view flaw = put_box(frame, vectors, corner, std::move(periodic)); !flaw.empty())
    fail(std::string(flaw));
}

std::optional<BoxVectors> vectors_of_angles(const std::array<double, trajectory_axes>& lengths,
                                            std::array<double, trajectory_axes> angles, bool in_degrees) {
  constexpr double right = 90;
  constexpr double straight = 180;
  const auto [a, b, c] = lengths;
  for (double& cosine : angles) {
    if (in_degrees && !(cosine > 0 && cosine < straight)) return std::nullopt;
    if (in_degrees) cosine = cosine == right ? 0 : std::cos(cosine / straight * std::numbers::pi);
    else if (!(std::abs(cosine) <= 1)) return std::nullopt;
  }
  const double sine = std::sqrt(1 - angles[2] * angles[2]);
  const double x = c * angles[1];
  const double y = c * (angles[0] - angles[1] * angles[2]) / sine;
  const double z = std::sqrt(c * c - x * x - y * y);
  if (!(sine > 0 && z > 0)) return std::nullopt;
  return BoxVectors{a, 0, 0, b * angles[2], b * sine, 0, x, y, z};
}

double TextFrames::number(std::string_view word, const char* what) const {
  double value = 0;
  const auto parses = [&value](std::string_view text) {
    return !text.empty() && parse_number(text.data(), text.data() + text.size(), value) == text.data() + text.size();
  };
  const auto parses_as_fortran = [&] {
    std::string text(word);
    const std::size_t exponent = text.find_first_of("Dd");
    if (exponent == std::string::npos) return false;
    text[exponent] = 'e';
    return parses(text);
  };
  if (!parses(word) && !parses_as_fortran()) fail(core::excerpt(word) + " is not a number (" + what + ")");
  if (!std::isfinite(value)) fail(core::excerpt(word) + " is not a finite number (" + what + ")");
  return value;
}

void TextFrames::honour_stop(std::int64_t atom) const {
  constexpr std::int64_t atoms_between_looks = 4096;
  if (atom % atoms_between_looks == 0) core::honour_stop(stop_, "stopped while reading '" + text_->name() + "'");
}

void TextFrames::pass_atoms(std::int64_t count, std::string_view head) {
  for (std::int64_t atom = 0; atom < count; ++atom) {
    honour_stop(atom);
    const std::string_view text = line_of_atom(atom, count);
    if (!head.empty() && text.starts_with(head))
      fail("the frame claims " + std::to_string(count) + " atoms and has " + std::to_string(atom));
  }
}

void TextFrames::sort_by_id(std::vector<std::int64_t>& ids, std::vector<double>& coordinates,
                            std::initializer_list<AtomWordsBuilder*> words) const {
  if (std::ranges::adjacent_find(ids, std::greater_equal{}) == ids.end()) return;  // the ids are already sorted
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t atom) { return ids[atom]; });
  std::vector<std::int64_t> sorted;
  sorted.reserve(ids.size());
  for (const std::size_t atom : order) sorted.push_back(ids[atom]);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    fail("two atoms of the frame have the id " + std::to_string(*twice) +
         "; an id names one atom, so the file is damaged or joined from two");
  ids = std::move(sorted);
  const std::vector<double> given = std::move(coordinates);
  coordinates.clear();
  constexpr auto axes = static_cast<std::size_t>(trajectory_axes);
  for (const std::size_t atom : order)
    coordinates.insert(coordinates.end(), given.begin() + static_cast<std::ptrdiff_t>(axes * atom),
                       given.begin() + static_cast<std::ptrdiff_t>(axes * (atom + 1)));
  for (AtomWordsBuilder* one : words) one->reorder(order);
}

std::vector<double> TextFrames::positions(std::int64_t count, const Columns& columns, AtomLabels& labels) {
  static constexpr std::array<const char*, trajectory_axes> names = {"x", "y", "z"};
  // For a stream of unknown length, memory for at most this many atoms is allocated in advance.
  constexpr std::int64_t believed = 1 << 20;
  check_memory_of(count);
  std::vector<double> coordinates;
  coordinates.reserve(
      static_cast<std::size_t>(trajectory_axes * (text_->bytes_left() ? count : std::min(count, believed))));
  AtomWordsBuilder types;
  AtomWordsBuilder elements;
  AtomWordsBuilder molecules;
  std::vector<std::int64_t> ids;
  for (std::int64_t atom = 0; atom < count; ++atom) {
    honour_stop(atom);
    std::string_view rest = line_of_atom(atom, count);
    std::size_t column = 0;
    std::array<double, trajectory_axes> position{};
    for (; column < columns.fewest; ++column) {
      const std::string_view word = next_word(rest);
      if (word.empty())
        fail(std::to_string(column) + " columns, but " +
             (columns.named > 0 ? "the frame names " + std::to_string(columns.named)
                                : std::to_string(columns.fewest) + " are needed for an atom"));
      for (std::size_t axis = 0; axis < trajectory_axes; ++axis)
        if (columns.position[axis] == column) position[axis] = number(word, names[axis]);
      if (columns.type == column) types.add(word);
      if (columns.element == column) elements.add(word);
      if (columns.molecule == column) molecules.add(word);
      if (columns.id == column) {
        std::int64_t id = 0;
        const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (error != std::errc{} || stop != word.data() + word.size())
          fail(core::excerpt(word) + " is not an integer (id)");
        ids.push_back(id);
      }
    }
    coordinates.insert(coordinates.end(), position.begin(), position.end());
    if (columns.named == 0) continue;
    // An extra or missing word may have shifted the coordinates to other columns.
    while (!next_word(rest).empty()) ++column;
    if (column != columns.named)
      fail(std::to_string(column) + " columns, but the frame names " + std::to_string(columns.named));
  }
  if (columns.id) sort_by_id(ids, coordinates, {&types, &elements, &molecules});
  if (columns.type) labels.types = types.finish();
  if (columns.element) labels.elements = elements.finish();
  if (columns.molecule) labels.molecules = molecules.finish();
  if (columns.id) labels.ids = std::make_shared<const std::vector<std::int64_t>>(std::move(ids));
  return coordinates;
}

bool is_whole_number(std::string_view text) {
  text = trimmed(text);
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool is_nearly(std::string_view word, std::string_view name) {
  const auto upper = [](char letter) { return letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter; };
  const auto same = [&](char one, char other) { return upper(one) == other; };
  const auto end = std::ranges::mismatch(word, name, same);
  std::string_view rest(end.in1, word.end());
  std::string_view rest_of_name(end.in2, name.end());
  while (!rest.empty() && !rest_of_name.empty() && same(rest.back(), rest_of_name.back())) {
    rest.remove_suffix(1);
    rest_of_name.remove_suffix(1);
  }
  const bool exchanged =
      rest.size() == 2 && rest_of_name.size() == 2 && same(rest[0], rest_of_name[1]) && same(rest[1], rest_of_name[0]);
  return exchanged || std::max(rest.size(), rest_of_name.size()) <= 1;
}

bool reads_as_number(std::string_view word) {
  double value = 0;
  return !word.empty() && parse_number(word.data(), word.data() + word.size(), value) == word.data() + word.size();
}

std::array<std::string_view, 3> first_lines(std::string_view text) {
  std::array<std::string_view, 3> lines;
  for (std::string_view& line : lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace gradus::files
