#include "cli/kmeans_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "core/exact_accumulator.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;
using core::ExactAccumulator;

constexpr std::string_view standardizing_stopped = "stopped while standardizing the columns";

/// Exact sums, over all rows, of what each(row, its sums) adds for a row: `per_column` of them for each column.
template <class Each>
std::vector<ExactAccumulator> exact_sums(std::int64_t rows, std::int64_t columns, std::int64_t per_column, int threads,
                                         const std::stop_token& stop, const Each& each) {
  const auto count = static_cast<std::size_t>(columns * per_column);
  std::vector<ExactAccumulator> sums(count);
  const std::int64_t stretch = core::stretch_length(rows, 16 * columns, threads);
#pragma omp parallel num_threads(threads) if (threads > 1 && rows > stretch)
  {
    std::vector<ExactAccumulator> own(count);
#pragma omp for schedule(dynamic)
    for (std::int64_t first = 0; first < rows; first += stretch) {
      if (stop.stop_requested()) continue;
      for (std::int64_t row = first; row < std::min(first + stretch, rows); ++row) each(row, own.data());
    }
    // Exact, so that the order in which threads come is of no matter.
#pragma omp critical(gradus_standardization)
    for (std::size_t index = 0; index < count; ++index) sums[index].merge(own[index]);
  }
  core::honour_stop(stop, standardizing_stopped);
  return sums;
}

template <class T>
void require_finite(MatrixView<const T> points, const std::stop_token& stop) {
  core::RareLook look(stop, standardizing_stopped);
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    look.honour_stop();
    for (std::int64_t column = 0; column < points.columns(); ++column)
      if (const double value = static_cast<double>(points(row, column)); !std::isfinite(value))
        throw InputError(fmt::format("points: row {}, column {} (counted from 0) is {}, not a finite number", row,
                                     column, std::isnan(value) ? "NaN" : "infinite"));
  }
}

}  // namespace

template <class T>
Standardization standardization_of(MatrixView<const T> points, int threads, const std::stop_token& stop) {
  const std::int64_t rows = points.rows();
  const std::int64_t columns = points.columns();
  require_finite(points, stop);
  ExactAccumulator count;
  count.add(static_cast<double>(rows));
  Standardization by;
  const std::vector<ExactAccumulator> sums =
      exact_sums(rows, columns, 1, threads, stop, [&](std::int64_t row, ExactAccumulator* own) {
        for (std::int64_t column = 0; column < columns; ++column)
          own[column].add(static_cast<double>(points(row, column)));
      });
  for (const ExactAccumulator& sum : sums) by.mean.push_back(sum.quotient<double>(count));
  // About the rounded mean: what its rounding adds is taken away again.
  const std::vector<ExactAccumulator> moments =
      exact_sums(rows, columns, 2, threads, stop, [&](std::int64_t row, ExactAccumulator* own) {
        for (std::int64_t column = 0; column < columns; ++column) {
          const double from_mean = static_cast<double>(points(row, column)) - by.mean[static_cast<std::size_t>(column)];
          own[2 * column].add(from_mean);
          own[2 * column + 1].add_product(from_mean, from_mean);
        }
      });
  for (std::size_t column = 0; column < by.mean.size(); ++column) {
    const double shift = moments[2 * column].quotient<double>(count);
    const double variance = std::max(moments[2 * column + 1].quotient<double>(count) - shift * shift, 0.0);
    if (!std::isfinite(variance) || !std::isfinite(by.mean[column]))
      throw InputError(
          fmt::format("points: the values of column {} (counted from 0) are too large to be standardized; "
                      "scale them down",
                      column));
    by.scale.push_back(variance > 0 ? std::sqrt(variance) : 1);
  }
  return by;
}

template <class T>
Matrix<T> standardized(MatrixView<const T> points, const Standardization& by, int threads,
                       const std::stop_token& stop) {
  Matrix<T> result(points.rows(), points.columns());
  const std::int64_t stretch = core::stretch_length(points.rows(), 4 * points.columns(), threads);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && points.rows() > stretch)
  for (std::int64_t first = 0; first < points.rows(); first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + stretch, points.rows()); ++row)
      for (std::int64_t column = 0; column < points.columns(); ++column) {
        const auto index = static_cast<std::size_t>(column);
        result(row, column) =
            static_cast<T>((static_cast<double>(points(row, column)) - by.mean[index]) / by.scale[index]);
      }
  }
  core::honour_stop(stop, standardizing_stopped);
  return result;
}

