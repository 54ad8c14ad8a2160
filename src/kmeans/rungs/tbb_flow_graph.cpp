// tbb_flow_graph: the iteration as a graph of tasks, and a scheduler that runs every task as soon as it is ready.
//
// What changes from `openmp_reduce_first_touch`: the program no longer assigns work to threads or makes all threads
// wait at a barrier. It only states which task must finish before which other task:
//
//   start -> assign each chunk of the points -> add up the chunks' sums in pairs -> total
//
// The workers of oneTBB steal ready tasks. The sums of two neighbouring chunks are added as soon as both are complete,
// while other chunks are still being assigned. A slow core takes fewer chunks, and no thread waits at a barrier. This
// requires more chunks than threads. On quiet, equal cores a static schedule is already optimal, and the graph costs
// about a microsecond per task; on busy or unequal cores the graph keeps all of them at work. Sums belong to a chunk,
// not to a thread, and the tree of additions is fixed. So the result does not depend on which thread runs which task.
//
// The graph covers one iteration. Lloyd's driver (lloyd.hpp) closes the loop, because stop requests, progress reports
// and errors belong to the calling thread. The graph is built once and run in every iteration. It is stored as a list
// of tasks and edges. Both oneTBB's graph and the picture that the variant option `dump_graph` requests are made from
// this list, so the picture shows the graph that ran.
//
// Work per iteration: n k d subtractions, multiplications and additions; n (d + 2) additions; `chunks` * k (d + 2)
// additions in the tree; n d elements read from memory. Memory: 8 k (d + 2) bytes per chunk (at most four chunks per
// thread), and the total.
// Limits: there are more copies of the sums than threads, so a large k d costs more than in the rungs before, and the
// calling thread touches all copies first. With fewer than a thousand points, there is one chunk, and one thread does
// all the work.
// Source: oneTBB's flow graph (continue_node); work stealing: R. D. Blumofe and C. E. Leiserson, "Scheduling
// multithreaded computations by work stealing", J. ACM 46 (1999).
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/atomic_file.hpp"
#include "core/startable.hpp"
#include "cpu/thread_sanitizer.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/lloyd/textbook.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

namespace {

// The maximum number of chunks per thread. Each chunk has separate sums.
constexpr int chunks_per_thread = 4;

constexpr std::int64_t least_points_per_chunk = 512;  // a chunk of this size takes some microseconds even for small k d

/// The tasks and their order. Task 0 is the start; all other tasks depend on it.
struct TaskGraph {
  struct Task {
    std::string name;
    std::function<void()> run;
  };
  std::vector<Task> tasks;
  std::vector<std::pair<std::size_t, std::size_t>> edges;  ///< pairs of tasks: the second must run after the first

  std::size_t add(std::string name, std::function<void()> run, std::initializer_list<std::size_t> after) {
    tasks.push_back({std::move(name), std::move(run)});
    for (const std::size_t before : after) edges.emplace_back(before, tasks.size() - 1);
    return tasks.size() - 1;
  }

  std::string to_dot() const {
    std::string dot = "digraph tbb_flow_graph {\n  node [shape=box];\n";
    for (std::size_t task = 0; task < tasks.size(); ++task)
      dot += "  task" + std::to_string(task) + " [label=\"" + tasks[task].name + "\"];\n";
    for (const auto& [before, after] : edges)
      dot += "  task" + std::to_string(before) + " -> task" + std::to_string(after) + ";\n";
    return dot + "}\n";
  }
};

/// Binds the workers that enter an arena to CPUs, as PinnedTeam does for OpenMP's threads and the calling thread. The
/// destructor unbinds workers by thread id, for two reasons. First, a worker may still be in the arena when the
/// destructor runs. Second, a worker that started while the calling thread was bound has inherited this binding.
class PinningObserver : public tbb::task_scheduler_observer {
 public:
  PinningObserver(tbb::task_arena& arena, Pinning pinning)
      : tbb::task_scheduler_observer(arena), processors_(cpu::pinning_order(pinning)) {
    cpu::announce_done(this);
    if (!processors_.empty()) observe(true);
  }
  PinningObserver(const PinningObserver&) = delete;
  PinningObserver& operator=(const PinningObserver&) = delete;
  ~PinningObserver() override {
    observe(false);
    for (const pid_t worker : workers_) cpu::bind_thread(worker, cpu::allowed_processors());
  }

