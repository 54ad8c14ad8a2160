#include "io/trajectory_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/number.hpp"

namespace gradus::io {

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
  // Atoms of one kind often follow each other, or the same few words come again and again.
  if (!words_.of_atoms.empty() && words_.words[static_cast<std::size_t>(words_.of_atoms.back())] == word) {
    words_.of_atoms.push_back(words_.of_atoms.back());
    return;
  }
  const auto [found, is_new] = numbers_.try_emplace(std::string(word), static_cast<std::int32_t>(words_.words.size()));
  if (is_new) words_.words.emplace_back(word);
  words_.of_atoms.push_back(found->second);
}

bool is_orthogonal(const BoxVectors& vectors) {
  double shortest = std::abs(vectors[0]);
  for (std::size_t axis = 1; axis < trajectory_axes; ++axis)
    shortest = std::min(shortest, std::abs(vectors[axis * (trajectory_axes + 1)]));
  for (std::size_t index = 0; index < vectors.size(); ++index)
    if (index % (trajectory_axes + 1) != 0 && std::abs(vectors[index]) > box_tolerance * shortest) return false;
  return true;
}

Points points_of(std::vector<double> coordinates) {
  auto owner = std::make_shared<const std::vector<double>>(std::move(coordinates));
  const auto rows = static_cast<std::int64_t>(owner->size()) / trajectory_axes;
  return {.values = PointsOf<double>{{owner->data(), rows, trajectory_axes}, owner}, .picture = {}, .column_names = {}};
}

TextFrames::TextFrames(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels)
    : text_(std::move(text)), stop_(std::move(stop)), labels_(labels) {}

std::optional<Frame> TextFrames::next() {
  if (std::exchange(started_, true) && at_end()) return std::nullopt;
  return read_frame(true);
}

bool TextFrames::skip() {
  if (std::exchange(started_, true) && at_end()) return false;
  read_frame(false);
  return true;
}

std::string TextFrames::place() const { return text_->name() + ":" + std::to_string(line_); }
void TextFrames::fail(const std::string& what) const { throw InputError(place() + ": " + what); }
void TextFrames::refuse(const std::string& what) const { throw UnsupportedError(place() + ": " + what); }
std::string_view TextFrames::line(const char* what) {
  ++line_;
  if (blank_ > 0) {
    --blank_;
    return {};
  }
  if (ahead_) {
    current_ = std::move(*ahead_);
    ahead_.reset();
    return current_;
  }
  std::optional<std::string_view> taken = text_->next_line();
  if (!taken) fail(std::string("the file ends where ") + what + " should be");
  return *taken;
}

std::string_view TextFrames::line_of_atom(std::int64_t atom, std::int64_t count) {
  if (blank_ == 0 && !ahead_) {
    ++line_;
    if (const std::optional<std::string_view> taken = text_->next_line()) return *taken;
    fail("the file ends where the line of atom " + std::to_string(atom + 1) + " of " + std::to_string(count) +
         " should be");
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
    fail("the frame claims " + std::to_string(count) + " atoms, but only " + std::to_string(*left) + " bytes follow");
  if (count > most)
    fail("the frame claims " + std::to_string(count) + " atoms; at most " + std::to_string(most) + " can be read");
  return count;
}

bool TextFrames::all_or_none(std::ptrdiff_t periodic) const {
  if (periodic != 0 && periodic != trajectory_axes)
    refuse("the box is periodic in some directions only; it has to be in all of them or in none");
  return periodic == trajectory_axes;
}

void TextFrames::set_box(Frame& frame, const BoxVectors& vectors,
                         const std::array<double, trajectory_axes>& corner) const {
  if (!is_orthogonal(vectors)) {
    const auto [ax, ay, az, bx, by, bz, cx, cy, cz] = vectors;
    const double volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
    if (volume == 0 || !std::isfinite(volume)) fail("the three vectors of the box are in a plane, or too long");
    frame.box.assign(vectors.begin(), vectors.end());
  } else {
    for (std::size_t axis = 0; axis < trajectory_axes; ++axis) {
      frame.box.push_back(vectors[axis * (trajectory_axes + 1)]);
      if (!(frame.box.back() > 0)) fail("a length of the lattice is not positive");
    }
  }
  frame.box_origin.assign(corner.begin(), corner.end());
}

double TextFrames::number(std::string_view word, const char* what) const {
  double value = 0;
  if (parse_number(word.data(), word.data() + word.size(), value) != word.data() + word.size() || word.empty())
    fail(core::excerpt(word) + " is not a number (" + what + ")");
  if (!std::isfinite(value)) fail(core::excerpt(word) + " is not a finite number (" + what + ")");
  return value;
}

void TextFrames::honour_stop(std::int64_t atom) const {
  constexpr std::int64_t atoms_between_looks = 4096;
  if (atom % atoms_between_looks == 0) core::honour_stop(stop_, "stopped while reading '" + text_->name() + "'");
}

void TextFrames::pass_atoms(std::int64_t count) {
  for (std::int64_t atom = 0; atom < count; ++atom) {
    honour_stop(atom);
    line_of_atom(atom, count);
  }
}

std::vector<double> TextFrames::positions(std::int64_t count, const Columns& columns, AtomLabels& labels) {
  static constexpr std::array<const char*, trajectory_axes> names = {"x", "y", "z"};
  constexpr std::int64_t believed = 1 << 20;  // of a stream nobody knows how much follows
  std::vector<double> coordinates;
  coordinates.reserve(
      static_cast<std::size_t>(trajectory_axes * (text_->bytes_left() ? count : std::min(count, believed))));
  AtomWordsBuilder types;
  AtomWordsBuilder elements;
  std::vector<std::int64_t> ids;
  for (std::int64_t atom = 0; atom < count; ++atom) {
    honour_stop(atom);
    std::string_view rest = line_of_atom(atom, count);
    std::size_t column = 0;
    int found = 0;
    std::array<double, trajectory_axes> position{};
    for (; column < columns.fewest; ++column) {
      const std::string_view word = next_word(rest);
      if (word.empty())
        fail(std::to_string(column) + " columns, but " +
             (columns.named > 0 ? "the frame names " + std::to_string(columns.named)
                                : std::to_string(columns.fewest) + " are needed for an atom"));
      for (std::size_t axis = 0; axis < trajectory_axes; ++axis)
        if (columns.position[axis] == column) {
          position[axis] = number(word, names[axis]);
          ++found;
        }
      if (labels_) {
        if (columns.type == column) types.add(word);
        if (columns.element == column) elements.add(word);
        if (columns.id == column) {
          std::int64_t id = 0;
          const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
          if (error != std::errc{} || stop != word.data() + word.size())
            fail(core::excerpt(word) + " is not a whole number (id)");
          ids.push_back(id);
        }
      } else if (found == trajectory_axes) {
        ++column;
        break;
      }
    }
    coordinates.insert(coordinates.end(), position.begin(), position.end());
    if (columns.named == 0) continue;
    // A word too many or too few may have moved the coordinates to other columns.
    while (!next_word(rest).empty()) ++column;
    if (column != columns.named)
      fail(std::to_string(column) + " columns, but the frame names " + std::to_string(columns.named));
  }
  if (labels_ && columns.type) labels.types = types.finish();
  if (labels_ && columns.element) labels.elements = elements.finish();
  if (labels_ && columns.id) labels.ids = std::make_shared<const std::vector<std::int64_t>>(std::move(ids));
  return coordinates;
}

}  // namespace gradus::io
