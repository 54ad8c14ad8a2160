// Tests of everyday tables, which may have names, text next to numbers, or European notations. Also tests archives of
// arrays.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "files/columns.hpp"
#include "files/csv.hpp"
#include "files/npy.hpp"
#include "files/npz.hpp"
#include "files/number.hpp"
#include "files/points.hpp"
#include "gradus/error.hpp"

namespace gradus::files {
namespace {

using namespace std::string_literals;
using Rows = std::vector<std::vector<double>>;
using Strings = std::vector<std::string>;

const std::string corpus = GRADUS_SOURCE_DIR "/tests/fuzz/corpus/";

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the message of the InputError or UsageError that `action` throws.
std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  } catch (const UsageError& error) {
    return "usage: "s + error.what();
  }
  return "accepted";
}

#define EXPECT_CONTAINS(text, part) EXPECT_PRED2(contains, text, part)
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Returns the same options as the command line if the user chooses no columns.
CsvOptions offered() {
  CsvOptions options;
  options.columns.offers_columns = options.columns.offers_id = true;
  return options;
}
CsvOptions taking(const std::string& columns) {
  CsvOptions options = offered();
  options.columns.taken = ColumnList("--columns", columns);
  return options;
}
CsvOptions dropping(const std::string& columns) {
  CsvOptions options = offered();
  options.columns.dropped = ColumnList("--drop-columns", columns);
  return options;
}
CsvOptions named_by(const std::string& column) {
  CsvOptions options = offered();
  options.columns.id = ColumnList("--id-column", column);
  return options;
}
CsvOptions written(Decimal decimal, char group = 0) {
  CsvOptions options = offered();
  options.style = {.decimal = decimal, .group = group};
  return options;
}

CsvTable table_of(std::string_view text, const CsvOptions& options) {
  return parse_csv(std::as_bytes(std::span(text)), "t.csv", options);
}

Rows rows_of(MatrixView<const double> view) {
  Rows rows;
  for (std::int64_t row = 0; row < view.rows(); ++row) rows.emplace_back(view.row(row), view.row(row) + view.columns());
  return rows;
}
Rows rows_of(std::string_view text, const CsvOptions& options) { return rows_of(table_of(text, options).values.view); }

Strings names_of(const CsvTable& table) {
  Strings names;
  for (std::int64_t row = 0; row < table.row_names->size(); ++row) names.emplace_back((*table.row_names)[row]);
  return names;
}

std::string refusal(std::string_view text, const CsvOptions& options) {
  return refusal([&] { table_of(text, options); });
}

constexpr std::string_view iris = "sepal,petal,species\n5.1,1.4,setosa\n4.9,1.3,virginica\n";

TEST(Columns, ByNameNumberAndRange) {
  const Strings names{"x", "y", "3", "a,b", "say \"hi\"", "x"};
  const auto find = [&](const std::string& list) { return ColumnList("--columns", list).find(names, 6, "t.csv"); };
  using Numbers = std::vector<std::size_t>;
  for (const auto& [list, expected] : std::vector<std::pair<std::string, Numbers>>{
           {"y", {1}},
           {"1", {0}},
           {"3", {2}},  // selects the column with the name '3', not the third column
           {"4", {3}},
           {"5,1,2", {4, 0, 1}},
           {"2-4", {1, 2, 3}},
           {"4-", {3, 4, 5}},
           {" y , 4 ", {1, 3}},
           {"\"a,b\",y", {3, 1}},
           {"\"say \"\"hi\"\"\"", {4}},
       })
    EXPECT_EQ(find(list), expected) << list;
  for (const auto& [list, expected] : std::vector<std::pair<std::string, std::string>>{
           {"x", "t.csv: --columns: 2 columns are called 'x'; say by its number"},
           {"z", "t.csv: --columns: there is no column 'z'"},
           {"Y", "did you mean"},
           {"7", "'7' is beyond the table, whose columns are 1 to 6"},
           {"5-9", "'5-9' is beyond the table"},
           {"9-", "'9-' is beyond the table"},
           {"2,y", "column 2 is there twice"},
           {"1-3,2", "column 2 is there twice"},
           {"\"1\"", "there is no column '1'"},  // an item in quotes is always a name
           {"0", "there is no column '0'"},
           {"", "usage: --columns: an item is empty"},
           {"x,", "usage: --columns: an item is empty"},
           {"x,,y", "usage: --columns: an item is empty"},
           {"3-2", "usage: --columns: the range '3-2' counts down"},
           {"2-0", "usage: --columns: the range '2-0' counts down"},
           {"\"x", "usage: --columns: the name 'x' has no closing quote"},
           {"\"x\"y", "usage: --columns: 'y' follows the closing quote"},
           {"99999999999999999999", "there is no column '99999999999999999999'"},
       })
    EXPECT_CONTAINS(refusal([&, &list = list] { find(list); }), expected);
}

TEST(Columns, OfATable) {
  EXPECT_EQ(rows_of(iris, taking("petal,1")), (Rows{{1.4, 5.1}, {1.3, 4.9}}));
  EXPECT_EQ(table_of(iris, taking("petal,1")).column_names, (Strings{"petal", "sepal"}));
  EXPECT_EQ(rows_of(iris, dropping("species")), (Rows{{5.1, 1.4}, {4.9, 1.3}}));
  const CsvTable with_ids = table_of(iris, named_by("species"));
  EXPECT_EQ(rows_of(with_ids.values.view), (Rows{{5.1, 1.4}, {4.9, 1.3}}));
  EXPECT_EQ(with_ids.row_names->heading, "species");
  EXPECT_EQ(names_of(with_ids), (Strings{"setosa", "virginica"}));
  EXPECT_CONTAINS(refusal(iris, dropping("1-3")), "t.csv: no column is left of 3");
  EXPECT_CONTAINS(refusal(iris, named_by("1-2")), "one column names the rows, not 2");
  CsvOptions both = taking("1,2");
  both.columns.id = ColumnList("--id-column", "petal");
  EXPECT_CONTAINS(refusal(iris, both), "column 2 ('petal') cannot both be a coordinate");
  // Columns that are left out may contain anything, including unbalanced quotes and newlines.
  const std::string odd = "x,note\n1,\"a, \"\"b\"\"\nc\"\n2,5\" pipe\n3,\n4,\"\"\n5,N/A\r\n6,#7\n";
  EXPECT_EQ(rows_of(odd, dropping("note")), (Rows{{1}, {2}, {3}, {4}, {5}, {6}}));
  EXPECT_EQ(names_of(table_of(odd, named_by("note"))), (Strings{"a, \"b\"\nc", "5\" pipe", "", "", "N/A", "#7"}));
  // A newline within quotes begins a new line of the file.
  EXPECT_CONTAINS(refusal("x,note\n1,\"a\nb\"\ny,c\n", dropping("note")), "t.csv:4:1: 'y' is not a number");
  EXPECT_CONTAINS(refusal("x,note\n1,\"a\n2,b\n", dropping("note")), "t.csv:2:2: the field '\"a' has no");
  EXPECT_CONTAINS(refusal("x,note\n1,\"a\"b\n", dropping("note")), "t.csv:2:2: text follows the closing quote");
  EXPECT_CONTAINS(refusal("x,note\n1,a\n2\n", dropping("note")), "t.csv:3:2: 1 field, but line 1 has 2");
}

