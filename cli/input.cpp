#include "cli/input.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/stop.hpp"
#include "io/file.hpp"
#include "io/npy.hpp"

namespace gradus::cli {

namespace {

bool is_binary(const std::string& path) { return path != "-" && io::looks_like_npy(io::MappedFile(path).bytes()); }

[[noreturn]] void refuse_rounding(const std::string& path, std::int64_t row, std::int64_t column, double value) {
  throw InputError(
      fmt::format("'{}': row {}, column {} (counted from 0): {} is not exactly a number of the points' "
                  "type f32; compute in f64 (--dtype f64), or store the file as f32",
                  path, row, column, value));
}

}  // namespace

void add_header_option(Options& options, const Session& session, io::ReadOptions& reading) {
  options.choice("--header", reading.header, bench::header_choices, std::string(bench::header_help));
  // A file that is read once for each type is in doubt once.
  reading.note = [&session, said = std::make_shared<std::string>()](const std::string& note) {
    if (std::exchange(*said, note) != note) session.note(note);
  };
}

void add_reading_options(Options& options, const Session& session, io::ReadOptions& reading) {
  const std::vector<std::string> choices{"f32", "f64"};
  options.value("--dtype", "f32|f64", "compute in this type [the least that holds the file's values]",
                [&reading, choices](const std::string& text) {
                  reading.type =
                      parse_choice("--dtype", text, choices) == 0 ? io::ElementType::f32 : io::ElementType::f64;
                },
                {.choices = choices});
  add_header_option(options, session, reading);
  reading.stop = session.execution.stop;
}

void require_one_standard_input(const std::vector<std::string>& paths) {
  if (std::ranges::count(paths, "-") > 1)
    throw UsageError("'-' stands for standard input, which can be read once only; name a file for the other input");
}

template <class T>
io::PointsOf<T> read_matrix_as(const std::string& path, io::ReadOptions reading) {
  reading.type.reset();
  io::Points points = io::read_points(path, reading);
  if constexpr (sizeof(T) == 4)
    if (points.type() == io::ElementType::f64 && is_binary(path)) {
      const MatrixView<const double> view = points.view<double>();
      const std::int64_t stretch = core::stretch_length(view.rows(), view.columns());
      for (std::int64_t row = 0; row < view.rows(); ++row) {
        if (row % stretch == 0) core::honour_stop(reading.stop, fmt::format("stopped while reading '{}'", path));
        for (std::int64_t column = 0; column < view.columns(); ++column)
          if (const double value = view(row, column); static_cast<double>(static_cast<float>(value)) < value ||
                                                      static_cast<double>(static_cast<float>(value)) > value)
            refuse_rounding(path, row, column, value);
      }
    }
  points =
      io::convert(std::move(points), sizeof(T) == 4 ? io::ElementType::f32 : io::ElementType::f64, path, reading.stop);
  return std::get<io::PointsOf<T>>(std::move(points.values));
}

template <class T>
io::VectorOf<T> read_vector_as(const std::string& path, const io::ReadOptions& reading) {
  const io::PointsOf<T> matrix = read_matrix_as<T>(path, reading);
  const std::int64_t rows = matrix.view.rows();
  const std::int64_t columns = matrix.view.columns();
  if (rows != 1 && columns != 1)
    throw InputError(fmt::format("'{}': {} rows of {} columns; one value per row is expected", path, rows, columns));
  return {{matrix.view.data(), rows * columns}, matrix.owner};
}

template io::PointsOf<float> read_matrix_as(const std::string&, io::ReadOptions);
template io::PointsOf<double> read_matrix_as(const std::string&, io::ReadOptions);
template io::VectorOf<float> read_vector_as(const std::string&, const io::ReadOptions&);
template io::VectorOf<double> read_vector_as(const std::string&, const io::ReadOptions&);

}  // namespace gradus::cli
