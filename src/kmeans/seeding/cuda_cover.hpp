// The counterpart of Cover and FilteredCover on a GPU. Every step reads all points or, usually, their 8-bit copy.
//
// With several ranks, every rank copies the chosen and candidate rows of a call to its GPU. The GPUs take the steps of
// k-means++ together: by one kernel on each GPU if these can write to each other's memory, otherwise by sequences of
// kernels, between which the GPUs exchange rows and gains (execution/rank_sums.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/philox.hpp"
#include "cuda/pinned.hpp"
#include "cuda/portions.hpp"
#include "kmeans/points/gpu_points.hpp"
#include "kmeans/seeding/rank_cover.hpp"

namespace gradus::cuda {
template <class T>
struct DeviceRows;
}

namespace gradus::execution {
class RankSums;
}

namespace gradus::kmeans_detail {

template <class T>
struct CoverJob;
template <class T>
struct TrialJob;
struct TrialOutcome;
struct DeviceByteRows;
namespace rounds {
template <class T>
struct RoundJob;
}

template <class T>
class CudaCover final : public RankCover<T> {
 public:
  static constexpr std::int64_t most_candidates = 64;  ///< maximum number of candidates per call of gains()
  static constexpr std::int64_t most_added = 4096;     ///< number of rows after which add() waits for the GPU

  /// `points` must have rows on this rank. `first` is the row that is chosen first. `groups` is true if
  /// weights_of_chosen() will be called.
  CudaCover(const GpuPoints<T>& points, std::int64_t first, bool groups);
  ~CudaCover() override;

  /// Returns false if points have extreme magnitudes, if rows are very long, or if there are very many clusters.
  /// Collective: returns the same on all ranks.
  bool takes_steps(int trials) override;
  void take_steps(int trials, std::int64_t clusters, const core::Philox& random, std::uint64_t& draws,
                  std::vector<std::int64_t>& chosen) override;

 private:
  using Word = cuda::Job::Word;
  struct Bytes;
  struct Launch;
  struct RankSteps;
  struct InboxSteps;

  using RankCover<T>::chosen_, RankCover<T>::rank_rows, RankCover<T>::ranks;

  std::vector<std::int64_t> own_rows_at(std::span<const std::uint64_t> targets, Matrix<T>* copies) override;
  Matrix<T> own_copies(std::span<const std::int64_t> rows) const override;
  void keep(std::span<const std::int64_t> rows, Matrix<T> copies) override;
  bool keeps_on_gpu(std::int64_t count) const override;
  void keep_on_gpu(std::span<const std::int64_t> rows) override;
  std::vector<std::int64_t> own_sample(std::uint64_t wanted, const core::Philox& random, int round) override;
  std::vector<std::uint64_t> own_gains(std::span<const std::int64_t> candidates) override;
  void own_add(std::span<const std::int64_t> rows) override;
  std::vector<std::uint64_t> own_weights_of_chosen() const override;
  double own_largest() override;
  void own_requantize(const Quantizer& quantize) override;
  void own_refresh() override;
  std::uint64_t own_total() override;

  void start(const GpuPoints<T>& points, bool groups);
  void make_bytes();
  bool has_bytes();
  bool is_read_by_quads() const;
  void convert(const cuda::DeviceRows<T>& rows, const double* closest, const DeviceByteRows& to) const;
  const DeviceByteRows& bytes_of_others();
  void add_by_bytes(const std::int64_t* which, std::int64_t count);
  void find_gains_by_bytes(const std::int64_t* which, int count);
  bool add_by_kept_pairs(std::span<const std::int64_t> rows);
  std::int64_t most_blocks_of_steps() const;
  int unit_tiles_of_steps() const;
  int resident_tiles() const;
  Launch round_launch(const CoverJob<T>& job, int added) const;
  void launch_round(const Launch& launch, const rounds::RoundJob<T>& round) const;
  Launch trial_launch(const void* kernel, int trials, int parts) const;
  TrialJob<T> trial_job(int trials);
  void launch_steps(const void* kernel, const Launch& launch, TrialJob<T>& job) const;
  TrialOutcome outcome_of_steps(std::vector<std::int64_t>& chosen) const;
  bool takes_steps_on_all_gpus(int trials);
  void prepare_inboxes(execution::RankSums& sums, int trials);
  void take_steps_by_inboxes(int trials, std::int64_t steps, const core::Philox& random, std::uint64_t& draws,
                             std::vector<std::int64_t>& chosen);
  void take_steps_on_all_gpus(int trials, std::int64_t steps, const core::Philox& random, std::uint64_t& draws,
                              std::vector<std::int64_t>& chosen);
  void add_up_groups() const;
  void copy_own_rows(const Word* which, std::int64_t count, T* to) const;
  double largest_of(const CoverJob<T>& job);

  const cuda::Stream& stream() const { return gpu_->stream(); }
  unsigned int blocks(int per_multiprocessor) const;
  template <class Work>
  void in_portions(int count, const Work& launch);
  const std::int64_t* place(std::span<const std::int64_t> rows);
  void upload(std::span<const std::int64_t> rows);
  std::int64_t other_stride() const;
  void make_room_for_others(std::int64_t count);
  void use_others(std::span<const std::int64_t> rows);
  void number_others(std::int64_t count);

  std::shared_ptr<cuda::Job> gpu_;
  cuda::Portions portions_;
  int multiprocessors_;
  std::unique_ptr<CoverJob<T>> job_;
  cuda::DeviceBuffer<double> closest_;
  cuda::DeviceBuffer<std::int32_t> owners_;
  cuda::DeviceBuffer<Word> block_sums_;
  cuda::DeviceBuffer<Word> group_sums_;
  cuda::DeviceBuffer<Word> total_;
  cuda::DeviceBuffer<Word> targets_;
  cuda::DeviceBuffer<std::int64_t> which_;  ///< row numbers in job_->others; with several ranks, these count up from 0
  cuda::DeviceBuffer<Word> gains_;
  cuda::PinnedBuffer<Word> staged_;
  double largest_weight_ = 0;
  double largest_distance_ = 0;  ///< the largest squared distance to the first chosen row
  std::unique_ptr<Bytes> bytes_;
  bool may_have_bytes_;  ///< false without memory for the 8-bit copy, and after an attempt to make it
  double seconds_of_a_step_ = 1e-3;

  // With several ranks: the rows of all ranks that this rank has received.
  std::vector<std::int64_t> copied_;    ///< the numbers of the rows in copies_
  Matrix<T> copies_;                    ///< the rows that keep() has received
  std::vector<std::int64_t> placed_;    ///< the numbers of the rows in others_
  std::vector<std::int64_t> measured_;  ///< the candidates whose pairs are in Bytes::kept
  std::int64_t kept_pairs_ = 0;         ///< number of pairs in Bytes::kept
  cuda::DeviceBuffer<T> found_rows_;
  cuda::DeviceBuffer<T> others_;
  std::unique_ptr<RankSteps> rank_steps_;
  std::unique_ptr<InboxSteps> inbox_steps_;  ///< replaces rank_steps_ if the GPUs can write to each other's memory
  bool may_take_steps_ = true;  ///< false after the ranks have found that they cannot take steps on their GPUs
};

}  // namespace gradus::kmeans_detail
