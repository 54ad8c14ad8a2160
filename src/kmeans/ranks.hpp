// Functions that start a public k-means call (see execution/whole_call.hpp). They determine where the job runs and
// which rows this process has. If several ranks share the rows (Execution::communicator), they first check that all
// ranks have the same options.
#pragma once

#include <span>
#include <string>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// Returns the name of the call and its options, one per line. begin_on_ranks() compares this text.
std::string call_text(const char* call, const KMeansOptions& options);
template <class T>
std::string rows_text(const char* what, MatrixView<const T> rows);
std::string checkpoint_text(const KMeansCheckpoint& checkpoint);
std::string standardization_text(const KMeansStandardization& by);

enum class RunsVariant : bool { no, yes };

/// The place where a job runs, and the position of this rank's rows among all rows.
struct JobPlace {
  Execution here;
  core::RankRows rows;
};

/// Returns the place of the job on this rank, with the ranks' common stop token. Throws UsageError unless all ranks
/// pass the same `call` and the same number of columns. Throws UnsupportedError if an array is on a GPU other than this
/// rank's, if the requested variant does not run on ranks, or if a GPU is requested for a call that uses no variant.
/// Throws InputError if no rank has a row.
template <class T>
JobPlace begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, std::span<const execution::NamedPlace> places,
                        const std::string& call, const Execution& execution, RunsVariant runs_variant);

/// Returns the place of a job with or without other ranks. In a single process, the job runs where the points are.
/// `call()` must return the text that the ranks compare. It is called only if there are several ranks.
template <class T, class Call>
JobPlace place_of_job(core::Ranks& ranks, MatrixView<const T> points, std::span<const execution::NamedPlace> places,
                      const Call& call, const Execution& execution, RunsVariant runs_variant) {
  if (ranks.is_alone())
    return {execution::run_on_gpu_of(points.place(), "points", execution), core::RankRows(points.rows())};
  return begin_on_ranks(ranks, points, places, call(), execution, runs_variant);
}

/// Returns a description of this machine for automatic choices. It has only this rank's share of the GPU memory.
execution::Machine machine_of_rank(const Execution& execution);

/// Returns this rank's weights. They are empty if no rank has weights. Throws InputError if some ranks with rows have
/// weights and others have none.
template <class T>
VectorView<const T> weights_of_rank(core::Ranks& ranks, MatrixView<const T> points, VectorView<const T> weights);

}  // namespace gradus::kmeans_detail
