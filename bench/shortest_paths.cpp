// All-pairs shortest paths as the harness sees them.
#include "gradus/shortest_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "shortest_paths/cases.hpp"
#include "shortest_paths/random_graph.hpp"

namespace gradus::bench {

namespace {

using nlohmann::ordered_json;
using shortest_paths_detail::Graph;
using shortest_paths_detail::Truth;
using shortest_paths_detail::Variant;

constexpr std::string_view problem_name = "shortest_paths";

// The oracle is plain; it gets no more vertices than this, and a corner of the graph where there are more.
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
  std::int64_t heaviest = 1000;
  std::uint64_t seed = 1;
  bool predecessors = false;
  std::int64_t tile = 0;
};

/// All shortest paths of one graph.
template <class T>
class Paths : public Workload {
 public:
  Paths(std::int64_t vertices, const GraphAxes& axes, std::stop_token stop)
      : axes_(axes), stop_(std::move(stop)),
        weights_(shortest_paths_detail::random_graph<T>(vertices, axes.density, axes.heaviest, axes.seed)) {
    options_.predecessors = axes.predecessors;
    options_.tile = axes.tile;
    const Graph<T> graph{weights_.view()};
    shape_ = shortest_paths_detail::examine(graph, 1, stop_).shape(vertices, axes.predecessors);
  }

  std::string title() const override {
    return fmt::format("{} vertices, {} edges, {}{}{}", shape_.vertices, shape_.edges, execution::element_name<T>(),
                       axes_.predecessors ? ", with predecessors" : "",
                       axes_.tile > 0 ? fmt::format(", tiles of {}", axes_.tile) : "");
  }

  ordered_json facts() const override {
    return {{"vertices", shape_.vertices}, {"edges", shape_.edges},
            {"density", axes_.density},    {"heaviest", axes_.heaviest},
            {"seed", axes_.seed},          {"dtype", execution::element_name<T>()},
            {"tile", axes_.tile},          {"predecessors", axes_.predecessors}};
  }

