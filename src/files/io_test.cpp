// Tests of readers and writers: exact results for accepted files, and the messages for rejected ones.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/atomic_file.hpp"
#include "core/text.hpp"
#include "files/csv.hpp"
#include "files/file.hpp"
#include "files/image.hpp"
#include "files/npy.hpp"
#include "files/points.hpp"
#include "tests/files.hpp"

namespace gradus::files {
namespace {

namespace fs = std::filesystem;
using core::AtomicFile;
using core::excerpt;
using core::OutputSet;
using tests::bytes;
using tests::content;
using tests::expect_contains;
using tests::message_of;
using namespace std::string_literals;

class IoTest : public tests::FolderTest {};
using AtomicFileTest = IoTest;
using OutputSetTest = IoTest;
using MappedFileTest = IoTest;
using NpyTest = IoTest;
using CsvTest = IoTest;
using ImageTest = IoTest;
using PointsTest = IoTest;

const std::string corpus = GRADUS_SOURCE_DIR "/tests/fuzz/corpus/";

/// While this object exists, file permissions also apply to a process of root.
class Unprivileged {
 public:
  Unprivileged() {
    if (root_ && ::seteuid(65534) != 0) throw std::runtime_error("seteuid failed");
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;
  ~Unprivileged() {
    if (root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool root_ = ::geteuid() == 0;
};

/// Limits the size of files while this object exists. A write beyond the limit fails, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{size, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

TEST(Excerpt, EscapesAndShortens) {
  EXPECT_EQ(excerpt("plain 1"), "'plain 1'");
  EXPECT_EQ(excerpt("a\tb\x1b[31m\xc3\xa4"), "'a\\x09b\\x1b[31m\\xc3\\xa4'");
  EXPECT_EQ(excerpt(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

TEST_F(AtomicFileTest, AppearsAtCommitOnly) {
  AtomicFile file(path("out"));
  file.write("hello ");
  file.write("world");
  EXPECT_FALSE(fs::exists(path("out")));
  file.commit();
  EXPECT_EQ(content(path("out")), "hello world");
  EXPECT_EQ(listing(), std::vector{"out"s});
  EXPECT_THROW(file.write("more"), Error);
}

TEST_F(AtomicFileTest, LargePiecesKeepTheirOrder) {
  std::string expected;
  AtomicFile file(path("out"));
  for (std::size_t size : {1u, 300'000u, 5u, 262'144u, 262'143u, 1u, 2u, 1'000'000u}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 23));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(content(path("out")), expected);
}

TEST_F(AtomicFileTest, WithoutCommitNothingIsLeft) {
  put("old", "old");
  try {
    AtomicFile fresh(path("fresh"));
    AtomicFile old(path("old"));
    fresh.write(std::string(1'000'000, 'x'));
    old.write("new");
    old.finish();
    throw InterruptedError("stop");
  } catch (const InterruptedError&) {
  }
  EXPECT_EQ(listing(), std::vector{"old"s});
  EXPECT_EQ(content(path("old")), "old");
}

// A large write takes many system calls. A stop request takes effect between any two of these calls. After the last
// call, a stop request still takes effect until the file is renamed.
TEST_F(AtomicFileTest, AStopRequestEndsTheWritingAndLeavesNothing) {
  put("old", "old");
  for (const bool after_the_writing : {false, true}) {
    std::stop_source stop;
    {
      OutputSet set(path("made"), {"fresh"}, stop.get_token());
      AtomicFile& fresh = set.add("fresh");
      AtomicFile old(path("old"), stop.get_token());
      old.write("new");
      fresh.write(std::string(20'000'000, 'x'));
      stop.request_stop();
      if (after_the_writing) {
        EXPECT_THROW(set.commit(), InterruptedError);
        EXPECT_THROW(old.commit(), InterruptedError);
      } else {
        EXPECT_THROW(fresh.write(std::string(1'000'000, 'x')), InterruptedError);
      }
    }
    EXPECT_EQ(listing(), std::vector{"old"s});
    EXPECT_EQ(content(path("old")), "old");
  }
}

TEST_F(AtomicFileTest, AStopRequestEndsTheWaitForAReader) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  std::stop_source stop;
  AtomicFile file(pipe, stop.get_token());
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  EXPECT_THROW(file.write(std::string(10'000'000, 'x')), InterruptedError);
  ::close(reader);
}

TEST_F(AtomicFileTest, KeepsPermissionsAndFollowsLinks) {
  put("target", "old");
  fs::permissions(path("target"), fs::perms(0640));
  fs::create_symlink("target", path("link"));
  AtomicFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "new");
  EXPECT_EQ(fs::status(path("target")).permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, NewFilesObeyTheMask) {
  const mode_t before = ::umask(027);
  AtomicFile(path("out")).commit();
  ::umask(before);
  EXPECT_EQ(fs::status(path("out")).permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, RefusesWhatCannotBeWritten) {
  const std::string file = put("file", "x");
  const auto failure = [](const std::string& path) { return message_of<Error>([&] { AtomicFile{path}; }); };
  EXPECT_EQ(failure(directory_), "cannot write '" + directory_.string() + "': Is a directory");
  EXPECT_EQ(failure(path("new/")), "cannot write '" + path("new/") + "': Is a directory");
  EXPECT_EQ(failure(path("none/out")), "cannot write '" + path("none/out") + "': No such file or directory");
  EXPECT_EQ(failure(file + "/out"), "cannot write '" + file + "/out': Not a directory");
  EXPECT_EQ(failure(""), "cannot write '': No such file or directory");
  expect_contains(failure(path(std::string(256, 'x'))), "': File name too long");
  fs::permissions(file, fs::perms(0444));
  const Unprivileged unprivileged;
  EXPECT_EQ(failure(file), "cannot write '" + file + "': Permission denied");
  EXPECT_EQ(failure("/new"), "cannot write '/new': Permission denied");
  EXPECT_EQ(content(file), "x");
}

TEST_F(AtomicFileTest, FullDiskIsReportedAndLeavesNothing) {
  const FileSizeLimit limit(100'000);
  const auto write = [&](std::size_t size) {
    AtomicFile file(path("out"));
    file.write(std::string(size, 'x'));
    file.commit();
  };
  expect_contains(message_of<Error>([&] { write(1'000'000); }), "cannot write '" + path("out") + "': ");
  EXPECT_TRUE(listing().empty());
  expect_contains(message_of<Error>([&] { write(100'001); }), "cannot write '" + path("out") + "': ");
  EXPECT_TRUE(listing().empty());
  write(100'000);
  EXPECT_EQ(fs::file_size(path("out")), 100'000u);
}

TEST_F(AtomicFileTest, DevicesAreWrittenInPlace) {
  EXPECT_EQ(message_of<Error>([] {
              AtomicFile file("/dev/full");
              file.write("x");
              file.commit();
            }),
            "cannot write '/dev/full': No space left on device");
  AtomicFile null("/dev/null");
  null.write("x");
  null.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, PipesAndOpenDescriptorsAreWrittenInPlace) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0644), 0);
  std::string received;
  std::jthread reader([&] { received = content(path("pipe")); });
  {
    AtomicFile pipe(path("pipe"));
    pipe.write("through the pipe");
    pipe.commit();
  }
  reader.join();
  EXPECT_EQ(received, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  // Like "program -o /dev/stdout >> log": the log keeps its content.
  const int log = ::open(put("log", "old ").c_str(), O_WRONLY | O_APPEND);
  AtomicFile file("/dev/fd/" + std::to_string(log));
  file.write("new");
  file.commit();
  ::close(log);
  EXPECT_EQ(content(path("log")), "old new");
}

TEST_F(OutputSetTest, AllAppearTogether) {
  OutputSet set(path("a/b"), {"one", "two"});
  set.add("one").write("1");
  AtomicFile& two = set.add("two");
  two.write("2");
  two.finish();
  EXPECT_FALSE(fs::exists(path("a/b/one")));
  EXPECT_FALSE(fs::exists(path("a/b/two")));
  set.commit();
  EXPECT_EQ(listing("a/b"), (std::vector{"one"s, "two"s}));
  EXPECT_EQ(content(path("a/b/one")), "1");
  EXPECT_EQ(content(path("a/b/two")), "2");
}

TEST_F(OutputSetTest, FailureRemovesWhatItMade) {
  {
    OutputSet set(path("a/b//c/"), {"one"});
    set.add("one").write("1");
    EXPECT_TRUE(fs::is_directory(path("a/b/c")));
  }
  EXPECT_TRUE(listing().empty());
  fs::create_directory(path("a"));
  put("a/one", "old");
  {
    OutputSet set(path("a/b"), {"two"});
    set.add("two").write("1");
  }
  EXPECT_EQ(listing("a"), std::vector{"one"s});
}

TEST_F(OutputSetTest, FullDiskLeavesTheOldFiles) {
  put("small", "old");
  const FileSizeLimit limit(1000);
  EXPECT_THROW(
      {
        OutputSet set(directory_, {"small", "large"});
        set.add("small").write("new");
        set.add("large").write(std::string(1001, 'x'));
        set.commit();
      },
      Error);
  EXPECT_EQ(listing(), std::vector{"small"s});
  EXPECT_EQ(content(path("small")), "old");
}

TEST_F(OutputSetTest, FailedRenamingWithdrawsTheNewFiles) {
  EXPECT_THROW(
      {
        OutputSet set(path("new"), {"one", "two"});
        set.add("one").write("1");
        set.add("two").write("2");
        fs::create_directory(path("new/two"));  // a file cannot replace a directory
        set.commit();
      },
      Error);
  EXPECT_EQ(listing("new"), std::vector{"two"s});
}

TEST_F(OutputSetTest, RefusesImpossibleDirectories) {
  put("file", "x");
  EXPECT_EQ(message_of<Error>([&] { OutputSet(path("file"), {}); }),
            "cannot make the directory '" + path("file") + "': Not a directory");
  EXPECT_EQ(message_of<Error>([&] { OutputSet(path("file/below"), {}); }),
            "cannot make the directory '" + path("file/below") + "': Not a directory");
  const Unprivileged unprivileged;
  EXPECT_EQ(message_of<Error>([&] { OutputSet(path("new"), {}); }),
            "cannot make the directory '" + path("new") + "': Permission denied");
}

TEST_F(MappedFileTest, ReadsWhatIsThere) {
  const MappedFile file(put("in", "content"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()), "content");
}

TEST_F(MappedFileTest, RefusesWhatIsNoReadableFile) {
  const auto refusal = [](const std::string& path) { return message_of<InputError>([&] { MappedFile{path}; }); };
  EXPECT_EQ(refusal(path("none")), "cannot read '" + path("none") + "': No such file or directory");
  EXPECT_EQ(refusal(directory_), "cannot read '" + directory_.string() + "': Is a directory");
  EXPECT_EQ(refusal(put("empty", "")), "cannot read '" + path("empty") + "': the file is empty");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0644), 0);
  expect_contains(refusal(path("pipe")), "not a regular file");
  fs::permissions(put("secret", "x"), fs::perms(0));
  const Unprivileged unprivileged;
  EXPECT_EQ(refusal(path("secret")), "cannot read '" + path("secret") + "': Permission denied");
}

std::string npy(const std::string& header, const std::string& payload, int version = 1) {
  std::string file = "\x93NUMPY"s + static_cast<char>(version) + '\0';
  for (int byte = 0; byte < (version == 1 ? 2 : 4); ++byte)
    file += static_cast<char>(header.size() >> (8 * byte) & 255);
  return file + header + payload;
}

std::string header(const std::string& descr, const std::string& shape, bool fortran_order = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") + ", 'shape': " + shape +
         ", }";
}

template <class Value>
std::string stored(std::initializer_list<Value> values, bool big_endian = false) {
  std::string result;
  for (const Value value : values) {
    std::array<char, sizeof(Value)> raw;
    std::memcpy(raw.data(), &value, sizeof value);
    if (big_endian) std::reverse(raw.begin(), raw.end());
    result.append(raw.data(), raw.size());
  }
  return result;
}

std::vector<std::vector<double>> rows_of(const Points& points) {
  return points.visit([](auto view) {
    std::vector<std::vector<double>> rows;
    for (std::int64_t row = 0; row < view.rows(); ++row) {
      rows.emplace_back();
      for (std::int64_t column = 0; column < view.columns(); ++column) rows.back().push_back(view(row, column));
    }
    return rows;
  });
}

Points parsed(const std::string& file) { return {parse_npy(bytes(file), "test.npy").values, {}, {}}; }

using Rows = std::vector<std::vector<double>>;

/// Parses arrays of six values of one type, including its extremes, in both byte orders, in C and Fortran order, and
/// with every version of the header. Checks the resulting type and the values.
template <class Value>
void check_type(const std::string& code, ElementType expected, std::initializer_list<Value> values) {
  ASSERT_EQ(values.size(), 6u);
  const auto at = [&](int index) { return static_cast<double>(values.begin()[index]); };
  const Rows by_rows = {{at(0), at(1), at(2)}, {at(3), at(4), at(5)}};
  const Rows by_columns = {{at(0), at(2), at(4)}, {at(1), at(3), at(5)}};
  for (const bool big_endian : {false, true}) {
    const std::string descr = (big_endian ? ">" : "<") + code;
    for (const int version : {1, 2, 3}) {
      const std::string payload = stored(values, big_endian);
      const Points c_order = parsed(npy(header(descr, "(2, 3)"), payload, version));
      EXPECT_EQ(c_order.type(), expected) << descr;
      EXPECT_EQ(rows_of(c_order), by_rows) << descr;
      EXPECT_EQ(rows_of(parsed(npy(header(descr, "(2, 3)", true), payload, version))), by_columns) << descr;
      const Points vector = parsed(npy(header(descr, "(6,)"), payload, version));
      EXPECT_EQ(rows_of(vector), (Rows{{at(0)}, {at(1)}, {at(2)}, {at(3)}, {at(4)}, {at(5)}})) << descr;
    }
  }
}

template <class Integer>
void check_integer(const std::string& code, ElementType expected) {
  using Limits = std::numeric_limits<Integer>;
  check_type<Integer>(code, expected, {0, 1, Limits::min(), Limits::max(), 100, static_cast<Integer>(-3)});
}

TEST_F(NpyTest, EveryTypeOrderAndVersion) {
  check_type<float>("f4", ElementType::f32, {0.1f, -0.0f, 1e-45f, -3e38f, 5, 6});
  check_type<double>("f8", ElementType::f64, {0.1, -0.0, 5e-324, -1e308, 5, 6});
  check_integer<std::int8_t>("i1", ElementType::f32);
  check_integer<std::uint8_t>("u1", ElementType::f32);
  check_integer<std::int16_t>("i2", ElementType::f32);
  check_integer<std::uint16_t>("u2", ElementType::f32);
  check_integer<std::int32_t>("i4", ElementType::f64);
  check_integer<std::uint32_t>("u4", ElementType::f64);
  constexpr std::int64_t whole = std::int64_t{1} << 53;
  check_type<std::int64_t>("i8", ElementType::f64,
                           {whole, -whole, whole + 2, std::numeric_limits<std::int64_t>::min(), 0, -1});
  check_type<std::uint64_t>("u8", ElementType::f64,
                            {std::uint64_t{1} << 63, std::uint64_t{whole} - 1, 0xfffffffffffff800u, 0u, 1u, 2u});
  EXPECT_EQ(rows_of(parsed(npy(header("|b1", "(3,)"), "\0\1\2"s))), (Rows{{0}, {1}, {1}}));
  EXPECT_EQ(rows_of(parsed(npy(header("|u1", "(2,)"), "\x00\xff"s))), (Rows{{0}, {255}}));
}

TEST_F(NpyTest, HalfPrecisionIsExact) {
  const std::pair<std::uint16_t, float> cases[] = {
      {0x0000, 0.0f},       {0x0001, 0x1p-24f},
      {0x03ff, 0x3ffp-24f}, {0x0400, 0x1p-14f},
      {0x3c00, 1.0f},       {0x3555, 0x1.554p-2f},
      {0x7bff, 65504.0f},   {0xfbff, -65504.0f},
      {0x8001, -0x1p-24f},  {0x7c00, std::numeric_limits<float>::infinity()}};
  for (const auto& [half, value] : cases)
    for (const bool big_endian : {false, true})
      EXPECT_EQ(rows_of(parsed(npy(header(big_endian ? ">f2" : "<f2", "(1,)"), stored({half}, big_endian)))),
                Rows{{value}})
          << half;
  EXPECT_TRUE(std::signbit(rows_of(parsed(npy(header("<f2", "(1,)"), "\x00\x80"s)))[0][0]));
  EXPECT_TRUE(std::isnan(rows_of(parsed(npy(header("<f2", "(1,)"), "\x01\x7c"s)))[0][0]));
}

TEST_F(NpyTest, NativeValuesAreNotCopied) {
  const std::string text = header("<f8", "(2, 1)");
  alignas(64) std::array<char, 256> memory{};
  for (std::size_t shift = 0; shift < 8; ++shift) {
    const std::string file = npy(text, stored({1.5, -2.5}));
    std::memcpy(memory.data() + shift, file.data(), file.size());
    const std::span<const std::byte> view = std::as_bytes(std::span(memory)).subspan(shift, file.size());
    const Points points{parse_npy(view, "test.npy").values, {}, {}};
    EXPECT_EQ(rows_of(points), (Rows{{1.5}, {-2.5}})) << shift;
    const char* const payload = memory.data() + shift + file.size() - 16;
    const bool aligned = reinterpret_cast<std::uintptr_t>(payload) % 8 == 0;
    EXPECT_EQ(reinterpret_cast<const char*>(points.view<double>().data()) == payload, aligned) << shift;
  }
}

TEST_F(NpyTest, TheMappingOutlivesTheReader) {
  const std::string padded = header("<f4", "(2, 2)") + std::string(3, ' ');  // the payload begins at byte 72
  const std::string file = put("a.npy", npy(padded, stored({1.f, 2.f, 3.f, 4.f})));
  const Points points = read_points(file);
  fs::remove(file);
  EXPECT_EQ(rows_of(points), (Rows{{1, 2}, {3, 4}}));
}

TEST_F(NpyTest, LargeTransposition) {
  constexpr int rows = 71;
  constexpr int columns = 101;
  std::string payload;
  for (int column = 0; column < columns; ++column)
    for (int row = 0; row < rows; ++row) payload += stored({static_cast<float>(1000 * row + column)});
  const Points points = parsed(npy(header("<f4", "(71, 101)", true), payload));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      ASSERT_EQ(points.view<float>()(row, column), static_cast<float>(1000 * row + column));
}

TEST_F(NpyTest, HeadersAsOthersWriteThem) {
  const std::string payload = stored({1.f, 2.f});
  const Rows expected = {{1, 2}};
  for (const std::string text : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}",
           "{\"shape\":(1,2,),\"descr\":\"<f4\",\"fortran_order\":False,}   \n",
           "  { 'fortran_order' : False , 'shape' : ( 1L , 2L ) , 'descr' : '=f4' }\n",
       })
    EXPECT_EQ(rows_of(parsed(npy(text, payload))), expected) << text;
}

TEST_F(NpyTest, EmptyArraysHaveTheirShape) {
  const Points none = parsed(npy(header("<f4", "(0, 3)"), ""));
  EXPECT_EQ(none.rows(), 0);
  EXPECT_EQ(none.columns(), 3);
  const Points huge = parsed(npy(header(">i8", "(4611686018427387904, 0)", true), ""));
  EXPECT_EQ(huge.columns(), 0);
}

TEST_F(NpyTest, RefusesBadFiles) {
  const std::string four = stored({1.f, 2.f, 3.f, 4.f});
  const std::string good = npy(header("<f4", "(2, 2)"), four);
  const auto with = [&](const std::string& text) { return npy(text, four); };
  const std::pair<std::string, std::string> cases[] = {
      {"", "not a .npy file"},
      {"NUMPY", "not a .npy file"},
      {"\x93NUMPY", "ends within its first 8 bytes"},
      {"\x93NUMPY\1\0\1"s, "ends within its first 12 bytes"},
      {"\x93NUMPY\2\0\1\0\0"s, "ends within its first 12 bytes"},
      {"\x93NUMPY\4\0\1\0\0\0"s, ".npy version 4.0 is unknown"},
      {"\x93NUMPY\1\1\1\0\0\0"s, ".npy version 1.1 is unknown"},
      {"\x93NUMPY\1\0\xff\xff{}"s, "the .npy header claims to take 65535 bytes, but only 2 are there"},
      {"\x93NUMPY\2\0\xff\xff\xff\xff{}"s, "the .npy header claims to take 4294967295 bytes, but only 2 are there"},
      {good.substr(0, good.size() - 1), "takes 16 bytes after the header, but 15 are there"},
      {good + "x", "takes 16 bytes after the header, but 17 are there"},
      {good.substr(0, good.size() - 16), "takes 16 bytes after the header, but 0 are there"},
      {with(header("<f4", "(4611686018427387904, 4)")), "overflows 64 bits"},
      {with(header("<f4", "(4611686018427387904, 1)")), "overflows 64 bits"},
      {with(header("<f4", "(9223372036854775808, 1)")), "the dimension overflows 64 bits"},
      {with(header("<f4", "(99999999999999999999999, 1)")), "the dimension overflows 64 bits"},
      {with(header("<f4", "(1000000, 1000000)")), "takes 4000000000000 bytes after the header, but 16 are there"},
      {with(header("<f4", "(-2, -2)")), "a dimension, zero or more, is expected"},
      {with(header("<f4", "()")), "an array of shape (); one or two dimensions are expected"},
      {with(header("<f4", "(2, 2, 1)")), "an array of shape (2, 2, 1); one or two dimensions are expected"},
      {with(header("<f4", "(4)")), "a tuple is expected"},
      {with(header("<f4", "4")), "'(' is expected"},
      {with(header("<f4", "(2 2)")), "',' or ')' is expected"},
      {with(header("<f4", "(2,, 2)")), "a dimension, zero or more, is expected"},
      {with(header("<f4", "(,)")), "a dimension, zero or more, is expected"},
      {with(header("<f4", "(2, 2")), "a dimension, zero or more, is expected"},
      {with(header("|O", "(2,)")), "'|O' (Python objects) cannot be read"},
      {with(header("<U1", "(4,)")), "'<U1' (strings) cannot be read"},
      {with(header("|S4", "(4,)")), "'|S4' (strings) cannot be read"},
      {with(header("<c8", "(2,)")), "'<c8' (complex numbers) cannot be read"},
      {with(header("<M8[ns]", "(2,)")), "'<M8[ns]' (dates or durations) cannot be read"},
      {with(header("|V4", "(4,)")), "'|V4' (raw bytes) cannot be read"},
      {with(header("<f16", "(1,)")), "'<f16' cannot be read"},
      {with(header("|f4", "(4,)")), "'|f4' cannot be read"},
      {with(header("f4", "(4,)")), "'f4' cannot be read"},
      {with(header("", "(4,)")), "'' cannot be read"},
      {with(header("<f4\x1b[31m", "(4,)")), "'<f4\\x1b[31m' cannot be read"},
      {with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}"), "at byte 20: a structured type"},
      {with("{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}"), "True or False is expected"},
      {with("{'descr': '<f4', 'shape': (4,)}"), "the key 'fortran_order' is missing"},
      {with("{'descr': '<f4', 'fortran_order': False}"), "the key 'shape' is missing"},
      {with("{'fortran_order': False, 'shape': (4,)}"), "the key 'descr' is missing"},
      {with("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}"), "stands there twice"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'x': 1}"), "the key 'x' is unknown"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x"), "text follows the closing brace"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)"), "'}' is expected"},
      {with("{'descr': '<f4"), "the string does not end"},
      {with("{'descr' '<f4'"), "':' is expected"},
      {with(""), "'{' is expected"},
      {with("{"), "a string is expected"},
      {with("{,}"), "a string is expected"},
  };
  for (const auto& [file, expected] : cases) {
    const std::string message = message_of<InputError>([&, &file = file] { parse_npy(bytes(file), "test.npy"); });
    expect_contains(message, expected);
    expect_contains(message, "test.npy");
  }
}

TEST_F(NpyTest, AStopRequestEndsTheReading) {
  std::stop_source stop;
  stop.request_stop();
  const std::string turned =
      put("a.npy", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }", std::string(16, '\0')));
  const std::string fortran =
      put("b.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", std::string(16, '\0')));
  const std::string plain =
      put("c.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", std::string(16, '\0')));
  for (const std::string& file : {turned, fortran}) EXPECT_THROW(read_npy(file, stop.get_token()), InterruptedError);
  EXPECT_THROW(read_points(plain, {.type = ElementType::f64, .stop = stop.get_token()}), InterruptedError);
  EXPECT_NO_THROW(read_points(plain, {.type = ElementType::f64, .stop = {}}));
}

TEST_F(NpyTest, RefusesIntegersThatNoDoubleHolds) {
  const auto refusal = [](const std::string& file) {
    return message_of<InputError>([&] { parse_npy(bytes(file), "test.npy"); });
  };
  constexpr std::int64_t odd = (std::int64_t{1} << 53) + 1;
  expect_contains(refusal(npy(header("<i8", "(2, 2)"), stored<std::int64_t>({0, 1, odd, 3}))),
                  "row 1, column 0: the integer 9007199254740993 has no exact double");
  expect_contains(refusal(npy(header("<i8", "(2, 2)", true), stored<std::int64_t>({0, 1, -odd, 3}))),
                  "row 0, column 1: the integer -9007199254740993 has no exact double");
  expect_contains(refusal(npy(header(">i8", "(1,)"), stored({std::numeric_limits<std::int64_t>::max()}, true))),
                  "row 0, column 0: the integer 9223372036854775807 has no exact double");
  expect_contains(refusal(npy(header("<u8", "(1,)"), stored({std::numeric_limits<std::uint64_t>::max()}))),
                  "row 0, column 0: the integer 18446744073709551615 has no exact double");
}

/// Returns the elements of a tensor in C order. Their strides determine where they are.
std::vector<double> elements_of(const Tensor& tensor) {
  std::vector<double> elements;
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) count *= size;
  std::visit(
      [&](const auto& values) {
        EXPECT_EQ(values.view.rows(), count);
        for (std::int64_t number = 0; number < count; ++number) {
          std::int64_t rest = number;
          std::int64_t place = 0;
          for (std::size_t dim = tensor.shape.size(); dim-- > 0; rest /= tensor.shape[dim])
            place += rest % tensor.shape[dim] * tensor.strides[dim];
          elements.push_back(values.view.data()[place]);
        }
      },
      tensor.values);
  return elements;
}

TEST_F(NpyTest, TensorsKeepTheOrderOfTheFile) {
  const auto parsed_tensor = [](const std::string& file) { return parse_npy_tensor(bytes(file), "test.npy"); };
  const auto check = [](const Tensor& tensor, const std::vector<std::int64_t>& shape,
                        const std::vector<std::int64_t>& strides, const std::vector<double>& elements) {
    EXPECT_EQ(tensor.shape, shape);
    EXPECT_EQ(tensor.strides, strides);
    EXPECT_EQ(elements_of(tensor), elements);
  };
  const std::string six = stored({0.f, 1.f, 2.f, 3.f, 4.f, 5.f});
  check(parsed_tensor(npy(header("<f4", "(2, 3)"), six)), {2, 3}, {3, 1}, {0, 1, 2, 3, 4, 5});
  check(parsed_tensor(npy(header("<f4", "(2, 3)", true), six)), {2, 3}, {1, 2}, {0, 2, 4, 1, 3, 5});
  check(parsed_tensor(npy(header("<f4", "(1, 2, 3)"), six)), {1, 2, 3}, {6, 3, 1}, {0, 1, 2, 3, 4, 5});
  check(parsed_tensor(npy(header("<f4", "(3, 1, 2)", true), six)), {3, 1, 2}, {1, 3, 3}, {0, 3, 1, 4, 2, 5});
  check(parsed_tensor(npy(header("<f4", "(6,)", true), six)), {6}, {1}, {0, 1, 2, 3, 4, 5});
  check(parsed_tensor(npy(header("<f8", "()"), stored({2.5}))), {}, {}, {2.5});
  check(parsed_tensor(npy(header("<f4", "(2, 0, 3)"), "")), {2, 0, 3}, {0, 0, 0}, {});
  check(parsed_tensor(npy(header(">i2", "(1, 1, 2)"), stored<std::int16_t>({-3, 300}, true))), {1, 1, 2}, {2, 2, 1},
        {-3, 300});

  // Values that need no conversion are viewed in place, in C order as well as in Fortran order.
  for (const bool fortran_order : {false, true}) {
    std::string text = header("<f4", "(1, 2, 3)", fortran_order);
    text.append((64 - (10 + text.size()) % 64) % 64, ' ');
    const std::string file = npy(text, six);
    alignas(64) std::array<char, 256> memory{};
    std::memcpy(memory.data(), file.data(), file.size());
    const Tensor viewed = parse_npy_tensor(std::as_bytes(std::span(memory)).first(file.size()), "test.npy");
    EXPECT_EQ(reinterpret_cast<const char*>(std::get<0>(viewed.values).view.data()),
              memory.data() + file.size() - six.size());
    const Tensor wide = read_tensor(put("a.npy", file), {.type = ElementType::f64, .stop = {}});
    EXPECT_EQ(wide.type(), ElementType::f64);
    EXPECT_EQ(elements_of(wide), elements_of(viewed));
  }
  EXPECT_EQ(elements_of(read_tensor(put("a.csv", "1,2\n3,4\n"))), (std::vector<double>{1, 2, 3, 4}));
  std::string dimensions = "1";
  for (int dim = 1; dim < 64; ++dim) dimensions += ", 1";
  EXPECT_EQ(parsed_tensor(npy(header("|u1", "(" + dimensions + ")"), "7")).shape.size(), 64u);
}

TEST_F(NpyTest, RefusesBadTensors) {
  const std::string four = stored({1.f, 2.f, 3.f, 4.f});
  std::string dimensions = "1";
  for (int dim = 1; dim < 65; ++dim) dimensions += ", 1";
  const std::string odd = stored<std::int64_t>({0, 1, 2, 3, (std::int64_t{1} << 53) + 1, 5});
  const std::pair<std::string, std::string> cases[] = {
      {npy(header("<f4", "(" + dimensions + ")"), stored({1.f})), "an array of 65 dimensions"},
      {npy(header("<f4", "(3000000000, 3000000000, 3)"), four), "overflows 64 bits"},
      {npy(header("<f4", "(1000000000, 1000000000, 3)"), four), "overflows 64 bits"},
      {npy(header("<f4", "(2, 2, 2)"), four), "takes 32 bytes after the header, but 16 are there"},
      {npy(header("<c8", "(1, 1, 2)"), four), "'<c8' (complex numbers) cannot be read"},
      {npy(header("<i8", "(1, 2, 3)"), odd), "element (0, 1, 1): the integer 9007199254740993 has no exact double"},
      {npy(header("<i8", "(1, 2, 3)", true), odd), "element (0, 0, 2): the integer 9007199254740993"},
      {npy(header("<i8", "(2, 3)", true), odd), "row 0, column 2: the integer 9007199254740993"},
      {npy(header("<i8", "(6,)", true), odd), "row 4, column 0: the integer 9007199254740993"},
  };
  for (const auto& [file, expected] : cases) {
    const std::string message =
        message_of<InputError>([&, &file = file] { parse_npy_tensor(bytes(file), "test.npy"); });
    expect_contains(message, expected);
    expect_contains(message, "test.npy");
  }
  const std::string wide = put("w.npy", npy(header("<f8", "(2, 1, 2)", true), stored({1.0, 2.0, 3.0, 1e300})));
  expect_contains(message_of<InputError>([&] { read_tensor(wide, {.type = ElementType::f32, .stop = {}}); }),
                  "w.npy': element (1, 0, 1): 1e+300 is beyond the range of f32 (indices count from 0)");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(read_tensor(wide, {.type = ElementType::f32, .stop = stop.get_token()}), InterruptedError);
}

TEST_F(NpyTest, WritesAnyShape) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> shapes[] = {{}, {6}, {2, 3}, {1, 3, 2}, {3, 1, 1, 2}, {2, 0, 4}};
  for (const auto& shape : shapes) {
    AtomicFile file(path("a.npy"));
    write_npy(file, shape, values.data());
    file.commit();
    EXPECT_EQ(content(path("a.npy")).size(), npy_size<double>(shape));
    const Tensor tensor = read_npy_tensor(path("a.npy"));
    EXPECT_EQ(tensor.shape, shape);
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    EXPECT_EQ(elements_of(tensor),
              std::vector<double>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)));
  }
}

TEST_F(NpyTest, WritesGoldenBytes) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  AtomicFile file(path("a.npy"));
  write_npy(file, MatrixView<const float>(values.data(), 2, 3));
  file.commit();
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(content(path("a.npy")), "\x93NUMPY\1\0v\0"s + dict + std::string(117 - dict.size(), ' ') + "\n" +
                                        stored({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}));
  const std::vector<std::int32_t> labels = {7, -1};
  AtomicFile vector(path("b.npy"));
  write_npy(vector, VectorView<const std::int32_t>(labels.data(), 2));
  vector.commit();
  const std::string vector_dict = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(content(path("b.npy")), "\x93NUMPY\1\0v\0"s + vector_dict + std::string(117 - vector_dict.size(), ' ') +
                                        "\n" + stored<std::int32_t>({7, -1}));
}

TEST_F(NpyTest, WritesStridedRows) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  AtomicFile file(path("a.npy"));
  write_npy(file, MatrixView<const double>(values.data(), 2, 2, 3));
  file.commit();
  EXPECT_EQ(rows_of(read_points(path("a.npy"))), (Rows{{1, 2}, {4, 5}}));
}

template <class T>
void write_and_read_back() {
  const auto rows = *rc::gen::inRange<std::int64_t>(0, 60);
  const auto columns = *rc::gen::inRange<std::int64_t>(0, 40);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Matrix<T> matrix(rows, columns);
  std::mt19937_64 random(seed);
  for (std::int64_t index = 0; index < rows * columns; ++index) {
    if constexpr (std::is_floating_point_v<T>)
      matrix.data()[index] = static_cast<T>(std::ldexp(static_cast<double>(random()) - 0x1p63, random() % 60 - 30));
    else matrix.data()[index] = static_cast<T>(static_cast<std::int64_t>(random()) >> 11);
  }
  const std::string path = (fs::temp_directory_path() / ("gradus-io-" + std::to_string(::getpid()) + ".npy")).string();
  AtomicFile file(path);
  write_npy(file, matrix.view());
  file.commit();
  const NpyArray array = read_npy(path);
  fs::remove(path);
  RC_ASSERT(array.shape == (std::vector{rows, columns}));
  std::visit(
      [&](const auto& points) {
        RC_ASSERT(points.view.rows() == rows);
        RC_ASSERT(points.view.columns() == columns);
        for (std::int64_t row = 0; row < rows; ++row)
          for (std::int64_t column = 0; column < columns; ++column)
            RC_ASSERT(static_cast<T>(points.view(row, column)) == matrix(row, column));
      },
      array.values);
}
RC_GTEST_PROP(NpyProperty, FloatRoundTrip, ()) { write_and_read_back<float>(); }
RC_GTEST_PROP(NpyProperty, DoubleRoundTrip, ()) { write_and_read_back<double>(); }
RC_GTEST_PROP(NpyProperty, Int32RoundTrip, ()) { write_and_read_back<std::int32_t>(); }
RC_GTEST_PROP(NpyProperty, Int64RoundTrip, ()) { write_and_read_back<std::int64_t>(); }

/// Parses a table from memory and from a descriptor. Expects the same table or error from both.
CsvTable table_of(const std::string& text, const CsvOptions& options = {}) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
  std::jthread writer([&] {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(ends[1], text.data() + done, text.size() - done);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    ::close(ends[1]);
  });
  std::string stream_error;
  CsvTable streamed;
  try {
    streamed = read_csv_stream(ends[0], "test.csv", options);
  } catch (const InputError& error) {
    stream_error = error.what();
  }
  ::close(ends[0]);
  try {
    CsvTable table = parse_csv(bytes(text), "test.csv", options);
    EXPECT_EQ(stream_error, "");
    EXPECT_EQ(rows_of({table.values, {}, {}}), rows_of({streamed.values, {}, {}}));
    EXPECT_EQ(table.column_names, streamed.column_names);
    EXPECT_EQ(table.notes, streamed.notes);
    return table;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), stream_error);
    throw;
  }
}

