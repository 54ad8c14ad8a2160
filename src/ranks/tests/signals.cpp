// Loaded before the program (LD_PRELOAD), it sends signals that may come at any moment at certain ones, which the
// environment variable GRADUS_TEST_SIGNALS names:
//
//   start   to all processes SIGTERM while MPI starts
//   end     to that of rank 1 SIGSTOP when MPI has nothing more for it to do
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "ranks/mpi_header.hpp"

namespace {

bool is(const char* variable, const std::string& value) {
  const char* const text = std::getenv(variable);
  return text != nullptr && text == value;
}

}  // namespace

extern "C" int MPI_Init_thread(int* argument_count, char*** arguments, int required, int* provided) {
  const int code = PMPI_Init_thread(argument_count, arguments, required, provided);
  if (is("GRADUS_TEST_SIGNALS", "start")) {
    ::kill(::getpid(), SIGTERM);  // whichever thread waits for it
    ::usleep(300000);
  }
  return code;
}

extern "C" int MPI_Finalize() {
  const int code = PMPI_Finalize();
  if (is("GRADUS_TEST_SIGNALS", "end") && is("OMPI_COMM_WORLD_RANK", "1")) {
    ::kill(::getpid(), SIGSTOP);
    ::usleep(300000);  // who thinks that its time is up can say so
  }
  return code;
}
