// A kernel on each GPU adds up the words of all GPUs. The kernels run at the same time and wait for each other.
//
// The n sums are divided into shares, one per GPU. First, each GPU writes its summands into the inboxes of the other
// GPUs: the summands of a share go to the GPU that computes the share. Then each GPU computes its share and writes the
// result to all GPUs. So each of the p GPUs sends 2 (p - 1) / p n words and waits twice. Writes are faster than reads,
// because no thread waits for an answer.
//
// A GPU writes messages into the mailboxes of the other GPUs. While a GPU waits, it reads only its own mailbox. A
// message is the number of the current sum. A message also states that the sender has finished reading: `arrived` that
// it has read the result of the previous sum, and `reduced` that it has read its inbox. The other GPUs write to the
// result or the inbox again only after they have received this message.
#include "cuda/peer_sums.hpp"

#include <cuda/atomic>

#include <algorithm>
#include <type_traits>

namespace gradus::cuda {

namespace {

using Word = PeerSums::Word;
using Pair = ulonglong2;

/// A message from one GPU to another.
struct Message {
  Word* all;             ///< address of the sender's result
  unsigned int arrived;  ///< number of the last sum in which the sender's words were complete in the receiver's inbox
  unsigned int reduced;  ///< number of the last sum in which the sender's share of the result was complete
};

}  // namespace

struct PeerSums::Mailbox {
  Message from[most_gpus];
};

namespace {

struct PeerJob {
  Message* mailboxes[PeerSums::most_gpus];
  Word* inboxes[PeerSums::most_gpus];
  std::int64_t inbox_words;
  int rank;
  int size;
  unsigned int sum;  ///< number of this sum, counted from 1
  const Word* own;
  Word* all;
  std::int64_t count;
  unsigned int* blocks;
  const int* abort;
};

constexpr int sum_threads = 512;
constexpr int sum_blocks = 128;

__device__ void send(unsigned int& place, unsigned int number) {
  ::cuda::atomic_ref<unsigned int, ::cuda::thread_scope_system>(place).store(number, ::cuda::memory_order_release);
}

/// Waits for the message of one member. Returns false if abort() was called. Rarely polls the flag of abort(), because
/// the flag is in host memory.
__device__ bool wait_for(unsigned int& place, unsigned int number, const int* abort) {
  const ::cuda::atomic_ref<unsigned int, ::cuda::thread_scope_system> message(place);
  for (unsigned int checks = 1; static_cast<int>(message.load(::cuda::memory_order_acquire) - number) < 0; ++checks)
    if (checks % 4096 == 0 && *static_cast<const volatile int*>(abort) != 0) return false;
  return true;
}

/// Returns true in all threads of the last block that calls it. The work of the other blocks is then visible.
__device__ bool is_last_block(unsigned int* blocks) {
  __shared__ bool is_last;
  __threadfence_system();
  __syncthreads();  // the whole block has finished its work
  if (threadIdx.x == 0) {
    is_last = atomicAdd(blocks, 1u) + 1 == gridDim.x;
    if (is_last) *blocks = 0;
  }
  __syncthreads();  // after this barrier, all threads can read is_last
  return is_last;
}

/// Calls store(index, load(index)) for each index below `count`. Each thread loads several values before it stores the
/// first one.
template <class Load, class Store>
__device__ void for_each_pair(std::int64_t count, const Load& load, const Store& store) {
  constexpr int at_once = 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; first < count;
       first += at_once * stride) {
    Pair pairs[at_once] = {};
#pragma unroll
    for (int index = 0; index < at_once; ++index)
      if (first + index * stride < count) pairs[index] = load(first + index * stride);
#pragma unroll
    for (int index = 0; index < at_once; ++index)
      if (first + index * stride < count) store(first + index * stride, pairs[index]);
  }
}

/// The blocks wait for other GPUs, so all blocks of the grid must run at the same time.
template <int Size>
__global__ void __launch_bounds__(sum_threads) sum_over_peers(const __grid_constant__ PeerJob job) {
  __shared__ Pair* all[PeerSums::most_gpus];
  const auto member = static_cast<int>(threadIdx.x);
  const bool is_member = member < job.size;
  Message* const mine = job.mailboxes[job.rank];
  Message* const theirs = is_member ? &job.mailboxes[member][job.rank] : nullptr;
  const std::int64_t pairs = job.count / 2;
  const auto share = [&](int of) { return pairs * of / job.size; };
  const auto own = reinterpret_cast<const Pair*>(job.own);

  for (int next = 1; next < job.size; ++next) {
    const int other = (job.rank + next) % job.size;
    const auto inbox = reinterpret_cast<Pair*>(job.inboxes[other] + job.rank * job.inbox_words);
    for_each_pair(
        share(other + 1) - share(other), [&](std::int64_t pair) { return own[share(other) + pair]; },
        [&](std::int64_t pair, Pair words) { inbox[pair] = words; });
  }
  if (is_last_block(job.blocks) && is_member) {
    theirs->all = job.all;
    send(theirs->arrived, job.sum);
  }
  bool has_arrived = true;
  if (is_member) {
    has_arrived = wait_for(mine[member].arrived, job.sum, job.abort);
    all[member] = reinterpret_cast<Pair*>(*const_cast<Word* volatile*>(&mine[member].all));
  }
  // after abort(), words may be missing in the inbox, so the kernel returns
  if (__syncthreads_and(has_arrived) == 0) return;
  const std::int64_t begin = share(job.rank);
  const auto inbox_of = [&](int of) {
    return reinterpret_cast<const Pair*>(job.inboxes[job.rank] + of * job.inbox_words);
  };
  for_each_pair(
      share(job.rank + 1) - begin,
      [&](std::int64_t pair) {
        Pair sum = own[begin + pair];
#pragma unroll
        for (int other = 0; other < (Size > 0 ? Size : job.size); ++other) {
          if (other == job.rank) continue;
          const Pair words = __ldcv(inbox_of(other) + pair);
          sum.x += words.x;
          sum.y += words.y;
        }
        return sum;
      },
      [&](std::int64_t pair, Pair sum) {
#pragma unroll
        for (int other = 0; other < (Size > 0 ? Size : job.size); ++other) all[other][begin + pair] = sum;
      });
  if (!is_last_block(job.blocks + 1) || !is_member) return;
  send(theirs->reduced, job.sum);
  wait_for(mine[member].reduced, job.sum, job.abort);
}

}  // namespace

