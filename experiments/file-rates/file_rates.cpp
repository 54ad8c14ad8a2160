// Reads and writes files of every text and picture format of points, graphs and patterns, about 30 MB each, and prints
// the rates next to the rates of a memory copy and of the disk. Each time is the median of the rounds, in which all
// formats take turns. Usage: file_rates [FOLDER [THREADS [ROUNDS]]]. The files in FOLDER are removed again.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "core/atomic_file.hpp"
#include "files/points.hpp"
#include "gradus/life.hpp"
#include "life/files/pattern.hpp"
#include "shortest_paths/files/graph.hpp"

namespace {

using gradus::core::AtomicFile;
namespace files = gradus::files;

constexpr std::int64_t bytes_of_a_file = std::int64_t{32} << 20;

struct Times {
  std::vector<double> wall;
  std::vector<double> busy;

  void measure(const std::function<void()>& job) {
    const std::clock_t used = std::clock();
    const auto start = std::chrono::steady_clock::now();
    job();
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    busy.push_back(static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
  }
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

struct Row {
  std::string name;
  std::string path;
  std::function<void(const std::string& path)> read;
  std::function<void(const std::string& path)> write;  ///< empty if Gradus does not write the format
  Times reading = {};
  Times writing = {};
  std::int64_t bytes = 0;
};

void write_whole(const std::string& path, std::string_view text) { gradus::core::write_atomically(path, text); }

void append_number(std::string& text, double number) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// Returns a plane in which each cell is alive with probability 1 / `rarity`.
gradus::LifePattern random_pattern(std::int64_t side, unsigned rarity) {
  std::mt19937 random(5);
  gradus::LifeGrid cells(side, side);
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x)
      if (random() % rarity == 0) cells.set(y, x);
  gradus::LifePattern pattern;
  pattern.cells = std::move(cells);
  return pattern;
}

std::string plain_picture(std::int64_t side, bool gray) {
  std::mt19937 random(6);
  const std::string size = std::to_string(side);
  std::string text = (gray ? "P2\n" : "P1\n") + size + " " + size + (gray ? "\n255\n" : "\n");
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      text += gray ? std::to_string(random() % 256) : std::string(1, random() % 2 == 0 ? '0' : '1');
      if (gray) text += x % 16 == 15 || x + 1 == side ? '\n' : ' ';
      else if (x % 70 == 69 || x + 1 == side) text += '\n';
    }
  return text;
}

std::string graph_text(const files::GraphFormat& format, bool decimals) {
  constexpr std::int64_t vertices = 1'000'000;
  constexpr std::int64_t bytes_of_an_edge = 17;
  const std::int64_t edges = bytes_of_a_file / bytes_of_an_edge;
  std::mt19937 random(7);
  std::string text = format.head(vertices, edges);
  if (decimals && text.find("integer") != std::string::npos) text.replace(text.find("integer"), 7, "real");
  for (std::int64_t edge = 0; edge < edges; ++edge) {
    text += format.edge_begins;
    text += std::to_string(random() % vertices + 1) + format.separator;
    text += std::to_string(random() % vertices + 1) + format.separator;
    append_number(text, decimals ? static_cast<double>(random() % 100'000) / 1000 : random() % 1000);
    text += '\n';
  }
  return text;
}

gradus::Matrix<float> random_points() {
  constexpr std::int64_t columns = 8;
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  gradus::Matrix<float> points(bytes_of_a_file / columns / 11, columns);
  for (std::int64_t row = 0; row < points.rows(); ++row)
    for (std::int64_t column = 0; column < columns; ++column) points(row, column) = normal(random);
  return points;
}

void print(const Row& row, double copy) {
  const double megabytes = static_cast<double>(row.bytes) / 1e6;
  std::printf("%-28s %6.1f", row.name.c_str(), megabytes);
  for (const Times* const times : {&row.reading, &row.writing}) {
    const double wall = median(times->wall);
    if (wall == 0) {
      std::printf(" %31s", "-");
      continue;
    }
    std::printf(" %8.1f %8.1f %7.0f %4.0f %%", 1000 * wall, 1000 * median(times->busy), megabytes / wall,
                100 * megabytes / wall / copy);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : "file-rates";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  std::filesystem::create_directories(folder);

  std::vector<Row> rows;
  // The ceilings: a copy in memory into new pages, and a plain read and write of a file.
  const std::string source(bytes_of_a_file, 'x');
  rows.push_back({"memory copy",
                  "",
                  [&](const std::string&) {
                    const auto copy = std::make_unique_for_overwrite<char[]>(source.size());
                    std::memcpy(copy.get(), source.data(), source.size());
                    if (copy[source.size() / 2] != 'x') std::abort();
                  },
                  {}});
  rows.push_back({"disk: read(), write()+fsync()", (folder / "plain.bin").string(),
                  [&](const std::string& path) {
                    const auto copy = std::make_unique_for_overwrite<char[]>(source.size());
                    const int file = ::open(path.c_str(), O_RDONLY);
                    if (::read(file, copy.get(), source.size()) != std::ssize(source)) std::abort();
                    ::close(file);
                  },
                  [&](const std::string& path) {
                    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
                    if (::write(file, source.data(), source.size()) != std::ssize(source)) std::abort();
                    ::fsync(file);
                    ::close(file);
                  }});

  const auto read_pattern = [](const std::string& path) {
    const gradus::LifePattern pattern = files::read_life(path);
    if (!pattern.tree && pattern.cells.height() < 2) std::abort();
  };
  const gradus::LifePattern bits = random_pattern(16384, 2);
  const gradus::LifePattern letters = random_pattern(5792, 2);
  const gradus::LifePattern rare = random_pattern(16384, 40);
  const gradus::LifePattern cells = random_pattern(3400, 4);
  const auto pattern_row = [&](const std::string& name, const std::string& ending, const gradus::LifePattern& pattern) {
    const auto write = [&pattern](const std::string& path) {
      AtomicFile file(path);
      files::write_life(file, pattern, *files::life_output(path));
      file.commit();
    };
    rows.push_back({name, (folder / ("pattern" + std::to_string(rows.size()) + ending)).string(), read_pattern, write});
    write(rows.back().path);
  };
  const auto text_row = [&](const std::string& name, const std::string& file, const std::string& text, auto read) {
    rows.push_back({name, (folder / file).string(), read, {}});
    write_whole(rows.back().path, text);
  };
  text_row("PBM, plain (P1)", "plain.pbm", plain_picture(5792, false), read_pattern);
  pattern_row("PBM (P4)", ".pbm", bits);
  text_row("PGM, plain (P2)", "plain.pgm", plain_picture(3000, true), read_pattern);
  pattern_row("PGM (P5)", ".pgm", letters);
  pattern_row("RLE, half alive", ".rle", letters);
  pattern_row("RLE, 1 in 40 alive", ".rle", rare);
  pattern_row("Macrocell", ".mc", letters);
  pattern_row("plaintext", ".cells", letters);
  pattern_row("Life 1.06", ".lif", cells);

  for (const files::GraphFormat* const format : files::graph_formats())
    for (const bool decimals : {false, true}) {
      if (format->head == nullptr) continue;
      const std::string ending(format->file.endings.substr(0, format->file.endings.find(' ')));
      text_row(std::string(format->file.name) + (decimals ? ", decimals" : ", integers"),
               (decimals ? "decimals" : "integers") + ending, graph_text(*format, decimals),
               [threads](const std::string& path) {
                 files::GraphReadOptions options;
                 options.threads = threads;
                 if (files::read_graph(path, options).from.view.size() < 2) std::abort();
               });
    }

  const gradus::Matrix<float> points = random_points();
  gradus::Execution execution;
  execution.threads = threads;
  const auto write_points = [&](const std::string& path) {
    AtomicFile file(path);
    gradus::cli::write_table(file, gradus::cli::TableFormat::csv, points.view(), execution);
    file.commit();
  };
  rows.push_back({"CSV, 8 columns", (folder / "points.csv").string(),
                  [threads](const std::string& path) {
                    files::ReadOptions options;
                    options.threads = threads;
                    if (files::read_points(path, options).rows() < 2) std::abort();
                  },
                  write_points});
  write_points(rows.back().path);

  for (int round = 0; round < rounds; ++round)
    for (Row& row : rows) {
      if (row.write) row.writing.measure([&] { row.write(row.path); });
      row.reading.measure([&] { row.read(row.path); });
      row.bytes = row.path.empty() ? bytes_of_a_file : static_cast<std::int64_t>(std::filesystem::file_size(row.path));
    }
  const double copy = static_cast<double>(bytes_of_a_file) / 1e6 / median(rows.front().reading.wall);
  std::printf("%d threads, median of %d rounds; share: of the memory copy's rate\n", threads, rounds);
  std::printf("%-28s %6s %31s %31s\n", "", "", "read", "write and flush");
  std::printf("%-28s %6s %8s %8s %7s %6s %8s %8s %7s %6s\n", "format", "MB", "ms", "CPU ms", "MB/s", "share", "ms",
              "CPU ms", "MB/s", "share");
  for (const Row& row : rows) {
    print(row, copy);
    if (!row.path.empty()) std::filesystem::remove(row.path);
  }
  std::filesystem::remove(folder);
}
