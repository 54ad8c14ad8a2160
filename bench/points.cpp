#include "bench/points.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string_view>

#include "bench/parse.hpp"
#include "core/generate.hpp"
#include "core/names.hpp"
#include "cpu/threads.hpp"

namespace gradus::bench {

namespace {

constexpr std::array generators = {core::Generator::uniform, core::Generator::blobs, core::Generator::lab_points,
                                   core::Generator::lab_atoms};

template <class T>
files::Points generate(const core::PointSpecification& specification, const PointSet& set,
                       const std::stop_token& stop) {
  Matrix<T> points(set.rows, set.columns);
  core::generate_points<T>(specification, 0, points.view(), cpu::thread_count({}), stop);
  files::Points made;
  made.values = files::own(std::move(points));
  return made;
}

bool is_generator(const std::string& name) {
  return std::ranges::any_of(generators, [&](core::Generator known) {
    return core::with_underscores(core::to_string(known)) == core::with_underscores(name);
  });
}

/// Parses a shape: "1000x3", or "256MiBx3" for as many points as fit in 256 MiB.
PointSet parse_shape(const std::string& label, const std::string& text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos)
    throw UsageError(label + ": '" + text + "' is not POINTSxDIMENSIONS; 1000000x16 is an example");
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  constexpr std::string_view unit = "MiB";
  PointSet set;
  std::string points = text.substr(0, cross);
  std::int64_t& number = points.ends_with(unit) ? set.mebibytes : set.rows;
  if (&number == &set.mebibytes) points.resize(points.size() - unit.size());
  number = parse_whole(label, points, 1, most);
  set.columns = parse_whole(label, text.substr(cross + 1), 1, most);
  return set;
}

std::int64_t element_bytes(files::ElementType type) { return type == files::ElementType::f32 ? 4 : 8; }

}  // namespace

core::Generator generator_called(std::string_view name) {
  const std::string wanted = core::with_underscores(name);
  std::vector<std::string_view> names;
  for (const core::Generator generator : generators) {
    names.push_back(core::to_string(generator));
    if (core::with_underscores(names.back()) == wanted) return generator;
  }
  throw UsageError("there is no generator of points called '" + std::string(name) + "'" +
                   core::did_you_mean(name, names) + "; there are uniform, blobs, lab-points and lab-atoms");
}

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const core::Generator generator : generators) names.emplace_back(core::to_string(generator));
  return names;
}

files::Points make_points(const PointSet& set, files::ElementType type, files::ReadOptions reading) {
  if (set.generator.empty()) {
    reading.type = type;
    return files::read_points(set.file, reading);
  }
  if (set.rows < 1 || set.columns < 1)
    throw UsageError("points of " + std::to_string(set.rows) + " x " + std::to_string(set.columns) +
                     " cannot be made; at least 1 x 1 is needed");
  core::PointSpecification specification;
  specification.kind = generator_called(set.generator);
  return type == files::ElementType::f32 ? generate<float>(specification, set, reading.stop)
                                         : generate<double>(specification, set, reading.stop);
}

void require_table_for_header(const files::ReadOptions& reading, const std::vector<std::string>& paths,
                              const std::vector<std::string>& lists) {
  const auto is_table = [](const std::string& path) { return !path.empty() && files::is_table(path); };
  const auto is_table_of_points = [&](const std::string& path) {
    return is_table(path) && std::ranges::find(lists, path) == lists.end();
  };
  const std::pair<bool, const char*> of_points[] = {{reading.header != files::HeaderLine::automatic, "--header"},
                                                    {reading.missing != files::Missing::error, "--missing"}};
  for (const auto& [is_given, option] : of_points)
    if (is_given && std::ranges::none_of(paths, is_table_of_points))
      throw UsageError(std::string(option) +
                       " is for points in tables of text (.csv, .tsv, .txt, standard input); no input has such points");
  const std::pair<bool, const char*> given[] = {{reading.style.group != 0, "--thousands"},
                                                {reading.style.decimal != files::Decimal::automatic, "--decimal"},
                                                {!reading.comment.is_default(), "--comment"}};
  for (const auto& [is_given, option] : given)
    if (is_given && std::ranges::none_of(paths, is_table))
      throw UsageError(std::string(option) +
                       " is for tables of text (.csv, .tsv, .txt, standard input); no input is one");
  if (!reading.columns.empty() && std::ranges::any_of(paths, [](const std::string& path) {
        return files::names_format(files::Reader::frames, path);
      }))
    throw UsageError(
        "--columns, --drop-columns and --weight-column are for tables and arrays; a trajectory says itself which "
        "columns are "
        "coordinates");
}

