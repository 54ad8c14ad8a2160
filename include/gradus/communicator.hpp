/// Communication between the ranks of a job. A rank is a process, or a thread of a process, that holds a part of the
/// rows. Each rank has an object of a class that implements this interface, and all ranks make the same calls in the
/// same order. gradus/mpi.hpp implements the interface for MPI.
///
/// The interface deliberately has no floating-point sum. The result of such a sum would depend on the order of the
/// additions, and therefore on how the rows are split. Integer sums, minima, maxima and gathers do not depend on the
/// split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gradus {

namespace execution {
class RankSums;
}

/// Operations for the ranks of a job. All operations except rank(), size(), neighbours(), give_up() and has_ended() are
/// collective: all ranks call them together, with spans of the same length. If another rank cannot be reached, the
/// operation throws gradus::Error, and every later operation throws it, too.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  ///< 0 to size() - 1
  virtual int size() const = 0;
  /// Returns the number of ranks on this rank's machine, including this rank. All of these ranks share the machine's
  /// CPU cores and memory.
  virtual int neighbours() const = 0;

  /// Replaces each word by its sum over all ranks, modulo 2^64.
  virtual void sum(std::span<std::uint64_t> words) = 0;
  /// Replaces each number by its minimum over all ranks. greatest() replaces each number by its maximum. The numbers
  /// must not be NaN. If -0 and 0 are both extreme, the result may be -0 or 0.
  virtual void least(std::span<double> numbers) = 0;
  virtual void greatest(std::span<double> numbers) = 0;
  /// Copies the bytes of rank `root` to all ranks.
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Concatenates the bytes `own` of all ranks, in rank order. Stores the result in `all` on every rank.
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;

  /// Reports that this rank cannot continue. If an operation of another rank waits for this rank, now or later, that
  /// operation throws an error. An implementation that cannot make the operation throw ends the processes instead.
  virtual void give_up() noexcept = 0;
  /// Returns true if another rank has given up. Then no later operation succeeds. Returns false if this rank cannot
  /// find out whether another rank has given up.
  virtual bool has_ended() const noexcept { return false; }

 private:
  friend class execution::RankSums;
  std::shared_ptr<execution::RankSums> gpu_sums_;  ///< made by the first job whose ranks all use GPUs
};

}  // namespace gradus
