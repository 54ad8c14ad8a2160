#include "cli/errors.hpp"

#include <algorithm>

#include "bench/parse.hpp"
#include "bench/problem.hpp"

namespace gradus::cli {

std::string spelled(const OptionReference& option) {
  // Takes the name after the last colon. If there is no colon, rfind() returns npos, and npos + 1 is 0.
  std::string_view name = std::string_view(option.name).substr(option.name.rfind(':') + 1);
  for (const bench::ProblemRow* problem : bench::problems())
    if (const core::Option* row = core::find_option(problem->options, name)) name = row->front_name();
  const std::string flag = "--" + bench::with_hyphens(name);
  return option.value.empty() ? flag : flag + " " + option.value;
}

std::string shown_path(const std::string& path) { return path == "-" ? "standard input" : "'" + path + "'"; }

nlohmann::ordered_json json_of(const Error& error, std::string_view code) {
  const ErrorFields& fields = error.fields();
  nlohmann::ordered_json known{{"code", code}};
  const auto add_text = [&known](const char* name, const std::string& text) {
    if (!text.empty()) known[name] = text;
  };
  const auto add_number = [&known](const char* name, const std::optional<std::int64_t>& number) {
    if (number) known[name] = *number;
  };
  add_text("argument", fields.argument);
  add_text("file", fields.file);
  add_number("row", fields.row);
  add_number("column", fields.column);
  add_number("byte", fields.byte);
  add_text("value", fields.value);
  add_text("allowed", fields.allowed);
  add_text("remedy", fields.remedy.text(spelled));
  return known;
}

void name_file(Error& error, const FilesOfArguments& files) {
  const auto found = std::ranges::find(files, error.message().subject, &FilesOfArguments::value_type::first);
  if (found == files.end() || found->second.empty()) return;
  ErrorMessage message = error.message();
  message.subject = shown_path(found->second);
  error.set_message(std::move(message));
  ErrorFields fields = error.fields();
  fields.file = found->second;
  error.set_fields(fields);
}

}  // namespace gradus::cli
