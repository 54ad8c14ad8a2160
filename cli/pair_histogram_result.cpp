// Results of `gradus pair-histogram`: radial distributions, the table of bins, and the summary.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "cli/errors.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/pair_histogram_result.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"
#include "gradus/frame_averages.hpp"

namespace gradus::cli::pairs {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the distribution of the points of the second set around the points of the first set. If `swapped` is true,
/// exchanges the two sets.
Radial radial_of(const Sum& sum, const Part& part, std::int64_t blocks, bool swapped = false) {
  const auto of = [&](const PairHistogramResult& histogram, std::int64_t points, double pairs_per_volume,
                      std::vector<double> shells) {
    for (double& shell : shells) shell /= pairs_per_volume > 0 ? pairs_per_volume : 1;
    return pair_histogram_radial_distribution(histogram, sum.dimensions,
                                              {.points = static_cast<double>(points),
                                               .pairs_per_volume = pairs_per_volume,
                                               .cross = !part.is_within,
                                               .shells = std::move(shells)});
  };
  Radial radial{of(part.histogram, swapped ? part.others : part.points, part.pairs_per_volume, part.uniform), {}, {}};
  if (blocks == 0) return radial;
  const std::int64_t frames = std::ssize(part.frames);
  std::vector<PairHistogramRadialDistribution> of_blocks;
  for (std::int64_t block = 0; block < blocks; ++block) {
    PairHistogramResult counted = part.histogram;
    std::ranges::fill(counted.counts, std::uint64_t{0});
    std::int64_t points = 0;
    double pairs_per_volume = 0;
    std::vector<double> uniform;
    for (std::int64_t frame = frames * block / blocks; frame < frames * (block + 1) / blocks; ++frame) {
      const Part::Share& share = part.frames[static_cast<std::size_t>(frame)];
      for (std::size_t bin = 0; bin < counted.counts.size(); ++bin) counted.counts[bin] += share.counts[bin];
      points += swapped ? share.others : share.points;
      pairs_per_volume += share.pairs_per_volume;
      add_to(uniform, share.uniform);
    }
    of_blocks.push_back(of(counted, points, pairs_per_volume, std::move(uniform)));
    // A block without pairs or points has no value, so that it does not count.
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    if (pairs_per_volume == 0) std::ranges::fill(of_blocks.back().g, missing);
    if (points == 0) std::ranges::fill(of_blocks.back().coordination, missing);
  }
  const auto errors_of = [&](std::vector<double> PairHistogramRadialDistribution::*values) {
    Matrix<double> rows(blocks, std::ssize(radial.g));
    for (std::int64_t block = 0; block < blocks; ++block)
      std::ranges::copy(of_blocks[static_cast<std::size_t>(block)].*values, rows.row(block));
    return standard_errors(rows);
  };
  radial.g_error = errors_of(&PairHistogramRadialDistribution::g);
  radial.coordination_error = errors_of(&PairHistogramRadialDistribution::coordination);
  return radial;
}

/// Returns a name that needs no quotes in any file format.
std::string column_name(std::string_view what, const std::string& first, const std::string& second) {
  std::string name = fmt::format("{}_{}-{}", what, first, second);
  for (char& character : name)
    if (character <= ' ' || character > '~' || std::string_view(",;\"'\\").find(character) != std::string_view::npos)
      character = '_';
  return name;
}

/// If the box repeats in only some columns (a layer or a wire), returns these columns, otherwise "".
std::string periodic_columns(PairHistogramOptions options) {
  if (options.box.empty() || !options.dimensions.empty()) return {};
  for (const char* const columns : {"xy", "xz", "yz", "x", "y", "z"}) {
    if (options.periodic.size() != std::string_view(columns).size()) continue;
    options.dimensions = columns;
    try {
      if (pair_histogram_has_volume(options)) return columns;
    } catch (const UsageError&) {  // a vector of the cell has components outside of these columns
    }
  }
  return {};
}

}  // namespace

template <class T>
files::Points read_others(const std::string& path, files::ReadOptions reading, const files::Points& points,
                          const std::string& input) {
  const std::vector<std::string>& names = points.column_names;
  if (reading.columns.taken.empty()) {
    reading.columns.expected = names;
    reading.columns.expected_by = shown_path(input);
  }
  files::Points others = read_points_as<T>(path, std::move(reading));
  const std::vector<std::string>& other_names = others.column_names;
  for (std::size_t column = 0; column < names.size(); ++column) {
    const bool is_elsewhere = std::ranges::find(other_names, names[column]) != other_names.end();
    if (!is_elsewhere || (column < other_names.size() && other_names[column] == names[column])) continue;
    throw InputError(
        fmt::format("{}: the columns are {}, but {} has them in another order, {}; choose the same columns of both "
                    "by their names, as in --columns x,y,z",
                    shown_path(path), core::excerpt(fmt::format("{}", fmt::join(other_names, ","))), shown_path(input),
                    core::excerpt(fmt::format("{}", fmt::join(names, ",")))),
        {.code = error_code::bad_input, .file = path});
  }
  return others;
}
template files::Points read_others<float>(const std::string&, files::ReadOptions, const files::Points&,
                                          const std::string&);
