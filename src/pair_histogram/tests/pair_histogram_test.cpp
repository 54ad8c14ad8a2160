// Every variant of the table, on every case, in both types, against the oracle: a new row is tested by its row alone.
#include "pair_histogram/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::pair_histogram_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::pair_histogram_detail
