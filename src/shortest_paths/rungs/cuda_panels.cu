// cuda_panels: for graphs that do not fit the memory of a GPU. The matrix stays in host memory, and a round is as deep
// as the GPU's memory allows.
//
// What changes from `cuda_dpx`:
// * The matrix passes through the GPU once per round, slab by slab. A round has thousands of intermediate vertices
//   (called the pivot) instead of 128, so relaxing a slab takes longer than transferring it in both directions.
// * The closed rows of the pivot and the rows of the next pivot stay on the GPU. A round relaxes the rows of the next
//   pivot first, so no round begins by waiting for its rows.
// * With the rows closed, a slab is relaxed by one min-plus product: its columns of the pivot times the pivot's rows.
//   These columns need not be closed first, because the closed rows already include all routes within the pivot.
//
// One round:
//   1. The round closes the pivot D with the rounds of cuda_dpx (gpu/two_streams.cuh), and then the pivot's rows R:
//      min(R, D + R). It processes some columns at a time, from a copy of their previous values, so that results do not
//      depend on the order of blocks.
//   2. It relaxes the slabs of the next pivot, which stay on the GPU, and then all other slabs, which return to the
//      host.
//   3. It returns the rows of this pivot to the host while the next pivot is closed.
// While a slab is relaxed, CPU threads upload the next slab and download the previous one (cuda/transfer.hpp) in
// another stream.
//
// Barriers: the CPU waits once per slab for the slab's kernels. Transfers and kernels have no other waits.
// Work: N^3 relaxations, with N rounded up to a multiple of 256. GPU memory: gpu/panel_plan.hpp; host memory: only the
// matrix. Bytes over the bus: 2 N^2 elements per round.
// Limits: weights in host memory; 64 KiB of shared memory per block, 96 KiB for 64-bit elements. A requested tile sets
// the pivot, rounded up to a multiple of 256; a block size has no effect. The bits of floating-point results depend on
// the pivot, and therefore on the GPU's memory.
// Source: blocked all-pairs shortest paths beyond the memory of an accelerator: Buluc, Gilbert, Budak, "Solving path
// problems on the GPU" (2010); Sao et al., "Scalable all-pairs shortest paths for huge graphs on multi-GPU clusters"
// (2021).
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/gpu/panel_plan.hpp"
#include "shortest_paths/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include <algorithm>
#include <optional>
#include <string>

#include "core/phases.hpp"
#include "core/text.hpp"
#include "execution/devices.hpp"
#include "execution/gpu_job.hpp"
#include "shortest_paths/gpu/panel_plan.hpp"
#include "shortest_paths/gpu/squares.cuh"
#include "shortest_paths/gpu/two_streams.cuh"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

