// What all concurrent sets share: the job that they are given, its shape, what is known of it afterwards, and the row
// of the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "sets/history.hpp"

namespace gradus::sets_detail {

/// How many of a hundred calls are what; together a hundred.
struct Mix {
  int contains = 0;
  int insert = 0;
  int erase = 0;
};

/// On what it depends who can do the job.
struct Shape {
  std::int64_t range = 2048;  ///< as many different keys are drawn
};

/// A set of whole numbers, at first half of those in [0, range), on which threads call operations with random keys.
struct Problem {
  std::int64_t range = 2048;
  std::int64_t operations = 0;  ///< of all threads together
  double most_seconds = 0;      ///< after which a thread makes no more calls, though fewer; 0: all of them
  Mix mix = {80, 10, 10};
  std::uint64_t seed = 1;
  bool records = false;  ///< the history; calls are slower then, and ordered by a clock
  std::stop_token stop;

  Shape shape() const { return {.range = range}; }
};

/// What was found out. All but the history is free for the operations, or nearly so.
struct Outcome {
  double seconds = 0;           ///< from the first thread's first operation to the last one's last
  std::int64_t operations = 0;  ///< that were called
  std::int64_t answered_yes = 0;
  std::int64_t added = 0;      ///< keys that were inserted, less those that were erased
  std::int64_t added_sum = 0;  ///< the same of the keys themselves
  Keys before;
  Keys after;               ///< in the order of a loop over the set
  bool is_ordered = false;  ///< that loop promises ascending keys
  std::size_t size = 0;     ///< the set's own count at the end
  std::vector<Event> history;
  std::size_t peak_garbage_bytes = 0;  ///< of removed nodes that were not yet freed, looked at now and then
  std::int64_t leaked_bytes = 0;       ///< that the set has not given back after its end
};

/// What core/ladder.hpp wants to know of this room.
struct Room {
  static constexpr std::string_view name = "sets";
  using Shape = sets_detail::Shape;
  using Elements = core::NoElements;
  template <class>
  using Problem = sets_detail::Problem;
  template <class>
  using Result = Outcome;
};
using core::Support;
using Variant = core::Variant<Room>;

core::Rows<Variant> variants();
/// The same for those who know no problem.
extern const core::Ladder ladder;

}  // namespace gradus::sets_detail
