#include "cli/kmeans_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/output.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

void add_table_facts(nlohmann::ordered_json& summary, const files::Points& points, const KMeansStandardization& by) {
  if (!points.column_names.empty()) summary["columns"] = points.column_names;
  if (points.row_names && !points.row_names->numbers) summary["id_column"] = points.row_names->heading;
  if (!points.dropped.empty()) summary["dropped_rows"] = points.dropped.size();
  if (!by.empty()) summary["standardize"] = {{"mean", by.mean}, {"scale", by.scale}};
}

template <class T>
void TextResult::write(const KMeansResult<T>& result) {
  centroids_.write(centroids_text(result.centroids.view(), points_.column_names));
  put_labels(result.labels.view(), 0, points_.row_names.get(), labels_.stop(),
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

std::string heading_of(const files::RowNames* names) {
  return names && !names->heading.empty() ? csv_field(names->heading) : "row";
}

std::string row_name(const files::RowNames* names, std::int64_t row) {
  return names ? csv_field((*names)[row]) : std::to_string(row);
}

void put_labels(VectorView<const std::int32_t> labels, std::int64_t first_row, const files::RowNames* names,
                const std::stop_token& stop, const std::function<void(std::string_view)>& put) {
  constexpr std::int64_t rows_of_a_piece = 1 << 14;
  std::string text = first_row == 0 ? heading_of(names) + ",label\n" : "";
  for (std::int64_t row = 0; row < labels.size(); ++row) {
    text += row_name(names, first_row + row) + ',' + std::to_string(labels[row]) + '\n';
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

// ---- A result on disk ----

namespace {

/// Returns the k-means summary in the folder, or null if the folder has none.
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

std::string shown(const std::string& input) { return input == "-" ? "standard input" : "'" + input + "'"; }

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

nlohmann::json summary_of_fit(const std::string& folder) {
  nlohmann::json summary = summary_in(folder);
  if (summary.is_null())
    throw InputError(
        fmt::format("'{}': the folder holds no result of 'gradus kmeans --output' ({} is missing or another's); "
                    "name such a folder, or a file with a centroid per row",
                    folder, summary_name));
  return summary;
}

FittedFolder facts_of_fit(const std::string& folder, const nlohmann::json& summary, SupportsCodebooks supports) {
  const std::filesystem::path path(folder);
  FittedFolder fit;
  if (supports == SupportsCodebooks::no && summary.contains("subspaces"))
    throw InputError(fmt::format(
        "'{}': the folder holds codebooks (gradus kmeans --subspaces), and this command needs the centroids "
        "of one fit; 'gradus predict' encodes points by codebooks",
        folder));
  try {
    fit.subspaces = summary.value("subspaces", std::int64_t{0});
    if (fit.subspaces < 0) throw InputError("");
    const std::string metric = summary.value("metric", std::string(to_string(KMeansMetric::euclidean)));
    if (!from_string<KMeansMetric>(metric)) throw InputError("");
    fit.metric = *from_string<KMeansMetric>(metric);
    fit.column_names = summary.value("columns", std::vector<std::string>());
    if (const auto by = summary.find("standardize"); by != summary.end()) {
      KMeansStandardization& found = fit.standardization;
      by->at("mean").get_to(found.mean);
      by->at("scale").get_to(found.scale);
      if (found.empty() || found.mean.size() != found.scale.size() ||
          summary.value("d", std::size_t{0}) != found.mean.size() ||
          !std::ranges::all_of(found.scale, [](double scale) { return scale > 0; }))
        throw InputError("");
    }
  } catch (const std::exception&) {
    throw InputError(fmt::format("'{}': its columns, metric or standardization are not as 'gradus kmeans' writes them",
                                 (path / summary_name).string()));
  }
  fit.centroids = path / (fit.subspaces > 0              ? codebooks_name
                          : !fit.standardization.empty() ? standardized_name
                                                         : centroids_name);
  return fit;
}

FittedFolder open_fit(const std::string& folder, const std::stop_token& stop, SupportsCodebooks supports) {
  if (!summary_of_fit(folder).contains("subspaces"))
    require_whole_result("kmeans", std::filesystem::path(folder) / centroids_name, stop);
  FittedFolder fit = facts_of_fit(folder, summary_of_fit(folder), supports);
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
        fmt::format("'{}': these centroids were found among standardized columns; name the folder, '{}', which records "
                    "how they were standardized",
                    file, folder.string()));
}

void require_alike(const FittedFolder& fit, const std::string& folder, std::int64_t clusters,
                   const KMeansOptions& options, const files::Points& points) {
  const auto refuse = [&](const std::string& differs, const std::string& remedy) {
    throw UsageError(fmt::format("--init: the fit in '{}' {}; {}, or name '{}' for its centroids alone", folder,
                                 differs, remedy, (std::filesystem::path(folder) / centroids_name).string()));
  };
  if (!fit.standardization.empty() && !options.standardize)
    refuse("is one of standardized columns, and this one is not", "add --standardize");
  if (fit.standardization.empty() && options.standardize)
    refuse("is not one of standardized columns, and this one is", "leave out --standardize");
  if (fit.metric != options.metric)
    refuse(fit.metric == KMeansMetric::cosine ? "is one by the cosine metric, and this one is not"
                                              : "is one by the euclidean metric, and this one is not",
           fit.metric == KMeansMetric::cosine ? "add --metric cosine" : "leave out --metric cosine");
  if (clusters != options.clusters)
    throw UsageError(fmt::format("--init: the fit in '{}' has {}, and -k asks for {}; give -k {}", folder,
                                 counted(clusters, "cluster"), options.clusters, clusters));
  if (fit.column_names.empty() || points.column_names.empty() || fit.column_names == points.column_names) return;
  const bool all_here = std::ranges::all_of(fit.column_names, [&](const std::string& name) {
    return std::ranges::find(points.column_names, name) != points.column_names.end();
  });
  std::vector<std::size_t> all(fit.column_names.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  throw InputError(about("points") +
                   fmt::format("the columns are {}, but the fit in '{}' is one of {}; give the same columns in "
                               "the same order{}",
                               list_of(points.column_names), folder, list_of(fit.column_names),
                               all_here ? " (--columns " + files::column_items(fit.column_names, all) + ")" : ""));
}

void require_names_of_centroids(const files::Points& points, const std::string& input,
                                const std::vector<std::string>& names, const std::string& centroids) {
  if (names.empty() || points.column_names.empty() || names == points.column_names) return;
  throw InputError(
      fmt::format("{}: the columns are {}, but the columns of {} are {}; give both the same names (columns are matched "
                  "by name), or remove the line of names from the file of centroids if the columns have the same order",
                  shown(input), list_of(points.column_names), shown(centroids), list_of(names)));
}

void expect_columns_of_fit(files::ReadOptions& reading, const FittedFolder& fit, const std::string& path) {
  if (!reading.columns.taken.empty()) return;
  reading.columns.expected = fit.column_names;
  reading.columns.expected_by = (is_folder(path) ? "the fit in '" : "'") + path + "'";
}

void require_columns_of_fit(const files::Points& points, std::int64_t dimensions, const FittedFolder& fit,
                            const std::string& folder, const std::string& input) {
  const auto columns = [](std::int64_t count, const std::vector<std::string>& names) {
    return counted(count, "column") + (names.empty() ? "" : " (" + list_of(names) + ")");
  };
  const bool named = !fit.column_names.empty() && !points.column_names.empty();
  if (points.columns() == dimensions && (!named || points.column_names == fit.column_names)) return;
  throw InputError(fmt::format("{} has {}, but the fit in '{}' is one of {}; give the points with the same columns{}",
                               shown(input), columns(points.columns(), points.column_names), folder,
                               columns(dimensions, fit.column_names),
                               named ? " (without --columns and --drop-columns they are found by their names)" : ""));
}

template std::string centroids_text(MatrixView<const float>, const std::vector<std::string>&);
template std::string centroids_text(MatrixView<const double>, const std::vector<std::string>&);
template void TextResult::write(const KMeansResult<float>&);
template void TextResult::write(const KMeansResult<double>&);

}  // namespace gradus::cli
