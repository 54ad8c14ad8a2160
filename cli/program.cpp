// The program: parses the command line, runs one subcommand, and turns errors into messages and exit statuses.
#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "bench/problem.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/help.hpp"
#include "cli/processes.hpp"
#include "cli/program.hpp"
#include "cli/ranks.hpp"
#include "cli/repeat.hpp"
#include "cli/terminal.hpp"
#include "core/float_environment.hpp"
#include "core/names.hpp"
#include "core/text.hpp"
#include "execution/devices.hpp"
#include "execution/gpu_group.hpp"
#include "files/file.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

namespace {

/// Turns the first SIGINT or SIGTERM into a stop request, which ends the job and removes its unfinished files. A second
/// signal ends the process at once. Must be called before any other thread starts, because threads inherit the signal
/// mask.
std::stop_token stop_on_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source source;
  const auto wait = [signals, source]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    source.request_stop();
    sigwait(&signals, &signal);
    restore_terminal();
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    std::raise(signal);
  };
  try {
    std::thread(wait).detach();
  } catch (const std::system_error& error) {
    throw Error("cannot start the thread that waits for signals: " + error.code().message() +
                "; raise the limit (ulimit -u, ulimit -v, or the container's limit)");
  }
  return source.get_token();
}

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override { return help_of(*app); }
};

void add_output_options(Options& options, Session& session) {
  options.heading(std::string(output_heading));
  options.flag("--json", session.json, "print the result as JSON on standard output");
  options.flag("--quiet", session.quiet, "no messages and no progress");
}

void add_threads(Options& options, Execution& execution) {
  options.value("--threads", "N", "number of threads [one per core]", [&execution](const std::string& text) {
    execution.threads = static_cast<int>(parse_whole("--threads", text, 1, 4096));
  });
}

constexpr int most_gpus = 1024;

void add_device(Options& options, Session& session) {
  options.value("--device", bench::form_of(core::detail::choices_of<Device>) + "[:N]",
                "where to run; auto uses a GPU if that is faster [auto]",
                [&session](const std::string& text) {
                  Execution& execution = session.execution;
                  session.names_gpu = text.starts_with("gpu:");
                  if (session.names_gpu) {
                    execution.device = Device::gpu;
                    execution.gpu = static_cast<int>(parse_whole("--device", text.substr(4), 0, most_gpus - 1));
                    return;
                  }
                  execution.device = bench::parse_enum<Device>("--device", text);
                },
                {.choices = bench::names_of<Device>()});
}

/// Parses a number of GPUs. The error also names the other values of --gpus.
int parse_gpu_count(const std::string& text) {
  try {
    return static_cast<int>(parse_whole("--gpus", text, 1, most_gpus));
  } catch (const UsageError& error) {
    ErrorFields fields = error.fields();
    fields.allowed += ", a list such as 0,2, all, or auto";
    throw UsageError(about("--gpus") + core::excerpt(text) + " is not " + fields.allowed, fields);
  }
}

/// Adds --gpus. Its value is "all" or a number, which the parser only stores. resolve_gpus() finds the GPUs later.
/// Errors in the command line are thus reported without a search for GPUs.
void add_gpus(Options& options, Session& session) {
  options.ineffective_if(
      options.value("--gpus", "all|auto|N|LIST",
                    "share the job among all GPUs, as many as pay, the first N, or these, such as 0,2; the result has "
                    "the same bits",
                    [&session](const std::string& text) {
                      session.execution.gpus.clear();
                      session.gpu_count.reset();
                      session.chooses_gpus = text == "auto";
                      if (session.chooses_gpus) return;
                      if (text == "all") session.gpu_count = 0;
                      else if (text.find(',') == std::string::npos) session.gpu_count = parse_gpu_count(text);
                      else session.execution.gpus = parse_whole_list("--gpus", text, 0, most_gpus - 1);
                    },
                    {.choices = {"all", "auto"}}),
      [&session]() -> std::string {
        if (session.names_gpu) return "--device names one GPU; leave out one of the two";
        return session.execution.device == Device::cpu ? "--device cpu uses no GPU; leave out one of the two" : "";
      });
}

