/// Ranks that are the processes of an MPI job: a Communicator (gradus/communicator.hpp) on an MPI_Comm. In a library of
/// its own, gradus_mpi (CMake: gradus::mpi), so that nothing else of Gradus needs MPI.
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
// `comm`: the address of an MPI_Comm, of so many bytes.
GRADUS_EXPORT std::unique_ptr<Communicator> mpi_communicator(const void* comm, std::size_t bytes);
}  // namespace detail

/// On a copy of `comm` (MPI_Comm_dup), so that no message of the caller's is mistaken for one of ours. All of its
/// processes call this together, between MPI_Init and MPI_Finalize, before which the object has to end. A job whose
/// threads are several needs MPI_THREAD_FUNNELED, and calls MPI from the thread that called the library alone.
/// UnsupportedError where that is not so, or where the type of `comm` is not this MPI's; Error for what MPI reports.
///
/// give_up() is MPI_Abort: of all processes of `comm`.
template <class Comm>
std::unique_ptr<Communicator> mpi_communicator(const Comm& comm) {
  return detail::mpi_communicator(&comm, sizeof comm);  // NOLINT(bugprone-sizeof-expression): of the handle
}

}  // namespace gradus