  void on_scheduler_entry(bool is_worker) override {
    if (!is_worker) return;
    cpu::announce_seen(this);
    const auto slot = static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
    cpu::bind_thread(0, {processors_[slot % processors_.size()]});
    const std::lock_guard lock(mutex_);
    workers_.insert(gettid());
  }

 private:
  std::vector<int> processors_;
  std::mutex mutex_;
  std::set<pid_t> workers_;
};

/// Runs a TaskGraph as a oneTBB graph on at most `threads` threads, including the calling thread. Because of
/// annotations, the thread sanitizer knows only the order that the edges guarantee. If an edge is missing, it reports a
/// race.
class FlowGraph {
 public:
  FlowGraph(const TaskGraph& tasks, const Execution& execution, int threads) : tasks_(tasks), arena_(threads) {
    // oneTBB starts threads of its scheduler in addition to the driver's OpenMP threads.
    if (threads > 1 && core::count_startable(threads) < threads)
      throw Error("the system does not let this process start " + std::to_string(threads) +
                  " threads of oneTBB as well; ask for fewer, or raise the limit (ulimit -u, ulimit -v)");
    if (threads > tbb::info::default_concurrency())
      allowance_.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    observer_.emplace(arena_, execution.pinning);
    arena_.execute([&] {
      graph_.emplace();  // constructed in the arena, because tasks run in the arena of their graph
      for (std::size_t task = 0; task < tasks.tasks.size(); ++task)
        nodes_.emplace_back(*graph_, [this, task](const tbb::flow::continue_msg&) { run_task(task); });
      for (const auto& [before, after] : tasks.edges) tbb::flow::make_edge(nodes_[before], nodes_[after]);
    });
  }

  /// Runs every task once. If a task throws, the other tasks are cancelled and run() rethrows the exception.
  void run() {
    cpu::announce_done(this);
    arena_.execute([&] {
      nodes_.front().try_put(tbb::flow::continue_msg());
      graph_->wait_for_all();
    });
    for (const TaskGraph::Task& task : tasks_.tasks) cpu::announce_seen(&task);
  }

 private:
  void run_task(std::size_t task) {
    cpu::announce_seen(this);  // all work before run() precedes every task
    for (const auto& [before, after] : tasks_.edges)
      if (after == task) cpu::announce_seen(&tasks_.tasks[before]);
    tasks_.tasks[task].run();
    cpu::announce_done(&tasks_.tasks[task]);
  }

  const TaskGraph& tasks_;
  tbb::task_arena arena_;
  std::optional<tbb::global_control> allowance_;
  std::optional<PinningObserver> observer_;
  std::optional<tbb::flow::graph> graph_;
  std::deque<tbb::flow::continue_node<tbb::flow::continue_msg>> nodes_;
};

/// The tasks of one iteration, and their data.
template <class T>
class Iteration {
 public:
  Iteration(const Problem<T>& problem, int threads) : problem_(problem) {
    const int chunks = static_cast<int>(
        std::clamp<std::int64_t>(problem.n() / least_points_per_chunk, 1, std::int64_t{chunks_per_thread} * threads));
    for (int chunk = 0; chunk < chunks; ++chunk) chunks_.emplace_back(problem);
    make_tasks();
  }
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

  const TaskGraph& tasks() const { return tasks_; }

  Outcome run(FlowGraph& graph, MatrixView<const T> centroids, std::int32_t* labels, FloatSums<T>& total) {
    centroids_ = centroids;
    labels_ = labels;
    total_ = &total;
    graph.run();
    return chunks_.front().outcome;
  }

