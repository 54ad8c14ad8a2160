// Reading the inputs of a job, with the file named in whatever message they lead to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "gradus/error.hpp"
#include "gradus/kmeans.hpp"
#include "io/points.hpp"

namespace gradus::cli {

/// --dtype f32|f64; nothing: the least type that holds every value of the file.
void add_dtype_option(Options& options, std::optional<io::ElementType>& dtype);
void add_metric_option(Options& options, Metric& metric);

/// UsageError where more than one of the inputs is standard input. Empty paths are no inputs.
void require_one_standard_input(const std::vector<std::string_view>& paths);

/// Values that belong to points of type T: a file's binary values must be T exactly (InputError otherwise, since to
/// round them in silence would change the job); the numbers of a text become the nearest T.
template <class T>
io::PointsOf<T> read_matrix_as(const std::string& path, const std::stop_token& stop);
template <class T>
io::VectorOf<T> read_vector_as(const std::string& path, const std::stop_token& stop);

/// Calls the function; where it throws an InputError "ROLE: …", the role's file takes the place of the role.
template <class Function>
decltype(auto) naming_files(const std::vector<std::pair<std::string_view, std::string>>& roles, Function&& function) {
  try {
    return function();
  } catch (const InputError& error) {
    const std::string_view message = error.what();
    for (const auto& [role, path] : roles)
      if (!path.empty() && message.starts_with(role) && message.substr(role.size()).starts_with(": "))
        throw InputError((path == "-" ? "standard input" : "'" + path + "'") +
                         std::string(message.substr(role.size())));
    throw;
  }
}

}  // namespace gradus::cli
