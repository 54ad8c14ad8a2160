// Tests sets of files. Tests kill the writer at each of its system calls. Some tests run as if the file system had no
// unnamed files, or as if it could not exchange folders. Other tests cover leftovers of earlier sets and free disk
// space.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/atomic_file.hpp"
#include "gradus/error.hpp"

namespace gradus::core {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::vector<std::string> listing(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::map<std::string, std::string> contents(const fs::path& directory) {
  std::map<std::string, std::string> all;
  for (const std::string& name : listing(directory)) all[name] = content(directory / name);
  return all;
}

/// A temporary directory, removed after the test.
class AtomicFilesTest : public testing::Test {
 protected:
  AtomicFilesTest() {
    // Prefers a file system in memory, because the test flushes hundreds of sets, which is slow on a disk.
    const fs::path memory = "/dev/shm";
    const bool in_memory = ::access(memory.c_str(), W_OK | X_OK) == 0;
    std::string pattern = ((in_memory ? memory : fs::temp_directory_path()) / "gradus-files-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    directory_ = pattern;
  }
  ~AtomicFilesTest() override { fs::remove_all(directory_); }

  fs::path directory_;
};
using OutputSetTest = AtomicFilesTest;

const std::vector<std::string> names{"centroids", "labels", "picture", "summary"};

/// Writes the files of the set `generation`, with or without the picture.
void write_set(const fs::path& directory, const std::string& generation, bool picture) {
  OutputSet set(directory, names);
  set.add("centroids", 10).write("centroids " + generation);
  set.add("labels", 10).write(std::string(300'000, generation.front()));
  if (picture) set.add("picture").write("picture " + generation);
  AtomicFile& summary = set.add("summary");
  summary.write("summary " + generation);
  set.set_seal(summary, "unfinished");
  set.commit();
}

std::map<std::string, std::string> expected_set(const std::string& generation, bool picture) {
  std::map<std::string, std::string> all{{"centroids", "centroids " + generation},
                                         {"labels", std::string(300'000, generation.front())},
                                         {"summary", "summary " + generation}};
  if (picture) all["picture"] = "picture " + generation;
  return all;
}

// Features of the file system that a test disables.
struct Lacking {
  bool unnamed_files = false;
  bool exchange = false;
};

/// Makes every later system call with this number fail with EINVAL if its argument number `argument` has all of these
/// bits.
void refuse_call(int number, unsigned argument, std::uint32_t bits) {
  const auto offset = static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(3);
}

void make_lack(const Lacking& lacking) {
  if (lacking.unnamed_files) refuse_call(SYS_openat, 2, O_TMPFILE);
  if (lacking.exchange) refuse_call(SYS_renameat2, 4, 1U << 1);  // RENAME_EXCHANGE
}

enum class End { ended, killed, failed, untraceable };

/// Runs `act` in a child process that is killed at the start of its system call number `call`, counted from 1.
End run_until(int call, const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(4);
    ::raise(SIGSTOP);
    try {
      act();
    } catch (const Error&) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  const auto ended = [&](End otherwise) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 4) return End::untraceable;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? End::ended : otherwise;
  };
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return ended(End::failed);
  // The tracer stops the process twice per system call: at the call's start and at its end.
  for (int stop = 0; stop < 2 * call - 1; ++stop) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return End::untraceable;
    ::waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return ended(End::failed);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return End::killed;
}

// With sanitizers, only every seventh system call is tested, because the calls in between would not reveal further
// errors.
#ifdef GRADUS_SANITIZED
constexpr int kill_step = 7;
#else
constexpr int kill_step = 1;
#endif

/// Runs a process that replaces an old set of files with a new one, and kills the process at its first system call.
/// Repeats this for the second system call, the third one, and so on. After each kill, `check` inspects the folder.
void kill_everywhere(const fs::path& directory, const Lacking& lacking, const std::vector<std::string>& others,
                     const std::function<void()>& check) {
  const fs::path out = directory / "out";
  int calls = 0;
  for (bool whole = false; !whole;) {
    write_set(out, "old", true);
    ASSERT_EQ(listing(directory), std::vector{"out"s}) << "what the killed one left is still there";
    std::vector<std::string> expected = names;
    expected.insert(expected.end(), others.begin(), others.end());
    std::ranges::sort(expected);
    ASSERT_EQ(listing(out), expected);
    calls += kill_step;
    const End end = run_until(calls, [&] {
      make_lack(lacking);
      write_set(out, "new", false);
    });
    if (end == End::untraceable) GTEST_SKIP() << "processes cannot be traced here";
    ASSERT_NE(end, End::failed);
    whole = end == End::ended;
    check();
    if (testing::Test::HasFailure()) FAIL() << "killed at system call " << calls;
  }
  EXPECT_GT(calls, 30);
}

TEST_F(OutputSetTest, KilledAnywhereItsFolderIsTheOldOneOrTheNewOne) {
  for (const bool unnamed : {true, false}) {
    SCOPED_TRACE(unnamed ? "with unnamed files" : "without unnamed files");
    const fs::path out = directory_ / "out";
    int old_ones = 0;
    int new_ones = 0;
    kill_everywhere(directory_, {.unnamed_files = !unnamed}, {}, [&] {
      std::map<std::string, std::string> found = contents(out);
      if (!unnamed)  // without unnamed files, temporary files stay until the next AtomicFile removes them
        std::erase_if(found, [](const auto& file) { return file.first.ends_with(".tmp"); });
      const bool is_new = found == expected_set("new", false);
      ++(is_new ? new_ones : old_ones);
      EXPECT_TRUE(is_new || found == expected_set("old", true));
    });
    EXPECT_GT(old_ones, 0);
    EXPECT_GT(new_ones, 1 / kill_step);
  }
}

TEST_F(OutputSetTest, KilledAnywhereBesideOtherFilesItsSealTells) {
  const fs::path out = directory_ / "out";
  fs::create_directory(out);
  put(out / "mine", "mine");
  for (const Lacking lacking : {Lacking{}, Lacking{.unnamed_files = true}}) {
    int unfinished = 0;
    kill_everywhere(directory_, lacking, {"mine"}, [&] {
      std::map<std::string, std::string> found = contents(out);
      std::erase_if(found, [](const auto& file) { return file.first.ends_with(".tmp"); });
      EXPECT_EQ(found["mine"], "mine");
      found.erase("mine");
      const bool tells = found["summary"] == "unfinished";
      if (tells) ++unfinished;
      EXPECT_TRUE(tells || found == expected_set("old", true) || found == expected_set("new", false));
    });
    EXPECT_GT(unfinished, 2 / kill_step);
  }
}

TEST_F(OutputSetTest, KilledAnywhereWhereFoldersCannotBeExchangedItsSealTells) {
  const fs::path out = directory_ / "out";
  kill_everywhere(directory_, {.unnamed_files = true, .exchange = true}, {}, [&] {
    std::map<std::string, std::string> found = contents(out);
    std::erase_if(found, [](const auto& file) { return file.first.ends_with(".tmp"); });
    EXPECT_TRUE(found["summary"] == "unfinished" || found == expected_set("old", true) ||
                found == expected_set("new", false));
  });
}

TEST_F(OutputSetTest, RemovesWhatItCouldHaveWrittenAndDidNot) {
  for (const bool alone : {true, false}) {
    const fs::path out = directory_ / "out";
    fs::create_directory(out);
    if (!alone) put(out / "mine", "mine");
    write_set(out, "old", true);
    put(out / ".picture.4000000-1.tmp", "of a killed process");
    write_set(out, "new", false);
    std::map<std::string, std::string> expected = expected_set("new", false);
    if (!alone) expected["mine"] = "mine";
    EXPECT_TRUE(contents(out) == expected);
    EXPECT_EQ(listing(directory_), std::vector{"out"s});
    fs::remove_all(out);
  }
}

TEST_F(OutputSetTest, AFailedOneRemovesNothing) {
  const fs::path out = directory_ / "out";
  write_set(out, "old", true);
  {
    OutputSet set(out, names);
    set.add("centroids").write("new");
  }
  EXPECT_TRUE(contents(out) == expected_set("old", true));
}

TEST_F(OutputSetTest, KeepsTheFolderAPersonMade) {
  const fs::path real = directory_ / "real";
  fs::create_directory(real);
  fs::permissions(real, fs::perms(0750));
  fs::create_symlink("real", directory_ / "out");
  write_set(directory_ / "out", "old", true);
  put(directory_ / "elsewhere", "");
  fs::remove(real / "picture");
  fs::create_symlink("../elsewhere", real / "picture");
  write_set(directory_ / "out", "new", true);
  EXPECT_TRUE(fs::is_symlink(directory_ / "out"));
  EXPECT_EQ(fs::status(real).permissions(), fs::perms(0750));
  EXPECT_TRUE(fs::is_symlink(real / "picture"));
  EXPECT_EQ(content(directory_ / "elsewhere"), "picture new");
  EXPECT_EQ(content(real / "labels"), std::string(300'000, 'n'));

  // The folder is not replaced if it is the working directory of the process.
  const fs::path before = fs::current_path();
  fs::current_path(real);
  write_set(".", "here", true);
  EXPECT_EQ(content("centroids"), "centroids here");
  fs::current_path(before);
  EXPECT_EQ(content(real / "summary"), "summary here");
}

TEST_F(OutputSetTest, ADirectoryUnderOneOfItsNamesStays) {
  const fs::path out = directory_ / "out";
  fs::create_directories(out / "picture");
  write_set(out, "new", false);
  EXPECT_TRUE(fs::is_directory(out / "picture"));
  EXPECT_EQ(content(out / "summary"), "summary new");
}

TEST_F(AtomicFilesTest, RemovesTemporaryFilesThatNobodyUses) {
  const std::vector<std::string> stays{".out.1-.tmp",    ".out.-1.tmp", ".out.1-2.tmp.x", ".out.x-2.tmp",
                                       ".other.1-2.tmp", "out.1-2.tmp", ".out.tmp",       ".out.1-2-3.tmp"};
  for (const std::string& name : stays) put(directory_ / name, "x");
  put(directory_ / ".out.4000000-17.tmp", "what a killed process left");
  put(directory_ / ".out.1-1.tmp", "in use");
  const int in_use = ::open((directory_ / ".out.1-1.tmp").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(in_use, LOCK_EX), 0);
  write_atomically(directory_ / "out", "text");
  std::vector<std::string> expected = stays;
  expected.insert(expected.end(), {".out.1-1.tmp", "out"});
  std::ranges::sort(expected);
  EXPECT_EQ(listing(directory_), expected);
  ::close(in_use);
}

TEST_F(AtomicFilesTest, AKilledProcessLeavesNothing) {
  const int probe = ::open(directory_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (probe < 0) GTEST_SKIP() << "this file system has no unnamed files";
  ::close(probe);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(directory_ / "out");
    file.write(std::string(1'000'000, 'x'));
    file.finish();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(listing(directory_).empty());
}

TEST_F(AtomicFilesTest, NeedsRoomOnTheDisk) {
  struct statvfs status {};
  ASSERT_EQ(::statvfs(directory_.c_str(), &status), 0);
  const std::uint64_t most = std::uint64_t{1} << 62;
  {
    const AtomicFile file(directory_ / "out");
    file.expect(0);
    file.expect(1);
    try {
      file.expect(most);
      FAIL() << "there is no such disk";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("4611686018427387904 bytes (4 EiB) are needed, but only "), std::string::npos) << message;
      EXPECT_NE(message.find(" are free in '" + directory_.string() + "'"), std::string::npos) << message;
    }
    AtomicFile("/dev/null").expect(most);
  }
  {
    OutputSet set(directory_ / "set", {"one", "two"});
    set.add("one", 1);
    EXPECT_THROW(set.add("two", ~std::uint64_t{0}), Error);
  }
  {  // each file fits, but the set does not
    const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
    OutputSet set(directory_ / "set", {"one", "two"});
    set.add("one", free / 4 * 3);
    EXPECT_THROW(set.add("two", free / 4 * 3), Error);
  }
  EXPECT_TRUE(listing(directory_).empty());
}

TEST_F(AtomicFilesTest, ChecksumsAreThoseOfZlib) {
  const auto crc = [](std::string_view text) { return crc32(std::as_bytes(std::span(text))); };
  EXPECT_EQ(crc(""), 0u);
  EXPECT_EQ(crc("123456789"), 0xCBF43926u);
  EXPECT_EQ(crc("The quick brown fox jumps over the lazy dog"), 0x414FA339u);
  const std::string_view text = "a text of more than eight bytes";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32(std::as_bytes(std::span(text.substr(cut))), crc(text.substr(0, cut))), crc(text));
  OutputSet set(directory_ / "set", {"file"});
  AtomicFile& file = set.add("file");
  file.write(text);
  file.finish();
  EXPECT_EQ(file.size(), text.size());
  EXPECT_EQ(file.checksum(), crc(text));
}

}  // namespace
}  // namespace gradus::core
