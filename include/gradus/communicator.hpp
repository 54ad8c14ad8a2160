/// What the ranks of a job tell each other. Where the rows of a problem are split over several processes, or over
/// several threads of one, each of them is a rank: it has an object of a class like this one, and all of them make the
/// same calls in the same order. `gradus/mpi.hpp` has one for MPI.
///
/// There is no sum of floating-point numbers here, and there must not be: it would depend on its order, and with it the
/// results on how the rows are split. Sums of integers, the least and the greatest of numbers, and rows by their number
/// do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradus {

/// All calls but rank(), size(), neighbours() and give_up() are made by all ranks together, with spans of the same
/// length. They throw gradus::Error where the others cannot be reached any more, and from then on always.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  ///< 0 to size() - 1
  virtual int size() const = 0;
  /// How many of the ranks, this one included, share this one's machine: its processors and its memory.
  virtual int neighbours() const = 0;

  /// Each word becomes the sum of all ranks' words, modulo 2^64.
  virtual void sum(std::span<std::uint64_t> words) = 0;
  /// Each number becomes the least (greatest) of all ranks' numbers, none of which is NaN. Of -0 and 0 it is either.
  virtual void least(std::span<double> numbers) = 0;
  virtual void greatest(std::span<double> numbers) = 0;
  /// The bytes become those of the rank `root`.
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// `all` becomes the ranks' `own` bytes, one after the other in the order of the ranks; on each of them.
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;

  /// This rank cannot go on, and its next call will never come: the calls in which the others wait for it, or would
  /// wait, end with an error; or, where that cannot be, the processes end.
  virtual void give_up() noexcept = 0;
};

}  // namespace gradus
