// Tests of files of vectors: .fvecs, .fbin and related formats, and safetensors. The tests loop over all formats and
// element types.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
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
using namespace std::string_literals;
using Rows = std::vector<std::vector<double>>;

template <class T>
std::string little(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Encodes a small integer as an IEEE half.
std::string half(double value) {
  if (value == 0) return little(std::uint16_t{0});
  const int exponent = std::ilogb(value);
  const double fraction = std::ldexp(std::abs(value), -exponent) - 1;
  return little(
      static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | static_cast<int>(fraction * 1024)));
}
std::string brain_half(double value) {
  return little(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16));
}
template <class T>
std::string number(double value) {
  return little(static_cast<T>(value));
}

/// A format of files with one of its element types.
struct Kind {
  std::string ending;
  std::string type;  ///< dtype of safetensors
  std::string (*encode)(double);
  ElementType read_as;
  double most;  ///< the greatest value of the samples
};

constexpr ElementType f32 = ElementType::f32;
constexpr ElementType f64 = ElementType::f64;
const std::vector<Kind> kinds = {
    {".fvecs", "", number<float>, f32, 100},
    {".bvecs", "", number<std::uint8_t>, f32, 100},
    {".ivecs", "", number<std::int32_t>, f64, 100},
    {".fbin", "", number<float>, f32, 100},
    {".u8bin", "", number<std::uint8_t>, f32, 100},
    {".i8bin", "", number<std::int8_t>, f32, 100},
    {".safetensors", "F64", number<double>, f64, 100},
    {".safetensors", "F32", number<float>, f32, 100},
    {".safetensors", "F16", half, f32, 100},
    {".safetensors", "BF16", brain_half, f32, 100},
    {".safetensors", "I64", number<std::int64_t>, f64, 100},
    {".safetensors", "I32", number<std::int32_t>, f64, 100},
    {".safetensors", "I16", number<std::int16_t>, f32, 100},
    {".safetensors", "I8", number<std::int8_t>, f32, 100},
    {".safetensors", "U64", number<std::uint64_t>, f64, 100},
    {".safetensors", "U32", number<std::uint32_t>, f64, 100},
    {".safetensors", "U16", number<std::uint16_t>, f32, 100},
    {".safetensors", "U8", number<std::uint8_t>, f32, 100},
    {".safetensors", "BOOL", number<std::uint8_t>, f32, 1},
};

bool counts_each_row(const Kind& kind) { return kind.ending.ends_with("vecs"); }
bool is_safetensors(const Kind& kind) { return kind.ending == ".safetensors"; }
std::size_t element_bytes(const Kind& kind) { return kind.encode(0).size(); }

Rows sample(const Kind& kind, std::size_t rows, std::size_t columns) {
  Rows result(rows, std::vector<double>(columns));
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      result[row][column] = std::min(kind.most, static_cast<double>((row * 7 + column * 3) % 101));
  return result;
}

/// Returns a safetensors file with this header and data. Pads the header to a multiple of `alignment` bytes.
std::string with_header(std::string header, const std::string& data, std::size_t alignment = 8) {
  while (header.size() % alignment != 0) header += ' ';
  return little(static_cast<std::uint64_t>(header.size())) + header + data;
}

