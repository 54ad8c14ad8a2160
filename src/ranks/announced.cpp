#include "ranks/announced.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "gradus/error.hpp"

namespace gradus::core {

struct AnnouncedCommunicator::Announcement {
  Kind kind{};
  int rank = 0;
  std::int64_t root = 0;
  std::uint64_t call = 0;   ///< number of the call, which detects old data
  std::uint64_t bytes = 0;  ///< bytes of this rank
  std::array<std::byte, 480> data{};
};

AnnouncedCommunicator::AnnouncedCommunicator(Transport& transport)
    : transport_(transport), announcements_(static_cast<std::size_t>(transport.size())) {}

AnnouncedCommunicator::~AnnouncedCommunicator() = default;

void AnnouncedCommunicator::end(std::string why) {
  why_ended_ = std::move(why);
  throw Error(why_ended_);
}

void AnnouncedCommunicator::require_same(const Announcement& own) {
  for (int rank = 0; rank < size(); ++rank) {
    const Announcement& other = announcements_[static_cast<std::size_t>(rank)];
    if (other.rank != rank || other.call != own.call)
      end("the data of rank " + std::to_string(rank) + " have not arrived in their place");
  }
  for (int rank = 0; rank < size(); ++rank) {
    const Announcement& other = announcements_[static_cast<std::size_t>(rank)];
    if (other.kind == own.kind && other.bytes == own.bytes && other.root == own.root) continue;
    if (other.kind == Kind::end) end("rank " + std::to_string(rank) + " has ended before the job was complete");
    if (own.kind == Kind::end) end("rank " + std::to_string(rank) + " still waits for data of this rank");
    end("the calls of rank " + std::to_string(rank) + " and of this rank differ");
  }
}

bool AnnouncedCommunicator::announce(Kind kind, std::span<const std::byte> data, int root) {
  if (!why_ended_.empty()) throw Error(why_ended_);
  Announcement own;
  own.kind = kind;
  own.rank = rank();
  own.root = root;
  own.call = ++calls_;
  own.bytes = data.size();
  const bool is_small = data.size() <= own.data.size();
  if (is_small) std::ranges::copy(data, own.data.begin());
  try {
    transport_.gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(announcements_)));
  } catch (const Error& error) {
    end(error.what());
  }
  require_same(own);
  return is_small;
}

template <class Number, class Combine>
bool AnnouncedCommunicator::combine(Kind kind, std::span<Number> numbers, const Combine& combine_two) {
  if (!announce(kind, std::as_bytes(numbers))) return false;
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    const auto number_of = [&](const Announcement& one) {
      Number number;
      std::memcpy(&number, one.data.data() + index * sizeof number, sizeof number);
      return number;
    };
    Number result = number_of(announcements_.front());
    for (std::size_t rank = 1; rank < announcements_.size(); ++rank)
      result = combine_two(result, number_of(announcements_[rank]));
    numbers[index] = result;
  }
  return true;
}

void AnnouncedCommunicator::sum(std::span<std::uint64_t> words) {
  if (!combine(Kind::sum, words, [](std::uint64_t a, std::uint64_t b) { return a + b; })) transport_.sum(words);
}

void AnnouncedCommunicator::least(std::span<double> numbers) {
  if (!combine(Kind::least, numbers, [](double a, double b) { return std::min(a, b); })) transport_.least(numbers);
}

void AnnouncedCommunicator::greatest(std::span<double> numbers) {
  if (!combine(Kind::greatest, numbers, [](double a, double b) { return std::max(a, b); }))
    transport_.greatest(numbers);
}

void AnnouncedCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  if (!announce(Kind::broadcast, bytes, root)) return transport_.broadcast(bytes, root);
  std::copy_n(announcements_[static_cast<std::size_t>(root)].data.begin(), bytes.size(), bytes.begin());
}

void AnnouncedCommunicator::gather(std::span<const std::byte> own, std::span<std::byte> all) {
  if (!announce(Kind::gather, own)) return transport_.gather(own, all);
  auto to = all.begin();
  for (const Announcement& one : announcements_) to = std::copy_n(one.data.begin(), own.size(), to);
}

void AnnouncedCommunicator::give_up() noexcept {
  if (has_ended()) return;
  constexpr double patience = 5;
  try {
    transport_.set_limit(patience);
    announce(Kind::end, {});
  } catch (const std::exception&) {
    if (transport_.has_ended()) std::_Exit(1);
  }
  if (why_ended_.empty()) why_ended_ = "this rank has given up";
}

bool AnnouncedCommunicator::meet(int own, std::span<int> all, double seconds) noexcept {
  try {
    transport_.set_limit(seconds);
    announce(Kind::end, std::as_bytes(std::span(&own, 1)));
    for (std::size_t rank = 0; rank < announcements_.size(); ++rank)
      std::memcpy(&all[rank], announcements_[rank].data.data(), sizeof own);
    transport_.set_limit(0);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace gradus::core
