// Compares every variant in the table with the oracle, on every case and in all types.
#include "matmul/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::matmul_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::matmul_detail
