/// Concurrent sets, into which many threads insert, erase and look up keys at the same time. Every history of calls is
/// linearizable: each call takes effect at a single moment between its beginning and its end. Its answer is the answer
/// that a sequential set would give if the calls came in the order of these moments.
///
/// The header of a set describes when to use the set, and which further guarantees it gives. sets/detail/interface.hpp
/// describes the common interface. The sets are header-only. Threads need no registration. A set may be used by any
/// thread at any time between the end of its constructor and the beginning of its destructor, including from
/// destructors of thread_local and static objects. There is no limit on the number of sets. A Key needs a copy or move
/// constructor and the comparison or hash that the set uses.
#pragma once

#include "gradus/sets/coarse_list_set.hpp"
#include "gradus/sets/epoch.hpp"
#include "gradus/sets/fine_list_set.hpp"
#include "gradus/sets/hazard_pointers.hpp"
#include "gradus/sets/lazy_list_set.hpp"
#include "gradus/sets/leak.hpp"
#include "gradus/sets/lock_free_list_set.hpp"
#include "gradus/sets/optimistic_list_set.hpp"
#include "gradus/sets/skip_list_set.hpp"
#include "gradus/sets/split_ordered_set.hpp"
