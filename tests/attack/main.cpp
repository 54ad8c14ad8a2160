// Compares every variant with references in exact arithmetic on difficult random cases; see README.md.
#include <fmt/format.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "core/names.hpp"
#include "tests/attack/attack.hpp"

namespace gradus::attack {

#define GRADUS_PROBLEM(problem) AttackReport attack_##problem(const AttackOptions& options);
#include "attacked.inc"
#undef GRADUS_PROBLEM

void add_runs(std::vector<Run>& runs, const core::VariantInfo& variant, const AttackOptions& options,
              std::uint64_t number) {
  if (!options.variant.empty() && variant.name != options.variant) return;
  if ((variant.backend == core::Backend::cuda) != (options.device == Device::gpu)) return;
  const std::vector<execution::Way> ways = execution::ways_to_run(variant, options.threads);
  const std::size_t other = ways.size() < 2 ? 0 : 1 + number % (ways.size() - 1);
  for (std::size_t way = 0; way < ways.size(); ++way) {
    if (way != 0 && way != other && number % 8 != 0) continue;
    Run run{ways[way].execution, variant.contract, fmt::format("{}, {}", variant.name, ways[way].text)};
    run.execution.variant = variant.name;
    run.execution.device = options.device;
    runs.push_back(std::move(run));
  }
}

bool CaseReport::judge(const std::string& what, const std::string& wrong, const std::string& headline) {
  ++report_.runs;
  if (wrong.empty()) return false;
  if (++faults_ > 1) return false;
  ++report_.faulty_cases;
  if (!is_shown()) return false;
  fmt::print("FAULT in {}: {}\n  {}\n  again: gradus_attack --problem {} --seed {} --case {}\n", what, wrong, headline,
             problem_, options_.seed, number_);
  return true;
}

void CaseReport::finish() const {
  if (faults_ > 1 && is_shown()) fmt::print("  and {} more faults in this case\n", faults_ - 1);
}

namespace {

struct Room {
  std::string_view problem;
  AttackReport (*attack)(const AttackOptions& options);
};

constexpr Room rooms[] = {
#define GRADUS_PROBLEM(problem) {#problem, attack_##problem},
#include "attacked.inc"
#undef GRADUS_PROBLEM
};

bool report(std::string_view problem, const AttackOptions& options,
            AttackReport (*attack)(const AttackOptions& options)) {
  const AttackReport report = attack(options);
  fmt::print("{}: seed {}, cases {} to {}: {} cases, {} of them refused, {} runs, {} cases with a fault\n", problem,
             options.seed, options.first, options.first + options.cases - 1, report.cases, report.refused, report.runs,
             report.faulty_cases);
  if (report.runs == 0) fmt::print("nothing ran: that is a failure\n");
  return report.faulty_cases == 0 && report.runs > 0;
}

int run(int argc, char** argv) {
  // Flushes each line, so that the name of a case is printed before the case can crash.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  CLI::App app("Compares every variant with references in exact arithmetic on awkward random cases.");
  AttackOptions options;
  std::string problem = "all";
  std::string device = "cpu";
  std::uint64_t only = 0;
  std::vector<std::string> problems{"all"};
  for (const Room& room : rooms) problems.emplace_back(room.problem);
  app.add_option("--problem", problem, fmt::format("one of {}", fmt::join(problems, ", ")))
      ->transform([](const std::string& name) { return core::with_underscores(name); })
      ->check(CLI::IsMember(problems));
  app.add_option("--cases", options.cases, "how many, of each problem (1000)")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of all cases (1)");
  app.add_option("--first", options.first, "number of the first case (0)");
  const CLI::Option* one = app.add_option("--case", only, "this case alone, and a smaller input where it fails");
  app.add_option("--variant", options.variant, "this variant alone");
  app.add_option("--threads", options.threads, "numbers of threads (1,2,3,7)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--device", device, "cpu or gpu: which variants run")->check(CLI::IsMember({"cpu", "gpu"}));
  app.add_option("--instructions", options.instructions, "of k-means: best, tiles, avx512 or avx2 at most")
      ->check(CLI::IsMember({"best", "tiles", "avx512", "avx2"}));
  app.add_option("--show", options.faults_to_show, "print at most this many faulty cases (10)");
  app.add_flag("--shrink", options.shrink, "search a smaller input for each printed fault");
  app.add_flag("--verbose", options.verbose, "name each case");
  CLI11_PARSE(app, argc, argv);
  if (device == "gpu") options.device = Device::gpu;
  if (*one) {
    options.first = only;
    options.cases = 1;
    options.shrink = true;
  }
  bool right = true;
  for (const auto& [name, attack] : rooms)
    if (problem == "all" || problem == name) right = report(name, options, attack) && right;
  return right ? 0 : VerificationError("").exit_status();
}

}  // namespace

}  // namespace gradus::attack

int main(int argc, char** argv) {
  // The test uses more threads than CPUs, so waiting threads must not take CPUs from working threads. The OpenMP
  // runtime has already read its environment, so the program sets OMP_WAIT_POLICY and restarts itself.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
  }
  try {
    return gradus::attack::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gradus_attack: {}\n", error.what());
    return 1;
  }
}
