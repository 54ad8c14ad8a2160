// Benchmarks all-pairs shortest paths.
#include "gradus/shortest_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "core/evenly_spread.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "shortest_paths/cases.hpp"
#include "shortest_paths/made_graphs.hpp"
#include "shortest_paths/options.hpp"
#include "shortest_paths/random_graph.hpp"
#include "shortest_paths/sparse_graph.hpp"

namespace gradus::bench {

namespace {

using nlohmann::ordered_json;
using shortest_paths_detail::Graph;
using shortest_paths_detail::Shape;
using shortest_paths_detail::Truth;
using shortest_paths_detail::Variant;

constexpr std::string_view problem_name = "shortest_paths";

// Maximum number of vertices for the slow oracle. For a larger graph, variants are compared on RandomGraph::part(), a
// smaller graph.
constexpr std::int64_t oracle_vertices = 200;

template <class T>
constexpr double Ceilings::*add_min_rate() {
  if constexpr (std::is_same_v<T, std::int32_t>) return &Ceilings::add_min_i32_per_second;
  else if constexpr (std::is_same_v<T, std::int64_t>) return &Ceilings::add_min_i64_per_second;
  else if constexpr (std::is_same_v<T, float>) return &Ceilings::add_min_f32_per_second;
  else return &Ceilings::add_min_f64_per_second;
}

struct GraphAxes {
  std::vector<std::int64_t> vertices{1024};
  double density = 1;
  /// average number of edges that begin at a vertex; empty: the graphs are matrices of weights
  std::vector<double> degrees;
  std::int64_t sources = 0;  ///< number of source vertices; 0: all
  std::int64_t heaviest = 1000;
  std::uint64_t seed = 1;
  bool predecessors = false;
  std::int64_t tile = 0;
};

template <class T>
class RandomGraph {
 public:
  /// `degree` is the average number of edges that begin at a vertex. It is capped at the possible maximum. If `degree`
  /// is negative, the graph is a matrix, and the axes determine its density.
  RandomGraph(std::int64_t vertices, double degree, const GraphAxes& axes) : vertices_(vertices), degree_(degree) {
    if (!is_listed()) {
      matrix_ = shortest_paths_detail::random_graph<T>(vertices, axes.density, axes.heaviest, axes.seed);
      return;
    }
    const std::int64_t edges =
        std::min(std::llround(degree * static_cast<double>(vertices)),
                 static_cast<long long>(shortest_paths_detail::RandomEdges::most_edges(vertices)));
    const shortest_paths_detail::RandomEdges random{
        .vertices = vertices, .edges = edges, .weights = {1, axes.heaviest}, .seed = axes.seed};
    for (std::int64_t index = 0; index < edges; ++index) {
      const shortest_paths_detail::MadeEdge edge = random.edge(index);
      from_.push_back(static_cast<std::int32_t>(edge.from));
      to_.push_back(static_cast<std::int32_t>(edge.to));
      weights_.push_back(static_cast<T>(edge.weight));
    }
  }

  std::int64_t vertices() const { return vertices_; }
  bool is_listed() const { return degree_ >= 0; }

  ShortestPathsResult<T> paths(const ShortestPathsOptions& options, const Execution& execution) const {
    if (is_listed()) return shortest_paths(edges(), options, execution);
    return shortest_paths(matrix_, options, execution);
  }

  Shape shape(bool predecessors, const std::stop_token& stop) const {
    if (!is_listed())
      return shortest_paths_detail::examine(Graph<T>{matrix_.view()}, 1, stop).shape(vertices_, predecessors);
    return shortest_paths_detail::listed(edges(), shortest_paths_detail::EdgeRules<T>{}, 1, stop)
        .facts.shape(vertices_, predecessors);
  }

  /// Returns a small graph for the oracle. For a matrix, this is the graph of the first vertices. For a list, it is a
  /// new graph of the same degree, because the first vertices alone would have almost no edges between them.
  RandomGraph part(const GraphAxes& axes) const {
    const std::int64_t n = std::min(vertices_, oracle_vertices);
    if (is_listed()) return {n, degree_, axes};
    RandomGraph corner;
    corner.vertices_ = n;
    corner.matrix_ = Matrix<T>::copy_of(MatrixView<const T>(matrix_.data(), n, n, vertices_));
    return corner;
  }

