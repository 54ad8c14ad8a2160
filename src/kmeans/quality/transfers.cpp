#include "kmeans/quality/transfers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/stop.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_improving = "stopped while improving the clustering";
constexpr std::size_t listed_neighbours = 48;
constexpr std::size_t near_neighbours = 16;  ///< their movements count
constexpr float caution = 0.6F;              ///< share of a movement that counts
constexpr int most_passes = 100;
constexpr int most_passes_of_attempt = 30;
constexpr double least_gain_of_pass = 2e-5;             ///< share of the inertia
constexpr double least_gain_of_pass_of_attempt = 1e-5;  ///< share of the inertia
constexpr double least_gain_of_attempt = 1e-6;          ///< share of the inertia
constexpr double hope = 5;  ///< further passes are expected to gain up to this many times the gain of the last one

}  // namespace

LocalSearch::LocalSearch(const LocalRows& rows, std::span<const std::int32_t> labels, std::vector<double> means,
                         std::span<const double> masses, std::stop_token stop)
    : rows_(&rows), columns_(rows.rows.columns()), stop_(std::move(stop)), points_(labels.size()),
      clusters_(masses.size()), means_(std::move(means)), rounded_(means_.begin(), means_.end()), settled_(rounded_),
      order_(labels.size()), blocks_(masses.size() + 1),
      neighbour_count_(std::min(listed_neighbours, masses.size() - 1)), is_moved_(masses.size()),
      drifts_(masses.size()), seen_(labels.size()), seen_clusters_(masses.size()) {
  for (std::size_t one = 0; one < masses.size(); ++one) clusters_[one].mass = masses[one];
  for (std::size_t one = 0; one < labels.size(); ++one) {
    points_[one].label = labels[one];
    ++blocks_[at(labels[one]) + 1];
    ++cluster(labels[one]).points;
  }
  std::partial_sum(blocks_.begin(), blocks_.end(), blocks_.begin());
  std::vector<std::size_t> next = blocks_;
  for (std::size_t one = 0; one < labels.size(); ++one)
    order_[next[at(labels[one])]++] = static_cast<std::int32_t>(one);
  find_neighbours();
}

LocalSearch::LocalSearch(const LocalSearch&) = default;
LocalSearch::LocalSearch(LocalSearch&&) noexcept = default;
LocalSearch& LocalSearch::operator=(LocalSearch&&) noexcept = default;
LocalSearch::~LocalSearch() = default;

std::span<LocalSearch::Neighbour> LocalSearch::neighbours(std::int32_t number) {
  return std::span(neighbours_).subspan(at(number) * neighbour_count_, neighbour_count_);
}

std::span<LocalSearch::Neighbour> LocalSearch::near(std::int32_t number) {
  return neighbours(number).first(std::min(near_neighbours, neighbour_count_));
}

/// Returns the points that were in a cluster at the beginning.
std::span<const std::int32_t> LocalSearch::block(std::int32_t number) const {
  const std::size_t begin = blocks_[at(number)];
  return std::span(order_).subspan(begin, blocks_[at(number) + 1] - begin);
}

/// Returns a squared distance. The order of its sums does not depend on the machine.
float LocalSearch::distance(const float* a, const float* b) {
  using Lanes [[gnu::vector_size(32)]] = float;
  ++work_;
  Lanes sums[2] = {};
  std::int64_t column = 0;
  const auto add = [&](Lanes& to) {
    Lanes left;
    Lanes right;
    std::memcpy(&left, a + column, sizeof(left));
    std::memcpy(&right, b + column, sizeof(right));
    left -= right;
    to += left * left;
    column += 8;
  };
  while (column + 16 <= columns_) {
    add(sums[0]);
    add(sums[1]);
  }
  if (column + 8 <= columns_) add(sums[0]);
  const Lanes all = sums[0] + sums[1];
  float sum = ((all[0] + all[4]) + (all[1] + all[5])) + ((all[2] + all[6]) + (all[3] + all[7]));
  for (; column < columns_; ++column) sum += (a[column] - b[column]) * (a[column] - b[column]);
  return sum;
}

