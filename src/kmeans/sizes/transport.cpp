#include "kmeans/sizes/transport.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/exact_accumulator.hpp"
#include "core/stop.hpp"
#include "gradus/error.hpp"
#include "kmeans/sizes/wide_integer.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_assigning = "stopped while assigning points to clusters of limited size";

/// Exponents of the lowest and the highest bit of some numbers.
struct BitRange {
  int lowest = 2000;
  int highest = -2000;

  void add(double value) {
    const core::Scaled parts = core::scaled(value);
    if (parts.mantissa == 0) return;
    lowest = std::min(lowest, parts.exponent + std::countr_zero(parts.mantissa));
    highest = std::max(highest, parts.exponent + 64 - std::countl_zero(parts.mantissa));
  }
};

BitRange bits_of(const Transport& transport) {
  BitRange bits;
  for (const double distance : transport.open.distances) bits.add(distance);
  for (const double price : transport.prices) bits.add(price);
  for (const double width : transport.widths)
    if (std::isfinite(width)) bits.add(width);
  if (bits.lowest > bits.highest) bits.lowest = bits.highest = 0;
  return bits;
}

/// Returns true if the integers can hold all sums of the problem. Distances along a path of clusters have at most one
/// term of the size of the largest number for each cluster, and prices are sums of such distances.
template <class Integer>
bool are_long_enough(const BitRange& bits, std::int64_t clusters) {
  const int sums = 6 + 2 * (64 - std::countl_zero(static_cast<std::uint64_t>(clusters + 2)));
  return bits.highest - bits.lowest + sums < static_cast<int>(8 * sizeof(Integer));
}

/// Returns value / 2^unit, which is an integer.
template <class Integer>
Integer integer_of(double value, int unit) {
  const core::Scaled parts = core::scaled(value);
  if (parts.mantissa == 0) return Integer{};
  const int zeros = std::countr_zero(parts.mantissa);
  const auto mantissa = static_cast<std::int64_t>(parts.mantissa >> zeros);
  const int shift = parts.exponent + zeros - unit;
  const std::int64_t number = parts.negative ? -mantissa : mantissa;
  if constexpr (sizeof(Integer) == 16)
    return static_cast<Integer>(static_cast<core::UInt128>(static_cast<Integer>(number)) << shift);
  else return Integer(number, shift);
}

/// Returns integer * 2^unit, rounded to a double that is a multiple of 2^unit.
double double_of(core::Int128 integer, int unit) { return std::ldexp(static_cast<double>(integer), unit); }
double double_of(const WideInteger& integer, int unit) {
  const WideInteger magnitude = integer.is_negative() ? WideInteger() - integer : integer;
  std::size_t word = WideInteger::words - 1;
  while (word > 1 && magnitude.bits()[word] == 0) --word;
  const core::UInt128 highest = static_cast<core::UInt128>(magnitude.bits()[word]) << 64 | magnitude.bits()[word - 1];
  const double value = std::ldexp(static_cast<double>(highest), unit + 64 * static_cast<int>(word - 1));
  return integer.is_negative() ? -value : value;
}

/// Assigns consecutive numbers to pairs of clusters.
class PairNumbers {
 public:
  explicit PairNumbers(std::int64_t nodes) : nodes_(static_cast<std::uint64_t>(nodes)) { resize(1024); }

  /// Returns the number of the pair and whether it is new.
  std::pair<std::size_t, bool> number(std::int32_t from, std::int32_t to) {
    const std::uint64_t key = static_cast<std::uint64_t>(from) * nodes_ + static_cast<std::uint64_t>(to);
    std::size_t place = place_of(key);
    if (keys_[place] == key) return {numbers_[place], false};
    if (2 * (count_ + 1) > keys_.size()) {
      resize(2 * keys_.size());
      place = place_of(key);
    }
    keys_[place] = key;
    numbers_[place] = static_cast<std::uint32_t>(count_);
    return {count_++, true};
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  std::size_t place_of(std::uint64_t key) const {
    std::size_t place = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15U >> shift_);
    while (keys_[place] != key && keys_[place] != none) place = (place + 1) & (keys_.size() - 1);
    return place;
  }

  void resize(std::size_t size) {
    const std::vector<std::uint64_t> keys = std::exchange(keys_, std::vector<std::uint64_t>(size, none));
    const std::vector<std::uint32_t> numbers = std::exchange(numbers_, std::vector<std::uint32_t>(size));
    shift_ = 64 - std::countr_zero(size);
    for (std::size_t old = 0; old < keys.size(); ++old) {
      if (keys[old] == none) continue;
      const std::size_t place = place_of(keys[old]);
      keys_[place] = keys[old];
      numbers_[place] = numbers[old];
    }
  }