std::string note_of(const CsvTable& table) {
  std::string text;
  for (const std::string& note : table.notes) text += (text.empty() ? "" : "\n") + note;
  return text;
}

Rows rows_in(const std::string& text, const CsvOptions& options = {}) {
  return rows_of({table_of(text, options).values, {}, {}});
}

TEST_F(CsvTest, Separators) {
  const Rows expected = {{1, 2.5, -300}, {4, 5, 6}};
  EXPECT_EQ(rows_in("1,2.5,-3e2\n4,5,6\n"), expected);
  EXPECT_EQ(rows_in("1;2.5;-3e2\n4;5;6\n"), expected);
  EXPECT_EQ(rows_in("1\t2.5\t-3e2\n4\t5\t6\n"), expected);
  EXPECT_EQ(rows_in("1\t2.5\t-3e2\n4\t5\t6\n", {.separator = Separator::tab}), expected);
  EXPECT_EQ(rows_in("1 2.5 -3e2\n4 5 6\n"), expected);
  EXPECT_EQ(rows_in("  1   2.5\t -3e2  \n4\t5 6\n", {.separator = Separator::blanks}), expected);
  EXPECT_EQ(rows_in(" 1 , 2.5,\t-3e2 \n4,5 ,6\t\n"), expected);
  EXPECT_EQ(rows_in("7\n8\n9"), (Rows{{7}, {8}, {9}}));
  EXPECT_EQ(rows_in("1|2.5|-3e2\n4|5|6\n"), expected);
  // A separator that occurs in the names of the first line, but not in the row below, does not separate fields.
  EXPECT_EQ(rows_in("a;x,b,c\n1,2.5,-3e2\n4,5,6\n"), expected);
  EXPECT_EQ(rows_in("\"x,y\"|b, i|c\n1|2.5|-3e2\n4|5|6\n"), expected);
  EXPECT_EQ(rows_in("lat, long\ty\tz\n1\t2.5\t-3e2\n4\t5\t6\n"), expected);
  for (const std::string line : {"sep=;\n", "\xef\xbb\xbfSep=;\r\n", "\"sep=;\"\n"})
    EXPECT_EQ(rows_in(line + "x;y;z\n1;2.5;-3e2\n4;5;6\n"), expected) << line;
  EXPECT_EQ(rows_in("sep=,\n1,2.5,-3e2\n4,5,6\n", {.separator = Separator::tab}), expected);
  EXPECT_EQ(message_of<InputError>([] { table_of("sep=:\n1:2\n"); }),
            "test.csv:1: 'sep=:': fields are separated by semicolons, commas, tabs, bars or blanks");
}

