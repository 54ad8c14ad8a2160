// pair_counts()
#include "gradus/pair_histogram_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/column_ranges.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "pair_histogram/api/steps.hpp"
#include "pair_histogram/prepare.hpp"
#include "pair_histogram/ranks.hpp"
#include "pair_histogram/result.hpp"
#include "pair_histogram/sky/options.hpp"
#include "pair_histogram/sky/sky_grid.hpp"
#include "pair_histogram/sky/sky_kernel.hpp"
#include "pair_histogram/sky/sky_rule.hpp"
#include "pair_histogram/tile_pairs.hpp"
#include "ranks/same_call.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

namespace {

constexpr std::int64_t points_to_an_item = 256;
constexpr std::int64_t points_to_a_group = 24;
constexpr int least_products_bits = 13;  // a sum outside the histogram holds at least 2^13 products

/// Checks edges up to `most`, the last of which is at least `least`.
void check_edges(const std::vector<double>& edges, const std::string& name, double least, double most) {
  const auto refuse = [&](const std::string& what) {
    throw UsageError(option("PairCountsOptions::" + name) + " " + what,
                     {.code = error_code::bad_argument, .argument = name});
  };
  if (edges.size() < 2) refuse("needs at least two numbers, the edges of one bin, not " + std::to_string(edges.size()));
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    const std::string text = core::number_text(edges[edge]) + " (edge " + std::to_string(edge) + ", counted from 0)";
    if (!(edges[edge] >= 0 && edges[edge] <= most))
      refuse("must be from 0 to " + core::number_text(most) + ", not " + text);
    if (edge > 0 && edges[edge] <= edges[edge - 1])
      refuse("must increase, but " + text + " does not exceed the edge before it");
  }
  if (edges.back() < least)
    refuse("must end at " + core::number_text(least) + " or above, not at " + core::number_text(edges.back()) +
           "; multiply coordinates and edges by a power of two");
}

// The filter computes in units of the last edge. Below these edges, a step of its coordinates, or the squared chord of
// an angle, would not be a normal number.
constexpr double least_reach = 0x1p-960;
constexpr double least_angle = 0x1p-400;

void check_options(const PairCountsOptions& options) {
  core::check_options(options);
  const bool is_theta = options.kind == PairCountsKind::theta;
  check_edges(options.edges, "edges", is_theta ? least_angle : least_reach, is_theta ? 180 : core::largest_magnitude);
  if (!is_theta)
    check_edges(options.second_edges, "second_edges", options.kind == PairCountsKind::rp_pi ? least_reach : 0,
                core::largest_magnitude);
  else if (!options.second_edges.empty())
    throw UsageError(
        option("PairCountsOptions::second_edges") + " has no effect on angles, which have one kind of bins",
        {.code = error_code::no_effect, .argument = "second_edges"});
  // Bins that ratchet up to 2^31 slots would not fit 32-bit slot numbers.
  constexpr std::size_t most_slots = std::size_t{1} << 28;
  if ((options.edges.size() + 1) > most_slots / (options.second_edges.size() + 1))
    throw UsageError(option("PairCountsOptions::edges") + ": there are more than 2^28 bins in total",
                     {.code = error_code::out_of_range, .argument = "edges"});
  if (options.box.empty()) return;
  if (is_theta || options.line_of_sight == LineOfSight::midpoint)
    throw UsageError(
        option("PairCountsOptions::box") + " needs a fixed line of sight, x, y or z: a periodic box has no observer",
        {.code = error_code::argument_conflict, .argument = "box"});
  room::check_box(options.box, {}, 3);
  if (room::is_triclinic(options.box))
    throw UnsupportedError("pair counts along a line of sight need a box along the axes, three lengths");
  const room::SkyRule rule(options);
  for (std::size_t column = 0; column < 3; ++column) {
    const double reach = !rule.is_across || column < 2 ? rule.bins.end(0) : rule.bins.end(1);
    if (reach > rule.box[column] / 2)
      throw UsageError("the bins reach to " + core::number_text(reach) + ", past half of the box's length " +
                           core::number_text(rule.box[column]) + " in column " + "xyz"[rule.columns[column]] +
                           ", where a pair's nearest image is not its only one",
                       {.code = error_code::reach_too_long,
                        .argument = column == 2 && rule.is_across ? "second_edges" : "edges",
                        .value = core::number_text(reach),
                        .allowed = "at most " + core::number_text(rule.box[column] / 2)});
  }
}

