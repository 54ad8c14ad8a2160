// `gradus generate`: makes inputs, including the inputs of published experiments.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/checked.hpp"
#include "core/generate.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "files/format.hpp"
#include "files/npy.hpp"

namespace gradus::cli {

namespace {

struct GenerateArguments {
  core::PointSpecification points;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< number of columns; 0: the usual number for the kind of points
  std::int64_t size_mib = 0;
  std::optional<files::ElementType> dtype;
  Generator::Request request;

  bool makes_points() const {
    return std::ranges::find(generators(), std::string_view(request.kind), &Generator::name) == generators().end();
  }
};

std::int64_t row_count(const GenerateArguments& arguments, std::int64_t row_bytes) {
  if ((arguments.rows > 0) == (arguments.size_mib > 0))
    throw UsageError("give the number of points (--points) or the size of all of them (--size-mib), one of the two");
  if (arguments.rows > 0) return arguments.rows;
  const std::int64_t rows = core::checked_multiply(arguments.size_mib, std::int64_t{1} << 20, "--size-mib") / row_bytes;
  if (rows == 0) throw UsageError(fmt::format("--size-mib: one point alone takes {} bytes", row_bytes));
  return rows;
}

/// Throws UsageError if a coordinate could exceed the range of type T.
template <class T>
void require_finite(const core::PointSpecification& points) {
  if (points.kind == core::Generator::lab_points || points.kind == core::Generator::lab_atoms) return;
  constexpr std::string_view type = sizeof(T) == 4 ? "f32" : "f64";
  constexpr double largest = std::numeric_limits<T>::max();
  for (const auto& [option, bound] : {std::pair{"--low", points.low}, std::pair{"--high", points.high}})
    if (std::abs(bound) > largest)
      throw UsageError(fmt::format("{}: {} is beyond the range of {}, which ends at {}{}", option,
                                   core::number_text(bound), type, core::number_text(largest),
                                   sizeof(T) == 4 ? " (--dtype f64 goes further)" : ""));
  if (!std::isfinite(points.high - points.low))
    throw UsageError(fmt::format("--high minus --low is beyond the range of f64; at most {} is allowed",
                                 core::number_text(std::numeric_limits<double>::max())));
  if (points.kind != core::Generator::blobs) return;
  const double allowed = (largest - std::max(std::abs(points.low), std::abs(points.high))) / core::farthest_of_blob;
  if (points.spread > allowed)
    throw UsageError(
        fmt::format("--spread: points of blobs with {} could be beyond the range of {}; at most {} is allowed "
                    "between these bounds",
                    core::number_text(points.spread), type, core::number_text(allowed)));
}

template <class T>
int generate(const GenerateArguments& arguments, const Session& session) {
  const auto start = core::Clock::now();
  if (!(arguments.points.low < arguments.points.high)) throw UsageError("--low must be less than --high");
  require_finite<T>(arguments.points);
  const std::int64_t usual = arguments.points.kind == core::Generator::lab_atoms ? 3 : 2;
  const std::int64_t columns = arguments.columns > 0 ? arguments.columns : usual;
  const auto row_bytes = core::checked_multiply(columns, static_cast<std::int64_t>(sizeof(T)), "--dimensions");
  const std::int64_t rows = row_count(arguments, row_bytes);
  core::checked_multiply(rows, row_bytes, "the points");
  const TableFormat format = table_format(arguments.request.output);
  const int threads = cpu::thread_count(session.execution);

  core::AtomicFile file(arguments.request.output, session.execution.stop);
  if (format == TableFormat::npy) {
    file.expect(files::npy_size<T>(rows, columns));
    files::write_npy_header<T>(file, rows, columns);
  }
  const std::int64_t rows_at_once = std::clamp(((std::int64_t{1} << 24) / row_bytes), std::int64_t{1}, rows);
  Matrix<T> piece(rows_at_once, columns);
  for (std::int64_t row = 0; row < rows; row += rows_at_once) {
    if (session.execution.stop.stop_requested()) throw InterruptedError("stopped; no file was written");
    const MatrixView<T> part = piece.view().slice(0, std::min(rows_at_once, rows - row));
    core::generate_points(arguments.points, row, part, threads, session.execution.stop);
    if (format == TableFormat::npy)
      file.write(std::as_bytes(std::span(part.data(), static_cast<std::size_t>(part.rows() * columns))));
    else write_csv_rows(file, MatrixView<const T>(part), row, rows, session.execution);
    session.execution.progress({"generate", row + part.rows(), rows, {}});
  }
  file.commit();

  const double seconds = core::seconds_since(start);
  const std::string_view dtype = sizeof(T) == 4 ? "f32" : "f64";
  if (session.json)
    session.print_json({{"kind", core::to_string(arguments.points.kind)},
                        {"n", rows},
                        {"d", columns},
                        {"dtype", dtype},
                        {"seed", arguments.points.seed},
                        {"output", arguments.request.output},
                        {"seconds", {{"total", seconds}}}});
  else
    session.note(fmt::format("wrote {} x {} ({}) to '{}' in {:.3g} s", counted(rows, "point"), columns, dtype,
                             arguments.request.output, seconds));
  return 0;
}

/// Adds the options of points. `seed` is the option --seed, which has no effect on published points.
void add_points(Options& options, Session& session, GenerateArguments* arguments, CLI::Option& seed) {
  core::PointSpecification& points = arguments->points;
  options.heading("Points", [arguments] {
    return arguments->makes_points() ? "" : fmt::format("{} has no points", arguments->request.kind);
  });
  options.value("-n,--points", "N", "number of points", [arguments](const std::string& text) {
    arguments->rows = parse_whole("-n", text, 1, std::numeric_limits<std::int64_t>::max());
  });
  options.value("--size-mib", "N", "or their total size in MiB", [arguments](const std::string& text) {
    arguments->size_mib = parse_whole("--size-mib", text, 1, std::int64_t{1} << 40);
  });
  options.value("-d,--dimensions", "N", "coordinates of a point [2; for lab-atoms: 3]",
                [arguments](const std::string& text) {
                  arguments->columns = parse_whole("--dimensions", text, 1, std::numeric_limits<std::int64_t>::max());
                });
  options.choice("--dtype", arguments->dtype, "type of a coordinate", "f32; for lab-atoms: f64");
  const auto not_published = [&options, &points, arguments](CLI::Option& option) {
    options.ineffective_if(option, [&points, arguments] {
      const bool published = arguments->makes_points() &&
                             (points.kind == core::Generator::lab_points || points.kind == core::Generator::lab_atoms);
      return published ? fmt::format("{} are the published points, always the same", core::to_string(points.kind)) : "";
    });
  };
  const auto of_blobs = [&options, &points](CLI::Option& option) {
    options.ineffective_if(option, [&points] {
      return points.kind == core::Generator::blobs ? "" : fmt::format("{} has no blobs", core::to_string(points.kind));
    });
  };
  not_published(seed);
  not_published(options.real("--low", points.low, "lower bound of the coordinates (for blobs: of the centres)"));
  not_published(options.real("--high", points.high, "upper bound"));
  of_blobs(options.whole("--clusters", points.clusters, "number of blobs", std::int64_t{1}));
  of_blobs(options.real("--spread", points.spread, "standard deviation of a blob", 0));
  options.value("--threads", "N", "number of threads; the points do not depend on it [one per core]",
                [&session](const std::string& text) {
                  session.execution.threads = static_cast<int>(parse_whole("--threads", text, 1, 4096));
                });
}

}  // namespace

Action setup_generate(Options& options, Session& session) {
  auto arguments = std::make_shared<GenerateArguments>();
  core::PointSpecification& points = arguments->points;
  Generator::Request& request = arguments->request;
  std::vector<std::string> kinds{"uniform", "blobs", "lab-points", "lab-atoms"};
  const std::size_t kinds_of_points = kinds.size();
  std::string summaries =
      "uniform; blobs (Gaussian groups); lab-points and lab-atoms (bit for bit the points of published experiments)";
  for (const Generator& generator : generators()) {
    kinds.emplace_back(generator.name);
    summaries.append("; ").append(generator.name).append(" (").append(generator.summary).append(")");
  }
  Options::required(options.value("KIND", "KIND", summaries,
                                  [&points, &request, kinds, kinds_of_points](const std::string& text) {
                                    const std::size_t kind = parse_choice("KIND", text, kinds);
                                    request.kind = kinds[kind];
                                    if (kind < kinds_of_points) points.kind = static_cast<core::Generator>(kind);
                                  },
                                  {.choices = kinds}));
  std::string output = "output file; of points .npy or .csv";
  for (const files::Reader reader : files::all_readers)
    if (const files::ReadFormats* const formats = files::formats_for(reader); formats && formats->generated)
      output += ", of " + formats->generated();
  Options::required(options.file("-o,--output", request.output, "FILE", output));
  CLI::Option& seed = options.whole("--seed", request.seed, "seed of the random numbers");
  std::string densities;
  for (const Generator& generator : generators())
    if (!generator.density.empty()) densities += fmt::format("{}{}", densities.empty() ? "" : "; ", generator.density);
  options.ineffective_if(
      options.value("--density", "X", densities,
                    [&request](const std::string& text) { request.density = parse_real("--density", text, 0, 1); }),
      [&request] {
        const auto generator = std::ranges::find(generators(), std::string_view(request.kind), &Generator::name);
        return generator != generators().end() && !generator->density.empty()
                   ? std::string()
                   : fmt::format("{} has no density", request.kind);
      });
  add_points(options, session, arguments.get(), seed);
  std::vector<std::pair<std::string_view, Action>> actions;
  for (const Generator& generator : generators()) {
    options.heading("For " + std::string(generator.name), [&request, &generator] {
      return request.kind == generator.name ? "" : fmt::format("it belongs to {}", generator.name);
    });
    actions.emplace_back(generator.name, generator.setup(options, session, request));
  }
  return [arguments, &session, actions] {
    for (const auto& [name, action] : actions)
      if (arguments->request.kind == name) return action();
    arguments->points.seed = arguments->request.seed;
    const auto usual =
        arguments->points.kind == core::Generator::lab_atoms ? files::ElementType::f64 : files::ElementType::f32;
    return arguments->dtype.value_or(usual) == files::ElementType::f32 ? generate<float>(*arguments, session)
                                                                       : generate<double>(*arguments, session);
  };
}

}  // namespace gradus::cli
