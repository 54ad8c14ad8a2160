// Common code of the graph readers. Several threads parse blocks of text, and the edges of the blocks are collected in
// order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "files/growing_block.hpp"
#include "files/number.hpp"
#include "shortest_paths/files/graph_format.hpp"

namespace gradus::files {

/// The largest number of vertices. It must fit std::int32_t.
inline constexpr std::int64_t most_vertices = std::numeric_limits<std::int32_t>::max();

/// Thrown for an error in the current line.
struct BadLine {
  std::string what;
};
[[noreturn]] void refuse_line(std::string what);

inline const char* skip_blanks(const char* at, const char* end) {
  while (at != end && is_blank(*at)) ++at;
  return at;
}
/// Returns true at the end of a line: LF, CRLF, or the end of the text.
inline bool at_line_end(const char* at, const char* end) {
  return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}
/// Returns the end of the line, before its LF.
const char* end_of_line(const char* at, const char* end);
/// Returns the word that begins at `at` and ends before a blank or the end of the line, for messages.
std::string_view word_at(const char* at, const char* end);
/// Parses a text that consists of one integer in [least, most]. Returns nothing for any other text.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least, std::int64_t most);

[[noreturn]] void refuse_missing_blank(const char* at, const char* end);

/// Skips the blanks at `at` and throws if there are none. The end of a line needs no blanks before it.
inline const char* after_blanks(const char* at, const char* end) {
  const char* const next = skip_blanks(at, end);
  if (next == at && !at_line_end(at, end)) refuse_missing_blank(at, end);
  return next;
}

class EdgeBlock {
 public:
  /// Removes all edges and reserves room for the edges of a text of `bytes` bytes. An edge takes at least two bytes of
  /// text.
  void start(std::size_t bytes, bool real, std::size_t most_edges);

  /// Parses the number of a vertex and stores its zero-based index in `into`. The text begins at `at`. Valid numbers
  /// are `base` to `base` + `vertices` - 1.
  static const char* vertex(const char* at, const char* end, std::uint64_t base, std::uint64_t vertices,
                            std::int32_t& into) {
    std::uint64_t value = 0;
    const char* const stop = digits_at(at, end, value);
    constexpr std::ptrdiff_t safe_digits = 19;
    if (stop == at || stop - at > safe_digits || value - base >= vertices)
      return odd_vertex(at, end, base, vertices, into);
    into = static_cast<std::int32_t>(value - base);
    return stop;
  }

  /// Parses the weight of the next edge; a call of add() must follow.
  const char* weight(const char* at, const char* end) {
    const char* digits = at;
    const bool negative = digits != end && *digits == '-';
    if (digits != end && (*digits == '-' || *digits == '+')) ++digits;
    std::uint64_t magnitude = 0;
    const char* const stop = digits_at(digits, end, magnitude);
    constexpr std::ptrdiff_t safe_digits = 18;
    if (stop == digits || stop - digits > safe_digits ||
        (stop != end && (*stop == '.' || *stop == 'e' || *stop == 'E')))
      return odd_weight(at, end);
    const auto value = static_cast<std::int64_t>(magnitude);
    set_weight(negative ? -value : value);
    return stop;
  }
  const char* weight(const char* at, const char* end, NumberFormat format);
  void set_weight(std::int64_t value) {
    if (real) {
      reals[count] = static_cast<double>(value);
      return;
    }
    wholes[count] = value;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  void set_weight(double value);

  void add(std::int32_t begin, std::int32_t finish) {
    if (count == limit) refuse_excess();
    from[count] = begin;
    to[count++] = finish;
  }

  std::unique_ptr<std::int32_t[]> from;
  std::unique_ptr<std::int32_t[]> to;
  std::unique_ptr<std::int64_t[]> wholes;
  std::unique_ptr<double[]> reals;
  std::size_t room = 0;
  std::size_t count = 0;
  std::size_t limit = 0;
  std::size_t lines = 0;  ///< number of complete lines
  bool real = false;      ///< true if weights are stored in `reals`
  bool decimals = false;  ///< true if some weight has decimals or an exponent
  /// The number, counted from 1, of the first line whose weight is an integer that exceeds int64 or that means "no
  /// edge" in int64.
  std::size_t beyond = 0;
  std::int64_t least = 0;  ///< minimum of 0 and all elements of `wholes`
  std::int64_t greatest = 0;
  std::string wrong;  ///< description of an error in line `lines` + 1; empty if there is none

 private:
  static const char* odd_vertex(const char* at, const char* end, std::uint64_t base, std::uint64_t vertices,
                                std::int32_t& into);
  const char* odd_weight(const char* at, const char* end);
  [[noreturn]] void refuse_excess() const;
};

/// Calls use(pointer to the first word) for each nonblank line of the text, and counts the lines.
template <class Use>
void for_each_line(std::string_view text, EdgeBlock& edges, const Use& use) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (; at != end; ++edges.lines) {
    at = skip_blanks(at, end);
    if (!at_line_end(at, end)) at = use(at);
    if (at != end && *at != '\n') at = end_of_line(at, end);
    if (at != end) ++at;
  }
}

class Edges {
 public:
  void append(const EdgeBlock& block, bool weighted);
  std::size_t count() const { return from_->size(); }
  /// Returns the smallest and the largest vertex number, or 0 and -1 if there are no edges.
  std::pair<std::int32_t, std::int32_t> range() const;
  /// Moves the edges to the graph and subtracts `base` from its vertices.
  void give(Graph& graph, bool weighted, std::int32_t base);

