// The table of subcommands: first the commands of each problem, then the general commands.
#include <algorithm>

#include "cli/command.hpp"

namespace gradus::cli {

#define GRADUS_PROBLEM(problem) ProblemCommands problem##_commands();
#include "problems.inc"
#undef GRADUS_PROBLEM

namespace {

std::vector<Command> commands_of_the_program() {
  return {
      {"generate", "make inputs, including the inputs of published experiments",
       "gradus generate blobs -n 100000 -d 2 --clusters 16 -o blobs.npy\n"
       "gradus generate uniform -n 10000 -d 3 --low 0 --high 40 --dtype f64 -o atoms.npy\n"
       "gradus generate lab-points --size-mib 64 -d 16 --dtype f64 -o lab-points.npy\n"
       "gradus generate lab-atoms -n 10000 -o lab-atoms.npy",
       Common::output, "", setup_generate},
      {"list", "list every variant, where it runs, and why not here", "", Common::output, "", setup_list},
      {"verify", "run every variant against its oracle", "", Common::output, "", setup_verify},
      {"bench", "measure variants, or repeat a published experiment", "", Common::none, "", setup_bench},
      {"compare", "compare results of bench: what became slower or faster by more than noise",
       "gradus compare old.json new.json\n"
       "gradus compare old.json new.json --fail-above 5%",
       Common::output, "", setup_compare},
      {"report", "show results as a page of charts and tables",
       "gradus report old.json -o page.html\n"
       "gradus kmeans points.npy -k 3 -o clusters\n"
       "gradus report clusters -o clusters.html",
       Common::none, "", setup_report},
      {"info", "show this machine and this build", "gradus info", Common::output, "", setup_info},
      {.name = "completion",
       .summary = "print completions for bash, zsh or fish",
       .examples = "mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc ~/.config/fish/completions\n"
                   "gradus completion bash > ~/.local/share/bash-completion/completions/gradus\n"
                   "gradus completion zsh > ~/.zfunc/_gradus\n"
                   "gradus completion fish > ~/.config/fish/completions/gradus.fish",
       .common = Common::none,
       .problem = "",
       .setup = setup_completion,
       .prints_all_options = true},
      {.name = "manual",
       .summary = "print the manual page",
       .examples = "gradus manual > gradus.1",
       .common = Common::none,
       .problem = "",
       .setup = setup_manual,
       .prints_all_options = true},
  };
}

const std::vector<ProblemCommands>& problems() {
  static const std::vector<ProblemCommands> all = {
#define GRADUS_PROBLEM(problem) problem##_commands(),
#include "problems.inc"
#undef GRADUS_PROBLEM
  };
  return all;
}

std::vector<Command> all_commands() {
  std::vector<Command> all;
  for (const ProblemCommands& problem : problems())
    all.insert(all.end(), problem.commands.begin(), problem.commands.end());
  for (Command& command : commands_of_the_program()) {
    for (const ProblemCommands& problem : problems())
      for (const auto& [name, line] : problem.examples)
        if (name == command.name) command.examples.append(command.examples.empty() ? "" : "\n").append(line);
    all.push_back(std::move(command));
  }
  return all;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = all_commands();
  return all;
}

const std::vector<Generator>& generators() {
  static const std::vector<Generator> all = [] {
    std::vector<Generator> found;
    for (const ProblemCommands& problem : problems())
      found.insert(found.end(), problem.generators.begin(), problem.generators.end());
    return found;
  }();
  return all;
}

}  // namespace gradus::cli
