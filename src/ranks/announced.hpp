// Ranks that announce each call to each other before they make it. Used for transports that hang or mix data if the
// calls of the ranks differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradus/communicator.hpp"

namespace gradus::core {

/// A communicator that compares no calls. All calls throw gradus::Error after one has failed.
class Transport : public Communicator {
 public:
  /// Sets the time that a call may wait for the other ranks, in seconds; 0: no limit. A call that waits longer throws
  /// gradus::Error.
  virtual void set_limit(double seconds) = 0;
};

/// Forwards calls to a transport. Before each call, the ranks gather an announcement of the call, which also contains
/// the data if it is small. If the announcements differ, or if one of them is missing or in a wrong place, all ranks
/// throw Error, and so do all later calls. A rank that ends or gives up announces this too, so that the other ranks do
/// not wait for it.
class AnnouncedCommunicator final : public Communicator {
 public:
  explicit AnnouncedCommunicator(Transport& transport);
  ~AnnouncedCommunicator() override;

  int rank() const override { return transport_.rank(); }
  int size() const override { return transport_.size(); }
  int neighbours() const override { return transport_.neighbours(); }
  void sum(std::span<std::uint64_t> words) override;
  void least(std::span<double> numbers) override;
  void greatest(std::span<double> numbers) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override;
  /// Announces the end to the other ranks. If they do not arrive in another call within five seconds, ends the process,
  /// because they may wait in work on a GPU that only the end of the process interrupts.
  void give_up() noexcept override;
  bool has_ended() const noexcept override { return !why_ended_.empty() || transport_.has_ended(); }

  /// Called by a rank at its end. Waits for the ends of all ranks, at most for `seconds` (0: no limit), and gathers the
  /// `own` value of each rank into all[rank]. Returns false if a rank does not arrive. Then all later calls of the
  /// ranks fail.
  bool meet(int own, std::span<int> all, double seconds) noexcept;

 private:
  struct Announcement;
  enum class Kind : std::uint32_t { sum = 1, least, greatest, broadcast, gather, end };

  /// Announces the call and `data`. Returns true if the data of all ranks are in announcements_.
  bool announce(Kind kind, std::span<const std::byte> data, int root = 0);
  void require_same(const Announcement& own);
  [[noreturn]] void end(std::string why);
  template <class Number, class Combine>
  bool combine(Kind kind, std::span<Number> numbers, const Combine& combine_two);

  Transport& transport_;
  std::vector<Announcement> announcements_;  ///< announcements of all ranks, by rank
  std::uint64_t calls_ = 0;
  std::string why_ended_;
};

}  // namespace gradus::core