bool PointAxes::is_file() const { return !is_generator(data_); }

std::vector<Axis> PointAxes::axes() {
  return {
      {.name = "shape",
       .letter = "",
       .form = "NxD,...",
       .help = "points x dimensions; 64MiBx16: as many as take 64 MiB",
       .initial = std::to_string(usual_.rows) + "x" + std::to_string(usual_.columns),
       .parse =
           [this](const std::string& label, const std::string& text) {
             shapes_.clear();
             for (const std::string& shape : parse_list(label, text)) shapes_.push_back(parse_shape(label, shape));
           },
       .no_effect_reason = [this] { return is_file() ? "the file of --data determines the shape" : ""; }},
      {.name = "dtype",
       .letter = "",
       .form = "TYPE,...",
       .help = "f32, f64",
       .initial = "f32",
       .parse =
           [this](const std::string& label, const std::string& text) {
             types_.clear();
             for (const std::string& name : parse_list(label, text))
               types_.push_back(parse_enum<files::ElementType>(label, name));
           },
       .choices = names_of<files::ElementType>()},
      {.name = "data",
       .letter = "",
       .form = "KIND|FILE",
       .help = "uniform, blobs, lab-points, lab-atoms, or a file of points",
       .initial = with_hyphens(usual_.generator),
       .parse = [this](const std::string&, const std::string& text) { data_ = text; },
       .choices = generator_names(),
       .file = true},
      choice_axis("header", std::string(header_help), reading_.header),
  };
}

void PointAxes::prepare(const InputCallbacks& callbacks, const std::vector<std::string>& lists) {
  std::vector<std::string> inputs = lists;
  inputs.push_back(is_file() ? data_ : "");
  require_table_for_header(reading_, inputs, lists);
  // A file is read once for each element type, and each time it causes the same note. Repetitions of a note are not
  // printed.
  if (callbacks.note)
    reading_.note = [note = callbacks.note, said = std::make_shared<std::string>()](const std::string& doubt) {
      if (std::exchange(*said, doubt) != doubt) note(doubt);
    };
}

std::vector<std::string> PointAxes::files() const {
  return is_file() ? std::vector{data_} : std::vector<std::string>{};
}

void PointAxes::scale(double share, std::int64_t least) {
  share_ = share;
  least_ = least;
}

std::vector<std::pair<PointSet, files::ElementType>> PointAxes::sets() const {
  std::vector<PointSet> sets = shapes_.empty() ? std::vector{usual_} : shapes_;
  if (is_file()) sets = {PointSet{.generator = "", .file = data_}};
  std::vector<std::pair<PointSet, files::ElementType>> all;
  for (const PointSet& set : sets)
    for (const files::ElementType type : types_) {
      PointSet sized = set;
      if (!is_file()) sized.generator = data_;
      if (sized.mebibytes > 0) sized.rows = sized.mebibytes * (1 << 20) / (sized.columns * element_bytes(type));
      if (share_ < 1)
        sized.rows =
            std::max(static_cast<std::int64_t>(share_ * static_cast<double>(sized.rows)), std::min(sized.rows, least_));
      all.emplace_back(std::move(sized), type);
    }
  return all;
}

}  // namespace gradus::bench
