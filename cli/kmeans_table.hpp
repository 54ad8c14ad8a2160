// A fit of a table: the names of its columns and rows, the answers as text, and the folder of a result.
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

/// The names of columns and of the column of names, and how columns were standardized; what there is none of is left
/// out.
void add_table_facts(nlohmann::ordered_json& summary, const files::Points& points, const KMeansStandardization& by);

/// centroids.csv and labels.csv.
class TextResult {
 public:
  TextResult(core::OutputSet& outputs, const files::Points& points)
      : points_(points), centroids_(outputs.add("centroids.csv")), labels_(outputs.add("labels.csv")) {}
  /// Both files are finished then.
  template <class T>
  void write(const KMeansResult<T>& result);
  const core::AtomicFile& centroids() const { return centroids_; }
  const core::AtomicFile& labels() const { return labels_; }

 private:
  const files::Points& points_;
  core::AtomicFile& centroids_;
  core::AtomicFile& labels_;
};

/// A field of a table as text: in quotes where it would otherwise be taken apart.
std::string csv_field(std::string_view text);
/// The column's heading where it has one, otherwise "row".
std::string heading_of(const files::RowNames* names);
/// The name of a row, or its number from 0.
std::string row_name(const files::RowNames* names, std::int64_t row);

/// "row,label" and a line for each point, or with the names of rows and the heading of their column. Calls put(text)
/// piece by piece.
void put_labels(VectorView<const std::int32_t> labels, const files::RowNames* names, const std::stop_token& stop,
                const std::function<void(std::string_view)>& put);

/// The columns' names, where there are some, and a line for each centroid.
template <class T>
std::string centroids_text(MatrixView<const T> centroids, const std::vector<std::string>& column_names);

/// What a folder that `gradus kmeans` wrote says about its centroids.
struct FittedFolder {
  std::string centroids;  ///< the file with those among which the nearest is looked for
  KMeansMetric metric = KMeansMetric::euclidean;
  std::vector<std::string> column_names;  ///< empty: they have none
  KMeansStandardization standardization;
};

inline constexpr std::string_view centroids_name = "centroids.npy";
inline constexpr std::string_view standardized_name = "standardized_centroids.npy";

/// Whether the path is a folder.
bool is_folder(const std::string& path);

/// InputError where it holds no result, or one that is not whole.
FittedFolder open_fit(const std::string& folder, const std::stop_token& stop);

/// InputError where the file is a fit's centroids, in the units of the data, but the fit was one of standardized
/// columns: the folder tells how.
void refuse_standardized_file(const std::string& file);

/// Checks that centroids of the fit, `clusters` of them, can begin one with these options and points. UsageError where
/// standardization, metric or number of clusters differ, InputError where the names of columns do, each with the
/// remedy.
void require_alike(const FittedFolder& fit, const std::string& folder, std::int64_t clusters,
                   const KMeansOptions& options, const files::Points& points);

/// Throws InputError, with the names of both, if the columns of centroids in a file and of points both have names, and
/// the names or their order differ.
void require_names_of_centroids(const files::Points& points, const std::string& input,
                                const std::vector<std::string>& names, const std::string& centroids);

/// InputError, with both names, where the points' columns are not those of the fit.
void require_columns_of_fit(const files::Points& points, std::int64_t dimensions, const FittedFolder& fit,
                            const std::string& folder, const std::string& input);

}  // namespace gradus::cli