template files::Points read_others<double>(const std::string&, files::ReadOptions, const files::Points&,
                                           const std::string&);

void require_frames_for_blocks(const Arguments& arguments, std::int64_t frames) {
  if (frames >= arguments.blocks) return;
  throw InputError(
      fmt::format("{}: {} counted, and --blocks {} needs at least as many frames as blocks; {}",
                  shown_path(arguments.input), frames == 1 ? "1 frame is" : fmt::format("{} frames are", frames),
                  arguments.blocks,
                  frames < 2 ? "leave out --blocks" : fmt::format("at most --blocks {} is possible", frames)),
      {.code = error_code::bad_input, .file = arguments.input});
}

void add_to(std::vector<double>& sum, const std::vector<double>& numbers) {
  sum.resize(numbers.size());
  for (std::size_t at = 0; at < numbers.size(); ++at) sum[at] += numbers[at];
}

double volume_of(const Arguments& arguments, const Box& box) {
  if (arguments.volume > 0) return arguments.volume;
  const PairHistogramOptions options = options_in(arguments, box);
  if (!pair_histogram_has_volume(options)) {
    const std::string columns = periodic_columns(options);
    throw UsageError(
        "--rdf compares with as many points spread uniformly; give their volume (--volume) or a --box that is periodic "
        "in all directions" +
        (columns.empty() ? "" : fmt::format(", or measure in the periodic ones alone (--dimensions {})", columns)));
  }
  return pair_histogram_volume(options.box, options.periodic, options.dimensions);
}

void require_space(const Sum& sum) {
  if (sum.dimensions != 3) return;
  for (const Part& part : sum.parts)
    if (const std::string& flat = part.histogram.flat; !flat.empty())
      throw UsageError(fmt::format(
          "--rdf: all points have the same {0}, and the box is thin there, so that shells in space do not fit them; "
          "--dimensions {1} counts in their plane, --dimensions xyz in space all the same",
          flat,
          flat == "x"   ? "yz"
          : flat == "y" ? "xz"
                        : "xy"));
}

std::vector<std::optional<Radial>> radials_of(const Arguments& arguments, const Sum& sum) {
  std::vector<std::optional<Radial>> radials(sum.parts.size());
  for (std::size_t part = 0; arguments.radial && part < radials.size(); ++part)
    radials[part] = radial_of(sum, sum.parts[part], arguments.blocks);
  return radials;
}

Table table_of(const Arguments& arguments, const Sum& sum, const std::vector<std::optional<Radial>>& radials) {
  Table table;
  const std::vector<double>& edges = sum.parts.front().histogram.edges;
  table.add("lo", std::vector<double>(edges.begin(), edges.end() - 1));
  table.add("hi", std::vector<double>(edges.begin() + 1, edges.end()));
  if (arguments.centers) {
    std::vector<double> centers;
    for (std::size_t bin = 0; bin + 1 < edges.size(); ++bin) centers.push_back(edges[bin] / 2 + edges[bin + 1] / 2);
    table.add("center", std::move(centers));
  }
  for (std::size_t index = 0; index < sum.parts.size(); ++index) {
    const Part& part = sum.parts[index];
    const std::optional<Radial>& radial = radials[index];
    const auto named = [&](const char* what, bool swapped = false) {
      if (!arguments.partial) return std::string(what);
      return swapped ? column_name(what, part.second, part.first) : column_name(what, part.first, part.second);
    };
    table.add(named("count"), std::span<const std::uint64_t>(part.histogram.counts));
    if (!part.histogram.weighted.empty()) table.add(named("weight"), part.histogram.weighted);
    if (!radial) continue;
    table.add(named("g"), radial->g);
    if (!arguments.partial) table.add("density", radial->density);
    table.add(named("coordination"), radial->coordination);
    const bool both_ways = arguments.partial && !part.is_within;
    const Radial back = both_ways ? radial_of(sum, part, arguments.blocks, true) : Radial();
    if (both_ways) table.add(named("coordination", true), back.coordination);
    if (arguments.blocks == 0) continue;
    table.add(named("g_error"), radial->g_error);
    table.add(named("coordination_error"), radial->coordination_error);
    if (both_ways) table.add(named("coordination_error", true), back.coordination_error);
  }
  return table;
}

namespace {

/// Returns the mean number of points of a frame, as an integer if it is one.
Json mean_number(std::int64_t sum, std::int64_t frames) {
  if (sum % frames == 0) return sum / frames;
  return static_cast<double>(sum) / static_cast<double>(frames);
}

}  // namespace