/// Finds the GPUs that --gpus requests. Throws UnsupportedError if the program runs as several ranks, or if the machine
/// has too few GPUs.
void resolve_gpus(Session& session) {
  Execution& execution = session.execution;
  if (!session.gpu_count && !session.chooses_gpus && execution.gpus.empty()) return;
  if (session.job)
    throw UnsupportedError(
        "--gpus: a launcher has started several processes, and each uses one GPU; start one process for each GPU, "
        "without "
        "--gpus");
  if (session.chooses_gpus) return;
  if (session.gpu_count) execution.gpus = execution::first_gpus(execution::this_machine(), *session.gpu_count);
  for (const int gpu : execution.gpus) execution::require_gpu(execution::this_machine(), gpu);
  execution = execution::on_listed_gpus(execution);
}

void add_limits(Options& options, Execution& execution) {
  options.bytes("--memory-limit", execution.memory_limit,
                "refuse a job that needs more memory than this, such as 500M or 1.5G [free memory]");
  options.ineffective_if(options.bytes("--gpu-memory-limit", execution.gpu_memory_limit,
                                       "use no more GPU memory than this, such as 8G [free GPU memory]"),
                         [&execution] {
                           return execution.device == Device::cpu ? "--device cpu uses no GPU; leave out one of the two"
                                                                  : "";
                         });
}

void add_job_options(Options& options, Session& session, std::string_view problem) {
  Execution& execution = session.execution;
  options.heading(std::string(job_heading));
  add_device(options, session);
  add_gpus(options, session);
  options.value("--variant", "NAME", fmt::format("run this variant ('gradus list {}') instead of the best", problem),
                [&execution, problem](const std::string& text) {
                  bench::variant_info(bench::find_problem(problem), text);
                  execution.variant = core::with_underscores(text);
                },
                {.choices = bench::variant_names(bench::find_problem(problem))});
  add_threads(options, execution);
  options.choice("--pin", execution.pinning,
                 "bind threads to cores, adjacent ones (compact) or distant ones (scatter)");
  options.value("--block-size", "N", "threads per GPU block [the variant's default]",
                [&execution](const std::string& text) {
                  execution.block_size = static_cast<int>(parse_whole("--block-size", text, 1, 1024));
                });
  add_limits(options, execution);
}

/// Returns a suggestion for a misspelt option, "did you mean …", or "" if no option has a similar name.
std::string nearest_option(const CLI::App& app, const std::string& typed) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  // An abbreviation has a large edit distance from the full name, so it is compared as a prefix.
  for (const std::string& name : names)
    if (typed.size() > 3 && name.starts_with(typed))
      return core::did_you_mean(name, std::vector<std::string_view>{name});
  return core::did_you_mean(typed, std::vector<std::string_view>(names.begin(), names.end()));
}

const CLI::App& chosen_subcommand(const CLI::App& root) {
  const std::vector<CLI::App*> chosen = const_cast<CLI::App&>(root).get_subcommands();
  return chosen.empty() ? root : *chosen.front();
}

/// Throws UsageError if an option has no value or too many values.
void refuse_count(const CLI::App& app, const std::vector<std::string>& words, const std::string& help) {
  for (const CLI::Option* option : app.get_options())
    if (const int most = option->get_items_expected_max(); most > 0 && static_cast<int>(option->count()) > most)
      throw UsageError(signature_of(*option) + ": it was given more than once" + help);
  const auto is_option = [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])));
  };
  for (std::size_t at = 0; at < words.size() && words[at] != "--"; ++at) {
    const std::string& word = words[at];
    const std::size_t name_end = word.find('=');
    const CLI::Option* const option = is_option(word) ? app.get_option_no_throw(word.substr(0, name_end)) : nullptr;
    const bool has_value =
        name_end == std::string::npos ? at + 1 < words.size() && !is_option(words[at + 1]) : name_end + 1 < word.size();
    if (option != nullptr && option->get_items_expected_min() > 0 && !has_value)
      throw UsageError(signature_of(*option) + ": the value is missing" + help);
  }
}

