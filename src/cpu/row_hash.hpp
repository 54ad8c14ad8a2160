// A hash of rows in host memory, by which it is found out whether two lots of rows are the same.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "gradus/array.hpp"

namespace gradus::cpu {

/// The sum of hashes of the rows' bits and numbers, modulo 2^64; the first row has the number `first`. It does not
/// depend on how rows are split, and is zero for none. Rows are shared among threads; InterruptedError after a stop
/// request.
template <class T>
std::uint64_t hash_of_rows(MatrixView<const T> rows, std::int64_t first, int threads, const std::stop_token& stop);

/// In 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace gradus::cpu
