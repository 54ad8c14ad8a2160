// Code that the readers of text trajectories share: numbered lines, numbers, and atoms' words.
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

/// Removes the next word from a line and returns it. Returns an empty word if none is left.
std::string_view next_word(std::string_view& line);
std::vector<std::string_view> words_of(std::string_view line);

class AtomWordsBuilder {
 public:
  void add(std::string_view word);
  /// Moves the atom at place order[i] to place i, for each i.
  void reorder(const std::vector<std::size_t>& order);
  std::shared_ptr<const AtomWords> finish() { return std::make_shared<const AtomWords>(std::move(words_)); }

 private:
  AtomWords words_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

/// Numbers residues: a residue is a run of atoms with the same words.
class ResidueBuilder {
 public:
  /// `words` are all words that identify the residue of the next atom.
  void add(std::string_view words) {
    if (numbers_.empty() || words != last_) ++number_;
    last_ = words;
    numbers_.push_back(number_);
  }
  std::shared_ptr<const std::vector<std::int64_t>> finish() {
    return std::make_shared<const std::vector<std::int64_t>>(std::move(numbers_));
  }

 private:
  std::string last_;
  std::int64_t number_ = -1;
  std::vector<std::int64_t> numbers_;
};

/// The numbers of three vectors, one vector after another.
using BoxVectors = std::array<double, trajectory_axes * trajectory_axes>;

/// Returns true if the vectors named by `periodic` are along x, y and z.
bool is_orthogonal(const BoxVectors& vectors, std::string_view periodic = "xyz");

/// Returns the vectors of a cell with these lengths and these angles (alpha, beta, gamma), or the cosines of the
/// angles. Returns nothing if there is no such cell.
std::optional<BoxVectors> vectors_of_angles(const std::array<double, trajectory_axes>& lengths,
                                            std::array<double, trajectory_axes> angles, bool in_degrees = true);

/// Sets the frame's box, which repeats in the directions `periodic`. Returns the reason if it is no box, otherwise "".
/// If it repeats in no direction, an invalid box is ignored.
std::string_view put_box(Frame& frame, const BoxVectors& vectors, const std::array<double, trajectory_axes>& corner,
                         std::string periodic);

class TextFrames : public FrameParser {
 public:
  TextFrames(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels);
  std::optional<Frame> read(FrameParts parts) final;
  bool is_last_line_open() const final { return is_open_; }

 protected:
  /// Reads the frame that begins with the next line. That line must exist.
  virtual Frame read_frame(FrameParts parts) = 0;

  /// Throws CutFrameError if the file ends with the last line read, otherwise InputError.
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& what) const;
  /// Returns the place of the last line read, as "file:line".
  std::string place() const;

  /// Returns the next line without its line end. The line is valid until the next call. If there is no line, throws an
  /// error that says that `what` is missing.
  std::string_view line(const char* what);
  std::string_view line_of_atom(std::int64_t atom, std::int64_t count);
  /// Skips what may separate frames, by default blank lines, and returns true if nothing else is left.
  virtual bool at_end();
  /// Returns the next line that is not blank, which the next call of line() returns again, or nothing at the end.
  std::optional<std::string_view> peek();

  /// Parses the number of atoms. Throws if a file in memory is too short for that many atoms, each of which takes at
  /// least `least` bytes.
  std::int64_t atom_count(std::string_view text, std::int64_t least) const;
  std::int64_t check_count(std::int64_t count, std::int64_t least) const;
  /// Calls check_memory() if check_count() has compared the number of atoms with the size of the file.
  void check_memory_of(std::int64_t count) const {
    if (text_->bytes_left()) check_memory(count);
  }
  double number(std::string_view word, const char* what) const;
  /// Skips the lines of the atoms. A line that begins with `head` is an error, because the frame then has fewer atoms
  /// than it claims.
  void pass_atoms(std::int64_t count, std::string_view head = {});
  /// Calls put_box() and throws if it is no box.
  void set_box(Frame& frame, const BoxVectors& vectors, const std::array<double, trajectory_axes>& corner,
               std::string periodic) const;

  /// The columns of an atom's line, counted from 0.
  struct Columns {
    std::array<std::size_t, trajectory_axes> position{};
    std::size_t fewest = 0;  ///< number of columns that a line must have
    std::size_t named = 0;   ///< number of columns that the file announces for each line, or 0 if it announces none
    bool scaled = false;
    std::optional<std::size_t> type;
    std::optional<std::size_t> element;
    std::optional<std::size_t> molecule;
    std::optional<std::size_t> id;
  };
  /// Reads the lines of the atoms and sets the requested labels. Returns the coordinates. If the atoms have ids, the
  /// coordinates and labels are sorted by id.
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
  std::int64_t line_ = 0;             ///< number of lines read
  std::int64_t blank_ = 0;            ///< number of lines that at_end() skipped
  std::optional<std::string> ahead_;  ///< the line after the lines that at_end() skipped
  std::string current_;
  bool started_ = false;
  bool is_open_ = false;  ///< true if the last line read has no line end
};

Points points_of(std::vector<double> coordinates);

/// Implements TrajectoryFormat::of_text.
template <class Parser>
std::unique_ptr<FrameParser> make_frame_parser(std::unique_ptr<TextInput> text, std::stop_token stop, bool labels) {
  return std::make_unique<Parser>(std::move(text), std::move(stop), labels);
}
bool is_whole_number(std::string_view text);
/// Returns true if one insertion, deletion, substitution or exchange of neighbours, or none, makes the word this name.
/// The name is upper-case, and the case of the word does not matter.
bool is_nearly(std::string_view word, std::string_view name);
bool reads_as_number(std::string_view word);
/// Returns the first three lines, without line ends. Lines that the text lacks are empty.
std::array<std::string_view, 3> first_lines(std::string_view text);

}  // namespace gradus::files
