// A hash of rows in host memory, to detect whether two sets of rows are equal.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "gradus/array.hpp"
#include "gradus/stored_matrix.hpp"

namespace gradus::cpu {

/// Returns the sum, modulo 2^64, of the hashes of all rows. The hash of a row depends on the row's bits and on the
/// row's number. Row numbers begin with `first`, so the hashes of consecutive parts add up to the hash of the whole.
/// The threads share the rows. Throws InterruptedError after a stop request.
template <class T>
std::uint64_t hash_of_rows(MatrixView<const T> rows, std::int64_t first, int threads, const std::stop_token& stop);
/// Returns the hash of the same rows converted to float.
std::uint64_t hash_of_rows(const StoredMatrixView& rows, std::int64_t first, int threads, const std::stop_token& stop);

/// Formats a hash as 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace gradus::cpu
