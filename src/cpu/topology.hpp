// The machine's tree of packages, caches, cores and hardware threads.
#pragma once

#include <hwloc.h>

#include <vector>

namespace gradus::cpu {

/// hwloc's view of the machine, loaded once; null where hwloc cannot tell.
hwloc_topology_t topology();

/// The physical cores with a logical processor in `allowed` (ascending).
int core_count(hwloc_topology_t topology, const std::vector<int>& allowed);

/// The processors in `allowed`, depth first: all hardware threads of a core, then those of its neighbour, with which
/// it shares caches. Those that the topology does not know come last.
std::vector<int> compact_order(hwloc_topology_t topology, const std::vector<int>& allowed);

/// The processors in `allowed`, breadth first: a core from each package in turn, within a package from each memory
/// node, within that from each cache, and so on; the second hardware threads come after the first ones of all cores.
std::vector<int> scatter_order(hwloc_topology_t topology, const std::vector<int>& allowed);

}  // namespace gradus::cpu