  std::uint64_t nodes_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> numbers_;
  std::size_t count_ = 0;
  int shift_ = 0;
};

/// The difference of two distances as the sum of a rounded difference and its rounding error. The order of such sums is
/// the order of (high, low).
struct Difference {
  double high;
  double low;
  std::int32_t point;  ///< index of the open point

  Difference(double a, double b, std::int32_t open_point) : high(a - b), point(open_point) {
    const double part = a - high;  // Knuth's exact difference
    low = (a - (high + part)) + (part - b);
  }
  friend bool operator>(const Difference& a, const Difference& b) {
    return a.high != b.high ? a.high > b.high : a.low > b.low;
  }
};

/// Points move between clusters along shortest paths. The cost of an arc between two clusters is the least cost of
/// moving a point. There are two further nodes. Through `outside`, sizes within the limits can change. Through
/// `ground`, clusters can lend each other room at a cost that keeps their prices in the intervals; a solution is valid
/// if no room is lent. All reduced costs stay non-negative.
template <class Integer>
class PathSolver {
 public:
  PathSolver(const Transport& transport, int unit, const std::stop_token& stop)
      : transport_(transport), open_(transport.open), stop_(stop),
        clusters_(static_cast<std::int32_t>(std::ssize(transport.settled))), numbers_(clusters_),
        arcs_of_(static_cast<std::size_t>(clusters_)),
        nodes_(static_cast<std::size_t>(clusters_) + 2), certificate_{unit, std::vector<Integer>(nodes_.size())} {
    for (std::int32_t cluster = 0; cluster < clusters_; ++cluster) {
      const double width = transport.widths[static_cast<std::size_t>(cluster)];
      price(cluster) = integer(transport.prices[static_cast<std::size_t>(cluster)]);
      node(cluster).has_interval = std::isfinite(width);
      if (node(cluster).has_interval) {
        node(cluster).lowest = price(cluster) - integer(width);
        node(cluster).highest = price(cluster) + integer(width);
      }
    }
  }

  /// Returns true if the assignment is minimal within the limits, and false if prices have to leave their intervals.
  bool run() {
    place_points();
    set_flows();
    while (has_excess()) {
      poll_.honour_stop();
      augment();
    }
    for (std::int32_t cluster = 0; cluster < clusters_; ++cluster)
      if (node(cluster).lent != 0) return false;
    choose_among_ties();
    return true;
  }

  std::vector<std::int32_t> labels() const {
    std::vector<std::int32_t> labels(at_.size());
    for (std::size_t point = 0; point < at_.size(); ++point) labels[point] = label(point);
    return labels;
  }
  ExactPrices<Integer>& certificate() { return certificate_; }

  void report(TransportSolution& solution) const {
    for (std::int32_t cluster = 0; cluster < clusters_; ++cluster) {
      const auto at = static_cast<std::size_t>(cluster);
      const double largest = std::numeric_limits<double>::max();
      solution.prices.push_back(
          std::clamp(double_of(price(cluster) - price(outside()), certificate_.unit), -largest, largest));
      solution.changes.push_back(
          double_of(price(cluster) - price(ground()) - integer(transport_.prices[at]), certificate_.unit));
      solution.at_limit.push_back(nodes_[at].lent != 0);
    }
  }

 private:
  struct Arc {
    std::int32_t to;
    std::vector<Difference> heap = {};  ///< least difference first; contains points that have left the cluster
    Integer cost = {};                  ///< cost of moving the first point, if `is_current`
    bool is_current = false;
  };

  struct Node {
    Integer distance = {};
    std::int64_t count = 0;   ///< points of the cluster
    std::int64_t flow = 0;    ///< size that the cluster should have
    std::int64_t excess = 0;  ///< points, or units of flow for `outside`, to move away
    std::int64_t lent = 0;    ///< points for which other clusters lend room; negative: room lent to others
    Integer lowest = {};      ///< the interval of the price, if `has_interval`
    Integer highest = {};
    bool has_interval = false;
    std::int32_t from = -1;  ///< previous node of the shortest path
    std::int32_t arc = -1;   ///< the arc from there, or -1 for an arc from or to `outside`
    bool is_reached = false;
    bool is_final = false;
  };

