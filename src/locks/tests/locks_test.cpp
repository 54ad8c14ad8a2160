// Every lock of the table in every case: a new row is tested by its row alone.
#include "locks/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::locks_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::locks_detail
