// Results of fitting a table: the names of columns and rows, the result as text, and the folder that holds a result.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/atomic_file.hpp"
#include "files/points.hpp"
#include "gradus/array.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

/// Adds to the summary the names of the columns, the heading of the row names, and the standardization, if the points
/// have them.
void add_table_facts(nlohmann::ordered_json& summary, const files::Points& points, const KMeansStandardization& by);

class TextResult {
 public:
  TextResult(core::OutputSet& outputs, const files::Points& points)
      : points_(points), centroids_(outputs.add("centroids.csv")), labels_(outputs.add("labels.csv")) {}
  /// Writes centroids.csv and labels.csv, and finishes both files.
  template <class T>
  void write(const KMeansResult<T>& result);
  const core::AtomicFile& centroids() const { return centroids_; }
  const core::AtomicFile& labels() const { return labels_; }

 private:
  const files::Points& points_;
  core::AtomicFile& centroids_;
  core::AtomicFile& labels_;
};

std::string csv_field(std::string_view text);
/// Returns the heading of the row names, or "row" if rows have no names.
std::string heading_of(const files::RowNames* names);
/// Returns the name of a row. If rows have no names, returns the row number, counted from 0.
std::string row_name(const files::RowNames* names, std::int64_t row);

/// Formats the lines of a chunk of points, one for each point. The number of the first point is `first_row`. If this is
/// 0, a heading line comes first: "row,label". If rows have names, the lines contain the names instead of numbers, and
/// the first line contains their heading instead of "row". Calls put(text) for each piece of the text.
void put_labels(VectorView<const std::int32_t> labels, std::int64_t first_row, const files::RowNames* names,
                const std::stop_token& stop, const std::function<void(std::string_view)>& put);

/// Returns a line for each centroid. If columns have names, these form the first line.
template <class T>
std::string centroids_text(MatrixView<const T> centroids, const std::vector<std::string>& column_names);

/// A folder with the result of a fit by `gradus kmeans`.
struct FittedFolder {
  std::string centroids;  ///< file of the centroids to which new points are assigned
  KMeansMetric metric = KMeansMetric::euclidean;
  std::vector<std::string> column_names;  ///< names of the columns; empty: unnamed
  KMeansStandardization standardization;
  std::int64_t subspaces = 0;  ///< number of codebooks in the file of centroids; 0: a fit without subspaces
};

inline constexpr std::string_view centroids_name = "centroids.npy";
inline constexpr std::string_view codebooks_name = "codebooks.npy";
inline constexpr std::string_view codes_name = "codes.npy";
inline constexpr std::string_view standardized_name = "standardized_centroids.npy";

bool is_folder(const std::string& path);

/// Returns the folder's summary. Throws InputError if the folder holds no result of `gradus kmeans`.
nlohmann::json summary_of_fit(const std::string& folder);

/// States whether a command supports a folder with codebooks.
enum class SupportsCodebooks : bool { no, yes };

/// Returns the facts of the fit in the folder. Throws InputError for a summary that this program did not write, and for
/// codebooks that the command does not support. Does not read the other files.
FittedFolder facts_of_fit(const std::string& folder, const nlohmann::json& summary,
                          SupportsCodebooks supports = SupportsCodebooks::no);

/// Reads the facts of the fit from the folder's summary. Throws InputError if the folder holds no complete result.
FittedFolder open_fit(const std::string& folder, const std::stop_token& stop,
                      SupportsCodebooks supports = SupportsCodebooks::no);

/// Throws InputError if the fit used standardized columns, but the file holds its centroids in the units of the data. A
/// fit with standardized columns also compares standardized points, so the standardization is needed. It is stored in
/// the folder of the fit.
void refuse_standardized_file(const std::string& file);

/// Checks that a new fit with these options and points can start from the centroids of the fit in the folder. There are
/// `clusters` centroids. Throws UsageError if standardization, metric or number of clusters differ, and InputError if
/// the column names differ. Each error names the remedy.
void require_alike(const FittedFolder& fit, const std::string& folder, std::int64_t clusters,
                   const KMeansOptions& options, const files::Points& points);

/// Throws InputError if both the centroids and the points have column names, and if the names or their order differ.
/// The error names both files.
void require_names_of_centroids(const files::Points& points, const std::string& input,
                                const std::vector<std::string>& names, const std::string& centroids);

/// Makes readers find the columns of points by the names of the centroids' columns, unless --columns chooses them.
/// `path` is the folder of the fit or the file of centroids.
void expect_columns_of_fit(files::ReadOptions& reading, const FittedFolder& fit, const std::string& path);

/// Throws InputError if the columns of the points differ from the columns to which the centroids were fitted. The error
/// names input and folder.
void require_columns_of_fit(const files::Points& points, std::int64_t dimensions, const FittedFolder& fit,
                            const std::string& folder, const std::string& input);

}  // namespace gradus::cli
