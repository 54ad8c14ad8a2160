// Reads the inputs of a job.
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

/// Returns the help of an input that holds points.
std::string points_help();

/// Adds --header auto|yes|no. Readers report doubtful guesses on standard error.
void add_header_option(Options& options, const Session& session, files::ReadOptions& reading);
/// The special roles of columns that a command supports.
struct ColumnRoles {
  bool id = false;  ///< --id-column: the column with the names of the rows
  bool weight = false;
  NoEffectReason why_no_weight = {};
};
/// Adds --columns, --drop-columns, --missing and the options of the supported roles.
void add_column_options(Options& options, files::ReadOptions& reading, ColumnRoles roles);
/// Adds --decimal and --thousands, the separators in numbers.
void add_style_options(Options& options, files::NumberStyle& style);
/// Adds --header, --decimal, --thousands, --comment and --dtype f32|f64. Without --dtype, the type is the narrowest
/// type that holds every value of the files. A stop request cancels the reading.
void add_reading_options(Options& options, const Session& session, files::ReadOptions& reading);

/// Throws UsageError if more than one of the paths is standard input. Ignores empty paths.
void require_one_standard_input(const std::vector<std::string>& paths);

using bench::require_table_for_header;

/// The functions below read values that belong to points of type T, for example weights. If a binary file has another
/// type than T, they throw InputError, because rounding would silently change the job. Numbers in text are rounded to
/// T. The type that `reading` requests is ignored.
template <class T>
files::Points read_points_as(const std::string& path, files::ReadOptions reading);
template <class T>
files::PointsOf<T> read_matrix_as(const std::string& path, files::ReadOptions reading);
template <class T>
files::VectorOf<T> read_vector_as(const std::string& path, const files::ReadOptions& reading);

}  // namespace gradus::cli