template <class T>
Matrix<T> restored(MatrixView<const T> centroids, const Standardization& by) {
  Matrix<T> result(centroids.rows(), centroids.columns());
  for (std::int64_t row = 0; row < centroids.rows(); ++row)
    for (std::int64_t column = 0; column < centroids.columns(); ++column) {
      const auto index = static_cast<std::size_t>(column);
      result(row, column) =
          static_cast<T>(static_cast<double>(centroids(row, column)) * by.scale[index] + by.mean[index]);
    }
  return result;
}

template <class T>
StandardizedPoints<T>::StandardizedPoints(MatrixView<const T> points, const Execution& execution,
                                          io::PointsOf<T>& initial)
    : execution_(execution), bytes_(static_cast<std::uint64_t>(points.rows() * points.columns()) * sizeof(T)) {
  const auto start = core::Clock::now();
  if (execution_.memory_limit != 0) {
    if (bytes_ >= execution_.memory_limit)
      throw Error(fmt::format("a standardized copy of the points needs {} of memory, but --memory-limit allows only {}",
                              core::size_text(bytes_), core::size_text(execution_.memory_limit)));
    execution_.memory_limit -= bytes_;
  }
  const int threads = cpu::thread_count(execution_);
  by_ = standardization_of(points, threads, execution_.stop);
  points_ = standardized(points, by_, threads, execution_.stop);
  // Others are refused by the fit.
  if (initial.view.rows() > 0 && initial.view.columns() == points.columns())
    initial = io::own(standardized(initial.view, by_, 1, execution_.stop));
  seconds_ = core::seconds_since(start);
}

template <class T>
KMeansResult<T> StandardizedPoints<T>::fit(const KMeansOptions& options, const KMeansMemory<T>& memory) const {
  KMeansResult<T> result = kmeans(points_.view(), options, memory, execution_);
  result.report.phases.insert(result.report.phases.begin(), {"standardize", seconds_});
  return result;
}

template <class T>
void StandardizedPoints<T>::restore(KMeansResult<T>& result) const {
  result.centroids = restored(std::as_const(result.centroids).view(), by_);
}

void add_table_facts(nlohmann::ordered_json& summary, const io::Points& points, const Standardization* by) {
  if (!points.column_names.empty()) summary["columns"] = points.column_names;
  if (points.row_names && !points.row_names->numbers) summary["id_column"] = points.row_names->heading;
  if (!points.dropped.empty()) summary["dropped_rows"] = points.dropped.size();
  if (by) summary["standardize"] = {{"mean", by->mean}, {"scale", by->scale}};
}

template <class T>
void TextResult::write(const KMeansResult<T>& result) {
  centroids_.write(centroids_text(result.centroids.view(), points_.column_names));
  put_labels(result.labels.view(), points_.row_names.get(), labels_.stop(),
             [&](std::string_view text) { labels_.write(text); });
  centroids_.finish();
  labels_.finish();
}

std::string csv_field(std::string_view text) {
  const bool odd = text.find_first_of(",;\t\"\r\n") != std::string_view::npos || text.starts_with('#') ||
                   (!text.empty() && (text.front() == ' ' || text.back() == ' '));
  if (!odd) return std::string(text);
  std::string quoted = "\"";
  for (const char character : text) quoted += character == '"' ? std::string("\"\"") : std::string(1, character);
  return quoted + '"';
}

std::string heading_of(const io::RowNames* names) {
  return names && !names->heading.empty() ? csv_field(names->heading) : "row";
}

std::string row_name(const io::RowNames* names, std::int64_t row) {
  return names ? csv_field((*names)[row]) : std::to_string(row);
}

void put_labels(VectorView<const std::int32_t> labels, const io::RowNames* names, const std::stop_token& stop,
                const std::function<void(std::string_view)>& put) {
  constexpr std::int64_t rows_of_a_piece = 1 << 14;
  std::string text = heading_of(names) + ",label\n";
  for (std::int64_t row = 0; row < labels.size(); ++row) {
    text += row_name(names, row) + ',' + std::to_string(labels[row]) + '\n';
    if (row % rows_of_a_piece != 0) continue;
    core::honour_stop(stop, "stopped while writing the result");
    put(text);
    text.clear();
  }
  put(text);
}

template <class T>
std::string centroids_text(MatrixView<const T> centroids, const std::vector<std::string>& column_names) {
  std::string text;
  for (std::size_t column = 0; column < column_names.size(); ++column)
    text += (column == 0 ? "" : ",") + csv_field(column_names[column]);
  if (!column_names.empty()) text += '\n';
  return text + csv_rows(centroids);
}

