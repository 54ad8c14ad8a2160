// Tests ranks that announce their calls, with threads as ranks and with transports that have faults.
#include "ranks/announced.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "ranks/ranks.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus::core {
namespace {

/// A transport to the threads of a group.
class ThreadTransport : public Transport {
 public:
  explicit ThreadTransport(Communicator& to) : to_(to) {}

  int rank() const override { return to_.rank(); }
  int size() const override { return to_.size(); }
  int neighbours() const override { return to_.neighbours(); }
  void sum(std::span<std::uint64_t> words) override { count(), to_.sum(words); }
  void least(std::span<double> numbers) override { count(), to_.least(numbers); }
  void greatest(std::span<double> numbers) override { count(), to_.greatest(numbers); }
  void broadcast(std::span<std::byte> bytes, int root) override { count(), to_.broadcast(bytes, root); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override { count(), to_.gather(own, all); }
  void give_up() noexcept override { to_.give_up(); }
  void set_limit(double) override {}
  int calls() const { return calls_; }

 protected:
  void count() { ++calls_; }
  Communicator& to_;

 private:
  int calls_ = 0;
};

/// Returns the answers of all functions for items of some size.
std::vector<double> answers_of(Communicator& communicator, std::size_t items) {
  const int rank = communicator.rank();
  std::vector<double> answers;
  std::vector<std::uint64_t> words(items, static_cast<std::uint64_t>(rank) + (std::uint64_t{1} << 63));
  communicator.sum(words);
  answers.insert(answers.end(), words.begin(), words.end());
  std::vector<double> numbers(items);
  std::iota(numbers.begin(), numbers.end(), rank % 2 == 0 ? -rank : rank);
  std::vector<double> least = numbers;
  communicator.least(least);
  answers.insert(answers.end(), least.begin(), least.end());
  communicator.greatest(numbers);
  answers.insert(answers.end(), numbers.begin(), numbers.end());
  std::vector<std::uint16_t> sent(items * 4, static_cast<std::uint16_t>(rank + 7));
  communicator.broadcast(std::as_writable_bytes(std::span(sent)), communicator.size() - 1);
  answers.insert(answers.end(), sent.begin(), sent.end());
  std::vector<std::uint16_t> own(items * 4, static_cast<std::uint16_t>(rank + 1));
  std::vector<std::uint16_t> all(own.size() * static_cast<std::size_t>(communicator.size()));
  communicator.gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  answers.insert(answers.end(), all.begin(), all.end());
  return answers;
}

TEST(AnnouncedCommunicator, GivesTheAnswersOfItsTransport) {
  for (const int size : {1, 2, 3, 5}) {
    for (const std::size_t items :
         {std::size_t{0}, std::size_t{1}, std::size_t{60}, std::size_t{61}, std::size_t{5000}}) {
      tests::ThreadRanks ranks(size);
      for (const std::exception_ptr& error : ranks.run([&](Communicator& plain) {
             ThreadTransport transport(plain);
             AnnouncedCommunicator announced(transport);
             EXPECT_EQ(answers_of(announced, items), answers_of(plain, items));
             EXPECT_EQ(transport.calls(), items > 60 ? 10 : 5);  // small data travel with the announcement
             EXPECT_EQ(announced.rank(), plain.rank());
             EXPECT_EQ(announced.neighbours(), size);
             EXPECT_FALSE(announced.has_ended());
           }))
        EXPECT_FALSE(error);
    }
  }
}

/// Expects that all ranks throw an error that contains the text, then and in all later calls.
void expect_end(int size, const std::function<Transport*(Communicator&)>& transport_of,
                const std::function<void(Communicator&)>& call, const std::string& says) {
  tests::ThreadRanks ranks(size);
  std::atomic<int> ended = 0;
  ranks.run([&](Communicator& plain) {
    const std::unique_ptr<Transport> transport(transport_of(plain));
    AnnouncedCommunicator announced(*transport);
    std::vector<std::uint64_t> words{1};
    announced.sum(words);
    const std::string first = tests::error_of<Error>([&] { call(announced); });
    EXPECT_NE(first.find(says), std::string::npos) << first;
    EXPECT_TRUE(announced.has_ended());
    EXPECT_EQ(tests::error_of<Error>([&] { announced.sum(words); }), first);
    std::vector<int> all(static_cast<std::size_t>(size));
    EXPECT_FALSE(announced.meet(0, all, 1));
    ++ended;
  });
  EXPECT_EQ(ended, size);
}

Transport* plain_transport(Communicator& plain) { return new ThreadTransport(plain); }

TEST(AnnouncedCommunicator, RefusesDifferentCalls) {
  using Call = std::function<void(Communicator&)>;
  const auto with_words = [](std::size_t count) {
    return [count](Communicator& communicator) {
      std::vector<std::uint64_t> words(count);
      communicator.sum(words);
    };
  };
  const auto with_numbers = [](Communicator& communicator) {
    std::vector<double> numbers(2);
    communicator.least(numbers);
  };
  const auto from = [](int root) {
    return [root](Communicator& communicator) {
      std::vector<std::byte> bytes(16);
      communicator.broadcast(bytes, root);
    };
  };
  const std::vector<Call> calls{with_words(2), with_words(3), with_words(5000), with_numbers, from(0), from(1)};
  for (std::size_t one = 0; one < calls.size(); ++one)
    for (std::size_t other = 0; other < calls.size(); ++other)
      if (one != other)
        expect_end(
            3, plain_transport,
            [&](Communicator& communicator) { calls[communicator.rank() == 1 ? one : other](communicator); }, "differ");
}

TEST(AnnouncedCommunicator, ReportsARankThatEnds) {
  for (const bool gives_up : {true, false}) {
    tests::ThreadRanks ranks(3);
    std::atomic<int> informed = 0;
    ranks.run([&](Communicator& plain) {
      ThreadTransport transport(plain);
      AnnouncedCommunicator announced(transport);
      std::vector<std::uint64_t> words(5000);
      if (plain.rank() == 1) {
        std::vector<int> all(3);
        if (gives_up) announced.give_up();
        else EXPECT_FALSE(announced.meet(4, all, 1));
        EXPECT_TRUE(announced.has_ended());
        return;
      }
      const std::string message = tests::error_of<Error>([&] { announced.sum(words); });
      EXPECT_NE(message.find("rank 1 has ended before the job was complete"), std::string::npos) << message;
      ++informed;
    });
    EXPECT_EQ(informed, 2);
  }
}

TEST(AnnouncedCommunicator, MeetsAtTheEnd) {
  tests::ThreadRanks ranks(3);
  ranks.run([&](Communicator& plain) {
    ThreadTransport transport(plain);
    AnnouncedCommunicator announced(transport);
    for (const int factor : {1, 10}) {
      std::vector<int> all(3);
      EXPECT_TRUE(announced.meet(factor * (plain.rank() + 1), all, 1));
      EXPECT_EQ(all, (std::vector{factor, 2 * factor, 3 * factor}));
    }
  });
}

/// Loses the data of rank 1: the other ranks keep what they had.
class LossyTransport final : public ThreadTransport {
 public:
  using ThreadTransport::ThreadTransport;
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    const std::vector<std::byte> before(all.begin(), all.end());
    to_.gather(own, all);
    if (++calls_ > 1) std::copy_n(before.begin() + std::ssize(own), own.size(), all.begin() + std::ssize(own));
  }

