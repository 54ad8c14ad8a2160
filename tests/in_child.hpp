// Runs jobs in forked child processes.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "gradus/error.hpp"

namespace gradus::tests {

/// Runs `job` in a forked child. Returns "" for success, the message of an UnsupportedError, or a description of how
/// the child ended.
inline std::string in_child(const std::function<bool()>& job) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(60);
    int status = 1;
    std::string message;
    try {
      status = job() ? 0 : 1;
    } catch (const UnsupportedError& error) {
      message = error.what();
      status = 4;
    } catch (const std::exception& error) {
      message = error.what();
    }
    const bool told = ::write(ends[1], message.data(), message.size()) == static_cast<ssize_t>(message.size());
    ::_exit(told ? status : 2);
  }
  ::close(ends[1]);
  std::string message;
  char buffer[1024];
  for (ssize_t size = 0; (size = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    message.append(buffer, static_cast<std::size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "it hung" : "it was killed";
  if (WEXITSTATUS(status) == 0) return "";
  return WEXITSTATUS(status) == 4 ? message : "it failed: " + message;
}

/// Expects that the job fails in a forked child, and that the message explains why.
inline void expect_refused_in_child(const std::function<bool()>& job, const std::string& what) {
  const std::string message = in_child(job);
  EXPECT_NE(message.find("forked"), std::string::npos) << what << ": " << message;
  for (const char* way_out : {"'spawn'", "'forkserver'"})
    EXPECT_NE(message.find(way_out), std::string::npos) << what << ": " << message;
}

/// Checks that forked children run jobs correctly or refuse them. is_right(threads, variant) runs a job. If `variant`
/// is "", the library chooses the variant. Call this before the process has run a job on several threads. Until then a
/// child can run all jobs, afterwards only jobs on one thread. `variants`: the variants that run on several threads.
inline void expect_children_without_threads(const std::function<bool(int, const std::string&)>& is_right,
                                            std::vector<std::string> variants) {
  EXPECT_TRUE(is_right(1, ""));
  EXPECT_EQ(in_child([&] { return is_right(2, ""); }), "");
  EXPECT_EQ(in_child([&] { return is_right(3, ""); }), "");

  variants.insert(variants.begin(), "");
  for (const std::string& variant : variants) {
    EXPECT_TRUE(is_right(2, variant)) << variant;
    expect_refused_in_child([&] { return is_right(2, variant); }, variant);
    // A job on one thread works, because it needs none of the lost threads. If `threads` is 0, the library chooses the
    // number. In such a child, it chooses one thread.
    for (const int threads : {0, 1}) EXPECT_EQ(in_child([&] { return is_right(threads, variant); }), "") << variant;
  }
  // A child of the child must refuse the job in the same way.
  const auto in_grandchild = [&] { return in_child([&] { return is_right(2, ""); }); };
  EXPECT_EQ(in_child([&] { return in_grandchild().find("'spawn'") != std::string::npos; }), "");
  // The parent is not affected.
  EXPECT_TRUE(is_right(2, ""));
}

/// Returns 2000 x 3 values.
inline std::vector<float> some_points() {
  std::vector<float> points;
  for (int value = 0; value < 6000; ++value) points.push_back(static_cast<float>((value * 7919 + 13) % 1000) / 8);
  return points;
}

}  // namespace gradus::tests
