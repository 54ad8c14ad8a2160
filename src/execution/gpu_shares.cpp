#include "execution/gpu_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/text.hpp"
#include "execution/devices.hpp"
#include "execution/request.hpp"
#include "gradus/error.hpp"

#ifdef GRADUS_HAS_CUDA
#include "cuda/check.hpp"
#endif

namespace gradus::execution {

namespace {

/// Returns the largest number of rows, up to `most`, for which a part has room, or 0.
std::int64_t room_of(std::size_t part, const PartGpu& gpu, std::int64_t most, const PartMemory& needed) {
  if (needed(part, most) <= gpu.memory_bytes) return most;
  std::int64_t fits = 0;
  std::int64_t fails = most;
  while (fails - fits > 1) {
    const std::int64_t middle = fits + (fails - fits) / 2;
    (needed(part, middle) <= gpu.memory_bytes ? fits : fails) = middle;
  }
  return fits;
}

void require_room(std::size_t part, const PartGpu& gpu, std::int64_t room, const PartMemory& needed) {
  if (room > 0) return;
  throw OutOfMemoryError(about("gpus") + gpu.name + " has " + core::size_text(gpu.memory_bytes) +
                         " of memory for its part of the job, which needs " + core::size_text(needed(part, 1)) +
                         " there even for one row; leave this GPU out of the list");
}

/// Divides `units` in proportion to the speeds. No part gets fewer than one unit, or more than its limit. The limits
/// must suffice for all units together.
std::vector<std::int64_t> divide(std::int64_t units, std::span<const PartGpu> gpus,
                                 const std::vector<std::int64_t>& limits) {
  const std::size_t parts = gpus.size();
  std::vector<std::int64_t> shares(parts, 0);
  std::vector<bool> is_fixed(parts, false);
  std::int64_t left = units;
  double speed = 0;
  for (const PartGpu& gpu : gpus) speed += gpu.speed;
  const auto wanted = [&](std::size_t part) { return static_cast<double>(left) * (gpus[part].speed / speed); };
  // Fixes the parts that would get too much, which gives more to the others, until none gets too much.
  for (bool changes = true; changes;) {
    changes = false;
    for (std::size_t part = 0; part < parts; ++part) {
      if (is_fixed[part] || !(wanted(part) > static_cast<double>(limits[part]))) continue;
      is_fixed[part] = changes = true;
      shares[part] = limits[part];
      left -= limits[part];
      speed -= gpus[part].speed;
    }
  }
  std::vector<std::size_t> order(parts);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const std::size_t part : order)
    if (!is_fixed[part])
      shares[part] = std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted(part)), 1, limits[part]);
  // Rounding leaves a few units, or gives out a few too many. The fastest parts take and return them.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return gpus[a].speed > gpus[b].speed; });
  std::int64_t rest = units - std::reduce(shares.begin(), shares.end());
  while (rest != 0)
    for (const std::size_t part : order) {
      const std::int64_t step = rest > 0 ? 1 : -1;
      if (rest == 0 || shares[part] + step < 1 || shares[part] + step > limits[part]) continue;
      shares[part] += step;
      rest -= step;
    }
  return shares;
}

std::vector<RowRange> even_shares(std::int64_t rows, std::size_t parts) {
  std::vector<RowRange> shares;
  for (std::size_t part = 0; part < parts; ++part)
    shares.push_back(rows_of_rank(rows, static_cast<int>(part), static_cast<int>(parts)));
  return shares;
}

}  // namespace

std::vector<RowRange> shares_of_gpus(std::int64_t rows, std::span<const PartGpu> gpus, const PartMemory& needed) {
  const std::size_t parts = gpus.size();
  if (parts == 0) return {};
  std::vector<std::int64_t> room;
  for (std::size_t part = 0; part < parts; ++part) {
    room.push_back(room_of(part, gpus[part], rows, needed));
    require_room(part, gpus[part], room.back(), needed);
  }
  const bool suffices = [&] {
    double all = 0;
    for (const std::int64_t one : room) all += static_cast<double>(one);
    return all >= static_cast<double>(rows);
  }();
  if (!suffices) room.assign(parts, rows);
  const bool are_equal = std::ranges::all_of(gpus, [&](const PartGpu& gpu) { return gpu.speed == gpus.front().speed; });
  std::vector<RowRange> even = even_shares(rows, parts);
  const auto fits_even = [&] {
    for (std::size_t part = 0; part < parts; ++part)
      if (even[part].rows > room[part]) return false;
    return true;
  };
  if (are_equal && fits_even()) return even;
  // As in rows_of_rank(), shares of many rows begin at multiples of a granule, if all rooms allow it.
  constexpr std::int64_t granule_of_many = 1024;
  std::int64_t granule = rows / static_cast<std::int64_t>(parts) >= 16 * granule_of_many ? granule_of_many : 1;
  const auto units_of = [&](std::int64_t some) { return some / granule; };
  const auto units_suffice = [&] {
    std::int64_t all = 0;
    for (const std::int64_t one : room) {
      if (units_of(one) < 1) return false;
      all += std::min(units_of(one), units_of(rows));
    }
    return all >= units_of(rows) + 1;
  };
  if (granule > 1 && !units_suffice()) granule = 1;
  std::vector<std::int64_t> limits;
  for (const std::int64_t one : room) limits.push_back(units_of(one));
  // The last, incomplete granule counts as one unit.
  const std::vector<std::int64_t> shares = divide((rows + granule - 1) / granule, gpus, limits);
  std::vector<RowRange> ranges;
  std::int64_t first = 0;
  for (const std::int64_t share : shares) {
    const std::int64_t end = std::min(rows, first + share * granule);
    ranges.push_back({first, end - first});
    first = end;
  }
  return ranges;
}

std::vector<PartGpu> part_gpus(std::span<const int> gpus) {
  std::vector<PartGpu> parts;
  for (const int index : gpus) {
    const Gpu& gpu = require_gpu(this_machine(), index);
    const auto sharers = std::max<std::int64_t>(1, std::ranges::count(gpus, index));
    PartGpu part{.name = gpu_number(index) + " (" + gpu.name + ")"};
    part.memory_bytes = gpu.memory_bytes / static_cast<std::uint64_t>(sharers);
#ifdef GRADUS_HAS_CUDA
    int kilohertz = 0;
    cuda::check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, index), "cudaDeviceGetAttribute");
    part.speed = static_cast<double>(std::max(gpu.multiprocessors, 1)) * std::max(kilohertz, 1);
#endif
    part.speed /= static_cast<double>(sharers);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace gradus::execution
