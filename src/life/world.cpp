#include "life/world.hpp"

#include <algorithm>

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "execution/request.hpp"
#include "life/gpu/run_on_gpu.hpp"
#include "life/quadtree.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

namespace {

/// Rounds down to a multiple of 64.
constexpr std::int64_t word_start(std::int64_t column) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(column) & ~std::uint64_t{63});
}

// A plane is split into islands if at least this many generations remain.
constexpr std::int64_t worth_islands = 64;
// Minimum number of cell updates for which an island gets a thread team.
constexpr double worth_a_team = 4e6;
constexpr std::string_view of_growth = "the plane's live cells take more and more room; ask for fewer generations";

constexpr std::uint16_t all_counts = 0x1FF;

constexpr std::uint16_t reversed(std::uint16_t list) {
  std::uint16_t result = 0;
  for (int n = 0; n <= 8; ++n)
    if ((list >> n & 1) != 0) result = static_cast<std::uint16_t>(result | 1U << (8 - n));
  return result;
}

}  // namespace

LifeRule against_background(LifeRule rule, bool alive_before, bool alive_after) {
  // If the background is alive, the stored cells are the dead cells. A cell with n dead neighbours has 8 - n live
  // neighbours, so the lists are reversed and exchanged.
  if (alive_before) rule = {reversed(rule.survival), reversed(rule.birth)};
  if (alive_after)
    rule = {static_cast<std::uint16_t>(~rule.birth & all_counts),
            static_cast<std::uint16_t>(~rule.survival & all_counts)};
  return rule;
}

World::World(const Job& job, const LifeGridSpan& memory)
    : job_(&job), memory_(memory), left_(job.options.left), top_(job.options.top) {
  if (job.is_plane()) load();
}

void World::load() {
  if (loaded_) return;
  loaded_ = true;
  const core::PhaseTimer timer(*job_->phases, "copy");
  const LifeGridView& cells = job_->cells;
  if (job_->is_plane()) {
    const std::int64_t left = word_start(left_);
    own_ = LifeGrid(cells.height, (cells.width + left_ - left + 63) / 64 * 64, LifeGrid::Uninitialised{});
    copy_cells(cells, 0, left - left_, own_.span(), job_->execution->stop);
    left_ = left;
  } else {
    if (memory_.words == nullptr) own_ = LifeGrid(cells.height, cells.width, LifeGrid::Uninitialised{});
    const LifeGridSpan to = here();
    if (to.words != cells.words) copy_cells(cells, 0, 0, to, job_->execution->stop);
    else if (to.width > 0)
      for (std::int64_t y = 0; y < to.height; ++y) to.row(y)[to.row_words() - 1] &= last_word_mask(to.width);
  }
  core::honour_stop(job_->execution->stop, while_computing);
}

LifeRule World::rule_at(std::int64_t generation) const {
  const LifeRule rule = job_->options.rule;
  if (!job_->is_plane() || (rule.birth & 1) == 0) return rule;
  const bool stays = (rule.survival >> 8 & 1) != 0;  // the background stays alive once it is alive
  const bool before = stays ? generation > 0 : generation % 2 == 1;
  const bool after = stays || !before;
  return against_background(rule, before, after);
}

void World::run(const LifeGridView& from, const LifeGridSpan& to, LifeBoundary boundary, std::int64_t generations,
                const Execution& execution) {
  if (from.height == 0 || from.width == 0) return;  // there are no cells to compute
  const Problem problem{.cells = from,
                        .result = to,
                        .even = rule_at(generation_),
                        .odd = rule_at(generation_ + 1),
                        .boundary = boundary,
                        .generations = generations,
                        .stop = execution.stop};
  if (!job_->variant->device_input) job_->variant->run(problem, execution, *job_->phases);
  else run_on_gpu(problem, *job_->variant, execution, *job_->phases);
}

void World::advance(std::int64_t generations, const StopCondition& should_stop) {
  if (generations == 0) return;
  Execution silent = *job_->execution;
  silent.progress = nullptr;
  if (!job_->is_plane()) {
    const bool whole = generations == job_->options.generations;
    if (!loaded_ && memory_.words == nullptr)
      own_ = LifeGrid(job_->cells.height, job_->cells.width, LifeGrid::Uninitialised{});
    run(loaded_ ? LifeGridView(here()) : job_->cells, here(), job_->options.boundary, generations,
        whole ? *job_->execution : silent);
    loaded_ = true;
    generation_ += generations;
    return;
  }
  const bool lights_up = (job_->options.rule.birth & 1) != 0;
  const std::int64_t end = generation_ + generations;
  while (generation_ < end) {
    if (should_stop && should_stop()) return;
    const std::int64_t rest = end - generation_;
    // The first generation may need a different rule from all later generations.
    const bool is_alone = lights_up && generation_ == 0;
    if (!is_alone && (islands_ || rest > worth_islands)) {
      step_islands(rest);
      continue;
    }
    std::int64_t step = is_alone ? 1 : rest;
    if (slack_ == 0) {
      trim();
      if (own_.height() > 0) grow(worth_islands);
    }
    if (own_.height() > 0) {  // an empty plane stays empty
      step = std::min(step, slack_);
      run(own_.view(), own_.span(), LifeBoundary::dead, step, silent);
      slack_ -= step;
    }
    generation_ += step;
  }
  background_ = lights_up && ((job_->options.rule.survival >> 8 & 1) != 0 || generation_ % 2 == 1);
}