TEST_F(CsvTest, LineEndsCommentsAndBlankLines) {
  const Rows expected = {{1, 2}, {3, 4}};
  EXPECT_EQ(rows_in("1,2\r\n3,4\r\n"), expected);
  EXPECT_EQ(rows_in("1,2\n3,4"), expected);
  EXPECT_EQ(rows_in("1,2\r\n3,4\r"), expected);
  EXPECT_EQ(rows_in("1,2\n3,4\n\n \t\n\r\n"), expected);
  EXPECT_EQ(rows_in("\n# about, this\n\n1,2\n# \"between\n3,4\n#end"), expected);
  EXPECT_EQ(rows_in("\xef\xbb\xbf"
                    "1,2\n3,4\n"),
            expected);
  EXPECT_EQ(rows_in("\xef\xbb\xbf# x\n1,2\n3,4\n"), expected);
}

TEST_F(CsvTest, Headers) {
  using Names = std::vector<std::string>;
  const auto names = [](const std::string& text) { return table_of(text).column_names; };
  EXPECT_EQ(names("1,2\n"), Names{});
  EXPECT_EQ(names("x,y\n1,2\n"), (Names{"x", "y"}));
  EXPECT_EQ(names("\xef\xbb\xbfx , y \r\n1,2\r\n"), (Names{"x", "y"}));
  EXPECT_EQ(names("id,2019,\n1,2,3\n"), (Names{"id", "2019", ""}));
  EXPECT_EQ(names("\"a,b\";\"say \"\"hi\"\"\";\"two\nlines\"\n1;2;3\n"), (Names{"a,b", "say \"hi\"", "two\nlines"}));
  EXPECT_EQ(names("a  \"b c\"\n1 2\n"), (Names{"a", "b c"}));
  EXPECT_EQ(names("height 5\",width\n1,2\n"), (Names{"height 5\"", "width"}));
  EXPECT_EQ(rows_in("x,y\n1,2\n"), (Rows{{1, 2}}));
  // A line of only tabs is a row of a tab-separated table.
  const CsvOptions tabs{.separator = Separator::tab};
  expect_contains(message_of<InputError>([&] { table_of("1\t2\n\t\n", tabs); }), "test.csv:2:1: the field is empty");
  EXPECT_EQ(rows_in("1\t2\n \n", tabs), (Rows{{1, 2}}));
  // The header takes two lines, so the first row is line three.
  expect_contains(message_of<InputError>([] { table_of("\"a\nb\",c\n1,2\nx,4\n"); }), "test.csv:4:1: 'x'");
}