std::string entry(const std::string& name, const std::string& type, const std::string& shape, std::size_t begin,
                  std::size_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

std::string encoded(const Kind& kind, const Rows& rows) {
  const std::size_t columns = rows.empty() ? 3 : rows.front().size();
  std::string data;
  for (const auto& row : rows) {
    if (counts_each_row(kind)) data += little(static_cast<std::int32_t>(columns));
    for (const double value : row) data += kind.encode(value);
  }
  if (counts_each_row(kind)) return data;
  if (!is_safetensors(kind))
    return little(static_cast<std::uint32_t>(rows.size())) + little(static_cast<std::uint32_t>(columns)) + data;
  const std::string shape = "[" + std::to_string(rows.size()) + "," + std::to_string(columns) + "]";
  return with_header("{" + entry("x", kind.type, shape, 0, data.size()) + "}", data);
}

Rows rows_in(const Points& points) {
  Rows rows;
  points.visit([&](auto view) {
    for (std::int64_t row = 0; row < view.rows(); ++row)
      rows.emplace_back(view.row(row), view.row(row) + view.columns());
  });
  return rows;
}

class Vectors : public tests::FolderTest {
 protected:
  /// Writes a file in each format and with each element type, and calls `test` with its path.
  void for_each_kind(std::size_t rows, std::size_t columns,
                     const std::function<void(const Kind&, const std::string&, const Rows&)>& test) {
    for (const Kind& kind : kinds) {
      SCOPED_TRACE(kind.ending + " " + kind.type);
      const Rows expected = sample(kind, rows, columns);
      test(kind, put("x" + kind.ending, encoded(kind, expected)), expected);
    }
  }

  /// Expects an error whose message contains `expected`, the name of the file and a remedy.
  void expect_refused(const Kind& kind, const std::string& content, const std::string& expected) {
    SCOPED_TRACE(kind.ending + " " + kind.type + ": " + expected);
    const std::string path = put("bad" + kind.ending, content);
    for (const bool by_rows : {false, true}) {
      try {
        if (by_rows) {
          const PointsShape shape = shape_in_rows(path).value();
          read_rows(path, 0, shape.rows);
        } else {
          read_points(path);
        }
        ADD_FAILURE() << "accepted";
      } catch (const InputError& error) {
        expect_contains(error.what(), expected);
        expect_contains(error.what(), "'" + path);
        expect_contains(error.what(), "; ");  // a remedy follows the semicolon
        EXPECT_EQ(error.fields().file, path);
      }
    }
  }
};

TEST_F(Vectors, EveryFormatHasASample) {
  std::set<std::string> endings;
  for (const Kind& kind : kinds) endings.insert(kind.ending);
  std::set<std::string> others = {".npy", ".npz", ".h5",  ".hdf5", ".hdf", ".he5",
                                  ".csv", ".tsv", ".txt", ".png",  ".jpg", ".jpeg"};
  for (const Format* const format : formats_for(Reader::points)->rows()) {
    std::string_view words = format->endings;
    while (!words.empty()) {
      const std::string word(words.substr(0, words.find(' ')));
      words.remove_prefix(std::min(word.size() + 1, words.size()));
      EXPECT_EQ(endings.erase(word) + others.erase(word), 1u) << word;
    }
  }
  EXPECT_TRUE(endings.empty());
}

/// Returns the type in which points can be kept, if the file has such a type.
std::optional<StoredType> stored_type(const Kind& kind) {
  if (kind.ending == ".bvecs" || kind.ending == ".u8bin" || kind.type == "U8") return StoredType::u8;
  if (kind.ending == ".i8bin" || kind.type == "I8") return StoredType::i8;
  if (kind.type == "F16") return StoredType::f16;
  if (kind.type == "BF16") return StoredType::bf16;
  return std::nullopt;
}

TEST_F(Vectors, AreKeptInTheTypeOfTheFile) {
  for_each_kind(5, 3, [&](const Kind& kind, const std::string& path, const Rows& expected) {
    ReadOptions options;
    options.keep_stored = true;
    const std::optional<StoredType> type = stored_type(kind);
    const Points points = read_points(path, options);
    EXPECT_EQ(points.stored.data() != nullptr, type.has_value());
    EXPECT_EQ(shape_in_rows(path)->is_mapped, kind.encode == number<float> || kind.encode == number<double>);
    if (!type) {
      EXPECT_EQ(rows_in(points), expected);
      return;
    }
    EXPECT_EQ(points.stored.type(), *type);
    EXPECT_EQ(points.type(), f32);
    EXPECT_EQ(points.view<float>().data(), nullptr);
    EXPECT_TRUE(shape_in_rows(path, options)->is_mapped);
    const auto rows_of = [](const Points& some) {
      Rows rows;
      for (std::int64_t row = 0; row < some.rows(); ++row) {
        std::vector<float> wide(static_cast<std::size_t>(some.columns()));
        cpu::widen(some.stored.type(), some.stored.row(row), some.columns(), wide.data());
        rows.emplace_back(wide.begin(), wide.end());
      }
      return rows;
    };
    EXPECT_EQ(rows_of(points), expected);
    EXPECT_EQ(rows_of(read_rows(path, 2, 2, options)), Rows(expected.begin() + 2, expected.begin() + 4));
    options.type = f64;
    EXPECT_EQ(rows_in(read_points(path, options)), expected);
  });
}

TEST_F(Vectors, AreReadExactly) {
  for (const std::size_t columns : {1, 3, 16})
    for_each_kind(5, columns, [&](const Kind& kind, const std::string& path, const Rows& expected) {
      const Points points = read_points(path);
      EXPECT_EQ(rows_in(points), expected);
      EXPECT_EQ(points.type(), kind.read_as);
      const std::optional<PointsShape> shape = shape_in_rows(path);
      ASSERT_TRUE(shape);
      EXPECT_EQ(shape->rows, 5);
      EXPECT_EQ(shape->columns, static_cast<std::int64_t>(columns));
      EXPECT_EQ(shape->type, kind.read_as);
      for (const ElementType type : {f32, f64}) {
        EXPECT_EQ(rows_in(read_points(path, {.type = type, .stop = {}})), expected);
        EXPECT_EQ(rows_in(read_rows(path, 1, 3, {.type = type, .stop = {}})),
                  Rows(expected.begin() + 1, expected.begin() + 4));
      }
      EXPECT_EQ(read_tensor(path).shape, (std::vector<std::int64_t>{5, static_cast<std::int64_t>(columns)}));
      std::string upper = kind.ending;
      std::ranges::transform(upper, upper.begin(), [](unsigned char letter) { return std::toupper(letter); });
      std::filesystem::copy_file(path, this->path("y" + upper), std::filesystem::copy_options::overwrite_existing);
      EXPECT_EQ(rows_in(read_points(this->path("y" + upper))), expected);
    });
}

TEST_F(Vectors, AreViewedInPlaceIfTheTypeAllows) {
  for_each_kind(4, 3, [&](const Kind& kind, const std::string& path, const Rows&) {
    const Points points = read_points(path);
    const bool in_file = kind.ending == ".fvecs" || kind.ending == ".fbin" || kind.type == "F32" || kind.type == "F64";
    // If the file changes after reading, a view shows the change and a copy does not.
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-static_cast<std::streamoff>(element_bytes(kind)), std::ios::end);
    file << kind.encode(1) << std::flush;
    EXPECT_EQ(rows_in(points)[3][2] == 1, in_file || sample(kind, 4, 3)[3][2] == 1);
    points.visit([&](const auto& view) { EXPECT_EQ(view.row_stride(), kind.ending == ".fvecs" ? 4 : 3); });
  });
  // Elements of a tensor that are not aligned are copied.
  const std::string odd =
      put("odd.safetensors", with_header("{" + entry("x", "F32", "[2]", 0, 8) + "} ", little(1.5f) + little(-2.0f), 1));
  ASSERT_NE(std::filesystem::file_size(odd) % 4, 0u);
  EXPECT_EQ(rows_in(read_points(odd)), (Rows{{1.5}, {-2}}));
}