void LocalSearch::find_neighbours() {
  std::vector<Neighbour> found;
  for (std::int32_t one = 0; one < std::ssize(clusters_); ++one) {
    core::honour_stop(stop_, while_improving);
    found.clear();
    for (std::int32_t other = 0; other < std::ssize(clusters_); ++other)
      if (other != one) found.emplace_back(std::sqrt(distance(mean(one), mean(other))), other);
    sort(found);
    found.resize(neighbour_count_);
    neighbours_.insert(neighbours_.end(), found.begin(), found.end());
  }
}

/// Finds the nearest other clusters of a point.
void LocalSearch::search(std::int32_t number) {
  Point& one = point(number);
  constexpr std::size_t last = most_others;
  float least[last + 1];
  std::int32_t found[last + 1];
  std::ranges::fill(least, 1e30F);
  std::ranges::fill(found, neighbours(one.label).front().second);
  const float own = std::sqrt(one.own);
  float farthest = 1e15F;
  for (const auto& [apart, other] : neighbours(one.label)) {
    if (apart - own > farthest) break;
    const float away = distance(row(number), mean(other));
    if (!(away < least[last]) || other == one.label) continue;
    std::size_t place = last;
    for (; place > 0 && away < least[place - 1]; --place) {
      least[place] = least[place - 1];
      found[place] = found[place - 1];
    }
    least[place] = away;
    found[place] = other;
    farthest = std::sqrt(least[last]);
  }
  std::copy_n(found, most_others, one.others);
  one.rest = cluster(one.label).reach + farthest;
}

/// Sets the best of the other clusters of a point.
void LocalSearch::choose(std::int32_t number, Choice& choice) {
  Point& one = point(number);
  const auto w = static_cast<float>(weight(number));
  choice = {one.others[0], std::numeric_limits<float>::infinity(), choice.leaves};
  for (const std::int32_t other : one.others) {
    if (other == one.label) continue;
    const auto mass = static_cast<float>(cluster(other).mass);
    const float cost = distance(row(number), mean(other)) * (mass / (mass + w));
    if (!(cost < choice.joins)) continue;
    choice.joins = cost;
    choice.cluster = other;
  }
  one.second = choice.joins;
  one.bound = cluster(one.label).reach + std::sqrt(choice.joins);
}

/// Returns the best other cluster of a point, with an infinite cost if the bounds exclude a gain.
LocalSearch::Choice LocalSearch::examine(std::int32_t number) {
  remember(number);
  Point& one = point(number);
  const Cluster& home = cluster(one.label);
  one.own = distance(row(number), mean(one.label));
  const float cost = one.own * static_cast<float>(home.mass / (home.mass - weight(number)));
  Choice choice{one.label, std::numeric_limits<float>::infinity(), cost};
  const float leaves = std::sqrt(cost);
  const bool is_far = !(leaves + home.reach < one.rest);
  if (is_far) search(number);
  if (is_far || !(leaves + home.reach < one.bound)) choose(number, choice);
  one.gap = home.shift - home.reach + std::min(one.bound, one.rest) - leaves;
  return choice;
}

void LocalSearch::mark_moved(std::int32_t number) {
  if (is_moved_[at(number)]) return;
  is_moved_[at(number)] = true;
  moved_.push_back(number);
}

/// Moves a mean by `share` of its distance to a point.
void LocalSearch::move_mean(std::int32_t number, const float* to, double share) {
  mark_moved(number);
  const std::size_t first = at(number * columns_);
  for (std::size_t column = 0; column < at(columns_); ++column) {
    double& value = means_[first + column];
    value += share * (static_cast<double>(to[column]) - value);
    rounded_[first + column] = static_cast<float>(value);
  }
}