  Integer integer(double value) const { return integer_of<Integer>(value, certificate_.unit); }
  std::int32_t outside() const { return clusters_; }
  std::int32_t ground() const { return clusters_ + 1; }
  Node& node(std::int32_t index) { return nodes_[static_cast<std::size_t>(index)]; }
  Integer& price(std::int32_t index) { return certificate_.prices[static_cast<std::size_t>(index)]; }
  const Integer& price(std::int32_t index) const { return certificate_.prices[static_cast<std::size_t>(index)]; }
  std::int32_t label(std::size_t point) const { return open_.clusters[static_cast<std::size_t>(at_[point])]; }

  /// Assigns each open point to the first cluster with the least sum of distance and price.
  void place_points() {
    at_.resize(open_.points.size());
    for (std::int32_t cluster = 0; cluster < clusters_; ++cluster)
      node(cluster).count = transport_.settled[static_cast<std::size_t>(cluster)];
    for (std::size_t point = 0; point < at_.size(); ++point) {
      poll_.honour_stop();
      std::int64_t best = open_.begins[point];
      Integer least = sum_at(best);
      for (std::int64_t at = best + 1; at < open_.begins[point + 1]; ++at)
        if (Integer sum = sum_at(at); sum < least) {
          best = at;
          least = std::move(sum);
        }
      at_[point] = best;
      ++node(label(point)).count;
      offer(point);
    }
    for (Arc& arc : arcs_) std::ranges::make_heap(arc.heap, std::greater<>());
    are_heaps_ = true;
  }

  /// Returns the sum of distance and price of a candidate.
  Integer sum_at(std::int64_t at) const {
    const auto index = static_cast<std::size_t>(at);
    return integer(open_.distances[index]) + price(open_.clusters[index]);
  }

  /// Adds the point to the arcs from its cluster to its other candidates.
  void offer(std::size_t point) {
    const std::int32_t from = label(point);
    const double distance = open_.distances[static_cast<std::size_t>(at_[point])];
    for (std::int64_t at = open_.begins[point]; at < open_.begins[point + 1]; ++at) {
      if (at == at_[point]) continue;
      const std::int32_t to = open_.clusters[static_cast<std::size_t>(at)];
      const auto [number, is_new] = numbers_.number(from, to);
      if (is_new) {
        arcs_.push_back({to});
        arcs_of_[static_cast<std::size_t>(from)].push_back(static_cast<std::int32_t>(number));
      }
      Arc& arc = arcs_[number];
      arc.heap.emplace_back(open_.distances[static_cast<std::size_t>(at)], distance, static_cast<std::int32_t>(point));
      if (!are_heaps_) continue;
      std::ranges::push_heap(arc.heap, std::greater<>());
      arc.is_current = false;
    }
  }

  /// Removes points that have left the cluster from the front of the arc. Returns false if no point can move.
  bool refresh(std::int32_t from, Arc& arc) {
    if (arc.is_current && !arc.heap.empty() && label_is(arc.heap.front(), from)) return true;
    while (!arc.heap.empty() && !label_is(arc.heap.front(), from)) {
      std::ranges::pop_heap(arc.heap, std::greater<>());
      arc.heap.pop_back();
    }
    if (arc.heap.empty()) return false;
    const Difference& first = arc.heap.front();
    arc.cost = integer(first.high) + integer(first.low);
    arc.is_current = true;
    return true;
  }
  bool label_is(const Difference& difference, std::int32_t cluster) const {
    return label(static_cast<std::size_t>(difference.point)) == cluster;
  }

  /// Sets the size that each cluster should have by its price.
  void set_flows() {
    std::int64_t total = 0;
    for (std::int32_t cluster = 0; cluster < clusters_; ++cluster) {
      Node& at = node(cluster);
      const SizeLimits& sizes = transport_.sizes;
      const std::int64_t least = price(cluster) > price(outside()) ? sizes.most : sizes.least;
      const std::int64_t most = price(cluster) < price(outside()) ? sizes.least : sizes.most;
      at.flow = std::clamp(at.count, least, most);
      at.excess = at.count - at.flow;
      total += at.excess;
    }
    node(outside()).excess = -total;
  }

  bool has_excess() const {
    return std::ranges::any_of(nodes_, [](const Node& at) { return at.excess > 0; });
  }

  using Reached = std::pair<Integer, std::int32_t>;

