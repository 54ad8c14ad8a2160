// Measures how fast Gradus reads and writes each format, next to read() and write() of the same bytes.
// Usage: file_rates [--json FILE] [--scale X] [--rounds N] [FOLDER]. Samples have 16 MB, multiplied by X. They are
// written to FOLDER, by default a folder for temporary files, and removed again. A format without a sample is an error.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bench/facts.hpp"
#include "cli/output.hpp"
#include "core/atomic_file.hpp"
#include "core/npz.hpp"
#include "core/shared_library.hpp"
#include "files/image.hpp"
#include "files/npy.hpp"
#include "files/points.hpp"
#include "gradus/life.hpp"
#include "life/files/pattern.hpp"
#include "pair_histogram/files/trajectory.hpp"
#include "shortest_paths/files/graph.hpp"

namespace {

using gradus::Error;
using gradus::core::AtomicFile;
using nlohmann::ordered_json;
namespace files = gradus::files;

/// Reads or writes the file at `path` on `threads` threads.
using Job = std::function<void(const std::string& path, int threads)>;

constexpr std::array thread_counts = {1, 2};

struct Sample {
  files::Reader reader = files::Reader::points;
  std::string format;   ///< name of the format's row
  std::string file;     ///< name of the file, whose ending selects the format
  std::string content;  ///< description for the documents
  Job make;             ///< writes the file before the measurement
  Job write;            ///< empty if Gradus does not write the format
  Job read;
  std::size_t pixels = 0;  ///< for compressed pictures: the number of bytes without compression
};

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
  ordered_json json() const { return {{"seconds", median(wall)}, {"cpu_seconds", median(busy)}}; }

 private:
  static double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
    return values[values.size() / 2];
  }
};

void require(bool holds, const std::string& what) {
  if (!holds) throw Error("file_rates: " + what);
}

// ---- Ceilings ----

void read_plainly(const std::string& path, std::size_t bytes) {
  const auto copy = std::make_unique_for_overwrite<char[]>(bytes);
  const int file = ::open(path.c_str(), O_RDONLY);
  const bool whole = ::read(file, copy.get(), bytes) == static_cast<ssize_t>(bytes);
  ::close(file);
  require(whole, "cannot read " + path);
}

void write_plainly(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const bool whole = ::write(file, text.data(), text.size()) == std::ssize(text) && ::fsync(file) == 0;
  ::close(file);
  require(whole, "cannot write " + path);
}

// ---- Samples ----

template <class T>
std::string bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

void save(const std::string& path, std::string_view text) { gradus::core::write_atomically(path, text); }

gradus::Matrix<float> random_points(std::int64_t rows, std::int64_t columns) {
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  gradus::Matrix<float> points(rows, columns);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) points(row, column) = normal(random);
  return points;
}

/// Returns rows of 64 elements of T, each row after its length if `lengths` is set.
template <class T>
std::string vectors(std::int64_t bytes, bool lengths) {
  constexpr std::int32_t columns = 64;
  std::mt19937 random(9);
  std::string text;
  while (std::ssize(text) < bytes) {
    if (lengths) text += bytes_of(std::span(&columns, 1));
    std::array<T, columns> row;
    for (T& value : row) value = static_cast<T>(random() % 128);
    text += bytes_of<T>(row);
  }
  return text;
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
  std::string text = fmt::format("{}\n{} {}\n{}", gray ? "P2" : "P1", side, side, gray ? "255\n" : "");
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      text += gray ? std::to_string(random() % 256) : std::string(1, random() % 2 == 0 ? '0' : '1');
      if (gray) text += x % 16 == 15 || x + 1 == side ? '\n' : ' ';
      else if (x % 70 == 69 || x + 1 == side) text += '\n';
    }
  return text;
}