/// Moves a point to a cluster. If no mass remains in its old cluster, the mean stays there.
void LocalSearch::move(std::int32_t number, std::int32_t to) {
  Point& one = point(number);
  const double w = weight(number);
  const std::int32_t from = one.label;
  remember(number);
  remember_cluster(from);
  remember_cluster(to);
  Cluster& home = cluster(from);
  Cluster& target = cluster(to);
  if (home.mass > 1.001 * w) move_mean(from, row(number), -w / (home.mass - w));
  move_mean(to, row(number), w / (target.mass + w));
  home.mass -= w;
  target.mass += w;
  --home.points;
  ++target.points;
  one.label = to;
  one.gap = target.shift;
  one.bound = -1;
  one.rest += target.reach - home.reach;
  std::ranges::replace(one.others, to, from);
}

/// Adds the movements of the means to `shift` and `reach`.
void LocalSearch::settle() {
  std::vector<std::int32_t> reached;
  for (const std::int32_t one : moved_) {
    is_moved_[at(one)] = false;
    float* const before = settled_.data() + one * columns_;
    const float drift = caution * std::sqrt(distance(mean(one), before));
    std::copy_n(mean(one), columns_, before);
    remember_cluster(one);
    cluster(one).shift += drift;
    is_active_[at(one)] = true;
    for (const Neighbour& other : near(one)) {
      float& most = drifts_[at(other.second)];
      if (most == 0) reached.push_back(other.second);
      most = std::max(most, drift);
    }
  }
  moved_.clear();
  for (const std::int32_t one : reached) {
    const float drift = std::exchange(drifts_[at(one)], 0.0F);
    remember_cluster(one);
    cluster(one).shift += drift;
    cluster(one).reach += drift;
    is_active_[at(one)] = true;
  }
}

/// Transfers points once. Returns the gain.
double LocalSearch::pass() {
  settle();
  double gain = 0;
  for (std::int32_t number = 0; number < std::ssize(clusters_); ++number) {
    if (!is_active_[at(number)]) continue;
    is_active_[at(number)] = false;
    core::honour_stop(stop_, while_improving);
    for (const std::int32_t one : block(number)) {
      const Cluster& home = cluster(point(one).label);
      if (point(one).gap > home.shift || !(home.mass > 1.5 * weight(one))) continue;
      const Choice choice = examine(one);
      if (!(choice.joins < choice.leaves * (1 - 1e-5F))) continue;  // a smaller gain may be a rounding error
      gain += weight(one) * static_cast<double>(choice.leaves - choice.joins);
      move(one, choice.cluster);
    }
  }
  return gain;
}

void LocalSearch::polish() {
  is_active_.assign(clusters_.size(), true);
  for (int passes = 0; passes < most_passes; ++passes) {
    const double gain = pass();
    gain_ += gain;
    if (inertia_ == 0) {
      value();
      inertia_ = costs_.empty() ? 0 : costs_.back();
      work_ = 0;
    }
    if (!(gain > least_gain_of_pass * inertia_)) break;
  }
}

void LocalSearch::remember(std::int32_t number) {
  if (!is_undoable_ || std::exchange(seen_[at(number)], attempts_) == attempts_) return;
  old_points_.emplace_back(number, point(number));
}

void LocalSearch::remember_cluster(std::int32_t number) {
  if (!is_undoable_ || std::exchange(seen_clusters_[at(number)], attempts_) == attempts_) return;
  const double* const from = means_.data() + number * columns_;
  const auto list = neighbours(number);
  old_clusters_.push_back({number, cluster(number), {from, from + columns_}, {list.begin(), list.end()}});
}

/// Sets a mean without a movement that counts.
template <class T>
void LocalSearch::set_mean(std::int32_t number, const T* from) {
  for (std::int64_t column = 0; column < columns_; ++column) {
    const std::size_t place = at(number * columns_ + column);
    means_[place] = static_cast<double>(from[column]);
    settled_[place] = rounded_[place] = static_cast<float>(from[column]);
  }
}

