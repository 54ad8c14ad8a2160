// Binds Life.
#include "gradus/life.hpp"

#include <nanobind/stl/string.h>

#include "life/options.hpp"
#include "python/bindings/arrays.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/module.hpp"
#include "python/bindings/options.hpp"

namespace gradus::python {

namespace {

nb::object to_numpy(LifeGrid grid) {
  const auto height = static_cast<std::size_t>(grid.height());
  const auto words = static_cast<std::size_t>(grid.stride());
  return owning<LifeGrid, std::uint64_t>(std::move(grid), [](LifeGrid& kept) { return kept.words(); }, {height, words});
}

/// Returns (root, levels, cells, quarters). For each node, there are one level, one word of cells, and four quarters.
nb::object to_python(const LifeTree& tree) {
  std::vector<std::int32_t> levels;
  std::vector<std::uint64_t> cells;
  std::vector<std::uint32_t> quarters;
  for (const LifeTree::Node& node : tree.nodes) {
    levels.push_back(node.level);
    cells.push_back(node.cells);
    quarters.insert(quarters.end(), node.quarters.begin(), node.quarters.end());
  }
  return nb::make_tuple(tree.root, python::to_numpy(std::move(levels)), python::to_numpy(std::move(cells)),
                        python::to_numpy(std::move(quarters)));
}

/// Computes generations. Each row of `words` holds the packed cells of a row of the grid.
Fields generations_of(const Input& words, std::int64_t width, const OptionValues& given, const Request& request) {
  const auto options = options_of<LifeOptions>(given);
  const auto rows = matrix_of<const std::uint64_t>(words, "cells");
  const LifeGridView cells{rows.data(), rows.rows(), width, rows.row_stride(), rows.place()};
  LifeResult result = Job(request).run([&](const Execution& execution) { return life(cells, options, execution); });
  const std::int64_t found_width = result.cells.width();
  const nb::object tree = result.tree ? to_python(*result.tree) : nb::none();
  const nb::object cycle =
      result.cycle ? nb::object(nb::make_tuple(result.cycle->preperiod, result.cycle->period)) : nb::none();
  const nb::object all_hashes = options.hashes ? python::to_numpy(std::move(result.hashes)) : nb::none();
  return nb::make_tuple(to_numpy(std::move(result.cells)), found_width, result.left, result.top, result.background,
                        tree, result.population.high, result.population.low, result.generations, all_hashes, cycle,
                        python::to_python(result.report));
}

}  // namespace

void bind_life(nb::module_& module) {
  using nb::arg;
  bind_options<LifeOptions>(module, "life_options");
  module.def("life", &generations_of, arg("words"), arg("width"), arg("options"), arg("request"));
}

}  // namespace gradus::python
