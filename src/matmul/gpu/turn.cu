// Copies matrices on a GPU from one layout to another, and scales them.
#include "matmul/gpu/product.cuh"
#include "matmul/gpu/turn.hpp"

namespace gradus::matmul_detail {

namespace {

constexpr int side = 32;
constexpr int rows_at_once = 8;

/// Returns true if neighbours in a column are closer in memory than neighbours in a row.
template <class T>
bool runs_down(const Operand<T>& operand) {
  const auto distance = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  return distance(operand.row_stride) < distance(operand.column_stride);
}

// Transposes or copies tiles. A warp reads and writes contiguous elements. If source and destination have different
// orders, the elements pass through shared memory. Launch shape: a block of 32 x 8 threads per tile of 32 x 32
// elements.
template <class T>
__global__ void __launch_bounds__(side* rows_at_once)
    turn_tiles(Operand<const T> from, Operand<T> to, Tiles tiles, std::int64_t rows, std::int64_t columns,
               bool read_down, bool write_down) {
  __shared__ T tile[side][side + 1];  // +1 avoids bank conflicts in a column
  const Tiles::Place place = tiles.place();
  from = from.at(place.batch);
  to = to.at(place.batch);
  const int x = static_cast<int>(threadIdx.x);
  for (int y = static_cast<int>(threadIdx.y); y < side; y += rows_at_once) {
    const int row = read_down ? x : y;
    const int column = read_down ? y : x;
    if (place.row * side + row < rows && place.column * side + column < columns)
      tile[row][column] = from(place.row * side + row, place.column * side + column);
  }
  __syncthreads();  // all elements have been written
  for (int y = static_cast<int>(threadIdx.y); y < side; y += rows_at_once) {
    const int row = write_down ? x : y;
    const int column = write_down ? y : x;
    if (place.row * side + row < rows && place.column * side + column < columns)
      to(place.row * side + row, place.column * side + column) = tile[row][column];
  }
}

// Launch shape: one thread per element. Consecutive threads process elements that are contiguous in memory.
template <class T>
__global__ void scale_elements(Product<T> product, std::int64_t elements) {
  const std::int64_t element = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element >= elements) return;
  const std::int64_t within = element % (product.m * product.n);
  product.select(element / (product.m * product.n));
  T& cell = product.c(within / product.n, within % product.n);
  cell = scaled(product.beta, product.beta == 0 ? T(0) : cell);
}

}  // namespace

template <class T>
void turn(const Operand<const T>& from, const Operand<T>& to, std::int64_t batches, std::int64_t rows,
          std::int64_t columns, cuda::Job& job) {
  Tiles tiles;
  tiles.across = (columns + side - 1) / side;
  tiles.of_a_product = (rows + side - 1) / side * tiles.across;
  const std::int64_t count = batches * tiles.of_a_product;
  cuda::Portions(job.stop(), first_portion<float>())
      .run(count, side * side, 1, job.stream(), [&](std::int64_t first, std::int64_t number) {
        tiles.first = first;
        turn_tiles<<<static_cast<unsigned int>(number), dim3(side, rows_at_once), 0, job.stream()>>>(
            from, to, tiles, rows, columns, runs_down(from), runs_down(to));
        cuda::check_launch("turn_tiles");
      });
}

template <class T>
void scale_there(const Problem<T>& problem) {
  constexpr int threads = 256;
  problem.gpu->admit(problem.c.data, "C");
  const Problem<T> by_rows = runs_down(problem.c) ? problem.transposed() : problem;
  const std::int64_t elements = problem.batches * problem.m * problem.n;
  const cuda::Stream& stream = problem.gpu->stream();
  scale_elements<<<cuda::blocks_for(elements, threads), threads, 0, stream>>>(Product<T>(by_rows), elements);
  cuda::check_launch("scale_elements");
  stream.wait();
}

#define GRADUS_INSTANTIATE(T)                                                                              \
  template void turn(const Operand<const T>&, const Operand<T>&, std::int64_t, std::int64_t, std::int64_t, \
                     cuda::Job&);                                                                          \
  template void scale_there(const Problem<T>&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::matmul_detail
