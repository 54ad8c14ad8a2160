#include "execution/ladders.hpp"

#include <vector>

#include "core/names.hpp"
#include "core/text.hpp"
#include "execution/machine.hpp"
#include "gradus/variants.hpp"

// Declares each room's ladder, which the room defines. cmake/rooms.cmake finds the rooms.
#define GRADUS_PROBLEM(problem)       \
  namespace gradus {                  \
  namespace problem##_detail {        \
    extern const core::Ladder ladder; \
  }                                   \
  }
#include "problems.inc"
#undef GRADUS_PROBLEM

namespace gradus {

namespace {

constexpr const core::Ladder* table[] = {
#define GRADUS_PROBLEM(problem) &problem##_detail::ladder,
#include "problems.inc"
#undef GRADUS_PROBLEM
};

}  // namespace

namespace execution {

std::span<const core::Ladder* const> ladders() { return table; }

const core::Ladder& find_ladder(std::string_view problem) {
  const std::string wanted = core::with_underscores(problem);
  std::vector<std::string_view> names;
  for (const core::Ladder* ladder : table) {
    if (ladder->problem == wanted) return *ladder;
    names.push_back(ladder->problem);
  }
  throw UsageError("there is no problem " + core::excerpt(problem) + core::did_you_mean(wanted, names) +
                   "; 'gradus list' shows all of them");
}

}  // namespace execution

std::vector<std::string_view> problems() {
  std::vector<std::string_view> names;
  for (const core::Ladder* ladder : table) names.push_back(ladder->problem);
  return names;
}

std::vector<VariantRow> variants(std::string_view problem) {
  const core::Ladder& ladder = execution::find_ladder(problem);
  std::vector<VariantRow> rows;
  for (const core::VariantInfo& variant : ladder.variants()) {
    core::Support support = ladder.support(variant.name, execution::this_machine());
    rows.push_back({variant.name, variant.summary, variant.backend, core::text(variant.contract), support.supported,
                    std::move(support.reason)});
  }
  return rows;
}

}  // namespace gradus
