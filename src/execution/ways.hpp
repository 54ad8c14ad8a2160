// The ways in which a variant is run on a case that verifies it.
#pragma once

#include <string>
#include <vector>

#include "core/registry.hpp"
#include "gradus/execution.hpp"

namespace gradus::execution {

struct Way {
  Execution execution;
  std::string text;  ///< what is special about it
};

/// With each number of threads, or on a GPU with several block sizes.
std::vector<Way> ways_to_run(const core::VariantInfo& variant, const std::vector<int>& threads);

}  // namespace gradus::execution
