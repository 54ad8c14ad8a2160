// Tests that every function gives the same result for a job without ranks and for a job on several ranks.
// Ranks::alone() runs work() unchanged and does not catch its exceptions.
#include "ranks/ranks.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/thread_ranks.hpp"

namespace gradus::core {
namespace {

/// The results of all functions, called by ranks that share `items` items.
struct Answers {
  std::vector<std::uint64_t> sum;
  double greatest = 0;
  std::vector<double> greatest_of_some;
  std::uint64_t added = 0;
  double accumulated = 0;
  std::vector<std::int64_t> from_first;
  std::vector<int> exchanged;
  std::int64_t all_rows = 0;
  std::vector<double> rows;

  bool operator==(const Answers&) const = default;
};

Answers answers_of(Ranks& ranks, int items) {
  Answers answers;
  std::vector<int> own;
  for (int item = 0; item < items; ++item)
    if (item * ranks.size() / items == ranks.rank()) own.push_back(item);
  answers.sum = ranks.sum(2, [&](std::span<std::uint64_t> words) {
    words[0] = own.size();
    for (const int item : own) words[1] += static_cast<std::uint64_t>(item);
  });
  answers.greatest = ranks.greatest([&] { return own.empty() ? -1.0 : own.back(); });
  answers.greatest_of_some = ranks.greatest(2, [&](std::span<double> numbers) {
    for (const int item : own) numbers[0] = std::max(numbers[0], static_cast<double>(item % 5));
    numbers[1] = -2;
  });
  std::uint64_t total = 0;
  ranks.add_up(
      1, [&] { total = std::accumulate(own.begin(), own.end(), std::uint64_t{0}); },
      [&](std::span<std::uint64_t> words) { words[0] = total; },
      [&](std::span<const std::uint64_t> words) { total = words[0]; });
  answers.added = total;
  ExactAccumulator tenths;
  ranks.add_up(
      accumulator_limbs,
      [&] {
        for (const int item : own) tenths.add(0.1 * item);
      },
      [&](std::span<std::uint64_t> words) { Ranks::put(std::span(&tenths, 1), words); },
      [&](std::span<const std::uint64_t> words) { Ranks::take(words, std::span(&tenths, 1)); });
  answers.accumulated = tenths.round<double>();
  answers.from_first = ranks.from(0, [] { return std::vector<std::int64_t>{3, 1, 4}; });
  for (const int count : ranks.gather([&] { return static_cast<int>(own.size()); })) answers.added += count > 1000;
  ranks.exchange(
      1, [&](std::span<std::byte> bytes) { bytes[0] = static_cast<std::byte>(ranks.is_first() ? 7 : 0); },
      [&](int rank, std::span<const std::byte> bytes) {
        if (rank == 0) answers.exchanged.push_back(static_cast<int>(bytes[0]));
      });
  const RankRows rows(ranks, std::ssize(own));
  answers.all_rows = rows.all();
  Matrix<double> own_rows(rows.own(), 2);
  for (std::int64_t row = 0; row < rows.own(); ++row)
    for (std::int64_t dim = 0; dim < 2; ++dim)
      own_rows(row, dim) = static_cast<double>(10 * (rows.first() + row) + dim);
  const std::vector<std::int64_t> numbers{items - 1, 0, items / 2};
  const Matrix<double> some = rows.rows_at(std::span(numbers), std::as_const(own_rows).view());
  answers.rows.assign(some.data(), some.data() + 6);
  return answers;
}

TEST(Ranks, AloneGiveTheAnswersOfSeveral) {
  constexpr int items = 13;
  const Answers alone = answers_of(Ranks::alone(), items);
  EXPECT_EQ(alone.sum, (std::vector<std::uint64_t>{13, 78}));
  EXPECT_EQ(alone.rows, (std::vector<double>{120, 121, 0, 1, 60, 61}));
  for (const int size : {1, 2, 5}) {
    tests::ThreadRanks threads(size);
    for (const std::exception_ptr& thrown : threads.run([&](Communicator& communicator) {
           Ranks ranks(communicator, {});
           EXPECT_EQ(answers_of(ranks, items), alone) << size << " ranks";
         }))
      EXPECT_EQ(thrown, nullptr);
  }
}

TEST(Ranks, AgreeReturnsWhatTheWorkReturnsHere) {
  int number = 3;
  const auto check = [&](Ranks& ranks) {
    EXPECT_EQ(&ranks.agree([&]() -> int& { return number; }), &number);
    EXPECT_EQ(ranks.agree([&] { return std::to_string(ranks.rank()); }), std::to_string(ranks.rank()));
    bool has_run = false;
    ranks.agree([&] { has_run = true; });
    EXPECT_TRUE(has_run);
    EXPECT_TRUE(ranks.any([&] { return ranks.rank() == ranks.size() - 1; }));
    EXPECT_FALSE(ranks.any([] { return false; }));
  };
  check(Ranks::alone());
  tests::ThreadRanks threads(3);
  for (const std::exception_ptr& thrown : threads.run([&](Communicator& communicator) {
         Ranks ranks(communicator, {});
         check(ranks);
       }))
    EXPECT_EQ(thrown, nullptr);
}

TEST(Ranks, AloneLetThrownExceptionsPass) {
  const auto thrown_by = [](const auto& call) {
    return tests::error_of<InputError>([&] { call([]() -> double { throw InputError("it cannot be"); }); });
  };
  Ranks& alone = Ranks::alone();
  EXPECT_EQ(thrown_by([&](const auto& work) { alone.agree(work); }), "it cannot be");
  EXPECT_EQ(thrown_by([&](const auto& work) { alone.greatest(work); }), "it cannot be");
  EXPECT_EQ(thrown_by([&](const auto& work) { alone.gather(work); }), "it cannot be");
  EXPECT_EQ(thrown_by([&](const auto& work) { alone.run(work); }), "it cannot be");
  EXPECT_EQ(thrown_by([&](const auto& work) {
              alone.sum(1, [&](std::span<std::uint64_t> words) { words[0] = static_cast<std::uint64_t>(work()); });
            }),
            "it cannot be");
}

// Each rank combines a share of the words. The test has fewer words than ranks, and numbers of words that are not
// multiples of the number of ranks.
TEST(ThreadGroup, CombinesAnyNumberOfWords) {
  for (const int size : {1, 2, 3, 7}) {
    ThreadGroup group(size);
    group.run([&](Communicator& communicator) {
      for (const std::size_t count : {0, 1, 2, 5, 1000}) {
        std::vector<std::uint64_t> words(count);
        std::vector<double> numbers(count);
        for (std::size_t index = 0; index < count; ++index) {
          words[index] = ~std::uint64_t{0} - index + static_cast<std::uint64_t>(communicator.rank());
          numbers[index] = static_cast<double>((index + static_cast<std::size_t>(communicator.rank())) % 5);
        }
        std::vector<double> least = numbers;
        communicator.sum(words);
        communicator.greatest(numbers);
        communicator.least(least);
        for (std::size_t index = 0; index < count; ++index) {
          const auto ranks = static_cast<std::uint64_t>(size);
          EXPECT_EQ(words[index], ranks * (~std::uint64_t{0} - index) + ranks * (ranks - 1) / 2);
          double most = 0;
          double fewest = 4;
          for (std::size_t rank = 0; rank < ranks; ++rank) {
            most = std::max(most, static_cast<double>((index + rank) % 5));
            fewest = std::min(fewest, static_cast<double>((index + rank) % 5));
          }
          EXPECT_EQ(numbers[index], most);
          EXPECT_EQ(least[index], fewest);
        }
      }
    });
    EXPECT_FALSE(group.has_ended());
  }
}

TEST(ThreadGroup, ReportsTheErrorAndNotItsConsequences) {
  for (int culprit = 0; culprit < 4; ++culprit) {
    ThreadGroup group(4);
    EXPECT_EQ(tests::error_of<InputError>([&] {
                group.run([&](Communicator& communicator) {
                  std::vector<std::uint64_t> words(1);
                  communicator.sum(words);
                  if (communicator.rank() == culprit) throw InputError("row 7 is bad");
                  communicator.sum(words);
                });
              }),
              "row 7 is bad");
    EXPECT_TRUE(group.has_ended());
  }
}

TEST(ThreadGroup, RunsOneJobAfterAnother) {
  ThreadGroup group(3);
  for (int job = 0; job < 50; ++job) {
    std::vector<std::uint64_t> sums(3);
    group.run([&](Communicator& communicator) {
      std::vector<std::uint64_t> words{static_cast<std::uint64_t>(job)};
      communicator.sum(words);
      sums[static_cast<std::size_t>(communicator.rank())] = words[0];
    });
    EXPECT_EQ(sums, std::vector<std::uint64_t>(3, static_cast<std::uint64_t>(3 * job)));
  }
}

}  // namespace
}  // namespace gradus::core