/// Undoes the last attempt.
void LocalSearch::undo() {
  for (const auto& [number, state] : old_points_) point(number) = state;
  for (const OldCluster& old : old_clusters_) {
    cluster(old.number) = old.state;
    set_mean(old.number, old.mean.data());
    std::ranges::copy(old.neighbours, neighbours(old.number).begin());
  }
  for (const std::int32_t one : moved_) is_moved_[at(one)] = false;
  moved_.clear();
  is_active_.assign(clusters_.size(), false);
}

void LocalSearch::sort(std::span<Neighbour> list) { std::sort(list.data(), list.data() + list.size()); }

/// Sums the costs of all points and the prices of all clusters.
void LocalSearch::value() {
  costs_.clear();
  prices_.assign(clusters_.size(), 0);
  double sum = 0;
  for (std::int32_t number = 0; number < std::ssize(points_); ++number) {
    const Point& one = point(number);
    sum += weight(number) * static_cast<double>(one.own);
    costs_.push_back(sum);
    if (one.second > one.own && one.second < 1e30F)
      prices_[at(one.label)] += weight(number) * static_cast<double>(one.second - one.own);
  }
}

/// Returns about by how much a further centroid at the point would lower the inertia.
double LocalSearch::gain_at(std::int32_t number) {
  double gain = 0;
  const auto add = [&](std::int32_t home) {
    for (const std::int32_t one : block(home)) {
      const float less = point(one).own - distance(row(number), row(one));
      if (less > 0) gain += weight(one) * static_cast<double>(less);
    }
  };
  const std::int32_t home = point(number).label;
  add(home);
  for (const Neighbour& other : near(home).first(std::min(near_neighbours / 2, neighbour_count_))) add(other.second);
  return gain;
}

/// Moves the points of a cluster to other clusters. Returns the gain, which is usually negative.
double LocalSearch::disperse(std::int32_t removed) {
  remember_cluster(removed);
  std::vector<std::int32_t> members;
  const auto collect = [&](std::span<const std::int32_t> among) {
    std::ranges::copy_if(among, std::back_inserter(members),
                         [&](std::int32_t one) { return point(one).label == removed; });
  };
  collect(block(removed));
  for (const Neighbour& other : near(removed)) collect(block(other.second));
  if (std::ssize(members) < cluster(removed).points) {  // some have come from far away
    members.clear();
    collect(order_);
  }
  double gain = 0;
  cluster(removed).mass = 0;  // so that its mean stays until all points have left
  for (const std::int32_t one : members) {
    remember(one);
    Choice choice{};
    choose(one, choice);
    gain += weight(one) * static_cast<double>(distance(row(one), mean(removed)) - choice.joins);
    move(one, choice.cluster);
    cluster(removed).mass = 0;
  }
  return gain;
}

/// Updates the lists of neighbours after a mean has moved to a place near the means of `places`. The first of these is
/// the nearest.
void LocalSearch::meet(std::int32_t removed, std::span<const std::int32_t> places) {
  std::vector<Neighbour> list;
  for (const std::int32_t place : places) {
    remember_cluster(place);
    const float apart = std::sqrt(distance(mean(removed), mean(place)));
    list.emplace_back(apart, place);
    const auto others = neighbours(place);
    auto found = std::ranges::find(others, removed, &Neighbour::second);
    if (found == others.end()) --found;
    *found = {apart, removed};
    sort(others);
  }
  for (const Neighbour& other : neighbours(places.front()))
    if (other.second != removed && std::ranges::find(places, other.second) == places.end()) list.push_back(other);
  sort(list);
  list.resize(neighbour_count_, list.back());
  std::ranges::copy(list, neighbours(removed).begin());
}