std::string help_hint(const CLI::App& app) {
  return "; 'gradus" + (app.get_parent() == nullptr ? "'" : " " + app.get_name() + " --help'") +
         " shows what is possible";
}

void require_options(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->get_required() && option->count() == 0)
      throw UsageError(signature_of(*option) + " is missing; usage: " + usage_of(app) + help_hint(app));
}

/// Parses the command line. With --repeat, the record supplies the options that the command line lacks.
void parse(CLI::App& root, std::vector<std::string> words, Session& session) {
  const std::vector<CLI::App*> apps =
      root.get_subcommands([&](const CLI::App* app) { return app->check_name(words.front()); });
  CLI::App* const app = apps.empty() ? nullptr : apps.front();
  const bool repeated = app != nullptr && app->get_option_no_throw("--repeat") != nullptr && repeats(words);
  const std::vector<CLI::Option*> required = repeated ? take_requirements(*app) : std::vector<CLI::Option*>{};
  std::ranges::reverse(words);  // root.parse() expects the arguments in reverse order
  root.parse(std::move(words));
  if (app != nullptr && !session.repeat.empty()) {
    const auto record = std::make_shared<RepeatedRecord>(session.repeat);
    record->complete(*app, session);
    session.record = record;
  }
  for (CLI::Option* option : required) option->required();
  if (repeated) require_options(*app);
}

/// Reports an invalid command line in the style of the program.
[[noreturn]] void explain(const CLI::App& root, const std::vector<std::string>& words, const CLI::ParseError& error) {
  const CLI::App& app = chosen_subcommand(root);
  const std::string help = help_hint(app);
  const std::vector<std::string> rest = root.remaining(true);
  // The list of words that the parser did not use may include "--".
  const auto extra = std::ranges::find_if(rest, [](const std::string& word) { return word != "--"; });
  if (extra != rest.end()) {
    const std::string& first = *extra;
    const std::string typed = first.substr(0, first.find('='));
    const auto end_of_options = std::ranges::find(words, "--");
    const bool is_option = std::find(words.begin(), end_of_options, first) != end_of_options;
    if (first.starts_with("-") && first != "-" && is_option)
      throw UsageError("there is no option " + core::excerpt(typed) + nearest_option(app, typed) + help);
    throw UsageError("one argument too many: " + core::excerpt(first) + help);
  }
  require_options(app);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) refuse_count(app, words, help);
  throw UsageError(error.what() + help);
}

void require_command(const std::string& word) {
  if (word == "--") throw UsageError("the command comes first, and '--' behind it; 'gradus' shows what is possible");
  if (word.starts_with("-")) return;
  std::vector<std::string_view> names;
  for (const Command& command : commands()) names.push_back(command.name);
  if (std::ranges::find(names, word) == names.end())
    throw UsageError("there is no command " + core::excerpt(word) + core::did_you_mean(word, names) +
                     "; 'gradus' shows what is possible");
}

/// Returns a text for each option that the user gave. Options about where and how a process runs, and options about its
/// output, may differ between ranks and are left out.
std::vector<std::string> given_to(const CLI::App& app) {
  std::vector<std::string> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_group() == job_heading || option->get_group() == output_heading) continue;
    given.push_back(option->get_positional() ? option->get_option_text() : "--" + option->get_lnames().front());
    for (const std::string& value : option->results()) given.back() += " " + core::without_control(value);
  }
  return given;
}

/// Returns true if the words ask for help or the version, which a single process answers.
bool asks_for_help(const std::vector<std::string>& words) {
  if (words.empty() || words.front() == "help") return true;
  constexpr std::array<std::string_view, 4> names{"-h", "--help", "-V", "--version"};
  return std::any_of(words.begin(), std::ranges::find(words, "--"),
                     [&](const std::string& word) { return std::ranges::find(names, word) != names.end(); });
}