TEST_F(CsvTest, DoubtfulFirstLinesAreNoted) {
  const auto row = [](const std::string& line) {
    SCOPED_TRACE(line);
    const CsvTable table = table_of(line + "\n" + line + "\n");
    EXPECT_EQ(table.values.view.rows(), 2);
    EXPECT_TRUE(table.column_names.empty());
    return note_of(table);
  };
  for (const std::string line : {"0,1,2", "1 2", "7;8", "-1,0,1,2", "0.5,1.5", "400,402,404", "1990,1991,1992",
                                 "2020,2019,2018", "1990,2001", "\"1\",\"5\""})
    EXPECT_EQ(row(line), "test.csv:1: the first line, '" + line +
                             "', is read as a row of numbers; if it names the columns, say --header yes");
  for (const std::string line : {"0,0,0", "2,1", "1,3", "1.5,2", "5", "2019", "1990,1990", "1990,2500", "\"1\",5"})
    EXPECT_EQ(row(line), "");
  EXPECT_EQ(note_of(table_of("0,1,2\n")), "");  // if the line were a header, there would be no rows

  const auto header = [](const std::string& line) {
    SCOPED_TRACE(line);
    const CsvTable table = table_of(line + "\n" + "3" + (line.find(',') == std::string::npos ? "" : ",4") + "\n");
    EXPECT_EQ(table.values.view.rows(), 1);
    EXPECT_FALSE(table.column_names.empty());
    return note_of(table);
  };
  for (const std::string line : {"id,2019", "x,N/A", "1st,2nd", "2020-01-01,2020-01-02", "18-24,65+", "id,0x10"})
    EXPECT_EQ(header(line), "test.csv:1: the first line, '" + line +
                                "', is read as names of columns; if it is a row, say --header no");
  for (const std::string line :
       {"x,y", ",x", "label,1x1", "\xc2\xb5m,\xce\x94x", "_1,_2", "(1) x,y2", "\"a,b\",c", "e,d"})
    EXPECT_EQ(header(line), "");
}

