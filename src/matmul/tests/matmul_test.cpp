// Every variant of the table, on every case, in all types, against the oracle: a new row is tested by its row alone.
#include "matmul/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::matmul_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::matmul_detail
