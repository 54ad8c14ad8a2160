#include "execution/rank_sums.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/peer_sums.hpp"
#include "cuda/pinned.hpp"
#include "execution/gpu_job.hpp"
#include "execution/nccl.hpp"
#include "gradus/communicator.hpp"
#include "gradus/error.hpp"
#include "ranks/process.hpp"

namespace gradus::execution {

namespace {

using Word = RankSums::Word;
using Clock = std::chrono::steady_clock;

constexpr const char* too_late = "the GPUs of the ranks have not connected within the time limit";

/// Waits while query() returns cudaErrorNotReady. If another rank has given up, calls abort(), which ends the sums.
/// failure() returns the reason why the sums never end, or an empty string.
template <class Query, class Failure, class Abort>
void wait_unless_ended(const Query& query, Communicator& communicator, const Failure& failure, const Abort& abort) {
  while (true) {
    const cudaError_t state = query();
    if (state != cudaErrorNotReady) return cuda::check(state, "the work in the stream");
    const std::string why = failure();
    if (why.empty() && !communicator.has_ended()) continue;
    abort();
    if (!why.empty()) throw Error(why);
    std::array<std::uint64_t, 1> none{};
    communicator.sum(none);  // throws the communicator's error
    throw Error("another rank has given up");
  }
}

class PeerRankSums final : public RankSums {
 public:
  PeerRankSums(core::Ranks& ranks, std::span<const int> gpus)
      : communicator_(ranks.communicator()), sums_(ranks.rank(), gpus) {}

  void add_up(const Word* own, Word* all, std::int64_t count, const cuda::Stream& stream) override {
    sums_.add_up(own, all, count, stream, exchange_);
  }
  Inboxes inboxes(std::int64_t words, const cuda::Stream& stream) override {
    return {sums_.inboxes(words, stream, exchange_), sums_.abort_flag()};
  }
  Way way() const override { return Way::peers; }

 private:
  void wait_until(const State& state) override {
    wait_unless_ended(
        state, communicator_, [] { return std::string(); }, [this] { sums_.abort(); });
  }

  Communicator& communicator_;
  cuda::PeerSums::Exchange exchange_ = [this](void* address) {
    std::vector<void*> addresses(static_cast<std::size_t>(communicator_.size()));
    communicator_.gather(std::as_bytes(std::span(&address, 1)), std::as_writable_bytes(std::span(addresses)));
    return addresses;
  };
  cuda::PeerSums sums_;
};

/// Calls ncclCommInitRank() on a separate thread, because the call waits for all ranks without limit. Throws Error if
/// another rank has given up, or if the ranks have not connected at the time `end`. Then the thread stays behind.
Nccl::Connection* connection_of(Communicator& communicator, const Nccl::Id& id, int gpu, Clock::time_point end) {
  std::packaged_task<Nccl::Connection*()> connect([id, gpu, size = communicator.size(), rank = communicator.rank()] {
    const cuda::CurrentDevice device(gpu);
    const Nccl& nccl = Nccl::functions();
    Nccl::Connection* connection = nullptr;
    nccl.check(nccl.init_rank(&connection, size, id, rank), "ncclCommInitRank");
    return connection;
  });
  std::future<Nccl::Connection*> connected = connect.get_future();
  std::thread(std::move(connect)).detach();
  while (connected.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (communicator.has_ended()) throw Error("another rank has given up");
    if (Clock::now() > end) throw Error(too_late);
  }
  return connected.get();
}

class NcclSums final : public RankSums {
 public:
  NcclSums(Communicator& communicator, const Nccl::Id& id, int gpu) : communicator_(communicator) {
    const double limit = core::connect_limit;
    const Clock::time_point end =
        limit > 0 ? Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit))
                  : Clock::time_point::max();
    connection_ = connection_of(communicator, id, gpu, end);
    // NCCL completes the connection in the first small sum and in the first large sum. This takes long, so both sums
    // are made here.
    constexpr std::int64_t most = std::int64_t{1} << 18;
    cuda::DeviceBuffer<Word> own(most);
    cuda::DeviceBuffer<Word> all(most);
    const cuda::Stream stream;
    own.clear(stream);
    for (const std::int64_t count : {std::int64_t{1}, most}) add_up(own.data(), all.data(), count, stream);
    wait_unless_ended([&] { return cudaStreamQuery(stream); }, communicator_,
                      [&] { return Clock::now() > end ? std::string(too_late) : failure(); }, [this] { abort(); });
  }
  // There is no destructor that closes the connection: at the end of the process, CUDA may have shut down.

  void add_up(const Word* own, Word* all, std::int64_t count, const cuda::Stream& stream) override {
    if (connection_ == nullptr) throw Error("NCCL: an earlier sum of the ranks has failed");
    nccl_.check(
        nccl_.all_reduce(own, all, static_cast<std::size_t>(count), Nccl::uint64, Nccl::sum, connection_, stream),
        "ncclAllReduce");
  }

  Way way() const override { return Way::nccl; }

