// Which atoms of a frame are wanted: "type O", "element H and not id 1-100", "index 0-999".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pair_histogram/files/trajectory.hpp"

namespace gradus::files {

/// * all
/// * type, element, name or residue, followed by words, between blanks or commas: atoms with one of these, exactly as
///   the file writes them
/// * id or index, followed by whole numbers and ranges A-B with both ends: by the file's ids, or by the places in the
///   frame, counted from 0
/// * not, and, or, in the order of their precedence, and parentheses
class AtomSelection {
 public:
  /// UsageError, with the place, for what is none; messages begin with the name of the option.
  AtomSelection(std::string_view text, std::string_view option);

  /// The numbers of the rows, which increase. InputError, beginning with `what`, where the file says nothing of what
  /// the selection asks for, or there is no atom with a word, an id or an index that it names.
  std::vector<std::int64_t> rows(const Frame& frame, const std::string& what) const;

  const std::string& text() const { return text_; }
  /// Returns whether it names places in the frame (index).
  bool is_by_place() const;

 private:
  enum class Kind : std::uint8_t { all, type, element, name, residue, id, index, negation, conjunction, disjunction };
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  struct Node {
    Kind kind = Kind::all;
    std::vector<std::string> words;
    std::vector<Range> ranges;
    std::size_t left = 0;  ///< operands, by their numbers
    std::size_t right = 0;
  };
  class Parser;
  class Evaluator;

  std::string text_;
  std::string option_;
  std::vector<Node> nodes_;  ///< the last is the root
};

}  // namespace gradus::files
