#include "cli/input.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "core/exact_conversion.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"

namespace gradus::cli {

namespace {

[[noreturn]] void refuse_rounding(const std::string& path, std::int64_t row, std::int64_t column, double value) {
  throw InputError(
      fmt::format("'{}': row {}, column {} (counted from 0): {} is not exactly a number of the points' "
                  "type f32; compute in f64 (--dtype f64), or store the file as f32",
                  path, row, column, value));
}

}  // namespace

std::string points_help() {
  return "points, one per row: " + files::endings_for(files::Reader::points, ", ") +
         " (the array of a file that has several: file.npz:array; the pixels of a picture); - for CSV on standard "
         "input";
}

void add_header_option(Options& options, const Session& session, files::ReadOptions& reading) {
  options.choice("--header", reading.header, std::string(bench::header_help));
  // A file may be read several times, once for each element type that it might have. Its notes are printed only once.
  reading.note = [&session, said = std::make_shared<std::set<std::string>>()](const std::string& note) {
    if (said->insert(note).second) session.note(note);
  };
}

void add_column_options(Options& options, files::ReadOptions& reading, ColumnRoles roles) {
  files::ColumnChoice& choice = reading.columns;
  choice.offers_columns = true;
  choice.offers_id = roles.id;
  struct Row {
    bool offered;
    std::string name;
    std::string form;
    std::string help;
    files::ColumnList files::ColumnChoice::*list;
    NoEffectReason no_effect_reason;
  };
  const std::vector<Row> rows{
      {true,
       "--columns",
       "LIST",
       "columns of the coordinates, by name, number from 1, or range, such as x,3,5-7 or 2- [all columns]",
       &files::ColumnChoice::taken,
       {}},
      {true, "--drop-columns", "LIST", "leave these columns out", &files::ColumnChoice::dropped,
       [&choice] { return choice.taken.empty() ? "" : "--columns selects the columns"; }},
      {roles.id,
       "--id-column",
       "NAME|N",
       "column of row names: not a coordinate, but repeated in the results",
       &files::ColumnChoice::id,
       {}},
      {roles.weight, "--weight-column", "NAME|N", "column of row weights: not a coordinate",
       &files::ColumnChoice::weight, roles.why_no_weight}};
  for (const Row& row : rows) {
    if (!row.offered) continue;
    CLI::Option& option =
        options.value(row.name, row.form, row.help,
                      [&choice, row](const std::string& text) { choice.*row.list = files::ColumnList(row.name, text); },
                      {.choices = {}, .reset = [&choice, row] { choice.*row.list = {}; }});
    if (row.no_effect_reason) options.ineffective_if(option, row.no_effect_reason);
  }
  options.choice("--missing", reading.missing,
                 "what to do with rows of a text table that lack a number: an empty field, NA, nan");
}

void add_style_options(Options& options, files::NumberStyle& style) {
  options.choice("--decimal", style.decimal, "decimal separator in text tables");
  constexpr std::string_view marks = ",.'_ ";
  const std::vector<std::string> words{"comma", "point", "apostrophe", "underscore", "blank"};
  options.value("--thousands", "MARK",
                "thousands separator in text tables: comma, point, apostrophe, underscore or blank [none]",
                [&style, marks, words](const std::string& text) {
                  const bool itself = text.size() == 1 && marks.find(text) != std::string_view::npos;
                  style.group = itself ? text.front() : marks[parse_choice("--thousands", text, words)];
                },
                {.choices = words});
}

void add_reading_options(Options& options, const Session& session, files::ReadOptions& reading) {
  options.choice("--dtype", reading.type, "compute in this type", "the narrowest that holds the file's values");
  add_header_option(options, session, reading);
  add_style_options(options, reading.style);
  options.value("--comment", "CHAR|none", "first character of comment lines in text tables; none: no comments [#]",
                [&reading](const std::string& text) {
                  const bool is_mark = text.size() == 1 && text.front() > ' ' && text.front() < 0x7f;
                  if (!is_mark && text != "none")
                    throw UsageError("--comment: " + core::excerpt(text) + " is neither one character nor none");
                  reading.comment = {.mark = text == "none" ? '\0' : text.front(), .is_given = true};
                });
  reading.stop = session.execution.stop;
}

void require_one_standard_input(const std::vector<std::string>& paths) {
  const auto is_standard_input = [](const std::string& path) {
    return path == "-" || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
  };
  if (std::ranges::count_if(paths, is_standard_input) > 1)
    throw UsageError("'-' stands for standard input, which can be read once only; name a file for the other input");
}

template <class T>
files::Points read_points_as(const std::string& path, files::ReadOptions reading) {
  reading.type.reset();
  files::Points points = files::read_points(path, reading);
  if constexpr (sizeof(T) == 4)
    if (points.type() == files::ElementType::f64 && !points.from_text) {
      const MatrixView<const double> view = points.view<double>();
      const std::int64_t stretch = core::chunk_length(view.rows(), view.columns());
      for (std::int64_t row = 0; row < view.rows(); ++row) {
        if (row % stretch == 0) core::honour_stop(reading.stop, fmt::format("stopped while reading '{}'", path));
        for (std::int64_t column = 0; column < view.columns(); ++column)
          if (const double value = view(row, column); !core::is_exact_in<float>(value))
            refuse_rounding(path, row, column, value);
      }
    }
  return files::convert(std::move(points), sizeof(T) == 4 ? files::ElementType::f32 : files::ElementType::f64, path,
                        reading.stop);
}

template <class T>
files::PointsOf<T> read_matrix_as(const std::string& path, files::ReadOptions reading) {
  return std::get<files::PointsOf<T>>(read_points_as<T>(path, std::move(reading)).values);
}

template <class T>
files::VectorOf<T> read_vector_as(const std::string& path, const files::ReadOptions& reading) {
  const files::PointsOf<T> matrix = files::without_gaps(read_matrix_as<T>(path, files::of_list(reading)));
  const std::int64_t rows = matrix.view.rows();
  const std::int64_t columns = matrix.view.columns();
  if (rows != 1 && columns != 1)
    throw InputError(fmt::format("'{}': {} rows of {} columns; one value per row is expected", path, rows, columns));
  return {{matrix.view.data(), rows * columns}, matrix.owner};
}

template files::Points read_points_as<float>(const std::string&, files::ReadOptions);
template files::Points read_points_as<double>(const std::string&, files::ReadOptions);
template files::PointsOf<float> read_matrix_as(const std::string&, files::ReadOptions);
template files::PointsOf<double> read_matrix_as(const std::string&, files::ReadOptions);
template files::VectorOf<float> read_vector_as(const std::string&, const files::ReadOptions&);
template files::VectorOf<double> read_vector_as(const std::string&, const files::ReadOptions&);

}  // namespace gradus::cli