TEST_F(Vectors, AnyBlockOfRowsIsRead) {
  constexpr std::int64_t rows = 11;
  for (const std::size_t columns : {1, 5})
    for_each_kind(rows, columns, [&](const Kind&, const std::string& path, const Rows& expected) {
      for (std::int64_t first = 0; first <= rows; ++first)
        for (std::int64_t count = 0; first + count <= rows; ++count) {
          const Points some = read_rows(path, first, count);
          EXPECT_EQ(some.columns(), static_cast<std::int64_t>(columns));
          EXPECT_EQ(rows_in(some), Rows(expected.begin() + first, expected.begin() + first + count));
        }
      for (const auto& [first, count] : {std::pair{0, 12}, {12, 0}, {-1, 1}, {5, -1}, {11, 1}})
        expect_contains(message_of<InputError>([&, first = first, count = count] { read_rows(path, first, count); }),
                        "the file has no rows");
    });
}

TEST_F(Vectors, ColumnsAndVectorsOfAnyFormat) {
  for_each_kind(4, 3, [&](const Kind&, const std::string& path, const Rows& expected) {
    ReadOptions some;
    some.columns.taken = ColumnList("--columns", "3,1");
    some.columns.weight = ColumnList("--weight-column", "2");
    const Points points = read_points(path, some);
    EXPECT_FALSE(shape_in_rows(path, some));  // the weights need all rows together
    some.columns.weight = {};
    EXPECT_EQ(shape_in_rows(path, some)->columns, 2);
    const Points two = read_rows(path, 2, 2, some);
    for (std::size_t row = 0; row < 4; ++row) {
      EXPECT_EQ(rows_in(points)[row], (std::vector{expected[row][2], expected[row][0]}));
      EXPECT_EQ(points.weights[row], expected[row][1]);
      if (row >= 2) {
        EXPECT_EQ(rows_in(two)[row - 2], rows_in(points)[row]);
      }
    }
  });
  for_each_kind(6, 1, [&](const Kind&, const std::string& path, const Rows& expected) {
    const auto check = [&](const auto& vector) {
      ASSERT_EQ(vector.view.size(), 6);
      for (std::size_t row = 0; row < 6; ++row)
        EXPECT_EQ(vector.view[static_cast<std::int64_t>(row)], expected[row][0]);
    };
    check(read_vector<float>(path));
    check(read_vector<double>(path));
    const Tensor tensor = read_tensor(path);
    std::visit([&](const auto& all) { EXPECT_EQ(all.view(5, 0), expected[5][0]); }, tensor.values);
  });
}

