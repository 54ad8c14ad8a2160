#include "execution/nccl.hpp"

#include <type_traits>

#include "gradus/error.hpp"

namespace gradus::execution {

Nccl::Nccl() {
  if (!library) return;
  const auto find = [this](auto& function, const char* name) {
    function = library.find<std::remove_reference_t<decltype(function)>>(name);
  };
  find(get_unique_id, "ncclGetUniqueId");
  find(init_rank, "ncclCommInitRank");
  find(init_rank_config, "ncclCommInitRankConfig");
  find(get_async_error, "ncclCommGetAsyncError");
  find(all_reduce, "ncclAllReduce");
  find(all_gather, "ncclAllGather");
  find(broadcast, "ncclBroadcast");
  find(finalize, "ncclCommFinalize");
  find(destroy, "ncclCommDestroy");
  find(abort, "ncclCommAbort");
  find(get_error_string, "ncclGetErrorString");
  find(get_last_error, "ncclGetLastError");
}

Nccl::operator bool() const {
  return get_unique_id != nullptr && init_rank != nullptr && get_async_error != nullptr && all_reduce != nullptr &&
         all_gather != nullptr && broadcast != nullptr && abort != nullptr && get_error_string != nullptr;
}

const Nccl& Nccl::functions() {
  static const Nccl functions;
  return functions;
}

std::string Nccl::text_of(int result, const char* call, Connection* connection) const {
  std::string text = std::string("NCCL: ") + call + ": " + get_error_string(result);
  const char* const last = get_last_error == nullptr ? nullptr : get_last_error(connection);
  if (last == nullptr || *last == '\0') return text;
  std::string explanation = last;
  while (!explanation.empty() && explanation.back() == '\n') explanation.pop_back();
  return text + " (" + explanation + ")";
}

void Nccl::check(int result, const char* call) const {
  if (result != success) throw Error(text_of(result, call));
}

}  // namespace gradus::execution