namespace {

// Launch shape: blocks of 32 x 8 threads. x: squares of columns, beginning at the word `left`; y: squares of rows.
template <class Carrier>
__global__ void __launch_bounds__(square * 8)
    turn_columns(const typename Carrier::Word* rows, std::size_t words, std::int64_t left,
                 typename Carrier::Word* columns, std::int64_t stride) {
  using Word = typename Carrier::Word;
  const std::int64_t column = std::int64_t{blockIdx.x} * square;
  const std::int64_t row = std::int64_t{blockIdx.y} * square;
  turn_square<Word>(
      [&](int y, int x) {
        const std::int64_t element = left + column + x;
        const Word word = rows[static_cast<std::size_t>(row + y) * words + element / Carrier::pack];
        return Carrier::both(Carrier::get(word, static_cast<int>(element % Carrier::pack)));
      },
      [&](int x, int y, Word word) { columns[(column + x) * stride + row + y] = word; });
}

/// Computes c = min(c, A + B) over `depth` intermediate vertices. A is transposed, so that all operands are read along
/// rows. Strides are in words.
template <class Word>
struct Product {
  Word* c;
  std::size_t c_stride;
  const Word* a;
  std::size_t a_stride;
  const Word* b;
  std::size_t b_stride;
  int rows;
  int words;
  int depth;
  int one;  ///< the value 1, hidden from the compiler; see carriers.cuh
};

// Launch shape: one block per tile of c. Blocks that share columns of B are consecutive.
template <class Carrier, class Shape>
__global__ void __launch_bounds__(Shape::Tile::threads, Shape::blocks_per_multiprocessor)
    relax_product(Product<typename Carrier::Word> product) {
  using Word = typename Carrier::Word;
  using Tile = typename Shape::Tile;
  extern __shared__ __align__(16) unsigned char memory[];
  const int tiles_in_a_column = product.rows / Tile::rows;
  const int top = static_cast<int>(blockIdx.x) % tiles_in_a_column * Tile::rows;
  const int left = static_cast<int>(blockIdx.x) / tiles_in_a_column * Tile::columns;
  Word* const place = product.c + static_cast<std::size_t>(top) * product.c_stride + left;
  Word cells[Tile::own_rows][Tile::own_columns];
  min_plus_by_portions<Carrier, Shape>(
      cells, product.a + top, product.a_stride, product.b + left, product.b_stride, product.depth / Shape::portion,
      reinterpret_cast<Word*>(memory), product.one, [&] { load_cells<Tile>(cells, place, product.c_stride); },
      [](int) {});
  store_cells<Tile>(cells, place, product.c_stride);
}

/// A range of rows or vertices.
struct Range {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t end() const { return first + count; }
};

template <class Carrier, class Shape, class T>
class Panels {
  using Word = typename Carrier::Word;
  using Closing = RoundsInTwoStreams<Carrier, panel_closing_depth, Shape>;
  static_assert(panel_granule % Closing::granule == 0);
  static_assert(Shape::template bytes<Word> <= panel_shared_bytes(sizeof(Word)) || std::is_same_v<T, float>);
  static_assert(Shapes<Carrier, panel_closing_depth>::most_bytes <= panel_shared_bytes(sizeof(Word)));

 public:
  Panels(const Problem<T>& problem, const Execution& execution, const PanelPlan& plan, cuda::Job& job)
      : problem_(problem), execution_(execution), plan_(plan), job_(job), n_(problem.n()),
        side_(round_up(n_, panel_granule)), words_(static_cast<std::size_t>(side_ / Carrier::pack)) {
    cuda::Arena& memory = job.memory();
    for (Word*& panel : panels_) panel = memory.take<Word>(plan.pivot * static_cast<std::int64_t>(words_));
    pivot_ = memory.take<Word>(plan.pivot * (plan.pivot / Carrier::pack));
    closing_ = take_panels<Carrier>(memory, plan.pivot, panel_closing_depth);
    before_ = memory.take<Word>(plan.pivot * (plan.chunk / Carrier::pack));
    columns_ = memory.take<Word>(plan.pivot * plan.slab);
    slab_ = memory.take<Word>(plan.slab * static_cast<std::int64_t>(words_));
    for (T*& travelling : travelling_) travelling = memory.take<T>(plan.slab * n_);
    cuda::allow_shared_memory(reinterpret_cast<const void*>(relax_product<Carrier, Shape>),
                              Shape::template bytes<Word>);
    cuda::check(cudaDeviceGetAttribute(&copy_blocks_, cudaDevAttrMultiProcessorCount, job.gpu()),
                "cudaDeviceGetAttribute");
    copy_blocks_ *= 8;
  }

  void run() {
    for_slabs(pivot_rows(0), [&](Range slab) { step(0, slab, panel_rows(0, slab), {.is_uploaded = true}); });
    for (std::int64_t round = 0; round < rounds(); ++round) {
      const Range pivot = pivot_rows(round);
      const Range next = pivot_rows(round + 1);
      close_rows(round);
      take_away();  // completes the last download, because this round may upload the same rows again
      for_slabs(next, [&](Range slab) {
        step(round, slab, panel_rows(round + 1, slab), {.is_uploaded = true, .is_relaxed = true});
      });
      const auto pass = [&](Range slab) {
        step(round, slab, slab_, {.is_uploaded = true, .is_relaxed = true, .is_downloaded = true});
      };
      for_slabs({0, pivot.first}, pass);
      for_slabs({next.end(), n_ - next.end()}, pass);
      for_slabs(pivot, [&](Range slab) { step(round, slab, panel_rows(round, slab), {.is_downloaded = true}); });
    }
    take_away();
    after_step(problem_, execution_, rows_done_, rounds() * n_);
  }