TEST(Columns, WithoutAHeader) {
  EXPECT_EQ(rows_of("5.1,setosa\n4,b\n", dropping("2")), (Rows{{5.1}, {4}}));
  EXPECT_EQ(rows_of("setosa,5.1,2\nsetosa,4,3\n", taking("2-")), (Rows{{5.1, 2}, {4, 3}}));
  EXPECT_EQ(rows_of("s0,5.1,2\ns1,4,3\n", named_by("1")), (Rows{{5.1, 2}, {4, 3}}));
  EXPECT_EQ(rows_of("x,y\n5,4\n", taking("2")), (Rows{{4}}));  // the first line has words, so it is a header
  // The request names a column, so the first line must contain names.
  EXPECT_EQ(rows_of("id,2019\n5,4\n", taking("2019")), (Rows{{4}}));
  EXPECT_EQ(refusal("2019,2020,2021\n5,4,3\n", taking("2019")),
            "t.csv:1:1: '2019' is asked for as a column, but the line is read as a row; if it names the columns, say "
            "--header "
            "yes");
  CsvOptions no = taking("x");
  no.header = HeaderLine::no;
  EXPECT_CONTAINS(refusal("1,2\n", no),
                  "there is no column 'x': the table has no names of columns; their numbers are 1 to 2");
  EXPECT_CONTAINS(refusal("5.1,setosa\n4,b\n", offered()),
                  "t.csv:1:2: 'setosa' is not a number; --drop-columns 2 leaves the column out; if this line names the "
                  "columns, say --header yes");
}

TEST(Columns, TextIsRefusedWithItsNamesAndTheWayOut) {
  EXPECT_EQ(refusal(iris, offered()),
            "t.csv:2:3: 'setosa' is not a number: column 'species' is text; --drop-columns species leaves it out, "
            "--id-column species keeps it next to the answer");
  EXPECT_EQ(
      refusal("name,x,city\nAda,1,\"Paris, TX\"\n", offered()),
      "t.csv:2:1: 'Ada' is not a number: columns 'name' and 'city' are text; --drop-columns name,city leaves them "
      "out, --id-column name keeps one next to the answer");
  // If a shell would interpret a name, messages show the column's number instead.
  EXPECT_CONTAINS(refusal("x,my city\n1,Paris\n", offered()),
                  "column 'my city' is text; --drop-columns 2 leaves it out");
  EXPECT_CONTAINS(refusal("x,gr\xc3\xb6\xc3\x9f\x65\n1,klein\n", offered()), "column 'gr\xc3\xb6\xc3\x9f\x65' is text");
  EXPECT_CONTAINS(refusal("x,day\n1,2020-01-31\n", offered()), "column 'day' is text");
  EXPECT_CONTAINS(refusal(iris, taking("2-3")), "column 'species' is text; take it out of --columns");
  // A number in another notation counts as a number and not as text.
  EXPECT_EQ(
      refusal("a,b\n1,5%\n", offered()),
      "t.csv:2:2: '5%' is not a number: a sign of currency or unit is no part of a number; take it out of the column; "
      "--drop-columns b leaves the column out");
  EXPECT_CONTAINS(refusal("a,b\n1,\xe2\x88\x92"
                          "5\n",
                          offered()),
                  "its minus is the sign U+2212; write a hyphen (-)");
  // If a command has no options for columns, its messages recommend none.
  EXPECT_EQ(refusal(iris, {}), "t.csv:2:3: 'setosa' is not a number");
}

TEST(Columns, ANumberThatIsTheNameOfAnotherColumnIsAmbiguous) {
  const Strings names{"", "1", "2", "9", "3-4", "1", "7"};
  const auto find = [&](const std::string& list) { return ColumnList("--columns", list).find(names, 7, "t.csv"); };
  using Numbers = std::vector<std::size_t>;
  EXPECT_EQ(find("7"), (Numbers{6}));  // selects the seventh column, which also has the name 7
  EXPECT_EQ(find("9"), (Numbers{3}));  // selects the column with the name 9; there is no ninth column
  EXPECT_EQ(find("\"\",\"2\",2-2"), (Numbers{0, 2, 1}));
  EXPECT_EQ(find("\"3-4\""), (Numbers{4}));
  EXPECT_EQ(
      refusal([&] { find("2"); }),
      "t.csv: --columns: '2' is the name of column 3, and also the number of column '1'; say --columns '\"2\"' for "
      "the name, or --columns 2-2 for the number");
  EXPECT_CONTAINS(refusal([&] { find("1"); }), "or --columns 1-1 for the number");
  EXPECT_CONTAINS(refusal([&] { find("3-4"); }), "'3-4' is the name of column 5, and also a range of numbers");
  // Messages recommend an item for each column. The item must select this column, whatever the names of the other
  // columns are.
  const std::vector<Strings> all{names,         {"x", "y"},    {"2", "1"},      {"a b", "1"},
                                 {"it's", "1"}, {"", "", "1"}, {"x", "x", "2"}, {"say \"hi\"", "1,2"}};
  for (const Strings& some : all)
    for (std::size_t column = 0; column < some.size(); ++column) {
      std::string items = column_items(some, Numbers{column});
      if (items.starts_with('\'')) {  // removes the quotes, as a shell does
        items = items.substr(1, items.size() - 2);
        for (std::size_t at = 0; (at = items.find("'\\''", at)) != std::string::npos; ++at) items.replace(at, 4, "'");
      }
      EXPECT_EQ(ColumnList("--columns", items).find(some, some.size(), "t.csv"), Numbers{column}) << items;
    }
}

