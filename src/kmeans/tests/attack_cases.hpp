// Awkward inputs of k-means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kmeans/tests/job.hpp"
#include "tests/attack/random.hpp"

namespace gradus::attack {

template <class T>
struct KMeansCase {
  std::string kind;           ///< what it is made of, human-readable
  bool tame = false;          ///< ordinary enough for variants whose contract is a tolerance
  bool has_reference = true;  ///< false: the first centroids come from the library's random numbers
  Rows<T> points;
  std::vector<T> weights;   ///< one for each point, or none
  Rows<T> centroids;        ///< where options.init is `given`
  Rows<T> queries;          ///< for predict and transform
  std::int64_t room = 0;    ///< elements between two rows
  bool own_labels = false;  ///< labels go to memory of the caller's
  KMeansJob<T> options;     ///< without its views
};

/// Case `number` of `seed`.
template <class T>
KMeansCase<T> make_kmeans_case(std::uint64_t seed, std::uint64_t number);

}  // namespace gradus::attack
