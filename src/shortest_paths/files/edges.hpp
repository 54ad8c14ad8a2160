// What the readers of graphs share: stretches of text, parsed by several threads, and the edges gathered in order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// As many as std::int32_t counts.
inline constexpr std::int64_t most_vertices = std::numeric_limits<std::int32_t>::max();

/// What is wrong with the line at hand.
struct BadLine {
  std::string what;
};
[[noreturn]] void refuse_line(std::string what);

inline const char* skip_blanks(const char* at, const char* end) {
  while (at != end && is_blank(*at)) ++at;
  return at;
}
/// Whether nothing but the line's end follows: LF, CRLF, or the end of the text.
inline bool at_line_end(const char* at, const char* end) {
  return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}
/// Where the line ends, without its LF.
const char* end_of_line(const char* at, const char* end);
/// The word at `at`, for messages: up to a blank or the line's end.
std::string_view word_at(const char* at, const char* end);
/// A whole number of [least, most] alone in a text, or nothing.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least, std::int64_t most);

[[noreturn]] void refuse_missing_blank(const char* at, const char* end);

/// Past the blanks that must stand at `at`, unless the line ends there.
inline const char* after_blanks(const char* at, const char* end) {
  const char* const next = skip_blanks(at, end);
  if (next == at && !at_line_end(at, end)) refuse_missing_blank(at, end);
  return next;
}

/// Past the digits at `at`, which are `value`; of more than 19 digits it is anything. Seven digits or fewer are taken
/// at once, for where a number ends is a guess that goes wrong time and again.
inline const char* digits_at(const char* at, const char* end, std::uint64_t& value) {
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
  std::uint64_t word = 0;
  if (std::endian::native == std::endian::little && end - at >= std::ptrdiff_t{sizeof(word)}) {
    std::memcpy(&word, at, sizeof(word));
    // Not 0 in the first byte that is no digit, and 0 in all before: 0x30 to 0x39, and no more when 6 is added.
    const std::uint64_t other =
        ((word & 0xf0 * ones) ^ 0x30 * ones) | (((word + 6 * ones) & 0xf0 * ones) ^ 0x30 * ones);
    if (other != 0) {
      const int digits = std::countr_zero(other) / 8;
      value = 0;
      if (digits == 0) return at;
      // To the end of the word, zeros before them; then neighbours are joined: digits, pairs, fours.
      word = (word << (64 - 8 * digits)) & 0x0f * ones;
      word = (word * (10 * 0x100 + 1)) >> 8 & 0x00ff'00ff'00ff'00ff;
      word = (word * (100 * 0x1'0000 + 1)) >> 16 & 0x0000'ffff'0000'ffff;
      value = (word * (10'000 * 0x1'0000'0000 + 1)) >> 32;
      return at + digits;
    }
  }
  value = 0;
  for (; at != end && is_digit(*at); ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  return at;
}

/// The edges of some lines.
class EdgeStretch {
 public:
  /// Forgets all; room for the edges of so many bytes of text, each of which has at least two.
  void start(std::size_t bytes, bool real, std::size_t most_edges);

  /// Parses the vertex at `at`, one of `vertices` that count from `base`; `into` counts from 0.
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

  /// Parses a weight for the edge that add() adds next.
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
  /// The same of a number in another notation.
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
  std::size_t lines = 0;   ///< that were ended
  bool real = false;       ///< weights are `reals`
  bool decimals = false;   ///< some weight has decimals or an exponent
  std::size_t beyond = 0;  ///< the first line, from 1, with a whole number that int64 does not hold, or only as no edge
  std::int64_t least = 0;  ///< of `wholes`, or 0
  std::int64_t greatest = 0;
  std::string wrong;  ///< with line `lines` + 1; empty: nothing

 private:
  static const char* odd_vertex(const char* at, const char* end, std::uint64_t base, std::uint64_t vertices,
                                std::int32_t& into);
  const char* odd_weight(const char* at, const char* end);
  [[noreturn]] void refuse_excess() const;
};

/// Calls use(where its first word begins) for each line of the text but blank ones, and counts the lines.
template <class Use>
void for_each_line(std::string_view text, EdgeStretch& edges, const Use& use) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (; at != end; ++edges.lines) {
    at = skip_blanks(at, end);
    if (!at_line_end(at, end)) at = use(at);
    if (at != end && *at != '\n') at = end_of_line(at, end);
    if (at != end) ++at;
  }
}

/// All edges of a file.
class Edges {
 public:
  void append(const EdgeStretch& stretch, bool weighted);
  std::size_t count() const { return from_->size(); }
  /// The least and the greatest vertex; of no edges 0 and -1.
  std::pair<std::int32_t, std::int32_t> range() const;
  /// Moves the edges to the graph. `base` is subtracted from its vertices.
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

/// Reads lines: first those before the edges one by one, then edges. A format derives from it.
class EdgeReader {
 public:
  EdgeReader(std::string name, const GraphReadOptions& options) : name_(std::move(name)), options_(options) {}
  EdgeReader(const EdgeReader&) = delete;
  EdgeReader& operator=(const EdgeReader&) = delete;
  virtual ~EdgeReader() = default;

  /// See TakeLines.
  std::size_t take(std::string_view text, bool last);
  Graph finish();

 protected:
  /// A line before the edges, without its end. False: it is the first of the edges' lines, which stretch() gets.
  virtual bool preamble(std::string_view line) = 0;
  /// Parses whole lines. Called by several threads at once unless is_ordered(); refuse_line() tells what is wrong with
  /// line `lines` + 1.
  virtual void stretch(std::string_view text, EdgeStretch& edges) = 0;
  /// At the end: all that the edges themselves do not tell.
  virtual void complete(Graph& graph, const Edges& edges) = 0;

  /// Stretches must come one after the other.
  virtual bool is_ordered() const { return false; }

  [[noreturn]] void fail(std::size_t line, const std::string& what) const;
  /// That the file does not end before as many `things` as the line `promising` says.
  void require_all(std::size_t found, std::size_t promised, const std::string& things, std::size_t promising) const;
  void note(std::size_t line, const std::string& what) const;

  const std::string name_;
  const GraphReadOptions& options_;
  std::string_view ahead_;  ///< for preamble(): the text at hand, from its line on
  std::size_t lines_ = 0;   ///< that lie behind
  bool weighted_ = true;
  bool real_ = false;  ///< weights have decimals, whatever they look like
  std::size_t promised_ = std::numeric_limits<std::size_t>::max() - 1;  ///< edges
  std::int32_t base_ = 0;                                               ///< subtracted from all vertices at the end

 private:
  void take_edges(std::string_view text);
  void parse(std::string_view text, EdgeStretch& edges, std::size_t most_edges);
  void append(std::string_view text, EdgeStretch& edges);

  bool started_ = false;
  bool in_edges_ = false;
  Edges edges_;
  std::size_t beyond_ = 0;  ///< the first line with a whole number that int64 does not hold
  std::vector<EdgeStretch> stretches_;
};

/// For GraphFormat::reader: a reader that does not depend on the ending of the name.
template <class Reader>
std::unique_ptr<EdgeReader> make_reader(std::string name, std::string_view, const GraphReadOptions& options) {
  return std::make_unique<Reader>(std::move(name), options);
}

}  // namespace gradus::files
