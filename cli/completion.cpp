// `gradus completion`: generates completions for bash, zsh and fish from the tree of options.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "cli/help.hpp"

namespace gradus::cli {

namespace {

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(separator)) + word;
  return text;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option& option) { return option.get_type_size() != 0; }

struct Tree {
  explicit Tree(const Session& session) : values(session.values), apps(session.root->get_subcommands({})) {}

  const OptionValues& values;
  std::vector<CLI::App*> apps;

  OptionValue value_of(const CLI::Option& option) const {
    const auto found = values.find(&option);
    return found == values.end() ? OptionValue{} : found->second;
  }
  static std::vector<const CLI::Option*> options(const CLI::App& app, bool positional) {
    std::vector<const CLI::Option*> chosen;
    for (const OptionGroup& group : option_groups(app))
      for (const CLI::Option* option : group.options)
        if (option->get_positional() == positional) chosen.push_back(option);
    return chosen;
  }
};

std::string bash_candidates(const OptionValue& value) {
  std::string commands;
  const std::string_view words =
      value.list ? "compgen -P \"$begun\" -W '{}' -- \"$last\"; " : "compgen -W '{}' -- \"$current\"; ";
  if (!value.choices.empty()) commands += fmt::format(fmt::runtime(words), joined(value.choices, " "));
  if (value.file) commands += "compgen -f -- \"$current\"; ";
  return commands.empty() ? "return" : "mapfile -t COMPREPLY < <(" + commands.substr(0, commands.size() - 2) + ")";
}

std::string bash(const Tree& tree) {
  std::vector<std::string> commands;
  std::string values;
  std::string options;
  std::string arguments;
  for (const CLI::App* app : tree.apps) {
    const std::string& command = app->get_name();
    commands.push_back(command);
    std::vector<std::string> all;
    for (const CLI::Option* option : Tree::options(*app, false)) {
      const std::vector<std::string> names = names_of(*option);
      all.insert(all.end(), names.begin(), names.end());
      if (!takes_value(*option)) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : names) patterns.push_back(command + ":" + name);
      values += fmt::format("    {}) {}; return ;;\n", joined(patterns, "|"), bash_candidates(tree.value_of(*option)));
    }
    options += fmt::format("      {}) mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\") ;;\n", command,
                           joined(all, " "));
    OptionValue offered;
    for (const CLI::Option* option : Tree::options(*app, true)) {
      const OptionValue value = tree.value_of(*option);
      offered.choices.insert(offered.choices.end(), value.choices.begin(), value.choices.end());
      offered.file = offered.file || value.file;
    }
    arguments += fmt::format("    {}) {} ;;\n", command, bash_candidates(offered));
  }
  return fmt::format(R"(# Completion of gradus {0} for bash; written by 'gradus completion bash'.
_gradus() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{1} help --help --version -V' -- "$current")
    return
  fi
  # bash takes --option=value apart at the equals sign.
  if [[ $current == "=" ]]; then current=""; elif [[ $previous == "=" ]]; then previous="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  # Of a list what comes before the last comma stays as it is.
  local last="${{current##*,}}"
  local begun="${{current%"$last"}}"
  case "$command:$previous" in
{2}  esac
  if [[ $current == -* ]]; then
    case "$command" in
{3}    esac
    return
  fi
  case "$command" in
{4}    help) mapfile -t COMPREPLY < <(compgen -W '{1}' -- "$current") ;;
  esac
}}
complete -o filenames -F _gradus gradus
)",
                     version(), joined(commands, " "), values, options, arguments);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t place = 0; (place = text.find(from, place)) != std::string::npos; place += to.size())
    text.replace(place, from.size(), to);
  return text;
}

/// Escapes text that zsh's _arguments gets in single quotes. Brackets and colons are special there.
std::string zsh_escaped(std::string text) {
  for (const std::string_view special : {"\\", ":", "[", "]"})
    text = replaced(text, special, "\\" + std::string(special));
  return replaced(text, "'", "'\\''");
}

