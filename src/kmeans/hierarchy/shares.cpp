#include "kmeans/hierarchy/shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/philox.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Gives each part its share of `rest` in proportion to its rows, rounded down, and the remainder to the parts that
/// lost most by rounding. On ties, the lower part is first. `total` is the sum of the rows.
void add_proportional_shares(std::span<const std::int64_t> rows, const std::vector<std::size_t>& parts,
                             std::int64_t rest, std::int64_t total, std::vector<std::int64_t>& shares) {
  std::vector<std::pair<std::int64_t, std::size_t>> losses;
  std::int64_t left = rest;
  for (const std::size_t part : parts) {
    const core::UInt128 product = static_cast<core::UInt128>(rows[part]) * static_cast<std::uint64_t>(rest);
    const auto share = static_cast<std::int64_t>(product / static_cast<std::uint64_t>(total));
    shares[part] += share;
    left -= share;
    losses.emplace_back(-static_cast<std::int64_t>(product % static_cast<std::uint64_t>(total)), part);
  }
  std::ranges::sort(losses);
  for (std::int64_t index = 0; index < left; ++index) ++shares[losses[static_cast<std::size_t>(index)].second];
}

}  // namespace

std::int64_t part_count(std::int64_t clusters) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(clusters)));
  while (root * root < clusters) ++root;
  return root;
}

std::vector<std::int64_t> shares_of_parts(std::span<const std::int64_t> rows, std::span<const std::int64_t> limits,
                                          std::int64_t clusters) {
  std::vector<std::int64_t> shares(rows.size());
  for (std::size_t part = 0; part < rows.size(); ++part) shares[part] = rows[part] > 0 ? 1 : 0;
  std::int64_t rest = clusters - std::reduce(shares.begin(), shares.end());
  for (;;) {
    std::vector<std::size_t> open;
    std::int64_t total = 0;
    for (std::size_t part = 0; part < rows.size(); ++part)
      if (shares[part] < limits[part]) {
        open.push_back(part);
        total += rows[part];
      }
    if (rest == 0 || open.empty()) return shares;
    // Parts whose share would reach their limit get the limit, and the others share what is left.
    std::int64_t given = 0;
    for (const std::size_t part : open) {
      const std::int64_t room = limits[part] - shares[part];
      if (static_cast<core::UInt128>(rows[part]) * static_cast<std::uint64_t>(rest) <
          static_cast<core::UInt128>(room) * static_cast<std::uint64_t>(total))
        continue;
      shares[part] = limits[part];
      given += room;
    }
    if (given == 0) {
      add_proportional_shares(rows, open, rest, total, shares);
      return shares;
    }
    rest -= given;
  }
}

}  // namespace gradus::kmeans_detail