/// Throws UnsupportedError, because several processes run a command that one process must run alone.
[[noreturn]] void refuse_copies(const Processes& processes, const std::vector<std::string>& words) {
  refuse_processes(processes, "'gradus " + words.front() + "' " +
                                  (asks_for_help(words) ? "with -h, --help, -V or --version " : "") +
                                  "runs as one process only");
}

/// Returns the processes that a launcher has started. Ignores invalid variables if the words ask for help, or if the
/// command always runs as one process.
Processes processes_for(const std::vector<std::string>& words) {
  try {
    return started_processes();
  } catch (const UsageError&) {
    if (asks_for_help(words)) return {};
    const auto command = std::ranges::find(commands(), words.front(), &Command::name);
    if (command != commands().end() && command->on_ranks) throw;
    return {};
  }
}

/// Returns the value of an option, or "". Used for values that are needed before the options are parsed. The ranks
/// parse the options when they have joined, so that they agree on errors.
std::string value_in(const std::vector<std::string>& words, std::string_view name) {
  for (std::size_t at = 0; at < words.size() && words[at] != "--"; ++at) {
    if (words[at] == name) return at + 1 < words.size() ? words[at + 1] : "";
    if (words[at].starts_with(name) && words[at][name.size()] == '=') return words[at].substr(name.size() + 1);
  }
  return "";
}

/// Returns the value of --stall-timeout, which also limits the start of MPI.
double stall_limit_in(const std::vector<std::string>& words) {
  constexpr const char* name = "--stall-timeout";
  const std::string text = value_in(words, name);
  try {
    if (!text.empty()) return parse_real(name, text, 0, WatchedCommunicator::most);
  } catch (const UsageError&) {
    // An invalid value is reported when the options are parsed.
  }
  return WatchedCommunicator::usual;
}

/// Returns the GPU that --device names, or -1.
int gpu_in(const std::vector<std::string>& words) {
  constexpr std::string_view numbered = "gpu:";
  const std::string text = value_in(words, "--device");
  try {
    if (text.starts_with(numbered))
      return static_cast<int>(parse_whole("--device", text.substr(numbered.size()), 0, most_gpus - 1));
  } catch (const UsageError&) {
    // An invalid value is reported when the options are parsed.
  }
  return -1;
}

/// Throws UsageError on all ranks if the options of a rank differ from the options of the first rank. With different
/// options, ranks would wait for each other.
void require_same_options(core::Ranks& ranks, const CLI::App& app) {
  std::vector<std::string> own = given_to(app);
  const std::vector<std::string> first = texts_of_first(ranks, [&] { return own; });
  ranks.agree([&] {
    if (own == first) return;
    const auto beyond = [](const std::vector<std::string>& some, const std::vector<std::string>& others) {
      for (const std::string& one : some)
        if (std::ranges::find(others, one) == others.end()) return "'" + one + "'";
      return std::string("nothing of that");
    };
    throw UsageError(beyond(own, first) + " was given here, but " + beyond(first, own) +
                     " to rank 0; start all processes with the same arguments");
  });
}

/// The error that ended the program.
struct Failure {
  explicit Failure(const Error& some) : error(some), code(some.code()), status(some.exit_status()) {}

  Error error;
  std::string code;
  int status;
};

/// Returns the failure for an error. If a part of a mapped file could not be read, results computed from the file are
/// meaningless, so the failure is about that file instead.
Failure failure_of(const Error& error) {
  const files::LostFile* const lost = files::lost_file();
  if (lost == nullptr) return Failure(error);
  if (lost->is_shorter()) return Failure(core::changed_file(lost->path, lost->before, lost->now));
  ErrorFields fields{.code = error_code::cannot_read, .file = lost->path};
  fields.byte = static_cast<std::int64_t>(lost->byte);
  fields.remedy = "check the disk, or copy the file to another one";
  return Failure(Error(
      fmt::format("'{}': byte {}: the disk or the file system could not read it", lost->path, lost->byte), fields));
}

/// Returns true if the command has all options that the text mentions.
bool has_options_of(const CLI::App& app, const ErrorMessage& text) {
  return std::ranges::all_of(text.pieces, [&app](const ErrorMessage::Piece& piece) {
    return piece.kind != ErrorMessage::Piece::Kind::option ||
           app.get_option_no_throw(spelled({.name = piece.option.name})) != nullptr;
  });
}