  void reach(std::int32_t from, std::int32_t to, std::int32_t arc, const Integer& distance) {
    Node& at = node(to);
    if (at.is_final || (at.is_reached && !(distance < at.distance))) return;
    at.is_reached = true;
    at.distance = distance;
    at.from = from;
    at.arc = arc;
    queue_.emplace_back(distance, to);
    std::ranges::push_heap(queue_, std::greater<>());
  }

  /// Moves a unit from a node with excess to the nearest node that lacks one.
  void augment() {
    for (Node& at : nodes_) at.is_reached = at.is_final = false;
    queue_.clear();
    final_.clear();
    for (std::int32_t source = 0; source <= outside(); ++source)
      if (node(source).excess > 0) reach(-1, source, -1, Integer{});
    while (!queue_.empty()) {
      std::ranges::pop_heap(queue_, std::greater<>());
      const auto [distance, index] = std::move(queue_.back());
      queue_.pop_back();
      Node& at = node(index);
      if (at.is_final) continue;
      if (at.excess < 0) {
        raise_prices(distance);
        move_along(index);
        return;
      }
      at.is_final = true;
      final_.push_back(index);
      leave(index);
    }
    throw Error("no assignment is within the limits of the clusters' sizes");
  }

  /// Returns the bound of the price that the next unit from a cluster to `ground`, or back, is subject to.
  const Integer& bound_to_ground(const Node& at) const { return at.lent < 0 ? at.lowest : at.highest; }
  const Integer& bound_from_ground(const Node& at) const { return at.lent > 0 ? at.highest : at.lowest; }

  /// Follows all arcs of a node.
  void leave(std::int32_t index) {
    Node& at = node(index);
    const Integer base = at.distance - price(index);
    if (index == outside()) {
      for (std::int32_t cluster = 0; cluster < clusters_; ++cluster)
        if (node(cluster).flow > transport_.sizes.least) reach(index, cluster, -1, base + price(cluster));
      return;
    }
    if (index == ground()) {
      for (std::int32_t cluster = 0; cluster < clusters_; ++cluster)
        if (node(cluster).has_interval)
          reach(index, cluster, -1, base + price(cluster) - bound_from_ground(node(cluster)));
      return;
    }
    if (at.flow < transport_.sizes.most) reach(index, outside(), -1, base + price(outside()));
    if (at.has_interval) reach(index, ground(), -1, base + bound_to_ground(at) + price(ground()));
    for (const std::int32_t number : arcs_of_[static_cast<std::size_t>(index)]) {
      Arc& arc = arcs_[static_cast<std::size_t>(number)];
      if (!node(arc.to).is_final && refresh(index, arc)) reach(index, arc.to, number, base + arc.cost + price(arc.to));
    }
  }

  /// Makes the reduced costs of the arcs of the shortest path zero.
  void raise_prices(const Integer& distance) {
    for (const std::int32_t index : final_) price(index) += distance - node(index).distance;
  }

  /// Returns how many units the arc of the shortest path to this node can move.
  std::int64_t room_of_arc(const Node& to, std::int32_t index) {
    const std::int64_t any = std::numeric_limits<std::int64_t>::max();
    const Node& from = node(to.from);
    if (to.arc >= 0) return 1;
    if (index == outside()) return transport_.sizes.most - from.flow;
    if (to.from == outside()) return to.flow - transport_.sizes.least;
    if (index == ground()) return from.lent < 0 ? -from.lent : any;
    return to.lent > 0 ? to.lent : any;
  }

  void move_along(std::int32_t end) {
    std::int32_t start = end;
    std::int64_t amount = -node(end).excess;
    for (; node(start).from >= 0; start = node(start).from) amount = std::min(amount, room_of_arc(node(start), start));
    amount = std::min(amount, node(start).excess);
    for (std::int32_t to = end; node(to).from >= 0; to = node(to).from) {
      const std::int32_t from = node(to).from;
      if (node(to).arc >= 0) move_first(from, arcs_[static_cast<std::size_t>(node(to).arc)]);
      else if (to == outside()) node(from).flow += amount;
      else if (from == outside()) node(to).flow -= amount;
      else if (to == ground()) node(from).lent += amount;
      else node(to).lent -= amount;
    }
    node(start).excess -= amount;
    node(end).excess += amount;
  }

  void move_first(std::int32_t from, Arc& arc) {
    const auto point = static_cast<std::size_t>(arc.heap.front().point);
    const std::int32_t to = arc.to;
    --node(from).count;
    ++node(to).count;
    move_point(point, to);
    offer(point);  // invalidates `arc`
  }