 private:
  int calls_ = 0;
};

/// Exchanges the places of ranks 0 and 1.
class DisorderedTransport final : public ThreadTransport {
 public:
  using ThreadTransport::ThreadTransport;
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    to_.gather(own, all);
    if (++calls_ > 1) std::swap_ranges(all.begin(), all.begin() + std::ssize(own), all.begin() + std::ssize(own));
  }

 private:
  int calls_ = 0;
};

TEST(AnnouncedCommunicator, DetectsATransportThatLosesOrMixesData) {
  const auto call = [](Communicator& communicator) {
    std::vector<std::uint64_t> words(2);
    communicator.sum(words);
  };
  expect_end(
      3, [](Communicator& plain) -> Transport* { return new LossyTransport(plain); }, call,
      "the data of rank 1 have not arrived in their place");
  expect_end(
      2, [](Communicator& plain) -> Transport* { return new DisorderedTransport(plain); }, call,
      "the data of rank 0 have not arrived in their place");
}

TEST(AnnouncedCommunicator, CarriesErrorsOfRanks) {
  const std::string message = tests::common_error<InputError>(3, [](Communicator& plain) {
    ThreadTransport transport(plain);
    AnnouncedCommunicator announced(transport);
    Ranks ranks(announced, {});
    ranks.agree([&] {
      if (ranks.rank() == 2) throw InputError(std::string(700, 'x') + " is invalid");
    });
  });
  EXPECT_NE(message.find("x is invalid"), std::string::npos) << message;
}

}  // namespace
}  // namespace gradus::core
