// Every variant's entry point, for the table in variants.cpp.
#pragma once

#include "gradus/sets/epoch.hpp"
#include "gradus/sets/hazard_pointers.hpp"
#include "gradus/sets/leak.hpp"
#include "sets/problem.hpp"

namespace gradus::sets_detail {

#define GRADUS_SET(name) Outcome name(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
GRADUS_SET(sequential)
GRADUS_SET(coarse_list)
GRADUS_SET(fine_list)

// Structures, each with every way of reclaiming its removed nodes:
// epoch: they are freed when all operations that were under way have ended. That costs one atomic exchange for an
//   operation. A thread that stops inside an operation holds back all nodes that are removed after that.
// hazard_pointers: a thread publishes the address of each node before it reads the node, an atomic exchange a step, and
//   starts again if it stands on a removed node. In return a thread that stops holds back four nodes only.
// leak: nothing is freed before the set is, so a thread publishes nothing. The difference is the price of reclamation.
// clang-format off
#define GRADUS_FOR_EACH_RECLAMATION(structure)    \
  template GRADUS_SET(structure<epoch>)           \
  template GRADUS_SET(structure<hazard_pointers>) \
  template GRADUS_SET(structure<leak>)
// clang-format on
template <class Reclamation>
GRADUS_SET(optimistic_list)
template <class Reclamation>
GRADUS_SET(lazy_list)
template <class Reclamation>
GRADUS_SET(lock_free_list)
template <class Reclamation>
GRADUS_SET(skip_list)
template <class Reclamation>
GRADUS_SET(split_ordered)

}  // namespace gradus::sets_detail
