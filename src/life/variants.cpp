// The ladder of Life in order, and the choice of a variant.
#include <algorithm>
#include <vector>

#include "execution/gpu_support.hpp"
#include "life/problem.hpp"

namespace gradus::life_detail {

// clang-format off
#define GRADUS_LADDER(RUNG) \
  RUNG(sequential) \
  RUNG(openmp) \
  RUNG(openmp_bytes) \
  RUNG(bit_sliced) \
  RUNG(openmp_bit_sliced) \
  RUNG(openmp_temporal) \
  RUNG(hashlife) \
  RUNG(cuda_naive) \
  RUNG(cuda_shared) \
  RUNG(cuda_bit_sliced) \
  RUNG(cuda_resident)
// clang-format on

GRADUS_LADDER(GRADUS_DECLARE_RUNG)

namespace {

constexpr const Variant* table[] = {GRADUS_LADDER(GRADUS_POINT_TO_RUNG)};

// Returns true if passes of several generations on a thread team save time. Waking the team takes some microseconds,
// and each pass has two barriers. On a single core, such passes also save time, unless the grid is only a few words
// wide. Grids of this width are stored by columns, which fill registers.
bool passes_pay(const Shape& shape) {
  const double generations = static_cast<double>(shape.stepwise ? 1 : std::min<std::int64_t>(shape.generations, 64));
  const double updates = static_cast<double>(shape.height) * static_cast<double>(shape.width) * generations;
  constexpr double worth_a_team = 4e6;
  return updates > worth_a_team && (shape.width > 256 || shape.height > 1024);
}

/// Returns true if a GPU finishes sooner than the CPU, although its start-up and the transfers take time. Called only
/// if the user did not request a GPU. A GPU is used only for grids that are computed in one go, not for grids that the
/// driver examines or enlarges repeatedly.
bool gpu_pays(const Shape& shape, const execution::Machine& machine) {
  if (shape.boundary == LifeBoundary::plane || shape.stepwise || shape.tree) return false;
  constexpr double of_a_core = 7e10;  // cell updates per second on one core
  constexpr double of_a_gpu = 1e13;
  constexpr double bytes_of_the_bus = 2e10;
  const double there_and_back = static_cast<double>(shape.height) * static_cast<double>(shape.width) / 4;
  const double on_gpu_seconds =
      execution::gpu_ready_seconds + shape.cell_updates() / of_a_gpu + there_and_back / bytes_of_the_bus;
  if (shape.cell_updates() / (of_a_core * machine.cores) < on_gpu_seconds) return false;
  return execution::supported_on_gpu(machine) &&
         cuda_resident_rung.memory(shape, 1).device <= execution::plannable_memory(execution::least_gpu(machine));
}

}  // namespace

core::Rows<Variant> variants() { return table; }

namespace {

std::vector<Shape> usual_shapes() {
  return {{.height = 1000, .width = 1000, .generations = 1000, .boundary = LifeBoundary::plane},
          {.height = 1000, .width = 1000, .generations = 1000, .boundary = LifeBoundary::torus}};
}

}  // namespace

constinit const core::Ladder ladder = core::ladder_of<Room, variants, usual_shapes>;

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  // A pattern given as a tree has equal parts. For any other pattern, only the run shows whether it has equal parts:
  // see successor().
  if (device != Device::gpu && shape.tree && hashlife_rung.supports(shape, machine)) return hashlife_rung;
  if (device == Device::gpu || (device == Device::automatic && gpu_pays(shape, machine))) return cuda_resident_rung;
  return passes_pay(shape) ? openmp_temporal_rung : bit_sliced_rung;
}

const Variant* successor(const Shape& shape, const Variant& first, const Execution& execution) {
  if (!execution.variant.empty() || execution.device == Device::gpu || first.facts.plane) return nullptr;
  return hashlife_rung.supports(shape, execution::this_machine()) ? &hashlife_rung : nullptr;
}

}  // namespace gradus::life_detail
