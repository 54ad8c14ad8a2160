// Tests every variant of the table against the oracle, on every case and in all types.
#include "shortest_paths/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::shortest_paths_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::shortest_paths_detail