TEST(Columns, AreChosenWhenTheHeaderIsKnown) {
  // All columns of the first line determine whether it is a header, even columns that are not chosen.
  const std::string spectra = "name,400.3,402.7,405.2\nAda,0.1,0.2,0.3\nBob,0.2,0.3,0.4\n";
  const Rows expected{{0.1, 0.2, 0.3}, {0.2, 0.3, 0.4}};
  EXPECT_EQ(rows_of(spectra, named_by("name")), expected);
  for (const CsvOptions& options : {named_by("1"), dropping("1"), taking("2-")}) {
    const CsvTable table = table_of(spectra, options);
    EXPECT_EQ(rows_of(table.values.view), expected);
    EXPECT_EQ(table.column_names, (Strings{"400.3", "402.7", "405.2"}));
    EXPECT_CONTAINS(table.notes.at(0), "t.csv:1: the first line, 'name,400.3,402.7,405.2', is read as names");
  }
  // pandas and R write such a header above an index.
  for (const std::string first : {",0,1,2", "\"\",\"1940\",\"1945\",\"1951\""}) {
    const CsvTable table = table_of(first + "\n7,0.1,0.2,0.3\n8,0.2,0.3,0.4\n", named_by("1-1"));
    EXPECT_EQ(rows_of(table.values.view), expected) << first;
    EXPECT_EQ(table.column_names.size(), 3u);
  }
  EXPECT_CONTAINS(table_of(",0,1\n0,5,6\n1,7,7\n", offered()).notes.at(1), "say --id-column '\"\"' (if not,");
  EXPECT_EQ(rows_of("\"1940\",\"1945\"\n\"Food\",22,44\n\"Home\",10,15\n", named_by("1")), (Rows{{22, 44}, {10, 15}}));
  // The user must decide about an ambiguous line.
  const std::string counts = "4,5,red,green\n5.1,3.5,1.4,0\n4.9,3,1.4,1\n";
  EXPECT_EQ(
      refusal(counts, offered()),
      "t.csv:1:3: 'red' is not a number, but the row below has a number there; if this line names the columns, say "
      "--header yes");
  for (const CsvOptions& options : {dropping("3,4"), taking("1,2")})
    EXPECT_EQ(refusal(counts, options),
              "t.csv:1:3: 'red' is not a number; if this line names the columns, say --header yes; if it is a row, "
              "--header no");
  EXPECT_CONTAINS(refusal("2019,2020,who\n1,2,Ada\n", dropping("3")), "--header yes; if it is a row, --header no");
  EXPECT_CONTAINS(refusal(",7,1\n0,3,4\n", named_by("1")), "t.csv:1:1: the field is empty; if this line names");
}

TEST(Columns, AUnitsRowIsCalledSo) {
  for (const std::string text : {"time,temp\nUTC,degree_C\n1,2\n3,4\n", "time,temp\n1,degree_C\n1,2\n3,4\n"})
    EXPECT_CONTAINS(refusal(text, offered()), "if this line holds units, or names once more, delete it");
  EXPECT_CONTAINS(refusal("day,temp\nUTC,degree_C\n2020-01-01,2\n2020-01-02,4\n", offered()),
                  "t.csv:2:2: 'degree_C' is not a number, but the rows below have numbers in column 'temp'");
}

TEST(Rows, ThatBeginWithAHashDoNotVanish) {
  const std::string players = "player,x,y\n#10,1,2\n#7,3,4\nBob,9,9\n";
  const std::string doubt =
      "the line begins with '#' and has as many fields as the table; say --comment none if it is a row, or --comment "
      "'#' "
      "if it is a comment";
  EXPECT_EQ(refusal(players, named_by("player")), "t.csv:2:1: " + doubt);
  EXPECT_EQ(refusal("Bob,9,9\nBob,8,9\n#7,3,4\n", named_by("1")), "t.csv:3:1: " + doubt);
  EXPECT_EQ(refusal("#7,3,4\nBob,9,9\nBob,8,9\n", named_by("1")), "t.csv:1:1: " + doubt);
  EXPECT_EQ(refusal("x;y\n1;2\n#3;4\n", offered()), "t.csv:3:1: " + doubt);
  CsvOptions rows = named_by("player");
  rows.comment = {.mark = 0, .is_given = true};
  EXPECT_EQ(names_of(table_of(players, rows)), (Strings{"#10", "#7", "Bob"}));
  rows.comment = {.mark = '#', .is_given = true};
  EXPECT_EQ(names_of(table_of(players, rows)), Strings{"Bob"});
  CsvOptions percent = offered();
  percent.comment = {.mark = '%', .is_given = true};
  EXPECT_EQ(rows_of("% a,b\n1,2\n%3,4\n5,6\n", percent), (Rows{{1, 2}, {5, 6}}));
  EXPECT_CONTAINS(refusal("1,2\n#3,4\n", percent), "t.csv:2:1: '#3' is not a number");
  EXPECT_EQ(refusal("x,y\n#10,1,2\nBob,1,2\n", named_by("1")), "t.csv:2:1: " + doubt);
  // A line with # is a comment if it has words, or if it has another number of fields than the rows.
  for (const std::string comment : {"# more", "#", "#1,2,3", "# a, b, c"})
    EXPECT_EQ(rows_of("x,y\n" + comment + "\n1,2\n" + comment + "\n3,4\n", offered()), (Rows{{1, 2}, {3, 4}}))
        << comment;
  EXPECT_EQ(rows_of("# 1,2\nx,y\n1,2\n", offered()), (Rows{{1, 2}}));
  EXPECT_EQ(rows_of("1 2\n# end\n3 4\n", offered()), (Rows{{1, 2}, {3, 4}}));
  EXPECT_EQ(rows_of("1\n#2\n3\n", offered()), (Rows{{1}, {3}}));
}

