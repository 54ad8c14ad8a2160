// `gradus generate life-soup`: makes random cells.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/life_steps.hpp"
#include "cli/output.hpp"
#include "core/atomic_file.hpp"
#include "core/phases.hpp"
#include "core/philox.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "life/files/pattern.hpp"
#include "life/quadtree.hpp"

namespace gradus {

namespace cli {

/// The symmetry group of the cells, by its usual mathematical name. A group consists of reflections, and of rotations
/// about the centre.
enum class Symmetry : std::uint8_t { c1, c2, c4, d2_rows, d2_columns, d2_diagonal, d4, d4_diagonal, d8 };

}  // namespace cli

template <>
inline constexpr auto enum_names<cli::Symmetry> =
    std::to_array<EnumName<cli::Symmetry>>({{cli::Symmetry::c1, "C1"},
                                            {cli::Symmetry::c2, "C2"},
                                            {cli::Symmetry::c4, "C4"},
                                            {cli::Symmetry::d2_rows, "D2-"},
                                            {cli::Symmetry::d2_columns, "D2|"},
                                            {cli::Symmetry::d2_diagonal, "D2x"},
                                            {cli::Symmetry::d4, "D4+"},
                                            {cli::Symmetry::d4_diagonal, "D4x"},
                                            {cli::Symmetry::d8, "D8"}});

}  // namespace gradus

namespace gradus::cli {

namespace {

constexpr std::uint64_t stream = 64;

struct Soup {
  LifeSize size{64, 64};
  double density = 0.5;
  Symmetry symmetry = Symmetry::c1;
  LifeRule rule;
  LifeBoundary boundary = LifeBoundary::plane;
  std::uint64_t seed = 0;

  bool needs_square() const {
    return symmetry == Symmetry::c4 || symmetry == Symmetry::d2_diagonal || symmetry == Symmetry::d4_diagonal ||
           symmetry == Symmetry::d8;
  }

  /// Returns the index of the random number that decides whether a cell is alive. The symmetries map the cell to a set
  /// of cells, its orbit. All cells of an orbit have the same index, which is the place of the orbit's first cell in
  /// row-major order.
  std::uint64_t index_of(std::int64_t y, std::int64_t x) const {
    const std::int64_t below = size.height - 1 - y;
    const std::int64_t right = size.width - 1 - x;
    using Place = std::pair<std::int64_t, std::int64_t>;
    // The images of the cell under all symmetries, in this order: the identity; the half turn; the quarter turns in
    // both directions; the reflections top to bottom, left to right, and at each of the two diagonals.
    const std::array<Place, 8> places{
        {{y, x}, {below, right}, {x, below}, {right, y}, {below, x}, {y, right}, {x, y}, {right, below}}};
    constexpr std::array<unsigned, 9> groups{0b00000001, 0b00000011, 0b00001111, 0b00010001, 0b00100001,
                                             0b01000001, 0b00110011, 0b11000011, 0b11111111};
    Place first = places[0];
    for (std::size_t place = 1; place < places.size(); ++place)
      if ((groups[static_cast<std::size_t>(symmetry)] >> place & 1) != 0) first = std::min(first, places[place]);
    return static_cast<std::uint64_t>(first.first) << 32 | static_cast<std::uint64_t>(first.second);
  }
};

int write_soup(const Soup& soup, const std::string& output, const Session& session) {
  const auto start = core::Clock::now();
  const bool to_standard_output = output == "-";
  const std::optional<files::LifeOutputKind> kind = files::life_output(output);
  if (!kind && !to_standard_output)
    throw UsageError(
        "--output: " + core::excerpt(output) +
        " should end in .rle, .mc, .cells, .lif, .pbm, .pgm or .png, which says how to write it, or be - for "
        "RLE on standard output");
  if (to_standard_output && session.json)
    throw UsageError("--output: both the cells and the summary (--json) would go to standard output; name a file");
  if (soup.needs_square() && soup.size.width != soup.size.height)
    throw UsageError(fmt::format("--symmetry: {} x {} cells; quarter turns and diagonals need a square",
                                 soup.size.width, soup.size.height));
  std::optional<core::AtomicFile> file;
  if (!to_standard_output) file.emplace(output, session.execution.stop);
  LifePattern pattern;
  pattern.rule = soup.rule;
  if (soup.boundary != LifeBoundary::plane) {
    pattern.boundary = soup.boundary;
    pattern.width = soup.size.width;
    pattern.height = soup.size.height;
  }
  pattern.cells = LifeGrid(soup.size.height, soup.size.width);
  const life_detail::LifeBox world = life_detail::world_box(soup.size.width, soup.size.height);
  pattern.left = world.left;
  pattern.top = world.top;
  const core::Philox random(soup.seed, stream);
  std::int64_t population = 0;
  constexpr std::int64_t rows_between_polls = 16;
  for (std::int64_t y = 0; y < soup.size.height; ++y) {
    if (y % rows_between_polls == 0) {
      core::honour_stop(session.execution.stop, "stopped while making cells");
      session.execution.progress({"generate", y, soup.size.height, {}});
    }
    for (std::int64_t x = 0; x < soup.size.width; ++x) {
      if (!(random.uniform(soup.index_of(y, x)) < soup.density)) continue;
      pattern.cells.set(y, x);
      ++population;
    }
  }
  if (file) {
    files::write_life(*file, pattern, *kind);
    file->commit();
  } else {
    const std::string text = files::life_text(pattern, ".rle", session.execution.stop);
    session.end_progress();
    session.print(text);
  }
  const double seconds = core::seconds_since(start);
  if (session.json)
    session.print_json({{"kind", "life-soup"},
                        {"width", soup.size.width},
                        {"height", soup.size.height},
                        {"population", population},
                        {"seed", soup.seed},
                        {"output", output},
                        {"seconds", {{"total", seconds}}}});
  else
    session.note(fmt::format("wrote {} x {} cells, {} of them alive, to {} in {:.3g} s", soup.size.width,
                             soup.size.height, grouped(population),
                             to_standard_output ? "standard output" : "'" + output + "'", seconds));
  return 0;
}

Action setup_life_soup(Options& options, Session& session, const Generator::Request& request) {
  auto soup = std::make_shared<Soup>();
  options.value("--size", "WxH", "columns and rows, or W for a square [64]",
                [soup = soup.get()](const std::string& text) {
                  soup->size = parse_life_size("--size", text, std::int64_t{1} << 20);
                });
  options.choice(
      "--symmetry", soup->symmetry,
      "half turns (C2), quarter turns (C4), reflections at lines (-, |, +) or diagonals (x), all of them (D8)");
  options.value("--rule", "B3/S23", "the rule in the header [B3/S23]", [soup = soup.get()](const std::string& text) {
    try {
      soup->rule = life_rule(text);
    } catch (UsageError& error) {
      error.set_message(about("--rule") + error.message());
      throw;
    }
  });
  options.choice("--boundary", soup->boundary, "the topology in the header");
  return [soup, &session, &request] {
    soup->seed = request.seed;
    soup->density = request.density.value_or(soup->density);
    return write_soup(*soup, request.output, session);
  };
}

}  // namespace

Generator life_soup_generator() {
  return {"life-soup", "random cells of Life", "for life-soup: share of cells that are alive [0.5]", setup_life_soup};
}

}  // namespace gradus::cli