TEST_F(Vectors, BadRowsAreNamed) {
  for (const Kind& kind : kinds) {
    if (!counts_each_row(kind)) continue;
    const std::string whole = encoded(kind, sample(kind, 5, 3));
    const std::size_t row_bytes = 4 + 3 * element_bytes(kind);
    const auto at = [&](std::size_t row) {
      return "row " + std::to_string(row) + " at byte " + std::to_string(row * row_bytes) + " (both count from 0) ";
    };
    const auto counted = [&](std::size_t row, std::int32_t columns) {
      return std::string(whole).replace(row * row_bytes, 4, little(columns));
    };
    const std::string takes = "takes " + std::to_string(row_bytes) + " bytes for 3 columns, but the file has only ";
    const std::vector<std::pair<std::string, std::string>> faults = {
        {whole.substr(0, 3), at(0) + "ends within its number of columns"},
        {counted(0, 0), at(0) + "has 0 columns; at least 1 is needed"},
        {counted(0, -3), at(0) + "has -3 columns"},
        {counted(0, 2147483647), at(0) + "takes "},
        {counted(2, 2), at(2) + "has 2 columns, but row 0 has 3"},
        {counted(2, 2).substr(0, 4 * row_bytes + 1), at(2) + "has 2 columns"},
        {counted(4, 0), at(4) + "has 0 columns, but row 0 has 3"},
        {std::string(whole).replace(3 * row_bytes, row_bytes, little(2) + kind.encode(1) + kind.encode(2)),
         at(3) + "has 2 columns, but row 0 has 3"},
        {whole.substr(0, whole.size() - 1), at(4) + takes + std::to_string(row_bytes - 1) + " more"},
        {whole.substr(0, 4 * row_bytes + 4), at(4) + takes + "4 more"},
        {whole + "x", at(5) + takes + "1 more"},
        {whole + little(0), at(5) + "has 0 columns"},
    };
    for (const auto& [content, expected] : faults) expect_refused(kind, content, expected);
    expect_refused(kind, counted(0, 4), "row 1 at byte " + std::to_string(row_bytes + element_bytes(kind)));
    try {
      read_points(put("bad" + kind.ending, counted(2, 2)));
      ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
      EXPECT_EQ(error.fields().row, 2);
      EXPECT_EQ(error.fields().byte, static_cast<std::int64_t>(2 * row_bytes));
      EXPECT_EQ(error.fields().value, "2");
    }
    // A rank reads only its own rows. So it finds the fault only if the fault is in these rows.
    const std::string path = put("bad" + kind.ending, counted(2, 2));
    EXPECT_EQ(read_rows(path, 3, 2).rows(), 2);
    EXPECT_THROW(read_rows(path, 2, 1), InputError);
  }
}

