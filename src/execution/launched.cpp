#include "execution/launched.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/memory.hpp"
#include "cuda/pinned.hpp"
#include "execution/nccl.hpp"
#include "gradus/error.hpp"
#include "ranks/announced.hpp"
#include "ranks/peer_process.hpp"

namespace gradus::execution {

namespace {

using Clock = std::chrono::steady_clock;

/// A sum of the time between polls. A gap of more than a second counts as one second, because then this process was
/// suspended.
class WaitedTime {
 public:
  double seconds() {
    const Clock::time_point now = Clock::now();
    waited_ += std::min(std::chrono::duration<double>(now - std::exchange(last_, now)).count(), 1.0);
    return waited_;
  }

 private:
  Clock::time_point last_ = Clock::now();
  double waited_ = 0;
};

/// Polls whether the processes of the other ranks on this machine still run. Several threads may use it.
class Neighbours {
 public:
  explicit Neighbours(int own) : own_(own) {}

  void set(const std::vector<core::PeerProcess>& processes) {
    const core::PeerProcess& own = processes[static_cast<std::size_t>(own_)];
    count_ = static_cast<int>(std::ranges::count_if(
        processes, [&](const core::PeerProcess& other) { return core::share_machine(own, other); }));
    processes_ = processes;
  }

  int count() const { return count_; }

  /// Returns a rank whose process ended at least `grace` ago, so that data which the process had sent could arrive.
  std::optional<int> ended() {
    constexpr auto interval = std::chrono::milliseconds(200);
    constexpr auto grace = std::chrono::seconds(2);
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (now >= next_) {
      next_ = now + interval;
      const auto found = std::ranges::find_if(processes_, core::has_ended);
      if (!first_ended_ && found != processes_.end())
        first_ended_.emplace(static_cast<int>(found - processes_.begin()), now);
    }
    if (!first_ended_ || now < first_ended_->second + grace) return {};
    return first_ended_->first;
  }

 private:
  int own_;
  int count_ = 1;
  std::vector<core::PeerProcess> processes_;  ///< of all ranks
  std::mutex mutex_;
  Clock::time_point next_;
  std::optional<std::pair<int, Clock::time_point>> first_ended_;
};

/// Sets an environment variable that is not set, for the lifetime of the object. No other thread may use the
/// environment then.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(std::getenv(name) == nullptr ? name : nullptr) {
    if (name_ != nullptr) ::setenv(name_, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (name_ != nullptr) ::unsetenv(name_);
  }