void report(const Session& session, const Failure& failure) {
  Error error = failure.error;
  if (ErrorFields fields = error.fields(); !has_options_of(chosen_subcommand(*session.root), fields.remedy)) {
    fields.remedy = {};
    error.set_fields(fields);
  }
  std::string where;
  if (ErrorFields fields = error.fields(); session.job && fields.rank) {
    // A usage error of the first rank occurs on all ranks, so the message does not name the rank.
    const bool of_all = failure.status == UsageError("").exit_status() && fields.rank == 0;
    if (!of_all) where = session.job->name_of(*fields.rank) + ": ";
    fields.rank.reset();
    error.set_fields(fields);
  }
  // Names of files and columns may contain control characters, which would control the terminal.
  const std::string message = core::without_control(where + error.text(spelled));
  session.end_progress();
  write_message(message);
  try {
    if (session.json) {
      nlohmann::ordered_json answer{{"error", message}, {"exit_status", failure.status}};
      answer.update(json_of(error, failure.code));
      session.print_json(answer);
    }
  } catch (const InterruptedError&) {  // no process reads standard output any more, so the JSON is dropped
  }
}

/// Adds the options of a command to its subcommand. Returns the action of the command.
Action add_options(const Command& command, Session& session) {
  Options options(*session.root->get_subcommand(std::string(command.name)), session.values, session.uses);
  Action action = command.setup(options, session);
  if (command.common == Common::job) add_job_options(options, session, command.problem);
  if (command.common == Common::place) {
    options.heading(std::string(job_heading));
    add_device(options, session);
    add_gpus(options, session);
    add_threads(options, session.execution);
    add_limits(options, session.execution);
  }
  if (command.is_repeated) add_repeat_option(options, session);
  if (command.common != Common::none) add_output_options(options, session);
  return action;
}

/// Adds the options of the command that the command line names. Returns the action of the command. Adds options of
/// other commands only if the command prints them, because adding all options takes milliseconds.
Action add_options_of_named(const std::vector<std::string>& words, Session& session) {
  const auto word = std::ranges::find_first_of(words, commands(), {}, {}, &Command::name);
  if (word == words.end()) return {};
  const Command& named = *std::ranges::find(commands(), *word, &Command::name);
  for (const Command& other : commands())
    if (named.prints_all_options && &other != &named) add_options(other, session);
  return add_options(named, session);
}

int run(int argument_count, char** arguments, Session& session) {
  CLI::App& root = *session.root;
  root.formatter(std::make_shared<HelpFormatter>());
  root.set_help_flag("-h,--help", "explain the command and its options");
  root.set_version_flag("-V,--version", fmt::format("gradus {}", version()), "print the version");
  root.allow_extras(false)->require_subcommand(0, 1);
  for (const Command& command : commands())
    root.add_subcommand(std::string(command.name), std::string(command.summary));
  std::vector<std::string> words(arguments + 1, arguments + argument_count);
  const Processes processes = processes_for(words);
  const bool needs_others = processes.size > 1 && !asks_for_help(words);
  session.speaks = processes.speaks;
  if (words.empty()) {
    session.print(overview(root));
    return 0;
  }
  // Accepts 'gradus help COMMAND', because many users try it first.
  if (words.front() == "help") {
    words.erase(words.begin());
    words.resize(std::min<std::size_t>(words.size(), 1));
    words.emplace_back("--help");
  }
  require_command(words.front());
  const Action action = add_options_of_named(words, session);
  const auto command = std::ranges::find(commands(), words.front(), &Command::name);
  if (needs_others && command != commands().end() && command->on_ranks) {
    if (processes.launch) session.speaks = true;  // each process may have a separate reason why it cannot join
    session.speaks_for_machine = processes.is_first_of_machine;
    session.job = RankedJob::join(processes, gpu_in(words), stall_limit_in(words), session.execution.stop);
    session.execution.communicator = &session.job->communicator();
    if (!session.is_first()) session.bar = std::make_unique<ProgressBar>(false);
    // If standard output is a terminal, it is the launcher's pseudo-terminal, not the user's terminal.
    session.columns = 0;
    session.colour = false;
  }
  if (session.job) session.job->meet(words.front());
  const auto refuse_ranks = [&] {
    if (processes.size > 1 && !session.job) refuse_copies(processes, words);
  };
  bool only_told = false;
  session.ranks().agree([&] {
    try {
      parse(root, words, session);
    } catch (const CLI::CallForHelp&) {
      session.print(help_of(chosen_subcommand(root)));
      only_told = true;
    } catch (const CLI::CallForVersion& version) {
      session.print(std::string(version.what()) + "\n");
      only_told = true;
    } catch (const CLI::ParseError& error) {
      refuse_ranks();
      explain(root, words, error);
    }
    if (only_told) return;
    refuse_ranks();
    require_effects(session.uses, [&](const CLI::Option& option) {
      return session.record ? session.record->is_given(option) : option.count() > 0;
    });
    resolve_gpus(session);
  });
  if (session.job) require_same_options(session.ranks(), chosen_subcommand(root));
  if (only_told) return 0;
  return action ? action() : 0;
}

}  // namespace

