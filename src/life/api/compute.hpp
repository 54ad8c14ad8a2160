// Computes the result from checked cells.
#pragma once

#include "execution/report.hpp"
#include "life/problem.hpp"
#include "life/tree.hpp"

namespace gradus::life_detail {

/// The cells of a call.
struct CellInput {
  LifeGridView cells = {};
  const LifeTree* tree = nullptr;  ///< replaces `cells`; its centre is at LifeOptions::left and top
};

/// Performs the steps of life() after `check`.
LifeResult compute(const CellInput& given, const LifeOptions& options, const LifeMemory& memory, Execution execution,
                   execution::Timing timing = {});

}  // namespace gradus::life_detail