 private:
  const char* name_;
};

/// Exchanges host memory through buffers on the GPUs.
class NcclTransport final : public core::Transport {
 public:
  NcclTransport(const core::Launch& launch, const LaunchRequest& request)
      : rank_(launch.rank), size_(launch.size), gpu_(request.gpu), neighbours_(launch.rank) {
    const cuda::CurrentDevice device(gpu_);
    connect(launch, request);
    const std::int64_t bytes = std::max<std::int64_t>(most_bytes, std::int64_t{size_} * least_gathered);
    own_ = cuda::DeviceBuffer<std::byte>(bytes);
    all_ = cuda::DeviceBuffer<std::byte>(bytes);
    host_ = cuda::PinnedBuffer<std::byte>(bytes);
    stream_ = std::make_unique<cuda::Stream>();
    const core::PeerProcess own = core::this_process();
    std::vector<core::PeerProcess> processes(static_cast<std::size_t>(size_));
    limit_ = request.limit;
    stop_ = request.stop;
    gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(processes)));
    limit_ = 0;
    stop_ = {};
    neighbours_.set(processes);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return neighbours_.count(); }
  int gpu() const { return gpu_; }
  void set_limit(double seconds) override { limit_ = seconds; }

  void sum(std::span<std::uint64_t> words) override { reduce(words, Nccl::uint64, Nccl::sum); }
  void least(std::span<double> numbers) override { reduce(numbers, Nccl::float64, Nccl::least); }
  void greatest(std::span<double> numbers) override { reduce(numbers, Nccl::float64, Nccl::greatest); }

  void broadcast(std::span<std::byte> bytes, int root) override {
    for_pieces(bytes, [&](std::span<std::byte> piece) {
      move(piece, piece, "ncclBroadcast", [&](const std::byte* own, std::byte* all) {
        return nccl_.broadcast(own, all, piece.size(), Nccl::uint8, root, connection_, *stream_);
      });
    });
  }

  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    const auto size = static_cast<std::size_t>(size_);
    const std::size_t most = std::max<std::size_t>(most_bytes / size, least_gathered);
    std::vector<std::byte> pieces;
    for (std::size_t begin = 0; begin < own.size(); begin += most) {
      const std::span<const std::byte> piece = own.subspan(begin, std::min(most, own.size() - begin));
      pieces.resize(piece.size() * size);
      move(piece, pieces, "ncclAllGather", [&](const std::byte* from, std::byte* to) {
        return nccl_.all_gather(from, to, piece.size(), Nccl::uint8, connection_, *stream_);
      });
      for (std::size_t rank = 0; rank < size; ++rank)
        std::copy_n(pieces.data() + rank * piece.size(), piece.size(), all.data() + rank * own.size() + begin);
    }
  }

  void give_up() noexcept override {}
  bool has_ended() const noexcept override { return !why_ended_.empty() || neighbours_.ended().has_value(); }
  /// Returns the reason why no call can succeed because of another process of this machine, or an empty string. May be
  /// called on any thread.
  std::string why_neighbour_ended() const {
    const std::optional<int> rank = neighbours_.ended();
    return rank ? "rank " + std::to_string(*rank) + " has ended before the job was complete" : std::string();
  }

  /// Releases the connection after the last call. All ranks call it at about the same time.
  void finish(double seconds) noexcept {
    if (nccl_.finalize == nullptr || has_ended()) return;
    try {
      const cuda::CurrentDevice device(gpu_);
      limit_ = seconds;
      settle(nccl_.finalize(connection_), "ncclCommFinalize");
      // NCCL's threads would crash if they still ran while the process exits.
      if (nccl_.destroy != nullptr) nccl_.destroy(std::exchange(connection_, nullptr));
    } catch (const std::exception&) {
      // The job is complete, and the process ends.
    }
  }

 private:
  static constexpr const char* stopped_while_connecting = "stopped while the ranks connect";
  static constexpr std::int64_t most_bytes = std::int64_t{4} << 20;
  static constexpr std::int64_t least_gathered = 512;  ///< bytes per rank that always fit

  void connect(const core::Launch& launch, const LaunchRequest& request) {
    if (!nccl_ || nccl_.init_rank_config == nullptr)
      throw UnsupportedError(
          "the ranks of torchrun exchange data through NCCL 2.14 or newer, but " +
              (nccl_ ? "'" + nccl_.library.file() + "' is older"
                     : "libnccl.so.2 cannot be opened (" + nccl_.library.why_not() + ")"),
          {.remedy = "install NCCL, name its folder in LD_LIBRARY_PATH, or start the processes by mpirun"});
    const Variable meeting_point("NCCL_COMM_ID", launch.meeting_point);
    const auto refuse = [&](const std::string& why) {
      throw Error(
          "the ranks cannot connect at " + launch.meeting_point + ": " + why,
          {.remedy = "NCCL_COMM_ID=HOST:PORT, the same for all ranks, names another address of rank 0's machine; "
                     "otherwise it is MASTER_ADDR and the port after MASTER_PORT"});
    };
    Nccl::Id id{};
    if (const int result = nccl_.get_unique_id(&id); result != Nccl::success)
      refuse(nccl_.text_of(result, "ncclGetUniqueId"));
    Nccl::Settings settings;
    int state = nccl_.init_rank_config(&connection_, size_, id, rank_, &settings);
    WaitedTime time;
    while (state == Nccl::in_progress) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const bool is_late = request.limit > 0 && time.seconds() > request.limit;
      if (is_late || request.stop.stop_requested()) {
        close();
        if (!is_late) throw InterruptedError(stopped_while_connecting);
        refuse("not all " + std::to_string(size_) + " ranks have arrived within " +
               std::to_string(static_cast<int>(request.limit)) + " s");
      }
      if (const int result = nccl_.get_async_error(connection_, &state); result != Nccl::success) state = result;
    }
    if (state == Nccl::success) return;
    const std::string why = nccl_.text_of(state, "ncclCommInitRankConfig", connection_);
    close();
    if (state == Nccl::invalid_usage)
      throw UnsupportedError(
          "rank " + std::to_string(rank_) + " cannot use GPU " + std::to_string(gpu_) + ": " + why,
          {.remedy = "each rank needs a separate GPU: start one process for each GPU of a machine, or "
                     "start the processes by mpirun, under which ranks may share a GPU"});
    refuse(why);
  }

  /// Closes the connection. ncclCommAbort() may wait long for a process that has ended while the ranks connected; then
  /// a thread continues to wait.
  void close() noexcept {
    if (connection_ == nullptr) return;
    constexpr auto patience = std::chrono::seconds(2);
    std::promise<void> is_closed;
    const std::future<void> closed = is_closed.get_future();
    std::thread closing([abort = nccl_.abort, connection = std::exchange(connection_, nullptr),
                         is_closed = std::move(is_closed)]() mutable {
      abort(connection);
      is_closed.set_value();
    });
    if (closed.wait_for(patience) == std::future_status::ready) closing.join();
    else closing.detach();
  }

  [[noreturn]] void fail(std::string why) {
    why_ended_ = std::move(why);
    close();
    throw Error(why_ended_);
  }

  void throw_if_ended() const {
    if (!why_ended_.empty()) throw Error(why_ended_);
    if (const std::string why = why_neighbour_ended(); !why.empty()) throw Error(why);
  }

  /// Waits until is_done() returns true. Fails if another rank has ended or the limit has passed.
  template <class Done>
  void wait_until(const Done& is_done) {
    constexpr int looks = 4000;  // a sleep takes longer than most calls
    WaitedTime time;
    for (int look = 0; !is_done(); ++look) {
      if (look < looks) continue;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (std::string why = why_neighbour_ended(); !why.empty()) fail(std::move(why));
      if (stop_.stop_requested()) {
        close();
        throw InterruptedError(stopped_while_connecting);
      }
      if (limit_ > 0 && time.seconds() > limit_)
        fail("the other ranks have not arrived within " + std::to_string(static_cast<int>(limit_)) + " s");
    }
  }

  /// Waits until NCCL has started the work of a call that returned `result`.
  void settle(int result, const char* call) {
    wait_until([&] {
      if (result == Nccl::in_progress) {
        int state = Nccl::success;
        const int failed = nccl_.get_async_error(connection_, &state);
        result = failed == Nccl::success ? state : failed;
      }
      if (result != Nccl::success && result != Nccl::in_progress) fail(nccl_.text_of(result, call, connection_));
      return result == Nccl::success;
    });
  }

  /// Copies `sent` to the GPU, starts the call there, and copies its result to `received`.
  template <class Start>
  void move(std::span<const std::byte> sent, std::span<std::byte> received, const char* call, const Start& start) {
    throw_if_ended();
    const cuda::CurrentDevice device(gpu_);
    std::ranges::copy(sent, host_.data());
    own_.copy_from_host(host_.data(), std::ssize(sent), *stream_);
    settle(start(own_.data(), all_.data()), call);
    all_.copy_to_host(host_.data(), std::ssize(received), *stream_);
    wait_until([&] {
      const cudaError_t state = cudaStreamQuery(*stream_);
      if (state == cudaErrorNotReady) {
        int result = Nccl::success;
        if (nccl_.get_async_error(connection_, &result) == Nccl::success && result != Nccl::success)
          fail(nccl_.text_of(result, call, connection_));
        return false;
      }
      cuda::check(state, call);
      return true;
    });
    std::copy_n(host_.data(), received.size(), received.data());
  }

  template <class Number, class Use>
  static void for_pieces(std::span<Number> numbers, const Use& use) {
    constexpr std::size_t most = most_bytes / sizeof(Number);
    for (; !numbers.empty(); numbers = numbers.subspan(std::min(most, numbers.size())))
      use(numbers.first(std::min(most, numbers.size())));
  }

  template <class Number>
  void reduce(std::span<Number> numbers, Nccl::Type type, Nccl::Operation operation) {
    for_pieces(numbers, [&](std::span<Number> piece) {
      const std::span<std::byte> bytes = std::as_writable_bytes(piece);
      move(bytes, bytes, "ncclAllReduce", [&](const std::byte* own, std::byte* all) {
        return nccl_.all_reduce(own, all, piece.size(), type, operation, connection_, *stream_);
      });
    });
  }

  int rank_;
  int size_;
  int gpu_;
  mutable Neighbours neighbours_;
  const Nccl& nccl_ = Nccl::functions();
  Nccl::Connection* connection_ = nullptr;
  double limit_ = 0;
  std::stop_token stop_;  ///< while the ranks connect; later, all ranks agree on a stop
  std::string why_ended_;
  cuda::DeviceBuffer<std::byte> own_;
  cuda::DeviceBuffer<std::byte> all_;
  cuda::PinnedBuffer<std::byte> host_;
  std::unique_ptr<cuda::Stream> stream_;
};