  void move_point(std::size_t point, std::int32_t to) {
    const auto first = open_.clusters.begin() + open_.begins[point];
    const auto last = open_.clusters.begin() + open_.begins[point + 1];
    at_[point] = std::lower_bound(first, last, to) - open_.clusters.begin();
  }

  /// Replaces the assignment by the lexicographically least minimal assignment. A minimal assignment uses only tight
  /// candidates, whose sum of distance and price is the least of their point. Point by point, in ascending order, the
  /// lowest cluster is chosen for which the later points can be rearranged.
  void choose_among_ties() {
    std::vector<std::size_t> tied;  // points with several tight candidates
    std::vector<std::int32_t> tight;
    std::vector<std::size_t> begins{0};
    for (std::size_t point = 0; point < at_.size(); ++point) {
      poll_.honour_stop();
      const Integer least = sum_at(at_[point]);
      for (std::int64_t at = open_.begins[point]; at < open_.begins[point + 1]; ++at)
        if (at == at_[point] || sum_at(at) == least) tight.push_back(open_.clusters[static_cast<std::size_t>(at)]);
      if (tight.size() < begins.back() + 2) {
        tight.resize(begins.back());
        continue;
      }
      tied.push_back(point);
      begins.push_back(tight.size());
    }
    const auto choices = [&](std::size_t index) {
      return std::span<const std::int32_t>(tight).subspan(begins[index], begins[index + 1] - begins[index]);
    };
    numbers_ = PairNumbers(clusters_);
    for (auto& arcs : arcs_of_) arcs.clear();
    std::vector<TiedArc> arcs;
    // Adds the tied point `index` to the arcs from its cluster.
    const auto put = [&](std::size_t index) {
      const std::int32_t from = label(tied[index]);
      for (const std::int32_t to : choices(index)) {
        if (to == from) continue;
        const auto [number, is_new] = numbers_.number(from, to);
        if (is_new) {
          arcs.push_back({from, to});
          arcs_of_[static_cast<std::size_t>(from)].push_back(static_cast<std::int32_t>(number));
        }
        arcs[number].heap.push_back(index);
        std::ranges::push_heap(arcs[number].heap);
      }
    };
    for (std::size_t index = 0; index < tied.size(); ++index) put(index);
    for (std::size_t index = 0; index < tied.size(); ++index)
      for (const std::int32_t wanted : choices(index)) {
        const std::int32_t from = label(tied[index]);
        if (wanted >= from) break;
        if (!find_way(wanted, from, index, tied, arcs)) continue;
        --node(from).count;
        ++node(wanted).count;
        move_point(tied[index], wanted);
        for (std::int32_t to = from; to != wanted; to = node(to).from) {
          if (node(to).arc < 0) continue;
          const TiedArc& arc = arcs[static_cast<std::size_t>(node(to).arc)];
          const std::size_t moved = arc.heap.front();
          --node(arc.from).count;
          ++node(arc.to).count;
          move_point(tied[moved], to);
          put(moved);  // invalidates `arc`
        }
        break;
      }
  }

  struct TiedArc {
    std::int32_t from;
    std::int32_t to;
    std::vector<std::size_t> heap = {};  ///< indices of tied points, largest first
  };

  /// Finds a way on which points after `index` can move, so that cluster `start` gives a point and cluster `end` gets
  /// one.
  bool find_way(std::int32_t start, std::int32_t end, std::size_t index, const std::vector<std::size_t>& tied,
                std::vector<TiedArc>& arcs) {
    for (Node& at : nodes_) at.is_reached = false;
    std::vector<std::int32_t> line{start};
    node(start).is_reached = true;
    const auto visit = [&](std::int32_t from, std::int32_t to, std::int32_t arc) {
      Node& at = node(to);
      if (at.is_reached) return;
      at.is_reached = true;
      at.from = from;
      at.arc = arc;
      line.push_back(to);
    };
    for (std::size_t next = 0; next < line.size() && !node(end).is_reached; ++next) {
      poll_.honour_stop();
      const std::int32_t from = line[next];
      if (from == outside()) {
        for (std::int32_t to = 0; to < clusters_; ++to)
          if (price(to) == price(outside()) && node(to).count > transport_.sizes.least) visit(from, to, -1);
        continue;
      }
      if (price(from) == price(outside()) && node(from).count < transport_.sizes.most) visit(from, outside(), -1);
      for (const std::int32_t number : arcs_of_[static_cast<std::size_t>(from)]) {
        TiedArc& arc = arcs[static_cast<std::size_t>(number)];
        if (node(arc.to).is_reached) continue;
        while (!arc.heap.empty() && label(tied[arc.heap.front()]) != from) {
          std::ranges::pop_heap(arc.heap);
          arc.heap.pop_back();
        }
        if (!arc.heap.empty() && arc.heap.front() > index) visit(from, arc.to, number);
      }
    }
    return node(end).is_reached;
  }