  bool decimals = false;

 private:
  template <class To>
  void widen();
  template <class T>
  using Block = std::shared_ptr<GrowingBlock<T>>;
  Block<std::int32_t> from_ = std::make_shared<GrowingBlock<std::int32_t>>();
  Block<std::int32_t> to_ = std::make_shared<GrowingBlock<std::int32_t>>();
  std::variant<Block<std::int32_t>, Block<std::int64_t>, Block<double>> weights_ =
      std::make_shared<GrowingBlock<std::int32_t>>();
};

/// Reads the lines of a file: first the preamble, one line at a time, then the edges, in blocks. Base class of the
/// formats.
class EdgeReader {
 public:
  EdgeReader(std::string name, const GraphReadOptions& options) : name_(std::move(name)), options_(options) {}
  EdgeReader(const EdgeReader&) = delete;
  EdgeReader& operator=(const EdgeReader&) = delete;
  virtual ~EdgeReader() = default;

  /// Implements TakeLines.
  std::size_t take(std::string_view text, bool last);
  Graph finish();

 protected:
  /// Reads a line of the preamble, without its line end. Returns false if the line is the first one with an edge.
  virtual bool preamble(std::string_view line) = 0;
  /// Parses whole lines. Runs concurrently for several blocks unless is_ordered() returns true. Reports an error in
  /// line `lines` + 1 with refuse_line().
  virtual void parse_lines(std::string_view text, EdgeBlock& edges) = 0;
  /// Called at the end of the file. Sets all members of the graph except the edges.
  virtual void complete(Graph& graph, const Edges& edges) = 0;

  /// Returns true if blocks must be parsed in order.
  virtual bool is_ordered() const { return false; }

  [[noreturn]] void fail(std::size_t line, const std::string& what) const;
  /// Throws if `found` is less than `promised`, the number that line `promising` of the file states. `things` is the
  /// noun for the message.
  void require_all(std::size_t found, std::size_t promised, const std::string& things, std::size_t promising) const;
  void note(std::size_t line, const std::string& what) const;

  const std::string name_;
  const GraphReadOptions& options_;
  std::string_view ahead_;  ///< for preamble(): the text that is available, beginning with the current line
  std::size_t lines_ = 0;
  bool weighted_ = true;
  bool real_ = false;  ///< true if weights are floating-point numbers, even if all weights look like integers
  std::size_t promised_ = std::numeric_limits<std::size_t>::max() - 1;  ///< number of edges that the file promises
  std::int32_t base_ = 0;  ///< number of the first vertex, which is subtracted from all vertices at the end

 private:
  void take_edges(std::string_view text);
  void parse(std::string_view text, EdgeBlock& edges, std::size_t most_edges);
  void append(std::string_view text, EdgeBlock& edges);

  bool started_ = false;
  bool in_edges_ = false;
  Edges edges_;
  std::size_t beyond_ = 0;  ///< the first line with an integer that exceeds int64
  std::vector<EdgeBlock> blocks_;
};

/// Returns a reader that does not depend on the file extension, for GraphFormat::reader.
template <class Reader>
std::unique_ptr<EdgeReader> make_reader(std::string name, std::string_view, const GraphReadOptions& options) {
  return std::make_unique<Reader>(std::move(name), options);
}

}  // namespace gradus::files
