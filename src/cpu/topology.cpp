#include "cpu/topology.hpp"

#include <algorithm>

namespace gradus::cpu {

hwloc_topology_t topology() {
  static const struct Loaded {
    hwloc_topology_t topology = nullptr;
    Loaded() {
      if (hwloc_topology_init(&topology) != 0) {
        topology = nullptr;
      } else if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        topology = nullptr;
      }
    }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    ~Loaded() {
      if (topology != nullptr) hwloc_topology_destroy(topology);
    }
  } loaded;
  return loaded.topology;
}

namespace {

using Core = std::vector<int>;

Core processors_below(hwloc_obj_t object, const std::vector<int>& allowed) {
  Core core;
  for (int processor = hwloc_bitmap_first(object->cpuset); processor >= 0;
       processor = hwloc_bitmap_next(object->cpuset, processor))
    if (std::ranges::binary_search(allowed, processor)) core.push_back(processor);
  return core;
}

/// Returns the cores below `object`. `merge` combines the lists of the object's children.
template <class Merge>
std::vector<Core> cores_below(hwloc_obj_t object, const std::vector<int>& allowed, const Merge& merge) {
  if (object->type == HWLOC_OBJ_CORE || object->arity == 0) {
    Core core = processors_below(object, allowed);
    if (core.empty()) return {};
    return {std::move(core)};
  }
  std::vector<std::vector<Core>> lists;
  for (unsigned child = 0; child < object->arity; ++child)
    lists.push_back(cores_below(object->children[child], allowed, merge));
  return merge(lists);
}

std::vector<Core> one_after_another(const std::vector<std::vector<Core>>& lists) {
  std::vector<Core> joined;
  for (const auto& list : lists) joined.insert(joined.end(), list.begin(), list.end());
  return joined;
}

std::vector<Core> in_turn(const std::vector<std::vector<Core>>& lists) {
  std::vector<Core> joined;
  bool more = true;
  for (std::size_t turn = 0; more; ++turn) {
    more = false;
    for (const auto& list : lists)
      if (turn < list.size()) {
        joined.push_back(list[turn]);
        more = true;
      }
  }
  return joined;
}

/// Returns all cores. Allowed CPUs that the topology does not contain come last, and each counts as one core.
template <class Merge>
std::vector<Core> all_cores(hwloc_topology_t topology, const std::vector<int>& allowed, const Merge& merge) {
  std::vector<Core> cores;
  if (topology != nullptr) cores = cores_below(hwloc_get_root_obj(topology), allowed, merge);
  std::vector<int> known;
  for (const Core& core : cores) known.insert(known.end(), core.begin(), core.end());
  std::ranges::sort(known);
  for (const int processor : allowed)
    if (!std::ranges::binary_search(known, processor)) cores.push_back({processor});
  return cores;
}

}  // namespace

int core_count(hwloc_topology_t topology, const std::vector<int>& allowed) {
  return static_cast<int>(all_cores(topology, allowed, one_after_another).size());
}

std::vector<int> compact_order(hwloc_topology_t topology, const std::vector<int>& allowed) {
  std::vector<int> order;
  for (const Core& core : all_cores(topology, allowed, one_after_another))
    order.insert(order.end(), core.begin(), core.end());
  return order;
}

std::vector<int> scatter_order(hwloc_topology_t topology, const std::vector<int>& allowed) {
  const std::vector<Core> cores = all_cores(topology, allowed, in_turn);
  std::vector<int> order;
  for (std::size_t hardware_thread = 0; order.size() < allowed.size(); ++hardware_thread)
    for (const Core& core : cores)
      if (hardware_thread < core.size()) order.push_back(core[hardware_thread]);
  return order;
}

}  // namespace gradus::cpu