void require_cpu(const Execution& execution, MemoryPlace place, const char* what) {
  const bool wants_gpu = execution.device == Device::gpu || !execution.gpus.empty();
  if (wants_gpu || !place.is_host())
    throw UnsupportedError((wants_gpu ? ErrorMessage("a GPU was asked for") : about(what) + "they are on a GPU") +
                           ", but pairs along a line of sight are counted on the CPU; use the CPU and host memory");
}

/// Returns the greatest region plus one.
std::int64_t check_regions(VectorView<const std::int32_t> regions, std::int64_t rows, const char* what,
                           const char* of) {
  execution::check_view(regions, what);
  if (regions.empty()) return 0;
  if (regions.size() != rows)
    throw InputError(about(what) + "there are " + std::to_string(regions.size()) + " for " + std::to_string(rows) +
                         " " + of + "; one for each is needed",
                     {.code = error_code::shape_mismatch});
  std::int64_t most = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (regions[row] < 0)
      throw InputError(about(what) + "the region in row " + std::to_string(row) + " (counted from 0) is " +
                           std::to_string(regions[row]) + "; regions are numbered from 0",
                       {.code = error_code::out_of_range, .row = row});
    most = std::max(most, std::int64_t{regions[row]});
  }
  return most + 1;
}

/// The parts of a problem that do not depend on the type of the points.
struct SkyJob {
  bool is_cross = false;
  const room::WeightSums* sums = nullptr;  ///< null without weights
  std::stop_token stop;
  /// Returns the slot of a pair of sorted points by the canonical rule.
  std::function<std::int64_t(std::int32_t first, std::int32_t second)> slot;
};

class SkyCounter {
 public:
  SkyCounter(const SkyJob& job, const room::SkyRule& rule, const room::SkyGrid& grid, const room::SkyTables& tables,
             const room::SkyPoints& first, const room::SkyPoints& second, std::int64_t regions)
      : job_(job), grid_(grid), first_(first), second_(second), slots_(rule.bins.slots()),
        histogram_(slots_ * (1 + regions), (job.sums != nullptr ? job.sums->words() : 0)), view_(tables.view()) {
    std::int32_t* number = buffers_.data();
    for (std::int32_t** const column :
         {&view_.slots, &view_.full_slots, &view_.numbers, &view_.doubtful_first, &view_.doubtful_second})
      *column = std::exchange(number, number + room::sky_buffer_room);
    view_.list = list_.get();
    view_.counts = counts_.data();
    view_.slot_count = slots_;
    view_.numbers_all = job.sums != nullptr || regions > 0;
    view_.owner = this;
    view_.settle_row = [](void* owner, std::int64_t first, std::int64_t begin) {
      static_cast<SkyCounter*>(owner)->settle_row(first, begin);
    };
    view_.settle_doubts = [](void* owner) { static_cast<SkyCounter*>(owner)->settle_doubts(); };
    view_.settle_counts = [](void* owner) { static_cast<SkyCounter*>(owner)->settle_counts(); };
    group_.first = first.columns();
    group_.second = second.columns();
    group_.is_own = !job.is_cross;
    if (regions == 0) choose_sums();
    for (std::size_t column = 0; column < 3; ++column) longest_[column] = grid.longest_group(column);
  }
  SkyCounter(const SkyCounter&) = delete;
  SkyCounter& operator=(const SkyCounter&) = delete;

