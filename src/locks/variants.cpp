// The ladder of locks, in order.
#include <vector>

#include "locks/variants.hpp"

namespace gradus::locks_detail {

// clang-format off
#define GRADUS_LADDER(RUNG) \
  RUNG(no_lock) \
  RUNG(openmp_critical) \
  RUNG(pthread_mutex) \
  RUNG(std_mutex) \
  RUNG(pthread_spin) \
  RUNG(tas_lock) \
  RUNG(ttas_lock) \
  RUNG(ticket_lock) \
  RUNG(array_lock) \
  RUNG(clh_lock) \
  RUNG(mcs_lock) \
  RUNG(cna_lock) \
  RUNG(park_lock)
// clang-format on

GRADUS_LADDER(GRADUS_DECLARE_RUNG)

namespace {

constexpr const Variant* table[] = {GRADUS_LADDER(GRADUS_POINT_TO_RUNG)};

}  // namespace

core::Rows<Variant> variants() { return table; }

namespace {

std::vector<Shape> usual_shapes() { return {{.sections = 1000000}}; }

}  // namespace

constinit const core::Ladder ladder = core::ladder_of<Room, variants, usual_shapes>;

}  // namespace gradus::locks_detail
