#include "core/ranks.hpp"

#include <algorithm>

#include "core/error_parcel.hpp"

namespace gradus::core {

namespace {

/// Of which all ranks, which know the same, throw the same one outside of the works.
bool is_everybodys(const std::exception_ptr& exception) {
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
    : communicator_(communicator), rank_(communicator.rank()), size_(communicator.size()), asked_(std::move(stop)),
      stop_token_(stop_.get_token()), first_rows_(static_cast<std::size_t>(size_) + 1) {}

void Ranks::set_rows(std::int64_t own) {
  const std::vector<std::int64_t> rows = gather([&] { return own; });
  for (std::size_t rank = 0; rank < rows.size(); ++rank) first_rows_[rank + 1] = first_rows_[rank] + rows[rank];
}

int Ranks::owner(std::int64_t row) const {
  // Behind ranks without rows.
  const auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
  return static_cast<int>(after - first_rows_.begin()) - 1;
}

template <class T>
Matrix<T> Ranks::rows_at(std::span<const std::int64_t> rows, MatrixView<const T> own) {
  // Each row's bytes are those of its owner and zeros elsewhere: their sum carries nothing.
  const std::size_t row_bytes = static_cast<std::size_t>(own.columns()) * sizeof(T);
  Matrix<T> result(static_cast<std::int64_t>(rows.size()), own.columns());
  const std::size_t bytes = rows.size() * row_bytes;
  const std::span<const std::uint64_t> words = sum((bytes + 7) / 8, [&](std::span<std::uint64_t> to) {
    auto* const place = reinterpret_cast<std::byte*>(to.data());
    for (std::size_t index = 0; index < rows.size(); ++index)
      if (is_own(rows[index])) std::memcpy(place + index * row_bytes, own.row(rows[index] - first_row()), row_bytes);
  });
  if (bytes > 0) std::memcpy(result.data(), words.data(), bytes);
  return result;
}

template Matrix<float> Ranks::rows_at(std::span<const std::int64_t>, MatrixView<const float>);
template Matrix<double> Ranks::rows_at(std::span<const std::int64_t>, MatrixView<const double>);

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
  communicator_.least(lowest);
  const auto root = static_cast<int>(lowest[0]);
  std::string parcel;
  if (rank_ == root) parcel = parcel_of(failure_);
  std::uint64_t size[] = {parcel.size()};
  communicator_.broadcast(std::as_writable_bytes(std::span(size)), root);
  parcel.resize(size[0]);
  communicator_.broadcast(std::as_writable_bytes(std::span(parcel)), root);
  agreed_ = true;
  throw_parcel(parcel, root, size_);
}

void Ranks::leave() noexcept {
  if (!agreed_ && !is_everybodys(std::current_exception())) communicator_.give_up();
}

}  // namespace gradus::core
