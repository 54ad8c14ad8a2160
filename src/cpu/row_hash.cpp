#include "cpu/row_hash.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "core/failure.hpp"
#include "core/startable.hpp"
#include "core/stop.hpp"
#include "cpu/widen.hpp"

namespace gradus::cpu {

namespace {

std::uint64_t mixed(std::uint64_t word) {  // the finalizer of MurmurHash3, by Austin Appleby
  word = (word ^ word >> 33) * 0xff51afd7ed558ccd;
  word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53;
  return word ^ word >> 33;
}

template <class T>
void add(std::uint64_t& hash, const T& value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 32;
}

/// Returns the hash of one row. The hash depends on the row's number and on all values of the row. Long rows are hashed
/// in several chains, to hide the latency of multiplications.
template <class T>
std::uint64_t hash_of_row(const T* row, std::int64_t columns, std::int64_t number) {
  constexpr std::int64_t chains = 4;
  std::uint64_t hash = mixed(static_cast<std::uint64_t>(number) + 1);
  if (columns < chains) {
    for (std::int64_t dim = 0; dim < columns; ++dim) add(hash, row[dim]);
    return mixed(hash);
  }
  std::array<std::uint64_t, chains> hashes{};
  std::int64_t dim = 0;
  for (; dim + chains <= columns; dim += chains)
    for (std::int64_t chain = 0; chain < chains; ++chain)
      add(hashes[static_cast<std::size_t>(chain)], row[dim + chain]);
  for (; dim < columns; ++dim) add(hashes[0], row[dim]);
  for (const std::uint64_t each : hashes) hash = mixed(hash + each);
  return hash;
}

/// Adds up the hashes of all rows. reader() returns a function that returns the address of a row. Each thread calls
/// reader() for its rows.
template <class Rows, class Reader>
std::uint64_t hash_of(const Rows& rows, std::int64_t first, int threads, const std::stop_token& stop,
                      const Reader& reader) {
  std::uint64_t total = 0;
  const std::int64_t stretch = core::chunk_length(rows.rows(), rows.columns() + 2);
  threads = rows.rows() > stretch ? core::startable_threads(threads) : 1;
  core::FirstFailure failure;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
  for (std::int64_t begin = 0; begin < rows.rows(); begin += stretch) {
    if (stop.stop_requested() || failure.happened()) continue;
    failure.run([&] {
      const auto row_at = reader();
      for (std::int64_t row = begin; row < std::min(begin + stretch, rows.rows()); ++row)
        total += hash_of_row(row_at(row), rows.columns(), first + row);
    });
  }
  failure.rethrow();
  core::honour_stop(stop, "stopped while reading the points");
  return total;
}

}  // namespace

template <class T>
std::uint64_t hash_of_rows(MatrixView<const T> rows, std::int64_t first, int threads, const std::stop_token& stop) {
  return hash_of(rows, first, threads, stop, [&] { return [&](std::int64_t row) { return rows.row(row); }; });
}

std::uint64_t hash_of_rows(const StoredMatrixView& rows, std::int64_t first, int threads, const std::stop_token& stop) {
  return hash_of(rows, first, threads, stop, [&] {
    return [&rows, room = std::make_shared<Buffer<float>>(rows.columns())](std::int64_t row) {
      widen(rows.type(), rows.row(row), rows.columns(), room->data());
      return std::as_const(*room).data();
    };
  });
}

template std::uint64_t hash_of_rows(MatrixView<const float>, std::int64_t, int, const std::stop_token&);
template std::uint64_t hash_of_rows(MatrixView<const double>, std::int64_t, int, const std::stop_token&);

std::string hash_text(std::uint64_t hash) {
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace gradus::cpu
