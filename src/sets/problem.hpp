// Types that all concurrent sets share: the job, its shape, its outcome, and the row of the table.
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

/// The percentage of each kind of call. The percentages add up to 100.
struct Mix {
  int contains = 0;
  int insert = 0;
  int erase = 0;
};

/// The size that determines which variants support the job.
struct Shape {
  std::int64_t range = 2048;  ///< keys are drawn from [0, range)
};

/// The job: a set of integers initially holds half of [0, range), and threads call operations with random keys.
struct Problem {
  std::int64_t range = 2048;
  std::int64_t operations = 0;  ///< number of operations of all threads together
  double most_seconds = 0;      ///< time limit, after which threads make no more calls; 0: no limit
  Mix mix = {80, 10, 10};
  std::uint64_t seed = 1;
  /// If true, the history is recorded. A shared clock then orders the calls. The clock slows the calls down.
  bool records = false;
  std::stop_token stop;

  Shape shape() const { return {.range = range}; }
};

/// The result of a job. Only the recording of the history slows the operations down noticeably.
struct Outcome {
  double seconds = 0;           ///< duration from the start of the first operation to the end of the last
  std::int64_t operations = 0;  ///< number of calls made
  std::int64_t answered_yes = 0;
  std::int64_t added = 0;      ///< number of inserted keys minus number of erased keys
  std::int64_t added_sum = 0;  ///< sum of the inserted keys minus sum of the erased keys
  Keys before;
  Keys after;               ///< the keys in the order in which a loop visits them
  bool is_ordered = false;  ///< true if loops over the set visit the keys in ascending order
  std::size_t size = 0;     ///< size() at the end
  std::vector<Event> history;
  std::size_t peak_garbage_bytes = 0;  ///< largest observed number of bytes of removed nodes that were not yet freed
  std::int64_t leaked_bytes = 0;       ///< number of bytes not freed after the set was destroyed
};

/// The interface of this room for core/ladder.hpp.
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
/// The list of variants, for code that does not know the problem's types.
extern const core::Ladder ladder;

}  // namespace gradus::sets_detail
