// Functions and constants for several rows of the table of concurrent sets.
#pragma once

#include <string>

#include "gradus/sets/epoch.hpp"
#include "gradus/sets/hazard_pointers.hpp"
#include "gradus/sets/leak.hpp"
#include "sets/problem.hpp"

namespace gradus::sets_detail {

/// Refuses large ranges, because an operation on a list takes a step for every second key of the range.
inline Support lists(const Shape& shape, const execution::Machine&) {
  constexpr std::int64_t most = 1 << 18;
  if (shape.range <= most) return Support::yes();
  return Support::no("a list of " + std::to_string(shape.range / 2) +
                     " keys takes as many steps for each operation; a skip "
                     "list or a hash set takes few");
}

inline constexpr core::Contract invariants{.kind = core::Contract::invariants};

/// Returns the row of a set for any number of keys.
constexpr Variant large(std::string_view name, std::string_view summary, std::string_view change,
                        core::Run<Room, void> run) {
  return {.name = name,
          .summary = summary,
          .change = change,
          .contract = invariants,
          .backend = core::Backend::openmp,
          .deterministic = false,
          .run = {run}};
}
constexpr Variant list(std::string_view name, std::string_view summary, std::string_view change,
                       core::Run<Room, void> run) {
  Variant row = large(name, summary, change, run);
  row.supports = lists;
  return row;
}

}  // namespace gradus::sets_detail

// Defines the rows of a structure, one for each way of reclaiming removed nodes; `kind` is list or large:
// * epoch: a removed node is freed after all operations that ran at its removal have ended. This costs one atomic
//   exchange per operation. If a thread stops inside an operation, no node that is removed afterwards is freed.
// * hazard_pointers: a thread publishes the address of each node before it reads the node, which costs an atomic
//   exchange per step. If the thread's current node has been removed, the thread restarts. In return, a stopped thread
//   keeps at most four nodes from being freed.
// * leak: nothing is freed before the set is destroyed, so threads publish nothing. Compared with this row, the other
//   rows show the price of reclamation.
#define GRADUS_ROWS_OF_STRUCTURE(structure, kind, summary, change)                                               \
  extern constinit const Variant structure##_epoch_rung =                                                        \
      kind(#structure "_epoch", summary, change, structure<epoch>);                                              \
  extern constinit const Variant structure##_hazard_pointers_rung =                                              \
      kind(#structure "_hazard_pointers", "the same; a thread publishes the nodes it reads",                     \
           "an exchange a step; garbage is bounded", structure<hazard_pointers>);                                \
  extern constinit const Variant structure##_leak_rung =                                                         \
      kind(#structure "_leak", "the same; removed nodes are kept to the end", "nothing is freed before the end", \
           structure<leak>)
