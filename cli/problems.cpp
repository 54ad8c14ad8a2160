#include "cli/problems.hpp"

#include <algorithm>
#include <array>

#include "core/text.hpp"
#include "kmeans/problem.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::cli {

namespace {

/// A variant runs here if it can take any of these; some are made for few columns, some for many.
core::Support kmeans_support(std::string_view name, const execution::Machine& machine) {
  const kmeans_detail::Variant& variant = core::find_variant(kmeans_detail::variants(), name, "kmeans");
  core::Support support;
  for (const std::int64_t dimensions : {2, 16, 128})
    for (const int element_bytes : {4, 8}) {
      support = variant.supports(
          {.points = 1000000, .dimensions = dimensions, .clusters = 64, .element_bytes = element_bytes}, machine);
      if (support) return support;
    }
  return support;
}

/// The same: some are made for a cutoff or for few wide bins.
core::Support pair_histogram_support(std::string_view name, const execution::Machine& machine) {
  const pair_histogram_detail::Variant& variant =
      core::find_variant(pair_histogram_detail::variants(), name, "pair_histogram");
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
      support = variant.supports(shape, machine);
      if (support) return support;
    }
  return support;
}

template <class Variant>
std::vector<core::VariantInfo> infos_of(std::span<const Variant> variants) {
  return {variants.begin(), variants.end()};
}

constexpr std::array table = {
    ProblemRow{"kmeans", "k-means clustering: labels and centroids of points",
               [] { return infos_of(kmeans_detail::variants()); }, kmeans_support},
    ProblemRow{"pair_histogram", "pair-distance histogram: how many pairs of points lie at each distance",
               [] { return infos_of(pair_histogram_detail::variants()); }, pair_histogram_support},
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
  for (const core::VariantInfo& variant : find_problem(problem).variants()) names.emplace_back(variant.name);
  return names;
}

std::vector<std::string> all_variant_names() {
  std::vector<std::string> names;
  for (const ProblemRow& problem : table)
    for (const std::string& name : variant_names(problem.name))
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

core::VariantInfo variant_info(std::string_view problem, std::string_view variant) {
  const std::vector<core::VariantInfo> infos = find_problem(problem).variants();
  return core::find_variant(std::span<const core::VariantInfo>(infos), variant, find_problem(problem).name);
}

}  // namespace gradus::cli
