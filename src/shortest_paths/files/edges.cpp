#include "shortest_paths/files/edges.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/startable.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"

namespace gradus::files {

namespace {

/// Bytes of text per block. The edges of a block fit the L2 cache.
constexpr std::size_t bytes_per_block = std::size_t{1} << 18;
constexpr int blocks_per_thread = 4;

}  // namespace

void refuse_line(std::string what) { throw BadLine{std::move(what)}; }

const char* end_of_line(const char* at, const char* end) {
  const void* const newline = at == end ? nullptr : std::memchr(at, '\n', static_cast<std::size_t>(end - at));
  return newline ? static_cast<const char*>(newline) : end;
}

std::string_view word_at(const char* at, const char* end) {
  const char* stop = at;
  while (!at_line_end(stop, end) && !is_blank(*stop)) ++stop;
  return {at, static_cast<std::size_t>(stop - at)};
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

void refuse_missing_blank(const char* at, const char* end) {
  refuse_line(core::excerpt(word_at(at, end)) + " stands where a blank is expected");
}

void EdgeBlock::start(std::size_t bytes, bool are_real, std::size_t most_edges) {
  const std::size_t wanted = bytes + 2;
  if (room < wanted) {
    from = std::make_unique_for_overwrite<std::int32_t[]>(wanted);
    to = std::make_unique_for_overwrite<std::int32_t[]>(wanted);
    wholes = std::make_unique_for_overwrite<std::int64_t[]>(wanted);
    reals = std::make_unique_for_overwrite<double[]>(wanted);
    room = wanted;
  }
  count = lines = beyond = 0;
  limit = most_edges;
  real = are_real;
  decimals = false;
  least = greatest = 0;
  wrong.clear();
}

const char* EdgeBlock::odd_vertex(const char* at, const char* end, std::uint64_t base, std::uint64_t vertices,
                                  std::int32_t& into) {
  const auto least = static_cast<std::int64_t>(base);
  const std::int64_t most = least + static_cast<std::int64_t>(vertices) - 1;
  const char* stop = at;
  while (stop != end && (is_digit(*stop) || (stop == at && (*stop == '-' || *stop == '+')))) ++stop;
  const char* digits = at;
  while (stop - digits > 1 && *digits == '0') ++digits;
  if (const auto value = whole_number({digits, static_cast<std::size_t>(stop - digits)}, least, most)) {
    into = static_cast<std::int32_t>(*value - least);
    return stop;
  }
  const bool is_whole =
      stop != at && is_digit(stop[-1]) && (at_line_end(stop, end) || is_blank(*stop) || *stop == ',' || *stop == ';');
  if (!is_whole)
    refuse_line(at_line_end(at, end) ? "the line ends where a vertex is expected"
                                     : core::excerpt(word_at(at, end)) + " is not an integer, as vertices are");
  std::string text = "there is no vertex ";
  text.append(at, stop);
  if (vertices == 0) refuse_line(text + "; there is none");
  text.append("; vertices are ").append(std::to_string(least)).append(" to ").append(std::to_string(most));
  // If the file does not state the number of vertices, the limit is most_vertices.
  if (vertices >= static_cast<std::uint64_t>(most_vertices)) text.append(", and --names reads any as names");
  refuse_line(text);
}

void EdgeBlock::set_weight(double value) {
  if (!real) {
    std::transform(wholes.get(), wholes.get() + count, reals.get(),
                   [](std::int64_t whole) { return static_cast<double>(whole); });
    real = true;
  }
  reals[count] = value;
}

const char* EdgeBlock::odd_weight(const char* at, const char* end) {
  if (at_line_end(at, end)) refuse_line("the line ends where a weight is expected");
  double value = 0;
  const char* const stop = parse_number(at, end, value);
  if (!stop) refuse_line(core::excerpt(word_at(at, end)) + " is not a number, as weights are");
  if (!std::isfinite(value)) {
    const std::string text = core::excerpt({at, static_cast<std::size_t>(stop - at)});
    if (is_digit(stop[-1]) || stop[-1] == '.') refuse_line("the weight " + text + " is too large for a double");
    refuse_line("the weight " + text + " is not a finite number; an edge that is not there is left out");
  }
  const char* const first = *at == '+' || *at == '-' ? at + 1 : at;
  if (std::all_of(first, stop, is_digit)) {
    constexpr std::int64_t no_edge = std::numeric_limits<std::int64_t>::max();
    std::int64_t whole = 0;
    const auto [whole_stop, error] = std::from_chars(*at == '+' ? first : at, stop, whole);
    if (error == std::errc{} && whole != no_edge) {
      set_weight(whole);
      return stop;
    }
    if (beyond == 0) beyond = lines + 1;
  } else {
    decimals = true;
  }
  set_weight(value);
  return stop;
}

const char* EdgeBlock::weight(const char* at, const char* end, NumberFormat format) {
  if (format.is_plain()) return weight(at, end);
  double value = 0;
  const char* const stop = parse_number(at, end, value, format);
  if (!stop) return odd_weight(at, end);  // odd_weight() reports the error
  std::string plain(at, stop);
  std::erase(plain, format.group);
  std::replace(plain.begin(), plain.end(), format.point, '.');
  weight(plain.data(), plain.data() + plain.size());
  return stop;
}

void EdgeBlock::refuse_excess() const { refuse_line("more edges than the file promises"); }

template <class To>
void Edges::widen() {
  weights_ = std::visit(
      [](const auto& narrow) {
        auto wide = std::make_shared<GrowingBlock<To>>();
        if (const std::size_t size = narrow->size(); size > 0) {
          std::transform(narrow->data(), narrow->data() + size, wide->room(size),
                         [](auto value) { return static_cast<To>(value); });
          wide->add(size);
        }
        return wide;
      },
      weights_);
}

void Edges::append(const EdgeBlock& part, bool weighted) {
  const std::size_t count = part.count;
  if (count == 0) return;
  const auto put = [count](auto& block, const auto* first) {
    std::copy_n(first, count, block.room(count));
    block.add(count);
  };
  put(*from_, part.from.get());
  put(*to_, part.to.get());
  if (!weighted) return;
  using Narrow = std::numeric_limits<std::int32_t>;
  if (part.real) {
    if (weights_.index() != 2) widen<double>();
  } else if (weights_.index() == 0 && (part.least < Narrow::min() || part.greatest >= Narrow::max())) {
    widen<std::int64_t>();
  }
  std::visit(
      [&](const auto& block) {
        using T = std::remove_reference_t<decltype(*block->data())>;
        if constexpr (std::is_same_v<T, double>) {
          if (part.real) return put(*block, part.reals.get());
        }
        std::transform(part.wholes.get(), part.wholes.get() + count, block->room(count),
                       [](std::int64_t value) { return static_cast<T>(value); });
        block->add(count);
      },
      weights_);
}

std::pair<std::int32_t, std::int32_t> Edges::range() const {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t greatest = -1;
  for (const auto& block : {from_, to_})
    for (const std::int32_t* vertex = block->data(); vertex != block->data() + block->size(); ++vertex) {
      least = std::min(least, *vertex);
      greatest = std::max(greatest, *vertex);
    }
  return {greatest < 0 ? 0 : least, greatest};
}

void Edges::give(Graph& graph, bool weighted, std::int32_t base) {
  const auto view = [](const auto& block) {
    using T = std::remove_reference_t<decltype(*block->data())>;
    block->trim();
    return VectorOf<T>{{block->data(), static_cast<std::int64_t>(block->size())}, block};
  };
  if (base != 0)
    for (const auto& block : {from_, to_})
      std::for_each(block->data(), block->data() + block->size(), [base](std::int32_t& vertex) { vertex -= base; });
  graph.from = view(from_);
  graph.to = view(to_);
  if (weighted) std::visit([&](const auto& block) { graph.weights = view(block); }, weights_);
}

void EdgeReader::require_all(std::size_t found, std::size_t promised, const std::string& things,
                             std::size_t promising) const {
  if (found < promised)
    fail(lines_ + 1, "the file ends after " + std::to_string(found) + " of the " + std::to_string(promised) + " " +
                         things + " that line " + std::to_string(promising) + " promises");
}

void EdgeReader::fail(std::size_t line, const std::string& what) const {
  throw InputError(name_ + ":" + std::to_string(line) + ": " + what, fields_of_file(name_, line));
}

void EdgeReader::note(std::size_t line, const std::string& what) const {
  if (!options_.note) return;
  std::string text = name_;
  if (line > 0) text.append(":").append(std::to_string(line));
  options_.note(text.append(": ").append(what));
}

std::size_t EdgeReader::take(std::string_view text, bool last) {
  if (!started_) refuse_foreign(text, name_, Reader::graph);
  if (!last) text = text.substr(0, text.find_last_of('\n') + 1);
  const std::size_t size = text.size();
  started_ = started_ || !text.empty();
  while (!in_edges_ && !text.empty()) {
    const char* const stop = end_of_line(text.data(), text.data() + text.size());
    std::string_view line(text.data(), static_cast<std::size_t>(stop - text.data()));
    const std::size_t length = std::min(line.size() + 1, text.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.ends_with('\r')) fail(lines_ + 1, "a carriage return without a line feed; lines end with LF or CRLF");
    ahead_ = text;
    try {
      in_edges_ = !preamble(line);
    } catch (const BadLine& bad) {
      fail(lines_ + 1, bad.what);
    }
    if (in_edges_) break;
    ++lines_;
    text.remove_prefix(length);
    if (lines_ % 4096 == 0) core::honour_stop(options_.stop, "stopped while reading " + name_);
  }
  if (in_edges_) take_edges(text);
  return size;
}

/// Parses a block. Stores an error in `edges.wrong`.
void EdgeReader::parse(std::string_view text, EdgeBlock& edges, std::size_t most_edges) {
  edges.start(text.size(), real_, most_edges);
  try {
    parse_lines(text, edges);
  } catch (const BadLine& bad) {
    edges.wrong = bad.what;
  }
}

void EdgeReader::append(std::string_view text, EdgeBlock& edges) {
  // If the block has more edges than promised, parses it again up to the promised number, to find the first excess
  // line.
  if (const std::size_t left = promised_ - edges_.count(); edges.count > left && !is_ordered())
    parse(text, edges, left);
  if (edges.beyond != 0 && beyond_ == 0) beyond_ = lines_ + edges.beyond;
  if (!edges.wrong.empty()) fail(lines_ + edges.lines + 1, edges.wrong);
  edges_.decimals = edges_.decimals || edges.decimals;
  edges_.append(edges, weighted_);
  lines_ += edges.lines;
}

void EdgeReader::take_edges(std::string_view text) {
  const int threads = is_ordered() ? 1 : std::max(options_.threads, 1);
  const std::size_t most = is_ordered() ? 1 : static_cast<std::size_t>(threads) * blocks_per_thread;
  blocks_.resize(std::max(blocks_.size(), most));
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    core::honour_stop(options_.stop, "stopped while reading " + name_);
    parts.clear();
    while (!text.empty() && parts.size() < most) {
      const std::size_t length = std::min(bytes_per_block, text.size());
      const char* const stop = end_of_line(text.data() + length - 1, text.data() + text.size());
      parts.push_back(text.substr(0, static_cast<std::size_t>(stop - text.data()) + 1));
      text.remove_prefix(parts.back().size());
    }
    const auto count = static_cast<std::ptrdiff_t>(parts.size());
    const int team = count > 1 ? core::startable_threads(threads) : 1;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
    for (std::ptrdiff_t part = 0; part < count; ++part) {
      const auto index = static_cast<std::size_t>(part);
      parse(parts[index], blocks_[index],
            is_ordered() ? promised_ - edges_.count() : std::numeric_limits<std::size_t>::max());
    }
    for (std::size_t index = 0; index < parts.size(); ++index) append(parts[index], blocks_[index]);
  }
}

Graph EdgeReader::finish() {
  Graph graph;
  complete(graph, edges_);
  if (beyond_ != 0 && !edges_.decimals && !real_)
    fail(beyond_,
         "a weight that int64 does not hold (its greatest value stands for no edge); where one weight has a decimal "
         "point or an exponent, all are float64");
  edges_.give(graph, weighted_, base_);
  return graph;
}

}  // namespace gradus::files
