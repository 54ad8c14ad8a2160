// Awkward inputs of pair-distance histograms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pair_histogram/tests/job.hpp"
#include "tests/attack/random.hpp"

namespace gradus::attack {

template <class T>
struct PairCase {
  std::string kind;
  Rows<T> points;
  std::int64_t columns = 1;
  bool cross = false;
  Rows<T> others;
  std::vector<T> weights;
  std::vector<T> other_weights;
  std::int64_t room = 0;        ///< number of unused elements between two rows
  PairHistogramJob<T> options;  ///< the views in `options` are empty
};

template <class T>
PairCase<T> make_pair_case(std::uint64_t seed, std::uint64_t number);

}  // namespace gradus::attack
