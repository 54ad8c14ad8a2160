// A preloaded library (LD_PRELOAD) that sends a signal at a specific moment. A signal from outside the process would
// arrive at an unpredictable moment. The environment variable GRADUS_TEST_SIGNALS selects the signal:
//
//   start   SIGTERM to all processes while MPI starts
//   end     SIGSTOP to rank 1 when MPI has finished there
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
    ::kill(::getpid(), SIGTERM);  // any thread may receive it
    ::usleep(300000);
  }
  return code;
}

extern "C" int MPI_Finalize() {
  const int code = PMPI_Finalize();
  if (is("GRADUS_TEST_SIGNALS", "end") && is("OMPI_COMM_WORLD_RANK", "1")) {
    ::kill(::getpid(), SIGSTOP);
    ::usleep(300000);  // gives other processes time to report that their time limit has expired
  }
  return code;
}
