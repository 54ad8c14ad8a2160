// Reads tables as `gradus` does, and says how long each took: what compare.py times beside pandas and pyarrow. For each
// line "FILE THREADS [DROPPED COLUMNS]" on standard input it prints "SECONDS ROWS COLUMNS SUM".
#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "gradus/error.hpp"
#include "io/points.hpp"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string file;
    std::string dropped;
    gradus::io::ReadOptions options;
    words >> file >> options.threads >> dropped;
    try {
      if (!dropped.empty()) options.columns.dropped = gradus::io::ColumnList("--drop-columns", dropped);
      const auto start = std::chrono::steady_clock::now();
      const gradus::io::Points points = gradus::io::read_points(file, options);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      double sum = 0;
      points.visit([&](auto view) {
        for (std::int64_t row = 0; row < view.rows(); ++row)
          for (std::int64_t column = 0; column < view.columns(); ++column) sum += view(row, column);
      });
      std::printf("%.6f %lld %lld %.17g\n", took.count(), static_cast<long long>(points.rows()),
                  static_cast<long long>(points.columns()), sum);
      std::fflush(stdout);
    } catch (const gradus::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
}
