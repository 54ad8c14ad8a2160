// Binds pair-distance histograms.
#include "gradus/pair_histogram.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "gradus/frame_averages.hpp"
#include "gradus/pair_histogram_structure_factor.hpp"
#include "pair_histogram/api/groups.hpp"
#include "pair_histogram/options.hpp"
#include "python/bindings/arrays.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/module.hpp"
#include "python/bindings/options.hpp"

namespace gradus::python {

namespace {

/// Returns the fields of a result, followed by the volume of the box (None in open space) and, with beyond_half, the
/// sizes of the shells in the box (otherwise None).
Fields count(const Input& points, const std::optional<Input>& others, const std::optional<Input>& weights,
             const std::optional<Input>& other_weights, const OptionValues& given, const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    auto options = options_of<PairHistogramOptions>(given);
    options.bins = pair_histogram_complete_bins(options);
    const auto view = matrix_of<const T>(points, "points");
    const PairHistogramMemory<T> memory{.others = matrix_of<T>(others, "others"),
                                        .weights = vector_of<T>(weights, "weights"),
                                        .other_weights = vector_of<T>(other_weights, "other_weights")};
    PairHistogramResult result =
        Job(request).run([&](const Execution& execution) { return pair_histogram(view, options, memory, execution); });
    const nb::object weighted = result.weighted.empty() ? nb::none() : to_numpy(std::move(result.weighted));
    const nb::object volume = pair_histogram_has_volume(options)
                                  ? nb::cast(pair_histogram_volume(options.box, options.periodic, options.dimensions))
                                  : nb::none();
    const nb::object shells =
        options.beyond_half && !volume.is_none() ? to_numpy(pair_histogram_shells(result.edges, options)) : nb::none();
    return nb::make_tuple(to_numpy(std::move(result.edges)), to_numpy(std::move(result.counts)), weighted, result.below,
                          result.beyond, result.pairs, result.flat, to_python(result.report), volume, shells);
  });
}

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T, class Array>
std::vector<T> vector_from(const Array& array) {
  return {array.data(), array.data() + array.shape(0)};
}

PairHistogramResult result_of(const Doubles& edges, const Counts& counts, const std::optional<Doubles>& weighted,
                              std::uint64_t below, std::uint64_t beyond, std::uint64_t pairs, std::string flat,
                              double rechecked) {
  PairHistogramResult result;
  result.edges = vector_from<double>(edges);
  result.counts = vector_from<std::uint64_t>(counts);
  if (weighted) result.weighted = vector_from<double>(*weighted);
  result.below = below;
  result.beyond = beyond;
  result.pairs = pairs;
  result.flat = std::move(flat);
  result.report.rechecked = rechecked;
  return result;
}

/// Returns the elements (counts, below, beyond, pairs) for the pairs within groups. A group consists of the rows of
/// points from starts[group] to starts[group + 1], and of others in the same way.
Fields count_in_groups(const Input& points, const std::optional<Input>& others, const Input& rows, const Input& starts,
                       const std::optional<Input>& other_rows, const std::optional<Input>& other_starts,
                       const OptionValues& given, const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    using pair_histogram_detail::Groups;
    auto options = options_of<PairHistogramOptions>(given);
    options.bins = pair_histogram_complete_bins(options);
    const Groups groups{vector_of<const std::int64_t>(rows, "rows"), vector_of<const std::int64_t>(starts, "starts")};
    const Groups other_groups{vector_of<std::int64_t>(other_rows, "other rows"),
                              vector_of<std::int64_t>(other_starts, "other starts")};
    const auto view = matrix_of<const T>(points, "points");
    const auto other_view = matrix_of<T>(others, "others");
    PairHistogramResult result = Job(request).run([&](const Execution& execution) {
      return pair_histogram_detail::count_in_groups<T>(view, other_view, groups, other_groups, options, execution);
    });
    return nb::make_tuple(to_numpy(std::move(result.counts)), result.below, result.beyond, result.pairs);
  });
}

/// Converts the tuple (edges, counts, weighted, below, beyond, pairs, flat, rechecked) to a result.
PairHistogramResult result_of(const Fields& fields) {
  return result_of(nb::cast<Doubles>(fields[0]), nb::cast<Counts>(fields[1]),
                   nb::cast<std::optional<Doubles>>(fields[2]), nb::cast<std::uint64_t>(fields[3]),
                   nb::cast<std::uint64_t>(fields[4]), nb::cast<std::uint64_t>(fields[5]),
                   nb::cast<std::string>(fields[6]), nb::cast<double>(fields[7]));
}

