// Residues, molecules, bonds and masses of atoms, from their labels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gradus/names.hpp"
#include "pair_histogram/files/trajectory.hpp"

namespace gradus::files {

enum class AtomGrouping : std::uint8_t { residue, molecule };

}  // namespace gradus::files

namespace gradus {
template <>
inline constexpr auto enum_names<files::AtomGrouping> = std::to_array<EnumName<files::AtomGrouping>>(
    {{files::AtomGrouping::residue, "residue"}, {files::AtomGrouping::molecule, "molecule"}});
}  // namespace gradus

namespace gradus::files {

/// Returns a number for each atom, equal for the atoms of one residue or molecule. Throws InputError about `what` if
/// the file does not have them.
std::vector<std::int64_t> group_numbers(const Frame& frame, AtomGrouping grouping, const std::string& what);

/// Returns the pairs of rows that the records CONECT of a PDB file connect, each pair once, the lower row first.
/// `labels` are the labels of the atoms. Throws InputError if the file has no such records, or if a record names an
/// unknown atom.
std::vector<std::pair<std::int64_t, std::int64_t>> read_bonds(const std::string& path, const AtomLabels& labels,
                                                              const ReadOptions& options);

/// Returns the mass of each atom in daltons, by its element. If the file has no elements, they follow from the names of
/// atoms: the whole name if the residue has the same name (NA, CL), otherwise the first letter, if it is one of
/// C, F, H, N, O, P and S. Virtual sites (MW, EPW, LP) have no mass. Throws InputError about `what` for other names.
std::vector<double> masses_of(const Frame& frame, const std::string& what);

}  // namespace gradus::files
