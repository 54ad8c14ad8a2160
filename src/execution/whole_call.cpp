#include "execution/whole_call.hpp"

#include "gradus/error.hpp"

namespace gradus::execution {

void throw_out_of_memory() {
  throw OutOfMemoryError("the system has no memory left for the job; give it a smaller one");
}

void rethrow_without_thread(const std::system_error& error) {
  if (error.code() == std::errc::resource_unavailable_try_again)
    throw Error(
        "the system has no thread left for the job; raise the limit (ulimit -u, ulimit -v, or that of the container), "
        "or ask for fewer threads");
  throw;
}

}  // namespace gradus::execution
