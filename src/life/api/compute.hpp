// Computes the result from checked cells.
#pragma once

#include "execution/report.hpp"
#include "life/problem.hpp"
#include "life/tree.hpp"

namespace gradus::life_detail {

struct Input {
  LifeGridView cells = {};
  /// If it is set, this tree replaces `cells`, and LifeOptions::left and LifeOptions::top are the place of its centre.
  const LifeTree* tree = nullptr;
};

/// Performs all steps of life() that follow check().
LifeResult compute(const Input& input, const LifeOptions& options, const LifeMemory& memory, Execution execution,
                   execution::Timing timing = {});

}  // namespace gradus::life_detail