TEST_F(CsvTest, ABrokenFirstRowIsNoHeader) {
  const auto refusal = [](const std::string& line) {
    return message_of<InputError>([&] { table_of(line + "\n1,2,3\n4,5,6\n"); });
  };
  EXPECT_EQ(
      refusal("1.5,N/A,2"),
      "test.csv:1:2: 'N/A' is not a number; if this line names the columns, say --header yes; if it is a row, --header "
      "no");
  for (const std::string field : {"0x10",
                                  "abc",
                                  "1e",
                                  "1_000",
                                  "1'000",
                                  "1 000",
                                  "1D3",
                                  "5%",
                                  "$5",
                                  ("\xe2\x82\xac"
                                   "5"),
                                  ("\xe2\x88\x92"
                                   "5"),
                                  "<5",
                                  "(5)",
                                  "5*",
                                  "1.2.3",
                                  "n/a",
                                  "NULL",
                                  "<NA>",
                                  "?",
                                  "-",
                                  "--",
                                  "#N/A",
                                  "4x",
                                  "12:30",
                                  "1st",
                                  "1+2j"}) {
    SCOPED_TRACE(field);
    expect_contains(refusal("1.5," + field + ",2"), "test.csv:1:2: '");
  }
  for (const std::string line : {"N/A,N/A,NULL", "0x10,0x20,0x30", "-,-,-", "1D3,2D3,1D-3", "1 000,2 000,3 000"}) {
    SCOPED_TRACE(line);
    expect_contains(refusal(line), "test.csv:1:1: '");
  }
  expect_contains(message_of<InputError>([] { table_of("0x10\n4\n"); }), "test.csv:1:1: '0x10' is not a number");
  expect_contains(message_of<InputError>([] { table_of(",7,1\n0,3,4\n"); }), "test.csv:1:1: the field is empty");
}

