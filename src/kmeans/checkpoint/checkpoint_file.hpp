// Reads and writes the progress of a job (KMeansCheckpoint).
//
// Arrays of the file:
// * `job`: text with one line per option, and hashes of the rows
// * `progress`: number of the current fit, number of the best fit so far, and how the best fit ended
// * iterations of the current fit: `centroids`, the centroids `before`, `history` and `changed`
// * or its first centroids so far: `chosen`, and for k-means|| also `sample` and `rounds`
// * of the best fit: `best_centroids`, its history and its inertia
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/npz.hpp"
#include "core/phases.hpp"
#include "kmeans/checkpoint/seeding_state.hpp"
#include "kmeans/lloyd/checkpoints.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct JobState {
  int restart = 0;                      ///< the current fit; equals the number of restarts if all are done
  std::optional<SeedingState> seeding;  ///< first centroids chosen so far in the current fit
  std::optional<FitState<T>> fit;       ///< or its state after some iterations; neither: it has not begun
  std::optional<KMeansResult<T>> best;  ///< best earlier fit, without the labels and counts that follow from it
};

/// Returns the text that identifies the job: the lines of `call` (see call_text()) and hashes of the views.
template <class T>
std::string job_text(const std::string& call, MatrixView<const T> points, VectorView<const T> weights,
                     MatrixView<const T> given, const Execution& execution, const core::RankRows& all_rows);

/// Returns the state in the file, or nothing if there is no file. Throws InputError if the state is not of this job.
template <class T>
std::optional<JobState<T>> read_checkpoint(const KMeansOptions& options, const std::string& job, std::int64_t columns,
                                           core::Ranks& ranks);

/// Throws InputError if `path` exists and is not a regular file or, unless `resumes`, is a file other than a
/// checkpoint, because the first checkpoint would replace it.
void require_no_other_file(const std::string& path, bool resumes);

/// Returns the host memory that checkpoints need in addition to the fit.
std::uint64_t checkpoint_bytes(std::uint64_t centroid_bytes);

template <class T>
class CheckpointFile final : public Checkpoints<T>, public SeedingCheckpoints {
 public:
  /// Throws Error if the file cannot be written or its file system has no room for it.
  CheckpointFile(const KMeansCheckpoint& options, std::string job, std::int64_t k, std::int64_t d);
  ~CheckpointFile() override;

  /// Sets the current fit (or the number of restarts, if all are done) and the best earlier fit, or null. `best` must
  /// outlive its use. `has_begun`: the file already holds iterations of the current fit.
  void begin_fit(int restart, const KMeansResult<T>* best, bool has_begun = false) {
    restart_ = restart;
    best_ = best;
    has_begun_ = has_begun;
    seeding = {};
  }
  /// Returns true if a checkpoint is due before a fit starts.
  bool is_due_between_fits() const { return options_.iterations > 0 || is_due(); }

  bool is_due(int iterations) const override;
  int steps_to_make(int iterations) const override;
  void write(const FitView<T>& fit) override;
  bool is_due() const override;
  void write_seeding() override;  ///< also if nothing is chosen yet
  /// Writes the chosen rows after a stop request, unless the file already holds more.
  void write_what_is_chosen();
  /// Waits until the file is on disk.
  void wait();

 private:
  core::NpzContent begin() const;
  void start(core::NpzContent content);
  void write_content() noexcept;

  const KMeansCheckpoint& options_;
  std::string job_;
  int restart_ = 0;
  const KMeansResult<T>* best_ = nullptr;
  bool has_begun_ = false;
  core::Clock::time_point last_ = core::Clock::now();
  core::NpzContent content_;      ///< owned by the writer thread until it ends, like failure_
  std::string failure_;           ///< the writer's error message
  std::string reported_failure_;  ///< the last message reported to the caller
  std::thread writer_;
};

}  // namespace gradus::kmeans_detail
