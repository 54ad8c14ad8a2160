#include "pair_histogram/files/topology.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/text.hpp"
#include "files/number.hpp"
#include "files/text_input.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

namespace {

/// Standard atomic weights (IUPAC 2016), of the elements that have one.
constexpr std::string_view weights =
    " "
    "H 1.008 HE 4.002602 LI 6.94 BE 9.0121831 B 10.81 C 12.011 N 14.007 O 15.999 F 18.998403163 NE "
    "20.1797 NA 22.98976928 MG 24.305 AL 26.9815385 SI 28.085 P 30.973761998 S 32.06 CL 35.45 AR "
    "39.948 K 39.0983 CA 40.078 SC 44.955908 TI 47.867 V 50.9415 CR 51.9961 MN 54.938044 FE 55.845 CO "
    "58.933194 NI 58.6934 CU 63.546 ZN 65.38 GA 69.723 GE 72.63 AS 74.921595 SE 78.971 BR 79.904 KR "
    "83.798 RB 85.4678 SR 87.62 Y 88.90584 ZR 91.224 NB 92.90637 MO 95.95 RU 101.07 RH 102.9055 PD "
    "106.42 AG 107.8682 CD 112.414 IN 114.818 SN 118.71 SB 121.76 TE 127.6 I 126.90447 XE 131.293 CS "
    "132.90545196 BA 137.327 LA 138.90547 CE 140.116 PR 140.90766 ND 144.242 SM 150.36 EU 151.964 GD "
    "157.25 TB 158.92535 DY 162.5 HO 164.93033 ER 167.259 TM 168.93422 YB 173.054 LU 174.9668 HF "
    "178.49 TA 180.94788 W 183.84 RE 186.207 OS 190.23 IR 192.217 PT 195.084 AU 196.966569 HG 200.592 "
    "TL 204.38 PB 207.2 BI 208.9804 TH 232.0377 PA 231.03588 U 238.02891 ";

std::optional<double> mass_of_element(std::string element) {
  for (char& letter : element) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  if (element == "D") return 2.01410178;
  const std::size_t found = weights.find(" " + element + " ");
  if (element.empty() || std::isdigit(static_cast<unsigned char>(element[0])) != 0 || found == std::string_view::npos)
    return std::nullopt;
  double mass = 0;
  parse_number(weights.data() + found + element.size() + 2, weights.data() + weights.size(), mass);
  return mass;
}

/// Returns the mass that the names of an atom and its residue imply.
std::optional<double> mass_of_name(const std::string& name, const std::string& residue) {
  if (name.starts_with("MW") || name.starts_with("EPW") || name.starts_with("LP")) return 0.0;
  if (name == residue) {
    const std::string letters = name.substr(0, name.find_first_of("+-0123456789"));
    if (const std::optional<double> mass = mass_of_element(letters)) return mass;
  }
  const std::size_t first = name.find_first_not_of("0123456789");
  if (first == std::string::npos || std::string_view("CFHNOPS").find(name[first]) == std::string_view::npos)
    return std::nullopt;
  return mass_of_element(name.substr(first, 1));
}

const std::string& word_of(const std::shared_ptr<const AtomWords>& words, std::size_t atom) {
  return words->words[static_cast<std::size_t>(words->of_atoms[atom])];
}

}  // namespace

std::vector<std::int64_t> group_numbers(const Frame& frame, AtomGrouping grouping, const std::string& what) {
  const AtomLabels& labels = frame.labels;
  if (grouping == AtomGrouping::residue) {
    if (labels.residue_numbers) return *labels.residue_numbers;
    throw InputError(what + ": the file has no residues; name a .gro or .pdb file of the same atoms (--topology)");
  }
  if (!labels.molecules)
    throw InputError(what +
                     ": the file has no molecules, which only LAMMPS dumps with the column 'mol' have; use 'residue', "
                     "or gradus.radial_distribution() in Python, for which MDAnalysis reads topologies");
  std::vector<std::int64_t> numbers;
  for (std::size_t atom = 0; atom < labels.molecules->of_atoms.size(); ++atom)
    numbers.push_back(word_of(labels.molecules, atom) == "0" ? -1 - static_cast<std::int64_t>(atom)
                                                             : labels.molecules->of_atoms[atom]);
  return numbers;
}

std::vector<std::pair<std::int64_t, std::int64_t>> read_bonds(const std::string& path, const AtomLabels& labels,
                                                              const ReadOptions& options) {
  const auto fail = [&](const std::string& why) { throw InputError("'" + path + "': " + why); };
  if (is_stream(path)) fail("bonds are read from a file, not from a stream");
  if (!labels.ids)
    fail(
        "the atoms have no numbers, to which the bonds of a PDB file refer; bonds of other formats are read by "
        "MDAnalysis or mdtraj for gradus.radial_distribution() in Python");
  std::unordered_map<std::int64_t, std::int64_t> rows;
  for (std::size_t row = 0; row < labels.ids->size(); ++row)
    if (!rows.try_emplace((*labels.ids)[row], static_cast<std::int64_t>(row)).second)
      fail("two atoms have the number " + std::to_string((*labels.ids)[row]) + ", so that bonds are ambiguous");
  TextInput text(path, options.stop);
  std::vector<std::pair<std::int64_t, std::int64_t>> bonds;
  std::int64_t line = 0;
  for (auto next = text.next_line(); next; next = text.next_line()) {
    ++line;
    if (!next->starts_with("CONECT")) continue;
    std::optional<std::int64_t> first;
    constexpr std::size_t width = 5;
    for (std::size_t begin = 6; begin < std::min<std::size_t>(next->size(), 6 + 5 * width); begin += width) {
      const std::string_view word = trimmed(next->substr(begin, width));
      if (word.empty()) continue;
      std::int64_t id = 0;
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      const auto row = rows.find(id);
      if (error != std::errc{} || stop != word.data() + word.size() || row == rows.end())
        throw InputError(path + ":" + std::to_string(line) + ": " + core::excerpt(word) +
                         " is not the number of an atom");
      if (!first) first = row->second;
      else if (*first != row->second) bonds.emplace_back(std::minmax(*first, row->second));
    }
  }
  if (bonds.empty())
    fail(
        "there are no bonds (CONECT); name a PDB file that has them (--topology), or use "
        "gradus.radial_distribution() in Python, for which MDAnalysis and mdtraj read bonds");
  std::ranges::sort(bonds);
  bonds.erase(std::unique(bonds.begin(), bonds.end()), bonds.end());
  return bonds;
}

std::vector<double> masses_of(const Frame& frame, const std::string& what) {
  const AtomLabels& labels = frame.labels;
  if (!labels.elements && !labels.names)
    throw InputError(what +
                     ": the file names neither elements nor atoms, from which masses follow; name a .gro or .pdb "
                     "file of the same atoms (--topology)");
  std::vector<double> masses;
  for (std::size_t atom = 0; atom < static_cast<std::size_t>(frame.points.rows()); ++atom) {
    const std::string& word = word_of(labels.elements ? labels.elements : labels.names, atom);
    const std::optional<double> mass = labels.elements
                                           ? mass_of_element(word)
                                           : mass_of_name(word, labels.residues ? word_of(labels.residues, atom) : "");
    if (!mass)
      throw InputError(what + ": the mass of atom " + std::to_string(atom) +
                       " (counted from 0) does not follow from its " + (labels.elements ? "element " : "name ") +
                       core::excerpt(word) +
                       "; name a PDB file with elements (--topology), or leave such atoms out of the file");
    masses.push_back(*mass);
  }
  return masses;
}

}  // namespace gradus::files
