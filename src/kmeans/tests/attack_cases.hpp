// The generator of difficult inputs for k-means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kmeans/tests/job.hpp"
#include "tests/attack/random.hpp"

namespace gradus::attack {

template <class T>
struct KMeansCase {
  std::string kind;           ///< a description of the case, for the report
  bool tame = false;          ///< true if the case is also for variants whose contract is a tolerance
  bool has_reference = true;  ///< false if the initial centroids depend on the library's random numbers
  Rows<T> points;
  std::vector<T> weights;   ///< one weight per point; empty if the case has no weights
  Rows<T> centroids;        ///< used if options.init is `given`
  Rows<T> queries;          ///< points for predictions and transformations
  std::int64_t room = 0;    ///< number of unused elements between consecutive rows
  bool own_labels = false;  ///< true if labels are written to the caller's memory
  KMeansJob<T> options;     ///< the options, without views
};

/// Returns case number `number` of the sequence that `seed` determines.
template <class T>
KMeansCase<T> make_kmeans_case(std::uint64_t seed, std::uint64_t number);

}  // namespace gradus::attack
