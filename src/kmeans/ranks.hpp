// How a public call of k-means (see execution/whole_call.hpp) begins: where it runs, and which of all rows this process
// has. Ranks, over which rows are split (Execution::communicator), first make sure that all of them have the same
// options.
#pragma once

#include <span>
#include <string>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// The call and its options, a line for each, for begin_on_ranks().
std::string call_text(const char* call, const KMeansOptions& options);
template <class T>
std::string rows_text(const char* what, MatrixView<const T> rows);
std::string checkpoint_text(const KMeansCheckpoint& checkpoint);
std::string standardization_text(const KMeansStandardization& by);

enum class RunsVariant : bool { no, yes };

/// The place where a job runs, and the rows of this rank among all.
struct JobPlace {
  Execution here;
  core::RankRows rows;
};

/// How the job runs on this rank, with the ranks' stop token. UsageError unless all ranks have the same `call` and
/// number of columns; UnsupportedError where one of the places is a GPU's, or a variant is asked for that does not
/// run on ranks, or a GPU for a call that runs no variant. The ranks have one row at least (InputError).
template <class T>
JobPlace begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, std::span<const execution::NamedPlace> places,
                        const std::string& call, const Execution& execution, RunsVariant runs_variant);

/// The same of any job: a process that is alone runs where its points are. `call`: makes the text.
template <class T, class Call>
JobPlace place_of_job(core::Ranks& ranks, MatrixView<const T> points, std::span<const execution::NamedPlace> places,
                      const Call& call, const Execution& execution, RunsVariant runs_variant) {
  if (ranks.is_alone())
    return {execution::run_on_gpu_of(points.place(), "points", execution), core::RankRows(points.rows())};
  return begin_on_ranks(ranks, points, places, call(), execution, runs_variant);
}

/// This machine, with a rank's share of its GPUs' memory: for a choice of the library's.
execution::Machine machine_of_rank(const Execution& execution);

/// This rank's weights: none where no rank has any. InputError where one that has rows has no weights, but others do.
template <class T>
VectorView<const T> weights_of_rank(core::Ranks& ranks, MatrixView<const T> points, VectorView<const T> weights);

}  // namespace gradus::kmeans_detail
