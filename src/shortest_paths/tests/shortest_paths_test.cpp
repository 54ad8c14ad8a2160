// Every variant of the table, on every case, in all types, against the oracle: a new row is tested by its row alone.
#include "shortest_paths/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::shortest_paths_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

}  // namespace
}  // namespace gradus::shortest_paths_detail
