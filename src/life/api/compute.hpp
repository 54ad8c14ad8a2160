// From checked cells to the result.
#pragma once

#include "execution/report.hpp"
#include "life/problem.hpp"
#include "life/tree.hpp"

namespace gradus::life_detail {

/// Cells of a call.
struct Given {
  LifeGridView cells = {};
  const LifeTree* tree = nullptr;  ///< instead of the cells; its middle is at LifeOptions::left and top
};

/// Takes the steps of life() after `check`.
LifeResult compute(const Given& given, const LifeOptions& options, const LifeMemory& memory, Execution execution,
                   execution::Timing timing = {});

}  // namespace gradus::life_detail