 private:
  struct Chunk {
    explicit Chunk(const Problem<T>& problem) : sums(problem) {}
    FloatSums<T> sums;
    Outcome outcome;
  };

  void make_tasks() {
    const int count = static_cast<int>(chunks_.size());
    const std::size_t start = tasks_.add("start", [] {}, {});
    std::vector<std::size_t> ready(chunks_.size());  // for each chunk: the last task so far that adds to its sums
    for (int chunk = 0; chunk < count; ++chunk) {
      const cpu::Range range = cpu::share(problem_.n(), chunk, count);
      ready[static_cast<std::size_t>(chunk)] =
          tasks_.add("assign points " + std::to_string(range.begin) + " to " + std::to_string(range.end - 1),
                     [this, chunk, range] { assign(chunks_[static_cast<std::size_t>(chunk)], range); }, {start});
    }
    for (std::size_t step = 1; step < chunks_.size(); step *= 2)
      for (std::size_t to = 0; to + step < chunks_.size(); to += 2 * step) {
        const std::size_t from = to + step;
        ready[to] = tasks_.add("add sums " + std::to_string(from) + " to " + std::to_string(to),
                               [this, to, from] { merge(chunks_[to], chunks_[from]); }, {ready[to], ready[from]});
      }
    tasks_.add("total", [this] { total_->merge(chunks_.front().sums); }, {ready.front()});
  }

  void assign(Chunk& chunk, cpu::Range range) {
    chunk.sums.clear();
    Outcome outcome{0, 0.0};
    const std::int64_t block = points_between_polls(problem_);
    for (std::int64_t first = range.begin; first < range.end && !problem_.stop.stop_requested(); first += block)
      for (std::int64_t point = first; point < std::min(first + block, range.end); ++point) {
        const Nearest<T> nearest = nearest_centroid(problem_.points.row(point), centroids_);
        outcome.changed += labels_[point] != nearest.cluster;
        outcome.inertia += problem_.weight(point) * static_cast<double>(nearest.distance);
        labels_[point] = nearest.cluster;
        chunk.sums.add(point, nearest.cluster);
      }
    chunk.outcome = outcome;
  }

  void merge(Chunk& to, const Chunk& from) const {
    if (problem_.stop.stop_requested()) return;
    to.sums.merge(from.sums);
    to.outcome.changed += from.outcome.changed;
    to.outcome.inertia += from.outcome.inertia;
  }

  const Problem<T>& problem_;
  std::deque<Chunk> chunks_;
  TaskGraph tasks_;
  // The arguments of the current pass.
  MatrixView<const T> centroids_;
  std::int32_t* labels_ = nullptr;
  FloatSums<T>* total_ = nullptr;
};

}  // namespace

template <class T>
KMeansResult<T> tbb_flow_graph(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  Iteration<T> iteration(problem, threads);
  if (const std::string file = graph_file(execution); !file.empty())
    core::write_atomically(file, iteration.tasks().to_dot());
  FlowGraph graph(iteration.tasks(), execution, threads);
  const auto assign_and_sum = [&](const Problem<T>&, MatrixView<const T> centroids, std::int32_t* labels,
                                  FloatSums<T>& total) { return iteration.run(graph, centroids, labels, total); };
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, execution, engine, phases);
}

namespace {

core::Memory float_sums_per_chunk(const Shape& shape, int threads) {
  return float_sums_per_thread(shape, chunks_per_thread * threads);
}

}  // namespace

extern constinit const Variant tbb_flow_graph_rung{
    .name = "tbb_flow_graph",
    .summary = "the iteration as a graph of tasks, run by work stealing",
    .change = "more chunks than threads and no barrier: ready tasks run; sums are added in pairs as they finish",
    .contract = textbook,
    .backend = core::Backend::tbb,
    .options = &graph_options,
    .memory = float_sums_per_chunk,
    .run = {tbb_flow_graph<float>, tbb_flow_graph<double>},
};

}  // namespace gradus::kmeans_detail