TEST(Rows, ThatLackNumbersAreToldTogetherOrLeftOut) {
  const std::string years = "a,b,c,year\n1,2,3,2007\nNA,,nan,2007\n4,5,6,2008\n";
  EXPECT_EQ(
      refusal(years, offered()),
      "t.csv:3:1: 'NA' is not a number: 1 of 3 rows lacks a number (columns 'a', 'b' and 'c'); --missing drop-rows "
      "leaves such rows out");
  EXPECT_EQ(
      refusal(years, taking("a,b,c")),
      "t.csv:3:1: 'NA' is not a number: 1 of 3 rows lacks a number (columns 'a', 'b' and 'c'); --missing drop-rows "
      "leaves such rows out");
  EXPECT_EQ(
      refusal(years, {}),
      "t.csv:3:1: 'NA' is not a number: 1 of 3 rows lacks a number (columns 'a', 'b' and 'c'); fill them in, or leave "
      "out the rows");
  EXPECT_EQ(
      refusal("a,b,\n1,2,\n,4,\n", offered()),
      "t.csv:2:3: the field is empty: 2 of 2 rows lack a number (columns 'a' and 3); column 3 has no number at all: "
      "--drop-columns 3 leaves column 3 out");
  EXPECT_EQ(
      refusal("a,b\n1,\n2,NA\n3,5\n,4\n", offered()),
      "t.csv:2:2: the field is empty: 3 of 4 rows lack a number (columns 'a' and 'b'); --missing drop-rows leaves such "
      "rows out, --drop-columns b leaves column 'b' out");
  CsvOptions options = named_by("id");
  options.columns.weight = ColumnList("--weight-column", "w");
  options.missing = Missing::drop_rows;
  std::string text = "x,id,w\n";
  Strings names;
  std::vector<double> weights;
  std::vector<std::int64_t> dropped;
  for (int row = 0; row < 300; ++row) {
    const bool lacks_x = row % 7 == 3;
    const bool lacks_weight = row % 11 == 5;
    text += (lacks_x ? "NA"s : std::to_string(row)) + ",p" + std::to_string(row) + "," +
            (lacks_weight ? "" : std::to_string(row) + ".5") + "\n";
    if (lacks_x || lacks_weight) {
      dropped.push_back(row);
      continue;
    }
    names.push_back("p" + std::to_string(row));
    weights.push_back(row + 0.5);
  }
  for (const std::size_t chunk : {1, 40, 1 << 18}) {
    options.chunk = chunk;
    const CsvTable table = table_of(text, options);
    EXPECT_EQ(names_of(table), names);
    EXPECT_EQ(table.weights, weights);
    EXPECT_EQ(table.dropped, dropped);
    EXPECT_EQ(table.values.view.columns(), 1);
    for (std::int64_t row = 0; row < table.values.view.rows(); ++row)
      EXPECT_EQ(table.values.view(row, 0), weights[static_cast<std::size_t>(row)] - 0.5);
    EXPECT_EQ(table.notes, Strings{"t.csv: " + std::to_string(dropped.size()) +
                                   " of 300 rows lack a number (columns 'x' and 'w') and are left out"});
  }
  CsvOptions drop = offered();
  drop.missing = Missing::drop_rows;
  EXPECT_EQ(rows_of("NA,1\n2,3\n", drop), (Rows{{2, 3}}));
  EXPECT_CONTAINS(refusal("x,y\nNA,1\n", drop),
                  "1 of 1 row lacks a number (column 'x'); column 'x' has no number at all");
  // Messages recommend a change only if it leaves some data.
  EXPECT_CONTAINS(refusal("x,y\nNA,NA\n", drop), "1 of 1 row lacks a number (columns 'x' and 'y'); fill them in");
  EXPECT_EQ(refusal("a,b\nx,y\nz,y\n", offered()),
            "t.csv:2:1: 'x' is not a number: columns 'a' and 'b' are text, and no coordinate is left without them");
  EXPECT_EQ(refusal("x\n5%\n", offered()).find("--drop-columns"), std::string::npos);
  EXPECT_CONTAINS(refusal("Ada,1,2\nBob,3,4\n", offered()),
                  "keeps it next to the answer; if line 1 is a row, say --header no");
}

TEST(Columns, WeightsAreNoCoordinates) {
  CsvOptions options = dropping("species");
  options.columns.weight = ColumnList("--weight-column", "petal");
  const CsvTable table = table_of(iris, options);
  EXPECT_EQ(rows_of(table.values.view), (Rows{{5.1}, {4.9}}));
  EXPECT_EQ(table.weights, (std::vector<double>{1.4, 1.3}));
  EXPECT_EQ(table.column_names, Strings{"sepal"});
  options.columns.dropped = ColumnList("--drop-columns", "2-3");
  EXPECT_CONTAINS(refusal(iris, options), "column 2 ('petal') cannot both be left out");
  options.columns.dropped = {};
  options.columns.taken = ColumnList("--columns", "1,2");
  EXPECT_CONTAINS(refusal(iris, options),
                  "column 2 ('petal') cannot both be a coordinate (--columns) and weigh the rows");
  options.columns.weight = ColumnList("--weight-column", "1-2");
  EXPECT_CONTAINS(refusal(iris, options), "--weight-column: one column weighs the rows, not 2");
}

TEST(Columns, AreFoundByTheNamesThatAreExpected) {
  CsvOptions options = offered();
  options.columns.expected = {"petal", "sepal"};
  const CsvTable table = table_of(iris, options);
  EXPECT_EQ(rows_of(table.values.view), (Rows{{1.4, 5.1}, {1.3, 4.9}}));
  EXPECT_EQ(table.notes, Strings{"t.csv: the columns are found by their names; column 'species' is left out"});
  options.columns.expected = {"2020", "2019"};
  EXPECT_EQ(rows_of("2019,2020,2021\n1,2,3\n", options), (Rows{{2, 1}}));
  options.columns.expected = {"petal", "stem"};  // the table lacks these columns and is used as it is
  options.columns.dropped = ColumnList("--drop-columns", "species");
  EXPECT_EQ(rows_of(iris, options), (Rows{{5.1, 1.4}, {4.9, 1.3}}));
  options.columns.expected_by = "the fit";
  EXPECT_CONTAINS(refusal(iris, options), "t.csv: there is no column 'stem', which the fit has; the columns are ");
  options.columns.expected = {"stem", "leaf"};  // nothing in common: the columns are used by their places
  EXPECT_EQ(rows_of(iris, options), (Rows{{5.1, 1.4}, {4.9, 1.3}}));
}

TEST(Columns, AsPandasAndRWriteThem) {
  const std::string unnamed =
      "t.csv: the first column, which has no name, counts the rows, and is read as a coordinate";
  for (const std::string file : {"csv/pandas.csv"}) {
    const CsvTable table = table_of(content(corpus + file), offered());
    ASSERT_EQ(table.notes.size(), 1u);
    EXPECT_CONTAINS(table.notes[0], unnamed);
    EXPECT_CONTAINS(table.notes[0], "--id-column 1 ");
    EXPECT_EQ(table.column_names, (Strings{"", "x", "y"}));
    const CsvTable with_ids = table_of(content(corpus + file), named_by("1"));
    EXPECT_EQ(with_ids.notes, Strings{});
    EXPECT_EQ(rows_of(with_ids.values.view), (Rows{{1.5, 2}, {2.5, 3}, {4.5, 7}}));
    EXPECT_EQ(names_of(with_ids), (Strings{"0", "1", "2"}));
    EXPECT_EQ(with_ids.row_names->heading, "");
  }
  const CsvTable r = table_of(content(corpus + "csv/write_csv.csv"), dropping("name"));
  EXPECT_EQ(rows_of(r.values.view), (Rows{{1, 0.5}, {2, 0.25}}));
  EXPECT_CONTAINS(r.notes.at(0), unnamed);
  // R's write.table() writes no name above the column of row names.
  const CsvTable less = table_of(content(corpus + "csv/write_table.txt"), named_by("1"));
  EXPECT_EQ(rows_of(less.values.view), (Rows{{0.5, 3}, {0.25, 1}}));
  EXPECT_EQ(names_of(less), (Strings{"1", "2"}));
  EXPECT_EQ(less.column_names, (Strings{"x", "y"}));
  EXPECT_CONTAINS(less.notes.at(0), "t.csv:1: one name less than the 3 columns of line 2");
  EXPECT_EQ(names_of(table_of("x,y\nAda,1,2\nBob,3,4\n", named_by("1"))), (Strings{"Ada", "Bob"}));
  for (const std::string text : {"x,y\n0.5,1,2\n", "x,y\n1,2,\n", "x,y\n1,2,3,4\n"})
    EXPECT_CONTAINS(refusal(text, offered()), "t.csv:2:3: more fields than the 2 of line 1");
}

