// The machine's tree of packages, caches, cores and hardware threads.
#pragma once

#include <hwloc.h>

#include <vector>

namespace gradus::cpu {

/// Returns hwloc's topology of the machine, loaded once, or null if hwloc has no information.
hwloc_topology_t topology();

/// Returns the number of physical cores with a logical CPU in `allowed` (ascending).
int core_count(hwloc_topology_t topology, const std::vector<int>& allowed);

/// Returns the CPUs in `allowed`, depth first: all hardware threads of a core, then of a neighbouring core that shares
/// its caches. CPUs that the topology does not contain come last.
std::vector<int> compact_order(hwloc_topology_t topology, const std::vector<int>& allowed);

/// Returns the CPUs in `allowed`, breadth first: a core from each package in turn, within a package from each memory
/// node, within a node from each cache, and so on. Second hardware threads come after the first threads of all cores.
std::vector<int> scatter_order(hwloc_topology_t topology, const std::vector<int>& allowed);

}  // namespace gradus::cpu
