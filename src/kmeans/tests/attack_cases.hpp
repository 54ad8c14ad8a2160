// Difficult inputs of k-means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kmeans/tests/job.hpp"
#include "tests/attack/random.hpp"

namespace gradus::attack {

template <class T>
struct KMeansCase {
  std::string kind;           ///< human-readable description
  bool tame = false;          ///< ordinary enough for variants whose contract is a tolerance
  bool has_reference = true;  ///< false: the initial centroids depend on the library's random numbers
  Rows<T> points;
  std::vector<T> weights;   ///< one per point, or none
  Rows<T> centroids;        ///< used if options.init is `given`
  Rows<T> queries;          ///< for predict and transform
  std::int64_t room = 0;    ///< elements between rows
  bool own_labels = false;  ///< true if labels go to the caller's memory
  KMeansJob<T> options;     ///< without its views
};

/// Returns case `number` of `seed`.
template <class T>
KMeansCase<T> make_kmeans_case(std::uint64_t seed, std::uint64_t number);

}  // namespace gradus::attack