TEST_F(Vectors, BadHeadersAreRefused) {
  for (const Kind& kind : kinds) {
    if (!kind.ending.ends_with("bin")) continue;
    const std::string whole = encoded(kind, sample(kind, 5, 3));
    const std::size_t data = 15 * element_bytes(kind);
    const auto claimed = [&](std::uint32_t rows, std::uint32_t columns) {
      return std::string(whole).replace(0, 8, little(rows) + little(columns));
    };
    const auto size = [&](std::size_t rows, std::size_t columns, std::size_t found) {
      return "the header (byte 0) claims " + std::to_string(rows) + " rows of " + std::to_string(columns) +
             " columns, which take " + std::to_string(rows * columns * element_bytes(kind)) + " bytes, but " +
             std::to_string(found) + " follow the header";
    };
    expect_refused(kind, whole.substr(0, 7), "the header takes 8 bytes, but the file has 7");
    expect_refused(kind, claimed(5, 0), "the header (byte 4) claims rows of 0 columns");
    expect_refused(kind, claimed(6, 3), size(6, 3, data));
    expect_refused(kind, claimed(5, 2), size(5, 2, data));
    expect_refused(kind, claimed(0, 3), size(0, 3, data));
    expect_refused(kind, claimed(0xffffffffu, 0xffffffffu), "rows of 4294967295 columns, which overflow 64 bits");
    expect_refused(kind, whole.substr(0, whole.size() - 1), size(5, 3, data - 1));
    expect_refused(kind, whole + "x", size(5, 3, data + 1));
    const Points none = read_points(put("none" + kind.ending, claimed(0, 3).substr(0, 8)));
    EXPECT_EQ(none.rows(), 0);
    EXPECT_EQ(none.columns(), 3);
  }
}

TEST_F(Vectors, BadSafetensorsAreRefused) {
  const Kind& kind = kinds[7];
  ASSERT_EQ(kind.type, "F32");
  const std::string eight = little(1.0f) + little(2.0f);
  const auto entry_of = [](const std::string& rest) { return "{\"x\":{" + rest + "}}"; };
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"x", "not a .safetensors file"},
      {"\1\0\0\0\0\0\0\0["s, "not a .safetensors file: it does not begin with the size of a header in JSON"},
      {"\1\0\0\0\1\0\0\0{"s, "not a .safetensors file"},
      {"\3\0\0\0\0\0\0\0{}"s, "the header claims to take 3 bytes, but at most 2 are possible here"},
      {"\xff\xff\xff\xff\0\0\0\0{}"s, "the header claims to take 4294967295 bytes, but at most 2"},
      {with_header("{}", ""), "the file holds no array"},
      {with_header("{\"__metadata__\":{\"a\":\"b \\\" c\"}}", ""), "the file holds no array"},
      {with_header("{", ""), "bad .safetensors header at byte 16: a string is expected"},
      {with_header("{x}", ""), "at byte 9: a string is expected"},
      {with_header("{\"x\"}", ""), "at byte 12: ':' is expected"},
      {with_header("{\"x\":3}", ""), "at byte 13: '{' is expected"},
      {with_header("{\"x\":{\"dtype\":{\"a\":[[[[", ""), "a string is expected"},
      {with_header("{\"x\":{\"shape\":[[[[", ""), "a dimension, zero or more, is expected"},
      {with_header("{\"x", "", 1), "the string does not end"},
      {with_header("{\"x\\", "", 1), "the string does not end"},
      {with_header("{} x", ""), "text follows the closing brace"},
      {with_header("{\"__metadata__\":{\"a\":3}}", ""), "a string is expected"},
      {with_header("{" + entry("x", "F32", "[2]", 0, 8) + "," + entry("x", "F32", "[2]", 0, 8) + "}", eight),
       "the name 'x' stands there twice"},
      {with_header(entry_of("\"dtype\":\"F32\",\"shape\":[2]"), eight), "the key 'data_offsets' is missing"},
      {with_header(entry_of("\"dtype\":\"F32\",\"data_offsets\":[0,8]"), eight), "the key 'shape' is missing"},
      {with_header(entry_of("\"shape\":[2],\"data_offsets\":[0,8]"), eight), "the key 'dtype' is missing"},
      {with_header(entry_of("\"shape\":[2],\"shape\":[2]"), eight), "the key 'shape' is unknown or stands there twice"},
      {with_header(entry_of("\"depth\":[2]"), eight), "the key 'depth' is unknown"},
      {with_header(entry_of("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]"), eight), "two ascending bytes"},
      {with_header(entry_of("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]"), eight), "two ascending bytes"},
      {with_header(entry_of("\"dtype\":\"F32\",\"shape\":[-2]"), eight), "a dimension, zero or more, is expected"},
      {with_header(entry_of("\"dtype\":\"F32\",\"shape\":[2.5]"), eight), "']' is expected"},
      {with_header(entry_of("\"dtype\":\"F32\",\"shape\":[9223372036854775808]"), eight), "overflows 64 bits"},
      {with_header("{" + entry("x", "F32", "[4294967296,4294967296]", 0, 8) + "}", eight), "overflows 64 bits"},
      {with_header("{" + entry("x", "F32", "[3]", 0, 8) + "}", eight), "takes 12 bytes, but its offsets give it 8"},
      {with_header("{" + entry("x", "F32", "[3]", 0, 12) + "}", eight), "ends at byte 12 after the header"},
      {with_header("{" + entry("x", "F32", "[2]", 0, 8) + "}", eight + "x"), "belong to no tensor"},
      {with_header("{" + entry("x", "F32", "[1]", 4, 8) + "}", eight), "belong to no tensor"},
      {with_header("{" + entry("x", "F32", "[2]", 0, 8) + "," + entry("y", "F32", "[1]", 4, 8) + "}", eight),
       "belong to several tensors"},
      {with_header("{" + entry("x", "F8_E4M3", "[2]", 0, 8) + "}", eight), "has values of type 'F8_E4M3'"},
      {with_header("{" + entry("x", "F32", "[1,1,2]", 0, 8) + "}", eight), "has the shape (1, 1, 2)"},
      {with_header("{" + entry("x", "F32", "[]", 0, 4) + "}", little(1.0f)), "has the shape ()"},
      {with_header("{" + entry("x", "F32", "[2,0]", 0, 0) + "}", ""), "at least one column"},
  };
  for (const auto& [content, expected] : faults) {
    SCOPED_TRACE(expected);
    const std::string path = put("bad.safetensors", content);
    const std::string message = message_of<InputError>([&] { read_points(path); });
    expect_contains(message, expected);
    expect_contains(message, "bad.safetensors'");
    EXPECT_THROW(shape_in_rows(path), InputError);
  }
  const std::string wide = with_header("{" + entry("x", "I64", "[2,1]", 0, 16) + "}",
                                       little(std::int64_t{1}) + little((std::int64_t{1} << 53) + 1));
  expect_contains(message_of<InputError>([&] { read_points(put("bad.safetensors", wide)); }),
                  "row 1, column 0: the integer 9007199254740993 has no exact double");
}

