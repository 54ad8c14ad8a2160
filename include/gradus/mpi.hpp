/// A Communicator (gradus/communicator.hpp) for the processes of an MPI_Comm. It is part of a separate library,
/// gradus_mpi (CMake: gradus::mpi), so that the rest of Gradus does not need MPI.
///
///   MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
///   {
///     const auto communicator = gradus::mpi_communicator(MPI_COMM_WORLD);
///     gradus::Execution execution;
///     execution.communicator = communicator.get();
///     const auto result = gradus::kmeans(rows_of_this_process, {.clusters = 4096}, execution);
///   }
///   MPI_Finalize();
#pragma once

#include <cstddef>
#include <memory>

#include "gradus/communicator.hpp"
#include "gradus/export.hpp"

namespace gradus {

namespace detail {
// `comm` is the address of an MPI_Comm. `bytes` is the size of an MPI_Comm in bytes.
GRADUS_EXPORT std::unique_ptr<Communicator> mpi_communicator(const void* comm, std::size_t bytes);
}  // namespace detail

/// Returns a Communicator on a duplicate of `comm` (MPI_Comm_dup), so that its messages cannot mix with the caller's.
/// Collective over `comm`. Call it after MPI_Init, and destroy the object before MPI_Finalize. A job with several
/// threads needs MPI_THREAD_FUNNELED; only the thread that called Gradus calls MPI. Throws UnsupportedError if the
/// thread level is too low or if `comm` belongs to another MPI implementation. Throws Error for errors of MPI.
///
/// give_up() calls MPI_Abort on `comm`.
template <class Comm>
std::unique_ptr<Communicator> mpi_communicator(const Comm& comm) {
  return detail::mpi_communicator(&comm, sizeof comm);  // NOLINT(bugprone-sizeof-expression): of the handle
}

}  // namespace gradus
