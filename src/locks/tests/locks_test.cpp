// Tests every lock of the table on every case. New rows are tested automatically.
#include "locks/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::locks_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::locks_detail
