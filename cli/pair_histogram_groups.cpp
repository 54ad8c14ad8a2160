#include "cli/pair_histogram_groups.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

#include "cli/pair_histogram_frames.hpp"
#include "gradus/error.hpp"
#include "ranks/ranks.hpp"

namespace gradus::cli::pairs {

namespace room = pair_histogram_detail;

namespace {

std::shared_ptr<const files::AtomWords> words_of(const std::shared_ptr<const files::AtomWords>& words,
                                                 const std::vector<std::int64_t>& atoms) {
  if (!words) return nullptr;
  files::AtomWords some{words->words, {}};
  for (const std::int64_t atom : atoms) some.of_atoms.push_back(words->of_atoms[static_cast<std::size_t>(atom)]);
  return std::make_shared<const files::AtomWords>(std::move(some));
}

template <class T>
files::PointsOf<T> points_from(MatrixView<const double> rows) {
  Matrix<T> points(rows.rows(), rows.columns());
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t column = 0; column < rows.columns(); ++column)
      points.row(row)[column] = static_cast<T>(rows.row(row)[column]);
  return files::own(std::move(points));
}

/// Returns a frame that has the centre of mass of each residue or molecule in place of its atoms. A centre has the
/// residue's name as its type, and the numbers of the residue and the molecule.
files::Frame mass_centers(const files::Frame& frame, files::AtomGrouping grouping, const PairHistogramOptions& options,
                          const std::string& what) {
  const room::GroupRows groups = room::groups_of(files::group_numbers(frame, grouping, what));
  const std::vector<double> masses = files::masses_of(frame, what);
  const files::Points atoms = files::convert(frame.points, files::ElementType::f64, what, {});
  const Matrix<double> centers =
      room::mass_centers(atoms.view<double>(), groups.view(), {masses.data(), std::ssize(masses)}, options);
  std::vector<std::int64_t> first_atoms;
  for (std::size_t group = 0; group + 1 < groups.starts.size(); ++group)
    first_atoms.push_back(groups.rows[static_cast<std::size_t>(groups.starts[group])]);
  files::Frame result = frame;
  if (frame.points.type() == files::ElementType::f32) result.points.values = points_from<float>(centers.view());
  else result.points.values = points_from<double>(centers.view());
  const files::AtomLabels& labels = frame.labels;
  result.labels = {};
  result.labels.types = result.labels.residues = words_of(labels.residues, first_atoms);
  result.labels.molecules = words_of(labels.molecules, first_atoms);
  if (labels.residue_numbers) {
    std::vector<std::int64_t> numbers;
    for (const std::int64_t atom : first_atoms)
      numbers.push_back((*labels.residue_numbers)[static_cast<std::size_t>(atom)]);
    result.labels.residue_numbers = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  }
  return result;
}

std::vector<std::int64_t> numbers_of(const std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> some;
  some.reserve(rows.size());
  for (const std::int64_t row : rows) some.push_back(numbers[static_cast<std::size_t>(row)]);
  return some;
}

}  // namespace

AtomGroups::AtomGroups(const Arguments& arguments, const Session& session)
    : arguments_(arguments), input_(arguments.input == "-" ? "standard input" : fmt::format("'{}'", arguments.input)) {
  const bool needs_bonds = arguments.exclude == Exclude::bonded;
  if (arguments.topology.empty() && !needs_bonds) return;
  const std::string& path = arguments.topology.empty() ? arguments.input : arguments.topology;
  files::FrameReader reader(path, arguments.reading, true);
  const FrameRange first("0");
  WantedFrames frames(reader, path, first, session);
  const std::optional<files::Frame> frame = frames.next();
  session.ranks().agree([&] {
    if (!frame || !reader.is_trajectory())
      throw InputError(fmt::format("'{}': it names no atoms; a .gro, .pdb, .xyz or LAMMPS file is needed", path));
    if (needs_bonds) bonds_ = files::read_bonds(path, frame->labels, arguments.reading);
  });
  if (arguments.topology.empty()) return;
  topology_ = frame->labels;
  topology_atoms_ = frame->points.rows();
}

files::Frame AtomGroups::prepared(const files::Frame& frame, const PairHistogramOptions& options) const {
  files::Frame result = frame;
  if (topology_) {
    if (frame.points.rows() != topology_atoms_)
      throw InputError(fmt::format("{}: the frame has {} atoms, but '{}' names {}", input_, frame.points.rows(),
                                   arguments_.topology, topology_atoms_));
    result.labels = *topology_;
    if (frame.labels.ids) result.labels.ids = frame.labels.ids;
  }
  if (!arguments_.mass_centers) return result;
  return mass_centers(result, *arguments_.mass_centers, options, input_);
}

AtomGroups::Exclusion AtomGroups::exclusion(const files::Frame& frame, const std::vector<std::int64_t>& rows,
                                            const std::vector<std::int64_t>* others) {
  if (bonds_) return bonded(frame, rows, others);
  const files::AtomGrouping grouping =
      *arguments_.exclude == Exclude::residue ? files::AtomGrouping::residue : files::AtomGrouping::molecule;
  const std::vector<std::int64_t> numbers = files::group_numbers(frame, grouping, input_);
  Exclusion result{.points = room::groups_of(numbers_of(numbers, rows)), .others = {}, .has_themselves = true};
  if (others == nullptr) return result;
  std::vector<std::int64_t> keys = numbers_of(numbers, rows);
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  result.others = room::groups_of(numbers_of(numbers, *others), &keys);
  return result;
}

AtomGroups::Exclusion AtomGroups::bonded(const files::Frame& frame, const std::vector<std::int64_t>& rows,
                                         const std::vector<std::int64_t>* others) {
  Exclusion result;
  const auto places_of = [&](const std::vector<std::int64_t>& some) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(frame.points.rows()), -1);
    for (std::size_t place = 0; place < some.size(); ++place)
      places[static_cast<std::size_t>(some[place])] = static_cast<std::int64_t>(place);
    return places;
  };
  if (!bonds_->empty() &&
      std::ranges::max(*bonds_, {}, &std::pair<std::int64_t, std::int64_t>::second).second >= frame.points.rows())
    throw InputError(fmt::format("{}: a frame has {} atoms, fewer than the bonds name", input_, frame.points.rows()));
  const std::vector<std::int64_t> places = places_of(rows);
  const std::vector<std::int64_t> other_places = others == nullptr ? places : places_of(*others);
  const auto add = [&](std::int64_t first, std::int64_t second) {
    const std::int64_t place = places[static_cast<std::size_t>(first)];
    const std::int64_t other_place = other_places[static_cast<std::size_t>(second)];
    if (place < 0 || other_place < 0) return;
    result.points.rows.push_back(place);
    (others == nullptr ? result.points : result.others).rows.push_back(other_place);
    result.points.starts.push_back(std::ssize(result.points.rows));
    result.others.starts.push_back(std::ssize(result.others.rows));
  };
  for (const auto& [first, second] : *bonds_) {
    add(first, second);
    if (others != nullptr) add(second, first);
  }
  return result;
}

}  // namespace gradus::cli::pairs