/// Moves a point to a cluster if its mean is nearer. Returns the gain.
double LocalSearch::join(std::int32_t number, std::int32_t target) {
  Point& one = point(number);
  const double w = weight(number);
  const Cluster& home = cluster(one.label);
  if (one.label == target || !(home.mass > 1.5 * w)) return 0;
  const float away = distance(row(number), mean(target));
  if (away < 1.1F * one.own) {
    const float own = distance(row(number), mean(one.label));
    if (away < own) {
      const double mass = cluster(target).mass;
      const double gain = w * (static_cast<double>(own) * (home.mass / (home.mass - w)) -
                               static_cast<double>(away) * (mass / (mass + w)));
      move(number, target);
      return gain;
    }
  }
  const float gap = home.shift + std::sqrt(away) - std::sqrt(one.own);
  if (!(gap < one.gap)) return 0;
  remember(number);
  one.gap = gap;
  one.bound = -1;
  if (std::ranges::find(one.others, target) == std::end(one.others)) one.others[most_others - 1] = target;
  return 0;
}

/// Empties a cluster and moves its mean to a point. Returns the gain after transfers.
double LocalSearch::attempt(std::int32_t centre, std::int32_t removed) {
  ++attempts_;
  old_points_.clear();
  old_clusters_.clear();
  const std::int32_t home = point(centre).label;
  double gain = disperse(removed);
  set_mean(removed, row(centre));
  mark_moved(removed);
  std::vector<std::int32_t> places = {home};
  for (const Neighbour& other : near(home))
    if (other.second != removed) places.push_back(other.second);
  meet(removed, places);
  gain += join(centre, removed);
  for (const std::int32_t one : block(removed)) gain += join(one, removed);
  for (const std::int32_t place : places)
    for (const std::int32_t one : block(place)) gain += join(one, removed);
  for (int passes = 0; passes < most_passes_of_attempt; ++passes) {
    const double more = pass();
    gain += more;
    if (!(more > least_gain_of_pass_of_attempt * inertia_) || gain + hope * more < 0) break;
  }
  return gain;
}

void LocalSearch::exchange(const core::Philox& random, std::int64_t work) {
  if (work_ >= work) return;
  settle();
  value();
  const std::size_t k = clusters_.size();
  std::vector<Neighbour> candidates;  // with their gains, negative
  for (std::uint64_t index = 0; index < std::clamp<std::size_t>(k, 8, 64); ++index) {
    const auto found = std::ranges::upper_bound(costs_, random.uniform(index) * costs_.back()) - costs_.begin();
    const auto centre = static_cast<std::int32_t>(std::min(found, std::ssize(costs_) - 1));
    candidates.emplace_back(static_cast<float>(-gain_at(centre)), centre);
  }
  sort(candidates);
  // In many columns, a point is so far from all others that its gain says little about the gain after transfers.
  const double least_ratio = std::min(0.25, 2 / static_cast<double>(columns_));
  std::vector<bool> is_used(k);
  is_undoable_ = true;
  for (const auto& [loss, centre] : candidates) {
    if (work_ >= work) break;
    const std::size_t home = at(point(centre).label);
    if (is_used[home]) continue;
    is_used[home] = true;
    std::size_t removed = home == 0 ? 1 : 0;
    for (std::size_t one = 0; one < k; ++one)
      if (one != home && prices_[one] < prices_[removed]) removed = one;
    if (!(static_cast<double>(-loss) > least_ratio * prices_[removed])) continue;
    const double gain = attempt(centre, static_cast<std::int32_t>(removed));
    if (gain > least_gain_of_attempt * inertia_) {
      is_used[removed] = true;
      gain_ += gain;
      settle();
      value();
    } else {
      undo();
      prices_[removed] *= 2;  // the next attempt tries another one
    }
  }
  is_undoable_ = false;
  polish();
}

}  // namespace gradus::kmeans_detail