  const Transport& transport_;
  const OpenPoints& open_;
  const std::stop_token& stop_;
  core::RarePoll poll_{stop_, while_assigning};
  std::int32_t clusters_;
  PairNumbers numbers_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<std::int32_t>> arcs_of_;  ///< for each cluster: numbers of the arcs that leave it
  std::vector<Node> nodes_;
  std::vector<std::int64_t> at_;  ///< for each open point: its current candidate
  ExactPrices<Integer> certificate_;
  bool are_heaps_ = false;
  std::vector<Reached> queue_;  ///< a heap, nearest first
  std::vector<std::int32_t> final_;
};

}  // namespace

template <class Integer>
bool is_certified(const Transport& transport, std::span<const std::int32_t> labels,
                  const ExactPrices<Integer>& certificate) {
  const OpenPoints& open = transport.open;
  const std::span<const Integer> prices = certificate.prices;
  std::vector<std::int64_t> counts(transport.settled.begin(), transport.settled.end());
  for (std::size_t point = 0; point < open.points.size(); ++point) {
    std::optional<Integer> own;
    std::optional<Integer> least;
    for (auto at = static_cast<std::size_t>(open.begins[point]); at < static_cast<std::size_t>(open.begins[point + 1]);
         ++at) {
      const std::int32_t cluster = open.clusters[at];
      const Integer sum =
          integer_of<Integer>(open.distances[at], certificate.unit) + prices[static_cast<std::size_t>(cluster)];
      if (cluster == labels[point]) own = sum;
      if (!least || sum < *least) least = sum;
    }
    if (!own || *least < *own) return false;
    ++counts[static_cast<std::size_t>(labels[point])];
  }
  const Integer& outside = prices[counts.size()];
  const Integer& ground = prices[counts.size() + 1];
  for (std::size_t cluster = 0; cluster < counts.size(); ++cluster) {
    const Integer& price = prices[cluster];
    const std::int64_t least = outside < price ? transport.sizes.most : transport.sizes.least;
    const std::int64_t most = price < outside ? transport.sizes.least : transport.sizes.most;
    if (counts[cluster] < least || counts[cluster] > most) return false;
    if (!std::isfinite(transport.widths[cluster])) continue;
    const Integer change = price - ground - integer_of<Integer>(transport.prices[cluster], certificate.unit);
    const Integer width = integer_of<Integer>(transport.widths[cluster], certificate.unit);
    if (width < change || width < Integer{} - change) return false;
  }
  return true;
}

template <class Integer>
std::optional<TransportSolution> solve_with(const Transport& transport, const std::stop_token& stop,
                                            ExactPrices<Integer>* certificate) {
  const BitRange bits = bits_of(transport);
  if (!are_long_enough<Integer>(bits, std::ssize(transport.settled))) return std::nullopt;
  PathSolver<Integer> solver(transport, bits.lowest, stop);
  TransportSolution solution;
  if (solver.run()) {
    solution.labels = solver.labels();
    if (!is_certified<Integer>(transport, *solution.labels, solver.certificate()))
      throw Error("the assignment to clusters of limited size failed its certificate; this is a fault of the library");
  }
  solver.report(solution);
  if (certificate != nullptr) *certificate = std::move(solver.certificate());
  return solution;
}

TransportSolution solve(const Transport& transport, const std::stop_token& stop) {
  if (auto solution = solve_with<core::Int128>(transport, stop)) return std::move(*solution);
  return *solve_with<WideInteger>(transport, stop);
}

#define GRADUS_INSTANTIATE(Integer)                                                              \
  template std::optional<TransportSolution> solve_with(const Transport&, const std::stop_token&, \
                                                       ExactPrices<Integer>*);                   \
  template bool is_certified(const Transport&, std::span<const std::int32_t>, const ExactPrices<Integer>&)
GRADUS_INSTANTIATE(core::Int128);
GRADUS_INSTANTIATE(WideInteger);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
