// Tests every variant on every case. A new row is tested automatically.
#include "skeleton/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::skeleton_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::skeleton_detail
