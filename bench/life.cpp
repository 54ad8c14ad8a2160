// Benchmarks Life.
#include "gradus/life.hpp"

#include <fmt/format.h>

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "core/phases.hpp"
#include "core/philox.hpp"
#include "life/bits/cells.hpp"
#include "life/cases.hpp"
#include "life/files/pattern.hpp"
#include "life/options.hpp"
#include "life/quadtree.hpp"

namespace gradus::bench {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view problem_name = "life";

struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

struct SoupAxes {
  std::vector<Size> sizes{{1024, 1024}};
  std::int64_t generations = 100;
  std::vector<LifeRule> rules{{}};
  LifeBoundary boundary = LifeBoundary::torus;
  double density = 0.3;
  std::uint64_t seed = 1;
  bool frames = false;  ///< true: writes each generation as a PGM
};

// Maximum number of cell updates for the slow oracle.
constexpr double oracle_updates = 5e6;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "gradus_frames_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw Error("cannot make a folder '" + path_ + "'");
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class Soup : public Workload {
 public:
  Soup(const Size& size, const LifeRule& rule, const SoupAxes& axes)
      : axes_(axes), rule_(rule), cells_(size.height, size.width), result_(size.height, size.width) {
    const core::Philox random(axes.seed, 64);
    const auto threshold = static_cast<std::uint64_t>(std::llround(axes.density * 65536));
#pragma omp parallel for
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; x += 8) {
        // Draws sixteen random bits for each of eight cells.
        const auto index = static_cast<std::uint64_t>(y) << 32 | static_cast<std::uint64_t>(x / 8);
        const auto block = random.block(index);
        for (std::int64_t cell = 0; cell < std::min<std::int64_t>(8, size.width - x); ++cell) {
          const std::uint64_t part = block[static_cast<std::size_t>(cell / 2)] >> (cell % 2 * 16) & 0xFFFF;
          if (part < threshold) cells_.set(y, x + cell);
        }
      }
  }

  std::string title() const override {
    return fmt::format("{} x {} cells, {}, {}, {} generations", cells_.width(), cells_.height(),
                       to_string(axes_.boundary), to_string(rule_), axes_.generations);
  }

  ordered_json facts() const override {
    return {{"width", cells_.width()},
            {"height", cells_.height()},
            {"generations", axes_.generations},
            {"rule", to_string(rule_)},
            {"boundary", to_string(axes_.boundary)},
            {"density", axes_.density},
            {"seed", axes_.seed},
            {"frames", axes_.frames ? "pgm" : "none"}};
  }

