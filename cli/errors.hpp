// Formats errors in the vocabulary of the program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/error.hpp"

namespace gradus::cli {

/// Formats an option as a flag of the program, such as "--empty keep". The name in `option` is the option's name in the
/// option table of its problem.
std::string spelled(const OptionReference& option);

/// Returns the path in quotes, or "standard input".
std::string shown_path(const std::string& path);

/// Returns the code of the error and every field that is known.
nlohmann::ordered_json json_of(const Error& error, std::string_view code);

/// Pairs of strings: the name of a library argument, and the path of the file from which the argument is read. If the
/// path is empty, the argument is not read from a file.
using FilesOfArguments = std::vector<std::pair<std::string_view, std::string>>;

/// If the error is about an argument that was read from a file, names the file in the error's text.
void name_file(Error& error, const FilesOfArguments& files);

/// Calls the function. If it throws an InputError about an argument that was read from a file, adds the file's name to
/// the error.
template <class Function>
decltype(auto) naming_files(const FilesOfArguments& files, Function&& function) {
  try {
    return function();
  } catch (InputError& error) {
    name_file(error, files);
    throw;
  }
}

}  // namespace gradus::cli
