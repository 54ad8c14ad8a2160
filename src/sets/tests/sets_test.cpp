// Tests every set of the table on every case.
#include "sets/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::sets_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::sets_detail
