// How far a job has come, in a file and back: KMeansCheckpoint.
//
// The file's arrays: `job`, a text of a line for each option and a hash for the rows; `progress`, the number of the fit
// under way, that of the best one before, and how that ended; of the fit under way either `centroids`, those `before`
// and its `history` and `changed`, or, while its first centroids are chosen, `chosen`, and of k-means|| the `sample`
// and its `rounds`; of the best fit `best_centroids`, its history and its inertia.
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
  int restart = 0;                      ///< the fit under way; the number of restarts: none is any more
  std::optional<SeedingState> seeding;  ///< of that fit: what is chosen so far,
  std::optional<FitState<T>> fit;       ///< or what the iterations made of it; neither: it has not begun
  std::optional<KMeansResult<T>> best;  ///< of the fits before, without labels and counts, which follow from it
};

/// The lines that tell the job: those of `call` (see call_text()), and of points, weights and given centroids a hash.
/// These may lie on a GPU.
template <class T>
std::string job_text(const std::string& call, MatrixView<const T> points, VectorView<const T> weights,
                     MatrixView<const T> given, const Execution& execution, const core::RankRows& all_rows);

/// What the file holds; nothing where there is none. InputError where it does not hold a state of the job.
template <class T>
std::optional<JobState<T>> read_checkpoint(const KMeansOptions& options, const std::string& job, std::int64_t columns,
                                           core::Ranks& ranks);

/// InputError for what is there and is no file, and unless `resumes` for a file that is no checkpoint: the first one
/// would replace it.
void require_no_other_file(const std::string& path, bool resumes);

/// What it takes in host memory beside the fit.
std::uint64_t checkpoint_bytes(std::uint64_t centroid_bytes);

template <class T>
class CheckpointFile final : public Checkpoints<T>, public SeedingCheckpoints {
 public:
  /// Error where the file cannot be written, or its file system has no room for it.
  CheckpointFile(const KMeansCheckpoint& options, std::string job, std::int64_t k, std::int64_t d);
  ~CheckpointFile() override;

  /// The fit that is under way from now on, or the number of restarts, and the best one before it, or null. It is
  /// referred to. `has_begun`: the file holds iterations of it.
  void begin_fit(int restart, const KMeansResult<T>* best, bool has_begun = false) {
    restart_ = restart;
    best_ = best;
    has_begun_ = has_begun;
    seeding = {};
  }
  /// Before a fit, whether that is to be written.
  bool is_due_between_fits() const { return options_.iterations > 0 || is_due(); }

  bool is_due(int iterations) const override;
  int steps_to_make(int iterations) const override;
  void write(const FitView<T>& fit) override;
  bool is_due() const override;
  void write_seeding() override;  ///< also where nothing is chosen
  /// After a stop request: what is chosen, where the file does not hold more.
  void write_what_is_chosen();
  /// Until the file is on the disk.
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
  core::NpzContent content_;  ///< the writer's until it has ended, as is
  std::string failure_;       ///< what it failed by
  std::string told_;          ///< of that, what the caller has heard
  std::thread writer_;
};

}  // namespace gradus::kmeans_detail