  /// Counts the pairs whose first points are from `begin` to `end` in a column.
  void count(std::int64_t column, std::int64_t begin, std::int64_t end) {
    find_neighbours(column, begin, end);
    for (group_.begin = begin; group_.begin < end; group_.begin = group_.end) {
      if (job_.stop.stop_requested()) return;
      gather_group(end);
      runs_.clear();
      for (Neighbour& neighbour : neighbours_)
        if (const room::SkyRun run = next_run(neighbour); run.begin < run.end) runs_.push_back(run);
      group_.runs = runs_.data();
      group_.run_count = std::ssize(runs_);
      room::count_sky_group(view_, group_);
    }
  }

  room::Histogram finish() {
    settle_doubts();
    room::flush_sky_pairs(view_);
    settle_all();
    return std::move(histogram_);
  }

 private:
  /// Chooses integers that hold sums of many products.
  void choose_sums() {
    if (!(job_.sums != nullptr) || job_.sums->form() == room::WeightSums::Form::shifted) return;
    const int bits = bits_of(first_.weights) + bits_of(second_.weights);
    if (bits > 127 - least_products_bits) return;
    most_products_ = std::int64_t{1} << std::min(127 - bits, 32);
    view_.settle_after = most_products_ / 8;
    sums_.resize(static_cast<std::size_t>(room::sky_copies * slots_));
  }
  static int bits_of(const std::vector<std::int64_t>& weights) {
    std::uint64_t all = 0;
    for (const std::int64_t weight : weights) all |= static_cast<std::uint64_t>(std::abs(weight));
    return std::bit_width(all);
  }

  /// A column near the column of the group, from the points before which none is in reach of this or a later group.
  struct Neighbour {
    std::int64_t begin;
    std::int64_t end;  ///< end of the last run
    std::int64_t last;
    std::int64_t turn;   ///< added to the keys of second points
    std::int64_t reach;  ///< greatest difference of keys
    bool is_own;         ///< the column contains the group, and only later points are paired with it
  };

  /// Finds the columns that may be in reach. The first points' column is the first one.
  void find_neighbours(std::int64_t column, std::int64_t begin, std::int64_t end) {
    neighbours_.clear();
    const auto across = grid_.neighbours(1, column % grid_.axes[1].cells);
    for (const room::SkyNeighbour& one : grid_.neighbours(0, column / grid_.axes[1].cells))
      for (const room::SkyNeighbour& other : across) {
        const std::int64_t neighbour = one.cell * grid_.axes[1].cells + other.cell;
        const std::int64_t reach = grid_.key_reach(one.apart * one.apart + other.apart * other.apart);
        if (reach >= 0 && (job_.is_cross || neighbour >= column))
          add_neighbour(neighbour, reach, begin, end, group_.is_own && neighbour == column);
      }
  }
  void add_neighbour(std::int64_t column, std::int64_t reach, std::int64_t begin, std::int64_t end, bool is_own) {
    constexpr std::int64_t whole_turn = std::int64_t{1} << 32;
    const std::int64_t* const keys = group_.second.keys;
    const std::int64_t low = group_.first.keys[begin];
    const std::int64_t high = group_.first.keys[end - 1];
    const std::int64_t first = is_own ? begin : second_.starts[static_cast<std::size_t>(column)];
    const std::int64_t last = second_.starts[static_cast<std::size_t>(column + 1)];
    const bool is_periodic = grid_.axes[2].is_periodic;
    const bool sees_all = is_periodic && 2 * reach + longest_[2] + 2 >= whole_turn;
    if (sees_all) reach = 2 * whole_turn;
    for (const std::int64_t turn : {std::int64_t{0}, -whole_turn, whole_turn}) {
      if (first == last || (turn != 0 && (!is_periodic || sees_all))) break;
      if (turn < 0 && low - reach >= 0) continue;
      if (turn > 0 && (is_own || high + reach < whole_turn)) continue;
      const std::int64_t near = std::lower_bound(keys + first, keys + last, low - turn - reach) - keys;
      if (near == last) continue;
      neighbours_.push_back({near, near, last, turn, reach, is_own});
      if (is_own && turn == 0) std::swap(neighbours_.front(), neighbours_.back());
    }
  }