class NcclProcess final : public LaunchedProcess {
 public:
  NcclProcess(const core::Launch& launch, const LaunchRequest& request)
      : transport_(launch, request), communicator_(transport_) {
    if (request.give_up)
      watch_ = std::jthread([this, give_up = request.give_up](const std::stop_token& stop) { watch(give_up, stop); });
  }

  Communicator& communicator() override { return communicator_; }
  int gpu() const override { return transport_.gpu(); }
  bool meet(int own, std::span<int> all, double seconds) override { return communicator_.meet(own, all, seconds); }
  void finish() override {
    if (watch_.joinable()) {
      watch_.request_stop();
      watch_.join();
    }
    constexpr double patience = 5;
    transport_.finish(patience);
  }
  /// Ends this process only. The other processes notice its end.
  void abort(int status) noexcept override { ::_exit(status); }

 private:
  void watch(const std::function<void(const std::string&)>& give_up, const std::stop_token& stop) {
    constexpr auto interval = std::chrono::milliseconds(100);
    constexpr int patience = 40;  // in intervals
    for (int since = 0; !stop.stop_requested(); std::this_thread::sleep_for(interval)) {
      const std::string why = transport_.why_neighbour_ended();
      if (!why.empty() && ++since == patience) give_up(why);
    }
  }

  NcclTransport transport_;
  core::AnnouncedCommunicator communicator_;
  std::jthread watch_;
};

}  // namespace

LaunchedProcess& join_launch(const core::Launch& launch, const LaunchRequest& request) {
  return *new NcclProcess(launch, request);
}

}  // namespace gradus::execution
