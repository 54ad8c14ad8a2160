// Advances a pattern step by step, for pictures and the live view.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/life_steps.hpp"
#include "cli/output.hpp"
#include "core/phases.hpp"
#include "cpu/memory.hpp"
#include "execution/request.hpp"
#include "life/hashlife/universe.hpp"
#include "life/quadtree.hpp"

namespace gradus::cli {

namespace {

constexpr std::string_view hashlife = "hashlife";

}  // namespace

void require_no_background(const LifeResult& result, const LifeRule& rule) {
  if (!result.background) return;
  const bool stays_alive = (rule.survival >> 8 & 1) != 0;
  throw UnsupportedError(
      fmt::format("after {} all of the plane beyond the pattern is alive under {}, which no pattern file can say; ask "
                  "for {}--boundary "
                  "torus",
                  counted(result.generations, "generation"), to_string(rule),
                  stays_alive ? "" : "an even number of generations, or "));
}

LifeSteps::LifeSteps(LifePattern pattern, const LifeOptions& options, const LifeSize& size, const Execution& execution)
    : pattern_(std::move(pattern)), options_(options), size_(size), execution_(execution) {
  pattern_.rule = options.rule;
  pattern_.boundary = options.boundary;
  if (options.boundary != LifeBoundary::plane) {
    pattern_.width = size.width;
    pattern_.height = size.height;
  }
  // If the tree algorithm is used, the same universe serves all steps. life() would convert the tree in every step.
  const bool by_tree = execution.variant == hashlife || (execution.variant.empty() && pattern_.tree);
  if (by_tree && options.boundary == LifeBoundary::plane && (options.rule.birth & 1) == 0) {
    const std::uint64_t available = cpu::available_memory();
    const std::uint64_t limit =
        execution.memory_limit > 0 ? std::min(execution.memory_limit, available) : available / 4 * 3;
    universe_ = std::make_unique<life_detail::Universe>(options.rule, limit, execution.stop);
    universe_->load(pattern_.tree
                        ? *pattern_.tree
                        : life_detail::life_tree(pattern_.cells, pattern_.left, pattern_.top, execution.stop));
    report_ = {.variant = std::string(hashlife),
               .device = execution::device_name(false, execution),
               .threads = 1,
               .phases = {}};
    if (!pattern_.tree) pattern_.left = pattern_.top = 0;  // coordinates of the tree are relative to its centre
    is_read_ = false;
    return;
  }
  advance(0);
}

LifeSteps::~LifeSteps() = default;

void LifeSteps::advance(std::int64_t generations) {
  const auto start = core::Clock::now();
  if (universe_) {
    universe_->advance(static_cast<std::uint64_t>(generations));
    pattern_.generation += static_cast<std::uint64_t>(generations);
    core::add_phase(report_.phases, "generations", core::seconds_since(start));
    is_read_ = false;
    return;
  }
  LifeOptions options = options_;
  options.generations = generations;
  LifeResult result = life(pattern_, options, size_.height, size_.width, execution_);
  require_no_background(result, options.rule);
  take(std::move(result));
}

void LifeSteps::take(LifeResult result) {
  pattern_.generation += static_cast<std::uint64_t>(result.generations);
  pattern_.cells = std::move(result.cells);
  pattern_.left = result.left;
  pattern_.top = result.top;
  pattern_.tree = std::move(result.tree);
  pattern_.unplaced.reset();
  population_ = result.population;
  for (const Phase& phase : result.report.phases) core::add_phase(report_.phases, phase.name, phase.seconds);
  report_.variant = result.report.variant;
  report_.device = result.report.device;
  report_.threads = result.report.threads;
}

const LifePattern& LifeSteps::now() {
  if (is_read_) return pattern_;
  pattern_.tree = universe_->tree();
  const std::optional<LifePopulation> population = life_detail::population_of(*pattern_.tree);
  if (!population) throw Error("2^128 live cells or more, which cannot be counted");
  population_ = *population;
  is_read_ = true;
  return pattern_;
}

const LifePopulation& LifeSteps::population() {
  (void)now();
  return population_;
}

}  // namespace gradus::cli