void deliver_table(Destination& destination, const Session& session, const Table& table,
                   const std::function<Json()>& summary) {
  if (destination.is_file()) {
    core::AtomicFile& file = destination.file();
    if (destination.format() == TableFormat::npy) {
      files::write_npy_table(file, table.columns);
    } else {
      const std::string text =
          destination.format() == TableFormat::csv ? csv_text(table.columns) : json_text(summary());
      file.expect(text.size());
      file.write(text);
    }
    file.commit();
  }
  if (session.json) session.print_json(summary());
  else if (!destination.is_file()) session.print(csv_text(table.columns));
}

std::string csv_text(std::span<const files::NpyColumn> columns) {
  const auto text_of = [](auto value) {
    if constexpr (std::is_same_v<decltype(value), double>) return core::number_text(value);
    else return std::to_string(value);
  };
  std::string text;
  const auto end_field = [&](std::size_t column) { text += column + 1 == columns.size() ? '\n' : ','; };
  for (std::size_t column = 0; column < columns.size(); ++column) {
    text += columns[column].name;
    end_field(column);
  }
  const std::size_t rows = std::visit([](const auto& values) { return values.size(); }, columns.front().values);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns.size(); ++column) {
      text += std::visit([&](const auto& values) { return text_of(values[row]); }, columns[column].values);
      end_field(column);
    }
  return text;
}

nlohmann::ordered_json summary_of(const Arguments& arguments, const Sum& sum, const char* dtype,
                                  const std::vector<std::optional<Radial>>& radials) {
  const Part& whole = sum.parts.front();
  const RunReport& report = whole.histogram.report;
  Json summary{{"problem", "pair_histogram"},
               {"input", arguments.input},
               {"n", mean_number(arguments.partial ? sum.all_points : whole.points, sum.frames)},
               {"d", sum.dimensions},
               {"frames", sum.frames},
               {"cross", arguments.is_cross() ? mean_number(whole.others, sum.frames) : Json(nullptr)},
               {"dtype", dtype},
               {"variant", report.variant},
               {"device", report.device},
               {"threads", report.threads},
               {"box", sum.box.lengths.empty() ? Json(nullptr) : Json(sum.box.lengths)},
               {"periodic", sum.box.lengths.empty() ? Json(nullptr) : Json(sum.box.periodic)}};
  const auto describe = [&arguments](Json& into, const Part& part, const std::optional<Radial>& radial) {
    into["pairs"] = part.histogram.pairs;
    if (arguments.exclude) into["excluded"] = part.excluded;
    into["below"] = part.histogram.below;
    into["beyond"] = part.histogram.beyond;
    into["counts"] = part.histogram.counts;
    if (!part.histogram.weighted.empty()) into["weighted"] = part.histogram.weighted;
    if (!radial) return;
    into["g"] = radial->g;
    into["density"] = radial->density;
    into["coordination"] = radial->coordination;
    if (arguments.blocks == 0) return;
    into["g_error"] = radial->g_error;
    into["coordination_error"] = radial->coordination_error;
  };
  summary["edges"] = whole.histogram.edges;
  if (!arguments.partial) describe(summary, whole, radials.front());
  for (std::size_t index = 0; arguments.partial && index < sum.parts.size(); ++index) {
    const Part& part = sum.parts[index];
    Json of_part{{"kinds", {part.first, part.second}},
                 {"n", mean_number(part.points, sum.frames)},
                 {"cross", part.is_within ? Json(nullptr) : mean_number(part.others, sum.frames)}};
    describe(of_part, part, radials[index]);
    summary["partial"].push_back(std::move(of_part));
  }
  summary["rechecked"] = report.rechecked;
  summary["memory_bytes"] = sum.memory;
  return summary;
}

std::string closing_line(const Sum& sum, const char* dtype, double seconds, const std::string& threads) {
  std::uint64_t pairs = 0;
  std::uint64_t below = 0;
  std::uint64_t beyond = 0;
  for (const Part& part : sum.parts) {
    pairs += part.histogram.pairs;
    below += part.histogram.below;
    beyond += part.histogram.beyond;
  }
  const PairHistogramResult& result = sum.parts.front().histogram;
  const auto count = [](std::uint64_t number) { return grouped(static_cast<std::int64_t>(number)); };
  const std::string frames = sum.frames == 1 ? "" : " in " + counted(sum.frames, "frame");
  return fmt::format("{} x {}{} ({}), {}: {} in {}, {}{} beyond, {:.3g} s, {}, {}", counted(sum.all_points, "point"),
                     sum.dimensions, frames, dtype, counted(static_cast<std::int64_t>(pairs), "pair"),
                     count(pairs - below - beyond), counted(std::ssize(result.counts), "bin"),
                     below > 0 ? count(below) + " below, " : "", count(beyond), seconds, result.report.variant,
                     threads);
}

}  // namespace gradus::cli::pairs
