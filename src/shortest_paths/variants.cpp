// The ladder of shortest paths in order, and the choice of a variant.
#include <algorithm>
#include <cmath>
#include <vector>

#include "execution/gpu_support.hpp"
#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

// clang-format off
#define GRADUS_LADDER(RUNG) \
  RUNG(sequential) \
  RUNG(openmp_rows) \
  RUNG(sequential_recursive) \
  RUNG(openmp_recursive) \
  RUNG(openmp_recursive_split) \
  RUNG(openmp_tiled) \
  RUNG(simd_tiled) \
  RUNG(openmp_dijkstra) \
  RUNG(cuda_naive) \
  RUNG(cuda_tiled) \
  RUNG(cuda_register_tiled) \
  RUNG(cuda_dpx) \
  RUNG(cuda_panels)
// clang-format on

GRADUS_LADDER(GRADUS_DECLARE_RUNG)

namespace {

constexpr const Variant* table[] = {GRADUS_LADDER(GRADUS_POINT_TO_RUNG)};

bool fits_gpu(const Variant& variant, const Shape& shape, const execution::Machine& machine) {
  return variant.memory(shape, 1).device <= execution::plannable_memory(execution::least_gpu(machine));
}

// Returns the estimated time of one search on one core, in seconds. The more edges leave a vertex, the more time a
// search takes per edge, because the length of a vertex improves more often before the vertex is settled. With at most
// one random edge per vertex, a search reaches few vertices. With only a few more edges per vertex, a search reaches
// nearly all vertices.
double search_seconds(const Shape& shape) {
  if (shape.vertices == 0) return 0;
  const auto n = static_cast<double>(shape.vertices);
  const auto edges = static_cast<double>(shape.edges);
  const double degree = edges / n;
  const double reached = degree > 1 ? 1 - 1 / (degree * std::sqrt(degree)) : 0;
  const double once = 1e-9 * (6 * n + reached * (n * (20 + 30 * std::log1p(degree)) + 1.3 * edges));
  // A job that grows floating-point trees traverses the edges again.
  return shape.floating && shape.negative ? 3 * once : once;
}

double relax_seconds(const Shape& shape) {
  const double rounded = std::ceil(static_cast<double>(shape.vertices) / 64) * 64;
  constexpr double bytes_per_second = 1e11;
  constexpr double wide_bytes_per_second = 5e9;  // rate of openmp_tiled with 16-byte numbers
  return rounded * rounded * rounded *
         (shape.wide ? 16 / wide_bytes_per_second : shape.element_bytes / bytes_per_second);
}

/// Returns the estimated time for the whole matrix, including the predecessors, in seconds.
double whole_matrix_seconds(const Shape& shape) {
  const double relax = relax_seconds(shape);
  if (!shape.predecessors) return relax;
  const auto n = static_cast<double>(shape.vertices);
  const auto edges = static_cast<double>(shape.edges);
  // Trees of floating-point routes are grown if there are negative edges or extended numbers.
  const bool grows_trees = shape.floating && (shape.negative || shape.wide);
  if (grows_trees) return relax + static_cast<double>(shape.rows()) * search_seconds(shape);
  return relax + std::min(n * edges * 1e-9, relax);
}

double searches_seconds(const Shape& shape) { return static_cast<double>(shape.rows()) * search_seconds(shape); }

/// Returns true if searches take less time than relaxing the whole matrix on the same number of cores.
bool searches_pay(const Shape& shape) { return searches_seconds(shape) < whole_matrix_seconds(shape); }

/// Returns true if searches on all cores take less time than a GPU.
bool searches_beat_gpu(const Shape& shape, const execution::Machine& machine) {
  constexpr double bytes_per_second = 2e13;
  const double on_gpu = execution::gpu_ready_seconds + shape.relaxations() * shape.element_bytes / bytes_per_second;
  return searches_seconds(shape) / machine.layout().physical_cores < on_gpu;
}

// At best, a core relaxes a vector of 64 bytes per clock.
bool gpu_pays(const Shape& shape, const execution::Machine& machine) {
  constexpr double bytes_per_second = 64 * 2.5e9;
  return shape.relaxations() * shape.element_bytes >=
             execution::gpu_ready_seconds * bytes_per_second * machine.layout().physical_cores &&
         !searches_beat_gpu(shape, machine);
}

}  // namespace

core::Rows<Variant> variants() { return table; }

namespace {

std::vector<Shape> usual_shapes() { return {{.vertices = 1000, .edges = 1000000}, {.vertices = 1000, .edges = 5000}}; }

}  // namespace

constinit const core::Ladder ladder = core::ladder_of<Room, variants, usual_shapes>;

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  const auto best_on_gpu = [&]() -> const Variant& {
    const bool whole = fits_gpu(cuda_dpx_rung, shape, machine) || !cuda_panels_rung.supports(shape, machine);
    return whole ? cuda_dpx_rung : cuda_panels_rung;
  };
  if (device == Device::gpu) {
    const Variant& best = best_on_gpu();
    if (const core::Support support = best.supports(shape, machine); !support)
      throw UnsupportedError("shortest_paths cannot run on a GPU: " + support.reason + "; use the CPU");
    return best;
  }
  if (device == Device::automatic && gpu_pays(shape, machine)) {
    const Variant& best = best_on_gpu();
    if (best.supports(shape, machine) && (!best.device_input || fits_gpu(best, shape, machine))) return best;
  }
  if (searches_pay(shape)) return openmp_dijkstra_rung;
  return shape.wide ? openmp_tiled_rung : simd_tiled_rung;
}

}  // namespace gradus::shortest_paths_detail