  core::Support support(std::string_view variant) const override {
    const life_detail::Shape shape{.height = cells_.height(),
                                   .width = cells_.width(),
                                   .generations = axes_.generations,
                                   .boundary = axes_.boundary,
                                   .lights_up = (rule_.birth & 1) != 0};
    return core::find_variant(life_detail::variants(), variant, problem_name)
        .supports(shape, execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    report("verify", 0, std::ssize(rows));
    const bool whole = updates() <= oracle_updates;
    std::optional<life_detail::Truth> truth;
    if (whole) truth = life_detail::oracle(cells_.view(), options());
    std::uint64_t first_hash = 0;
    std::string first;
    for_each_sound(rows, "verify", report, [&](Row& row) {
      const PeakMemory memory;
      LifeResult result = compute(row);
      row.memory_bytes = memory.bytes();
      row.iterations = static_cast<int>(std::min<std::int64_t>(result.generations, 1 << 30));
      const LifeGridView is = result.cells.height() > 0 ? result.cells.view() : result_.view();
      if (whole) {
        if (axes_.boundary != LifeBoundary::plane) {
          result.cells = LifeGrid(is.height, is.width);
          life_detail::copy_cells(is, 0, 0, result.cells.span());
        }
        const std::string wrong = life_detail::compare(result, options(), *truth);
        if (!wrong.empty()) mark_wrong(row, wrong);
        return;
      }
      const std::string wrong = wrong_window(is);
      const std::uint64_t hash = life_detail::hash_of(is, result.left, result.top);
      if (first.empty()) {
        first = row.variant;
        first_hash = hash;
      }
      if (!wrong.empty()) mark_wrong(row, wrong);
      else if (hash != first_hash) mark_wrong(row, fmt::format("the hash differs from the hash of {}", first));
    });
    return whole ? "all cells against the oracle"
                 : "cells whose past is small enough for the oracle, spread over the grid, and a hash of all cells of "
                   "each "
                   "variant";
  }

  Sample run(const Row& row) override {
    const auto start = core::Clock::now();
    if (axes_.frames) return run_with_frames(row, start);
    const LifeResult result = compute(row);
    return sample_of(core::seconds_since(start), result.report.phases);
  }

  std::vector<Work> work(const Row& row) const override {
    const double bytes = updates() / 4;
    return {{&Ceilings::read_bytes_per_second, bytes, row.seconds.median}};
  }

  std::vector<Figure> figures(const Row& row) const override {
    const double rate = updates() / row.seconds.median;
    return {{"cell_updates_per_second", rate, "cells/s", fmt::format("{:.3g}", rate)}};
  }

 private:
  double updates() const {
    return static_cast<double>(cells_.width()) * static_cast<double>(cells_.height()) *
           static_cast<double>(axes_.generations);
  }

  LifeOptions options() const { return {.rule = rule_, .boundary = axes_.boundary, .generations = axes_.generations}; }

  /// Makes one call per generation, and writes a file after each call.
  Sample run_with_frames(const Row& row, core::Clock::time_point start) {
    const TemporaryFolder folder;
    LifeOptions one = options();
    one.generations = 1;
    const LifeMemory memory{.cells = result_.span(), .hashes = {}};
    LifePattern frame;
    frame.boundary = axes_.boundary;
    frame.width = cells_.width();
    frame.height = cells_.height();
    const life_detail::LifeBox world = life_detail::world_box(frame.width, frame.height);
    frame.left = world.left;
    frame.top = world.top;
    frame.cells = LifeGrid(frame.height, frame.width);
    std::vector<Phase> phases;
    for (std::int64_t generation = 1; generation <= axes_.generations; ++generation) {
      const LifeResult result =
          life(generation == 1 ? cells_.view() : result_.view(), one, memory, execution_of(row, {}));
      for (const Phase& phase : result.report.phases)
        if (phase.name != "total") core::add_phase(phases, phase.name, phase.seconds);
      const core::PhaseTimer timer(phases, "frames");
      life_detail::copy_cells(result_.view(), 0, 0, frame.cells.span());
      const std::string name = folder / (std::to_string(generation) + ".pgm");
      std::ofstream file(name, std::ios::binary);
      if (!(file << files::life_text(frame, ".pgm")).flush()) throw Error("cannot write '" + name + "'");
      // Removes the previous file, because the files of all generations may take gigabytes.
      std::filesystem::remove(folder / (std::to_string(generation - 1) + ".pgm"));
    }
    return sample_of(core::seconds_since(start), phases);
  }

  LifeResult compute(const Row& row) {
    LifeMemory memory;
    if (axes_.boundary != LifeBoundary::plane) memory.cells = result_.span();
    return life(cells_.view(), options(), memory, execution_of(row, {}));
  }

  /// Verifies windows, which are small parts of the result. After N generations, a cell depends only on the initial
  /// cells within distance N. The oracle recomputes a window from the initial cells within this distance. The limit on
  /// the oracle's cell updates determines the number of windows. Returns a description of the fault, or "" if the
  /// windows are correct.
  std::string wrong_window(const LifeGridView& is) const {
    const std::int64_t reach = axes_.generations;
    const double of_one =
        4.0 * static_cast<double>(reach + 8) * static_cast<double>(reach + 8) * static_cast<double>(reach) / 3;
    if (of_one > 4 * oracle_updates || axes_.boundary == LifeBoundary::plane) return "";
    const auto windows = static_cast<int>(std::clamp(2 * oracle_updates / of_one, 1.0, 16.0));
    const core::Philox random(axes_.seed, 65);
    for (int window = 0; window < windows; ++window) {
      const auto number = static_cast<std::uint64_t>(window);
      constexpr std::int64_t side = 8;
      // A window may cross the borders of the grid.
      const std::int64_t top =
          static_cast<std::int64_t>(random.below(2 * number, static_cast<std::uint64_t>(is.height)));
      const std::int64_t left =
          static_cast<std::int64_t>(random.below(2 * number + 1, static_cast<std::uint64_t>(is.width)));
      std::string wrong = life_detail::fault_in_window(cells_.view(), is, options(), top, left, side);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  SoupAxes axes_;
  LifeRule rule_;
  LifeGrid cells_;
  LifeGrid result_;
};

class Soups : public Workloads {
 public:
  std::vector<Axis> axes() override {
    return {
        {.name = "size",
         .letter = "",
         .form = "N|WxH,...",
         .help = "sizes of the grid: N rows and columns, or W columns and H rows",
         .initial = "1024",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.sizes.clear();
               for (const std::string& part : parse_list(label, text)) axes_.sizes.push_back(size_of(label, part));
             }},
        {.name = "generations",
         .letter = "g",
         .form = "N",
         .help = "number of generations",
         .initial = "100",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.generations = parse_whole(label, text, 1, std::int64_t{1} << 40);
             }},
        {.name = "rule",
         .letter = "",
         .form = "B3/S23,...",
         .help = "rules, by their lists or names",
         .initial = "B3/S23",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.rules.clear();
               for (const std::string& part : parse_list(label, text)) try {
                   axes_.rules.push_back(life_rule(part));
                 } catch (UsageError& error) {
                   error.set_message(about(label) + error.message());
                   throw;
                 }
             }},
        choice_axis("boundary", "the cells beyond the grid", axes_.boundary),
        {.name = "density",
         .letter = "",
         .form = "X",
         .help = "initial share of live cells",
         .initial = "0.3",
         .parse = [this](const std::string& label,
                         const std::string& text) { axes_.density = parse_real(label, text, 0, 1); }},
        seed_axis("seed of the initial cells", axes_.seed),
        {.name = "frames",
         .letter = "",
         .form = "none|pgm",
         .help = "make and write a picture of each generation to a temporary folder, within the measured time",
         .initial = "none",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.frames = parse_choice(label, text, {"none", "pgm"}) == 1;
             },
         .choices = {"none", "pgm"}},
    };
  }

  void prepare(const InputCallbacks&) override {
    if (axes_.frames && axes_.boundary == LifeBoundary::plane)
      throw UsageError("frames: a plane has no size; choose the boundary dead or torus");
  }

  /// Multiplies the work by `share`. First reduces the generations, but not below 10. Then reduces the grid.
  void scale(double share) override {
    const double generations = std::max(share * static_cast<double>(axes_.generations),
                                        std::min(10.0, static_cast<double>(axes_.generations)));
    const double side = std::sqrt(std::min(1.0, share * static_cast<double>(axes_.generations) / generations));
    axes_.generations = static_cast<std::int64_t>(generations);
    for (Size& size : axes_.sizes)
      for (std::int64_t* const of : {&size.width, &size.height})
        *of = std::max(std::min<std::int64_t>(*of, 64), static_cast<std::int64_t>(side * static_cast<double>(*of)));
  }

  void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) override {
    for (const Size& size : axes_.sizes)
      for (const LifeRule& rule : axes_.rules) {
        if (callbacks.progress)
          callbacks.progress({"make cells", 0, 1, fmt::format("{} x {}", size.width, size.height)});
        Soup soup(size, rule, axes_);
        use(soup);
      }
  }

 private:
  /// Parses a size: "1000" or "1000x37", columns first.
  static Size size_of(const std::string& label, const std::string& text) {
    constexpr std::int64_t most = std::int64_t{1} << 32;
    const std::size_t x = text.find('x');
    if (x == std::string::npos) {
      const std::int64_t side = parse_whole(label, text, 1, most);
      return {side, side};
    }
    return {parse_whole(label, text.substr(0, x), 1, most), parse_whole(label, text.substr(x + 1), 1, most)};
  }

  SoupAxes axes_;
};

}  // namespace

extern const ProblemRow life_problem;
const ProblemRow life_problem{
    .name = problem_name,
    .summary = "generations of Conway's Game of Life, or of any other rule B/S of two states",
    .figures =
        "cells/s: columns times rows times generations over the time of the whole call. read: each cell read and "
        "written in each generation, as a bit, as a share of the read bandwidth of the same number of threads; above "
        "100 % if cells stay in caches between generations.",
    .ladder = &life_detail::ladder,
    .options = core::option_rows<LifeOptions>,
    .verify = verify_room<life_detail::Trial>,
    .cases = case_names_of<life_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<Soups>(); },
};

}  // namespace gradus::bench
