// The ladder of concurrent sets. Each idea builds on the ones before.
#include <vector>

#include "sets/problem.hpp"

namespace gradus::sets_detail {

// clang-format off
#define GRADUS_LADDER(RUNG) \
  RUNG(sequential) \
  RUNG(coarse_list) \
  RUNG(fine_list) \
  RUNG(optimistic_list_epoch) \
  RUNG(optimistic_list_hazard_pointers) \
  RUNG(optimistic_list_leak) \
  RUNG(lazy_list_epoch) \
  RUNG(lazy_list_hazard_pointers) \
  RUNG(lazy_list_leak) \
  RUNG(lock_free_list_epoch) \
  RUNG(lock_free_list_hazard_pointers) \
  RUNG(lock_free_list_leak) \
  RUNG(skip_list_epoch) \
  RUNG(skip_list_hazard_pointers) \
  RUNG(skip_list_leak) \
  RUNG(split_ordered_epoch) \
  RUNG(split_ordered_hazard_pointers) \
  RUNG(split_ordered_leak)
// clang-format on

GRADUS_LADDER(GRADUS_DECLARE_RUNG)

namespace {

constexpr const Variant* table[] = {GRADUS_LADDER(GRADUS_POINT_TO_RUNG)};

std::vector<Shape> usual_shapes() { return {Shape()}; }

}  // namespace

core::Rows<Variant> variants() { return table; }

constinit const core::Ladder ladder = core::ladder_of<Room, variants, usual_shapes>;

}  // namespace gradus::sets_detail
