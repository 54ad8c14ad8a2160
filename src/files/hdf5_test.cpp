// Tests of HDF5 datasets. The inputs are the fuzzer's seeds, which h5py has written.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "cpu/widen.hpp"
#include "files/file.hpp"
#include "files/points.hpp"
#include "tests/files.hpp"

namespace gradus::files {
namespace {

using tests::expect_contains;
using tests::message_of;
using Rows = std::vector<std::vector<double>>;

const std::string corpus = GRADUS_SOURCE_DIR "/tests/fuzz/corpus/hdf5/";
const Rows ramp{{0, 1, 2}, {3, 4, 5}};

struct Sample {
  std::string name;
  ElementType type;
  bool is_mapped;                    ///< true if the values are viewed in place
  std::optional<StoredType> stored;  ///< the type in which the values can be kept
  bool is_loaded;                    ///< true if libhdf5 copies the rows
};
constexpr ElementType f32 = ElementType::f32;
constexpr ElementType f64 = ElementType::f64;
const std::vector<Sample> samples = {
    {"little_f2.h5", f32, false, StoredType::f16, false},
    {"little_f4.h5", f32, true, {}, false},
    {"little_f8.h5", f64, true, {}, false},
    {"big_f4.h5", f32, false, {}, false},
    {"big_f8.h5", f64, false, {}, false},
    {"i1.h5", f32, false, StoredType::i8, false},
    {"little_i2.h5", f32, false, {}, false},
    {"little_i4.h5", f64, false, {}, false},
    {"little_i8.h5", f64, false, {}, false},
    {"big_i8.h5", f64, false, {}, false},
    {"u1.h5", f32, false, StoredType::u8, false},
    {"little_u2.h5", f32, false, {}, false},
    {"little_u4.h5", f64, false, {}, false},
    {"little_u8.h5", f64, false, {}, false},
    {"bool.h5", f32, false, {}, false},
    {"bfloat16.h5", f32, false, StoredType::bf16, false},
    {"chunked_little_f2.h5", f32, false, StoredType::f16, true},
    {"chunked_big_f2.h5", f32, false, {}, true},
    {"chunked_little_f4.h5", f32, false, {}, true},
    {"chunked_big_f4.h5", f32, false, {}, true},
    {"chunked_big_f8.h5", f64, false, {}, true},
    {"chunked_u1.h5", f32, false, StoredType::u8, true},
    {"chunked_little_i8.h5", f64, false, {}, true},
    {"v108.h5:group/x", f32, true, {}, false},
    {"v108.h5:/group/y", f32, false, {}, true},
    {"v110.h5:group/x", f32, true, {}, false},
    {"v110.h5:/group/y", f32, false, {}, true},
    {"datasets.h5:train", f32, true, {}, false},
    {"datasets.h5:/link", f32, true, {}, false},
};

Rows expected_of(const Sample& sample) { return sample.name.starts_with("bool") ? Rows{{0, 1, 1}, {1, 1, 1}} : ramp; }

Rows rows_in(const Points& points) {
  Rows rows;
  points.visit([&](auto view) {
    for (std::int64_t row = 0; row < view.rows(); ++row)
      rows.emplace_back(view.row(row), view.row(row) + view.columns());
  });
  return rows;
}

Rows stored_rows_in(const Points& points) {
  Rows rows;
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    std::vector<float> wide(static_cast<std::size_t>(points.columns()));
    cpu::widen(points.stored.type(), points.stored.row(row), points.columns(), wide.data());
    rows.emplace_back(wide.begin(), wide.end());
  }
  return rows;
}

class Hdf5File : public tests::FolderTest {
 protected:
  void SetUp() override {
    try {
      read_points(corpus + "little_f4.h5");
    } catch (const UnsupportedError& error) {
      expect_contains(error.what(),
                      "little_f4.h5': an HDF5 file, for which the library libhdf5 from version 1.10 on is needed");
      expect_contains(error.what(), "install it (Debian: libhdf5-103-1");
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(Hdf5File, IsReadExactly) {
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    const std::string path = corpus + sample.name;
    const Rows expected = expected_of(sample);
    const Points points = read_points(path);
    EXPECT_EQ(rows_in(points), expected);
    EXPECT_EQ(points.type(), sample.type);
    const PointsShape shape = shape_in_rows(path).value();
    EXPECT_EQ(shape.rows, 2);
    EXPECT_EQ(shape.columns, 3);
    EXPECT_EQ(shape.type, sample.type);
    EXPECT_EQ(shape.stored, std::nullopt);
    EXPECT_EQ(shape.is_mapped, sample.is_mapped);
    EXPECT_EQ(points.visit([](auto view) { return mapped_file_at(view.data()) != nullptr; }), sample.is_mapped);
    for (const ElementType type : {f32, f64})
      EXPECT_EQ(rows_in(read_points(path, {.type = type, .stop = {}})), expected);
    EXPECT_EQ(rows_in(read_rows(path, 1, 1)), Rows{expected[1]});
    EXPECT_EQ(rows_in(read_rows(path, 0, 1)), Rows{expected[0]});
    EXPECT_EQ(read_rows(path, 2, 0).columns(), 3);
    ReadOptions some;
    some.columns.taken = ColumnList("--columns", "3,1");
    EXPECT_EQ(rows_in(read_rows(path, 1, 1, some)), (Rows{{expected[1][2], expected[1][0]}}));
  }
}

TEST_F(Hdf5File, IsKeptInItsType) {
  ReadOptions options;
  options.keep_stored = true;
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    const std::string path = corpus + sample.name;
    const Points points = read_points(path, options);
    ASSERT_EQ(points.stored.data() != nullptr, sample.stored.has_value());
    if (!sample.stored) continue;
    EXPECT_EQ(points.stored.type(), *sample.stored);
    EXPECT_EQ(stored_rows_in(points), ramp);
    EXPECT_EQ(stored_rows_in(read_rows(path, 1, 1, options)), Rows{ramp[1]});
    EXPECT_EQ(shape_in_rows(path, options)->is_mapped, !sample.is_loaded);
    EXPECT_EQ(shape_in_rows(path, options)->stored, sample.stored);
  }
}

TEST_F(Hdf5File, ADatasetIsChosenByName) {
  const std::string path = corpus + "datasets.h5";
  EXPECT_EQ(rows_in(read_points(path + ":group/vector")), (Rows{{0}, {1}, {2}, {3}, {4}}));
  EXPECT_EQ(rows_in(read_points(path + ":unwritten")), (Rows{{7, 7, 7}, {7, 7, 7}}));
  EXPECT_EQ(read_vector<float>(path + ":/group/vector").view.size(), 5);
  EXPECT_EQ(read_points(path + ":none").rows(), 0);
  EXPECT_EQ(read_points(path + ":none").columns(), 3);
  EXPECT_EQ(file_of_points(path + ":/group/vector"), path);
  EXPECT_EQ(file_of_points("a.HDF5:x"), "a.HDF5");
  for (const auto& [name, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "the file holds 10 arrays; say which one: " + path + ":/compact, "},
           {":tain", "there is no array '/tain' (did you mean '/train'?); there is " + path + ":/compact"},
           {":group", "there is no array '/group'"},
           {":text", "datasets.h5:text': the values have a type that is not read"},
           {":cube", "the shape (2, 3, 2); one or two dimensions"},
           {":scalar", "the shape ()"},
           {":virtual", "the values are in other files"},
           {":external", "the values are in other files"},
           {":compact", "the shape (2, 0)"}})
    expect_contains(message_of<InputError>([&, &name = name] { read_points(path + name); }), expected);
}

TEST_F(Hdf5File, DamageIsNamed) {
  const std::string whole = tests::content(corpus + "chunked_little_f4.h5");
  const auto refusal = [&](const std::string& bytes) {
    return message_of<InputError>([&] { read_points(put("bad.h5", bytes)); });
  };
  for (const std::size_t size : {std::size_t{8}, std::size_t{100}, whole.size() / 2, whole.size() - 1})
    expect_contains(refusal(whole.substr(0, size)), "bad.h5': the file cannot be opened (HDF5: ");
  expect_contains(refusal("1,2\n3,4\n"), "not an HDF5 file: its signature is missing");
  expect_contains(refusal(tests::content(GRADUS_SOURCE_DIR "/tests/fuzz/corpus/npy/little_f4.npy")), "is a .npy array");
  // The elements are the last bytes of the file. Their checksum detects the change in the second row.
  std::string changed = whole;
  changed[changed.size() - 1] = static_cast<char>(changed.back() ^ 1);
  const std::string path = put("bad.h5", changed);
  try {
    read_points(path + ":x");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    expect_contains(error.what(), path + ":x': row 1 (counted from 0) cannot be read (HDF5: ");
    EXPECT_EQ(error.fields().row, 1);
  }
  EXPECT_EQ(rows_in(read_rows(path, 0, 1)), Rows{ramp[0]});
  expect_contains(message_of<InputError>([&] { read_points(put("x.bin", whole)); }), "is an HDF5 file");
}

TEST_F(Hdf5File, ASizeThatTheFileCannotHoldIsRefused) {
  // The chunks of 1 x 2 elements get 2^31 rows, and the rows of the dataset 2^40.
  std::string large = tests::content(corpus + "chunked_u1.h5");
  const std::string chunk("\x01\0\0\0\x02\0\0\0\x01\0\0\0", 12);
  const std::size_t place = large.find(chunk);
  ASSERT_NE(place, std::string::npos);
  large[place + 3] = '\x40';
  large[place] = 0;
  expect_contains(message_of<InputError>([&] { read_points(put("large.h5", large)); }), "chunks of 1073741824 rows");
}

TEST_F(Hdf5File, AStopRequestEndsTheReading) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(read_points(corpus + "chunked_little_f4.h5", {.type = {}, .stop = stop.get_token()}), InterruptedError);
  EXPECT_THROW(read_points(corpus + "datasets.h5", {.type = {}, .stop = stop.get_token()}), InterruptedError);
}

}  // namespace
}  // namespace gradus::files
