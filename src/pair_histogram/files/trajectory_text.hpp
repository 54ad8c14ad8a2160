// What the readers of trajectories in text share: lines with their numbers, the numbers in them, words of atoms.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/text_input.hpp"
#include "pair_histogram/files/trajectory_format.hpp"

namespace gradus::files {

inline constexpr std::int64_t trajectory_axes = 3;

/// The next word of a line, or nothing.
std::string_view next_word(std::string_view& line);
std::vector<std::string_view> words_of(std::string_view line);

/// Collects the words of atoms one by one.
class AtomWordsBuilder {
 public:
  void add(std::string_view word);
  /// Puts the atom that was at place order[i] at place i.
  void reorder(const std::vector<std::size_t>& order);
  std::shared_ptr<const AtomWords> finish() { return std::make_shared<const AtomWords>(std::move(words_)); }

 private:
  AtomWords words_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

/// Three vectors one after the other.
using BoxVectors = std::array<double, trajectory_axes * trajectory_axes>;

/// Returns whether the vectors go along x, y and z, of those that `periodic` names.
bool is_orthogonal(const BoxVectors& vectors, std::string_view periodic = "xyz");

class TextFrames : public FrameParser {
 public:
  TextFrames(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels);
  std::optional<Frame> read(FrameParts parts) final;
  bool is_last_line_open() const final { return is_open_; }

 protected:
  /// The frame that begins with the next line, which there is.
  virtual Frame read_frame(FrameParts parts) = 0;

  /// Throws InputError, or CutFrameError if the file ends in the line that was taken last.
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& what) const;
  /// file:line of the last line that was taken.
  std::string place() const;

  /// The next line without its end, valid until the next call; `what` is missing where there is none.
  std::string_view line(const char* what);
  std::string_view line_of_atom(std::int64_t atom, std::int64_t count);
  /// Whether blank lines, which this passes over, are all that is left.
  bool at_end();

  /// The number of atoms, no more than the rest of a file in memory can hold at `least` bytes each.
  std::int64_t atom_count(std::string_view text, std::int64_t least) const;
  std::int64_t check_count(std::int64_t count, std::int64_t least) const;
  double number(std::string_view word, const char* what) const;
  /// Fails at a line that begins with `head`, if one is given: the frame has fewer atoms than it claims.
  void pass_atoms(std::int64_t count, std::string_view head = {});
  /// `periodic`: directions of "xyz" in which the box repeats. In open space a box that cannot repeat is left out.
  void set_box(Frame& frame, const BoxVectors& vectors, const std::array<double, trajectory_axes>& corner,
               std::string periodic) const;

  /// Where the columns of an atom's line stand, counted from 0.
  struct Columns {
    std::array<std::size_t, trajectory_axes> position{};
    std::size_t fewest = 0;  ///< that a line must have
    std::size_t named = 0;   ///< that each line has, where the file says so; otherwise 0
    bool scaled = false;
    std::optional<std::size_t> type;
    std::optional<std::size_t> element;
    std::optional<std::size_t> id;
  };
  /// The atoms' lines, in the order of the ids where there are any: coordinates one after the other, and labels where
  /// they are wanted.
  std::vector<double> positions(std::int64_t count, const Columns& columns, AtomLabels& labels);
  bool labels() const { return labels_; }
  void honour_stop(std::int64_t atom) const;

 private:
  [[noreturn]] void fail_cut(const std::string& what) const;
  void sort_by_id(std::vector<std::int64_t>& ids, std::vector<double>& coordinates,
                  std::initializer_list<AtomWordsBuilder*> words) const;

  std::unique_ptr<TextInput> text_;
  std::stop_token stop_;
  bool labels_;
  std::int64_t line_ = 0;             ///< lines taken
  std::int64_t blank_ = 0;            ///< lines that at_end() passed over
  std::optional<std::string> ahead_;  ///< the line behind those
  std::string current_;
  bool started_ = false;
  bool is_open_ = false;  ///< the line that was taken last has no end
};

/// The points of a frame of coordinates one after the other.
Points points_of(std::vector<double> coordinates);

// For the rows of formats.

/// For TrajectoryFormat::of_text.
template <class Parser>
std::unique_ptr<FrameParser> make_frame_parser(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels) {
  return std::make_unique<Parser>(std::move(text), std::move(stop), labels);
}
bool is_whole_number(std::string_view text);
bool reads_as_number(std::string_view word);
/// The first lines, without what may have been cut off.
std::array<std::string_view, 3> first_lines(std::string_view text);

}  // namespace gradus::files
