// The machine's tree of packages, caches, cores and hardware threads.
#pragma once

#include <hwloc.h>

#include <vector>

namespace gradus::cpu {

/// Returns hwloc's topology of the machine, loaded once, or null if hwloc has no information.
hwloc_topology_t topology();

/// Returns the number of physical cores that have a logical CPU in `allowed`, which is in ascending order.
int core_count(hwloc_topology_t topology, const std::vector<int>& allowed);

/// Returns the CPUs in `allowed`, depth first: all hardware threads of a core, then of a neighbouring core that shares
/// its caches. CPUs that the topology does not contain come last.
std::vector<int> compact_order(hwloc_topology_t topology, const std::vector<int>& allowed);

/// Returns the CPUs in `allowed`, breadth first. Cores come from each package in turn. Within a package, they come from
/// each memory node in turn, within a node from each cache in turn, and so on. The second hardware threads of cores
/// come after the first hardware threads of all cores.
std::vector<int> scatter_order(hwloc_topology_t topology, const std::vector<int>& allowed);

}  // namespace gradus::cpu
