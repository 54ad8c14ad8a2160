// Tests of reading points block by block. The blocks must have the same values, names and errors as the whole file.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/npz.hpp"
#include "files/point_blocks.hpp"
#include "tests/files.hpp"

namespace gradus::files {
namespace {

using tests::expect_contains;
using tests::message_of;

class PointBlocksTest : public tests::FolderTest {
 protected:
  /// Writes an array of small integers in C order, or in Fortran order if `header` says so.
  std::string npy(const std::string& name, const std::string& header, std::size_t elements, std::size_t bytes) {
    std::string data(elements * bytes, '\0');
    for (std::size_t index = 0; index < elements; ++index) data[index * bytes] = static_cast<char>(index % 101);
    std::string text = header;
    while ((text.size() + 11) % 64 != 0) text += ' ';
    text += '\n';
    const auto length = static_cast<std::uint16_t>(text.size());
    return put(name, "\x93NUMPY\x01" + std::string(1, '\0') +
                         std::string{static_cast<char>(length & 0xff), static_cast<char>(length >> 8)} + text + data);
  }
  std::string rows(const std::string& name, std::int64_t n, std::int64_t d, const std::string& type = "<i2",
                   std::size_t bytes = 2) {
    return npy(name,
               "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + std::to_string(n) + ", " +
                   std::to_string(d) + "), }",
               static_cast<std::size_t>(n * d), bytes);
  }
};

/// The values of all rows, collected from the blocks.
struct Read {
  std::vector<double> values;
  std::int64_t blocks = 0;
  std::int64_t longest = 0;
};

Read read_blocks(PointBlocks& blocks, std::int64_t block, ElementType type) {
  Read read;
  std::int64_t next = 0;
  blocks.for_each(block, type, [&](const Points& points, std::int64_t first) {
    EXPECT_EQ(first, next);
    EXPECT_EQ(points.type(), type);
    next += points.rows();
    ++read.blocks;
    read.longest = std::max(read.longest, points.rows());
    points.visit([&](auto view) {
      for (std::int64_t row = 0; row < view.rows(); ++row)
        for (std::int64_t column = 0; column < view.columns(); ++column)
          read.values.push_back(static_cast<double>(view(row, column)));
    });
  });
  EXPECT_EQ(next, blocks.rows());
  return read;
}

std::vector<double> read_whole(const std::string& path, const ReadOptions& options) {
  std::vector<double> values;
  read_points(path, options).visit([&](auto view) {
    for (std::int64_t row = 0; row < view.rows(); ++row)
      for (std::int64_t column = 0; column < view.columns(); ++column)
        values.push_back(static_cast<double>(view(row, column)));
  });
  return values;
}

TEST_F(PointBlocksTest, DeliverEveryValueOnceForAnySizeOfBlocks) {
  const std::string shape = "'shape': (97, 5), }";
  const std::string one = "'shape': (485,), }";
  const struct {
    std::string path;
    bool by_rows;
  } files[] = {
      {npy("f2.npy", "{'descr': '<f2', 'fortran_order': False, " + shape, 485, 2), true},
      {npy("f4.npy", "{'descr': '<f4', 'fortran_order': False, " + shape, 485, 4), true},
      {npy("f8.npy", "{'descr': '<f8', 'fortran_order': False, " + shape, 485, 8), true},
      {npy("big.npy", "{'descr': '>u2', 'fortran_order': False, " + shape, 485, 2), true},
      {npy("u1.npy", "{'descr': '|u1', 'fortran_order': False, " + shape, 485, 1), true},
      {npy("i8.npy", "{'descr': '<i8', 'fortran_order': False, " + shape, 485, 8), true},
      {npy("vector.npy", "{'descr': '<i4', 'fortran_order': False, " + one, 485, 4), true},
      {npy("fortran.npy", "{'descr': '<i2', 'fortran_order': True, " + shape, 485, 2), false},
      {put("table.csv", "x,y\n1,2\n3,4\n5,6\n"), false},
  };
  for (const auto& [path, by_rows] : files)
    for (const ElementType type : {ElementType::f32, ElementType::f64})
      for (const std::int64_t block : {1, 2, 3, 7, 31, 96, 97, 98, 485, 1 << 20}) {
        SCOPED_TRACE(path + " in blocks of " + std::to_string(block));
        ReadOptions options;
        PointBlocks blocks(path, options);
        const std::int64_t n = blocks.rows();
        EXPECT_EQ(blocks.head().rows(), by_rows ? 0 : n);
        const Read read = read_blocks(blocks, block, type);
        options.type = type;
        EXPECT_EQ(read.values, read_whole(path, options));
        EXPECT_EQ(read.blocks, by_rows ? (n + block - 1) / block : 1);
        EXPECT_EQ(read.longest, by_rows ? std::min(block, n) : n);
        EXPECT_EQ(read_blocks(blocks, block, type).values, read.values);
      }
}

TEST_F(PointBlocksTest, DeliverChosenColumns) {
  const std::string path = rows("p.npy", 50, 6);
  ReadOptions options;
  options.columns.taken = ColumnList("--columns", "4,2");
  PointBlocks blocks(path, options);
  EXPECT_EQ(blocks.head().columns(), 2);
  EXPECT_EQ(read_blocks(blocks, 7, ElementType::f32).values, read_whole(path, options));
  // All six columns of a row are converted first. Then two of them are copied.
  EXPECT_EQ(blocks.rows_in(3200, ElementType::f32, 0), 100);
  EXPECT_EQ(PointBlocks(path, {}).rows_in(3200, ElementType::f32, 8), 100);
  EXPECT_EQ(PointBlocks(path, {}).rows_in(1, ElementType::f64, 8), 1);
  options.columns.taken = {};
  options.columns.weight = ColumnList("--weight-column", "1");
  PointBlocks weighted(path, options);
  EXPECT_EQ(weighted.head().weights.size(), 50u);
  EXPECT_EQ(read_blocks(weighted, 7, ElementType::f32).blocks, 1);
}

TEST_F(PointBlocksTest, AreOneEmptyBlockWithoutRows) {
  PointBlocks blocks(rows("none.npy", 0, 3), {});
  const Read read = read_blocks(blocks, 5, ElementType::f64);
  EXPECT_EQ(read.blocks, 1);
  EXPECT_TRUE(read.values.empty());
}

TEST_F(PointBlocksTest, NameRowsOfTheFileInErrors) {
  const std::string path = rows("p.npy", 40, 3, "<f8", 8);
  std::string text = tests::content(path);
  const double large = 1e300;
  std::memcpy(text.data() + text.size() - 3 * 8 * 3 + 8, &large, 8);  // row 37, column 1
  PointBlocks blocks(put("p.npy", text), {});
  for (const std::int64_t block : {1, 7, 40})
    expect_contains(message_of<InputError>([&] { read_blocks(blocks, block, ElementType::f32); }), "row 37, column 1");
}

TEST_F(PointBlocksTest, RefuseAFileThatChanges) {
  namespace fs = std::filesystem;
  const std::string path = rows("p.npy", 40, 3);
  const std::string text = tests::content(path);
  const std::string larger = tests::content(rows("larger.npy", 41, 3));
  const struct {
    const char* name;
    std::function<void()> change;
    const char* says;
  } changes[] = {
      {"shrinks", [&] { fs::resize_file(path, text.size() - 6); }, "bytes and now has"},
      {"grows", [&] { fs::resize_file(path, text.size() + 6); }, "bytes and now has"},
      {"is written again", [&] { put("p.npy", larger); }, "bytes and now has"},
      {"is replaced", [&] { fs::rename(path, path + "~"), fs::copy_file(path + "~", path); }, "was replaced"},
      {"is removed", [&] { fs::remove(path); }, "has changed"},
  };
  for (const auto& [name, change, says] : changes)
    for (const std::int64_t when : {0, 14, 35}) {  // the first row of the block during which the file changes
      SCOPED_TRACE(name);
      put("p.npy", text);
      PointBlocks blocks(path, {});
      const std::string message = message_of<InputError>([&] {
        blocks.for_each(7, ElementType::f32, [&](const Points&, std::int64_t first) {
          if (first == when) change();
          EXPECT_LE(first, when);
        });
      });
      expect_contains(message, says);
      expect_contains(message, "p.npy");
    }
}

TEST_F(PointBlocksTest, KnowsWhatIsMapped) {
  ReadOptions as_file;
  ReadOptions as_f32;
  as_f32.type = ElementType::f32;
  ReadOptions some_columns;
  some_columns.columns.taken = ColumnList("--columns", "1");
  int number = 0;
  for (const auto& [type, bytes] : {std::pair{"<f4", 4}, {">f4", 4}, {"<f8", 8}, {"<i2", 2}, {"<i8", 8}, {"|u1", 1}})
    for (const ReadOptions& options : {as_file, as_f32, some_columns}) {
      const std::string path =
          rows("p" + std::to_string(number++) + ".npy", 5, 3, type, static_cast<std::size_t>(bytes));
      const Points points = read_rows(path, 1, 3, options);
      const MappedFile* const file = points.visit([](auto view) { return mapped_file_at(view.data()); });
      EXPECT_EQ(shape_in_rows(path, options)->is_mapped, file != nullptr) << type << ", file " << number;
      if (file != nullptr) EXPECT_EQ(file->path(), path);
    }
}

}  // namespace
}  // namespace gradus::files
