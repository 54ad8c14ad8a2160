// A grid or a plane that a variant takes from generation to generation: what the frame knows of it. The plane is made
// of bounded grids here: one that is so much larger than the live cells that nothing reaches its border.
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

/// The rule by which cells that are stored as "different from their background" follow from such cells: `alive_before`
/// and `alive_after` say what the background is.
LifeRule against_background(LifeRule rule, bool alive_before, bool alive_after);

/// What a job begins with, and how it goes on.
struct Job {
  LifeGridView cells;
  LifeOptions options;
  const Variant* variant = nullptr;
  const Execution* execution = nullptr;
  std::vector<Phase>* phases = nullptr;
  int threads = 1;  ///< of the team that counts cells

  bool is_plane() const { return options.boundary == LifeBoundary::plane; }
};

class World {
 public:
  /// Generation 0. A bounded grid lies in `memory`, which has its size, or in memory of its own where that is empty. It
  /// is not yet copied there: the first generations are computed from the job's cells.
  World(const Job& job, const LifeGridSpan& memory);

  void advance(std::int64_t generations) { advance(generations, {}); }

  /// Asked between steps of a plane: true ends the advance before its last generation. tree() and another advance()
  /// may follow then, and nothing else.
  using Enough = std::function<bool()>;
  void advance(std::int64_t generations, const Enough& enough);
  /// A plane as a tree whose middle is at (0, 0).
  LifeTree tree() const;
  /// Returns true for a plane whose rectangle is large and nearly empty.
  bool is_sparse() const { return islands_ && islands_->is_sparse(); }

  std::int64_t generation() const { return generation_; }
  bool background() const { return background_; }
  std::uint64_t hash();
  std::uint64_t population();
  /// Whether both are of the same pattern in the same place. It may trim what it holds of a plane.
  bool same_as(World& other);

  /// Of a plane: the smallest box with all live cells. Of a grid: all of it, empty where it lies in memory of the
  /// caller.
  LifeGrid take_cells();
  std::int64_t left() const { return left_; }
  std::int64_t top() const { return top_; }

 private:
  void load();
  /// From the world's generation on.
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
  std::optional<Islands> islands_;  ///< of a plane, instead of `own_`
  bool loaded_ = false;
  std::int64_t left_;  ///< of a plane a multiple of 64 once it is loaded
  std::int64_t top_;
  std::int64_t slack_ = 0;  ///< generations in which nothing reaches the border of a plane's grid
  std::int64_t generation_ = 0;
  bool background_ = false;
  core::Clock::time_point told_;  ///< when progress was last reported
};

}  // namespace gradus::life_detail
