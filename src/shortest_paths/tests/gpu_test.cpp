// Tests the CUDA rungs in every width, and cuda_dpx in both modes. The graphs are larger than the cases and take
// several rounds. Each result must equal the CPU's distances and predecessors. Also tests weights and results in GPU
// memory. Without a GPU the tests are skipped.
#include <cmath>
#include <functional>

#include "shortest_paths/cases.hpp"
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/gpu/panel_plan.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/random_graph.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::shortest_paths_detail {
namespace {

using tests::contains;
using tests::error_of;
using tests::OnDevice;

class shortest_paths_gpu : public tests::OnGpu {};

Execution by(std::string_view variant) {
  Execution execution;
  execution.variant = variant;
  return execution;
}

/// Returns a graph with integer weights. `step` is the size of the potentials that make edges, but no cycle, negative.
template <class T>
Matrix<T> graph(std::int64_t n, double density, std::int64_t heaviest, std::int64_t step) {
  const Matrix<std::int32_t> whole = random_graph<std::int32_t>(n, density, heaviest, 7);
  Matrix<T> weights(n, n);
  for (std::int64_t from = 0; from < n; ++from)
    for (std::int64_t to = 0; to < n; ++to) {
      const std::int32_t weight = whole(from, to);
      weights(from, to) = weight == no_route<std::int32_t>()
                              ? no_route<T>()
                              : static_cast<T>(weight + step * (from * 37 % 101 - to * 37 % 101));
    }
  return weights;
}

template <class T>
void expect_as_on_the_processor(const Matrix<T>& weights) {
  const Matrix<T> truth = shortest_paths(weights.view(), {}, {}, by("openmp_tiled")).distances;
  for (const Variant& variant : variants()) {
    if (variant.backend != core::Backend::cuda) continue;
    const std::vector<std::int64_t> tiles = variant.name == "cuda_dpx"      ? std::vector<std::int64_t>{0, 64, 128}
                                            : variant.name == "cuda_panels" ? std::vector<std::int64_t>{0, 256, 512}
                                                                            : std::vector<std::int64_t>{0};
    for (const std::int64_t tile : tiles) {
      ShortestPathsOptions options;
      options.tile = tile;
      const auto result = shortest_paths(weights.view(), options, {}, by(variant.name));
      std::int64_t different = 0;
      for (std::int64_t from = 0; from < weights.rows(); ++from)
        for (std::int64_t to = 0; to < weights.rows(); ++to)
          if (!(result.distances(from, to) == truth(from, to))) ++different;
      EXPECT_EQ(different, 0) << variant.name << ", " << weights.rows() << " vertices, tile " << tile;
    }
  }
}

template <class T>
void check() {
  for (const std::int64_t n : {65, 127, 128, 129, 256, 300, 385, 640, 1100}) {
    const double sparse = 3.0 / static_cast<double>(n);
    expect_as_on_the_processor(graph<T>(n, 0.5, 30, 0));     // 16-bit distances, two per word
    expect_as_on_the_processor(graph<T>(n, sparse, 20, 0));  // 16-bit distances, two per word; some routes do not exist
    expect_as_on_the_processor(graph<T>(n, sparse, 300, 5000));  // negative edges
    expect_as_on_the_processor(graph<T>(n, 0.1, 20000, 0));
  }
}

TEST_F(shortest_paths_gpu, int32_has_the_processors_distances) { check<std::int32_t>(); }
TEST_F(shortest_paths_gpu, int64_has_the_processors_distances) { check<std::int64_t>(); }
TEST_F(shortest_paths_gpu, float_has_the_processors_distances) { check<float>(); }
TEST_F(shortest_paths_gpu, double_has_the_processors_distances) { check<double>(); }

TEST_F(shortest_paths_gpu, whole_numbers_of_64_bits_have_the_processors_distances) {
  Matrix<std::int64_t> weights = graph<std::int64_t>(300, 0.05, 1000, 300);
  for (std::int64_t from = 0; from < 300; ++from)
    for (std::int64_t to = 0; to < 300; ++to)
      if (weights(from, to) != no_route<std::int64_t>()) weights(from, to) *= std::int64_t{1} << 35;
  expect_as_on_the_processor(weights);
}

// ---------------------------------------------------------------------------------------------------------------------
// Graphs larger than the GPU's memory

template <class T>
void check_limits() {
  constexpr std::int64_t n = 1500;
  const Matrix<T> weights = graph<T>(n, 0.01, 30, 300);
  const Matrix<T> truth = shortest_paths(weights.view(), {}, {}, by("openmp_tiled")).distances;
  const std::uint64_t matrix = std::uint64_t{n} * n * sizeof(T);
  const std::uint64_t least = panels_of(n, sizeof(T), panel_granule).bytes;
  Execution execution;
  execution.device = Device::gpu;
  // The memory limit determines how the graph is divided, but never the result.
  for (const std::uint64_t limit :
       {std::uint64_t{0}, 8 * matrix, 3 * matrix, 2 * matrix, matrix * 3 / 2, least * 8 / 7 + 8, least}) {
    execution.gpu_memory_limit = limit;
    const auto result = shortest_paths(weights.view(), {}, execution);
    EXPECT_EQ(result.report.variant, limit == 0 || limit >= 3 * matrix ? "cuda_dpx" : "cuda_panels") << limit;
    EXPECT_TRUE(tests::same_bits(result.distances, truth)) << limit;
  }
  execution.gpu_memory_limit = least - 1;
  for (const std::string_view variant : {"", "cuda_dpx"}) {
    execution.variant = variant;
    const std::string message = error_of<OutOfMemoryError>([&] { shortest_paths(weights.view(), {}, execution); });
    EXPECT_TRUE(contains(message, "of the GPU's memory, but the limit allows only")) << message;
  }
  execution.variant = "cuda_panels";
  const std::string message = error_of<UnsupportedError>([&] { shortest_paths(weights.view(), {}, execution); });
  EXPECT_TRUE(contains(message, "the rows of 256 vertices do not fit the GPU's memory")) << message;
  // Rows in host memory may be padded, and the result may overwrite the weights.
  Matrix<T> wide(n, n + 3);
  for (std::int64_t row = 0; row < n; ++row) std::copy_n(weights.row(row), n, wide.row(row));
  const MatrixView<T> place(wide.data(), n, n, n + 3);
  ShortestPathsMemory<T> memory;
  memory.distances = place;
  execution.variant = "cuda_panels";
  execution.gpu_memory_limit = least + matrix / 4;
  shortest_paths(MatrixView<const T>(place), {}, memory, execution);
  std::int64_t different = 0;
  for (std::int64_t row = 0; row < n; ++row)
    different += std::equal(wide.row(row), wide.row(row) + n, truth.row(row)) ? 0 : 1;
  EXPECT_EQ(different, 0);
}

TEST_F(shortest_paths_gpu, int32_larger_than_the_gpu) { check_limits<std::int32_t>(); }
TEST_F(shortest_paths_gpu, int64_larger_than_the_gpu) { check_limits<std::int64_t>(); }

TEST_F(shortest_paths_gpu, floats_larger_than_the_gpu_have_the_same_bits_each_time) {
  const Matrix<float> weights = random_graph<float>(900, 0.02, 1000000, 5);
  ShortestPathsOptions options;
  options.tile = 256;
  const auto once = shortest_paths(weights.view(), options, by("cuda_panels"));
  for (int repeat = 0; repeat < 5; ++repeat)
    EXPECT_TRUE(tests::same_bits(shortest_paths(weights.view(), options, by("cuda_panels")).distances, once.distances));
}

// ---------------------------------------------------------------------------------------------------------------------
// Predecessors

/// Returns the graph with each edge replaced by change(from, to, weight).
template <class T>
Matrix<T> changed(Matrix<T> weights, const std::function<T(std::int64_t from, std::int64_t to, T weight)>& change) {
  for (std::int64_t from = 0; from < weights.rows(); ++from)
    for (std::int64_t to = 0; to < weights.rows(); ++to)
      if (weights(from, to) != no_route<T>()) weights(from, to) = change(from, to, weights(from, to));
  return weights;
}

template <class T>
void expect_the_processors_predecessors(const Matrix<T>& weights, const std::string& what) {
  ShortestPathsOptions options;
  options.predecessors = true;
  const auto truth = shortest_paths(weights.view(), options, {}, by("simd_tiled"));
  const auto result = shortest_paths(weights.view(), options, {}, by("cuda_dpx"));
  EXPECT_TRUE(tests::same_bits(result.distances, truth.distances)) << what << ", " << weights.rows() << " vertices";
  std::int64_t different = 0;
  for (std::int64_t from = 0; from < weights.rows(); ++from)
    for (std::int64_t to = 0; to < weights.rows(); ++to)
      if (result.predecessors(from, to) != truth.predecessors(from, to) && ++different == 1)
        ADD_FAILURE() << what << ", " << weights.rows() << " vertices: the predecessor from " << from << " to " << to
                      << " is " << result.predecessors(from, to) << " instead of " << truth.predecessors(from, to);
  EXPECT_EQ(different, 0) << what;
}

template <class T>
void check_predecessors(std::int64_t n) {
  const auto check = [](const Matrix<T>& weights, const std::string& what) {
    expect_the_processors_predecessors(weights, what);
  };
  const double sparse = std::min(1.0, 3.0 / static_cast<double>(n));
  check(graph<T>(n, 1, 1000, 0), "all edges, in pairs of 16 bits");
  check(graph<T>(n, 0.5, 3, 0), "many ties");
  check(graph<T>(n, 0.5, 1, 0), "equal weights");
  check(graph<T>(n, 0.3, 1000000, 0), "32 bits");
  check(graph<T>(n, 0.3, 300, 5000), "negative edges");
  check(graph<T>(n, sparse, 20, 0), "few edges, with pairs of vertices without a route");
  check(graph<T>(n, sparse, 20, 5000), "few and negative edges");
  check(graph<T>(n, std::min(1.0, 0.7 / static_cast<double>(n)), 20, 5000), "nearly no edges");
  check(graph<T>(n, 0.05, 3, 0), "few edges and many ties");
  const auto zero_upwards = [](std::int64_t from, std::int64_t to, T weight) {
    return from < to ? weight - 1 : weight;
  };
  check(changed<T>(graph<T>(n, 0.4, 2, 0), zero_upwards), "edges of length 0 but no cycles of it");
  check(changed<T>(graph<T>(n, 0.04, 2, 0), zero_upwards), "few edges, some of length 0 but no cycles of it");
  check(changed<T>(graph<T>(n, 0.4, 3, 0), [](std::int64_t, std::int64_t, T weight) { return weight - 1; }),
        "cycles of length 0");
  const auto apart = [](std::int64_t from, std::int64_t to, T weight) {
    return from % 2 == to % 2 ? weight : no_route<T>();
  };
  check(changed<T>(graph<T>(n, 0.6, 50, 700), apart), "two parts");
  // With the first weight, the job just does not need a wider type. The second weight is the greatest that 16 bits
  // allow. The third weight is just too great for 16 bits.
  for (const T heaviest :
       {static_cast<T>(unreachable<T>() / 3 / n - 1), static_cast<T>(0x7ffe), static_cast<T>(0x7fff)})
    for (const double density : {0.03, 0.9})
      check(changed<T>(graph<T>(n, density, 30, 0),
                       [&](std::int64_t from, std::int64_t to, T weight) {
                         return (from + to) % 3 == 0 ? heaviest : heaviest - weight;
                       }),
            "heavy edges");
  check(changed<T>(graph<T>(n, 0.5, 30, 0),
                   [&](std::int64_t, std::int64_t, T weight) {
                     return static_cast<T>(std::numeric_limits<T>::max() / n / 2 - weight);
                   }),
        "wider than the type, or nearly so");
}

constexpr std::int64_t awkward_sizes[] = {1, 2, 31, 32, 33, 64, 127, 128, 129, 255, 256, 257, 300, 1000};

TEST_F(shortest_paths_gpu, int32_has_the_processors_predecessors) {
  for (const std::int64_t n : awkward_sizes) check_predecessors<std::int32_t>(n);
}
TEST_F(shortest_paths_gpu, int64_has_the_processors_predecessors) {
  for (const std::int64_t n : awkward_sizes) {
    if (n > 300) continue;
    // A GPU does not support types wider than 64 bits.
    const auto check = [n](double density, std::int64_t heaviest, std::int64_t step, std::int64_t unit) {
      expect_the_processors_predecessors(
          changed<std::int64_t>(graph<std::int64_t>(n, density, heaviest, step),
                                [&](std::int64_t, std::int64_t, std::int64_t weight) { return weight * unit; }),
          std::to_string(density) + " " + std::to_string(unit));
    };
    for (const double density : {1.0, 0.4, 0.03})
      for (const std::int64_t unit : {std::int64_t{1}, std::int64_t{1} << 20, std::int64_t{1} << 34}) {
        check(density, 1000, 0, unit);
        check(density, 3, 0, unit);
        check(density, 100, 500, unit);
      }
  }
}

// The graph has more vertices than a panel or a slab holds.
TEST_F(shortest_paths_gpu, predecessors_by_way_of_several_panels) {
  constexpr std::int64_t n = predecessor_depth + 133;
  for (const double density : {0.001, 0.05, 1.0}) {
    expect_the_processors_predecessors(graph<std::int32_t>(n, density, 1000, 0), "several panels");
    expect_the_processors_predecessors(graph<std::int32_t>(n, density, 2, 0), "several panels and many ties");
  }
  expect_the_processors_predecessors(graph<std::int32_t>(n, 0.3, 100, 30000), "several panels, negative edges");
}

// ---------------------------------------------------------------------------------------------------------------------
// Weights and results in the memory of a GPU

/// A matrix on the GPU for results, with `room` unused elements between two rows.
template <class T>
class ResultThere {
 public:
  ResultThere(std::int64_t n, std::int64_t room, std::int64_t offset = 0)
      : n_(n), stride_(n + room), offset_(offset), memory_(offset + n * stride_) {
    const cuda::Stream stream;
    memory_.fill_bytes(0x5a, stream);
    stream.wait();
  }

  MatrixView<T> view() { return {memory_.data() + offset_, n_, n_, stride_, tests::gpu_place}; }
  void write(const Matrix<T>& matrix) {
    const cuda::Stream stream;
    for (std::int64_t row = 0; row < n_; ++row)
      cuda::check(cudaMemcpyAsync(view().row(row), matrix.row(row), static_cast<std::size_t>(n_) * sizeof(T),
                                  cudaMemcpyHostToDevice, stream),
                  "cudaMemcpyAsync");
    stream.wait();
  }
  /// Returns the matrix. Fails if anything was written to the elements between its rows.
  Matrix<T> read() const {
    Buffer<T> all(memory_.size());
    const cuda::Stream stream;
    memory_.copy_to_host(all.data(), all.size(), stream);
    stream.wait();
    Matrix<T> matrix(n_, n_);
    for (std::int64_t index = 0; index < all.size(); ++index) {
      const std::int64_t row = (index - offset_) / stride_;
      const std::int64_t column = (index - offset_) % stride_;
      if (index >= offset_ && column < n_) {
        matrix(row, column) = all[index];
        continue;
      }
      unsigned char bytes[sizeof(T)];
      std::memcpy(bytes, &all[index], sizeof(T));
      EXPECT_TRUE(std::ranges::all_of(bytes, [](unsigned char byte) { return byte == 0x5a; })) << index;
    }
    return matrix;
  }

 private:
  std::int64_t n_;
  std::int64_t stride_;
  std::int64_t offset_;
  cuda::DeviceBuffer<T> memory_;
};

/// Copies the results from `memory` to host memory and returns them.
template <class T>
ShortestPathsResult<T> paths_there(MatrixView<const T> weights, const ShortestPathsOptions& options,
                                   const Execution& execution, std::int64_t room) {
  const std::int64_t n = weights.rows();
  ResultThere<T> distances(n, room, room);
  ResultThere<std::int32_t> predecessors(n, room, room);
  ShortestPathsMemory<T> memory;
  memory.distances = distances.view();
  if (options.predecessors) memory.predecessors = predecessors.view();
  ShortestPathsResult<T> result = shortest_paths(weights, options, memory, execution);
  EXPECT_EQ(result.distances.rows(), 0);
  EXPECT_EQ(result.predecessors.rows(), 0);
  result.distances = distances.read();
  if (options.predecessors) result.predecessors = predecessors.read();
  return result;
}

template <class T>
void check_case(const Case& data) {
  const PreparedCase<T> prepared(data.make(5));
  const ShortestPathsOptions& options = prepared.options();
  Graph<T> graph{prepared.weights()};
  if (options.no_edge) graph.no_edge = static_cast<T>(*options.no_edge);
  const OnDevice<T> plain(prepared.weights());
  const OnDevice<T> moved(prepared.weights(), 1);
  for (const Variant& variant : variants()) {
    if (!variant.device_input || !variant.supports(prepared.shape(), execution::this_machine())) continue;
    const Execution execution = by(variant.name);
    const auto expect_right = [&](const ShortestPathsResult<T>& result, const char* where) {
      EXPECT_EQ(compare(graph, result, prepared.truth()), "") << data.name << " " << variant.name << ", " << where;
    };
    expect_right(shortest_paths(plain.view(), options, {}, execution), "weights there");
    expect_right(paths_there(moved.view(), options, execution, 0), "all there");
    expect_right(paths_there(moved.view(), options, execution, 3), "all there, with room between rows");
    expect_right(paths_there(prepared.weights(), options, execution, 0), "results there");
    ShortestPathsOptions distances_only = options;
    distances_only.predecessors = false;
    expect_right(paths_there(plain.view(), distances_only, execution, 0), "distances there");
  }
}

class DeviceGraphs : public tests::OnGpu, public testing::WithParamInterface<Case> {};
TEST_P(DeviceGraphs, int32_equals_oracle) { check_case<std::int32_t>(GetParam()); }
TEST_P(DeviceGraphs, int64_equals_oracle) { check_case<std::int64_t>(GetParam()); }
TEST_P(DeviceGraphs, float_equals_oracle) { check_case<float>(GetParam()); }
TEST_P(DeviceGraphs, double_equals_oracle) { check_case<double>(GetParam()); }
INSTANTIATE_TEST_SUITE_P(shortest_paths, DeviceGraphs, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// Runs on the GPU because the weights reside there: the call names no device, and there are only a few vertices.
TEST_F(shortest_paths_gpu, a_graph_there_is_solved_there) {
  for (const std::int64_t n : {0, 1, 40, 600}) {
    const Matrix<float> weights = graph<float>(n, 0.5, 30, 0);
    const OnDevice<float> there(weights.view());
    const auto result = shortest_paths(there.view());
    EXPECT_EQ(result.report.variant, "cuda_dpx");
    EXPECT_EQ(result.report.device, execution::this_machine().gpus().front().name);
    EXPECT_TRUE(tests::same_bits(result.distances, shortest_paths(weights.view(), {}, by("cuda_dpx")).distances));
    const ShortestPathsShape shape{.vertices = n, .element_bytes = sizeof(float), .floating = true};
    EXPECT_GE(shortest_paths_memory(shape, {}, by("cuda_dpx")).device,
              static_cast<std::uint64_t>(n * n) * sizeof(float));
  }
}

TEST_F(shortest_paths_gpu, distances_take_the_place_of_weights) {
  for (const std::int64_t room : {0, 5})
    for (const bool predecessors : {false, true})
      for (const std::int64_t step : {0, 300}) {
        constexpr std::int64_t n = 300;
        ShortestPathsOptions options;
        options.predecessors = predecessors;
        const auto check = [&]<class T>(const Matrix<T>& weights) {
          const auto truth = shortest_paths(weights.view(), options, {}, by("cuda_dpx"));
          ResultThere<T> matrix(n, room);
          matrix.write(weights);
          ShortestPathsMemory<T> memory;
          memory.distances = matrix.view();
          const auto result = shortest_paths(matrix.view(), options, memory);
          EXPECT_TRUE(tests::same_bits(matrix.read(), truth.distances)) << room << step << predecessors;
          EXPECT_TRUE(tests::same_bits(result.predecessors, truth.predecessors)) << room << step << predecessors;
        };
        check(graph<std::int32_t>(n, 0.5, 30, step));
        check(graph<std::int64_t>(n, 0.02, 30, step));
        check(graph<float>(n, 0.5, 30, step));
        check(graph<double>(n, 0.5, 30, step));
      }
}

TEST_F(shortest_paths_gpu, work_in_the_stream_comes_first) {
  const Matrix<std::int32_t> weights = graph<std::int32_t>(700, 0.5, 30, 0);
  const tests::LateOnDevice<std::int32_t> late(weights);
  ShortestPathsOptions options;
  options.predecessors = true;
  const auto result = shortest_paths(late.view(), options, late.execution());
  const auto truth = shortest_paths(weights.view(), options, by("simd_tiled"));
  EXPECT_TRUE(tests::same_bits(result.distances, truth.distances));
  EXPECT_TRUE(tests::same_bits(result.predecessors, truth.predecessors));
}

/// Expects an error of class E whose message contains `part`. The message must be the same on the CPU, for weights on
/// the GPU, and for weights that a GPU variant copies from host memory.
template <class E, class T>
void expect_the_processors_error(const Matrix<T>& weights, const std::string& part) {
  const std::string message = error_of<E>([&] { shortest_paths(weights.view(), {}, by("openmp_tiled")); });
  EXPECT_TRUE(contains(message, part)) << message;
  const OnDevice<T> there(weights.view(), 1);
  EXPECT_EQ(error_of<E>([&] { shortest_paths(there.view()); }), message);
  for (const Variant& variant : variants())
    if (variant.device_input) {
      EXPECT_EQ(error_of<E>([&] { shortest_paths(there.view(), {}, by(variant.name)); }), message);
      EXPECT_EQ(error_of<E>([&] { shortest_paths(weights.view(), {}, by(variant.name)); }), message);
    }
}

TEST_F(shortest_paths_gpu, errors_are_told_as_by_the_processor) {
  for (const std::int64_t n : {70, 600}) {  // the CPU examines the first graph, the GPU the second
    Matrix<float> floats = graph<float>(n, 0.5, 30, 0);
    floats(n - 3, 5) = std::numeric_limits<float>::quiet_NaN();
    floats(n - 3, 7) = -std::numeric_limits<float>::infinity();
    floats(n - 1, 0) = std::numeric_limits<float>::quiet_NaN();
    expect_the_processors_error<InputError>(floats, "NaN in row " + std::to_string(n - 3) + ", column 5");
    floats(n - 3, 5) = 0;
    expect_the_processors_error<InputError>(floats, "-inf in row " + std::to_string(n - 3) + ", column 7");

    Matrix<std::int32_t> weights = graph<std::int32_t>(n, 0.5, 30, 0);
    weights(n - 2, n - 2) = -1;
    expect_the_processors_error<VertexError>(weights, "a negative cycle, " + std::to_string(n - 2) + " -> ");
    weights(n - 2, n - 2) = 0;
    weights(n - 2, 3) = -5;
    weights(3, n - 2) = 4;
    expect_the_processors_error<VertexError>(weights, "a negative cycle");
    // A single long cycle with a sum of -1, which takes many rounds to appear.
    Matrix<std::int64_t> around = graph<std::int64_t>(n, 0, 1, 0);
    for (std::int64_t v = 0; v < n; ++v) around(v, (v + 1) % n) = v == 0 ? -n : 1;
    expect_the_processors_error<VertexError>(around, "of length -1;");
    // A path that needs as many rounds as the cycle above, but is not closed.
    around(n - 1, 0) = no_route<std::int64_t>();
    expect_the_processors_predecessors(around, "a path down");

    Matrix<std::int32_t> heavy = graph<std::int32_t>(n, 0, 1, 0);
    for (std::int64_t v = 0; v + 1 < n; ++v) heavy(v, v + 1) = 2000000000;
    expect_the_processors_error<VertexError>(heavy, "the distance from vertex 0 to vertex 2 ");
    for (std::int64_t v = 0; v + 1 < n; ++v) heavy(v, v + 1) = -2000000000;
    expect_the_processors_error<VertexError>(heavy, "-4000000000, which int32 does not hold");
  }
}

// Cycles that rounding makes negative: each edge is a difference of potentials, rounded upwards. The CPU grows the
// trees.
TEST_F(shortest_paths_gpu, cycles_that_rounding_makes_negative) {
  constexpr std::int64_t n = 90;
  ShortestPathsOptions options;
  options.predecessors = true;
  Matrix<float> weights = graph<float>(n, 0.3, 1, 0);
  for (std::int64_t from = 0; from < n; ++from)
    for (std::int64_t to = 0; to < n; ++to) {
      if (weights(from, to) != 1) continue;
      const auto potential = [](std::int64_t v) { return static_cast<float>(std::sqrt(static_cast<double>(v))); };
      const double difference = static_cast<double>(potential(from)) - static_cast<double>(potential(to));
      auto length = static_cast<float>(difference);
      if (static_cast<double>(length) < difference) length = std::nextafter(length, no_route<float>());
      weights(from, to) = length;
    }
  const Graph<float> as_given{weights.view()};
  const Truth<float> truth = oracle(as_given);
  const OnDevice<float> there(weights.view());
  for (const Variant& variant : variants()) {
    if (!variant.device_input) continue;
    EXPECT_EQ(compare(as_given, paths_there(there.view(), options, by(variant.name), 1), truth), "") << variant.name;
  }
}

TEST_F(shortest_paths_gpu, requests_that_contradict_themselves_are_refused) {
  const Matrix<double> weights = graph<double>(20, 0.5, 30, 0);
  const OnDevice<double> there(weights.view());
  Execution execution;
  execution.device = Device::cpu;
  std::string message = error_of<UnsupportedError>([&] { shortest_paths(there.view(), {}, execution); });
  EXPECT_TRUE(contains(message, "weights: they are on GPU 0, but the CPU was asked for")) << message;
  execution.device = Device::gpu;
  execution.gpu = 1;
  message = error_of<UsageError>([&] { shortest_paths(there.view(), {}, execution); });
  EXPECT_TRUE(contains(message, "they are on GPU 0, but GPU 1 was asked for")) << message;
  for (const Variant& variant : variants()) {
    if (variant.device_input) continue;
    message = error_of<UnsupportedError>([&] { shortest_paths(there.view(), {}, by(variant.name)); });
    EXPECT_TRUE(contains(message, "needs weights in host memory")) << message;
    EXPECT_TRUE(contains(message, "the variants that use them there: 'cuda_naive', ")) << message;
  }
  ShortestPathsMemory<double> memory;
  memory.distances = {const_cast<double*>(weights.data()), 20, 20, MemoryPlace::on_gpu(1)};
  message = error_of<UnsupportedError>([&] { shortest_paths(there.view(), {}, memory); });
  EXPECT_TRUE(contains(message, "distances: they are on GPU 1, but the job runs on GPU 0")) << message;
}

TEST_F(shortest_paths_gpu, a_view_that_lies_is_refused) {
  Matrix<double> weights = graph<double>(20, 0.5, 30, 0);
  Matrix<double> host(20, 20);
  Matrix<std::int32_t> before(20, 20);
  const OnDevice<double> there(weights.view());
  const MatrixView<const double> false_view(weights.data(), 20, 20, tests::gpu_place);
  std::string message = error_of<UsageError>([&] { shortest_paths(false_view); });
  EXPECT_TRUE(contains(message, "weights: the view says that they are on GPU 0, but")) << message;
  ShortestPathsMemory<double> memory;
  memory.distances = {host.data(), 20, 20, tests::gpu_place};
  message = error_of<UsageError>([&] { shortest_paths(there.view(), {}, memory); });
  EXPECT_TRUE(contains(message, "distances: the view says")) << message;
  memory.distances = {};
  memory.predecessors = {before.data(), 20, 20, tests::gpu_place};
  ShortestPathsOptions options;
  options.predecessors = true;
  message = error_of<UsageError>([&] { shortest_paths(there.view(), options, memory); });
  EXPECT_TRUE(contains(message, "predecessors: the view says")) << message;
}

TEST_F(shortest_paths_gpu, a_stop_request_is_honoured_there) {
  const OnDevice<float> there(graph<float>(600, 0.5, 30, 0).view());
  std::stop_source source;
  source.request_stop();
  Execution execution;
  execution.stop = source.get_token();
  EXPECT_THROW(shortest_paths(there.view(), {}, execution), InterruptedError);
}

}  // namespace
}  // namespace gradus::shortest_paths_detail
