#include "life/stepwise.hpp"

#include <bit>

#include "core/checked.hpp"
#include "core/stop.hpp"
#include "execution/request.hpp"

namespace gradus::life_detail {

void Steps::run() {
  const LifeOptions& options = job_.options;
  note_hash();
  auto last_report = core::Clock::now();
  for (std::int64_t generation = 0; generation < options.generations; ++generation) {
    core::honour_stop(job_.execution->stop, "stopped while computing generations");
    world_.advance(1);
    note_hash();
    if (result_.cycle) return;
    if (!job_.execution->progress || core::seconds_since(last_report) < 0.05) continue;
    last_report = core::Clock::now();
    job_.execution->progress(
        {.phase = "generation", .done = generation + 1, .total = options.generations, .detail = {}});
  }
}

void Steps::note_hash() {
  const core::PhaseTimer timer(*job_.phases, "hash");
  const std::uint64_t hash = world_.hash();
  const std::int64_t generation = world_.generation();
  if (job_.options.hashes) {
    if (memory_.hashes.empty()) result_.hashes.push_back(hash);
    else memory_.hashes[generation] = hash;
  }
  if (!job_.options.until_stable) return;
  const auto [first, last] = seen_.equal_range(hash);
  for (auto before = first; before != last; ++before)
    if (is_generation(before->second)) {
      result_.cycle = LifeCycle{before->second, generation - before->second};
      return;
    }
  seen_.emplace(hash, generation);
  if (std::has_single_bit(seen_.size()))  // the table will double its size for the next entry
    execution::check_memory(core::checked_multiply(std::uint64_t{64}, std::uint64_t{seen_.size()}, "generations"),
                            *job_.execution, "generations that are all different are kept; set a lower limit");
}

bool Steps::is_generation(std::int64_t generation) {
  World earlier(job_, {});
  earlier.advance(generation);
  return earlier.hash() == world_.hash() && earlier.same_as(world_);
}

}  // namespace gradus::life_detail
