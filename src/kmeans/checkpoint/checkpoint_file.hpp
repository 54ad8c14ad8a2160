// Reads and writes the progress of a job (KMeansCheckpoint).
//
// Arrays of the file:
// * `job`: text with one line per option, and hashes of the rows
// * `progress`: the number of the current fit, the number of the best fit so far, and how the best fit ended
// * if the current fit has made iterations: `centroids`, `before` (the previous centroids), `history` and `changed`
// * if the current fit is still choosing first centroids: `chosen`, and for k-means|| also `sample` and `rounds`
// * for the best fit: `best_centroids`, its history and its inertia
// * if moves have begun to improve the best fit: `moves` (their number, the breadth and the closed clusters) and
//   `move_seconds`
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/file_state.hpp"
#include "core/npz.hpp"
#include "core/phases.hpp"
#include "kmeans/checkpoint/move_state.hpp"
#include "kmeans/checkpoint/seeding_state.hpp"
#include "kmeans/lloyd/checkpoints.hpp"
#include "kmeans/points/point_rows.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct JobState {
  int restart = 0;  ///< number of the current fit; if all fits are done, the number of restarts

  /// The choice of first centroids so far, if the current fit has not completed this choice.
  std::optional<SeedingState> seeding;
  /// The state after some iterations. If it and `seeding` are empty, the current fit has not started.
  std::optional<FitState<T>> fit;
  /// The best of the earlier fits, without its labels and counts. They are computed again.
  std::optional<KMeansResult<T>> best;
  /// The moves after all fits; `best` is the best clustering so far.
  MoveState moves;
};

/// Returns the text that identifies the job. It contains the lines of `call` (see call_text()) and hashes of the rows
/// in the views.
template <class T>
std::string job_text(const std::string& call, const PointRows<T>& points, VectorView<const T> weights,
                     MatrixView<const T> given, const Execution& execution, const core::RankRows& all_rows);

/// Returns the state in the file, or nothing if there is no file. Throws InputError if the file belongs to another job.
template <class T>
std::optional<JobState<T>> read_checkpoint(const KMeansOptions& options, const std::string& job, std::int64_t columns,
                                           core::Ranks& ranks);

/// Throws InputError if `path` exists and is not a regular file. If `resumes` is false, the first checkpoint replaces
/// the file, so the function also throws InputError if the file is not a checkpoint.
void require_no_other_file(const std::string& path, bool resumes);

/// Returns the host memory that checkpoints need in addition to the fit.
std::uint64_t checkpoint_bytes(std::uint64_t centroid_bytes);

/// The files that are mapped where a job reads its input. The hashes in job_text() describe the content at the start,
/// but a job reads its points in every iteration, so a checkpoint is valid only while the files do not change.
class MappedInputs {
 public:
  MappedInputs() = default;
  /// Stores the state of the files that are mapped at the addresses. The addresses may be null.
  explicit MappedInputs(std::initializer_list<const void*> addresses);

  /// Throws InputError if a file has changed.
  void require_unchanged() const;

 private:
  std::vector<std::pair<std::string, core::FileState>> files_;
};

template <class T>
class CheckpointFile final : public Checkpoints<T>, public SeedingCheckpoints {
 public:
  /// Throws Error if the file cannot be written, or if its file system has too little space.
  CheckpointFile(const KMeansCheckpoint& options, std::string job, const MappedInputs& inputs, std::int64_t k,
                 std::int64_t d);
  ~CheckpointFile() override;

  /// Sets the current fit and the best earlier fit. `restart` is the number of the current fit, or the number of
  /// restarts if all fits are done. `best` may be null; otherwise it must stay valid until the next call. `has_begun`
  /// is true if the file already holds iterations of the current fit.
  void begin_fit(int restart, const KMeansResult<T>* best, bool has_begun = false) {
    restart_ = restart;
    best_ = best;
    has_begun_ = has_begun;
    seeding = {};
  }
  /// Returns true if a checkpoint should be written before the next fit starts.
  bool is_due_between_fits() const { return options_.iterations > 0 || is_due(); }

  bool is_due(int iterations) const override;
  int steps_to_make(int iterations) const override;
  void write(const FitView<T>& fit) override;
  bool is_due() const override;
  void write_seeding() override;  ///< writes even if no row is chosen yet

  /// Writes the best clustering so far, after all fits.
  void write_moves(const MoveState& moves);
  /// After a stop request, writes the rows that have been chosen so far. Does nothing if the state in the file is
  /// later.
  void write_what_is_chosen();
  /// Waits until the file is on disk.
  void wait();

 private:
  core::NpzContent begin() const;
  void start(core::NpzContent content);
  void write_content() noexcept;

  const KMeansCheckpoint& options_;
  std::string job_;
  MappedInputs inputs_;
  int restart_ = 0;
  const KMeansResult<T>* best_ = nullptr;
  bool has_begun_ = false;
  core::Clock::time_point last_ = core::Clock::now();
  core::NpzContent content_;      ///< only the writer thread uses content_ and failure_ while it runs
  std::string failure_;           ///< the error message of the writer thread
  std::string reported_failure_;  ///< the last message reported to the caller
  std::thread writer_;
};

}  // namespace gradus::kmeans_detail
