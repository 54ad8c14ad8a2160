#include "ranks/ranks.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/error_parcel.hpp"

namespace gradus::core {

namespace {

/// Returns true for errors that depend only on values that are the same on all ranks. If code between two collective
/// calls throws such an error, every rank throws the same one.
bool is_agreed(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const OutOfMemoryError&) {
    return false;
  } catch (const InterruptedError&) {
    return false;
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

Ranks::Ranks(Communicator& communicator, std::stop_token stop)
    : communicator_(&communicator), rank_(communicator.rank()), size_(communicator.size()), asked_(std::move(stop)),
      stop_token_(stop_.get_token()) {}

Ranks& Ranks::alone() {
  static Ranks the_only_one;
  return the_only_one;
}

RankRows::RankRows(Ranks& ranks, std::int64_t own) : ranks_(&ranks), own_(own) {
  int rank = 0;
  for (const std::int64_t rows : ranks.gather([&] { return own; })) {
    if (rank++ < ranks.rank()) first_ += rows;
    all_ += rows;
  }
}

template <class T>
Matrix<T> RankRows::rows_at(std::span<const std::int64_t> numbers, std::int64_t columns,
                            const std::function<Matrix<T>(std::span<const std::int64_t>)>& copies_of) const {
  if (ranks_->is_alone()) return copies_of(numbers);
  const std::size_t row_bytes = static_cast<std::size_t>(columns) * sizeof(T);
  Matrix<T> result(std::ssize(numbers), columns);
  const std::size_t bytes = numbers.size() * row_bytes;
  if (bytes == 0) return result;  // true on all ranks, because `bytes` is the same on all of them
  // Each row's bytes come from its owner and are zero on other ranks. Sums of the words therefore produce no carry.
  const std::vector<std::uint64_t> words = ranks_->sum((bytes + 7) / 8, [&](std::span<std::uint64_t> to) {
    std::vector<std::int64_t> own;
    std::ranges::copy_if(numbers, std::back_inserter(own), [&](std::int64_t number) { return is_own(number); });
    const Matrix<T> copies = copies_of(own);
    std::int64_t next = 0;
    for (std::size_t index = 0; index < numbers.size(); ++index)
      if (is_own(numbers[index]))
        std::memcpy(reinterpret_cast<std::byte*>(to.data()) + index * row_bytes, copies.row(next++), row_bytes);
  });
  std::memcpy(result.data(), words.data(), bytes);
  return result;
}

template <class T>
Matrix<T> RankRows::rows_at(std::span<const std::int64_t> numbers, MatrixView<const T> own) const {
  return rows_at<T>(numbers, own.columns(), [&](std::span<const std::int64_t> wanted) {
    Matrix<T> copies(std::ssize(wanted), own.columns());
    for (std::int64_t index = 0; index < copies.rows(); ++index)
      std::copy_n(own.row(wanted[static_cast<std::size_t>(index)] - first_), own.columns(), copies.row(index));
    return copies;
  });
}

#define GRADUS_INSTANTIATE(T)                                                                     \
  template Matrix<T> RankRows::rows_at(std::span<const std::int64_t>, MatrixView<const T>) const; \
  template Matrix<T> RankRows::rows_at(std::span<const std::int64_t>, std::int64_t,               \
                                       const std::function<Matrix<T>(std::span<const std::int64_t>)>&) const
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

void Ranks::put(std::span<ExactAccumulator> sums, std::span<std::uint64_t> words) {
  for (std::size_t index = 0; index < sums.size(); ++index) {
    const ExactAccumulator::Limbs& limbs = sums[index].propagated_limbs();
    std::transform(limbs.begin(), limbs.end(), words.begin() + static_cast<std::ptrdiff_t>(index * limbs.size()),
                   [](std::int64_t limb) { return static_cast<std::uint64_t>(limb); });
  }
}

void Ranks::take(std::span<const std::uint64_t> words, std::span<ExactAccumulator> sums) {
  ExactAccumulator::Limbs limbs;
  for (std::size_t index = 0; index < sums.size(); ++index) {
    const auto from = words.subspan(index * limbs.size(), limbs.size());
    std::transform(from.begin(), from.end(), limbs.begin(),
                   [](std::uint64_t word) { return static_cast<std::int64_t>(word); });
    sums[index] = {};
    sums[index].merge(limbs);
  }
}

void Ranks::throw_agreed() {
  const auto none = std::numeric_limits<double>::infinity();
  double lowest[] = {failure_ ? static_cast<double>(rank_) : none};
  communicator_->least(lowest);
  const auto root = static_cast<int>(lowest[0]);
  std::string parcel;
  if (rank_ == root) parcel = parcel_of(failure_);
  std::uint64_t size[] = {parcel.size()};
  communicator_->broadcast(std::as_writable_bytes(std::span(size)), root);
  parcel.resize(size[0]);
  communicator_->broadcast(std::as_writable_bytes(std::span(parcel)), root);
  agreed_ = true;
  throw_parcel(parcel, root, size_);
}

void Ranks::leave() noexcept {
  if (!agreed_ && !is_agreed(std::current_exception())) communicator_->give_up();
}

}  // namespace gradus::core
