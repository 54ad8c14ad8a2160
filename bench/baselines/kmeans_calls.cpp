// Makes whole k-means calls in one process, like a long-lived program. bench/baselines/kmeans_calls.py compares them
// with scikit-learn. Each request is a line of JSON on standard input. Its answer is a line of JSON on standard output.
// At the end of the input, the program exits. There are two requests:
//
// 1. {"load": "points.npy"}
//    Reads points into private memory. The answer is {}.
// 2. {"clusters": K, "first": "first.npy" or null, "seed": 0, "max_iterations": 300, "tolerance": 0.0001, "threads": 0,
//     "output": "prefix" or null, "device": "cpu", "init": "k-means++", "instructions": "best"}
//    Makes a call. "device", "init" and "instructions" are optional. "instructions" limits the instruction sets:
//    "best", "tiles" (AMX for all shapes), "avx512" (no AMX) or "avx2" (neither AMX nor AVX-512). The answer is
//    {"seconds", "variant", "threads", "iterations", "inertia", "phases"}.
//    Labels and centroids go to PREFIXlabels.npy and PREFIXcentroids.npy.
//
// If a request fails, the answer is {"error": why}.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "core/atomic_file.hpp"
#include "core/phases.hpp"
#include "files/npy.hpp"
#include "files/points.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/assign/limited_instructions.hpp"

namespace {

using nlohmann::ordered_json;

template <class T>
gradus::Matrix<T> in_own_memory(gradus::MatrixView<const T> rows) {
  gradus::Matrix<T> copy(rows.rows(), rows.columns());
  for (std::int64_t row = 0; row < rows.rows(); ++row) std::copy_n(rows.row(row), rows.columns(), copy.row(row));
  return copy;
}

template <class View>
void write(const std::string& path, View values) {
  gradus::core::AtomicFile file(path);
  gradus::files::write_npy(file, values);
  file.commit();
}

template <class T>
ordered_json call(const gradus::Matrix<T>& points, const ordered_json& request) {
  gradus::KMeansOptions options;
  options.clusters = request.at("clusters").get<std::int64_t>();
  options.max_iterations = request.at("max_iterations").get<int>();
  options.tolerance = request.at("tolerance").get<double>();
  options.seed = request.at("seed").get<std::uint64_t>();
  gradus::files::Points first;
  gradus::KMeansMemory<T> memory;
  if (!request.at("first").is_null()) {
    first = gradus::files::read_points(request.at("first").get<std::string>());
    options.init = gradus::KMeansInit::given;
    memory.initial_centroids = first.view<T>();
  }
  if (request.value("init", "k-means++") == "k-means||") options.init = gradus::KMeansInit::kmeans_parallel;
  gradus::Execution execution;
  execution.device = request.value("device", "cpu") == "gpu" ? gradus::Device::gpu : gradus::Device::cpu;
  execution.threads = request.at("threads").get<int>();

  const gradus::kmeans_detail::LimitedInstructions limited(request.value("instructions", "best"));

  const auto start = gradus::core::Clock::now();
  const gradus::KMeansResult<T> result = gradus::kmeans(points, options, memory, execution);
  const double seconds = gradus::core::seconds_since(start);

  if (!request.at("output").is_null()) {
    const auto prefix = request.at("output").get<std::string>();
    write(prefix + "labels.npy", result.labels.view());
    write(prefix + "centroids.npy", result.centroids.view());
  }
  ordered_json phases;
  for (const gradus::Phase& phase : result.report.phases) phases[phase.name] = phase.seconds;
  return {{"seconds", seconds},
          {"variant", result.report.variant},
          {"threads", result.report.threads},
          {"iterations", result.iterations},
          {"inertia", result.inertia},
          {"phases", phases}};
}

}  // namespace

int main() {
  std::variant<gradus::Matrix<float>, gradus::Matrix<double>> points;
  for (std::string line; std::getline(std::cin, line);) {
    ordered_json answer = ordered_json::object();
    try {
      const ordered_json request = ordered_json::parse(line);
      if (request.contains("load")) {
        points = gradus::Matrix<float>();  // frees the previous points before the new points are read
        gradus::files::read_points(request.at("load").get<std::string>()).visit([&](const auto& view) {
          points = in_own_memory(view);
        });
      } else {
        answer = std::visit([&](const auto& of_type) { return call(of_type, request); }, points);
      }
    } catch (const std::exception& failure) {
      answer = {{"error", failure.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}