 private:
  // --- pieces of the matrix ---

  std::int64_t rounds() const { return (n_ + plan_.pivot - 1) / plan_.pivot; }
  Range pivot_rows(std::int64_t round) const {
    const std::int64_t first = std::min(round * plan_.pivot, n_);
    return {first, std::min(plan_.pivot, n_ - first)};
  }
  template <class Visit>
  void for_slabs(Range rows, const Visit& visit) const {
    for (std::int64_t first = rows.first; first < rows.end(); first += plan_.slab)
      visit(Range{first, std::min(plan_.slab, rows.end() - first)});
  }
  /// Returns the GPU address of `rows`, which are rows of the pivot in round `round`.
  Word* panel_rows(std::int64_t round, Range rows) const {
    return panels_[round % 2] + static_cast<std::size_t>(rows.first - round * plan_.pivot) * words_;
  }
  /// Rounds up to the end of the last tile. Vertices beyond n have no edges.
  static int filled(std::int64_t count) { return static_cast<int>(round_up(count, panel_granule)); }

  // --- transfers of a slab ---

  /// The operations of a step on a slab.
  struct SlabAction {
    bool is_uploaded = false;
    bool is_relaxed = false;
    bool is_downloaded = false;
  };

  /// Processes a slab at `rows` on the GPU. While the GPU processes this slab, this step downloads the slab of the
  /// previous step, and the next step uploads the next slab.
  void step(std::int64_t round, Range slab, Word* rows, SlabAction action) {
    after_step(problem_, execution_, rows_done_, rounds() * n_);
    if (action.is_relaxed || action.is_downloaded) rows_done_ += slab.count;
    const int turn = last_ ? 1 - last_->turn : 0;
    T* const elements = travelling_[turn];
    const auto count = static_cast<int>(slab.count);
    const auto n = static_cast<int>(n_);
    if (action.is_uploaded) {
      job_.copy_here(MatrixView<const T>(problem_.distances.slice(slab.first, slab.count)), elements);
      bring_in_kernel<Carrier><<<copy_blocks_, 256, 0, compute_>>>(rows, filled(count), words_, elements, count, n);
    }
    if (action.is_relaxed) relax(rows, filled(count), round);
    if (action.is_downloaded)
      bring_out_kernel<Carrier><<<copy_blocks_, 256, 0, compute_>>>(rows, words_, elements, count, n);
    cuda::check_launch("a step of cuda_panels");
    done_[turn].record(compute_);
    take_away();
    last_ = {slab, turn, action.is_downloaded};
  }
  void take_away() {
    if (!last_) return;
    done_[last_->turn].wait();
    if (last_->is_downloaded)
      job_.copy_back(MatrixView<const T>(travelling_[last_->turn], last_->slab.count, n_, job_.place()),
                     problem_.distances.slice(last_->slab.first, last_->slab.count));
    last_.reset();
  }

  // --- on the GPU ---

  void launch_product(const Product<Word>& product) {
    using Tile = typename Shape::Tile;
    const auto tiles = static_cast<unsigned int>(product.rows / Tile::rows * (product.words / Tile::columns));
    relax_product<Carrier, Shape><<<tiles, Tile::threads, Shape::template bytes<Word>, compute_>>>(product);
    cuda::check_launch("relax_product");
  }
  /// Transposes columns [left, left + depth) of `rows` rows with a stride of `words` words.
  void turn(const Word* from, std::size_t words, std::int64_t left, int rows, int depth) {
    turn_columns<Carrier><<<dim3(static_cast<unsigned int>(depth / square), static_cast<unsigned int>(rows / square)),
                            dim3(square, 8), 0, compute_>>>(from, words, left, columns_, plan_.slab);
    cuda::check_launch("turn_columns");
  }