  /// Adds the next points of the column as long as they are close together.
  void gather_group(std::int64_t end) {
    std::array<std::int64_t, 3> low{};
    std::array<std::int64_t, 3> high{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      low[axis] = high[axis] = grid_.axes[axis].steps(first_.steps[axis][static_cast<std::size_t>(group_.begin)]);
    end = std::min(end, group_.begin + points_to_a_group);
    for (group_.end = group_.begin + 1; group_.end < end; ++group_.end) {
      std::array<std::int64_t, 3> lower = low;
      std::array<std::int64_t, 3> higher = high;
      bool is_close = true;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t steps = grid_.axes[axis].steps(first_.steps[axis][static_cast<std::size_t>(group_.end)]);
        lower[axis] = std::min(lower[axis], steps);
        higher[axis] = std::max(higher[axis], steps);
        is_close = is_close && higher[axis] - lower[axis] <= longest_[axis];
      }
      if (!is_close) break;
      low = lower;
      high = higher;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t middle = low[axis] + (high[axis] - low[axis]) / 2;
      group_.origin[axis] = static_cast<std::int32_t>(static_cast<std::uint32_t>(middle));
      group_.half[axis] =
          room::rounded_up(static_cast<double>(high[axis] - middle + 1) * view_.scale[axis] * (1 + 0x1p-20));
    }
  }

  /// Returns the second points of a column that may be in reach of the group.
  room::SkyRun next_run(Neighbour& neighbour) const {
    const std::int64_t* const keys = group_.second.keys;
    const std::int64_t low = group_.first.keys[group_.begin] - neighbour.turn - neighbour.reach;
    const std::int64_t high = group_.first.keys[group_.end - 1] - neighbour.turn + neighbour.reach;
    while (neighbour.begin < neighbour.last && keys[neighbour.begin] < low) ++neighbour.begin;
    neighbour.end = std::max(neighbour.end, neighbour.begin);
    while (neighbour.end < neighbour.last && keys[neighbour.end] <= high) ++neighbour.end;
    return {neighbour.is_own ? std::max(neighbour.begin, group_.begin) : neighbour.begin, neighbour.end};
  }

  void settle_doubts() {
    for (std::int64_t doubt = 0; doubt < view_.doubts; ++doubt) {
      const std::int32_t first = view_.doubtful_first[doubt];
      const std::int32_t second = view_.doubtful_second[doubt];
      const std::int64_t slot = job_.slot(first, second);
      ++histogram_.counts[static_cast<std::size_t>(slot)];
      add(slot, static_cast<std::size_t>(first), static_cast<std::size_t>(second));
    }
    histogram_.rechecked += static_cast<std::uint64_t>(std::exchange(view_.doubts, 0));
  }
  /// Adds the weights and regions of the pairs of a first point, which are in the buffer from `begin` on.
  void settle_row(std::int64_t first, std::int64_t begin) {
    if (!sums_.empty()) return weigh_row(first, begin);
    for (std::int64_t pair = begin; pair < view_.length; ++pair)
      add(view_.slots[pair], static_cast<std::size_t>(first), static_cast<std::size_t>(view_.numbers[pair]));
  }
  void weigh_row(std::int64_t first, std::int64_t begin) {
    const core::Int128 weight = first_.weights[static_cast<std::size_t>(first)];
    const std::int64_t* const weights = second_.weights.data();
    core::Int128* const sums[] = {sums_.data(), sums_.data() + slots_, sums_.data() + 2 * slots_,
                                  sums_.data() + 3 * slots_};
    static_assert(std::size(sums) == room::sky_copies);
    const std::int32_t* slots = view_.slots + begin;
    const std::int32_t* numbers = view_.numbers + begin;
    std::int64_t pairs = view_.length - begin;
    for (; pairs >= room::sky_copies; pairs -= room::sky_copies) {
#pragma GCC unroll 4
      for (core::Int128* const copy : sums) copy[*slots++] += weight * weights[*numbers++];
    }
    for (; pairs > 0; --pairs) sums[0][*slots++] += weight * weights[*numbers++];
  }

