// Compares every variant in the table with the oracle, on every case and in both types.
#include "pair_histogram/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::pair_histogram_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::pair_histogram_detail