std::string graph_text(const files::GraphFormat& format, bool decimals, std::int64_t bytes) {
  constexpr std::int64_t vertices = 1'000'000;
  constexpr std::int64_t bytes_of_an_edge = 17;
  const std::int64_t edges = bytes / bytes_of_an_edge;
  std::mt19937 random(7);
  std::string text = format.head(vertices, edges);
  if (decimals && text.find("integer") != std::string::npos) text.replace(text.find("integer"), 7, "real");
  const auto vertex = [&] { return std::to_string(random() % vertices + 1) + format.separator; };
  for (std::int64_t edge = 0; edge < edges; ++edge) {
    text.append(format.edge_begins).append(vertex()).append(vertex());
    text += decimals ? fmt::format("{}\n", static_cast<double>(random() % 100'000) / 1000)
                     : fmt::format("{}\n", random() % 1000);
  }
  return text;
}

/// Returns frames of 10,000 atoms. `head` and `foot` surround the lines of a frame, and `line` formats an atom.
template <class Line>
std::string trajectory_text(std::int64_t bytes, std::string_view head, std::string_view foot, const Line& line) {
  constexpr int atoms = 10'000;
  std::mt19937 random(4);
  std::uniform_real_distribution<double> place(0, 50);
  std::string text;
  while (std::ssize(text) < bytes) {
    text += head;
    for (int atom = 1; atom <= atoms; ++atom) text += line(atom, place(random), place(random), place(random));
    text += foot;
  }
  return text;
}

std::string dcd_bytes(std::int64_t bytes) {
  constexpr std::size_t atoms = 10'000;
  std::string text;
  const auto record = [&](std::string_view content) {
    const auto length = static_cast<std::int32_t>(content.size());
    const std::string mark = bytes_of(std::span(&length, 1));
    text.append(mark).append(content).append(mark);
  };
  std::array<std::int32_t, 20> header{};
  const std::int32_t count = atoms;
  const std::int32_t titles = 0;
  record("CORD" + bytes_of<std::int32_t>(header));
  record(bytes_of(std::span(&titles, 1)));
  record(bytes_of(std::span(&count, 1)));
  std::mt19937 random(3);
  std::uniform_real_distribution<float> place(0, 50);
  std::array<float, atoms> axis;
  while (std::ssize(text) < bytes)
    for (int number = 0; number < 3; ++number) {
      std::ranges::generate(axis, [&] { return place(random); });
      record(bytes_of<float>(axis));
    }
  return text;
}

/// Appends an integer or a float as XDR, that is, big-endian.
void append_xdr(std::string& text, auto number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(bits >> static_cast<unsigned>(shift));
}

/// Returns frames of 10,000 atoms without a box. Each atom is written in full, as atoms are that are far apart.
std::string xtc_bytes(std::int64_t bytes) {
  constexpr std::int32_t atoms = 10'000;
  constexpr std::uint64_t size = 50'000;  // coordinates are less than this
  constexpr int bits_of_atom = 47;        // of size^3
  std::string text;
  std::mt19937_64 random(5);
  while (std::ssize(text) < bytes) {
    for (const std::int32_t number : {1995, atoms, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, atoms}) append_xdr(text, number);
    append_xdr(text, 1000.0F);
    for (int axis = 0; axis < 3; ++axis) append_xdr(text, std::int32_t{0});
    for (int axis = 0; axis < 3; ++axis) append_xdr(text, static_cast<std::int32_t>(size - 1));
    append_xdr(text, std::int32_t{30});
    std::string packed;
    int used = 8;  // bits of the last byte
    const auto append_bits = [&](std::uint64_t value, int count) {
      while (count-- > 0) {
        if (used == 8) packed += '\0', used = 0;
        const auto bit = static_cast<unsigned>(value >> static_cast<unsigned>(count)) & 1U;
        packed.back() = static_cast<char>(static_cast<unsigned char>(packed.back()) | bit << (7U - used++));
      }
    };
    for (int atom = 0; atom < atoms; ++atom) {
      std::uint64_t number = random() % (size * size * size);
      for (int left = bits_of_atom; left > 0; left -= 8, number >>= 8U) append_bits(number & 0xffU, std::min(left, 8));
      append_bits(0, 1);  // no short atoms follow
    }
    append_xdr(text, static_cast<std::int32_t>(packed.size()));
    text += packed.append((4 - packed.size() % 4) % 4, '\0');
  }
  return text;
}

std::string trr_bytes(std::int64_t bytes) {
  constexpr std::int32_t atoms = 10'000;
  std::string text;
  std::mt19937 random(6);
  std::uniform_real_distribution<float> place(0, 50);
  while (std::ssize(text) < bytes) {
    for (const std::int32_t number : {1993, 13, 12}) append_xdr(text, number);
    text += "GMX_trn_file";
    for (const std::int32_t number : {0, 0, 0, 0, 0, 0, 0, 12 * atoms, 0, 0, atoms, 0, 0, 0, 0})
      append_xdr(text, number);
    for (int number = 0; number < 3 * atoms; ++number) append_xdr(text, place(random));
  }
  return text;
}

/// The library with which Gradus reads HDF5. It may be missing.
const gradus::core::SharedLibrary& hdf5() {
  static const gradus::core::SharedLibrary library{"libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5.so.310",
                                                   "libhdf5.so.103", "libhdf5.so"};
  return library;
}

/// Writes a dataset of float32 with 64 columns, in chunks of 1024 rows if `chunked` is set.
void write_hdf5(const std::string& path, const std::string& numbers, bool chunked) {
  using Handle = std::int64_t;
  const auto call = [](const char* name, auto... arguments) {
    const Handle result = hdf5().find<Handle (*)(decltype(arguments)...)>(name)(arguments...);
    require(static_cast<int>(result) >= 0, std::string(name) + " fails");
    return result;
  };
  const auto constant = [](const char* name) { return *static_cast<const Handle*>(hdf5().find(name)); };
  constexpr Handle defaults = 0;
  constexpr unsigned truncate = 2;
  const std::array<unsigned long long, 2> shape = {numbers.size() / 256, 64};
  const std::array<unsigned long long, 2> chunk = {std::min(shape[0], 1024ULL), 64};
  call("H5open");
  const Handle type = constant("H5T_IEEE_F32LE_g");
  const Handle file = call("H5Fcreate", path.c_str(), truncate, defaults, defaults);
  const Handle space = call("H5Screate_simple", 2, shape.data(), static_cast<const unsigned long long*>(nullptr));
  const Handle properties = call("H5Pcreate", constant("H5P_CLS_DATASET_CREATE_ID_g"));
  if (chunked) call("H5Pset_chunk", properties, 2, chunk.data());
  const Handle dataset = call("H5Dcreate2", file, "points", type, space, defaults, properties, defaults);
  call("H5Dwrite", dataset, type, defaults, defaults, defaults, static_cast<const void*>(numbers.data()));
  for (const Handle handle : {dataset, properties, space, file}) call("H5Idec_ref", handle);
}

/// The samples of all formats, about `bytes` bytes each.
class Samples {
 public:
  explicit Samples(std::int64_t bytes) : bytes_(bytes) {
    add_points();
    add_graphs();
    add_trajectories();
    add_patterns();
    for (const files::Reader reader : files::all_readers)
      for (const files::Format* const format : files::formats_for(reader)->rows())
        require(
            std::ranges::any_of(
                all_, [&](const Sample& sample) { return sample.reader == reader && sample.format == format->name; }),
            "no sample of the format " + std::string(format->name) + "; add one to " __FILE__);
  }
  const std::vector<Sample>& all() const { return all_; }

 private:
  /// Adds a sample. Its format is the first one with this ending.
  Sample& add(files::Reader reader, const std::string& file, const std::string& content, const Job& read) {
    const std::vector<const files::Format*> rows = files::formats_for(reader)->rows();
    const auto format = std::ranges::find_if(rows, [&](const files::Format* row) { return row->names(file); });
    const std::string name(format == rows.end() ? "NumPy" : (*format)->name);
    all_.push_back({reader, name, file, content, {}, {}, read});
    return all_.back();
  }

  void add_points() {
    const Job read = [](const std::string& path, int threads) {
      files::ReadOptions options;
      options.threads = threads;
      const files::Points points = files::read_points(path, options);
      // A mapped file is in memory once each of its pages was touched.
      double sum = 0;
      points.visit([&](const auto& view) {
        const std::int64_t step = std::max<std::int64_t>(1, 4096 / (view.columns() * 4));
        for (std::int64_t row = 0; row < view.rows(); row += step) sum += static_cast<double>(*view.row(row));
      });
      require(points.rows() > 1 && sum == sum, "an incorrect sample " + path);
    };
    const auto add_bytes = [&](const std::string& file, const std::string& content, auto make) {
      add(files::Reader::points, file, content, read).make = [make](const std::string& path, int) {
        save(path, make());
      };
    };
    const auto add_written = [&](const std::string& file, const std::string& content, std::int64_t columns,
                                 std::int64_t bytes_of_a_number, auto write) {
      const auto points = std::make_shared<const gradus::Matrix<float>>(
          random_points(std::max<std::int64_t>(2, bytes_ / (columns * bytes_of_a_number)), columns));
      Sample& sample = add(files::Reader::points, file, content, read);
      sample.make = sample.write = [points, write](const std::string& path, int threads) {
        AtomicFile file(path);
        write(file, *points, threads);
        file.commit();
      };
    };
    using Points = gradus::Matrix<float>;
    add_written("points.npy", "float32, 64 columns", 64, 4,
                [](AtomicFile& file, const Points& points, int) { files::write_npy(file, points.view()); });
    add_written("points.npz", "float32, 64 columns", 64, 4, [](AtomicFile& file, const Points& points, int) {
      gradus::core::NpzContent content;
      content.add("points", std::array{points.rows(), points.columns()}, points.data());
      content.write(file);
    });
    add_bytes("points.safetensors", "float32, 64 columns", [bytes = bytes_] {
      const std::string numbers = vectors<float>(bytes, false);
      const std::string header = fmt::format(R"({{"points":{{"dtype":"F32","shape":[{},64],"data_offsets":[0,{}]}}}})",
                                             numbers.size() / 256, numbers.size());
      const std::uint64_t length = header.size();
      return bytes_of(std::span(&length, 1)) + header + numbers;
    });
    for (const bool chunked : {false, true})
      if (hdf5())
        add(files::Reader::points, chunked ? "chunked.h5" : "points.h5",
            chunked ? "float32, 64 columns, chunked" : "float32, 64 columns", read)
            .make = [chunked, bytes = bytes_](const std::string& path, int) {
          write_hdf5(path, vectors<float>(bytes, false), chunked);
        };
    add_bytes("points.fvecs", "float32, 64 columns", [bytes = bytes_] { return vectors<float>(bytes, true); });
    add_bytes("points.bvecs", "uint8, 64 columns", [bytes = bytes_] { return vectors<std::uint8_t>(bytes, true); });
    add_bytes("points.ivecs", "int32, 64 columns", [bytes = bytes_] { return vectors<std::int32_t>(bytes, true); });
    const auto with_shape = [](const std::string& numbers, std::size_t bytes_of_a_row) {
      const std::array shape = {static_cast<std::uint32_t>(numbers.size() / bytes_of_a_row), 64U};
      return bytes_of<std::uint32_t>(shape) + numbers;
    };
    add_bytes("points.fbin", "float32, 64 columns",
              [=, bytes = bytes_] { return with_shape(vectors<float>(bytes, false), 256); });
    add_bytes("points.u8bin", "uint8, 64 columns",
              [=, bytes = bytes_] { return with_shape(vectors<std::uint8_t>(bytes, false), 64); });
    add_bytes("points.i8bin", "int8, 64 columns",
              [=, bytes = bytes_] { return with_shape(vectors<std::int8_t>(bytes, false), 64); });
    add_written("points.csv", "float32, 8 columns", 8, 11, [](AtomicFile& file, const Points& points, int threads) {
      gradus::Execution execution;
      execution.threads = threads;
      gradus::cli::write_table(file, gradus::cli::TableFormat::csv, points.view(), execution);
    });
    const auto side = static_cast<std::int64_t>(std::max(2.0, std::sqrt(static_cast<double>(bytes_) / 8)));
    const auto pixels = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(side * side));
    std::mt19937 random(2);
    for (std::int64_t at = 0; at < side * side; ++at)
      (*pixels)[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(at / side / 4 + random() % 4);
    Sample& picture = add(files::Reader::points, "points.png", "gray, four bits of noise", read);
    picture.pixels = pixels->size();
    picture.make = picture.write = [side, pixels](const std::string& path, int) {
      AtomicFile file(path);
      files::write_png(file, {side, side, 1}, *pixels);
      file.commit();
    };
  }

  void add_graphs() {
    const Job read = [](const std::string& path, int threads) {
      files::GraphReadOptions options;
      options.threads = threads;
      require(files::read_graph(path, options).from.view.size() > 1, "an incorrect sample " + path);
    };
    for (const files::GraphFormat* const format : files::graph_formats())
      for (const bool decimals : {false, true}) {
        if (format->head == nullptr) continue;
        const std::string ending(format->file.endings.substr(0, format->file.endings.find(' ')));
        add(files::Reader::graph, (decimals ? "decimals" : "integers") + ending,
            decimals ? "weights with decimals" : "integer weights", read)
            .make = [=, bytes = bytes_](const std::string& path, int) {
          save(path, graph_text(*format, decimals, bytes));
        };
      }
    const auto vertices = static_cast<std::int64_t>(std::max(2.0, std::sqrt(static_cast<double>(bytes_) / 4)));
    const auto weights = std::make_shared<const gradus::Matrix<std::int32_t>>(vertices, vertices);
    Sample& matrix =
        add(files::Reader::graph, "matrix.npy", "int32 matrix of weights", [](const std::string& path, int) {
          const files::NpyNumbers numbers = files::read_npy_numbers(path);
          const auto view = std::get<files::PointsOf<std::int32_t>>(numbers.values).view;
          std::int64_t sum = 0;
          for (std::int64_t row = 0; row < view.rows(); ++row)
            for (std::int64_t column = 0; column < view.columns(); column += 1024) sum += view(row, column);
          require(sum == 0, "an incorrect sample " + path);
        });
    matrix.make = matrix.write = [weights](const std::string& path, int) {
      AtomicFile file(path);
      files::write_npy(file, weights->view());
      file.commit();
    };
  }

  void add_trajectories() {
    const Job read = [](const std::string& path, int threads) {
      files::ReadOptions options;
      options.threads = threads;
      files::FrameReader reader(path, options);
      std::int64_t frames = 0;
      while (reader.next()) ++frames;
      require(frames > 0, "an incorrect sample " + path);
    };
    const auto add_text = [&](const std::string& file, auto make) {
      add(files::Reader::frames, file, "frames of 10,000 atoms", read).make =
          [make, bytes = bytes_](const std::string& path, int) { save(path, make(bytes)); };
    };
    add_text("frames.xyz", [](std::int64_t bytes) {
      return trajectory_text(
          bytes, "10000\nLattice=\"50 0 0 0 50 0 0 0 50\"\n", "",
          [](int, double x, double y, double z) { return fmt::format("O {:.6f} {:.6f} {:.6f}\n", x, y, z); });
    });
    add_text("frames.lammpstrj", [](std::int64_t bytes) {
      return trajectory_text(bytes,
                             "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n10000\nITEM: BOX BOUNDS pp pp pp\n0 50\n0 50\n"
                             "0 50\nITEM: ATOMS id type x y z\n",
                             "", [](int atom, double x, double y, double z) {
                               return fmt::format("{} 1 {:.6f} {:.6f} {:.6f}\n", atom, x, y, z);
                             });
    });
    add_text("frames.gro", [](std::int64_t bytes) {
      return trajectory_text(
          bytes, "water\n10000\n", "  50.00000  50.00000  50.00000\n", [](int atom, double x, double y, double z) {
            return fmt::format("{:>5}SOL     OW{:>5}{:>8.3f}{:>8.3f}{:>8.3f}\n", atom, atom, x, y, z);
          });
    });
    add_text("frames.dcd", dcd_bytes);
    add_text("frames.xtc", xtc_bytes);
    add_text("frames.trr", trr_bytes);
    add_text("frames.pdb", [](std::int64_t bytes) {
      return trajectory_text(bytes, "MODEL        1\n", "ENDMDL\n", [](int atom, double x, double y, double z) {
        return fmt::format("ATOM  {:>5}  OW  SOL A   1    {:>8.3f}{:>8.3f}{:>8.3f}  1.00  0.00           O\n",
                           atom % 100'000, x, y, z);
      });
    });
  }

  void add_patterns() {
    const Job read = [](const std::string& path, int) {
      const gradus::LifePattern pattern = files::read_life(path);
      require(pattern.tree || pattern.cells.height() > 1, "an incorrect sample " + path);
    };
    const auto side_for = [&](double bytes_of_a_cell) {
      return static_cast<std::int64_t>(std::max(8.0, std::sqrt(static_cast<double>(bytes_) / bytes_of_a_cell)));
    };
    const auto add_written = [&](const std::string& file, const std::string& content, double bytes_of_a_cell,
                                 unsigned rarity) -> Sample& {
      const auto pattern =
          std::make_shared<const gradus::LifePattern>(random_pattern(side_for(bytes_of_a_cell), rarity));
      Sample& sample = add(files::Reader::pattern, file, content, read);
      sample.make = sample.write = [pattern](const std::string& path, int) {
        AtomicFile file(path);
        files::write_life(file, *pattern, *files::life_output(path));
        file.commit();
      };
      return sample;
    };
    const auto add_text = [&](const std::string& file, const std::string& content, auto make) -> Sample& {
      Sample& sample = add(files::Reader::pattern, file, content, read);
      sample.make = [make](const std::string& path, int) { save(path, make()); };
      return sample;
    };
    add_written("half.rle", "half of the cells alive", 0.76, 2);
    add_written("rare.rle", "1 in 40 cells alive", 0.096, 40);
    add_written("half.mc", "half of the cells alive", 1.2, 2);
    add_written("quarter.lif", "a quarter of the cells alive", 2.4, 4);
    add_text("blocks.life", "half of the cells alive", [side = side_for(1)] {
      std::mt19937 random(1);
      std::string text = "#Life 1.05\n#P 0 0\n";
      for (std::int64_t y = 0; y < side; ++y) {
        for (std::int64_t x = 0; x < side; ++x) text += random() % 2 == 0 ? '.' : '*';
        text += '\n';
      }
      return text;
    }).format = "Life 1.05";
    add_written("half.cells", "half of the cells alive", 1, 2);
    add_written("half.pbm", "P4", 0.125, 2);
    add_text("plain.pbm", "P1", [side = side_for(1.02)] { return plain_picture(side, false); });
    add_written("half.pgm", "P5", 1, 2);
    add_text("plain.pgm", "P2", [side = side_for(3.57)] { return plain_picture(side, true); });
    const auto side = static_cast<std::size_t>(side_for(8));
    add_written("half.png", "half of the cells alive", 8, 2).pixels = side * side;
  }

  std::int64_t bytes_;
  std::vector<Sample> all_;
};

// ---- Measurement ----

ordered_json measured(const Sample& sample, const std::filesystem::path& folder, int rounds) {
  const std::string path = (folder / sample.file).string();
  const std::string plain = (folder / "plain").string();
  sample.make(path, thread_counts.back());
  const std::size_t bytes = sample.pixels > 0 ? sample.pixels : std::filesystem::file_size(path);
  const std::string content(bytes, 'x');
  write_plainly(plain, content);
  Times plain_reading;
  Times plain_writing;
  std::array<Times, thread_counts.size()> reading;
  std::array<Times, thread_counts.size()> writing;
  for (int round = 0; round < rounds; ++round) {
    plain_reading.measure([&] { read_plainly(plain, bytes); });
    for (std::size_t index = 0; index < thread_counts.size(); ++index)
      reading[index].measure([&] { sample.read(path, thread_counts[index]); });
    if (!sample.write) continue;
    plain_writing.measure([&] { write_plainly(plain, content); });
    for (std::size_t index = 0; index < thread_counts.size(); ++index)
      writing[index].measure([&] { sample.write(path, thread_counts[index]); });
  }
  std::filesystem::remove(path);
  std::filesystem::remove(plain);
  const auto by_threads = [](const auto& times) {
    ordered_json rows = ordered_json::array();
    for (std::size_t index = 0; index < thread_counts.size(); ++index) {
      rows.push_back({{"threads", thread_counts[index]}});
      rows.back().update(times[index].json());
    }
    return rows;
  };
  ordered_json row = {{"kind", files::formats_for(sample.reader)->kind},
                      {"format", sample.format},
                      {"ending", std::filesystem::path(path).extension().string()},
                      {"content", sample.content},
                      {"bytes", bytes},
                      {"read", {{"ceiling", plain_reading.json()}, {"times", by_threads(reading)}}}};
  if (sample.write) row["write"] = {{"ceiling", plain_writing.json()}, {"times", by_threads(writing)}};
  return row;
}

void print(const ordered_json& row) {
  std::cout << fmt::format("{:44}", fmt::format("{} {}, {}", row["format"].get<std::string>(),
                                                row["ending"].get<std::string>(), row["content"].get<std::string>()));
  const double megabytes = row["bytes"].get<double>() / 1e6;
  for (const char* const way : {"read", "write"}) {
    if (!row.contains(way)) continue;
    std::cout << fmt::format("  {} of {:.0f}:", way, megabytes / row[way]["ceiling"]["seconds"].get<double>());
    for (const ordered_json& times : row[way]["times"])
      std::cout << fmt::format(" {:.0f} ({:.0f} ms CPU)", megabytes / times["seconds"].get<double>(),
                               1000 * times["cpu_seconds"].get<double>());
  }
  std::cout << '\n';
}

int run(std::span<char*> words) {
  // As in a process that reads one file, all large blocks of memory consist of new pages.
  constexpr int smallest_mapped = 1 << 17;
  ::mallopt(M_MMAP_THRESHOLD, smallest_mapped);
  std::string json;
  double scale = 1;
  int rounds = 3;
  std::filesystem::path folder;
  for (std::size_t index = 0; index < words.size(); ++index) {
    const std::string word = words[index];
    const auto value = [&]() -> std::string {
      require(index + 1 < words.size(), word + " needs a value");
      return words[++index];
    };
    if (word == "--json") json = value();
    else if (word == "--scale") scale = std::stod(value());
    else if (word == "--rounds") rounds = std::max(1, std::stoi(value()));
    else folder = word;
  }
  if (folder.empty()) folder = std::filesystem::temp_directory_path() / fmt::format("gradus-file-rates-{}", ::getpid());
  std::filesystem::create_directories(folder);
  ordered_json result = {{"facts", gradus::bench::facts()}, {"rounds", rounds}, {"rows", ordered_json::array()}};
  const Samples samples(static_cast<std::int64_t>(16e6 * scale));
  for (const Sample& sample : samples.all()) {
    result["rows"].push_back(measured(sample, folder, rounds));
    print(result["rows"].back());
  }
  std::filesystem::remove(folder);
  if (!json.empty()) save(json, result.dump(1) + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
