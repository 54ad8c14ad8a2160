// A graph on a GPU. Uploads and examines the graph, fills the matrix of distances, and converts this matrix to the
// caller's form.
#include <limits>
#include <vector>

#include "core/stop.hpp"
#include "cuda/launch.hpp"
#include "execution/gpu_job.hpp"
#include "shortest_paths/gpu/gpu_graph.hpp"
#include "shortest_paths/gpu/graph_there.cuh"

namespace gradus::shortest_paths_detail {

namespace {

using Word = cuda::Job::Word;

constexpr int row_threads = 256;

/// Launch dimensions. In x, there is one thread per column. In y, each block processes every gridDim.y-th row.
struct ByColumns {
  dim3 blocks;
  explicit ByColumns(std::int64_t n)
      : blocks(cuda::blocks_for(n, row_threads), static_cast<unsigned int>(n < 65535 ? n : 65535)) {}
};

/// Reads a word that other threads of the same launch may write concurrently.
__device__ Word look(const Word* word) {
  Word value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
__device__ void raise(Word* flag) { asm volatile("st.relaxed.gpu.global.u64 [%0], 1;" ::"l"(flag) : "memory"); }

// ---------------------------------------------------------------------------------------------------------------------
// Examining the edges

template <class T>
struct MagnitudeOf {
  using Type = T;
};
template <>
struct MagnitudeOf<std::int32_t> {
  using Type = std::uint32_t;
};
template <>
struct MagnitudeOf<std::int64_t> {
  using Type = std::uint64_t;
};

/// RowEdgeFacts in the form that a kernel writes, without padding bytes.
template <class T>
struct DeviceRowFacts {
  typename MagnitudeOf<T>::Type greatest;
  std::int32_t edges;
  std::int32_t impossible;
  std::int32_t negative;  ///< 1 if an edge is negative, otherwise 0
  std::int32_t positive;
};

constexpr std::int32_t no_column = std::numeric_limits<std::int32_t>::max();

// Launch shape: one warp per row.
template <class T>
__global__ void __launch_bounds__(row_threads) look_at_rows(DeviceGraph<T> graph, DeviceRowFacts<T>* rows) {
  using Magnitude = typename MagnitudeOf<T>::Type;
  const std::int64_t u = std::int64_t{blockIdx.x} * (row_threads / 32) + threadIdx.x / 32;
  if (u >= graph.n) return;
  const T* const row = graph.row(u);
  Magnitude greatest = 0;
  unsigned int edges = 0;
  std::int32_t impossible = no_column;
  bool negative = false;
  bool positive = true;
#pragma unroll 4
  for (std::int64_t v = threadIdx.x % 32; v < graph.n; v += 32) {
    const T weight = row[v];
    if constexpr (std::numeric_limits<T>::has_infinity)
      if (!(weight > -std::numeric_limits<T>::infinity())) impossible = min(impossible, static_cast<std::int32_t>(v));
    if (!graph.is_edge(weight)) continue;
    negative |= weight < 0;
    if (v == u) continue;
    ++edges;
    positive &= weight > 0;
    const auto magnitude = weight < 0 ? Magnitude{0} - static_cast<Magnitude>(weight) : static_cast<Magnitude>(weight);
    if (magnitude > greatest) greatest = magnitude;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const Magnitude other = __shfl_xor_sync(0xffffffffu, greatest, lanes);
    if (other > greatest) greatest = other;
    edges += __shfl_xor_sync(0xffffffffu, edges, lanes);
    impossible = min(impossible, __shfl_xor_sync(0xffffffffu, impossible, lanes));
  }
  negative = __any_sync(0xffffffffu, negative);
  positive = __all_sync(0xffffffffu, positive);
  if (threadIdx.x % 32 == 0) rows[u] = {greatest, static_cast<std::int32_t>(edges), impossible, negative, positive};
}

// ---------------------------------------------------------------------------------------------------------------------
// Negative cycles

/// The type of route lengths. All lengths are at most 0 here, so their magnitudes are stored. The bits of magnitudes
/// are ordered like integers, so CUDA's atomic operations can compute the maximum.
template <class T>
using Length = std::conditional_t<std::numeric_limits<T>::has_infinity, double, std::int64_t>;

template <class L>
__device__ L length_of(Word bits) {
  if constexpr (std::numeric_limits<L>::has_infinity) return __longlong_as_double(static_cast<long long>(bits));
  else return static_cast<L>(bits);
}
template <class L>
__device__ Word bits_of(L length) {
  if constexpr (std::numeric_limits<L>::has_infinity) return static_cast<Word>(__double_as_longlong(length));
  else return static_cast<Word>(length);
}

struct DeviceRound {
  Word* lengths;  ///< for each vertex, the negated length of the shortest route known so far that ends there
  Word* changed;  ///< first word: 1 if a length improved; second word: 1 if a length proves a negative cycle
  __device__ Word* beyond() const { return changed + 1; }
};

constexpr int rows_of_a_round = 64;

// Relaxes all edges to each vertex. A thread may read a length that another thread improves concurrently, because each
// value is the length of some route. A route that is already shorter than any route without cycles is not extended, so
// nothing wraps. Launch shape: in x, one thread per vertex, which reads the vertex's column; in y, `rows_of_a_round`
// rows per block.
template <class T>
__global__ void __launch_bounds__(row_threads)
    lengthen_routes(DeviceGraph<T> graph, DeviceRound round, Length<T> greatest) {
  using L = Length<T>;
  const std::int64_t v = std::int64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (v >= graph.n) return;
  const std::int64_t first = std::int64_t{blockIdx.y} * rows_of_a_round;
  const std::int64_t end = min(first + rows_of_a_round, graph.n);
  const L before = length_of<L>(look(&round.lengths[v]));
  L best = before;
  for (std::int64_t u = first; u < end; ++u) {
    const T weight = graph.row(u)[v];
    const L there = length_of<L>(look(&round.lengths[u]));
    if (!graph.is_edge(weight) || there > greatest) continue;
    if (u == v && weight < 0) raise(round.beyond());
    const L length = there - static_cast<L>(weight);
    if (length > best) best = length;
  }
  if (!(best > before)) return;
  atomicMax(&round.lengths[v], bits_of(best));
  raise(round.changed);
  if (best > greatest) raise(round.beyond());
}

// ---------------------------------------------------------------------------------------------------------------------
// The matrix

template <class T, class C>
__global__ void __launch_bounds__(row_threads) fill_matrix(DeviceGraph<T> graph, C* distances) {
  constexpr C none = unreachable<C>();
  const std::int64_t v = std::int64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (v >= graph.n) return;
  for (std::int64_t u = blockIdx.y; u < graph.n; u += gridDim.y) {
    const T weight = graph.row(u)[v];
    const C edge = graph.is_edge(weight) ? static_cast<C>(weight) + C{0} : none;  // adding 0 turns -0 into 0
    distances[u * graph.n + v] = u == v ? C{0} : edge;
  }
}

template <class C>
__global__ void __launch_bounds__(row_threads) look_at_diagonal(const C* distances, std::int64_t n, Word* found) {
  const std::int64_t v = std::int64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (v < n && !(distances[v * n + v] >= 0)) raise(found);
}

constexpr int square = 32;

// Launch shape: blocks of 32 x 8 threads, one per square of the matrix on or above the diagonal.
template <class C>
__global__ void __launch_bounds__(square * 8)
    look_for_zero_cycles(const C* distances, std::int64_t n, C greatest, Word* found) {
  __shared__ C across[square][square + 1];
  const std::int64_t top = std::int64_t{blockIdx.y} * square;
  const std::int64_t left = std::int64_t{blockIdx.x} * square;
  if (left < top) return;
  for (int row = threadIdx.y; row < square; row += 8)
    if (left + row < n && top + threadIdx.x < n)
      across[row][threadIdx.x] = distances[(left + row) * n + top + threadIdx.x];
  __syncthreads();  // the opposite square is loaded completely
  for (int row = threadIdx.y; row < square; row += 8) {
    const std::int64_t from = top + row;
    const std::int64_t to = left + threadIdx.x;
    if (from >= n || to >= n || from >= to) continue;
    const C there = distances[from * n + to];
    const C back = across[threadIdx.x][row];
    if (there <= greatest && back <= greatest && there + back == 0) raise(found);
  }
}

template <class T, class C>
__global__ void __launch_bounds__(row_threads) finish_matrix(const C* solved, std::int64_t n, C greatest, T* distances,
                                                             std::int64_t stride, Word* first_too_great) {
  constexpr C unreached = unreachable<C>();
  constexpr T none = no_route<T>();
  const std::int64_t to = std::int64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (to >= n) return;
  for (std::int64_t from = blockIdx.y; from < n; from += gridDim.y) {
    const C distance = solved[from * n + to];
    T finished;
    bool too_great = false;
    if constexpr (std::numeric_limits<T>::has_infinity) {
      finished = static_cast<T>(distance) + T{0};
      too_great = finished == none && distance != unreached;
    } else {
      const bool route = distance <= greatest;
      finished = route ? static_cast<T>(distance) : none;
      if constexpr (!std::is_same_v<T, C>)
        too_great = route && (distance >= none || distance < std::numeric_limits<T>::min());
    }
    if (too_great) atomicMin(first_too_great, static_cast<Word>(from * n + to));
    distances[from * stride + to] = from == to ? T{0} : finished;
  }
}

/// Returns words of the job's memory with `value` in each byte.
Word* take_words(cuda::Job& job, std::int64_t count, int value) {
  Word* const words = job.scratch(count);
  cuda::check(cudaMemsetAsync(words, value, static_cast<std::size_t>(count) * sizeof(Word), job.stream()),
              "cudaMemsetAsync");
  return words;
}

Word fetch(const Word* word, const cuda::Job& job) {
  Word value = 0;
  cuda::fetch_part(word, std::span(&value, 1), job.stream());
  return value;
}

}  // namespace

template <class T>
std::shared_ptr<cuda::Job> bring_to_gpu(Graph<T>& graph, const Execution& execution, std::uint64_t job_bytes) {
  auto job = execution::start_gpu_job(execution, cuda::Job::bytes_to_bring(graph.weights) + job_bytes);
  graph.weights = job->bring(graph.weights, "weights");
  return job;
}

void admit(cuda::Job& job, const void* address, const char* what) { job.admit(address, what); }

template <class T>
MatrixView<T> take_matrix(cuda::Job& job, std::int64_t n) {
  job.memory().reserve(cuda::part_bytes(n * n, sizeof(T)));
  return {job.memory().take<T>(n * n), n, n, job.place()};
}

template <class T>
void copy_matrix(MatrixView<const T> from, MatrixView<T> to, cuda::Job& job) {
  if (!from.place().is_host()) return job.copy_back(from, to);
  if (to.contiguous()) return job.copy_here(from, to.data());
  if (from.rows() == 0) return;
  cuda::check(cudaMemcpy2DAsync(to.data(), static_cast<std::size_t>(to.row_stride()) * sizeof(T), from.data(),
                                static_cast<std::size_t>(from.row_stride()) * sizeof(T),
                                static_cast<std::size_t>(from.columns()) * sizeof(T),
                                static_cast<std::size_t>(from.rows()), cudaMemcpyHostToDevice, job.stream()),
              "cudaMemcpy2DAsync");
  job.stream().wait();
}

template <class C>
C element_on_gpu(MatrixView<const C> matrix, std::int64_t row, std::int64_t column, cuda::Job& job) {
  C element = 0;
  cuda::fetch_part(matrix.row(row) + column, std::span(&element, 1), job.stream());
  return element;
}

template <class T>
GraphFacts<T> examine_on_gpu(const Graph<T>& graph, cuda::Job& job) {
  const std::int64_t n = graph.n();
  GraphFacts<T> all;
  if (n == 0) return all;
  std::vector<DeviceRowFacts<T>> rows(static_cast<std::size_t>(n));
  const auto words =
      static_cast<std::int64_t>((rows.size() * sizeof(DeviceRowFacts<T>) + sizeof(Word) - 1) / sizeof(Word));
  auto* const there = reinterpret_cast<DeviceRowFacts<T>*>(job.scratch(words));
  look_at_rows<<<cuda::blocks_for(n, row_threads / 32), row_threads, 0, job.stream()>>>(DeviceGraph<T>(graph), there);
  cuda::check_launch("look_at_rows");
  cuda::fetch_part(there, std::span(rows), job.stream());
  for (std::int64_t u = 0; u < n; ++u) {
    const DeviceRowFacts<T>& row = rows[static_cast<std::size_t>(u)];
    if (row.impossible != no_column)
      throw_impossible(element_on_gpu(graph.weights, u, row.impossible, job), u, row.impossible);
    RowEdgeFacts<T> found;
    found.edges = row.edges;
    found.negative = row.negative != 0;
    found.positive = row.positive != 0;
    found.greatest = row.greatest;
    all.add(found);
  }
  core::honour_stop(job.stop(), "stopped while examining the edges");
  return all;
}

template <class T>
bool may_have_negative_cycle(const Graph<T>& graph, const GraphFacts<T>& facts, cuda::Job& job) {
  // If this many rounds do not suffice, the CPU searches with an algorithm that does not proceed in rounds.
  constexpr std::int64_t most_rounds = 256;
  constexpr int rounds_between_looks = 4;
  const std::int64_t n = graph.n();
  Word* const words = take_words(job, n + 2, 0);
  const DeviceRound round{words + 2, words};
  const dim3 blocks(cuda::blocks_for(n, row_threads), cuda::blocks_for(n, rows_of_a_round));
  for (std::int64_t done = 0; done < most_rounds; done += rounds_between_looks) {
    for (int number = 0; number < rounds_between_looks; ++number) {
      // Clears the flag, so that only the last of these rounds shows whether lengths still improve.
      if (number == rounds_between_looks - 1)
        cuda::check(cudaMemsetAsync(round.changed, 0, sizeof(Word), job.stream()), "cudaMemsetAsync");
      lengthen_routes<<<blocks, row_threads, 0, job.stream()>>>(DeviceGraph<T>(graph), round,
                                                                static_cast<Length<T>>(facts.greatest));
      cuda::check_launch("lengthen_routes");
    }
    Word state[2] = {};
    cuda::fetch_part(words, std::span<Word>(state), job.stream());
    core::honour_stop(job.stop(), "stopped while searching for negative cycles");
    if (state[1] != 0) return true;
    if (state[0] == 0) return false;
  }
  return true;
}

template <class T, class C>
void fill_on_gpu(const Graph<T>& graph, MatrixView<C> distances, cuda::Job& job) {
  if (graph.n() == 0) return;
  fill_matrix<<<ByColumns(graph.n()).blocks, row_threads, 0, job.stream()>>>(DeviceGraph<T>(graph), distances.data());
  cuda::check_launch("fill_matrix");
}

template <class C>
bool diagonal_is_negative_on_gpu(MatrixView<const C> distances, cuda::Job& job) {
  const std::int64_t n = distances.rows();
  if (n == 0) return false;
  Word* const found = take_words(job, 1, 0);
  look_at_diagonal<<<cuda::blocks_for(n, row_threads), row_threads, 0, job.stream()>>>(distances.data(), n, found);
  cuda::check_launch("look_at_diagonal");
  return fetch(found, job) != 0;
}

template <class C>
bool has_zero_cycle_on_gpu(MatrixView<const C> distances, C greatest, cuda::Job& job) {
  const std::int64_t n = distances.rows();
  if (n == 0) return false;
  Word* const found = take_words(job, 1, 0);
  const unsigned int squares = cuda::blocks_for(n, square);
  look_for_zero_cycles<<<dim3(squares, squares), dim3(square, 8), 0, job.stream()>>>(distances.data(), n, greatest,
                                                                                     found);
  cuda::check_launch("look_for_zero_cycles");
  return fetch(found, job) != 0;
}

template <class T, class C>
std::int64_t finish_on_gpu(MatrixView<const C> solved, C greatest, MatrixView<T> distances, cuda::Job& job) {
  const std::int64_t n = solved.rows();
  if (n == 0) return -1;
  Word* const first_too_great = take_words(job, 1, 0xff);
  finish_matrix<<<ByColumns(n).blocks, row_threads, 0, job.stream()>>>(solved.data(), n, greatest, distances.data(),
                                                                       distances.row_stride(), first_too_great);
  cuda::check_launch("finish_matrix");
  // If no distance exceeds T, all bits of the word are set, so the result is -1.
  return static_cast<std::int64_t>(fetch(first_too_great, job));
}

#define GRADUS_INSTANTIATE(T)                                                                   \
  template std::shared_ptr<cuda::Job> bring_to_gpu(Graph<T>&, const Execution&, std::uint64_t); \
  template MatrixView<T> take_matrix(cuda::Job&, std::int64_t);                                 \
  template void copy_matrix(MatrixView<const T>, MatrixView<T>, cuda::Job&);                    \
  template T element_on_gpu(MatrixView<const T>, std::int64_t, std::int64_t, cuda::Job&);       \
  template GraphFacts<T> examine_on_gpu(const Graph<T>&, cuda::Job&);                           \
  template bool may_have_negative_cycle(const Graph<T>&, const GraphFacts<T>&, cuda::Job&);     \
  template void fill_on_gpu(const Graph<T>&, MatrixView<T>, cuda::Job&);                        \
  template std::int64_t finish_on_gpu(MatrixView<const T>, T, MatrixView<T>, cuda::Job&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE
template void fill_on_gpu(const Graph<std::int32_t>&, MatrixView<std::int64_t>, cuda::Job&);
template void fill_on_gpu(const Graph<float>&, MatrixView<double>, cuda::Job&);
template std::int64_t finish_on_gpu(MatrixView<const std::int64_t>, std::int64_t, MatrixView<std::int32_t>, cuda::Job&);
template std::int64_t finish_on_gpu(MatrixView<const double>, double, MatrixView<float>, cuda::Job&);
template bool diagonal_is_negative_on_gpu(MatrixView<const float>, cuda::Job&);
template bool diagonal_is_negative_on_gpu(MatrixView<const double>, cuda::Job&);
template bool has_zero_cycle_on_gpu(MatrixView<const std::int32_t>, std::int32_t, cuda::Job&);
template bool has_zero_cycle_on_gpu(MatrixView<const std::int64_t>, std::int64_t, cuda::Job&);

}  // namespace gradus::shortest_paths_detail