TEST_F(CsvTest, TheHeaderIsWhatOneSays) {
  const CsvOptions yes{.header = HeaderLine::yes};
  const CsvOptions no{.header = HeaderLine::no};
  const CsvTable counted = table_of("\n# x\n0,1,2\n3,4,5\n", yes);
  EXPECT_EQ(counted.column_names, (std::vector{"0"s, "1"s, "2"s}));
  EXPECT_EQ(rows_of({counted.values, {}, {}}), (Rows{{3, 4, 5}}));
  EXPECT_EQ(note_of(counted), "");
  EXPECT_EQ(table_of("1.5,N/A,2\n3,4,5\n", yes).column_names, (std::vector{"1.5"s, "N/A"s, "2"s}));
  // The option --header applies to all tables of a command. So a note reports that this table may be an exception.
  EXPECT_EQ(note_of(table_of("1.5\n3\n", yes)),
            "test.csv:1: the first line, '1.5', is made of numbers and read as names of columns, as --header says");
  const CsvTable row = table_of("0,1,2\n3,4,5\n", no);
  EXPECT_EQ(row.values.view.rows(), 2);
  EXPECT_EQ(note_of(row), "");
  EXPECT_EQ(message_of<InputError>([&] { table_of("1,x\n3,4\n", no); }), "test.csv:1:2: 'x' is not a number");
  EXPECT_EQ(message_of<InputError>([&] { table_of("x,y\n", no); }), "test.csv:1:1: 'x' is not a number");
  EXPECT_EQ(message_of<InputError>([&] { table_of("1,2\n", yes); }), "test.csv:2: there is no row of numbers");
}

TEST_F(CsvTest, OtherFilesAreRecognised) {
  const auto refusal = [](const std::string& text) { return message_of<InputError>([&] { table_of(text); }); };
  expect_contains(refusal(npy(header("<f4", "(1,)"), stored({1.f}))), "'test.csv' is a .npy array");
  expect_contains(refusal(content(corpus + "image/rgb.png")), "'test.csv' is a picture (PNG)");
  expect_contains(refusal("\x1f\x8b\x08\0\n1\n"s), "cut off");
  expect_contains(refusal("\x28\xb5\x2f\xfd"s), "'test.csv' is a file that zstd has packed");
  expect_contains(refusal("PK\x03\x04\n1\n"), "'test.csv' is a ZIP archive");
  expect_contains(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 1\n"),
                  "'test.csv' is a Git LFS pointer");
  expect_contains(refusal("<!DOCTYPE html>\n<title>404</title>\n"), "'test.csv' is a web page (HTML)");
  expect_contains(refusal("<html lang=\"en\">\n"), "'test.csv' is a web page (HTML)");
  EXPECT_EQ(table_of("PAR1,BZh\n1,2\n").values.view.rows(), 1);
}

TEST_F(CsvTest, NumbersAreTheNearestDoubles) {
  EXPECT_EQ(rows_in("0.1 1e308 4.9e-324 2.2250738585072011e-308 -0 +7 .5 5. 1E+2 \"1.25\" \" 8 \"\n"),
            (Rows{{0.1, 1e308, 4.9e-324, 2.2250738585072011e-308, 0, 7, 0.5, 5, 100, 1.25, 8}}));
  // Numbers below the smallest double become zero, with the sign of the number.
  const Rows tiny = rows_in("1e-400,-1e-400,0e999," + std::string("0.") + std::string(500, '0') + "1\n");
  EXPECT_EQ(tiny, (Rows{{0, 0, 0, 0}}));
  EXPECT_TRUE(std::signbit(tiny[0][1]));
  EXPECT_TRUE(std::signbit(rows_in("-0\n")[0][0]));
  EXPECT_EQ(rows_in("1" + std::string(400, '0') + "e-400\n"), (Rows{{1}}));
}

TEST_F(CsvTest, RefusesBadText) {
  const std::pair<std::string, std::string> cases[] = {
      {"1,2\n3\n", "test.csv:2:2: 1 field, but line 1 has 2"},
      {"1,2,3\n\n", ""},
      {"x,y,z\n1,2,3\n4,5\n", "test.csv:3:3: 2 fields, but line 1 has 3"},
      {"1,2\n3,4,5\n", "test.csv:2:3: more fields than the 2 of line 1"},
      {"1 2\n3 4 5\n", "test.csv:2:3: more fields than the 2 of line 1"},
      {"1,2\n3,4,\n", "test.csv:2:3: more fields than the 2 of line 1"},
      {"x,y\n", "test.csv:2: there is no row of numbers"},
      {"", "test.csv:1: there is no row of numbers"},
      {"\n\n# x\n", "test.csv:4: there is no row of numbers"},
      {"1,2\n3,abc\n", "test.csv:2:2: 'abc' is not a number"},
      {"1,2\r\n3,abc\r\n", "test.csv:2:2: 'abc' is not a number"},
      {"1,2\n3, 4x ,5\n", "test.csv:2:2: '4x' is not a number"},
      {"1,2\n3,4 5\n", "test.csv:2:2: '4 5' is not a number"},
      {"1 2\n3 4,5\n", "test.csv:2:2: '4,5' is not a number"},
      {"1;2.5\n3;4,5\n", "test.csv:2:2: '4,5' is not a number (decimals follow a point"},
      {"1,2\n3,0x10\n", "test.csv:2:2: '0x10' is not a number"},
      {"1,2\n3,+-4\n", "test.csv:2:2: '+-4' is not a number"},
      {"1,2\n3,1e\n", "test.csv:2:2: '1e' is not a number"},
      {"1,2\n3,.\n", "test.csv:2:2: '.' is not a number"},
      {"1,2\n3,-\n", "test.csv:2:2: '-' is not a number"},
      {"1,2\n3,\x1b[31m\xc3\xa4\n", "test.csv:2:2: '\\x1b[31m\\xc3\\xa4' is not a number"},
      {"1,2\n3," + std::string(50, 'z') + "\n", "test.csv:2:2: '" + std::string(40, 'z') + "...' is not a number"},
      {"1,2\n3,\"4\n", "test.csv:2:2: the field '\"4' has no closing quote"},
      {"1,2\n3,\"4\" 5\n", "test.csv:2:2: '\"4\" 5' is not a number"},
      {"1,2\n3,\"4,5\" \n", "test.csv:2:2: '\"4,5\"' is not a number"},
      {"1;2\n\"a \"\"b\"\"; c\"x;5\n", "test.csv:2:1: '\"a \"\"b\"\"; c\"x' is not a number"},
      {"1 2\n3 \"4 5\"\n", "test.csv:2:2: '\"4 5\"' is not a number"},
      {"1,2\n3,\"4\"\"5\"\n", "test.csv:2:2: '\"4\"\"5\"' is not a number"},
      {"1,2\n3,\"\"\n", "test.csv:2:2: '\"\"' is not a number"},
      {"1,2\n3\r4,5\n", "test.csv:2:1: '3\\x0d4' is not a number"},
      {"1,2\n3,4\0\n"s, "test.csv:2:2: '4\\x00' is not a number"},
      {"1,,3\n", "test.csv:1:2: the field is empty; if this line names the columns, say --header yes"},
      {",,\n", "test.csv:1:1: the field is empty; if this line names the columns, say --header yes"},
      {"1,2\n3, \n", "test.csv:2:2: the field is empty: 1 of 2 rows lacks a number (column 2)"},
      {"1,2\n,4\n", "test.csv:2:1: the field is empty: 1 of 2 rows lacks a number (column 1)"},
      {"1,nan\n", "test.csv:1:2: 'nan' is not a finite number"},
      {"1,2\n-inf,4\n", "test.csv:2:1: '-inf' is not a finite number"},
      {"1,2\nInfinity,4\n", "test.csv:2:1: 'Infinity' is not a finite number"},
      {"1,2\n3,\"NaN\"\n", "test.csv:2:2: '\"NaN\"' is not a finite number"},
      {"1,2\n3,1e999\n", "test.csv:2:2: '1e999' is too large for a double"},
      {"1,2\n3,-1e999\n", "test.csv:2:2: '-1e999' is too large for a double"},
      {"1,2\n\n3,4\n", "test.csv:2: a blank line between rows of numbers"},
      {"\"a,b\n1,2\n", "test.csv:1: a quoted field has no closing quote"},
      {"\"a\"b,c\n1,2\n", "test.csv:1:1: text follows the closing quote"},
      {"\xff\xfe"
       "1\0,\0"s,
       "'test.csv' is text in UTF-16"},
      {"1,2\r3,4\r", "test.csv:1: a carriage return without a line feed"},
      {"1,2\n#N/A,3\n4,5\n", "test.csv:2:1: '#N/A' is not a number: 1 of 3 rows lacks a number"},
      {"1;2\n3;4\n#DIV/0!;5", "test.csv:3:1: '#DIV/0!' is not a number: 1 of 3 rows lacks a number"},
  };
  for (const auto& [text, expected] : cases) {
    if (expected.empty()) {
      EXPECT_NO_THROW(table_of(text));
    } else {
      const std::string message = message_of<InputError>([&, &text = text] { table_of(text); });
      expect_contains(message, expected);
    }
  }
}

