// The arguments of `gradus kmeans`, and the options that exclude each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/kmeans_certificate.hpp"
#include "cli/options.hpp"
#include "cli/point_files.hpp"
#include "files/points.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/kmeans_bisecting.hpp"
#include "gradus/kmeans_choose.hpp"

namespace gradus::cli {

struct KMeansArguments {
  std::vector<std::string> inputs;  ///< names of files, or patterns of names
  bool input_per_rank = false;
  bool optimal = false;                  ///< the best clustering of one column, by kmeans1d()
  std::optional<KMeansSplit> bisecting;  ///< kmeans_bisecting() instead of kmeans()
  CertifyArguments certify;              ///< adds a lower bound for the inertia, by kmeans_certify()
  std::int64_t subspaces = 0;  ///< number of groups of columns that are fitted separately; 0: all columns together
  std::string output;
  std::string page;  ///< the file of --report
  std::string weights;
  std::string centroids;    ///< the file of centroids that --init names
  std::string init_folder;  ///< the folder of a result, if --init names one
  std::string init;         ///< the value of --init; empty: not given
  files::ReadOptions reading;
  /// Options of the fit; if several numbers of clusters are compared, `clusters` is the current or the chosen number.
  KMeansOptions options;
  KMeansChoiceOptions choice;

  bool is_weighted() const { return !weights.empty() || !reading.columns.weight.empty(); }
  std::string file_of_weights() const {
    return weights.empty() && is_weighted() && inputs.size() == 1 ? inputs.front() : weights;
  }
  PerRank per_rank() const { return input_per_rank ? PerRank::yes : PerRank::no; }
  bool is_plain() const { return !optimal && !bisecting; }
  bool chooses() const { return choice.clusters.size() > 1; }
  /// Returns true if the job records hashes of its inputs or compares them with recorded hashes.
  bool is_recorded(const Session& session) const {
    return session.json || session.record || !output.empty() || !page.empty();
  }
};

void add_kmeans_options(Options& options, const std::shared_ptr<KMeansArguments>& arguments, Session& session);

/// Adds --metric. `no_effect_reason` returns the reason why the option has no effect, or "".
void add_metric_option(Options& options, KMeansMetric& metric, NoEffectReason no_effect_reason = {});

/// Returns "" if the first centroids are random. Otherwise returns the reason why the seed has no effect: no part of
/// the fit is random.
std::string why_nothing_is_random(KMeansInit init);

/// Throws UsageError for invalid input names.
void require_names(const KMeansArguments& arguments);

/// Throws UsageError or UnsupportedError for options that cannot be combined. Selects the device, where an option
/// excludes GPUs, and the GPU of a rank. Prints a note if the launcher has bound the ranks to too few CPUs.
void prepare_session(const KMeansArguments& arguments, Session& session);

}  // namespace gradus::cli
