// Implements gradus/mpi.hpp with MPI functions only. It opens no connections itself.
#include "gradus/mpi.hpp"

#include <algorithm>
#include <string>

#include "gradus/error.hpp"
#include "ranks/mpi_header.hpp"

namespace gradus {
namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(std::string("MPI: ") + call + ": " + std::string(text, static_cast<std::size_t>(length)));
}

void require_mpi() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    throw UnsupportedError("mpi_communicator(): call it between MPI_Init_thread() and MPI_Finalize()");
  int provided = 0;
  check(MPI_Query_thread(&provided), "MPI_Query_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw UnsupportedError(
        "mpi_communicator(): jobs use threads, which MPI was not set up for; initialize it by MPI_Init_thread() with "
        "MPI_THREAD_FUNNELED");
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm) {
    check(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
    check(MPI_Comm_size(machine, &neighbours_), "MPI_Comm_size");
    MPI_Comm_free(&machine);
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  ~MpiCommunicator() override { MPI_Comm_free(&comm_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return neighbours_; }

  void sum(std::span<std::uint64_t> words) override { reduce(words, MPI_UINT64_T, MPI_SUM); }  // wraps around
  void least(std::span<double> numbers) override { reduce(numbers, MPI_DOUBLE, MPI_MIN); }
  void greatest(std::span<double> numbers) override { reduce(numbers, MPI_DOUBLE, MPI_MAX); }

  void broadcast(std::span<std::byte> bytes, int root) override {
    for_pieces(bytes, [&](std::span<std::byte> piece) {
      check(MPI_Bcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, root, comm_), "MPI_Bcast");
    });
  }

  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    // The gathered data is small, a few words or centroids, so it is not split. A rank's share must fit an MPI count.
    if (own.size() > most) throw Error("MPI: too many bytes to gather");
    const auto count = static_cast<int>(own.size());
    check(MPI_Allgather(own.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, comm_), "MPI_Allgather");
  }

  void give_up() noexcept override { MPI_Abort(comm_, 1); }

 private:
  static constexpr std::size_t most = std::size_t{1} << 30;  // because MPI counts are int

  template <class Number, class Use>
  static void for_pieces(std::span<Number> numbers, const Use& use) {
    for (; !numbers.empty(); numbers = numbers.subspan(std::min(most, numbers.size())))
      use(numbers.first(std::min(most, numbers.size())));
  }

  template <class Number>
  void reduce(std::span<Number> numbers, MPI_Datatype type, MPI_Op operation) {
    for_pieces(numbers, [&](std::span<Number> piece) {
      check(MPI_Allreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), type, operation, comm_),
            "MPI_Allreduce");
    });
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  int neighbours_ = 1;
};

}  // namespace

std::unique_ptr<Communicator> detail::mpi_communicator(const void* comm, std::size_t bytes) {
  if (bytes != sizeof(MPI_Comm))
    throw UnsupportedError("mpi_communicator(): a communicator of " + std::to_string(bytes) +
                           " bytes does not belong to the MPI that gradus_mpi was built with, where it has " +
                           std::to_string(sizeof(MPI_Comm)) + "; build both with the same MPI");
  require_mpi();
  return std::make_unique<MpiCommunicator>(*static_cast<const MPI_Comm*>(comm));
}

}  // namespace gradus
