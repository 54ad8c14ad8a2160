#include "ranks/process.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "gradus/error.hpp"
#include "gradus/export.hpp"
#include "gradus/mpi.hpp"
#include "gradus/version.hpp"
#include "ranks/mpi_header.hpp"

namespace gradus::mpi {
namespace {

class MpiProcess final : public core::Process {
 public:
  MpiProcess() {
    MPI_Comm_dup(MPI_COMM_WORLD, &meeting_);
    MPI_Comm_set_errhandler(meeting_, MPI_ERRORS_RETURN);
    communicator_ = mpi_communicator(MPI_COMM_WORLD);
  }

  Communicator& communicator() override { return *communicator_; }

  // NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): the request is abandoned if a process does not arrive
  bool meet(int own, std::span<int> all, double seconds) override {
    own_ = own;
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Iallgather(&own_, 1, MPI_INT, all.data(), 1, MPI_INT, meeting_, &request) != MPI_SUCCESS) return false;
    constexpr double most = 1;  // in seconds; a longer gap between two polls means that this process was stopped
    double waited = 0;
    for (auto last = std::chrono::steady_clock::now();;) {
      int done = 0;
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
      if (done != 0) return true;
      const auto now = std::chrono::steady_clock::now();
      waited += std::min(std::chrono::duration<double>(now - std::exchange(last, now)).count(), most);
      if (seconds > 0 && waited > seconds) return false;
      // Sleeps between polls. No fast reaction is needed, and rank 0 may need the CPU to write its results.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

  void finish() override {
    communicator_.reset();
    MPI_Comm_free(&meeting_);
    MPI_Finalize();
  }

  void abort(int status) noexcept override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  MPI_Comm meeting_ = MPI_COMM_NULL;
  int own_ = 0;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace
}  // namespace gradus::mpi

extern "C" GRADUS_EXPORT gradus::core::Process* gradus_mpi_start(const char* version) {
  if (std::string_view(version) != GRADUS_VERSION_STRING) return nullptr;
  // If MPI cannot start, it prints a message and ends the process.
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  static gradus::mpi::MpiProcess process;
  return &process;
}

// C functions for the Python package (python/gradus/mpi.py). They report errors as text.

/// Returns the version text of the MPI library that this process has loaded.
extern "C" GRADUS_EXPORT const char* gradus_mpi_library_version() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
}

/// Returns a gradus::Communicator for the MPI_Comm at `comm`, an object of `bytes` bytes. `version` is the caller's
/// version of Gradus, which must equal the version of this library. On failure, returns null and writes the reason to
/// `why`. The call is collective over `comm`. Close the communicator with gradus_mpi_close().
extern "C" GRADUS_EXPORT gradus::Communicator* gradus_mpi_open(const char* version, const void* comm, std::size_t bytes,
                                                               char* why, std::size_t why_size) {
  try {
    if (std::string_view(version) == GRADUS_VERSION_STRING)
      return gradus::detail::mpi_communicator(comm, bytes).release();
    std::snprintf(why, why_size, "it belongs to Gradus %s, not to %s", GRADUS_VERSION_STRING, version);
  } catch (const std::exception& error) {
    std::snprintf(why, why_size, "%s", error.what());
  }
  return nullptr;
}

extern "C" GRADUS_EXPORT void gradus_mpi_close(gradus::Communicator* communicator) { delete communicator; }