TEST(Columns, AFirstColumnThatNumbersTheRowsIsTold) {
  const auto note = [](const std::string& first, const std::string& values, const CsvOptions& options) {
    std::string text = first + ",x\n";
    for (const char value : values) text += std::to_string(value - 'a' + 2000) + ",7.5\n";
    const CsvTable table = table_of(text, options);
    return table.notes.empty() ? "" : table.notes.at(0);
  };
  EXPECT_CONTAINS(
      note("year", "abcef", offered()),
      "t.csv: the first column, 'year', has integers that rise from row to row, and is read as a coordinate; "
      "if it names the rows, say --id-column year (if not, --columns 1- says so)");
  EXPECT_CONTAINS(note("year", "abcdef", offered()), "'year', has integers that rise");
  for (const std::string values : {"abce", "abced", "abcdd", "fedcba"}) EXPECT_EQ(note("year", values, offered()), "");
  EXPECT_EQ(note("year", "abcdef", taking("1-")), "");
  EXPECT_EQ(note("year", "abcdef", {}), "");
  CsvOptions no_ids = offered();
  no_ids.columns.offers_id = false;
  EXPECT_CONTAINS(note("year", "abcdef", no_ids), "--drop-columns year");
  EXPECT_EQ(table_of("x\n1\n2\n3\n4\n5\n6\n", offered()).notes, Strings{});  // no note, because no column would remain
  EXPECT_EQ(table_of("x,y\n1.5,0\n2,0\n3,0\n4,0\n5,0\n6,0\n", offered()).notes, Strings{});
}

