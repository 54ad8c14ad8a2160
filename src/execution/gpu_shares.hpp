// The division of rows among several GPUs: in proportion to their speeds, limited by their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gradus/rows_of_rank.hpp"

namespace gradus::execution {

/// The GPU of one part of a job. If several parts share a GPU, each part has its share of speed and memory.
struct PartGpu {
  std::string name;                                                        ///< for messages
  double speed = 1;                                                        ///< above zero; only ratios matter
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();  ///< memory that the part may use
};

/// Returns the GPU memory, in bytes, that a part needs for this number of rows. Must not fall if the rows become more.
using PartMemory = std::function<std::uint64_t(std::size_t part, std::int64_t rows)>;

/// Returns consecutive rows for each part, in the order of the parts. Each part gets at least one row, so there must be
/// at least as many rows as parts. GPUs of equal speed that have room for it get the even shares of rows_of_rank(). A
/// GPU without room for its share leaves rows to the others. If all of them together have no room for the rows,
/// memory is ignored, so that the job itself can report it. Throws OutOfMemoryError if a part has no room for one row.
std::vector<RowRange> shares_of_gpus(std::int64_t rows, std::span<const PartGpu> gpus, const PartMemory& needed);

/// Returns the GPU of each part of a job on these GPUs. The speed is the number of multiprocessors times their clock
/// rate, and the memory is all memory of the GPU. Throws UnsupportedError if a GPU does not exist.
std::vector<PartGpu> part_gpus(std::span<const int> gpus);

}  // namespace gradus::execution
