// Formats errors in the vocabulary of the program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/error.hpp"

namespace gradus::cli {

/// Spells an option as a flag of the program, using the name in its problem's table: "--empty keep".
std::string spelled(const OptionReference& option);

/// Returns the path in quotes, or "standard input".
std::string shown_path(const std::string& path);

/// Returns the code and every known field of the error.
nlohmann::ordered_json json_of(const Error& error, std::string_view code);

/// Pairs of a library argument and the file it is read from. An empty path means no file.
using FilesOfArguments = std::vector<std::pair<std::string_view, std::string>>;

/// If the error is about an argument that was read from a file, makes its text name the file.
void name_file(Error& error, const FilesOfArguments& files);

/// Calls the function and adds file names to an InputError that it throws.
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