  /// Adds counters and sums to the histogram if one may overflow before the next call.
  void settle_counts() {
    const std::uint32_t* const counts = counts_.data();
    std::uint32_t most = 0;  // at least the greatest count; slot 0 has no bin
    for (std::int64_t slot = 1; slot < slots_; ++slot)
      most |= counts[slot] + counts[slot + slots_] + counts[slot + 2 * slots_] + counts[slot + 3 * slots_];
    view_.sum_of_counts = 0;
    const std::int64_t uncounted = view_.full_length + room::sky_buffer_room;
    if (most + uncounted + view_.settle_after > most_products_) settle_all();
  }
  void settle_all() {
    for (std::int64_t copy = 0; copy < room::sky_copies; ++copy)
      for (std::int64_t slot = 0; slot < slots_; ++slot) {
        const auto at = static_cast<std::size_t>(copy * slots_ + slot);
        histogram_.counts[static_cast<std::size_t>(slot)] += std::exchange(counts_[at], 0);
        if (!sums_.empty()) settle_sum(slot, std::exchange(sums_[at], 0));
      }
  }
  void settle_sum(std::int64_t slot, core::Int128 sum) {
    const std::uint64_t words[] = {static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64),
                                   sum < 0 ? ~std::uint64_t{0} : 0};
    if (sum != 0) room::WeightSums::add_sum(histogram_.sum(slot), words, histogram_.sum_words);
  }
  /// Adds the weight of a pair, and the pair to its regions.
  void add(std::int64_t slot, std::size_t one, std::size_t other) {
    add_weight(slot, one, other);
    if (first_.regions.empty()) return;
    const std::int32_t region = first_.regions[one];
    add_to_region(region, slot, one, other);
    if (second_.regions[other] != region) add_to_region(second_.regions[other], slot, one, other);
  }
  void add_to_region(std::int32_t region, std::int64_t slot, std::size_t one, std::size_t other) {
    const std::int64_t there = (1 + std::int64_t{region}) * slots_ + slot;
    ++histogram_.counts[static_cast<std::size_t>(there)];
    add_weight(there, one, other);
  }
  void add_weight(std::int64_t slot, std::size_t one, std::size_t other) {
    if ((job_.sums != nullptr)) job_.sums->add(histogram_.sum(slot), first_.weights[one], second_.weights[other]);
  }

  const SkyJob& job_;
  const room::SkyGrid& grid_;
  const room::SkyPoints& first_;
  const room::SkyPoints& second_;
  const std::int64_t slots_;
  room::Histogram histogram_;
  std::unique_ptr<room::SkyList> list_ = std::make_unique<room::SkyList>();
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(static_cast<std::size_t>(slots_ * room::sky_copies));
  std::vector<std::int32_t> buffers_ = std::vector<std::int32_t>(5 * room::sky_buffer_room);
  // Sums of products that are not in the histogram yet, sky_copies per slot that take turns, or none.
  std::vector<core::Int128> sums_;
  std::int64_t most_products_ = std::int64_t{1} << 32;  ///< number of pairs that a counter or a sum can hold
  std::array<std::int64_t, 3> longest_{};               ///< greatest extents of a group, in steps
  room::SkyGroup group_;
  std::vector<Neighbour> neighbours_;
  std::vector<room::SkyRun> runs_;
  room::SkyView view_;
};

template <class T>
class PairCounts {
 public:
  PairCounts(MatrixView<const T> points, const PairCountsOptions& options, const PairCountsMemory<T>& memory,
             const Execution& execution)
      : points_(points), options_(options), memory_(memory), execution_(execution) {}