TEST_F(CsvTest, LinesLongerThanTheBufferOfAStream) {
  std::string text;
  Rows expected(3);
  for (auto& row : expected) {
    for (int column = 0; column < 400'000; ++column) {
      row.push_back(column % 1000 + 0.25);
      text += std::to_string(column % 1000) + (column == 399'999 ? ".25\n" : ".25,");
    }
  }
  EXPECT_EQ(rows_in(text), expected);
}

TEST_F(CsvTest, ManyRowsKeepTheirOrder) {
  std::string text = "x,y\n";
  for (int row = 0; row < 300'000; ++row) text += std::to_string(row) + "," + std::to_string(-row) + "\n";
  const CsvTable table = table_of(text);
  ASSERT_EQ(table.values.view.rows(), 300'000);
  for (int row = 0; row < 300'000; ++row) {
    ASSERT_EQ(table.values.view(row, 0), row);
    ASSERT_EQ(table.values.view(row, 1), -row);
  }
}

TEST_F(CsvTest, AStopRequestEndsTheReadingOfAStream) {
  std::stop_source stop;
  stop.request_stop();
  const std::string file = put("a.csv", "1,2\n");
  const int descriptor = ::open(file.c_str(), O_RDONLY);
  EXPECT_THROW(read_csv_stream(descriptor, "standard input", {}, stop.get_token()), InterruptedError);
  ::close(descriptor);
  EXPECT_THROW(read_csv_stream(-1, "standard input"), InputError);
  EXPECT_THROW(read_csv(file, {}, stop.get_token()), InterruptedError);
}

RC_GTEST_PROP(CsvProperty, ShortestTextReadsBackToTheSameBits, ()) {
  const auto bit_patterns = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint64_t>>(rc::gen::resize(
      100, rc::gen::map(rc::gen::arbitrary<std::pair<std::uint32_t, std::uint32_t>>(),
                        [](const auto& halves) { return std::uint64_t{halves.first} << 32 | halves.second; }))));
  std::string text;
  std::vector<double> expected;
  for (const std::uint64_t pattern : bit_patterns) {
    const double value = std::bit_cast<double>(pattern);
    if (!std::isfinite(value)) continue;
    expected.push_back(value);
    std::array<char, 64> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(digits.data(), end).append("\n");
  }
  RC_PRE(!expected.empty());
  const CsvTable table = parse_csv(bytes(text), "test.csv");
  RC_ASSERT(table.values.view.rows() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t row = 0; row < expected.size(); ++row)
    RC_ASSERT(std::bit_cast<std::uint64_t>(table.values.view(static_cast<std::int64_t>(row), 0)) ==
              std::bit_cast<std::uint64_t>(expected[row]));
}

/// Returns the colour at (x, y) of the corpus's images, which have 5 x 3 pixels. Channel 3 is the opacity.
int colour(int x, int y, int channel) {
  switch (channel) {
    case 0: return 40 * x + 10 * y;
    case 1: return 200 - 30 * x - 20 * y;
    case 2: return 90 + 5 * x * y;
    default: return 255 - 60 * x;
  }
}

void check_picture(const std::string& file, int channels, const std::function<int(int x, int y, int channel)>& value,
                   int tolerance = 0) {
  const Image image = read_image(corpus + "image/" + file);
  ASSERT_EQ(image.shape.width, 5) << file;
  ASSERT_EQ(image.shape.height, 3) << file;
  ASSERT_EQ(image.shape.channels, channels) << file;
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 5; ++x)
      for (int channel = 0; channel < channels; ++channel)
        EXPECT_LE(std::abs(image.pixels[(y * 5 + x) * channels + channel] - value(x, y, channel)), tolerance)
            << file << " at " << x << ", " << y << ", " << channel;
}

TEST_F(ImageTest, EveryKindOfPng) {
  const auto index = [](int x, int y) { return (x + y) % 4; };
  check_picture("gray.png", 1, colour);
  check_picture("gray_1.png", 1, [](int x, int y, int) { return (x + y) % 2 * 255; });
  check_picture("gray_2.png", 1, [&](int x, int y, int) { return index(x, y) * 85; });
  check_picture("gray_16.png", 1, colour);
  check_picture("gray_opaque.png", 1, colour);
  check_picture("gray_alpha.png", 4, [](int x, int y, int channel) { return colour(x, y, channel == 3 ? 3 : 0); });
  check_picture("gray_transparent.png", 4, [](int x, int y, int channel) {
    return channel < 3 ? colour(x, y, 0) : colour(x, y, 0) == 0 ? 0 : 255;
  });
  check_picture("rgb.png", 3, colour);
  check_picture("rgb_16.png", 3, colour);
  check_picture("rgb_interlaced.png", 3, colour);
  check_picture("rgba.png", 4, colour);
  check_picture("rgba_opaque.png", 3, colour);
  check_picture("palette.png", 3, [&](int x, int y, int channel) { return 30 * index(x, y) + 10 * channel + 10; });
  check_picture("palette_transparent.png", 4, [&](int x, int y, int channel) {
    return channel < 3 ? 30 * index(x, y) + 10 * channel + 10 : index(x, y) == 1 ? 0 : 255;
  });
}

TEST_F(ImageTest, Jpeg) {
  check_picture("gray.jpg", 1, colour, 4);
  check_picture("rgb.jpg", 3, colour, 8);
  check_picture("progressive.jpg", 3, colour, 40);  // the file stores colours at half the resolution
  expect_contains(message_of<InputError>([] { read_image(corpus + "image/print.jpg"); }), "CMYK");
}

TEST_F(ImageTest, PixelsBecomePoints) {
  const Points points = read_points(GRADUS_SOURCE_DIR "/data/picture.png");
  EXPECT_EQ(points.type(), ElementType::f32);
  EXPECT_EQ(points.rows(), 240 * 160);
  EXPECT_EQ(points.columns(), 3);
  ASSERT_TRUE(points.picture);
  EXPECT_EQ(points.picture->width, 240);
  EXPECT_EQ(points.picture->height, 160);
  EXPECT_EQ(points.picture->channels, 3);
  const Points small = read_points(corpus + "image/rgb.png");
  EXPECT_EQ(small.view<float>()(7, 1), colour(2, 1, 1));
}

TEST_F(ImageTest, WrittenPicturesReadBack) {
  for (const std::int64_t channels : {1, 3, 4}) {
    const PictureShape shape{37, 11, channels};
    std::vector<std::uint8_t> pixels(std::size_t{37} * 11 * static_cast<std::size_t>(channels));
    std::mt19937 random(5);
    for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random());
    AtomicFile file(path("out.png"));
    write_png(file, shape, pixels);
    file.commit();
    const Image image = read_image(path("out.png"));
    EXPECT_EQ(image.shape.width, 37);
    EXPECT_EQ(image.shape.height, 11);
    EXPECT_EQ(image.shape.channels, channels);
    EXPECT_TRUE(std::equal(pixels.begin(), pixels.end(), image.pixels.begin(), image.pixels.end()));
    std::ifstream stream(path("out.png"), std::ios::binary);
    const std::string written{std::istreambuf_iterator<char>(stream), {}};
    const std::vector<std::byte> bytes = png_bytes("out", shape, pixels);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), written);
  }
}

TEST_F(ImageTest, RefusesToWriteWhatIsNoPicture) {
  AtomicFile file(path("out.png"));
  const std::vector<std::uint8_t> pixels(12);
  EXPECT_THROW(write_png(file, {2, 3, 1}, pixels), Error);
  EXPECT_THROW(write_png(file, {2, 3, 2}, pixels), Error);
  EXPECT_THROW(write_png(file, {0, 3, 1}, pixels), Error);
  EXPECT_THROW(write_png(file, {-2, -2, 3}, pixels), Error);
  EXPECT_EQ(message_of<Error>([&] {
              png_bytes("a page", {5, 1, 1}, pixels);
            }),
            "cannot write 'a page': 12 bytes do not make a picture of 5 x 1 pixels with 1 channels");
}

TEST_F(ImageTest, AFullDiskEndsTheWriting) {
  AtomicFile file("/dev/full");
  std::vector<std::uint8_t> noise(1'200'000);
  std::mt19937 random(5);
  for (auto& pixel : noise) pixel = static_cast<std::uint8_t>(random());
  EXPECT_EQ(message_of<Error>([&] {
              write_png(file, {1000, 400, 3}, noise);
            }),
            "cannot write '/dev/full': No space left on device");
}

TEST_F(ImageTest, AStopRequestEndsReadingAndWriting) {
  std::stop_source stop;
  const PictureShape shape{64, 64, 3};
  const std::vector<std::uint8_t> pixels(std::size_t{64} * 64 * 3, 7);
  AtomicFile file(path("a.png"));
  write_png(file, shape, pixels);
  file.commit();
  AtomicFile other(path("b.png"), stop.get_token());
  stop.request_stop();
  EXPECT_THROW(write_png(other, shape, pixels), InterruptedError);
  EXPECT_THROW(png_bytes("a page", shape, pixels, stop.get_token()), InterruptedError);
  EXPECT_THROW(read_image(path("a.png"), stop.get_token()), InterruptedError);
  for (const std::string name : {"gray.jpg", "rgb.jpg", "progressive.jpg"})
    EXPECT_THROW(read_image(corpus + "image/" + name, stop.get_token()), InterruptedError) << name;
}

TEST_F(ImageTest, EveryTruncationIsRefused) {
  for (const std::string file : {"rgb.png", "rgb_interlaced.png", "palette.png", "rgb.jpg", "progressive.jpg"}) {
    const std::string whole = content(std::string(corpus).append("image/").append(file));
    // A JPEG without its last two bytes lacks no pixel but only the end mark. The library still reports an error.
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_THROW(parse_image(bytes(whole.substr(0, size)), file), InputError) << file << " cut to " << size;
  }
}

