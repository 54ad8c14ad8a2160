// Selections of a frame's atoms: "type O", "element H and not id 1-100", "index 0-999".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pair_histogram/files/trajectory.hpp"

namespace gradus::files {

/// A selection of atoms. Its syntax:
///
/// * all
/// * type, element, name or residue, followed by words separated by blanks or commas: selects the atoms that have one
///   of these words, spelt as in the file
/// * id or index, followed by integers and inclusive ranges A-B: selects by the file's ids, or by the positions in the
///   frame, counted from 0
/// * x, y or z, followed by ranges A:B: selects the atoms whose coordinate in the file is at least A and below B. A or
/// B
///   may be left out
/// * not, and, or, in this order of precedence, and parentheses
class AtomSelection {
 public:
  /// Parses a selection. If the selection is invalid, throws UsageError that names `option` and the position in the
  /// text.
  AtomSelection(std::string_view text, std::string_view option);

  /// Returns the row numbers of the selected atoms in increasing order. Throws InputError about `what` if the file
  /// lacks data that the selection needs, or if the selection names a word, id or index that no atom has.
  std::vector<std::int64_t> rows(const Frame& frame, const std::string& what) const;
  /// Returns the message about `what` if the selection matches no atom of the frame. It lists what could be selected.
  std::string no_match(const Frame& frame, const std::string& what) const;

  const std::string& text() const { return text_; }
  /// Returns true if the selection contains the keyword `index`, which selects atoms by their positions in the frame.
  bool is_by_place() const;
  /// Returns true if the selection depends on coordinates, which differ from frame to frame.
  bool is_by_coordinates() const;
  /// Returns true if the selection depends on types, elements, names, residues or ids.
  bool is_by_labels() const;

 private:
  enum class Kind : std::uint8_t {
    all,
    type,
    element,
    name,
    residue,
    id,
    index,
    x,
    y,
    z,
    negation,
    conjunction,
    disjunction
  };
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  struct Node {
    Kind kind = Kind::all;
    std::vector<std::string> words;
    std::vector<Range> ranges;
    std::vector<std::pair<double, double>> intervals;
    std::size_t left = 0;  ///< index of the left operand in `nodes_`; `right` is the index of the right operand
    std::size_t right = 0;
  };
  class Parser;
  class Evaluator;

  std::string text_;
  std::string option_;
  std::vector<Node> nodes_;  ///< the last node is the root
};

}  // namespace gradus::files
