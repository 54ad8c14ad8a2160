// `gradus report`: shows results as a page of charts and tables.
#include "cli/report.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/page/page.hpp"
#include "cli/page/sections.hpp"
#include "core/atomic_file.hpp"

namespace gradus::cli {

namespace {

namespace fs = std::filesystem;

/// Returns the files for which a path stands. A folder stands for the summary in it. If there is no summary, the folder
/// stands for all results in it, sorted by name.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  if (fs::exists(fs::path(path) / summary_name, error)) return {(fs::path(path) / summary_name).string()};
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.path().extension() == ".json") found.push_back(entry.path().string());
  if (error) throw InputError("cannot read the folder '" + path + "': " + error.message());
  if (found.empty())
    throw InputError("the folder '" + path + "' holds no results: there is no file of the ending .json");
  std::ranges::sort(found);
  return found;
}

void add_file(Page& page, const std::string& path) {
  bench::ResultFile result{path, bench::read_json(path), {}};
  const bench::JsonValue file(result.json, result.path);
  if (bench::is_result(result.json)) {
    result.report = bench::report_of(file);
    add_measurement(page, result);
    return;
  }
  if (!file.has("problem") || !file.has("seconds"))
    file.fail(
        "is no result: it has neither \"groups\", as what 'gradus bench --json' writes, nor \"problem\" and "
        "\"seconds\", as the summary of a job");
  add_summary(page, file);
}

struct ReportArguments {
  std::vector<std::string> results;
  std::string output;
};

int report(const ReportArguments& arguments, const Session& session) {
  std::vector<std::string> inputs;
  for (const std::string& path : arguments.results)
    for (std::string& file : files_of(path)) inputs.push_back(std::move(file));
  require_no_input_overwritten({arguments.output}, inputs);
  core::AtomicFile file(arguments.output, session.execution.stop);
  file.write(page_of(inputs));
  file.commit();
  if (const std::string note = page_note(); !note.empty()) session.note(note);
  session.note(fmt::format("wrote {} to '{}'", counted(std::ssize(inputs), "result"), arguments.output));
  return 0;
}

}  // namespace

std::string page_of(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths)
    for (std::string& file : files_of(path)) all.push_back(std::move(file));
  Page page(all.size() == 1 ? "Gradus: " + fs::path(all.front()).filename().string() : "Gradus: results");
  for (const std::string& path : all) add_file(page, path);
  return page.html();
}

std::string page_of(const nlohmann::ordered_json& measurement) {
  bench::ResultFile result{"", measurement, {}};
  result.report = bench::report_of(bench::JsonValue(result.json, result.path));
  Page page("Gradus: " + with_spaces(result.report.problem));
  add_measurement(page, result);
  return page.html();
}

void write_page(core::AtomicFile& file, const nlohmann::ordered_json& summary,
                const std::function<void(Page&)>& add_answer, const Session& session) {
  const std::string here = "the summary";
  const bench::JsonValue value(summary, here);
  Page page("Gradus: " + with_spaces(value["problem"].text()));
  add_answer(page);
  add_summary(page, value);
  file.write(page.html());
  file.commit();
  if (const std::string note = page_note(); !note.empty()) session.note(note);
}

std::string page_note() {
  return Page::draws()
             ? ""
             : "this build has no library for charts, so the page has tables alone; Debian's libjs-chart.js is it, "
               "when Gradus is built";
}

Action setup_report(Options& options, Session& session) {
  auto arguments = std::make_shared<ReportArguments>();
  ReportArguments* target = arguments.get();
  Options::required(options.files("RESULT", target->results, "RESULT...",
                                  "JSON files of 'gradus bench', summaries of jobs, or folders of them"));
  Options::required(options.file("-o,--output", target->output, "FILE.html", "the page"));
  options.flag("--quiet", session.quiet, "no messages");
  return [arguments, &session] { return report(*arguments, session); };
}

}  // namespace gradus::cli