TEST_F(ImageTest, DamageIsRefused) {
  const std::string png = content(corpus + "image/rgb.png");
  for (std::size_t at = 8; at < png.size(); ++at) {
    std::string damaged = png;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    // Every bit of a PNG counts, because each chunk has a checksum.
    EXPECT_THROW(parse_image(bytes(damaged), "test.png"), InputError) << at;
  }
  expect_contains(message_of<InputError>([] { parse_image(bytes("GIF89a"s), "x.png"); }),
                  "'x.png' is a picture, neither PNG nor JPEG");
  // Both messages state the position of the error. For the first file, this is the end of the file. For the second
  // file, it is the end of a header of 8 + 25 bytes whose checksum is incorrect.
  expect_contains(message_of<InputError>([&] { parse_image(bytes(png.substr(0, 60)), "x.png"); }), "(byte 60)");
  std::string head = png;
  head[32] = static_cast<char>(head[32] ^ 4);
  expect_contains(message_of<InputError>([&] { parse_image(bytes(head), "x.png"); }), "(byte 33)");
  const std::string jpeg = content(corpus + "image/rgb.jpg");
  expect_contains(message_of<InputError>([&] { parse_image(bytes(jpeg.substr(0, 200)), "x.jpg"); }), "(byte ");
}

TEST_F(ImageTest, SizesAreCheckedBeforeAllocation) {
  const std::string file = content(corpus + "image/rgb.png");
  expect_contains(message_of<InputError>([&] { parse_image(bytes(file), "x.png", 14); }), "5 x 3 pixels; from 1 to 14");
  EXPECT_NO_THROW(parse_image(bytes(file), "x.png", 15));
  const std::string jpeg = content(corpus + "image/rgb.jpg");
  expect_contains(message_of<InputError>([&] { parse_image(bytes(jpeg), "x.jpg", 14); }), "5 x 3 pixels; from 1 to 14");
  EXPECT_NO_THROW(parse_image(bytes(jpeg), "x.jpg", 15));
}

TEST_F(PointsTest, KindsByEndingOrContent) {
  const std::string npy_file = npy(header("<f4", "(1, 2)"), stored({1.f, 2.f}));
  const Rows expected = {{1, 2}};
  EXPECT_EQ(rows_of(read_points(put("a.npy", npy_file))), expected);
  EXPECT_EQ(rows_of(read_points(put("a.NPY", npy_file))), expected);
  EXPECT_EQ(rows_of(read_points(put("a.data", npy_file))), expected);
  EXPECT_EQ(rows_of(read_points(put("a", npy_file))), expected);
  EXPECT_EQ(rows_of(read_points(put("a.csv", "1,2\n"))), expected);
  EXPECT_EQ(rows_of(read_points(put("a.txt", "1 2\n"))), expected);
  EXPECT_EQ(rows_of(read_points(put("a.tsv", "1\t2\n"))), expected);
  for (const std::string file : {"rgb.png", "rgb.jpg"}) {
    EXPECT_EQ(read_points(put("picture", content(std::string(corpus).append("image/").append(file)))).rows(), 15);
    EXPECT_EQ(read_points(std::string(corpus).append("image/").append(file)).columns(), 3);
  }
  expect_contains(message_of<InputError>([&] { read_points(path("none")); }), "No such file or directory");
  expect_contains(message_of<InputError>([&] { read_points(path("none.npy")); }), "No such file or directory");
  expect_contains(message_of<InputError>([&] { read_points(put("b.npy", "1,2\n")); }), "not a .npy file");
  expect_contains(message_of<InputError>([&] { read_points(put("b.png", npy_file)); }), "b.png' is a .npy array");
  expect_contains(message_of<InputError>([&] { read_points(put("b.csv", npy_file)); }), "is a .npy array");
  expect_contains(message_of<InputError>([&] { read_points(put("b.bin", "1 2\n")); }),
                  ".npy, .npz, .safetensors, .h5, .hdf5, .hdf, .he5, .fvecs, .bvecs, .ivecs, .fbin, .u8bin, .i8bin, "
                  ".csv, .tsv, .txt, .png, "
                  ".jpg and .jpeg can be read, '-' is CSV from standard input");
  for (const std::string table : {"a.csv", "a.txt", "a.tsv", "-"})
    EXPECT_TRUE(is_table(table == "-" ? table : path(table)));
  for (const std::string other : {"a.npy", "a.data", "picture"}) EXPECT_FALSE(is_table(path(other))) << other;
  for (const std::string array : {"a.npy", "a.data", "a"}) EXPECT_TRUE(is_npy(path(array))) << array;
  for (const std::string other : {"t.csv", "picture"}) EXPECT_FALSE(is_npy(path(other))) << other;
}

TEST_F(PointsTest, DoubtsAreTold) {
  std::vector<std::string> notes;
  ReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const std::string file = put("a.csv", "0,1\n5,6\n");
  EXPECT_EQ(read_points(file, options).rows(), 2);
  ASSERT_EQ(notes.size(), 1u);
  expect_contains(notes.front(), file + ":1: the first line, '0,1', is read as a row of numbers");
  options.header = HeaderLine::yes;
  EXPECT_EQ(rows_of(read_points(file, options)), (Rows{{5, 6}}));
  EXPECT_EQ(read_vector<double>(put("w.csv", "3\n4\n5\n"), options).view.size(), 3);  // --header concerns tables
  EXPECT_EQ(notes.size(), 1u);
}

TEST_F(PointsTest, StandardInputIsCsv) {
  const int before = ::dup(STDIN_FILENO);
  const int file = ::open(put("in", "x,y\n1,2\n").c_str(), O_RDONLY);
  ::dup2(file, STDIN_FILENO);
  const Points points = read_points("-");
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  ::close(file);
  EXPECT_EQ(rows_of(points), (Rows{{1, 2}}));
  EXPECT_EQ(points.column_names, (std::vector{"x"s, "y"s}));
}

TEST_F(PointsTest, ConversionOnRequest) {
  const std::string file = put("a.csv", "x\n0.1\n");
  EXPECT_EQ(read_points(file).type(), ElementType::f64);
  const Points narrow = read_points(file, {.type = ElementType::f32, .stop = {}});
  EXPECT_EQ(narrow.view<float>()(0, 0), 0.1f);
  EXPECT_EQ(narrow.column_names, std::vector{"x"s});
  const std::string small = put("a.npy", npy(header("<f4", "(1,)"), stored({0.1f})));
  EXPECT_EQ(read_points(small, {.type = ElementType::f64, .stop = {}}).view<double>()(0, 0), double{0.1f});
  expect_contains(message_of<InputError>(
                      [&] { read_points(put("b.csv", "1,2\n3,1e39\n"), {.type = ElementType::f32, .stop = {}}); }),
                  "row 1, column 1: ");
}

TEST_F(PointsTest, Vectors) {
  const auto weights = read_vector<float>(put("w.csv", "weight\n1\n2\n0.1\n"));
  EXPECT_EQ(std::vector<float>(weights.view.begin(), weights.view.end()), (std::vector{1.f, 2.f, 0.1f}));
  const auto row = read_vector<double>(put("w.tsv", "1\t2\t3\n"));
  EXPECT_EQ(std::vector<double>(row.view.begin(), row.view.end()), (std::vector{1., 2., 3.}));
  const auto mapped = read_vector<double>(put("w.npy", npy(header("<f8", "(2,)"), stored({1.5, 2.5}))));
  EXPECT_EQ(std::vector<double>(mapped.view.begin(), mapped.view.end()), (std::vector{1.5, 2.5}));
  expect_contains(message_of<InputError>([&] { read_vector<float>(put("m.csv", "1,2\n3,4\n")); }),
                  "2 rows of 2 columns; one value per row is expected");
}

TEST_F(PointsTest, TheDigits) {
  const Points digits = read_points(GRADUS_SOURCE_DIR "/data/digits.npy");
  EXPECT_EQ(digits.rows(), 1797);
  EXPECT_EQ(digits.columns(), 64);
  double sum = 0;
  for (const auto& row : rows_of(digits))
    for (const double value : row) sum += value;
  EXPECT_EQ(sum, 561718);
  const auto labels = read_vector<float>(GRADUS_SOURCE_DIR "/data/digits_labels.npy");
  EXPECT_EQ(labels.view.size(), 1797);
  EXPECT_EQ(std::count(labels.view.begin(), labels.view.end(), 3.f), 183);
}

TEST_F(IoTest, LinesOneByOne) {
  const auto lines = [](TextInput& input) {
    std::vector<std::string> all;
    while (const auto line = input.next_line()) all.emplace_back(*line);
    EXPECT_FALSE(input.next_line());
    return all;
  };
  const std::string long_line(3 << 20, 'x');
  const std::string text = "one\r\n\n" + long_line + "\nlast";
  const std::vector<std::string> right{"one", "", long_line, "last"};
  TextInput memory(std::as_bytes(std::span(text)), "t");
  EXPECT_EQ(memory.bytes_left(), text.size());
  EXPECT_EQ(lines(memory), right);
  EXPECT_EQ(memory.bytes_left(), 0u);
  const int file = ::open(put("lines", text + "\n").c_str(), O_RDONLY);
  TextInput stream(file, "t");
  EXPECT_EQ(stream.beginning().substr(0, 5), "one\r\n");
  EXPECT_FALSE(stream.bytes_left());
  EXPECT_EQ(lines(stream), right);
  ::close(file);
}

}  // namespace
}  // namespace gradus::files
