// A kernel on each GPU adds up the words of all GPUs. The kernels run at the same time and wait for each other.
//
// Few words: each GPU reads the words of all other GPUs. Many words: each GPU first adds up a share of the words and
// then reads the other shares. So (p - 1) n words per GPU become 2 (p - 1) / p n words, but the GPUs wait once more.
//
// A GPU writes messages into the mailboxes of the others, and only reads its own mailbox while it waits. A message is
// the number of the current sum. The last message of a sum says that its sender no longer reads the words of the
// others. Each kernel ends only after it has these messages, so later work may change the words.
#include "cuda/peer_sums.hpp"

#include <cuda/atomic>

#include <algorithm>

namespace gradus::cuda {

namespace {

using Word = PeerSums::Word;
using Pair = ulonglong2;

/// A message from one GPU to another.
struct Message {
  const Word* own;
  const Word* all;
  unsigned int arrived;  ///< number of the last sum in which the sender's words were complete
  unsigned int reduced;  ///< number of the last sum in which the sender's share of the result was complete
  unsigned int done;     ///< number of the last sum in which the sender had read everything
};

}  // namespace

struct PeerSums::Mailbox {
  Message from[most_gpus];
};

namespace {

struct PeerJob {
  PeerSums::Mailbox* mailboxes[PeerSums::most_gpus];
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
/// Number of bytes from which the GPUs share the sums: reading fewer bytes takes less time than another wait.
constexpr std::int64_t bytes_to_share = std::int64_t{3} << 20;

__device__ void send(unsigned int& place, unsigned int number) {
  ::cuda::atomic_ref<unsigned int, ::cuda::thread_scope_system>(place).store(number, ::cuda::memory_order_release);
}

/// Waits for the message of one member. Returns false after abort(), which is read rarely, because it is in host
/// memory.
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
  __syncthreads();  // the answer is known
  return is_last;
}

/// Adds up the pairs [begin, end) of all members. `Size`: the number of members, or 0 for any number.
template <int Size>
__device__ void add_pairs(const Pair* const* own, int size, Pair* all, std::int64_t begin, std::int64_t end) {
  constexpr int at_once = 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t first = begin + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; first < end;
       first += at_once * stride) {
    Pair sums[at_once] = {};
#pragma unroll
    for (int member = 0; member < (Size > 0 ? Size : size); ++member) {
      Pair words[at_once] = {};
#pragma unroll
      for (int index = 0; index < at_once; ++index)
        if (first + index * stride < end) words[index] = __ldcv(own[member] + first + index * stride);
#pragma unroll
      for (int index = 0; index < at_once; ++index) {
        sums[index].x += words[index].x;
        sums[index].y += words[index].y;
      }
    }
#pragma unroll
    for (int index = 0; index < at_once; ++index)
      if (first + index * stride < end) all[first + index * stride] = sums[index];
  }
}

__device__ void copy_pairs(const Pair* from, Pair* to, std::int64_t begin, std::int64_t end) {
  constexpr int at_once = 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t first = begin + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; first < end;
       first += at_once * stride) {
    Pair words[at_once] = {};
#pragma unroll
    for (int index = 0; index < at_once; ++index)
      if (first + index * stride < end) words[index] = __ldcv(from + first + index * stride);
#pragma unroll
    for (int index = 0; index < at_once; ++index)
      if (first + index * stride < end) to[first + index * stride] = words[index];
  }
}

/// Launch: at most as many blocks as run at the same time.
template <int Size>
__global__ void __launch_bounds__(sum_threads) sum_over_peers(const __grid_constant__ PeerJob job) {
  __shared__ const Pair* own[PeerSums::most_gpus];
  __shared__ const Pair* all[PeerSums::most_gpus];
  const auto member = static_cast<int>(threadIdx.x);
  const bool is_member = member < job.size;
  Message* const mine = job.mailboxes[job.rank]->from;
  Message* const theirs = is_member ? &job.mailboxes[member]->from[job.rank] : nullptr;
  if (is_member && blockIdx.x == 0) {
    theirs->own = job.own;
    theirs->all = job.all;
    __threadfence_system();
    send(theirs->arrived, job.sum);
  }
  bool has_arrived = true;
  if (is_member) {
    has_arrived = wait_for(mine[member].arrived, job.sum, job.abort);
    own[member] = reinterpret_cast<const Pair*>(*const_cast<const Word* volatile*>(&mine[member].own));
    all[member] = reinterpret_cast<const Pair*>(*const_cast<const Word* volatile*>(&mine[member].all));
  }
  if (__syncthreads_and(has_arrived) == 0) return;  // otherwise all addresses are known
  const std::int64_t pairs = job.count / 2;
  const auto result = reinterpret_cast<Pair*>(job.all);
  if (job.count % 2 != 0 && blockIdx.x == 0 && threadIdx.x == 0) {
    Word sum = 0;
    for (int other = 0; other < job.size; ++other) sum += __ldcv(reinterpret_cast<const Word*>(own[other]) + 2 * pairs);
    job.all[2 * pairs] = sum;
  }
  if (job.size == 2 || job.count * static_cast<std::int64_t>(sizeof(Word)) < bytes_to_share) {
    add_pairs<Size>(own, job.size, result, 0, pairs);
  } else {
    const auto share = [&](int of) { return pairs * of / job.size; };
    add_pairs<Size>(own, job.size, result, share(job.rank), share(job.rank + 1));
    if (is_last_block(job.blocks) && is_member) send(theirs->reduced, job.sum);
    if (is_member) wait_for(mine[member].reduced, job.sum, job.abort);
    __syncthreads();  // all shares are complete
    for (int next = 1; next < job.size; ++next) {
      const int other = (job.rank + next) % job.size;
      copy_pairs(all[other], result, share(other), share(other + 1));
    }
  }
  if (!is_last_block(job.blocks + 1) || !is_member) return;
  send(theirs->done, job.sum);
  wait_for(mine[member].done, job.sum, job.abort);
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
  abort_ = static_cast<int*>(flag);
  *abort_ = 0;
  void* on_gpu = nullptr;
  check(cudaHostGetDevicePointer(&on_gpu, flag, 0), "cudaHostGetDevicePointer");
  abort_on_gpu_ = static_cast<const int*>(on_gpu);
}

PeerSums::Mailbox* PeerSums::mailbox() { return reinterpret_cast<Mailbox*>(memory_.data()); }

void PeerSums::connect(std::span<Mailbox* const> mailboxes) { std::ranges::copy(mailboxes, mailboxes_); }

void PeerSums::add_up(const Word* own, Word* all, std::int64_t count, const Stream& stream) {
  PeerJob job{};
  std::ranges::copy(mailboxes_, job.mailboxes);
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
