/// All locks. Each is a header of its own below locks/ and satisfies the standard's Lockable: it works with
/// std::scoped_lock, std::unique_lock and std::condition_variable_any. None wants its threads to be registered or
/// limits their number, none needs the library to be linked, and each may be used before main() and in the destructors
/// of static and thread_local objects.
#pragma once

#include "gradus/locks/array_lock.hpp"
#include "gradus/locks/clh_lock.hpp"
#include "gradus/locks/cna_lock.hpp"
#include "gradus/locks/mcs_lock.hpp"
#include "gradus/locks/park_lock.hpp"
#include "gradus/locks/tas_lock.hpp"
#include "gradus/locks/ticket_lock.hpp"
#include "gradus/locks/ttas_lock.hpp"