  /// Relaxes the rows of a slab through the vertices of the pivot.
  void relax(Word* rows, int count, std::int64_t round) {
    const Range pivot = pivot_rows(round);
    const int depth = filled(pivot.count);
    turn(rows, words_, pivot.first, count, depth);
    launch_product({.c = rows,
                    .c_stride = words_,
                    .a = columns_,
                    .a_stride = static_cast<std::size_t>(plan_.slab),
                    .b = panel_rows(round, pivot),
                    .b_stride = words_,
                    .rows = count,
                    .words = static_cast<int>(words_),
                    .depth = depth,
                    .one = 1});
  }

  /// Relaxes the rows of the pivot through all vertices of the pivot.
  void close_rows(std::int64_t round) {
    const Range pivot = pivot_rows(round);
    const int depth = filled(pivot.count);
    const auto depth_words = static_cast<std::size_t>(depth / Carrier::pack);
    Word* const rows = panel_rows(round, pivot);
    copy(pivot_, depth_words, rows + pivot.first / Carrier::pack, words_, depth_words, depth);
    Work<Word> closing = closing_;
    closing.distances = pivot_;
    closing.side = depth;
    closing.words = depth_words;
    const auto closing_rounds = static_cast<int>((pivot.count + panel_closing_depth - 1) / panel_closing_depth);
    in_two_streams_.launch(closing, 0, closing_rounds, closing_rounds, compute_);
    for (std::int64_t left = 0; left < side_; left += plan_.chunk) {
      const auto chunk_words = static_cast<std::size_t>(std::min(plan_.chunk, side_ - left) / Carrier::pack);
      Word* const chunk = rows + left / Carrier::pack;
      copy(before_, chunk_words, chunk, words_, chunk_words, depth);
      for (std::int64_t top = 0; top < depth; top += plan_.slab) {
        const auto count = static_cast<int>(std::min<std::int64_t>(plan_.slab, depth - top));
        turn(pivot_ + static_cast<std::size_t>(top) * depth_words, depth_words, 0, count, depth);
        launch_product({.c = chunk + static_cast<std::size_t>(top) * words_,
                        .c_stride = words_,
                        .a = columns_,
                        .a_stride = static_cast<std::size_t>(plan_.slab),
                        .b = before_,
                        .b_stride = chunk_words,
                        .rows = count,
                        .words = static_cast<int>(chunk_words),
                        .depth = depth,
                        .one = 1});
      }
    }
  }
  /// Copies rows of `width` words. Strides are in words.
  void copy(Word* to, std::size_t to_stride, const Word* from, std::size_t from_stride, std::size_t width, int rows) {
    cuda::check(cudaMemcpy2DAsync(to, to_stride * sizeof(Word), from, from_stride * sizeof(Word), width * sizeof(Word),
                                  static_cast<std::size_t>(rows), cudaMemcpyDeviceToDevice, compute_),
                "cudaMemcpy2DAsync");
  }

  const Problem<T>& problem_;
  const Execution& execution_;
  PanelPlan plan_;
  cuda::Job& job_;
  std::int64_t n_;
  std::int64_t side_;   ///< side of the matrix, including the padding of the last tiles
  std::size_t words_;   ///< words per row
  Word* panels_[2];     ///< rows of the pivots of even and odd rounds
  Word* pivot_;         ///< the closed pivot
  Work<Word> closing_;  ///< panels for closing the pivot
  Word* before_;        ///< previous values of some columns of the pivot's rows, for closing these rows
  Word* columns_;       ///< the columns of a slab that belong to the pivot, transposed
  Word* slab_;
  T* travelling_[2];     ///< elements of this step's and the previous step's slab, in the host's form
  cuda::Event done_[2];  ///< signals that the GPU has finished these two steps
  struct Step {
    Range slab;
    int turn;
    bool is_downloaded;
  };
  std::optional<Step> last_;  ///< the slab that has not been downloaded yet
  std::int64_t rows_done_ = 0;
  int copy_blocks_ = 0;
  Closing in_two_streams_;
  /// Last member, hence destroyed first: its destructor waits for work that still uses the memory.
  cuda::Stream compute_;
};

template <class Carrier, class Shape, class T>
void relax_by_panels(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const std::shared_ptr<cuda::Job> job = execution::start_gpu_job(execution);
  const std::uint64_t most = execution::gpu_memory_to_take(execution);
  const execution::Gpu& gpu = execution::require_gpu(execution::this_machine(), job->gpu());
  const std::int64_t deepest =
      problem.tile > 0 ? round_up(problem.tile, panel_granule) : deepest_pivot(gpu.multiprocessors);
  const PanelPlan plan = plan_panels(problem.n(), sizeof(T), most, deepest);
  if (plan.pivot == 0)
    throw OutOfMemoryError("the job needs " + core::size_text(panels_of(problem.n(), sizeof(T), panel_granule).bytes) +
                           " of the GPU's memory at least, but only " + core::size_text(most) + " are available");
  job->memory().reserve(plan.bytes);
  const core::PhaseTimer timer(phases, "relax");
  Panels<Carrier, Shape, T>(problem, execution, plan, *job).run();
}

}  // namespace

