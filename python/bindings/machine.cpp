// Binds the lists of variants and GPUs, and facts about the machine and the build.
#include <nanobind/stl/string.h>

#include "gradus/variants.hpp"
#include "gradus/version.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/library.hpp"
#include "python/bindings/module.hpp"

namespace gradus::python {

namespace nb = nanobind;

namespace {

using Rows = nb::typed<nb::list, Fields>;

nb::str text(std::string_view view) { return nb::str(view.data(), view.size()); }

Rows variants_of(const std::string& problem) {
  Rows rows;
  for (const VariantRow& row : variants(problem))
    rows.append(nb::make_tuple(text(row.name), text(row.summary), text(to_string(row.backend)), row.contract,
                               row.supported, row.reason));
  return rows;
}

nb::typed<nb::list, nb::str> problem_names() {
  nb::typed<nb::list, nb::str> names;
  for (const std::string_view name : problems()) names.append(text(name));
  return names;
}

Rows gpus_here() {
  Rows gpus;
  for (const execution::Gpu& gpu : this_machine().gpus())
    gpus.append(
        nb::make_tuple(gpu.index, gpu.name, gpu.memory_bytes, gpu.multiprocessors, gpu.compute_capability, gpu.usable));
  return gpus;
}

nb::typed<nb::dict, nb::str, nb::any> machine_facts() {
  const execution::Machine& machine = this_machine();
  const execution::Layout& layout = machine.layout();
  nb::typed<nb::dict, nb::str, nb::any> facts;
  facts["version"] = text(version());
  facts["cuda_compiled"] = machine.cuda_compiled;
  facts["why_no_gpu"] = why_no_gpu();
  facts["processor"] = machine.processor;
  facts["cores"] = machine.cores;
  facts["physical_cores"] = layout.physical_cores;
  facts["packages"] = layout.packages;
  facts["memory_nodes"] = layout.memory_nodes;
  nb::list simd;
  for (const std::string& name : machine.simd) simd.append(name);
  facts["simd"] = simd;
  facts["fused_multiply_add"] = machine.fused_multiply_add;
  facts["memory_bytes"] = machine.memory_bytes;
  facts["available_memory_bytes"] = available_memory();
  return facts;
}

}  // namespace

void bind_machine(nb::module_& module) {
  module.def("version", [] { return text(version()); });
  module.def("variants", &variants_of, nb::arg("problem"));
  module.def("problems", &problem_names);
  module.def("gpus", &gpus_here);
  module.def("info", &machine_facts);
  module.def("why_no_gpu", &why_no_gpu);
}

}  // namespace gradus::python