// ---- A result on the disk ----

namespace {

/// What the summary in the folder says; null where there is none, or none of k-means.
nlohmann::json summary_in(const std::filesystem::path& folder) {
  constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 28;
  const std::filesystem::path path = folder / summary_name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return nullptr;
  if (const std::uintmax_t size = std::filesystem::file_size(path, error); error || size > most_bytes) return nullptr;
  std::ifstream stream(path);
  nlohmann::json summary = nlohmann::json::parse(stream, nullptr, false);
  if (!summary.is_object() || summary.value("problem", nlohmann::json()) != "kmeans") return nullptr;
  return summary;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t index = 0; index < std::min(names.size(), most); ++index)
    text += (index == 0 ? "" : ", ") + ("'" + core::without_control(names[index]) + "'");
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

FittedFolder open_fit(const std::string& folder, const std::stop_token& stop) {
  const std::filesystem::path path(folder);
  const std::filesystem::path summary_path = path / summary_name;
  require_whole_result("kmeans", path / centroids_name, stop);
  const nlohmann::json summary = summary_in(path);
  if (summary.is_null())
    throw InputError(
        fmt::format("'{}': the folder holds no result of 'gradus kmeans --output' ({} is missing or another's); "
                    "name such a folder, or a file with a centroid per row",
                    folder, summary_name));
  FittedFolder fit;
  try {
    fit.metric = summary.value("metric", std::string()) == "cosine" ? KMeansMetric::cosine : KMeansMetric::euclidean;
    fit.column_names = summary.value("columns", std::vector<std::string>());
    if (const auto by = summary.find("standardize"); by != summary.end()) {
      fit.standardization.emplace();
      by->at("mean").get_to(fit.standardization->mean);
      by->at("scale").get_to(fit.standardization->scale);
      if (fit.standardization->mean.size() != fit.standardization->scale.size() ||
          summary.value("d", std::size_t{0}) != fit.standardization->mean.size() ||
          !std::ranges::all_of(fit.standardization->scale, [](double scale) { return scale > 0; }))
        throw InputError("");
    }
  } catch (const std::exception&) {
    throw InputError(fmt::format("'{}': its columns, metric or standardization are not as 'gradus kmeans' writes them",
                                 summary_path.string()));
  }
  fit.centroids = path / (fit.standardization ? standardized_name : centroids_name);
  require_whole_result("kmeans", fit.centroids, stop);
  return fit;
}

void refuse_standardized_file(const std::string& file) {
  const std::filesystem::path path(file);
  if (path.filename() != centroids_name && path.filename() != "centroids.csv") return;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const nlohmann::json summary = summary_in(folder);
  if (summary.is_object() && summary.contains("standardize"))
    throw InputError(
        fmt::format("'{}': these centroids were found among standardized columns; name the folder, '{}', which "
                    "tells how they were standardized",
                    file, folder.string()));
}

void require_columns_of_fit(const io::Points& points, std::int64_t dimensions, const FittedFolder& fit,
                            const std::string& folder, const std::string& input) {
  const auto columns = [](std::int64_t count, const std::vector<std::string>& names) {
    return counted(count, "column") + (names.empty() ? "" : " (" + list_of(names) + ")");
  };
  const std::string shown = input == "-" ? "standard input" : "'" + input + "'";
  const bool named = !fit.column_names.empty() && !points.column_names.empty();
  if (points.columns() == dimensions && (!named || points.column_names == fit.column_names)) return;
  throw InputError(fmt::format("{} has {}, but the fit in '{}' is one of {}; give the points with the same columns{}",
                               shown, columns(points.columns(), points.column_names), folder,
                               columns(dimensions, fit.column_names),
                               named ? " (without --columns and --drop-columns they are found by their names)" : ""));
}

#define GRADUS_KMEANS_TABLE(T)                                                                               \
  template Standardization standardization_of(MatrixView<const T>, int, const std::stop_token&);             \
  template Matrix<T> standardized(MatrixView<const T>, const Standardization&, int, const std::stop_token&); \
  template Matrix<T> restored(MatrixView<const T>, const Standardization&);                                  \
  template std::string centroids_text(MatrixView<const T>, const std::vector<std::string>&);                 \
  template class StandardizedPoints<T>;                                                                      \
  template void TextResult::write(const KMeansResult<T>&);
GRADUS_KMEANS_TABLE(float)
GRADUS_KMEANS_TABLE(double)
#undef GRADUS_KMEANS_TABLE

}  // namespace gradus::cli
