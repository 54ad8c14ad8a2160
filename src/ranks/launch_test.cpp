// Tests what torchrun's environment variables mean, and how a process notices the end of another one.
#include "ranks/launch.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ranks/peer_process.hpp"
#include "tests/helpers.hpp"

namespace gradus::core {
namespace {

using Environment = std::map<std::string, std::string>;

const Environment valid{
    {"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};

Environment changed(const Environment& changes) {
  Environment environment = valid;
  for (const auto& [name, value] : changes) environment[name] = value;
  return environment;
}

Environment without(const std::vector<std::string>& names) {
  Environment environment = valid;
  for (const std::string& name : names) environment.erase(name);
  return environment;
}

std::optional<Launch> launch_of(const Environment& environment) {
  return launch_in([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, ReadsThePlaceOfTheProcess) {
  const std::optional<Launch> launch = launch_of(valid);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->size, 4);
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->meeting_point, "node7:29501");
}

TEST(Launch, NeedsNoLocalRank) {
  EXPECT_EQ(launch_of(without({"LOCAL_RANK"}))->local_rank, 3);
  EXPECT_EQ(launch_of(changed({{"LOCAL_RANK", ""}}))->local_rank, 3);
}

TEST(Launch, MeetsAtAnotherAddress) {
  EXPECT_EQ(launch_of(changed({{"MASTER_ADDR", "fe80::1"}}))->meeting_point, "[fe80::1]:29501");
  EXPECT_EQ(launch_of(changed({{"MASTER_ADDR", "[::1]"}}))->meeting_point, "[::1]:29501");
  Environment chosen = without({"MASTER_ADDR", "MASTER_PORT"});
  chosen["NCCL_COMM_ID"] = "10.0.0.1:4000";
  EXPECT_EQ(launch_of(chosen)->meeting_point, "10.0.0.1:4000");
}

TEST(Launch, IsNothingForASingleProcess) {
  for (const Environment& environment :
       {Environment{}, changed({{"WORLD_SIZE", "1"}}), changed({{"WORLD_SIZE", "1"}, {"RANK", "x"}}),
        without({"WORLD_SIZE"}), changed({{"WORLD_SIZE", ""}})})
    EXPECT_FALSE(launch_of(environment));
}

TEST(Launch, RefusesInvalidVariables) {
  struct Row {
    Environment environment;
    std::string says;
  };
  for (const Row& row : std::vector<Row>{
           {without({"RANK"}), "RANK is not set, but WORLD_SIZE is '4'"},
           {without({"RANK", "LOCAL_RANK"}), "RANK is not set, but WORLD_SIZE is '4'"},
           {Environment{{"WORLD_SIZE", "4"}}, "RANK is not set, but WORLD_SIZE is '4'"},
           {without({"MASTER_ADDR"}), "MASTER_ADDR is not set"},
           {without({"MASTER_PORT"}), "MASTER_PORT is not set"},
           {changed({{"MASTER_ADDR", ""}}), "MASTER_ADDR is not set"},
           {changed({{"WORLD_SIZE", "four"}}), "WORLD_SIZE is 'four'"},
           {changed({{"WORLD_SIZE", "0"}}), "WORLD_SIZE is '0', but it must be an integer from 1"},
           {changed({{"WORLD_SIZE", "-2"}}), "WORLD_SIZE is '-2'"},
           {changed({{"WORLD_SIZE", "99999999999"}}), "WORLD_SIZE is '99999999999'"},
           {changed({{"RANK", "4"}}), "RANK is '4', but it must be an integer from 0 to 3"},
           {changed({{"RANK", "-1"}}), "RANK is '-1'"},
           {changed({{"RANK", "3 "}}), "RANK is '3 '"},
           {changed({{"RANK", "2.5"}}), "RANK is '2.5'"},
           {changed({{"LOCAL_RANK", "4"}}), "LOCAL_RANK is '4', but it must be an integer from 0 to 3"},
           {changed({{"MASTER_PORT", "0"}}), "MASTER_PORT is '0'"},
           {changed({{"MASTER_PORT", "65535"}}), "MASTER_PORT is '65535', but it must be an integer from 1 to 65534"},
           {changed({{"MASTER_PORT", "http"}}), "MASTER_PORT is 'http'"}}) {
    const std::string message = tests::error_of<UsageError>([&] { launch_of(row.environment); });
    EXPECT_NE(message.find(row.says), std::string::npos) << row.says << "\n" << message;
    EXPECT_NE(message.find("unset WORLD_SIZE"), std::string::npos) << message;
  }
}

TEST(PeerProcess, RunsUntilItHasEnded) {
  EXPECT_FALSE(has_ended(this_process()));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  PeerProcess process = this_process();
  process.number = child;
  process.start = start_of(child);
  EXPECT_TRUE(share_machine(process, this_process()));
  EXPECT_FALSE(has_ended(process));
  PeerProcess earlier = process;  // had the same number
  earlier.start += 1;
  EXPECT_TRUE(has_ended(earlier));
  PeerProcess elsewhere = process;
  elsewhere.boot.front() ^= 1;
  EXPECT_FALSE(share_machine(elsewhere, this_process()));
  EXPECT_FALSE(has_ended(elsewhere));
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(has_ended(process));  // a zombie
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(has_ended(process));
}

}  // namespace
}  // namespace gradus::core
