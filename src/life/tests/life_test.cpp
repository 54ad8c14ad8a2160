// Every variant of the table, on every case, against the oracle: a new row is tested by its row alone.
#include "life/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::life_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::life_detail