 private:
  void abort() { nccl_.abort(std::exchange(connection_, nullptr)); }

  void wait_until(const State& state) override {
    wait_unless_ended(
        state, communicator_, [this] { return failure(); }, [this] { abort(); });
  }

  /// Returns the error that a connection to another machine has met, for example because a process there has ended.
  std::string failure() const {
    if (connection_ == nullptr) return {};
    int state = Nccl::success;
    const int result = nccl_.get_async_error(connection_, &state);
    if (result == Nccl::success) return state == Nccl::success ? "" : nccl_.text_of(state, "a sum of the ranks");
    return nccl_.text_of(result, "ncclCommGetAsyncError");
  }

  Communicator& communicator_;
  const Nccl& nccl_ = Nccl::functions();
  Nccl::Connection* connection_ = nullptr;
};

class HostSums final : public RankSums {
 public:
  explicit HostSums(Communicator& communicator) : communicator_(communicator) {}

  void add_up(const Word* own, Word* all, std::int64_t count, const cuda::Stream& stream) override {
    if (words_.size() < count) words_ = cuda::PinnedBuffer<std::uint64_t>(count);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Word);
    cuda::check(cudaMemcpyAsync(words_.data(), own, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    stream.wait();
    communicator_.sum({words_.data(), static_cast<std::size_t>(count)});
    cuda::check(cudaMemcpyAsync(all, words_.data(), bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  }

  Way way() const override { return Way::host; }

 private:
  void wait_until(const State& state) override {
    cudaError_t result = cudaErrorNotReady;
    while (result == cudaErrorNotReady) result = state();
    cuda::check(result, "the work in the stream");
  }

  Communicator& communicator_;
  cuda::PinnedBuffer<std::uint64_t> words_;
};

/// Describes a rank to the other ranks. They exchange these descriptions before they connect.
struct Endpoint {
  std::array<char, 16> gpu;              ///< the identity of the GPU, which is the same in all processes
  std::array<std::uint64_t, 2> process;  ///< a random number that no other process has
  int index;                             ///< the index of the GPU in this process
  bool has_nccl;
};

Endpoint endpoint_of(int gpu) {
  static const std::array<std::uint64_t, 2> process = [] {
    std::random_device random;
    const auto word = [&] { return std::uint64_t{random()} << 32 | random(); };
    return std::array{word(), word()};
  }();
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
  Endpoint endpoint{};
  std::memcpy(endpoint.gpu.data(), properties.uuid.bytes, endpoint.gpu.size());
  endpoint.process = process;
  endpoint.index = gpu;
  endpoint.has_nccl = static_cast<bool>(Nccl::functions());
  return endpoint;
}

/// Connects the ranks in the best way that all ranks support. Collective.
std::shared_ptr<RankSums> connected(core::Ranks& ranks, int gpu) {
  Communicator& communicator = ranks.communicator();
  const std::vector<Endpoint> all = ranks.gather([&] { return endpoint_of(gpu); });
  std::set<std::array<char, 16>> different;
  std::vector<int> gpus;
  for (const Endpoint& one : all) {
    different.insert(one.gpu);
    gpus.push_back(one.index);
  }
  const bool can_share = different.size() == all.size();
  const bool is_one_process =
      std::ranges::all_of(all, [&](const Endpoint& one) { return one.process == all.front().process; });
  if (RankSums::best_way <= RankSums::Way::peers && can_share && is_one_process &&
      ranks.size() <= cuda::PeerSums::most_gpus && ranks.all([&] { return cuda::PeerSums::reaches(gpu, gpus); }))
    return ranks.agree([&] { return std::make_shared<PeerRankSums>(ranks, gpus); });
  if (RankSums::best_way <= RankSums::Way::nccl && can_share && std::ranges::all_of(all, &Endpoint::has_nccl)) {
    const std::vector<Nccl::Id> id = ranks.from(0, [] {
      std::vector<Nccl::Id> made(1);
      Nccl::functions().check(Nccl::functions().get_unique_id(made.data()), "ncclGetUniqueId");
      return made;
    });
    return ranks.agree([&] { return std::make_shared<NcclSums>(communicator, id.front(), gpu); });
  }
  return std::make_shared<HostSums>(communicator);
}

}  // namespace

RankSums& RankSums::of(core::Ranks& ranks, int gpu) {
  std::shared_ptr<RankSums>& sums = ranks.communicator().gpu_sums_;
  // Either all ranks have connected, or none has.
  if (!sums || !ranks.all([&] { return sums->gpu_ == gpu; })) {
    sums = connected(ranks, gpu);
    sums->gpu_ = gpu;
  }
  return *sums;
}

void connect_gpu(const Execution& execution) {
  const std::shared_ptr<cuda::Job> job = start_gpu_job(execution);
  core::Ranks ranks(*execution.communicator, execution.stop);
  if (ranks.size() > 1) RankSums::of(ranks, execution.gpu);
}

}  // namespace gradus::execution