TEST(Headers, AreUtf8) {
  for (const std::string name : {"temp_\xb0"
                                 "C",
                                 "\xe4", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    const std::string message = refusal("x," + name + "\n1,2\n3,4\n", offered());
    EXPECT_CONTAINS(message, "t.csv:1:2: ");
    EXPECT_CONTAINS(message, "is not UTF-8");
    EXPECT_CONTAINS(message, "iconv -f LATIN1 -t UTF-8 t.csv > t-converted.csv");
  }
  for (const std::string name : {"temp_\xc2\xb0"
                                 "C",
                                 "\xe6\xb8\xa9", "\xf0\x9f\x8c\xa1", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(table_of("x," + name + "\n1,2\n3,4\n", offered()).column_names, (Strings{"x", name}));
}

TEST(Headers, OfOneColumnMayHoldSeparators) {
  CsvOptions yes = offered();
  yes.header = HeaderLine::yes;
  for (const CsvOptions& options : {offered(), yes})
    for (const std::string name : {"sepal length (cm)", "length, in cm", "a;b, c|d", "height 2"}) {
      const CsvTable table = table_of(name + "\n\n5.1\n# more\n4.9\n", options);
      EXPECT_EQ(rows_of(table.values.view), (Rows{{5.1}, {4.9}})) << name;
      EXPECT_EQ(table.column_names, Strings{name});
    }
  EXPECT_EQ(rows_of("sepal length\n5,1\n4,9\n", written(Decimal::comma)), (Rows{{5.1}, {4.9}}));
  EXPECT_CONTAINS(refusal("Made by hand\n5,1\n4,9\n", offered()), "t.csv:2:1: '5,1' is not a number");
  EXPECT_EQ(rows_of("10 m\n5\n6\n", yes), (Rows{{5}, {6}}));
  // Some rows have a separator, so the row without a separator lacks a field.
  EXPECT_CONTAINS(refusal("x,y\n3\n4,5\n", offered()), "t.csv:2:2: 1 field, but line 1 has 2");
  EXPECT_CONTAINS(refusal("x y\n3\n4 5\n", offered()), "t.csv:2:2: 1 field, but line 1 has 2");
  EXPECT_CONTAINS(refusal("1 2\n3\n4\n", offered()), "t.csv:2:2: 1 field, but line 1 has 2");
}

TEST(Headers, NumbersUnlikeTheRowsAreNoted) {
  const auto is_noted = [](const std::string& text) {
    const Strings notes = table_of(text, offered()).notes;
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return contains(note, "if it names the columns, say --header yes");
    });
  };
  for (const std::string text : {
           "0\n5.1\n4.9\n4.7\n",  // the first line has an integer, and the rows below it have decimals
           "3,1\n0.5,2.5\n0.25,1.5\n",
           "10,100,1000,10000\n5,7,2,1\n4,8,2,9\n",
           "1,2,5,10\n7,3,9,1\n8,2,4,6\n",  // the numbers of the first line ascend
           "0.1,0.5,0.9,0.99\n0.7,0.3,0.2,0.8\n0.1,0.9,0.3,0.2\n",
           "450.5,460.5\n0.12,0.15\n0.11,0.17\n0.14,0.16\n",  // the numbers are far from the rows below
           "450,5;460,5\n0,12;0,15\n0,11;0,17\n0,14;0,16\n",
       })
    EXPECT_TRUE(is_noted(text)) << text;
  for (const std::string text : {
           "5.1\n5\n4.7\n",
           "5\n4\n4.5\n",
           "3,1\n2,4\n1,5\n",
           "5.1,3.5,1.4\n4.9,3.0,1.4\n",
           "0.1,0.5,0.95\n0.2,0.6,0.7\n",
           "9.5,3.5\n0.5,2.5\n0.25,1.5\n0.5,2.25\n",  // only one number is far from its column
           "5,1\n4,1\n9,1\n7,1\n",
       })
    EXPECT_FALSE(is_noted(text)) << text;
}

TEST(Headers, ThatCountRowsAreNoPartOfTheTable) {
  const std::string cancer = "569,3,malignant,benign\n1.5,2,3,4,5,0\n2.5,1,2,3,6,1\n";
  const std::string message = refusal(cancer, offered());
  EXPECT_CONTAINS(message, "t.csv:1: ");
  EXPECT_CONTAINS(message, "4 fields, but line 2 has 6");
  EXPECT_CONTAINS(message, "tail -n +2 t.csv > t-converted.csv");
  EXPECT_FALSE(contains(message, "--header"));
  EXPECT_CONTAINS(refusal("\n# x\n178,13,class_0,class_1\n\n1,2\n3,4\n", offered()), "but line 5 has 2");
}

TEST(Headers, OfForeignCommentsAreNamedSo) {
  for (const std::string mark : {"%", "!", ";", "//"}) {
    const std::string character(1, mark.front());
    const std::string text = mark + " made by hand\n1,2\n3,4\n";
    EXPECT_CONTAINS(refusal(text, offered()), "t.csv:1:1: the line begins with '" + character + "'");
    EXPECT_CONTAINS(refusal(text, offered()), "say --comment '" + character + "'");
    CsvOptions said = offered();
    said.comment = {.mark = character.front(), .is_given = true};
    EXPECT_EQ(rows_of(text, said), (Rows{{1, 2}, {3, 4}}));
  }
  EXPECT_EQ(table_of("%,!x\n1,2\n", offered()).column_names, (Strings{"%", "!x"}));
}

TEST(Headers, WithPointsAboveDecimalCommas) {
  const std::string text = "0.5;1.5\n-0,040;0,680\n0,1;0,2\n";
  EXPECT_CONTAINS(refusal(text, offered()), "t.csv:1: ");
  EXPECT_CONTAINS(refusal(text, offered()), "say --decimal comma --header yes");
  CsvOptions said = written(Decimal::comma);
  said.header = HeaderLine::yes;
  EXPECT_EQ(rows_of(text, said), (Rows{{-0.04, 0.68}, {0.1, 0.2}}));
  said.style = {};
  EXPECT_EQ(rows_of(text, said), (Rows{{-0.04, 0.68}, {0.1, 0.2}}));
}

TEST(Headers, LinesThatEndWithCarriageReturns) {
  EXPECT_CONTAINS(refusal("1,2\r3,4\r", offered()), "for example: tr '\\r' '\\n' < t.csv > t-converted.csv");
}

TEST(Numbers, ThatAreMissing) {
  CsvOptions drop = offered();
  drop.missing = Missing::drop_rows;
  for (const std::string text : {"\\N", "#NV", "#WERT!", "(null)", "#N/A N/A", "#N/A", "-1.#IND", "1.#IND", "1.#QNAN",
                                 "-1.#QNAN", "#BEZUG!", "#ZAHL!"})
    for (const std::string row : {text + ",5", "5," + text, "5,\"" + text + "\""}) {
      EXPECT_EQ(rows_of("x,y\n1,2\n" + row + "\n3,4\n", drop), (Rows{{1, 2}, {3, 4}})) << row;
      EXPECT_CONTAINS(refusal("x,y\n1,2\n" + row + "\n3,4\n", offered()), "--missing drop-rows");
    }
}

TEST(Numbers, DecimalCommas) {
  const std::string note =
      "t.csv: decimals are assumed to follow a comma (--decimal comma says so; --decimal point: a point)";
  for (const std::string text : {"a;b\n1,5;2\n3;4,25\n", "a\tb\n1,5\t2\n3\t4,25\n", "a;b\n\"1,5\";2\n3;\"4,25\"\n",
                                 "a;b\r\n1,5;2\r\n3;4,25\r\n", "a;b\n1,500;2\n3;4,25\n"}) {
    const CsvTable table = table_of(text, offered());
    EXPECT_EQ(rows_of(table.values.view), (Rows{{1.5, 2}, {3, 4.25}})) << text;
    EXPECT_EQ(table.notes, Strings{note}) << text;
    const CsvTable said = table_of(text, written(Decimal::comma));
    EXPECT_EQ(rows_of(said.values.view), (Rows{{1.5, 2}, {3, 4.25}})) << text;
    EXPECT_EQ(said.notes, Strings{}) << text;
  }
  EXPECT_EQ(rows_of("1,5;-2,5e1\n+3;,5\n", offered()), (Rows{{1.5, -25}, {3, 0.5}}));
  EXPECT_EQ(rows_of("a,b\n\"1,5\",2\n\"-3\",\"4,\"\n", written(Decimal::comma)), (Rows{{1.5, 2}, {-3, 4}}));
  EXPECT_EQ(rows_of("a b\n1,5 2\n", written(Decimal::comma)), (Rows{{1.5, 2}}));
  EXPECT_EQ(rows_of("1,5 2,5\n3,5 4,5\n", written(Decimal::comma)), (Rows{{1.5, 2.5}, {3.5, 4.5}}));
  EXPECT_EQ(refusal("0,5\n1,5\n", written(Decimal::comma)),
            "t.csv:1: '0,5' may be one number with decimals, or two fields; put semicolons between fields, or a line "
            "with the "
            "name of the column above the numbers");
  EXPECT_EQ(rows_of("w\n0,5\n1,5\n", written(Decimal::comma)), (Rows{{0.5}, {1.5}}));
  for (const CsvOptions& options : {written(Decimal::comma), offered()})
    EXPECT_EQ(rows_of("1,5\t2,5\n3,5\t4,5\n", options), (Rows{{1.5, 2.5}, {3.5, 4.5}}));
  // An ambiguous comma is never resolved silently, and notations never mix.
  EXPECT_CONTAINS(refusal("a;b\n1,500;2\n", offered()),
                  "t.csv:2:1: '1,500' may have decimals behind its comma, or a group of three digits");
  EXPECT_CONTAINS(refusal("a;b\n1,5;2.5\n", offered()), "t.csv:2:1: '1,5' is not a number (decimals follow a point");
  EXPECT_CONTAINS(refusal("a;b\n1,5;2\n3;2.5\n", written(Decimal::comma)),
                  "t.csv:3:2: '2.5' is not a number (decimals follow a comma");
  EXPECT_CONTAINS(refusal("a;b\n1,5;2\n", written(Decimal::point)), "t.csv:2:1: '1,5' is not a number");
  EXPECT_CONTAINS(refusal("a,b\n1.5,2\n", written(Decimal::comma)), "t.csv:2:1: '1.5' is not a number");
  EXPECT_CONTAINS(refusal("a;b\n1,2,3;4\n", offered()), "t.csv:2:1: '1,2,3' is not a number");
  // A comma in a number is an error even if it occurs after the sample from which the notation was determined.
  std::string late = "a;b\n";
  for (int row = 0; row < 20000; ++row) late += "1;2\n";
  EXPECT_CONTAINS(refusal(late + "1,5;2\n", offered()), "t.csv:20002:1: '1,5' is not a number (decimals");
}

TEST(Numbers, GroupsOfDigits) {
  EXPECT_EQ(rows_of("a;b\n1.234,5;2\n12;1.000.000\n", written(Decimal::automatic, '.')),
            (Rows{{1234.5, 2}, {12, 1e6}}));
  EXPECT_EQ(rows_of("a;b\n1,234.5;2\n12;-1,000,000\n", written(Decimal::automatic, ',')),
            (Rows{{1234.5, 2}, {12, -1e6}}));
  EXPECT_EQ(rows_of("a,b\n\"1,234.5\",2\n12,\"1,000\"\n", written(Decimal::automatic, ',')),
            (Rows{{1234.5, 2}, {12, 1000}}));
  EXPECT_EQ(rows_of("a,b\n1'234.5,2\n", written(Decimal::automatic, '\'')), (Rows{{1234.5, 2}}));
  EXPECT_EQ(rows_of("a;b\n1 234,5 ; 2\n", written(Decimal::comma, ' ')), (Rows{{1234.5, 2}}));
  // In this table, commas separate fields and not groups of digits.
  EXPECT_EQ(rows_of("1,234\n5,678\n", written(Decimal::automatic, ',')), (Rows{{1, 234}, {5, 678}}));
  for (const std::string number : {"1,23", "1234,567", "12,3456", "0,123", ",123", "1,234,56", "1,,234", "1.5,000"})
    EXPECT_CONTAINS(refusal("a;b\n2;" + number + "\n", written(Decimal::automatic, ',')),
                    "t.csv:2:2: '" + number + "' is not");
  EXPECT_CONTAINS(refusal("a;b\n1;2\n", written(Decimal::comma, ',')),
                  "usage: --thousands: ',' is what decimals follow");
  EXPECT_CONTAINS(refusal("a;b\n1;2\n", written(Decimal::point, '.')),
                  "usage: --thousands: '.' is what decimals follow");
}

TEST(Numbers, InAnyNotationAreTheNearestDoubles) {
  std::mt19937_64 random(7);
  const auto digits = [&](std::size_t count) {
    std::string text;
    for (std::size_t digit = 0; digit < count; ++digit) text += static_cast<char>('0' + random() % 10);
    return text;
  };
  for (int trial = 0; trial < 20000; ++trial) {
    const std::string whole = std::to_string(1 + random() % 999) + digits(3) + digits(3);
    const std::string fraction = digits(random() % 20);
    const std::string power = random() % 2 == 0 ? "" : "e" + std::to_string(static_cast<int>(random() % 600) - 300);
    const std::string plain = whole + "." + fraction + power;
    double expected = 0;
    ASSERT_EQ(parse_number(plain.data(), plain.data() + plain.size(), expected), plain.data() + plain.size());
    std::string grouped = whole;
    for (std::size_t place = whole.size(); place > 3; place -= 3) grouped.insert(place - 3, ".");
    grouped += "," + fraction + power;
    double value = 0;
    ASSERT_EQ(parse_number(grouped.data(), grouped.data() + grouped.size(), value, {.point = ',', .group = '.'}),
              grouped.data() + grouped.size())
        << grouped;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected)) << grouped;
  }
}

