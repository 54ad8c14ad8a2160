// The GPU counterpart of Cover and FilteredCover. Every step reads every point, usually its 8-bit copy.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/philox.hpp"
#include "cuda/pinned.hpp"
#include "cuda/portions.hpp"
#include "kmeans/points/gpu_points.hpp"
#include "kmeans/seeding/seeding_cover.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct CoverJob;

template <class T>
class CudaCover final : public SeedingCover {
 public:
  static constexpr std::int64_t most_candidates = 64;  ///< the largest number of candidates in one call of gains()
  static constexpr std::int64_t most_added = 4096;     ///< number of rows after which add() waits for the GPU

  /// `first`: the row chosen first. `groups`: true if weights_of_chosen() will be called.
  CudaCover(const GpuPoints<T>& points, std::int64_t first, bool groups);
  ~CudaCover() override;

  std::uint64_t total() const override { return host_total_; }
  const std::vector<std::int64_t>& chosen() const override { return chosen_; }
  std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) override;
  std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) override;
  std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) override;
  void add(std::span<const std::int64_t> rows) override;
  std::vector<std::uint64_t> weights_of_chosen() const override;
  /// Returns false for points of extreme magnitude, for very long rows, and for very many clusters.
  bool takes_steps(int trials) override;
  void take_steps(int trials, std::int64_t clusters, const core::Philox& random, std::uint64_t& draws,
                  std::vector<std::int64_t>& chosen) override;

 private:
  using Word = cuda::Job::Word;
  struct Bytes;

  void make_bytes();
  bool has_bytes();
  bool is_read_by_quads() const;
  void add_some(std::span<const std::int64_t> rows);
  void add_by_bytes(std::int64_t count);
  std::int64_t most_blocks_of_steps() const;
  int unit_tiles_of_steps() const;
  double largest_of(const CoverJob<T>& job);

  const cuda::Stream& stream() const { return gpu_->stream(); }
  unsigned int blocks(int per_multiprocessor) const;
  template <class Launch>
  void in_portions(int count, const Launch& launch) const;
  void put(std::span<const std::int64_t> rows) const;
  void refresh();
  void rescale();

  std::shared_ptr<cuda::Job> gpu_;
  mutable cuda::Portions portions_;
  int multiprocessors_;
  std::unique_ptr<CoverJob<T>> job_;
  cuda::DeviceBuffer<double> closest_;
  cuda::DeviceBuffer<std::int32_t> owners_;
  cuda::DeviceBuffer<Word> block_sums_;
  cuda::DeviceBuffer<Word> group_sums_;
  cuda::DeviceBuffer<Word> total_;
  mutable cuda::DeviceBuffer<Word> targets_;
  mutable cuda::DeviceBuffer<std::int64_t> which_;
  mutable cuda::DeviceBuffer<Word> gains_;
  mutable cuda::PinnedBuffer<Word> staged_;
  std::uint64_t host_total_ = 0;
  std::uint64_t total_at_rescale_ = 0;
  std::vector<std::int64_t> chosen_;
  double largest_weight_ = 0;
  double largest_distance_ = 0;  ///< the largest squared distance to the first chosen row
  std::unique_ptr<Bytes> bytes_;
  double seconds_of_a_step_ = 1e-3;
};

}  // namespace gradus::kmeans_detail
