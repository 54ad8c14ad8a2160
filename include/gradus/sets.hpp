/// Concurrent sets: many threads insert, erase and look up keys at a time. The canonical result: every history of calls
/// is linearizable, that is, each call takes effect at a single moment between its beginning and its end, and what it
/// answers is what a sequential set answers in the order of these moments.
///
/// Which one, and what each promises beyond that, say their headers; what they have in common stands in
/// sets/detail/interface.hpp. Header-only: no thread registers, a set may be used from any thread at any time between
/// the end of its constructor and the beginning of its destructor, also from destructors of thread_local and static
/// objects, and as many sets at a time as one likes. A Key needs a copy or move constructor and what the set compares
/// or hashes by.
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