TEST_F(Vectors, ATensorIsChosenByName) {
  const std::string path = put(
      "two.safetensors", with_header("{\"__metadata__\":{\"format\":\"pt\"}, " + entry("emb:a", "F32", "[2,1]", 8, 16) +
                                         ",\n" + entry("b", "F8_E5M2", "[8]", 0, 8) + "}",
                                     std::string(8, '\0') + little(3.0f) + little(4.0f)));
  EXPECT_EQ(rows_in(read_points(path + ":emb:a")), (Rows{{3}, {4}}));
  EXPECT_EQ(rows_in(read_rows(path + ":emb:a", 1, 1)), (Rows{{4}}));
  EXPECT_EQ(file_of_points(path + ":emb:a"), path);
  EXPECT_EQ(file_of_points("a.NPZ:x"), "a.NPZ");
  EXPECT_EQ(file_of_points("a.fvecs:x"), "a.fvecs:x");
  const auto refusal = [&](const std::string& name) {
    return message_of<InputError>([&] { read_points(path + name); });
  };
  expect_contains(refusal(""), "the file holds 2 arrays; say which one: " + path + ":emb:a, " + path + ":b");
  expect_contains(refusal(":emb"), "there is no array 'emb'");
  expect_contains(refusal(":b"), "has values of type 'F8_E5M2'");
}

