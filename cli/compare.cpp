// `gradus compare`: compares results of `gradus bench`.
#include "bench/compare.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"

namespace gradus::cli {

namespace {

struct CompareArguments {
  std::string before;
  std::string after;
  std::vector<std::string> more;     ///< further pairs of files; in each pair, the old result precedes the new one
  std::optional<double> fail_above;  ///< slowdown above which the command fails, as a fraction: 0.05 is 5 %
  bool any_machine = false;
};

std::vector<std::string> cells_of(const bench::Change& change) {
  const bench::Row& row = *change.after;
  const auto time = [](const bench::Row& one) {
    return one.trouble.empty() ? bench::milliseconds(one.seconds.median) : std::string("-");
  };
  std::vector<std::string> cells = {
      row.variant,
      row.ranks > 1 ? fmt::format("{} x {}", row.ranks, row.threads) : fmt::format("{}", row.threads),
      std::string(to_string(row.pinning)),
      row.block_size > 0 ? fmt::format("{}", row.block_size) : "-",
      time(*change.before),
      time(row)};
  const bool both = change.before->trouble.empty() && row.trouble.empty();
  cells.push_back(both ? fmt::format("{:.3f}", change.ratio.estimate) : "-");
  cells.push_back(both && change.ratio.low > 0 ? fmt::format("{:.3f} to {:.3f}", change.ratio.low, change.ratio.high)
                                               : "-");
  cells.push_back(both ? fmt::format("{:.3f}", change.machine) : "-");
  cells.emplace_back(to_string(change.mark));
  return cells;
}

std::string comparison_text(const bench::Comparison& comparison, const Session& session) {
  std::string text;
  for (auto first = comparison.changes.begin(); first != comparison.changes.end();) {
    TextTable table({{"variant", TextTable::Align::left},
                     {"threads"},
                     {"pin"},
                     {"block"},
                     {"old ms"},
                     {"new ms"},
                     {"ratio"},
                     {"interval"},
                     {"machine"},
                     {"", TextTable::Align::left}});
    const bench::Group* const group = first->group;
    for (; first != comparison.changes.end() && first->group == group; ++first) table.add(cells_of(*first));
    text += fmt::format("{}\n{}\n", session.bold(group->title), table.text(session));
  }
  return text;
}

void note_what_else_differs(const bench::ResultFile& before, const bench::ResultFile& after, const Session& session) {
  for (const char* fact : {"commit", "compiler", "flags"}) {
    const auto one = before.json["facts"][fact].get<std::string>();
    const auto other = after.json["facts"][fact].get<std::string>();
    if (one != other) session.note(fmt::format("{}: {}, then {}", fact, one, other));
  }
}

std::int64_t count(const bench::Comparison& comparison, bench::Mark mark) {
  return std::ranges::count(comparison.changes, mark, &bench::Change::mark);
}

bool is_failure(const bench::Change& change, double share) {
  return change.mark == bench::Mark::broken ||
         (change.mark == bench::Mark::slower && change.ratio.estimate > 1 + share);
}

std::string legend(const bench::Comparison& comparison, std::size_t pairs) {
  const std::string rows = counted(std::ssize(comparison.changes), "row");
  const double confidence = 100 * (1 - bench::doubt_of_all_rows);
  const double negligible = 100 * (bench::negligible_ratio - 1);
  if (pairs > 1)
    return fmt::format(
        "old, new: medians of the first pair. ratio: fastest new sample divided by fastest old one, the median of {} "
        "pairs. interval: holds the ratios of all {} with a confidence of {:g} %, if the results of each pair were "
        "measured one after the other. machine: the ratio of the ceilings. A row is slower if its interval is above 1 "
        "and the machine's ratio by more than {:.0f} %; faster if it is below both.",
        pairs, rows, confidence, negligible);
  return fmt::format(
      "ratio: new time divided by old time. interval: holds the ratios of all {} with a confidence of {:g} %. "
      "machine: the ratio of the ceilings. A row is slower if its interval is above 1 and the machine's ratio, and its "
      "fastest new sample above three quarters of the old ones, by more than {:.0f} %; faster if the same holds below.",
      rows, confidence, negligible);
}

int compare(const CompareArguments& arguments, const Session& session) {
  if (arguments.more.size() % 2 != 0)
    throw UsageError("results come in pairs, OLD NEW OLD NEW ...: '" + arguments.more.back() + "' is alone");
  std::vector<bench::ResultFile> all_before;
  std::vector<bench::ResultFile> all_after;
  all_before.push_back(bench::read_result(arguments.before));
  all_after.push_back(bench::read_result(arguments.after));
  for (std::size_t place = 0; place < arguments.more.size(); place += 2) {
    all_before.push_back(bench::read_result(arguments.more[place]));
    all_after.push_back(bench::read_result(arguments.more[place + 1]));
  }
  const bench::ResultFile& before = all_before.front();
  const bench::ResultFile& after = all_after.front();
  for (const std::vector<bench::ResultFile>* files : {&all_after, &all_before})
    for (const bench::ResultFile& other : *files) {
      const std::string difference = difference_of_machines(before, other);
      if (difference.empty()) continue;
      if (!arguments.any_machine)
        throw InputError(difference +
                         ": times of different machines say nothing of a change (--any-machine compares them)");
      session.note("these are different machines: " + difference);
    }
  const bench::Comparison comparison = bench::compare(all_before, all_after);
  if (session.json) {
    nlohmann::ordered_json json = {{"old", arguments.before}, {"new", arguments.after}, {"pairs", all_before.size()}};
    json.update(bench::to_json(comparison));
    session.print_json(json);
  } else {
    constexpr std::size_t columns = 110;
    session.print(comparison_text(comparison, session) + wrapped(legend(comparison, all_before.size()), 0, columns) +
                  "\n");
  }
  note_what_else_differs(before, after, session);
  for (const std::string& row : comparison.only_before) session.note("only in '" + arguments.before + "': " + row);
  for (const std::string& row : comparison.only_after) session.note("only in '" + arguments.after + "': " + row);
  if (const std::int64_t few = count(comparison, bench::Mark::few); few > 0) {
    session.note(
        all_before.size() > 1
            ? fmt::format("{} have too few pairs to separate a change from noise: {} are needed", counted(few, "row"),
                          bench::fewest_pairs(comparison.doubt))
            : fmt::format(
                  "{} have too few samples to separate a change from noise: measure both with --repeats {} or more",
                  counted(few, "row"), std::max(bench::fewest_samples(comparison.doubt), 15)));
  }
  session.note(fmt::format("{} slower, {} faster", counted(count(comparison, bench::Mark::slower), "row"),
                           count(comparison, bench::Mark::faster)));
  if (!arguments.fail_above) return 0;
  const auto failures = std::ranges::count_if(
      comparison.changes, [&](const bench::Change& change) { return is_failure(change, *arguments.fail_above); });
  if (failures == 0) return 0;
  session.note(fmt::format("{} slower by more than {:g} %, or without a result now", counted(failures, "row"),
                           100 * *arguments.fail_above));
  return Error("").exit_status();
}

}  // namespace

Action setup_compare(Options& options, Session& session) {
  auto arguments = std::make_shared<CompareArguments>();
  CompareArguments* target = arguments.get();
  Options::required(options.file("OLD", target->before, "OLD", "a result of 'gradus bench --json FILE'"));
  Options::required(options.file("NEW", target->after, "NEW", "a later result"));
  options.files("MORE", target->more, "OLD NEW...",
                "further pairs, each measured in turns; they reveal a change even on a busy machine");
  options.value("--fail-above", "PERCENT", "exit with status 1 if a row became slower by more than this, such as 5%",
                [target](const std::string& text) {
                  const std::string number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
                  target->fail_above = 0.01 * parse_real("--fail-above", number, 0, 1e6);
                });
  options.flag("--any-machine", target->any_machine, "allow results of different machines");
  return [arguments, &session] { return compare(*arguments, session); };
}

}  // namespace gradus::cli
