// Points to measure with: what problems of points have in common.
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

/// The name of a generator and the shape, or a file.
struct PointSet {
  std::string generator;  ///< one of generator_names(); empty: `file`
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t mebibytes = 0;  ///< instead of rows: as many as take so much room
  std::string file;

  std::string name() const { return generator.empty() ? file : generator; }
};

/// UsageError with a suggestion where there is none of this name.
core::Generator generator_called(std::string_view name);
/// The names of all of them.
std::vector<std::string> generator_names();

/// Makes the points, or reads them in this way, as `type`. Made points depend on the set alone, never on the machine.
/// A stop request to the reading ends the making too.
files::Points make_points(const PointSet& set, files::ElementType type, files::ReadOptions reading);

/// How --header says whether a table has a line of names; also in the words of the command line.
inline constexpr std::string_view header_help = "whether the first line of a .csv, .tsv or .txt names its columns";
/// UsageError where it was said and none of the inputs is a table of text. Empty paths are no inputs.
void require_table_for_header(const files::ReadOptions& reading, const std::vector<std::string>& paths);

/// The axes of what is measured on points: --data, --shape, --dtype and --header.
class PointAxes {
 public:
  /// `usual` is made where none are asked for.
  explicit PointAxes(PointSet usual) : usual_(std::move(usual)), data_(usual_.generator) {}

  std::vector<Axis> axes();
  /// When all axes were parsed; `tables` are further files that are read the same way.
  void prepare(const Making& making, const std::vector<std::string>& tables = {});
  std::vector<std::string> files() const;
  /// All numbers of points times `share`, but at least `least` unless there are fewer anyway.
  void scale(double share, std::int64_t least);

  /// Of prepare(): the sets to be made or read, each in each type, with the number of rows where it is known.
  std::vector<std::pair<PointSet, files::ElementType>> sets() const;
  const files::ReadOptions& reading() const { return reading_; }

  /// function(points as a view, their set) for one set after the other.
  template <class Function>
  void for_each(const Making& making, const Function& function) const {
    for (const auto& [set, type] : sets()) {
      if (making.progress) making.progress({"make points", 0, 1, set.name()});
      files::ReadOptions reading = reading_;
      reading.stop = making.stop;
      const files::Points points = make_points(set, type, std::move(reading));
      points.visit([&, &set = set](auto view) { function(view, set); });
    }
  }

 private:
  bool is_file() const;

  PointSet usual_;
  std::string data_;  ///< a generator, or a file
  std::vector<PointSet> shapes_;
  std::vector<files::ElementType> types_ = {files::ElementType::f32};
  files::ReadOptions reading_;
  double share_ = 1;
  std::int64_t least_ = 1;
};

/// "f32" or "f64".
template <class T>
std::string_view type_name() {
  return gradus::to_string(sizeof(T) == 4 ? files::ElementType::f32 : files::ElementType::f64);
}

/// "1000 x 3 f32 uniform"
template <class T>
std::string points_title(MatrixView<const T> points, const std::string& name) {
  return std::to_string(points.rows()) + " x " + std::to_string(points.columns()) + " " + std::string(type_name<T>()) +
         " " + name;
}

}  // namespace gradus::bench