  PairCountsResult run(core::Ranks& ranks) {
    const auto start = core::Clock::now();
    std::string own;
    ranks.agree([&] {
      check();
      if (!ranks.is_alone()) own = core::option_lines(options_) + data_text();
    });
    if (!ranks.is_alone()) core::require_same_options(ranks, own);
    room::Histogram histogram;
    ranks.agree([&] { prepare(); });
    if (ranks.is_alone()) histogram = count(execution_);
    else
      room::agree_at_length(ranks, [&](const auto& look) {
        Execution here = execution_;
        here.progress = [&](const Progress& progress) {
          if (execution_.progress) execution_.progress(progress);
          look();
        };
        histogram = count(here);
      });
    if (!ranks.is_alone()) histogram = room::sum_of_ranks(ranks, histogram);
    ranks.agree([&] { deliver(histogram); });
    result_.report.variant = "simd_cells";
    result_.report.device = execution::device_name(false, execution_);
    result_.report.threads = threads_;
    core::add_phase(result_.report.phases, "total", core::seconds_since(start));
    return std::move(result_);
  }

 private:
  void check() {
    execution::check_execution(execution_, execution::SupportsRanks::yes);
    for (const execution::NamedPlace& place : room::check_views(points_, memory_))
      require_cpu(execution_, place.place, place.what);
    require_cpu(execution_, memory_.regions.place(), "regions");
    require_cpu(execution_, memory_.other_regions.place(), "other regions");
    if (!execution_.variant.empty())
      throw UnsupportedError("pairs along a line of sight are counted in one way; do not name a variant");
    check_options(options_);
    rule_.emplace(options_);
    if (points_.columns() != 3)
      throw InputError(
          about("points") + "there are " + std::to_string(points_.columns()) + " columns; three are needed, x, y and z",
          {.code = error_code::shape_mismatch});
    const bool is_cross = memory_.others.columns() > 0;
    if (is_cross && !memory_.regions.empty() != !memory_.other_regions.empty() && points_.rows() > 0 &&
        memory_.others.rows() > 0)
      throw UsageError("regions are needed for the points and for the others, or for none of them");
    if (!is_cross && !memory_.other_regions.empty())
      throw UsageError(about("other regions") + "there are regions for others, but no others");
    result_.regions = std::max(check_regions(memory_.regions, points_.rows(), "regions", "points"),
                               check_regions(memory_.other_regions, memory_.others.rows(), "other regions", "others"));
  }

  std::string data_text() const {
    const auto text = [&](const std::vector<double>& values) {
      return room::rows_line("regions", VectorView<const double>(values.data(), std::ssize(values)), execution_);
    };
    const auto numbers = [](VectorView<const std::int32_t> regions) {
      return std::vector<double>(regions.data(), regions.data() + regions.size());
    };
    return room::data_text<T>(points_, memory_, execution_) + text(numbers(memory_.regions)) +
           text(numbers(memory_.other_regions));
  }

  /// Throws OutOfMemoryError, with a remedy, if the memory does not suffice.
  void check_memory() const {
    constexpr std::uint64_t bytes_of_a_point = 16 + 16 + 4 + 8 + 12 + 12 + 8 + 4 + 4;
    const std::uint64_t of_points =
        bytes_of_a_point * static_cast<std::uint64_t>(points_.rows() + memory_.others.rows());
    const std::uint64_t of_a_counter = room::sky_copies * (problem_.weighted() ? 20 : 4);
    const std::uint64_t of_a_thread = static_cast<std::uint64_t>(rule_->bins.slots()) *
                                      (of_a_counter + static_cast<std::uint64_t>(1 + result_.regions) * 8 *
                                                          static_cast<std::uint64_t>(1 + problem_.sum_words()));
    const auto bytes = [&](int threads) { return of_points + of_a_thread * static_cast<std::uint64_t>(threads + 2); };
    int fitting = threads_ - 1;
    while (fitting > 0 && !execution::has_memory(bytes(fitting), execution_)) --fitting;
    const std::string least = "one thread needs " + core::size_text(bytes(1));
    execution::check_memory(
        bytes(threads_), execution_,
        fitting > 1    ? std::to_string(fitting) + " threads need little enough"
        : fitting == 1 ? least
        : of_a_thread > of_points
            ? least + ", and fewer bins or regions need less"
            : least + ", and parts of the catalogue need less: counts within and between them add up");
  }