TEST_F(Vectors, OtherContentIsRecognised) {
  const std::string npy = tests::content(GRADUS_SOURCE_DIR "/tests/fuzz/corpus/npy/little_f4.npy");
  for (const Kind& kind : kinds) {
    expect_refused(kind, npy, "is a .npy array, which is not read here");
    expect_refused(kind, "1,2,3\n4,5,6\n7,8,9\n", is_safetensors(kind) ? "not a .safetensors file" : " bytes");
  }
  const std::string safetensors = encoded(kinds[7], sample(kinds[7], 2, 2));
  for (const std::string name : {"x.csv", "x.npy", "x.fbin", "x.fvecs", "x.bin"})
    expect_contains(message_of<InputError>([&] { read_points(put(name, safetensors)); }), "is a safetensors file");
}

/// Expects that the file is refused, or that it can contain as many points as it states. Reads every element. Returns
/// true if the file is refused.
bool refused_or_sound(const Kind& kind, const std::string& path, std::size_t file_bytes) {
  try {
    const PointsShape shape = shape_in_rows(path).value();
    const Points points = read_points(path);
    EXPECT_EQ(points.rows(), shape.rows);
    EXPECT_EQ(points.columns(), shape.columns);
    const auto rows = static_cast<std::size_t>(points.rows());
    const auto columns = static_cast<std::size_t>(points.columns());
    const std::size_t row_bytes = columns * element_bytes(kind);
    if (counts_each_row(kind)) EXPECT_EQ(rows * (4 + row_bytes), file_bytes);
    else if (!is_safetensors(kind)) EXPECT_EQ(8 + rows * row_bytes, file_bytes);
    else EXPECT_LT(8 + rows * columns, file_bytes);
    EXPECT_EQ(rows_in(points).size(), rows);
    if (rows > 1) {
      EXPECT_EQ(rows_in(read_rows(path, 1, points.rows() - 1)).size(), rows - 1);
    }
  } catch (const InputError& error) {
    expect_contains(error.what(), path);
    return true;
  }
  return false;
}

TEST_F(Vectors, MutationsAndTruncations) {
  std::uint64_t seed = 0;
  for_each_kind(6, 4, [&](const Kind& kind, const std::string& path, const Rows&) {
    const std::string whole = tests::content(path);
    std::mt19937_64 random(++seed);
    int refused = 0;
    for (int turn = 0; turn < 50; ++turn) {
      std::string changed = whole;
      // Half of the changes affect the first bytes, which contain the sizes.
      const std::size_t place = random() % (turn % 2 == 0 ? std::min<std::size_t>(whole.size(), 96) : whole.size());
      changed[place] = static_cast<char>(random());
      SCOPED_TRACE("seed " + std::to_string(seed) + ", turn " + std::to_string(turn));
      refused += refused_or_sound(kind, put("m" + kind.ending, changed), changed.size()) ? 1 : 0;
      const std::string cut = whole.substr(0, 1 + random() % (whole.size() - 1));
      refused += refused_or_sound(kind, put("m" + kind.ending, cut), cut.size()) ? 1 : 0;
    }
    EXPECT_GT(refused, 40);
    EXPECT_LT(refused, 100);
  });
}

TEST_F(Vectors, EveryTruncationIsRefusedOrEndsAfterARow) {
  for_each_kind(3, 2, [&](const Kind& kind, const std::string& path, const Rows& expected) {
    const std::string whole = tests::content(path);
    for (std::size_t size = 1; size < whole.size(); ++size) {
      const std::string cut = put("cut" + kind.ending, whole.substr(0, size));
      const std::size_t row_bytes = 4 + 2 * element_bytes(kind);
      if (counts_each_row(kind) && size % row_bytes == 0)
        EXPECT_EQ(rows_in(read_points(cut)),
                  Rows(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(size / row_bytes)));
      else EXPECT_THROW(read_points(cut), InputError) << size;
    }
  });
}

TEST_F(Vectors, AStopRequestEndsTheReading) {
  std::stop_source stop;
  stop.request_stop();
  for_each_kind(4, 3, [&](const Kind&, const std::string& path, const Rows&) {
    // If the values already have the requested type, they are viewed in place, and reading is not interrupted. This can
    // be so for only one of the two types.
    int stopped = 0;
    for (const ElementType type : {f32, f64}) try {
        read_points(path, {.type = type, .stop = stop.get_token()});
      } catch (const InterruptedError&) {
        ++stopped;
      }
    EXPECT_GE(stopped, 1);
  });
}

}  // namespace
}  // namespace gradus::files