std::string zsh_action(const OptionValue& value) {
  const std::string choices = zsh_escaped(joined(value.choices, " "));
  if (value.list && !choices.empty()) return "_sequence compadd - " + choices;
  if (value.file) return choices.empty() ? "_files" : "{compadd -- " + choices + "; _files}";
  return choices.empty() ? "" : "(" + choices + ")";
}

std::string zsh(const Tree& tree) {
  std::string commands;
  std::string cases;
  for (const CLI::App* app : tree.apps) {
    commands += fmt::format("    '{}:{}'\n", app->get_name(), zsh_escaped(app->get_description()));
    cases += fmt::format("    {})\n      _arguments", app->get_name());
    for (const CLI::Option* option : Tree::options(*app, false)) {
      const std::vector<std::string> names = names_of(*option);
      const std::string exclusive = fmt::format("({})", joined(names, " "));
      for (const std::string& name : names) {
        cases += fmt::format(" \\\n        '{}{}{}[{}]", exclusive, name,
                             name.starts_with("--") && takes_value(*option) ? "=" : "",
                             zsh_escaped(option->get_description()));
        if (takes_value(*option))
          cases += fmt::format(":{}:{}", zsh_escaped(option->get_option_text()), zsh_action(tree.value_of(*option)));
        cases += "'";
      }
    }
    int place = 0;
    for (const CLI::Option* option : Tree::options(*app, true))
      cases += fmt::format(" \\\n        '{}:{}:{}'", ++place, zsh_escaped(option->get_option_text()),
                           zsh_action(tree.value_of(*option)));
    cases += "\n      ;;\n";
  }
  return fmt::format(R"(#compdef gradus
# Completion of gradus {} for zsh; written by 'gradus completion zsh'.
_gradus() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
{}  esac
}}
if [[ "$funcstack[1]" == _gradus ]]; then
  _gradus "$@"
else
  compdef _gradus gradus
fi
)",
                     version(), commands, cases);
}

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish(const Tree& tree) {
  std::string text = fmt::format(
      "# Completion of gradus {} for fish; written by 'gradus completion fish'.\n"
      "complete -c gradus -f\n",
      version());
  for (const CLI::App* app : tree.apps)
    text += fmt::format("complete -c gradus -n __fish_use_subcommand -a {} -d {}\n", app->get_name(),
                        fish_quoted(app->get_description()));
  for (const CLI::App* app : tree.apps) {
    const std::string begin = fmt::format("complete -c gradus -n '__fish_seen_subcommand_from {}'", app->get_name());
    for (const CLI::Option* option : Tree::options(*app, true)) {
      const OptionValue value = tree.value_of(*option);
      if (!value.choices.empty())
        text += fmt::format("{} -a {} -d {}\n", begin, fish_quoted(joined(value.choices, " ")),
                            fish_quoted(option->get_option_text()));
      if (value.file) text += begin + " -F\n";
    }
    for (const CLI::Option* option : Tree::options(*app, false)) {
      text += begin;
      for (const std::string& name : option->get_snames()) text += " -s " + name;
      for (const std::string& name : option->get_lnames()) text += " -l " + name;
      if (takes_value(*option)) {
        const OptionValue value = tree.value_of(*option);
        text += value.file ? " -r -F" : " -x";
        const std::string choices = joined(value.choices, " ");
        if (!choices.empty()) text += " -a " + fish_quoted(value.list ? "(__fish_append , " + choices + ")" : choices);
      }
      text += " -d " + fish_quoted(option->get_description()) + "\n";
    }
  }
  return text;
}

}  // namespace

Action setup_completion(Options& options, Session& session) {
  using Writer = std::string (*)(const Tree&);
  auto writer = std::make_shared<Writer>(bash);
  const std::vector<std::string> shells{"bash", "zsh", "fish"};
  Options::required(options.value("SHELL", "SHELL", "bash, zsh or fish",
                                  [target = writer.get(), shells](const std::string& text) {
                                    constexpr Writer writers[] = {bash, zsh, fish};
                                    *target = writers[parse_choice("SHELL", text, shells)];
                                  },
                                  {.choices = shells}));
  return [writer, &session] {
    session.print((*writer)(Tree(session)));
    return 0;
  };
}

}  // namespace gradus::cli
