#include "cli/problems.hpp"

#include <algorithm>
#include <array>

#include "core/text.hpp"
#include "cpu/machine.hpp"
#include "kmeans/problem.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::cli {

namespace {

/// A variant runs here if it can take any of these; some are made for few columns, some for many.
core::Support support_of(const kmeans_detail::Variant& variant) {
  core::Support support;
  for (const std::int64_t dimensions : {2, 16, 128})
    for (const int element_bytes : {4, 8}) {
      support = variant.supports(
          {.points = 1000000, .dimensions = dimensions, .clusters = 64, .element_bytes = element_bytes},
          cpu::this_machine());
      if (support) return support;
    }
  return support;
}

std::vector<VariantRow> kmeans_variants() {
  std::vector<VariantRow> rows;
  for (const kmeans_detail::Variant& variant : kmeans_detail::variants())
    rows.push_back({variant, support_of(variant)});
  return rows;
}

/// The same: some are made for a cutoff or for few wide bins.
core::Support support_of(const pair_histogram_detail::Variant& variant) {
  core::Support support;
  for (const double reach : {1.0, 100.0})
    for (const int element_bytes : {4, 8}) {
      pair_histogram_detail::Shape shape;
      shape.points = 1000000;
      shape.bins = 10;
      shape.element_bytes = element_bytes;
      shape.reach = reach;
      shape.least_width = reach / 10;
      shape.extent = {100, 100, 100};
      support = variant.supports(shape, cpu::this_machine());
      if (support) return support;
    }
  return support;
}

std::vector<VariantRow> pair_histogram_variants() {
  std::vector<VariantRow> rows;
  for (const pair_histogram_detail::Variant& variant : pair_histogram_detail::variants())
    rows.push_back({variant, support_of(variant)});
  return rows;
}

constexpr std::array table = {
    ProblemRow{"kmeans", "k-means clustering: labels and centroids of points", kmeans_variants},
    ProblemRow{"pair_histogram", "pair-distance histogram: how many pairs of points lie at each distance",
               pair_histogram_variants},
};

}  // namespace

std::span<const ProblemRow> problems() { return table; }

const ProblemRow& find_problem(std::string_view name) {
  const std::string wanted = core::with_underscores(name);
  std::vector<std::string_view> names;
  for (const ProblemRow& problem : table) {
    if (problem.name == wanted) return problem;
    names.push_back(problem.name);
  }
  throw UsageError("there is no problem " + core::excerpt(name) + core::did_you_mean(wanted, names) +
                   "; 'gradus list' shows all of them");
}

std::vector<std::string> variant_names(std::string_view problem) {
  std::vector<std::string> names;
  for (const VariantRow& row : find_problem(problem).variants()) names.emplace_back(row.info.name);
  return names;
}

std::vector<std::string> all_variant_names() {
  std::vector<std::string> names;
  for (const ProblemRow& problem : table)
    for (const std::string& name : variant_names(problem.name))
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

void require_variant(std::string_view problem, std::string_view variant) {
  std::vector<core::VariantInfo> infos;
  for (const VariantRow& row : find_problem(problem).variants()) infos.push_back(row.info);
  core::find_variant(std::span<const core::VariantInfo>(infos), variant, problem);
}

}  // namespace gradus::cli