template <class T>
Solved cuda_panels(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  if (problem.n() == 0) return {};
  if constexpr (std::is_same_v<T, float>) {
    using Wide = Rest8x16<float>;
    const execution::Gpu& gpu = execution::require_gpu(execution::this_machine(), execution.gpu);
    if (problem.negative || gpu.shared_bytes < Wide::bytes<float>)
      relax_by_panels<Float32<false>, Rest8x8<float>>(problem, execution, phases);
    else relax_by_panels<Float32<true>, Wide>(problem, execution, phases);
  } else if constexpr (std::is_same_v<T, double>) {
    relax_by_panels<Plain64<T>, Rest8x4<T>>(problem, execution, phases);
  } else if (!problem.negative && problem.greatest <= greatest_of_16) {
    relax_by_panels<Pairs16<4>, Rest8x8<std::uint32_t>>(problem, execution, phases);
  } else if (problem.greatest <= greatest_of_32) {
    relax_by_panels<Whole32<3>, Rest8x8<std::int32_t>>(problem, execution, phases);
  } else if constexpr (sizeof(T) == 8) {
    relax_by_panels<Plain64<T>, Rest8x4<T>>(problem, execution, phases);
  } else {
    throw Error("internal error: distances of " + std::to_string(sizeof(T)) + " bytes are greater than promised");
  }
  return {};
}

}  // namespace gradus::shortest_paths_detail
#endif

namespace gradus::shortest_paths_detail {

namespace {

core::Support panels_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = own_type_on_gpu(shape, machine); !gpu) return gpu;
  const execution::Gpu least = execution::least_gpu(machine);
  if (plan_panels(shape.vertices, shape.element_bytes, execution::plannable_memory(least), panel_granule).pivot == 0 &&
      shape.vertices > 0)
    return core::Support::no("the rows of " + std::to_string(panel_granule) + " vertices do not fit the GPU's memory");
  return execution::fits_shared(panel_shared_bytes(shape.element_bytes), "tiles", machine);
}

// Returns the least memory with which a job can run. With more memory, the job has fewer rounds.
core::Memory panels_memory(const Shape& shape, int) {
  return {.host = cuda::staging_bytes, .device = panels_of(shape.vertices, shape.element_bytes, panel_granule).bytes};
}

}  // namespace

extern constinit const Variant cuda_panels_rung{
    .name = "cuda_panels",
    .summary = "larger than the GPU: rows of thousands of vertices stay there, the others pass through by slabs",
    .change =
        "the matrix stays in host memory; rounds of up to 8192 vertices, so that relaxing a slab takes longer than its "
        "transfer",
    .contract = exact,
    .backend = core::Backend::cuda,
    .supports = panels_on_gpu,
    .memory = panels_memory,
    .run =
        GRADUS_CUDA_RUNS(cuda_panels<std::int32_t>, cuda_panels<std::int64_t>, cuda_panels<float>, cuda_panels<double>),
};

}  // namespace gradus::shortest_paths_detail