int run_program(int argument_count, char** arguments) {
  reserve_standard_streams();
  const core::DefaultFloatEnvironment environment;
  CLI::App root(std::string(tagline), "gradus");
  Session session;
  session.root = &root;
  std::signal(SIGUSR1, SIG_IGN);  // SIGUSR1 requests a checkpoint; before the fit starts, it has no effect
  // If this signal is ignored, write() fails at the limit of file sizes, and the failure is reported with a message.
  std::signal(SIGXFSZ, SIG_IGN);
  const char* no_colour = std::getenv("NO_COLOR");
  session.columns = terminal_columns(STDOUT_FILENO);
  session.colour = session.columns > 0 && !(no_colour && *no_colour);
  // Scans for --json before parsing, so that errors in the options are also printed as JSON.
  const std::vector<std::string_view> words(arguments, arguments + argument_count);
  const auto end_of_options = std::ranges::find(words, "--");
  session.json = std::find(words.begin(), end_of_options, "--json") != end_of_options;
  const bool quiet = std::find(words.begin(), end_of_options, "--quiet") != end_of_options;
  session.bar = std::make_unique<ProgressBar>(isatty(STDERR_FILENO) && !quiet);
  session.execution.progress = [&session](const Progress& progress) { session.bar->update(progress); };
  std::optional<Failure> failure;
  int status = 0;
  try {
    session.execution.stop = stop_on_signals();
    // If a part of a mapped file cannot be read, SIGTERM is sent to this process. The signal thread handles it like a
    // SIGTERM from the user.
    files::survive_lost_files([] { (void)::kill(::getpid(), SIGTERM); }, session.execution.stop);
    status = run(argument_count, arguments, session);
    if (files::lost_file() != nullptr) throw InputError("a file could not be read");
  } catch (const Error& error) {
    failure = failure_of(error);
  } catch (const std::bad_alloc&) {
    failure = failure_of(OutOfMemoryError("out of memory"));
  } catch (const std::exception& error) {
    failure = failure_of(Error(error.what()));
  }
  if (failure) status = failure->status;
  const auto say = [&] {
    if (failure) report(session, *failure);
  };
  if (session.job) status = session.job->end(status, say);
  else if (session.speaks) say();
  else if (status != 0) {
    // Waits before this process exits, so that the process that prints the error has time to finish. The launcher may
    // end all processes when one of them exits with an error.
    for (int wait = 0; wait < 20 && !session.execution.stop.stop_requested(); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (session.speaks_for_machine && !session.execution.stop.stop_requested()) say();
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    write_message("cannot write to standard output" +
                  core::reason(session.print_error != 0 ? session.print_error : errno));
    return status == 0 ? 1 : status;
  }
  return status;
}

}  // namespace gradus::cli
