// pair_histogram_volume(), pair_histogram_has_volume()
#include <cmath>

#include "core/float_environment.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

bool pair_histogram_has_volume(const PairHistogramOptions& options) { return room::repeats_everywhere(options); }

double pair_histogram_volume(const std::vector<double>& box, const std::string& periodic,
                             const std::string& dimensions) {
  const core::DefaultFloatEnvironment environment;
  PairHistogramOptions options;
  options.box = box;
  options.periodic = periodic;
  options.dimensions = dimensions;
  if (options.box.empty()) throw UsageError(about("box") + "open space has no volume");
  if (!pair_histogram_has_volume(options))
    throw UsageError(about("box") + "it is periodic in " + options.periodic +
                     " only, and open directions have no volume; give the volume of the points");
  std::int64_t columns = room::columns_for(options);
  const PairHistogramOptions arranged = room::arranged_options(options, columns);
  const std::vector<double>& closed_box = arranged.box;
  room::check_box(closed_box, {}, columns);
  if (room::is_triclinic(closed_box) && dimensions.size() == 2)
    return std::abs(closed_box[0] * closed_box[4] - closed_box[1] * closed_box[3]);
  if (room::is_triclinic(closed_box)) return std::abs(room::Cell::reduced(closed_box).volume());
  double volume = 1;
  for (const double length : closed_box) volume *= length;
  return volume;
}

}  // namespace gradus
