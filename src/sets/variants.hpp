// Every variant's entry point, for the table in variants.cpp.
#pragma once

#include "sets/problem.hpp"

namespace gradus::sets_detail {

#define GRADUS_SET(name) Outcome name(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
GRADUS_SET(sequential)
GRADUS_SET(coarse_list)
GRADUS_SET(fine_list)
GRADUS_SET(optimistic_list_epoch)
GRADUS_SET(optimistic_list_hazard_pointers)
GRADUS_SET(optimistic_list_leak)
GRADUS_SET(lazy_list_epoch)
GRADUS_SET(lazy_list_hazard_pointers)
GRADUS_SET(lazy_list_leak)
GRADUS_SET(lock_free_list_epoch)
GRADUS_SET(lock_free_list_hazard_pointers)
GRADUS_SET(lock_free_list_leak)
GRADUS_SET(skip_list_epoch)
GRADUS_SET(skip_list_hazard_pointers)
GRADUS_SET(skip_list_leak)
GRADUS_SET(split_ordered_epoch)
GRADUS_SET(split_ordered_hazard_pointers)
GRADUS_SET(split_ordered_leak)
#undef GRADUS_SET

}  // namespace gradus::sets_detail