Fields add(const Fields& sum, const Fields& next) {
  PairHistogramResult result = result_of(sum);
  pair_histogram_accumulate(result, result_of(next));
  const nb::object weighted = result.weighted.empty() ? nb::none() : to_numpy(std::move(result.weighted));
  return nb::make_tuple(to_numpy(std::move(result.counts)), weighted, result.below, result.beyond, result.pairs,
                        result.flat, result.report.rechecked);
}

/// Returns the centre of mass of each group, as mass_centers() in pair_histogram/api/groups.hpp.
nb::object mass_centers(const Input& points, const Input& rows, const Input& starts, const Input& masses,
                        const OptionValues& given) {
  return to_numpy(pair_histogram_detail::mass_centers(
      matrix_of<const double>(points, "points"),
      {vector_of<const std::int64_t>(rows, "rows"), vector_of<const std::int64_t>(starts, "starts")},
      vector_of<const double>(masses, "masses"), options_of<PairHistogramOptions>(given)));
}

/// Returns the elements (q, s, vectors) of a frame.
Fields structure_factor_of(const Input& points, const std::vector<double>& box, const Input& vectors, double q_max,
                           double width, const Request& request) {
  const auto view = matrix_of<const double>(points, "points");
  const auto integers = matrix_of<const std::int64_t>(vectors, "vectors");
  StructureFactorFrame frame = Job(request).run([&](const Execution& execution) {
    return structure_factor_in_bins(view, box, integers, {q_max, width}, execution);
  });
  return nb::make_tuple(to_numpy(std::move(frame.q)), to_numpy(std::move(frame.s)), to_numpy(std::move(frame.vectors)));
}

/// Returns the elements (mean, error).
Fields averages(const Input& frames, std::int64_t blocks) {
  FrameAverages found = average_frames(matrix_of<const double>(frames, "frames"), blocks);
  return nb::make_tuple(to_numpy(std::move(found.mean)), to_numpy(std::move(found.error)));
}

/// Returns vectors of the reciprocal lattice as rows of three integers.
nb::object structure_factor_grid(const std::vector<double>& box, double q_max, double width,
                                 std::int64_t vectors_per_bin, bool is_flat) {
  return to_numpy(structure_factor_vectors(box, {q_max, width, vectors_per_bin}, is_flat));
}

/// Returns the elements (s, bound).
Fields debye(const Fields& histogram, std::int64_t points, const Doubles& q) {
  DebyeStructureFactor result = debye_structure_factor(result_of(histogram), points, vector_from<double>(q));
  return nb::make_tuple(to_numpy(std::move(result.s)), to_numpy(std::move(result.bound)));
}

Fields radial_distribution(const Fields& histogram, std::int64_t dimensions, double points, double pairs_per_volume,
                           bool cross, const std::optional<Doubles>& shells) {
  PairHistogramFrames frames{.points = points, .pairs_per_volume = pairs_per_volume, .cross = cross};
  if (shells) frames.shells = vector_from<double>(*shells);
  PairHistogramRadialDistribution result = pair_histogram_radial_distribution(result_of(histogram), dimensions, frames);
  return nb::make_tuple(to_numpy(std::move(result.g)), to_numpy(std::move(result.density)),
                        to_numpy(std::move(result.coordination)));
}

}  // namespace

void bind_pair_histogram(nb::module_& module) {
  using nb::arg;
  bind_options<PairHistogramOptions>(module, "pair_histogram_options");
  module.def("pair_histogram", &count, arg("points"), arg("others").none(), arg("weights").none(),
             arg("other_weights").none(), arg("options"), arg("request"));
  module.def("pair_histogram_in_groups", &count_in_groups, arg("points"), arg("others").none(), arg("rows"),
             arg("starts"), arg("other_rows").none(), arg("other_starts").none(), arg("options"), arg("request"));
  module.def("pair_histogram_add", &add, arg("sum"), arg("next"));
  module.def("pair_histogram_radial_distribution", &radial_distribution, arg("histogram"), arg("dimensions"),
             arg("points"), arg("pairs_per_volume"), arg("cross"), arg("shells").none());
  module.def("structure_factor", &structure_factor_of, arg("points"), arg("box"), arg("vectors"), arg("q_max"),
             arg("width"), arg("request"));
  module.def("structure_factor_vectors", &structure_factor_grid, arg("box"), arg("q_max"), arg("width"),
             arg("vectors_per_bin"), arg("is_flat"));
  module.def("average_frames", &averages, arg("frames"), arg("blocks"));
  module.def("debye_structure_factor", &debye, arg("histogram"), arg("points"), arg("q"));
  module.def("pair_histogram_mass_centers", &mass_centers, arg("points"), arg("rows"), arg("starts"), arg("masses"),
             arg("options"));
  bind_pair_counts(module);
}

}  // namespace gradus::python
