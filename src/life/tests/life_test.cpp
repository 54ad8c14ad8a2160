// Tests every variant of the table on every case against the oracle. A new row needs no further test.
#include "life/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::life_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::life_detail
