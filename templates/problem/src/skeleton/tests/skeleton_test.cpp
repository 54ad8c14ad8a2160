// Every variant on every case: a new row is tested by its row alone.
#include "skeleton/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::skeleton_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::skeleton_detail
