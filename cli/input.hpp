// Reading the inputs of a job.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/points.hpp"
#include "cli/errors.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "files/points.hpp"

namespace gradus::cli {

/// --header auto|yes|no. What readers took in doubt is said on standard error.
void add_header_option(Options& options, const Session& session, files::ReadOptions& reading);
/// Further columns that are of use to a command.
struct ColumnRoles {
  bool id = false;      ///< --id-column: what names the rows
  bool weight = false;  ///< --weight-column
  WhyUseless why_no_weight = {};
};
/// --columns, --drop-columns and --missing, and the options of the roles.
void add_column_options(Options& options, files::ReadOptions& reading, ColumnRoles roles);
/// --decimal and --thousands.
void add_style_options(Options& options, files::NumberStyle& style);
/// --header, --decimal, --thousands and --comment, and --dtype f32|f64; nothing: the least type that holds every value
/// of the file. A stop request ends the reading.
void add_reading_options(Options& options, const Session& session, files::ReadOptions& reading);

/// UsageError where more than one of the inputs is standard input. Empty paths are no inputs.
void require_one_standard_input(const std::vector<std::string>& paths);

using bench::require_table_for_header;

/// Values that belong to points of type T: a file's binary values must be T exactly (InputError otherwise, since to
/// round them in silence would change the job); the numbers of a text become the nearest T, whatever type `reading`
/// asks for.
template <class T>
files::Points read_points_as(const std::string& path, files::ReadOptions reading);
template <class T>
files::PointsOf<T> read_matrix_as(const std::string& path, files::ReadOptions reading);
template <class T>
files::VectorOf<T> read_vector_as(const std::string& path, const files::ReadOptions& reading);

}  // namespace gradus::cli
