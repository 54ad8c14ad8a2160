// The rungs of the ladder, and THE table of them (variants.cpp).
#pragma once

#include <span>

#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result no_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result openmp_critical(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result pthread_mutex(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result std_mutex(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result pthread_spin(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result tas_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result ttas_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result ticket_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result array_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result clh_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result mcs_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result cna_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);
Result park_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases);

/// In the order of the ladder.
std::span<const Variant> variants();
/// The same for those who do not know the problem.
extern const core::Ladder ladder;

}  // namespace gradus::locks_detail