  Matrix<T> matrix() const {
    if (!is_listed()) return Matrix<T>::copy_of(matrix_.view());
    Matrix<T> weights(vertices_, vertices_);
    std::fill_n(weights.data(), vertices_ * vertices_, shortest_paths_detail::no_route<T>());
    for (std::size_t edge = 0; edge < from_.size(); ++edge) weights(from_[edge], to_[edge]) = weights_[edge];
    return weights;
  }

 private:
  RandomGraph() = default;
  EdgeView<T> edges() const { return {vertices_, from_, to_, weights_}; }

  std::int64_t vertices_ = 0;
  double degree_ = -1;
  Matrix<T> matrix_;
  std::vector<std::int32_t> from_;
  std::vector<std::int32_t> to_;
  std::vector<T> weights_;
};

/// Returns `wanted` of the n vertices, evenly spread. If `wanted` is 0, returns an empty list, which stands for all
/// vertices.
std::vector<std::int64_t> spread_sources(std::int64_t wanted, std::int64_t n) {
  std::vector<std::int64_t> sources;
  const std::int64_t count = std::min(wanted, n);
  for (std::int64_t source = 0; source < count; ++source) sources.push_back(core::evenly_spread(source, count, n));
  return sources;
}

/// A workload in which every row finds the shortest paths of the same graph, from all or some vertices.
template <class T>
class Paths : public Workload {
 public:
  Paths(std::int64_t vertices, double degree, const GraphAxes& axes, std::stop_token stop)
      : axes_(axes), stop_(std::move(stop)), graph_(vertices, degree, axes),
        shape_(graph_.shape(axes.predecessors, stop_)) {
    if (axes.sources > 0) shape_.sources = std::min(axes.sources, vertices);
  }

  std::string title() const override {
    return fmt::format("{} vertices, {} edges{}{}, {}{}{}", shape_.vertices, shape_.edges,
                       graph_.is_listed() ? " in a list" : "",
                       shape_.sources < 0 ? "" : fmt::format(", from {} of them", shape_.sources),
                       execution::element_name<T>(), axes_.predecessors ? ", with predecessors" : "",
                       axes_.tile > 0 ? fmt::format(", tiles of {}", axes_.tile) : "");
  }

  ordered_json facts() const override {
    return {{"vertices", shape_.vertices},
            {"edges", shape_.edges},
            {"form", graph_.is_listed() ? "list" : "matrix"},
            {"density", graph_.is_listed() ? ordered_json(nullptr) : ordered_json(axes_.density)},
            {"sources", shape_.rows()},
            {"heaviest", axes_.heaviest},
            {"seed", axes_.seed},
            {"dtype", execution::element_name<T>()},
            {"tile", axes_.tile},
            {"predecessors", axes_.predecessors}};
  }

