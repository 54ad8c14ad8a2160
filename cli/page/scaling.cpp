// Puts the scaling of a job over ranks or GPUs on a page.
#include <fmt/format.h>

#include <string>

#include "cli/page/sections.hpp"

namespace gradus::cli {

namespace {

using bench::JsonValue;

constexpr double percent = 100;

/// Returns a series with the figure `key` of each point. A point without this figure has no value.
Series series_of(const JsonValue& points, const std::string& name, const std::string& key, double unit = 1) {
  Series series{.name = name};
  for (const JsonValue& point : points.elements())
    series.values.push_back(point.has(key) ? std::optional<double>(unit * point[key].number()) : std::nullopt);
  return series;
}

std::vector<std::string> places_of(const JsonValue& points, const std::string& key) {
  std::vector<std::string> places;
  for (const JsonValue& point : points.elements()) places.push_back(fmt::format("{}", point[key].whole()));
  return places;
}

std::string counted_text(const JsonValue& value) {
  std::string text = fmt::format("{:.0f}", value.number());
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

void add_curve(Page& page, const JsonValue& curve) {
  const JsonValue points = curve["points"];
  page.heading(3, curve["title"].text());
  Chart time{.kind = Chart::Kind::lines,
             .title = "time by ranks: " + curve["title"].text(),
             .places_name = "ranks",
             .values_name = "median of the fit, s",
             .places = places_of(points, "ranks"),
             .series = {series_of(points, "measured", "seconds"), series_of(points, "side by side", "apart_seconds"),
                        series_of(points, "floor", "floor_seconds"), series_of(points, "model", "model_seconds"),
                        series_of(points, "model of busy cores", "busy_model_seconds")},
             .logarithmic = curve["kind"].text() == "strong"};
  time.series.front().low = series_of(points, "", "lowest").values;
  time.series.front().high = series_of(points, "", "highest").values;
  page.chart(time);
  page.chart({.kind = Chart::Kind::lines,
              .title = "efficiency by ranks: " + curve["title"].text(),
              .places_name = "ranks",
              .values_name = "time of one rank for its share by the time taken, %",
              .places = time.places,
              .series = {series_of(points, "measured", "efficiency", percent),
                         series_of(points, "side by side", "apart_efficiency", percent),
                         series_of(points, "floor", "floor_efficiency", percent)}});
  page.paragraph(
      fmt::format("Model: {:.4g} ns a row and {:.4g} ms an iteration; at most {:.1f} % off. With the time of as many "
                  "processes side by "
                  "side, that know nothing of each other and have a rank's share each: at most {:.1f} % off.",
                  1e9 * curve["seconds_per_row"].number(), 1e3 * curve["seconds_per_iteration"].number(),
                  percent * curve["greatest_deviation"].number(), percent * curve["greatest_busy_deviation"].number()));
  PageTable table{{{"ranks"},
                   {"rows"},
                   {"fit, s"},
                   {"slowest side by side, s"},
                   {"floor, s"},
                   {"of it sums, s"},
                   {"model, s"},
                   {"model off by"},
                   {"with busy cores"},
                   {"efficiency"},
                   {"whole process, s"},
                   {"variant", true}},
                  {}};
  for (const JsonValue& point : points.elements())
    table.rows.push_back(
        {counted_text(point["ranks"]), counted_text(point["rows"]), fmt::format("{:.4g}", point["seconds"].number()),
         fmt::format("{:.4g}", point["apart_seconds"].number()), fmt::format("{:.4g}", point["floor_seconds"].number()),
         fmt::format("{:.3g}", point["sums_seconds"].number()), fmt::format("{:.4g}", point["model_seconds"].number()),
         fmt::format("{:+.1f} %", percent * point["model_deviation"].number()),
         fmt::format("{:+.1f} %", percent * point["busy_model_deviation"].number()),
         fmt::format("{:.3f}", point["efficiency"].number()), fmt::format("{:.3g}", point["process_seconds"].number()),
         point["variant"].text()});
  page.table(table);
}

void add_gpu_curve(Page& page, const JsonValue& curve) {
  const JsonValue points = curve["points"];
  page.heading(3, curve["title"].text());
  constexpr double milliseconds = 1e3;
  Chart time{.kind = Chart::Kind::lines,
             .title = "time by GPUs: " + curve["title"].text(),
             .places_name = "GPUs",
             .values_name = "median iteration, ms",
             .places = places_of(points, "gpus"),
             .series = {series_of(points, "measured", "seconds", milliseconds),
                        series_of(points, "floor", "floor_seconds", milliseconds),
                        series_of(points, "model", "model_seconds", milliseconds)},
             .logarithmic = curve["kind"].text() == "strong"};
  time.series.front().low = series_of(points, "", "lowest", milliseconds).values;
  time.series.front().high = series_of(points, "", "highest", milliseconds).values;
  page.chart(time);
  PageTable table{{{"GPUs"},
                   {"rows"},
                   {"iteration, ms"},
                   {"floor, ms"},
                   {"model, ms"},
                   {"model off by"},
                   {"efficiency"},
                   {"fit, s"},
                   {"with reading and writing, s"},
                   {"whole process, s"},
                   {"variant", true}},
                  {}};
  for (const JsonValue& point : points.elements())
    table.rows.push_back({counted_text(point["gpus"]), counted_text(point["rows"]),
                          fmt::format("{:.4g}", milliseconds * point["seconds"].number()),
                          fmt::format("{:.4g}", milliseconds * point["floor_seconds"].number()),
                          fmt::format("{:.4g}", milliseconds * point["model_seconds"].number()),
                          fmt::format("{:+.1f} %", percent * point["model_deviation"].number()),
                          fmt::format("{:.3f}", point["efficiency"].number()),
                          fmt::format("{:.4g}", point["fit_seconds"].number()),
                          fmt::format("{:.4g}", point["total_seconds"].number()),
                          fmt::format("{:.3g}", point["process_seconds"].number()), point["variant"].text()});
  page.table(table);
}

/// Adds a chart of the predicted efficiencies. `key` is the figure of a point that counts the machines or GPUs.
void add_predicted_chart(Page& page, const JsonValue& predicted, const std::string& key, const std::string& counted) {
  Chart chart{.kind = Chart::Kind::lines,
              .title = "predicted efficiency by " + counted,
              .places_name = counted,
              .values_name = "predicted efficiency, %"};
  for (const JsonValue& curve : predicted["curves"].elements()) {
    chart.places = places_of(curve["points"], key);
    chart.series.push_back(series_of(curve["points"], curve["title"].text() + " (predicted)", "efficiency", percent));
  }
  page.chart(chart);
}

/// Adds a result of bench/scaling/gpus.py.
void add_gpu_scaling(Page& page, const JsonValue& scaling) {
  page.paragraph(fmt::format(
      "One process on several GPUs. The time is the median of {} iterations, and of {} rounds, each of which "
      "ran everything once, in a random order. Floor: the time of one GPU for a GPU's share of the rows. Efficiency: "
      "the floor divided by the time.",
      scaling["iterations"].whole(), scaling["repeats"].whole()));
  const JsonValue link = scaling["link"];
  page.paragraph(fmt::format(
      "Model: the time of the rows and of an iteration, fitted to one GPU, and the time of the sums, fitted to all "
      "shapes: {:.3g} µs for each of 2 ceil(log2 p) steps, and 2 (p-1)/p times the bytes at {:.3g} GB/s.",
      1e6 * link["latency_seconds"].number(), 1e-9 * link["bytes_per_second"].number()));
  for (const JsonValue& curve : scaling["curves"].elements()) add_gpu_curve(page, curve);
  const JsonValue predicted = scaling["predicted"];
  page.heading(3, "Predicted, not measured: up to a thousand GPUs");
  page.paragraph(fmt::format(
      "The model for hosts of {} GPUs like these. Between hosts, each GPU is assumed to send {:g} GB/s, with {:g} µs a "
      "step. Efficiency: the time of one GPU divided by the time of all GPUs, each with the same number of rows.",
      predicted["gpus_of_a_host"].whole(), 1e-9 * predicted["bytes_per_second"].number(),
      1e6 * predicted["latency_seconds"].number()));
  add_predicted_chart(page, predicted, "gpus", "GPUs");
}

void add_checks(Page& page, const JsonValue& checks) {
  PageTable table{{{"what", true}, {"measured"}, {"wanted", true}, {"", true}}, {}};
  for (const JsonValue& check : checks.elements()) {
    const bool reached = check["reached"].truth();
    table.rows.push_back(
        {check["name"].text(),
         fmt::format("{:.3f}", check["value"].number()),
         fmt::format("{} {:g}", check["at_least"].truth() ? "at least" : "at most", check["wanted"].number()),
         {reached ? "reached" : "not reached", reached ? PageTable::Tone::good : PageTable::Tone::bad}});
  }
  page.heading(3, "Targets");
  page.table(table);
}

void add_sums(Page& page, const JsonValue& sums) {
  page.heading(3, "The sums by themselves");
  page.paragraph(
      fmt::format("Between the same processes, of as many bytes; fitted: {:.3g} µs a step and {:.3g} GB/s, for a time "
                  "of 2 ceil(log2 "
                  "p) steps and 2 (p-1)/p times the bytes.",
                  1e6 * sums["latency_seconds"].number(), 1e-9 * sums["bytes_per_second"].number()));
  PageTable table{{{"ranks"}, {"bytes"}, {"median, µs"}, {"fitted, µs"}, {"off by"}}, {}};
  for (const JsonValue& point : sums["points"].elements())
    table.rows.push_back({counted_text(point["ranks"]), counted_text(point["bytes"]),
                          fmt::format("{:.4g}", 1e6 * point["seconds"].number()),
                          fmt::format("{:.4g}", 1e6 * point["model_seconds"].number()),
                          fmt::format("{:+.0f} %", percent * point["model_deviation"].number())});
  page.long_table("each size and number of ranks", table);
}

void add_rule(Page& page, const JsonValue& scaling) {
  page.heading(3, "Rows a rank for 90 %");
  page.paragraph(
      "The number of rows per rank with which p ranks are 0.9 p times as fast as one, by the model fitted to these "
      "measurements: (9 C + (9 - 10/p) L) / t, with C the time of an iteration's sum, L what an iteration takes "
      "whatever the "
      "number of rows, and t the time of a row.");
  PageTable table{{{"input", true}, {"ranks"}, {"rows a rank"}}, {}};
  for (const JsonValue& one : scaling["rule"].elements())
    table.rows.push_back({one["shape"].text(), counted_text(one["ranks"]), counted_text(one["rows"])});
  page.table(table);
}

void add_predicted(Page& page, const JsonValue& predicted) {
  page.heading(3, "Predicted, not measured: up to a thousand machines");
  page.paragraph(
      fmt::format("The model for machines like this one, a rank with {} threads on each: {}, between machines {:g} "
                  "GB/s and {:g} µs a "
                  "step, which are assumed. Efficiency: the time of one machine over p times the time of p machines; "
                  "for weak scaling, with equal rows on each.",
                  predicted["cores"].whole(), predicted["shape"].text(), 1e-9 * predicted["bytes_per_second"].number(),
                  1e6 * predicted["latency_seconds"].number()));
  add_predicted_chart(page, predicted, "nodes", "machines");
  PageTable table{{{"machines"}, {"rows a machine for 90 %, predicted"}}, {}};
  for (const JsonValue& one : predicted["rule"].elements())
    table.rows.push_back({counted_text(one["nodes"]), counted_text(one["rows"])});
  page.table(table);
}

}  // namespace

void add_scaling(Page& page, const JsonValue& scaling) {
  if (const double scale = scaling["scale"].positive(); scale != 1)
    page.paragraph(fmt::format("Inputs at a scale of {:g}.", scale));
  if (scaling.has("gpus")) return add_gpu_scaling(page, scaling);
  page.paragraph(fmt::format(
      "Started by `{}`; a rank has one thread. Floor: the time of one rank for its share of the rows, plus the sums as "
      "measured alone. Medians of {} rounds, each of which ran everything once, in a random order.",
      scaling["mpirun"].text(), scaling["repeats"].whole()));
  add_checks(page, scaling["checks"]);
  for (const JsonValue& curve : scaling["curves"].elements()) add_curve(page, curve);
  if (!scaling["sums"].json().is_null()) add_sums(page, scaling["sums"]);
  add_rule(page, scaling);
  add_predicted(page, scaling["predicted"]);
}

}  // namespace gradus::cli