/// Advances all islands by up to `most` generations.
void World::step_islands(std::int64_t most) {
  if (!islands_) {
    trim();
    islands_.emplace(own_.view(), left_, top_);
    own_ = {};
    last_report_ = core::Clock::now();
  }
  if (islands_->empty()) {
    generation_ += most;
    return;
  }
  const Execution& execution = *job_->execution;
  Execution silent = execution;
  silent.progress = nullptr;
  Execution alone = silent;
  alone.threads = 1;
  const std::int64_t step = islands_->next_step(most);
  islands_->advance(step, [&](const LifeGridSpan& cells, std::int64_t count) {
    core::honour_stop(execution.stop, while_computing);
    const Shape shape{
        .height = cells.height, .width = cells.width, .generations = count, .boundary = LifeBoundary::dead};
    const bool is_small = shape.cell_updates() < worth_a_team;
    execution::check_memory(job_->variant->memory(shape, is_small ? 1 : job_->threads).host, execution, of_growth);
    run(cells, cells, LifeBoundary::dead, count, is_small ? alone : silent);
  });
  generation_ += step;
  if (!execution.progress || job_->options.until_stable || core::seconds_since(last_report_) < 0.05) return;
  last_report_ = core::Clock::now();
  execution.progress({.phase = "generation", .done = generation_, .total = job_->options.generations, .detail = {}});
}

/// Merges the islands into a grid.
void World::join_islands() {
  if (!islands_) return;
  own_ = islands_->grid(left_, top_,
                        [&](std::uint64_t bytes) { execution::check_memory(bytes, *job_->execution, of_growth); });
  islands_.reset();
  slack_ = 0;
}

LifeTree World::tree() const {
  const std::stop_token& stop = job_->execution->stop;
  return islands_ ? life_tree(islands_->small_blocks(), stop) : life_tree(own_.view(), left_, top_, stop);
}

void World::trim() {
  const Box box = live_box(own_.view(), job_->execution->stop);
  const std::int64_t skip = word_start(box.left);
  const std::int64_t width = (box.right - skip + 63) / 64 * 64;
  slack_ = 0;
  if (box.height() == own_.height() && skip == 0 && width == own_.width()) return;
  const core::PhaseTimer timer(*job_->phases, "copy");
  LifeGrid cells(box.height(), width, LifeGrid::Uninitialised{});
  copy_cells(own_.view(), box.top, skip, cells.span(), job_->execution->stop);
  core::honour_stop(job_->execution->stop, while_computing);
  own_ = std::move(cells);
  top_ += box.top;
  left_ += skip;
}

void World::grow(std::int64_t margin) {
  const core::PhaseTimer timer(*job_->phases, "copy");
  const std::int64_t beside = (margin + 63) / 64 * 64;
  const Shape shape{.height = own_.height() + 2 * margin,
                    .width = own_.width() + 2 * beside,
                    .generations = margin,
                    .boundary = LifeBoundary::dead};
  constexpr std::int64_t furthest = std::int64_t{1} << 62;
  if (std::abs(top_) > furthest || std::abs(left_) > furthest)
    throw Error("the pattern moves more than 2^62 cells away from (0, 0), further than rows and columns are counted");
  execution::check_memory(job_->variant->memory(shape, 1).host +
                              static_cast<std::uint64_t>(shape.height) * static_cast<std::uint64_t>(shape.width / 8),
                          *job_->execution, of_growth);
  LifeGrid cells(shape.height, shape.width, LifeGrid::Uninitialised{});
  copy_cells(own_.view(), -margin, -beside, cells.span(), job_->execution->stop);
  core::honour_stop(job_->execution->stop, while_computing);
  own_ = std::move(cells);
  top_ -= margin;
  left_ -= beside;
  slack_ = margin;
}

std::uint64_t World::hash() {
  load();
  join_islands();
  return hash_of(here(), left_, top_, job_->execution->stop);
}

std::uint64_t World::population() {
  load();
  join_islands();
  return life_detail::population(here(), job_->threads, job_->execution->stop);
}

bool World::same_as(World& other) {
  if (background_ != other.background_) return false;
  if (job_->is_plane()) {
    join_islands();
    other.join_islands();
    trim();
    other.trim();
    if (own_.height() == 0 && other.own_.height() == 0) return true;
    if (top_ != other.top_ || left_ != other.left_ || own_.height() != other.own_.height() ||
        own_.width() != other.own_.width())
      return false;
  }
  return same_cells(here(), other.here());
}

LifeGrid World::take_cells() {
  load();
  join_islands();
  if (!job_->is_plane()) return std::move(own_);
  const Box box = live_box(own_.view(), job_->execution->stop);
  LifeGrid cells(box.height(), box.width(), LifeGrid::Uninitialised{});
  copy_cells(own_.view(), box.top, box.left, cells.span(), job_->execution->stop);
  core::honour_stop(job_->execution->stop, while_computing);
  top_ = box.empty() ? 0 : top_ + box.top;
  left_ = box.empty() ? 0 : left_ + box.left;
  return cells;
}

}  // namespace gradus::life_detail