TEST(Numbers, PlainOnesAreTheNearestDoubles) {
  std::mt19937_64 random(11);
  const auto check = [](const std::string& text) {
    double expected = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
    double value = 0;
    const char* const end = parse_number(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return;
    ASSERT_EQ(end, error == std::errc{} ? stop : nullptr) << text;
    if (end) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected)) << text;
    }
  };
  for (const std::string text : {"0",
                                 "-0",
                                 "0.0",
                                 "-.0",
                                 "5.",
                                 ".5",
                                 ".",
                                 "-",
                                 "",
                                 "-.",
                                 "1e",
                                 "1e+",
                                 "1E5",
                                 "1.5e-7x",
                                 "x",
                                 "nan",
                                 "-inf",
                                 "9007199254740993",
                                 "90071992547409930.0",
                                 "900719925474099.35",
                                 "9007199254740992.5",
                                 "9007199254740993.0",
                                 "0.1",
                                 "9999999999999999999",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "0.00000000000000000000000000000000001",
                                 "123456789012345678901",
                                 "1.7976931348623157",
                                 "4503599627370496.5",
                                 "4503599627370497.5",
                                 "1234567:",
                                 "12345678/",
                                 "1.2345678:"})
    check(text);
  // The parser of short numbers also loads the text after a number. The loop tests every length of a number and every
  // position of the point.
  for (std::size_t length = 0; length <= 10; ++length)
    for (std::size_t point = 0; point <= length + 1; ++point)  // if point == length + 1, the number has no point
      for (const char* const follower :
           {"", ",", "\n", "e", "e5", "E-3", "ex", ":", "/", ".", "-", "\x80", "\xff", " "})
        for (const char* const rest : {"", "7", "12.5,x\n4"}) {
          std::string digits;
          for (std::size_t place = 0; place < length; ++place) digits += static_cast<char>('0' + random() % 10);
          if (point <= length) digits.insert(point, ".");
          check(digits + follower + rest);
          check("-" + digits + follower + rest);
        }
  for (int trial = 0; trial < 200000; ++trial) {
    // Tests random digits with and without a point, and midpoints of neighbouring doubles.
    std::string digits = std::to_string(random() >> random() % 64);
    if (random() % 4 != 0) digits.insert(random() % (digits.size() + 1), ".");
    check((random() % 2 == 0 ? "-" : "") + digits);
    const double below =
        std::ldexp(static_cast<double>(random() >> (11 + random() % 53)), static_cast<int>(random() % 20) - 10);
    std::array<char, 128> text;
    const long double between = (static_cast<long double>(below) + std::nextafter(below, 2 * below + 1)) / 2;
    const int length = std::snprintf(text.data(), text.size(), "%.*Lf", static_cast<int>(random() % 24), between);
    check({text.data(), static_cast<std::size_t>(length)});
  }
}

TEST(CsvThreads, GiveTheSameTableAndTheSameErrors) {
  std::string text = "id,x,y,note\n";
  Rows expected;
  for (int row = 0; row < 600; ++row) {
    text += "p" + std::to_string(row) + "," + std::to_string(row) + ".5,-" + std::to_string(row % 7);
    text += row % 5 == 0 ? ",\"a \"\"b\"\",\nc\"\n" : row % 5 == 1 ? ",5\" pipe\n" : ",\n";
    if (row % 100 == 3) text += "# a \" comment\n";
    expected.push_back({row + 0.5, -static_cast<double>(row % 7)});
  }
  CsvOptions options = named_by("id");
  options.columns.dropped = ColumnList("--drop-columns", "note");
  for (const int threads : {1, 3})
    for (const std::size_t chunk : {1, 37, 1000, 1 << 18}) {
      options.threads = threads;
      options.chunk = chunk;
      const CsvTable table = table_of(text, options);
      EXPECT_EQ(rows_of(table.values.view), expected);
      EXPECT_EQ((*table.row_names)[599], "p599");
      for (const auto& [broken, error] : std::vector<std::pair<std::string, std::string>>{
               {"q,1,2\n", "t.csv:728:4: 3 fields, but line 1 has 4"},
               {"q,1,z,\nq,1,2\n", "t.csv:728:3: 'z' is not a number"},
               {"\nq,1,2,\n", "t.csv:728: a blank line between rows of numbers"},
               {"\n\n# x\nq,z,2,\n", "t.csv:728: a blank line between rows of numbers"},
               {"\n\n#N/A,1,2,\n", "t.csv:728: a blank line between rows of numbers"},
               {"#q,1,2,\n", "t.csv:728:1: the line begins with '#' and has as many fields as the table"},
               {"q,,2,\nq,NA,z,\n", "t.csv:729:3: 'z' is not a number"},
               {"q,1,,\nq,NA,,\n",
                "t.csv:728:3: the field is empty: 2 of 602 rows lack a number (columns 'x' and 'y')"},
               {"q,1,2,\"x\n\n", "t.csv:728:4: the field '\"x' has no closing quote"},
           })
        EXPECT_CONTAINS(refusal(text + broken, options), error) << threads << " " << chunk;
      EXPECT_EQ(rows_of(table_of(text + "\n# x\n\n", options).values.view), expected);
    }
}

class TableFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "gradus_table_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string folder_;
};

Rows rows_of(const Points& points) {
  Rows rows;
  points.visit([&](auto view) {
    for (std::int64_t row = 0; row < view.rows(); ++row)
      rows.emplace_back(view.row(row), view.row(row) + view.columns());
  });
  return rows;
}

const Rows ramp{{0, 1, 2}, {3, 4, 5}};

TEST_F(TableFile, Archives) {
  const std::string folder = corpus + "npz/";
  for (const std::string name :
       {"stored.npz", "stored.npz:x", "deflated.npz:x", "comment.npz", "zip64.npz", "zip64.npz:x"}) {
    EXPECT_EQ(rows_of(read_points(folder + name)), ramp) << name;
    EXPECT_TRUE(is_npy(folder + name));
    EXPECT_EQ(read_tensor(folder + name).shape, (std::vector<std::int64_t>{2, 3})) << name;
  }
  EXPECT_EQ(read_points(folder + "deflated.npz:x").type(), ElementType::f32);
  EXPECT_EQ(rows_of(read_points(folder + "deflated.npz:y")), (Rows{{0}, {1}, {2}}));
  EXPECT_EQ(read_vector<double>(folder + "deflated.npz:y").view.size(), 3);
  ReadOptions some;
  some.columns.taken = ColumnList("--columns", "3,1");
  some.columns.id = ColumnList("--id-column", "2");
  const Points chosen = read_points(folder + "zip64.npz", some);
  EXPECT_EQ(rows_of(chosen), (Rows{{2, 0}, {5, 3}}));
  EXPECT_EQ((*chosen.row_names)[1], "4");
  some.columns.taken = ColumnList("--columns", "x");
  EXPECT_CONTAINS(refusal([&] { read_points(folder + "zip64.npz", some); }), "there is no column 'x'");
  EXPECT_CONTAINS(refusal([&] { read_points(GRADUS_SOURCE_DIR "/data/picture.png", some); }), "a picture");
  for (const auto& [name, error] : std::vector<std::pair<std::string, std::string>>{
           {"deflated.npz", "the file holds 3 arrays; say which one: "},
           {"deflated.npz:Y", "there is no array 'Y' (did you mean 'x'?); there is "},
           {"none.npz:x", "No such file"}})
    EXPECT_CONTAINS(refusal([&, &name = name] { read_points(folder + name); }), error);
  EXPECT_CONTAINS(refusal([&] { read_points(put("a.npz", "PK")); }), "not a .npz file");
  EXPECT_CONTAINS(refusal([&] { read_points(put("a.npz", "PK\x05\x06" + std::string(18, '\0'))); }), "not a .npz file");
}

TEST_F(TableFile, ADamagedArchiveIsRefused) {
  for (const std::string name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    const std::string whole = content(corpus + "npz/" + name);
    const auto rows_in = [](const std::string& bytes) {
      const ArrayBytes found = find_npz_array(std::as_bytes(std::span(bytes)), "a.npz", "x", {});
      return rows_of(
          Points{.values = parse_npy(found.bytes, found.name, found.owner).values, .picture = {}, .column_names = {}});
    };
    ASSERT_EQ(rows_in(whole), ramp);
    // A truncated archive must be rejected. An archive with a changed byte must be rejected too, unless this byte is
    // unused (a time or an attribute). In that case, the array must be correct.
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_NE(refusal([&] { rows_in(whole.substr(0, length)); }), "accepted") << name << length;
    EXPECT_NE(refusal([&] { rows_in(whole + "x"); }), "accepted");
    for (std::size_t place = 0; place < whole.size(); ++place) {
      std::string changed = whole;
      changed[place] = static_cast<char>(changed[place] ^ 0x20);
      Rows rows;
      if (refusal([&] { rows = rows_in(changed); }) == "accepted") {
        EXPECT_EQ(rows, ramp) << name << place;
      }
    }
  }
  // An entry's size may be impossible for its compressed bytes. Such a size must not cause an allocation.
  std::string large = content(corpus + "npz/deflated.npz");
  const std::size_t entry = large.find("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  large.replace(entry + 24, 4, "\xf0\xff\xff\x7f");
  EXPECT_CONTAINS(refusal([&] { read_points(put("a.npz", large) + ":x"); }), "more than");
}

TEST_F(TableFile, Pipes) {
  const auto through = [&](const std::string& bytes, const ReadOptions& options = {}) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    std::jthread writer([&] {
      for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count = ::write(ends[1], bytes.data() + done, bytes.size() - done);
        if (count <= 0) break;
        done += static_cast<std::size_t>(count);
      }
      ::close(ends[1]);
    });
    const std::string path = "/dev/fd/" + std::to_string(ends[0]);
    EXPECT_TRUE(is_table(path));
    EXPECT_FALSE(is_npy(path));
    const auto closing = [](int* end) { ::close(*end); };
    const std::unique_ptr<int, decltype(closing)> at_end(&ends[0], closing);
    return rows_of(read_points(path, options));
  };
  EXPECT_EQ(through("x,y\n1,2\n3,4\n"), (Rows{{1, 2}, {3, 4}}));
  EXPECT_EQ(through(content(corpus + "npy/little_f8.npy")), ramp);
  EXPECT_EQ(through(content(corpus + "npz/stored.npz")), ramp);
  EXPECT_CONTAINS(refusal([&] { through(content(corpus + "npz/deflated.npz")); }), "the file holds 3 arrays");
  EXPECT_CONTAINS(refusal([&] { through(content(corpus + "npy/little_f8.npy").substr(0, 130)); }), "are there");
  EXPECT_CONTAINS(refusal([&] { through(""); }), "there is no row of numbers");
  EXPECT_CONTAINS(refusal([&] { through(content(corpus + "image/rgb.png")); }), "is a picture (PNG)");
  ReadOptions some;
  some.columns.dropped = ColumnList("--drop-columns", "species");
  EXPECT_EQ(through(std::string(iris), some), (Rows{{5.1, 1.4}, {4.9, 1.3}}));
}

}  // namespace
}  // namespace gradus::files
