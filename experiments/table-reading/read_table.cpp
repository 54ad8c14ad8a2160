// Reads tables as `gradus` does and reports the time. compare.py runs this program to compare Gradus with pandas and
// pyarrow. For each line "FILE THREADS [DROPPED COLUMNS]" on standard input, the program prints "SECONDS
// PROCESSOR_SECONDS ROWS COLUMNS SUM".
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <sstream>
#include <string>

#include "files/points.hpp"
#include "gradus/error.hpp"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string file;
    std::string dropped;
    gradus::files::ReadOptions options;
    words >> file >> options.threads >> dropped;
    try {
      if (!dropped.empty()) options.columns.dropped = gradus::files::ColumnList("--drop-columns", dropped);
      const std::clock_t used = std::clock();
      const auto start = std::chrono::steady_clock::now();
      const gradus::files::Points points = gradus::files::read_points(file, options);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      const double busy = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
      double sum = 0;
      points.visit([&](auto view) {
        for (std::int64_t row = 0; row < view.rows(); ++row)
          for (std::int64_t column = 0; column < view.columns(); ++column) sum += view(row, column);
      });
      std::printf("%.6f %.6f %lld %lld %.17g\n", took.count(), busy, static_cast<long long>(points.rows()),
                  static_cast<long long>(points.columns()), sum);
      std::fflush(stdout);
    } catch (const gradus::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
}
