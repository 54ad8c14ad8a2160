/// All locks. Each has a separate header in locks/ and satisfies the standard's Lockable requirements, so it works with
/// std::scoped_lock, std::unique_lock and std::condition_variable_any. The locks are header-only, need no registration
/// of threads and do not limit their number. They may be used before main() and in destructors of static and
/// thread_local objects.
#pragma once

#include "gradus/locks/array_lock.hpp"
#include "gradus/locks/clh_lock.hpp"
#include "gradus/locks/cna_lock.hpp"
#include "gradus/locks/mcs_lock.hpp"
#include "gradus/locks/park_lock.hpp"
#include "gradus/locks/tas_lock.hpp"
#include "gradus/locks/ticket_lock.hpp"
#include "gradus/locks/ttas_lock.hpp"