  core::Support support(std::string_view variant) const override {
    return core::find_variant(shortest_paths_detail::variants(), variant, problem_name)
        .supports(shape_, execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    const RandomGraph<T> part = graph_.part(axes_);
    const Matrix<T> weights = part.matrix();
    const Graph<T> graph{weights.view()};
    report("verify", 0, std::ssize(rows));
    const Truth<T> truth = oracle(graph);
    for_each_sound(rows, "verify", report, [&](Row& row) {
      const std::string difference = compare_rows(graph, paths(row, part), truth);
      if (!difference.empty()) mark_wrong(row, difference);
    });
    run_once_on_everything(rows, report);
    if (part.vertices() == shape_.vertices) return "the whole graph against the oracle";
    return fmt::format("{} against the oracle; the whole graph against {}",
                       graph_.is_listed()
                           ? fmt::format("a graph of {} vertices with as many edges at each", part.vertices())
                           : fmt::format("the first {} vertices", part.vertices()),
                       std::is_floating_point_v<T> ? "nothing more" : reference_name_);
  }

  Sample run(const Row& row) override {
    const auto start = core::Clock::now();
    const ShortestPathsResult<T> result = paths(row, graph_);
    return sample_of(core::seconds_since(start), result.report.phases);
  }

  /// Returns the work: an addition and a minimum for each pair of vertices and each intermediate vertex. Algorithms on
  /// edge lists do much less work, so no share of a ceiling is shown for edge lists.
  std::vector<Work> work(const Row& row) const override {
    if (graph_.is_listed()) return {};
    return {{add_min_rate<T>(), relaxations(), row.seconds.median}};
  }

  std::vector<Figure> figures(const Row& row) const override {
    const double rate = (graph_.is_listed() ? edges_seen() : relaxations()) / row.seconds.median;
    if (graph_.is_listed()) return {{"edges_per_second", rate, "M edges/s", fmt::format("{:.3g}", 1e-6 * rate)}};
    return {{"relaxations_per_second", rate, "G relax/s", fmt::format("{:.3g}", 1e-9 * rate)}};
  }

 private:
  double relaxations() const {
    return shape_.relaxations() * static_cast<double>(shape_.rows()) / static_cast<double>(shape_.vertices);
  }
  double edges_seen() const { return static_cast<double>(shape_.edges) * static_cast<double>(shape_.rows()); }

  ShortestPathsResult<T> paths(const Row& row, const RandomGraph<T>& graph) const {
    ShortestPathsOptions options;
    options.predecessors = axes_.predecessors;
    options.tile = axes_.tile;
    options.sources = spread_sources(axes_.sources, graph.vertices());
    return graph.paths(options, execution_of(row, stop_));
  }

  /// Compares the rows of `result` with the same rows of the oracle. `result` has a row for each source only, but
  /// compare() needs whole matrices. The oracle's rows therefore replace the missing rows.
  std::string compare_rows(const Graph<T>& graph, ShortestPathsResult<T> result, const Truth<T>& truth) const {
    const std::vector<std::int64_t> sources = spread_sources(axes_.sources, graph.n());
    if (sources.empty()) return compare<T>(graph, result, truth);
    if (result.distances.rows() != std::ssize(sources)) return "the number of rows is incorrect";
    const auto put = [&](auto& rows, const auto& whole) {
      auto all = std::remove_cvref_t<decltype(rows)>::copy_of(whole.view());
      for (std::size_t row = 0; row < sources.size(); ++row)
        std::copy_n(rows.row(static_cast<std::int64_t>(row)), graph.n(), all.row(sources[row]));
      rows = std::move(all);
    };
    put(result.distances, truth.result.distances);
    if (axes_.predecessors) put(result.predecessors, truth.result.predecessors);
    return compare<T>(graph, result, truth);
  }

  // Runs every row once, untimed. This run warms up caches and memory, and its peak memory is measured. For integer
  // weights, also compares the results of all rows with each other.
  void run_once_on_everything(std::vector<Row>& rows, const Reporter& report) {
    for_each_sound(rows, "warm up", report, [&](Row& row) {
      const PeakMemory memory;
      ShortestPathsResult<T> result = paths(row, graph_);
      row.memory_bytes = memory.bytes();
      if constexpr (!std::is_floating_point_v<T>) {
        if (reference_name_.empty()) {
          reference_name_ = row.variant;
          reference_ = std::move(result);
        } else if (!same(result.distances, reference_.distances) ||
                   !same(result.predecessors, reference_.predecessors)) {
          mark_wrong(row, "on the whole graph, the result differs from " + reference_name_);
        }
      }
    });
  }

  template <class M>
  static bool same(const M& one, const M& other) {
    return std::equal(one.data(), one.data() + one.rows() * one.columns(), other.data());
  }

  GraphAxes axes_;
  std::stop_token stop_;
  RandomGraph<T> graph_;
  Shape shape_;
  std::string reference_name_;
  ShortestPathsResult<T> reference_;
};

class AllPaths : public Workloads {
 public:
  std::vector<Axis> axes() override {
    return {
        {.name = "vertices",
         .letter = "n",
         .form = "N,...",
         .help = "numbers of vertices",
         .initial = "1024",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.vertices.clear();
               for (const std::string& part : parse_list(label, text))
                 axes_.vertices.push_back(parse_whole(label, part, 1, std::int64_t{1} << 20));
             }},
        {.name = "density",
         .letter = "",
         .form = "P",
         .help = "probability that an ordered pair of vertices is an edge",
         .initial = "1",
         .parse = [this](const std::string& label,
                         const std::string& text) { axes_.density = parse_real(label, text, 0, 1); },
         .no_effect_reason =
             [this] { return axes_.degrees.empty() ? "" : "the number of edges follows from --degree"; }},
        {.name = "degree",
         .letter = "",
         .form = "D,...",
         .help = "lists of random edges with this average number per vertex, instead of matrices of weights",
         .initial = "",
         .parse = [this](
                      const std::string& label,
                      const std::string& text) { axes_.degrees = parse_real_list(label, text, 0, double{1 << 20}); }},
        {.name = "sources",
         .letter = "",
         .form = "S",
         .help = "number of source vertices, evenly spread",
         .initial = "all",
         .parse = [this](
                      const std::string& label,
                      const std::string& text) { axes_.sources = parse_whole(label, text, 1, std::int64_t{1} << 20); }},
        {.name = "heaviest",
         .letter = "",
         .form = "W",
         .help = "largest weight; weights are random from 1",
         .initial = "1000",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.heaviest = parse_whole(label, text, 1, std::numeric_limits<std::int32_t>::max() - 1);
             }},
        types_axis("types of the weights", {"i32", "i64", "f32", "f64"}, types_),
        {.name = "tile",
         .letter = "",
         .form = "N",
         .help = "side of the tiles of tiled variants",
         .initial = "the variant's default",
         .parse = [this](const std::string& label,
                         const std::string& text) { axes_.tile = parse_whole(label, text, 1, std::int64_t{1} << 20); }},
        yes_no_axis("predecessors", "also find the predecessors", axes_.predecessors),
        seed_axis("seed of the random graph", axes_.seed),
    };
  }

