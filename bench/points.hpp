// Input points for the benchmarks of several problems.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/axis.hpp"
#include "bench/workload.hpp"
#include "core/generate.hpp"
#include "files/points.hpp"

namespace gradus::bench {

/// A generator with a shape, or a file.
struct PointSet {
  std::string generator;  ///< name of a generator, one of generator_names(); empty: the points are in `file`
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t mebibytes = 0;  ///< total size, which determines the number of rows; 0: `rows` is given
  std::string file;

  std::string name() const { return generator.empty() ? file : generator; }
};

/// Returns the generator with this name. If the name is unknown, throws UsageError with a suggestion.
core::Generator generator_called(std::string_view name);
std::vector<std::string> generator_names();

/// Makes the points of type `type`, or reads them with the options `reading`. Generated points depend only on the set,
/// not on the machine. A stop request (reading.stop) ends making and reading.
files::Points make_points(const PointSet& set, files::ElementType type, files::ReadOptions reading);

inline constexpr std::string_view header_help =
    "whether the first line of points in a .csv, .tsv or .txt names its columns";
/// Throws UsageError if an option of text tables is given but no input is one. Ignores empty paths. `lists` are the
/// inputs with one number per row, to which --header and --missing do not apply.
void require_table_for_header(const files::ReadOptions& reading, const std::vector<std::string>& paths,
                              const std::vector<std::string>& lists = {});

/// The axes of measurements on points: data, shape, dtype and header.
class PointAxes {
 public:
  /// If the user sets no axes, the points are `usual`.
  explicit PointAxes(PointSet usual) : usual_(std::move(usual)), data_(usual_.generator) {}

  std::vector<Axis> axes();
  /// Checks the axes after they are parsed. `lists` are files with one number per row that are read with the
  /// same options.
  void prepare(const InputCallbacks& callbacks, const std::vector<std::string>& lists = {});
  std::vector<std::string> files() const;
  /// Multiplies all numbers of points by `share`, but does not reduce them below `least`.
  void scale(double share, std::int64_t least);

  /// Returns an entry for each combination of a set and an element type that the axes describe. PointSet::rows is 0 if
  /// the number of rows is not known yet.
  std::vector<std::pair<PointSet, files::ElementType>> sets() const;
  const files::ReadOptions& reading() const { return reading_; }

  /// Calls function(view of the points, their set) for each set.
  template <class Function>
  void for_each(const InputCallbacks& callbacks, const Function& function) const {
    for (const auto& [set, type] : sets()) {
      if (callbacks.progress) callbacks.progress({"make points", 0, 1, set.name()});
      files::ReadOptions reading = reading_;
      reading.stop = callbacks.stop;
      const files::Points points = make_points(set, type, std::move(reading));
      points.visit([&, &set = set](auto view) { function(view, set); });
    }
  }

 private:
  bool is_file() const;

  PointSet usual_;
  std::string data_;  ///< name of a generator, or of a file
  std::vector<PointSet> shapes_;
  std::vector<files::ElementType> types_ = {files::ElementType::f32};
  files::ReadOptions reading_;
  double share_ = 1;
  std::int64_t least_ = 1;
};

template <class T>
std::string_view type_name() {
  return gradus::to_string(sizeof(T) == 4 ? files::ElementType::f32 : files::ElementType::f64);
}

/// Returns a text such as "1000 x 3 f32 uniform".
template <class T>
std::string points_title(MatrixView<const T> points, const std::string& name) {
  return std::to_string(points.rows()) + " x " + std::to_string(points.columns()) + " " + std::string(type_name<T>()) +
         " " + name;
}

}  // namespace gradus::bench
