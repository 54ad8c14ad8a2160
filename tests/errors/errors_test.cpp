// Tests the errors of the public C++ functions. errors_test.py and python/tests/test_errors.py test the same errors in
// the program and in Python. provoked.json defines the fields of each error.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gradus/kmeans.hpp"
#include "gradus/pair_histogram.hpp"
#include "gradus/shortest_paths.hpp"

namespace gradus {
namespace {

using Json = nlohmann::json;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Matrix<double> rows_of(std::int64_t columns, const std::vector<double>& values) {
  Matrix<double> rows(static_cast<std::int64_t>(values.size()) / columns, columns);
  std::copy(values.begin(), values.end(), rows.data());
  return rows;
}

const Matrix<double> three_points = rows_of(2, {1, 1, 2, 2, 3, 3});

void cluster(const Matrix<double>& points, const KMeansOptions& options, const std::vector<double>& weights = {},
             const Execution& execution = {}) {
  KMeansMemory<double> memory;
  memory.weights = {weights.data(), static_cast<std::int64_t>(weights.size())};
  kmeans(points, options, memory, execution);
}

void count(const Matrix<double>& points, const PairHistogramOptions& options) { pair_histogram(points, options); }

template <class T>
void find_paths(const std::vector<T>& weights) {
  Matrix<T> graph(3, 3);
  std::copy(weights.begin(), weights.end(), graph.data());
  shortest_paths(graph, ShortestPathsOptions{});
}

const std::map<std::string, std::function<void()>> provocations{
    {"a point that is not a number",
     [] {
       cluster(rows_of(2, {1, 1, not_a_number, 2, 3, 3}), {.clusters = 2});
     }},
    {"more clusters than points", [] { cluster(three_points, {.clusters = 9}); }},
    {"fewer different points than clusters",
     [] {
       cluster(rows_of(2, {1, 1, 1, 1, 1, 1}), {.clusters = 2});
     }},
    {"a row without a direction",
     [] {
       cluster(rows_of(2, {1, 1, 0, 0, 3, 1}), {.clusters = 2, .metric = KMeansMetric::cosine});
     }},
    {"a negative weight",
     [] {
       cluster(three_points, {.clusters = 2}, {1, 1, -1});
     }},
    {"two weights for three points",
     [] {
       cluster(three_points, {.clusters = 2}, {1, 1});
     }},
    {"an unknown variant", [] { cluster(three_points, {.clusters = 2}, {}, {.variant = "nonsense"}); }},
    {"no memory", [] { cluster(three_points, {.clusters = 2}, {}, {.memory_limit = 1}); }},
    {"an empty cluster",
     [] {
       const Matrix<double> centroids = rows_of(1, {0, 9});
       KMeansMemory<double> memory;
       memory.initial_centroids = centroids.view();
       kmeans(rows_of(1, {0, 1}), {.clusters = 2, .init = KMeansInit::given, .empty = KMeansEmptyCluster::error},
              memory);
     }},
    {"a point outside of the box",
     [] {
       count(rows_of(2, {1, 1, 2, 2, 3, 7}), {.bins = {.bin_width = 1, .bins = 2}, .box = {5, 5}});
     }},
    {"bins that reach too far",
     [] {
       count(three_points, {.bins = {.bin_width = 1, .bins = 4}, .box = {5, 5}});
     }},
    {"an origin without a box",
     [] {
       count(three_points, {.bins = {.bin_width = 1, .bins = 2}, .box_origin = {0, 0}});
     }},
    {"a flat cell",
     [] {
       count(rows_of(3, {1, 1, 1, 2, 2, 2}),
             {.bins = {.bin_width = 1, .bins = 2}, .box = {5, 0, 0, 0, 5, 0, 5, 5, 1e-9}});
     }},
    {"a distance beyond int32",
     [] {
       find_paths<std::int32_t>({0, 2000000000, 2147483647, 2147483647, 0, 2000000000, 2147483647, 2147483647, 0});
     }},
    {"a negative cycle",
     [] {
       find_paths<std::int32_t>({0, 1, 2147483647, -2, 0, 2147483647, 2147483647, 2147483647, 0});
     }},
    {"a weight that is not a number",
     [] {
       find_paths<double>({0, not_a_number, 1, 1, 0, 1, 1, 1, 0});
     }},
};

Json table() {
  std::ifstream file(GRADUS_SOURCE_DIR "/tests/errors/provoked.json");
  return Json::parse(file);
}

template <class Number>
Json json_of(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

TEST(ProvokedErrors, CarryTheirFields) {
  std::set<std::string> names;
  for (const Json& row : table()) {
    const std::string name = row.at("name");
    SCOPED_TRACE(name);
    names.insert(name);
    ASSERT_TRUE(provocations.contains(name));
    try {
      provocations.at(name)();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      const ErrorFields& fields = error.fields();
      const std::string text = error.what();
      EXPECT_EQ(error.exit_status(), row.at("status")) << text;
      EXPECT_EQ(error.code(), row.at("code").get<std::string>()) << text;
      EXPECT_EQ(fields.argument, row.value("argument", "")) << text;
      EXPECT_EQ(json_of(fields.row), row.value("row", Json())) << text;
      EXPECT_EQ(json_of(fields.column), row.value("column", Json())) << text;
      EXPECT_EQ(fields.value, row.value("value", fields.value)) << text;
      EXPECT_EQ(fields.allowed, row.value("allowed", fields.allowed)) << text;
      const Json remedy = row.value("remedy", Json{{"C++", ""}});
      EXPECT_TRUE(text.ends_with(remedy.at("C++").get<std::string>())) << text;
      EXPECT_FALSE(std::regex_search(text, std::regex("--[a-z]|[a-z_]=[a-zA-Z\"]"))) << text;
    }
  }
  for (const auto& [name, provocation] : provocations) EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace gradus