  /// Examines and sorts the points. Memory is checked first.
  void prepare() {
    constexpr double nanoseconds_a_pair = 0.7;
    const auto n = static_cast<double>(points_.rows());
    const double pairs = memory_.others.rows() > 0 ? n * static_cast<double>(memory_.others.rows()) : n * n / 2;
    threads_ = cpu::start_team(cpu::chosen_threads(pairs * nanoseconds_a_pair, execution_));
    {
      const core::PhaseTimer timer(result_.report.phases, "examine");
      Execution unlimited = execution_;  // the limit is compared with the memory of the whole job
      unlimited.memory_limit = 0;
      problem_ = room::prepare<T>(points_, {.bins = {.edges = {0, 1}}}, memory_, unlimited);
    }
    check_memory();
    const room::SkyRule& rule = *rule_;
    room::SkyRange range;
    for (std::size_t column = 0; column < 3; ++column) {
      const auto from = static_cast<std::size_t>(rule.columns[column]);
      range.lowest[column] = problem_.lowest[from];
      range.highest[column] = problem_.highest[from];
    }
    grid_.emplace(rule, range, problem_.m());
    check_range(range);
    const core::PhaseTimer timer(result_.report.phases, "sort");
    sorted_ =
        sort(points_, memory_.regions, problem_.weights, [&](std::int64_t row) { return problem_.first_weight(row); });
    if (problem_.cross)
      sorted_others_ = sort(memory_.others, memory_.other_regions, problem_.other_weights,
                            [&](std::int64_t row) { return problem_.second_weight(row); });
  }

  void check_range(const room::SkyRange& range) const {
    for (std::size_t column = 0; column < 3; ++column) {
      const double extent = range.highest[column] - range.lowest[column];
      const std::string name = std::string(1, "xyz"[rule_->columns[column]]);
      if (rule_->is_periodic && extent > rule_->box[column])
        throw InputError(about("points") + "in column " + name + " they are from " +
                             core::number_text(range.lowest[column]) + " to " +
                             core::number_text(range.highest[column]) +
                             ", farther apart than the length of the periodic box, " +
                             core::number_text(rule_->box[column]) + "; wrap them into the box, or give its length",
                         {.code = error_code::outside_box});
      constexpr double most_reaches = 0x1p40;
      const double most = std::max(std::abs(range.lowest[column]), std::abs(range.highest[column]));
      if (rule_->is_midpoint && most > most_reaches * grid_->unit)
        throw InputError(about("points") + "a coordinate " + name + " has the magnitude " + core::number_text(most) +
                             ", more than 2^40 times the reach of the bins, " + core::number_text(grid_->unit) +
                             "; are both in the same unit of length?",
                         {.code = error_code::out_of_range});
    }
  }

  template <class Encode>
  room::SkyPoints sort(MatrixView<const T> points, VectorView<const std::int32_t> regions, VectorView<const T> weights,
                       const Encode& encode) const {
    room::SkyPoints sorted = room::sorted_sky_points(*rule_, *grid_, points, threads_, execution_.stop);
    for (const std::int32_t row : sorted.order) {
      if (!regions.empty()) sorted.regions.push_back(regions[row]);
      if (!weights.empty()) sorted.weights.push_back(encode(row));
    }
    return sorted;
  }

