// THE table of locks, in the order of the ladder.
#include "locks/variants.hpp"

#include <pthread.h>

#include <mutex>

#include "gradus/locks.hpp"

namespace gradus::locks_detail {

namespace {

using core::Backend;
using core::Contract;
using core::Support;

constexpr Contract checked{.kind = Contract::invariants, .of = "mutual exclusion"};
constexpr Contract unsafe{.kind = Contract::invariants, .of = "nothing: updates are lost"};

Support in_all_manners(const Shape&, const execution::Machine&) { return Support::yes(); }

Support but_not_timed(const Shape& shape, const execution::Machine&) {
  return shape.manner == Manner::timed ? Support::no("it has no try_lock_for()") : Support::yes();
}

Support only_plainly(const Shape& shape, const execution::Machine&) {
  if (shape.manner == Manner::lock || shape.manner == Manner::delays) return Support::yes();
  return Support::no("it is no object with lock(), try_lock() and unlock() that exclude each other");
}

constexpr Variant table[] = {
    {.name = "no_lock",
     .summary = "no lock at all: threads overwrite each other's updates",
     .contract = unsafe,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = only_plainly,
     .facts = {.excludes = false},
     .run = {no_lock}},
    {.name = "openmp_critical",
     .summary = "OpenMP's critical construct",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = only_plainly,
     .facts = {},
     .run = {openmp_critical}},
    {.name = "pthread_mutex",
     .summary = "the mutex of POSIX threads",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = but_not_timed,
     .facts = {.bytes = sizeof(pthread_mutex_t)},
     .run = {pthread_mutex}},
    {.name = "std_mutex",
     .summary = "the standard library's mutex",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = but_not_timed,
     .facts = {.bytes = sizeof(std::mutex)},
     .run = {std_mutex}},
    {.name = "pthread_spin",
     .summary = "the spin lock of POSIX threads",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = but_not_timed,
     .facts = {.bytes = sizeof(pthread_spinlock_t)},
     .run = {pthread_spin}},
    {.name = "tas_lock",
     .summary = "test and set one flag until it was free",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = in_all_manners,
     .facts = {.bytes = sizeof(gradus::tas_lock)},
     .run = {tas_lock}},
    {.name = "ttas_lock",
     .summary = "look first, then set the flag; rest twice as long from look to look",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = in_all_manners,
     .facts = {.bytes = sizeof(gradus::ttas_lock)},
     .run = {ttas_lock}},
    {.name = "ticket_lock",
     .summary = "draw a number and wait until it is called",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = but_not_timed,
     .facts = {.in_order = true, .bytes = sizeof(gradus::ticket_lock)},
     .run = {ticket_lock}},
    {.name = "array_lock",
     .summary = "tickets, each called at a cache line of its own",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = but_not_timed,
     .facts = {.in_order = true, .bytes = sizeof(gradus::array_lock)},
     .run = {array_lock}},
    {.name = "clh_lock",
     .summary = "a queue in which each thread watches the one before it",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = but_not_timed,
     .facts = {.in_order = true, .bytes = sizeof(gradus::clh_lock)},
     .run = {clh_lock}},
    {.name = "mcs_lock",
     .summary = "a queue in which each thread knows the next",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = but_not_timed,
     .facts = {.in_order = true, .bytes = sizeof(gradus::mcs_lock)},
     .run = {mcs_lock}},
    {.name = "cna_lock",
     .summary = "the same queue, threads near the holder's memory first, within bounds",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = but_not_timed,
     .facts = {.bytes = sizeof(gradus::cna_lock)},
     .run = {cna_lock}},
    {.name = "park_lock",
     .summary = "look for some microseconds, then sleep",
     .contract = checked,
     .backend = Backend::openmp,
     .deterministic = false,
     .supports = in_all_manners,
     .facts = {.bytes = sizeof(gradus::park_lock)},
     .run = {park_lock}},
};

}  // namespace

std::span<const Variant> variants() { return table; }

constinit const core::Ladder ladder{
    .problem = Room::name,
    .variants = [] { return std::vector<core::VariantInfo>(variants().begin(), variants().end()); },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          constexpr Shape usual[] = {{.sections = 1000000}};
          return core::supports_any(core::find_variant(variants(), name, Room::name), usual, machine);
        },
};

}  // namespace gradus::locks_detail
