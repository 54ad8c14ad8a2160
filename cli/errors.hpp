// Errors in the words of the program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/error.hpp"

namespace gradus::cli {

/// Spells an option as it is given to the program, by the name in the table of its problem: "--empty keep".
std::string spelled(const OptionReference& option);

/// The path in quotes, or "standard input".
std::string shown_path(const std::string& path);

/// The fields that are known, the code always.
nlohmann::ordered_json json_of(const Error& error, std::string_view code);

/// Files by the arguments of the library that are read from them. Empty paths are none.
using FilesOfArguments = std::vector<std::pair<std::string_view, std::string>>;

/// If the error is about an argument that is read from a file, its text names the file instead.
void name_file(Error& error, const FilesOfArguments& files);

/// Calls the function, and names files in an InputError that it throws.
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
