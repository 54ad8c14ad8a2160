// A grid or a plane that a variant advances, as the driver sees it. A plane is represented by bounded grids. Their
// borders are so far away that no live cell can reach them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/phases.hpp"
#include "life/bits/cells.hpp"
#include "life/islands.hpp"
#include "life/problem.hpp"

namespace gradus::life_detail {

/// Converts a rule so that it applies to cells that are stored relative to their background. `alive_before` and
/// `alive_after` state whether the background is alive before and after the generation.
LifeRule against_background(LifeRule rule, bool alive_before, bool alive_after);

/// The start of a job and the settings for its run.
struct Job {
  LifeGridView cells;
  LifeOptions options;
  const Variant* variant = nullptr;
  const Execution* execution = nullptr;
  std::vector<Phase>* phases = nullptr;
  int threads = 1;  ///< number of threads that count cells

  bool is_plane() const { return options.boundary == LifeBoundary::plane; }
};

class World {
 public:
  /// Constructs the world at generation 0. A bounded grid uses `memory`, which must have the size of the grid. If
  /// `memory` is empty, the world allocates memory. The cells are not copied yet: the first generations are computed
  /// from the job's cells.
  World(const Job& job, const LifeGridSpan& memory);

  void advance(std::int64_t generations) { advance(generations, {}); }

  /// Called between two steps of a plane. If it returns true, the advance ends early. After that, only tree() and
  /// another advance() may be called.
  using StopCondition = std::function<bool()>;
  void advance(std::int64_t generations, const StopCondition& should_stop);
  /// Returns the cells of a plane as a tree centred at (0, 0).
  LifeTree tree() const;
  /// Returns true for a plane whose bounding box is large and nearly empty.
  bool is_sparse() const { return islands_ && islands_->is_sparse(); }

  std::int64_t generation() const { return generation_; }
  bool background() const { return background_; }
  std::uint64_t hash();
  std::uint64_t population();
  /// Returns true if both worlds hold the same pattern in the same place. May trim the grid of a plane.
  bool same_as(World& other);

  /// Returns the cells of a plane in the smallest box, or the whole bounded grid. Returns an empty grid if the cells
  /// are in the caller's memory.
  LifeGrid take_cells();
  std::int64_t left() const { return left_; }
  std::int64_t top() const { return top_; }

 private:
  void load();
  /// Runs the variant, starting at the world's current generation.
  void run(const LifeGridView& from, const LifeGridSpan& to, LifeBoundary boundary, std::int64_t generations,
           const Execution& execution);
  void step_islands(std::int64_t most);
  void join_islands();
  void grow(std::int64_t margin);
  void trim();
  LifeRule rule_at(std::int64_t generation) const;
  LifeGridSpan here() { return memory_.words != nullptr ? memory_ : own_.span(); }

  const Job* job_;
  LifeGridSpan memory_;
  LifeGrid own_;
  std::optional<Islands> islands_;  ///< the cells of a plane; if not set, `own_` holds the cells
  bool loaded_ = false;
  std::int64_t left_;  ///< a multiple of 64 as soon as a plane is loaded
  std::int64_t top_;
  std::int64_t slack_ = 0;  ///< number of generations after which live cells may reach the border of a plane's grid
  std::int64_t generation_ = 0;
  bool background_ = false;
  core::Clock::time_point last_report_;
};

}  // namespace gradus::life_detail