  room::Histogram count(const Execution& execution) {
    const core::PhaseTimer timer(result_.report.phases, "count");
    const room::SkyTables tables(*rule_, *grid_);
    const room::SkyPoints& second = problem_.cross ? sorted_others_ : sorted_;
    const SkyJob job{problem_.cross, problem_.weighted() ? &problem_.sums : nullptr, problem_.stop,
                     [&](std::int32_t first, std::int32_t other) {
                       const auto row = static_cast<std::size_t>(first);
                       const auto other_row = static_cast<std::size_t>(other);
                       return rule_->slot(rule_->point(points_.row(sorted_.order[row])),
                                          rule_->point(problem_.second().row(second.order[other_row])));
                     }};
    std::vector<std::unique_ptr<SkyCounter>> counters;
    for (int part = 0; part < threads_; ++part)
      counters.push_back(std::make_unique<SkyCounter>(job, *rule_, *grid_, tables, sorted_, second, result_.regions));
    struct Item {
      std::int64_t column;
      std::int64_t begin;
      std::int64_t end;
    };
    std::vector<Item> items;
    for (std::int64_t column = 0; column < grid_->columns(); ++column) {
      const std::int64_t end = sorted_.starts[static_cast<std::size_t>(column + 1)];
      for (std::int64_t begin = sorted_.starts[static_cast<std::size_t>(column)]; begin < end;
           begin += points_to_an_item)
        items.push_back({column, begin, std::min(end, begin + points_to_an_item)});
    }
    room::for_each_item(execution, threads_, std::ssize(items), [&](int part, std::int64_t number) {
      const Item& item = items[static_cast<std::size_t>(number)];
      counters[static_cast<std::size_t>(part)]->count(item.column, item.begin, item.end);
    });
    room::Histogram total = counters.front()->finish();
    for (std::size_t part = 1; part < counters.size(); ++part) total.add(counters[part]->finish(), execution.stop);
    return total;
  }

  void deliver(const room::Histogram& histogram) {
    const std::int64_t rows = result_.rows = rule_->bins.places(0) - 2;
    const std::int64_t columns = result_.columns = rule_->bins.places(1) - 2;
    for (std::int64_t table = 0; table <= result_.regions; ++table)
      for (std::int64_t row = 0; row < rows; ++row) {
        core::honour_stop(execution_.stop, room::while_adding_up);
        for (std::int64_t column = 0; column < columns; ++column) {
          const std::int64_t slot = table * rule_->bins.slots() + (row + 1) * rule_->bins.places(1) + column + 1;
          (table == 0 ? result_.counts : result_.region_counts)
              .push_back(histogram.counts[static_cast<std::size_t>(slot)]);
          if (!problem_.weighted()) continue;
          const double sum = problem_.sums.round(histogram.sum(slot));
          if (std::isinf(sum)) room::throw_sum_too_large(options_.edges, static_cast<std::size_t>(row));
          (table == 0 ? result_.weighted : result_.region_weighted).push_back(sum);
        }
      }
    result_.pairs = static_cast<std::uint64_t>(room::pair_count(problem_.n(), problem_.m(), problem_.cross));
    if (result_.pairs > 0)
      result_.report.rechecked = static_cast<double>(histogram.rechecked) / static_cast<double>(result_.pairs);
  }

  MatrixView<const T> points_;
  const PairCountsOptions& options_;
  const PairCountsMemory<T>& memory_;
  const Execution& execution_;
  int threads_ = 1;
  room::Problem<T> problem_;
  std::optional<room::SkyRule> rule_;
  std::optional<room::SkyGrid> grid_;
  room::SkyPoints sorted_;
  room::SkyPoints sorted_others_;
  PairCountsResult result_;
};

}  // namespace

namespace detail {

template <class T>
PairCountsResult pair_counts(MatrixView<const T> points, const PairCountsOptions& options,
                             const PairCountsMemory<T>& memory, const Execution& execution) {
  return execution::whole_call<T>("pair_counts", execution, [&](const Execution& here, core::Ranks& ranks) {
    Execution stoppable = here;
    if (!ranks.is_alone()) stoppable.stop = ranks.stop();
    return PairCounts<T>(points, options, memory, stoppable).run(ranks);
  });
}

template PairCountsResult pair_counts(MatrixView<const float>, const PairCountsOptions&, const PairCountsMemory<float>&,
                                      const Execution&);
template PairCountsResult pair_counts(MatrixView<const double>, const PairCountsOptions&,
                                      const PairCountsMemory<double>&, const Execution&);

}  // namespace detail

}  // namespace gradus
