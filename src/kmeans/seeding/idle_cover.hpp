// The cover of a rank without rows. It has no distances, and only takes part in the exchanges between the ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kmeans/seeding/potential.hpp"

namespace gradus::kmeans_detail {

template <class T>
class IdleCover final : public Potential<T> {
 public:
  /// `candidates_of_a_call` is the maximum number of candidates per call, as on the ranks that have rows.
  IdleCover(const PointRows<T>& points, VectorView<const T> weights, std::int64_t first,
            std::int64_t candidates_of_a_call, const std::stop_token& stop, const core::RankRows& rows)
      : Potential<T>(points, weights, first, 1, stop, candidates_of_a_call, rows) {
    this->begin([] {});
  }

 protected:
  std::vector<std::uint64_t> own_gains(std::span<const std::int64_t> candidates) override {
    return std::vector<std::uint64_t>(candidates.size());
  }
  void own_add(std::span<const std::int64_t> /*rows*/) override {}
  std::vector<std::uint64_t> own_weights_of_chosen() const override {
    return std::vector<std::uint64_t>(this->chosen_.size());
  }
};

}  // namespace gradus::kmeans_detail
