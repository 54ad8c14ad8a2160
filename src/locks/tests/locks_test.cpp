// Tests every lock of the table in every case. A new row is tested automatically.
#include "locks/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::locks_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::locks_detail