  void prepare(const InputCallbacks&) override {
    for (const std::int64_t vertices : axes_.vertices) {
      if (axes_.sources > vertices)
        throw UsageError(fmt::format("sources: there are no {} among {} vertices", axes_.sources, vertices));
      for (const double degree : axes_.degrees)
        if (degree > static_cast<double>(vertices - 1))
          throw UsageError(
              fmt::format("degree: a vertex has edges to at most {} others, not to {:g}", vertices - 1, degree));
    }
  }

  /// Multiplies the work by `share`. For matrices, the work is proportional to the cube of the number of vertices. For
  /// edge lists, it is proportional to the number of edges times the number of sources (by default all vertices).
  void scale(double share) override {
    const auto shrunk = [](std::int64_t size, double by) {
      return std::max(std::min<std::int64_t>(size, 8), static_cast<std::int64_t>(by * static_cast<double>(size)));
    };
    const double by = axes_.degrees.empty() ? std::cbrt(share) : std::sqrt(share);
    for (std::int64_t& vertices : axes_.vertices) vertices = shrunk(vertices, by);
    if (axes_.sources > 0) axes_.sources = shrunk(axes_.sources, by);
  }

  void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) override {
    const std::vector<double> matrices{-1};
    for (const std::int64_t vertices : axes_.vertices)
      for (const double degree : axes_.degrees.empty() ? matrices : axes_.degrees)
        for (const std::string& type : types_) {
          if (type == "i32") measure<std::int32_t>(vertices, degree, callbacks, use);
          else if (type == "i64") measure<std::int64_t>(vertices, degree, callbacks, use);
          else if (type == "f32") measure<float>(vertices, degree, callbacks, use);
          else measure<double>(vertices, degree, callbacks, use);
        }
  }

 private:
  template <class T>
  void measure(std::int64_t vertices, double degree, const InputCallbacks& callbacks,
               const std::function<void(Workload&)>& use) const {
    if (callbacks.progress) callbacks.progress({"make graph", 0, 1, fmt::format("{} vertices", vertices)});
    Paths<T> paths(vertices, degree, axes_, callbacks.stop);
    use(paths);
  }

  GraphAxes axes_;
  std::vector<std::string> types_{"i32"};
};

}  // namespace

extern const ProblemRow shortest_paths_problem;
const ProblemRow shortest_paths_problem{
    .name = problem_name,
    .summary = "all-pairs shortest paths: distances and routes between all vertices of a graph",
    .figures =
        "relax: N^3 relaxations (with --sources S: S N^2) over the time, in 10^9 per second, whether or not a variant "
        "performs all. add+min: the same as a share of the add-and-minimum rate of the same number of threads. edges: "
        "for lists, sources times edges over the time, in 10^6 per second.",
    .ladder = &shortest_paths_detail::ladder,
    .options = core::option_rows<ShortestPathsOptions>,
    .verify = verify_room<shortest_paths_detail::Trial>,
    .cases = case_names_of<shortest_paths_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<AllPaths>(); },
};

}  // namespace gradus::bench