bool PeerSums::reaches(int gpu, std::span<const int> gpus) {
  return std::ranges::all_of(gpus, [gpu](int other) {
    int can = 1;
    if (other != gpu) check(cudaDeviceCanAccessPeer(&can, gpu, other), "cudaDeviceCanAccessPeer");
    return can != 0;
  });
}

PeerSums::PeerSums(int rank, std::span<const int> gpus)
    : rank_(rank), size_(static_cast<int>(gpus.size())), memory_(sizeof(Mailbox)), blocks_(2) {
  for (const int other : gpus) {
    if (other == gpus[static_cast<std::size_t>(rank)]) continue;
    const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) cudaGetLastError();
    else check(error, "cudaDeviceEnablePeerAccess");
  }
  const Stream stream;
  memory_.clear(stream);
  blocks_.clear(stream);
  stream.wait();
  void* flag = nullptr;
  check(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
  abort_.reset(static_cast<int*>(flag));
  *abort_ = 0;
  void* on_gpu = nullptr;
  check(cudaHostGetDevicePointer(&on_gpu, flag, 0), "cudaHostGetDevicePointer");
  abort_on_gpu_ = static_cast<const int*>(on_gpu);
}

void PeerSums::reserve(std::int64_t count, const Stream& stream, const Exchange& exchange) {
  const auto copy = [&](void* own, auto* addresses) {
    const std::vector<void*> all = exchange(own);
    for (std::size_t member = 0; member < all.size(); ++member)
      addresses[member] = static_cast<std::remove_pointer_t<decltype(addresses)>>(all[member]);
  };
  if (sums_ == 0) copy(memory_.data(), mailboxes_);
  const std::int64_t words = 2 * ((count / 2 + size_ - 1) / size_);
  if (words <= inbox_words_) return;
  stream.wait();
  copy(nullptr, inboxes_);  // when this returns, all members have finished their earlier sums
  inbox_ = DeviceBuffer<Word>(words * size_);
  inbox_words_ = words;
  copy(inbox_.data(), inboxes_);
}

void PeerSums::add_up(const Word* own, Word* all, std::int64_t count, const Stream& stream, const Exchange& exchange) {
  if (count % 2 != 0) throw Error("GPUs add up an even number of words, not " + std::to_string(count));
  reserve(count, stream, exchange);
  PeerJob job{};
  for (int member = 0; member < size_; ++member) job.mailboxes[member] = mailboxes_[member]->from;
  std::ranges::copy(inboxes_, job.inboxes);
  job.inbox_words = inbox_words_;
  job.rank = rank_;
  job.size = size_;
  job.sum = ++sums_;
  job.own = own;
  job.all = all;
  job.count = count;
  job.blocks = blocks_.data();
  job.abort = abort_on_gpu_;
  const std::int64_t wanted = (count / 2 + sum_threads - 1) / sum_threads;
  const auto blocks = static_cast<unsigned int>(std::clamp<std::int64_t>(wanted, 1, sum_blocks));
  const auto launch = [&](auto kernel) { kernel<<<blocks, sum_threads, 0, stream>>>(job); };
  switch (size_) {
    case 2: launch(&sum_over_peers<2>); break;
    case 4: launch(&sum_over_peers<4>); break;
    case 8: launch(&sum_over_peers<8>); break;
    default: launch(&sum_over_peers<0>);
  }
  check_launch("sum_over_peers");
}

}  // namespace gradus::cuda
