// Functions that add bindings to the module, one per source file.
#pragma once

#include <nanobind/nanobind.h>

namespace gradus::python {

void bind_execution(nanobind::module_& module);
void bind_arrays(nanobind::module_& module);
void bind_machine(nanobind::module_& module);
// Called by bind_kmeans().
void bind_kmeans_batches(nanobind::module_& module);
void bind_kmeans_bisecting(nanobind::module_& module);
void bind_pair_counts(nanobind::module_& module);
#define GRADUS_PROBLEM(name) void bind_##name(nanobind::module_& module);
#include "bindings.inc"
#undef GRADUS_PROBLEM

}  // namespace gradus::python
