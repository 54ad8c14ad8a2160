// Computes generations one by one, to hash them and to find the first repetition.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "life/world.hpp"

namespace gradus::life_detail {

/// Hashes each generation and searches for an equal one among the earlier generations.
class Steps {
 public:
  Steps(const Job& job, World& world, const LifeMemory& memory, LifeResult& result)
      : job_(job), world_(world), memory_(memory), result_(result) {}

  void run();

 private:
  void note_hash();
  /// Recomputes an earlier generation and compares all its cells with the present pattern. Returns true if there is no
  /// difference.
  bool is_generation(std::int64_t generation);

  const Job& job_;
  World& world_;
  const LifeMemory& memory_;
  LifeResult& result_;
  std::unordered_multimap<std::uint64_t, std::int64_t> seen_;
};

}  // namespace gradus::life_detail
