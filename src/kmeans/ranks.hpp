// How a public call of k-means (see execution/whole_call.hpp) begins where its rows are split over ranks
// (Execution::communicator): they make sure that all of them have the same options, learn how many rows there are, and
// agree on where it runs. Without ranks (null) all of this is nothing.
#pragma once

#include <span>
#include <string>

#include "core/ranks.hpp"
#include "execution/request.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/seeding/known_rows.hpp"

namespace gradus::kmeans_detail {

/// The call and its options, a line for each, for begin_on_ranks().
std::string call_text(const char* call, const KMeansOptions& options);
template <class T>
std::string rows_text(const char* what, MatrixView<const T> rows);
std::string checkpoint_text(const KMeansCheckpoint& checkpoint);

enum class RunsVariant : bool { no, yes };

/// How the job runs on this rank, with the ranks' stop token. UsageError unless all ranks have the same `call` and
/// number of columns; UnsupportedError where one of the places is a GPU's, or a variant is asked for that does not
/// run on ranks, or a GPU for a call that runs no variant. Afterwards the ranks know all rows, of which there is one at
/// least (InputError).
template <class T>
Execution begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, std::span<const execution::NamedPlace> places,
                         const std::string& call, const Execution& execution, RunsVariant runs_variant);
template <class T>
Execution begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points,
                         std::initializer_list<execution::NamedPlace> places, const std::string& call,
                         const Execution& execution, RunsVariant runs_variant) {
  return begin_on_ranks(ranks, points, std::span(places.begin(), places.size()), call, execution, runs_variant);
}

/// This machine, with a rank's share of its GPUs' memory: for a choice of the library's.
execution::Machine machine_of_rank(const Execution& execution);

/// This rank's weights: none where no rank has any. InputError where one that has rows has no weights, but others do.
template <class T>
VectorView<const T> weights_of_rank(core::Ranks* ranks, MatrixView<const T> points, VectorView<const T> weights);

/// Whether work() says so on any rank.
template <class Work>
bool any_rank(core::Ranks& ranks, const Work& work) {
  return ranks.sum(1, [&](std::span<std::uint64_t> words) { words[0] = work() ? 1 : 0; })[0] > 0;
}

/// What find() returns a reference to; where it fails on any rank, it fails on all.
template <class Find>
auto& found_on_ranks(core::Ranks* ranks, const Find& find) {
  if (ranks == nullptr) return find();
  std::remove_reference_t<decltype(find())>* found = nullptr;
  ranks->agree([&] { found = &find(); });
  return *found;
}

}  // namespace gradus::kmeans_detail
