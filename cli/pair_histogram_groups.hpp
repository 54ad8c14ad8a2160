// Residues and molecules in `gradus pair-histogram`: pairs that do not count, and centres of mass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/pair_histogram_result.hpp"
#include "cli/session.hpp"
#include "pair_histogram/api/groups.hpp"
#include "pair_histogram/files/topology.hpp"

namespace gradus::cli::pairs {

/// Labels and groups of the atoms of INPUT. Reads the file of --topology.
class AtomGroups {
 public:
  AtomGroups(const Arguments& arguments, const Session& session);

  /// Returns the frame with the labels of --topology and, with --mass-centers, with centres in place of atoms.
  /// `options` describe the frame's box.
  files::Frame prepared(const files::Frame& frame, const PairHistogramOptions& options) const;

  /// Pairs of places in two lists of rows that do not count.
  struct Exclusion {
    pair_histogram_detail::GroupRows points;
    pair_histogram_detail::GroupRows others;
    bool has_themselves = false;  ///< true if the pairs of a row with itself are among them
  };
  /// Returns the pairs of --exclude-same among `rows` of the frame, or if `others` is not null, between the two lists.
  Exclusion exclusion(const files::Frame& frame, const std::vector<std::int64_t>& rows,
                      const std::vector<std::int64_t>* others);

 private:
  Exclusion bonded(const files::Frame& frame, const std::vector<std::int64_t>& rows,
                   const std::vector<std::int64_t>* others);

  const Arguments& arguments_;
  std::string input_;  ///< the name of the file in messages
  std::optional<files::AtomLabels> topology_;
  std::int64_t topology_atoms_ = 0;
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> bonds_;  ///< of --exclude-same bonded
};

}  // namespace gradus::cli::pairs
