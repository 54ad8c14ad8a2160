// THE table of the concurrent sets, in the order in which one idea follows from another.
#include "sets/variants.hpp"

#include "core/text.hpp"

namespace gradus::sets_detail {

namespace {

/// Operations on a list take a step for every second key.
Support lists(const Shape& shape, const execution::Machine&) {
  constexpr std::int64_t most = 1 << 18;
  if (shape.range <= most) return Support::yes();
  return Support::no("a list of " + std::to_string(shape.range / 2) +
                     " keys takes as many steps for each operation; a skip "
                     "list or a hash set takes few");
}

constexpr core::Contract invariants{.kind = core::Contract::invariants};

/// For any number of keys.
constexpr Variant large(std::string_view name, std::string_view summary, core::Run<Room, void> run) {
  return {.name = name,
          .summary = summary,
          .contract = invariants,
          .backend = core::Backend::openmp,
          .deterministic = false,
          .run = {run}};
}
constexpr Variant list(std::string_view name, std::string_view summary, core::Run<Room, void> run) {
  Variant row = large(name, summary, run);
  row.supports = lists;
  return row;
}

constexpr Variant table[] = {
    {.name = "sequential",
     .summary = "the textbook's sorted list, for one thread",
     .contract = invariants,
     .backend = core::Backend::sequential,
     .supports = lists,
     .run = {sequential}},
    list("coarse_list", "one lock around the list", coarse_list),
    list("fine_list", "a lock in each node, taken hand over hand", fine_list),
    list("optimistic_list_epoch", "walk without locks, lock two nodes, walk again to be sure", optimistic_list<epoch>),
    list("optimistic_list_hazard_pointers", "the same; nodes that a thread looks at are published",
         optimistic_list<hazard_pointers>),
    list("optimistic_list_leak", "the same; removed nodes are kept to the end", optimistic_list<leak>),
    list("lazy_list_epoch", "removed nodes are marked first: look-ups take no locks, changes walk once",
         lazy_list<epoch>),
    list("lazy_list_hazard_pointers", "the same; nodes that a thread looks at are published",
         lazy_list<hazard_pointers>),
    list("lazy_list_leak", "the same; removed nodes are kept to the end", lazy_list<leak>),
    list("lock_free_list_epoch", "no locks: the mark is set by one atomic operation, whoever comes by takes nodes out",
         lock_free_list<epoch>),
    list("lock_free_list_hazard_pointers", "the same; nodes that a thread looks at are published",
         lock_free_list<hazard_pointers>),
    list("lock_free_list_leak", "the same; removed nodes are kept to the end", lock_free_list<leak>),
    large("skip_list_epoch", "express lanes over the lock-free list: O(log n) steps", skip_list<epoch>),
    large("skip_list_hazard_pointers", "the same; nodes that a thread looks at are published",
          skip_list<hazard_pointers>),
    large("skip_list_leak", "the same; removed nodes are kept to the end", skip_list<leak>),
    large("split_ordered_epoch",
          "a lock-free hash set: one list in the order of reversed hashes, a door for each bucket",
          split_ordered<epoch>),
    large("split_ordered_hazard_pointers", "the same; nodes that a thread looks at are published",
          split_ordered<hazard_pointers>),
    large("split_ordered_leak", "the same; removed nodes are kept to the end", split_ordered<leak>),
};

}  // namespace

std::span<const Variant> variants() { return table; }

constinit const core::Ladder ladder{
    .problem = Room::name,
    .variants = [] { return std::vector<core::VariantInfo>(variants().begin(), variants().end()); },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          return core::find_variant(variants(), name, Room::name).supports(Shape{}, machine);
        },
};

}  // namespace gradus::sets_detail
