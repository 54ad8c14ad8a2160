// Every variant's entry point, for the table in variants.cpp.
#pragma once

#include "life/problem.hpp"

namespace gradus::life_detail {

Solved sequential(const Problem&, const Execution&, std::vector<Phase>&);
Solved openmp(const Problem&, const Execution&, std::vector<Phase>&);
Solved openmp_bytes(const Problem&, const Execution&, std::vector<Phase>&);
Solved bit_sliced(const Problem&, const Execution&, std::vector<Phase>&);
Solved openmp_bit_sliced(const Problem&, const Execution&, std::vector<Phase>&);
Solved openmp_temporal(const Problem&, const Execution&, std::vector<Phase>&);
Solved hashlife(const Problem&, const Execution&, std::vector<Phase>&);
Solved cuda_naive(const Problem&, const Execution&, std::vector<Phase>&);
Solved cuda_shared(const Problem&, const Execution&, std::vector<Phase>&);
Solved cuda_bit_sliced(const Problem&, const Execution&, std::vector<Phase>&);
Solved cuda_resident(const Problem&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::life_detail
