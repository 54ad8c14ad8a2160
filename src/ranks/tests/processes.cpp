// A program that mpirun starts and that uses only public headers. Tests that k-means gives the same bits if the rows
// are split over several processes. Also tests that an error on one process ends the call on all processes.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "gradus/error.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/mpi.hpp"

namespace {

gradus::Matrix<double> make_points(std::int64_t rows, std::int64_t columns) {
  gradus::Matrix<double> points(rows, columns);
  std::uint64_t state = 7;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      points(row, column) = static_cast<double>(state >> 40) / 1024.0;
    }
  return points;
}

template <class T>
bool same(const T* a, const T* b, std::int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}

bool check(bool right, const char* what, int rank) {
  if (!right) std::fprintf(stderr, "rank %d: %s\n", rank, what);
  return right;
}

bool gives_the_bits_of_one_process(gradus::Communicator& communicator) {
  const std::int64_t n = 3001;
  const std::int64_t d = 6;
  const gradus::Matrix<double> points = make_points(n, d);
  const std::int64_t first = n * communicator.rank() / communicator.size();
  const std::int64_t rows = n * (communicator.rank() + 1) / communicator.size() - first;
  bool right = true;
  for (const gradus::KMeansInit init : {gradus::KMeansInit::kmeans_plus_plus, gradus::KMeansInit::kmeans_parallel}) {
    const gradus::KMeansOptions options{.clusters = 17, .init = init, .max_iterations = 20, .seed = 3};
    const auto one = gradus::kmeans(points, options, gradus::Execution{.threads = 1});
    gradus::Execution execution;
    execution.communicator = &communicator;
    const auto own = gradus::kmeans(points.view().slice(first, rows), options, execution);
    const int rank = communicator.rank();
    right &= check(same(own.centroids.data(), one.centroids.data(), 17 * d), "centroids", rank);
    right &=
        check(own.labels.size() == rows && same(own.labels.data(), one.labels.data() + first, rows), "labels", rank);
    right &= check(own.counts == one.counts && same(&own.inertia, &one.inertia, 1), "counts or inertia", rank);
    right &= check(own.iterations == one.iterations, "iterations", rank);
  }
  return right;
}

bool ends_with_one_error(gradus::Communicator& communicator) {
  gradus::Matrix<double> points = make_points(100, 2);
  const int last = communicator.size() - 1;
  if (communicator.rank() == last) points(4, 1) = -points(4, 1) / 0.0;
  gradus::Execution execution;
  execution.communicator = &communicator;
  std::string message;
  try {
    gradus::kmeans(points, {.clusters = 3}, execution);
  } catch (const gradus::InputError& error) {
    message = error.what();
  }
  const std::string expected = "rank " + std::to_string(last) + " of " + std::to_string(last + 1) +
                               ": points: the value in row " + std::to_string(100 * last + 4) + ", column 1";
  return check(message.compare(0, expected.size(), expected) == 0, message.c_str(), communicator.rank());
}

}  // namespace

int main(int argument_count, char** arguments) {
  int provided = 0;
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
  bool right = true;
  bool all_right = false;
  int size = 0;
  {
    const auto communicator = gradus::mpi_communicator(MPI_COMM_WORLD);
    size = communicator->size();
    const int expected = argument_count > 1 ? std::stoi(arguments[1]) : 1;
    right &= check(size == expected, "the number of ranks", communicator->rank());
    right &= gives_the_bits_of_one_process(*communicator);
    right &= ends_with_one_error(*communicator);
    std::uint64_t wrong[] = {right ? 0U : 1U};
    communicator->sum(wrong);
    all_right = wrong[0] == 0;
    if (communicator->rank() == 0) std::printf("%d ranks: %s\n", size, all_right ? "the same bits" : "WRONG");
  }
  MPI_Finalize();
  return all_right ? 0 : 1;
}