  core::Support support(std::string_view variant) const override {
    return core::find_variant(shortest_paths_detail::variants(), variant, problem_name)
        .supports(shape_, execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    const std::int64_t n = std::min(shape_.vertices, oracle_vertices);
    const MatrixView<const T> corner(weights_.data(), n, n, shape_.vertices);
    const Graph<T> graph{corner};
    report("verify", 0, std::ssize(rows));
    const Truth<T> truth = oracle(graph);
    for_each_sound(rows, "verify", report, [&](Row& row) {
      const std::string difference = compare<T>(graph, paths(row, corner), truth);
      if (!difference.empty()) mark_wrong(row, difference);
    });
    run_once_on_everything(rows, report);
    if (n == shape_.vertices) return "the whole graph against the oracle";
    return fmt::format("the first {} vertices against the oracle; the whole graph against {}", n,
                       std::is_floating_point_v<T> ? "nothing more" : reference_name_);
  }

  Sample run(const Row& row) override {
    const auto start = core::Clock::now();
    const ShortestPathsResult<T> result = paths(row, weights_.view());
    return sample_of(core::seconds_since(start), result.report.phases);
  }

  /// An addition and a minimum for each pair and each vertex in the middle.
  std::vector<Work> work(const Row& row) const override {
    return {{add_min_rate<T>(), shape_.relaxations(), row.seconds.median}};
  }

  std::vector<Figure> figures(const Row& row) const override {
    const double rate = shape_.relaxations() / row.seconds.median;
    return {{"relaxations_per_second", rate, "G relax/s", fmt::format("{:.3g}", 1e-9 * rate)}};
  }

 private:
  ShortestPathsResult<T> paths(const Row& row, MatrixView<const T> weights) const {
    return shortest_paths<T>(weights, options_, {}, execution_of(row, stop_));
  }

  // A first, untimed run on everything: it warms caches and memory up, shows the peak of memory, and whole numbers are
  // compared with those of the first row.
  void run_once_on_everything(std::vector<Row>& rows, const Reporter& report) {
    for_each_sound(rows, "warm up", report, [&](Row& row) {
      const PeakMemory memory;
      ShortestPathsResult<T> result = paths(row, weights_.view());
      row.memory_bytes = memory.bytes();
      if constexpr (!std::is_floating_point_v<T>) {
        if (reference_name_.empty()) {
          reference_name_ = row.variant;
          reference_ = std::move(result);
        } else if (!same(result.distances, reference_.distances) ||
                   !same(result.predecessors, reference_.predecessors)) {
          mark_wrong(row, "on the whole graph, another result than that of " + reference_name_);
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
  Matrix<T> weights_;
  ShortestPathsOptions options_;
  shortest_paths_detail::Shape shape_;
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
                         const std::string& text) { axes_.density = parse_real(label, text, 0, 1); }},
        {.name = "heaviest",
         .letter = "",
         .form = "W",
         .help = "weights are random from 1 to this",
         .initial = "1000",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.heaviest = parse_whole(label, text, 1, std::numeric_limits<std::int32_t>::max() - 1);
             }},
        {.name = "dtype",
         .letter = "",
         .form = "TYPE,...",
         .help = "types of the weights: i32, i64, f32, f64",
         .initial = "i32",
         .parse =
             [this](const std::string& label, const std::string& text) {
               types_.clear();
               for (const std::string& part : parse_list(label, text))
                 types_.push_back(type_names()[parse_choice(label, part, type_names())]);
             },
         .choices = type_names()},
        {.name = "tile",
         .letter = "",
         .form = "N",
         .help = "side of the tiles of variants that work in such",
         .initial = "the variant's own",
         .parse = [this](const std::string& label,
                         const std::string& text) { axes_.tile = parse_whole(label, text, 1, std::int64_t{1} << 20); }},
        {.name = "predecessors",
         .letter = "",
         .form = "yes|no",
         .help = "also find the predecessors",
         .initial = "no",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.predecessors = parse_choice(label, text, {"no", "yes"}) == 1;
             },
         .choices = {"yes", "no"}},
        {.name = "seed",
         .letter = "",
         .form = "N",
         .help = "seed of the random graph",
         .initial = "1",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.seed = parse_unsigned(label, text, 0, std::numeric_limits<std::uint64_t>::max());
             }},
    };
  }

  void prepare(const Making&) override {}

  /// The work, which grows with the cube.
  void scale(double share) override {
    for (std::int64_t& vertices : axes_.vertices)
      vertices = std::max<std::int64_t>(std::min<std::int64_t>(vertices, 8),
                                        static_cast<std::int64_t>(std::cbrt(share) * static_cast<double>(vertices)));
  }

  void for_each(const Making& making, const std::function<void(Workload&)>& use) override {
    for (const std::int64_t vertices : axes_.vertices)
      for (const std::string& type : types_) {
        if (type == "i32") measure<std::int32_t>(vertices, making, use);
        else if (type == "i64") measure<std::int64_t>(vertices, making, use);
        else if (type == "f32") measure<float>(vertices, making, use);
        else measure<double>(vertices, making, use);
      }
  }

 private:
  static const std::vector<std::string>& type_names() {
    static const std::vector<std::string> names{"i32", "i64", "f32", "f64"};
    return names;
  }

  template <class T>
  void measure(std::int64_t vertices, const Making& making, const std::function<void(Workload&)>& use) const {
    if (making.progress) making.progress({"make graph", 0, 1, fmt::format("{} vertices", vertices)});
    Paths<T> paths(vertices, axes_, making.stop);
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
        "relax: N^3 relaxations over the time, in 10^9 per second, whether or not a variant makes all of them. "
        "add+min: "
        "the same as a share of the rate at which as many threads add and take minima.",
    .ladder = &shortest_paths_detail::ladder,
    .verify = verify_room<shortest_paths_detail::Trial>,
    .cases = case_names_of<shortest_paths_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<AllPaths>(); },
};

}  // namespace gradus::bench
