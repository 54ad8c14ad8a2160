// Rows in which a short sequence repeats, for tests with more rows than memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::tests {

/// A single column of small integers that repeat. It takes address space for all rows, but memory for one period. The
/// period divides no power of two, so that a row number that lost its upper bits yields another value.
class RepeatedRows {
 public:
  static constexpr std::int64_t period = 1024 * 4099;

  explicit RepeatedRows(std::int64_t rows) : rows_(rows), values_(static_cast<std::size_t>(period)) {
    for (std::size_t row = 0; row < values_.size(); ++row)
      values_[row] = static_cast<float>((row * 0x9e3779b97f4a7c15 >> 40) % 997);
    constexpr std::size_t bytes = period * sizeof(float);  // a multiple of the page size
    const int file = memfd_create("repeated rows", 0);
    if (file < 0 || ftruncate(file, bytes) != 0 || pwrite(file, values_.data(), bytes, 0) != bytes)
      throw std::runtime_error("no memory for the repeated rows");
    repeats_ = static_cast<std::size_t>((rows + period - 1) / period);
    memory_ = static_cast<char*>(mmap(nullptr, repeats_ * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t repeat = 0; repeat < repeats_; ++repeat)
      if (memory_ == MAP_FAILED ||
          mmap(memory_ + repeat * bytes, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
        throw std::runtime_error("no address space for the repeated rows");
    close(file);
  }
  RepeatedRows(const RepeatedRows&) = delete;
  RepeatedRows& operator=(const RepeatedRows&) = delete;
  ~RepeatedRows() { munmap(memory_, repeats_ * period * sizeof(float)); }

  MatrixView<const float> view() const { return {reinterpret_cast<const float*>(memory_), rows_, 1}; }
  /// Returns the values of one period.
  const std::vector<float>& values() const { return values_; }
  float at(std::int64_t row) const { return values_[static_cast<std::size_t>(row % period)]; }
  /// Returns how often a value of the period occurs.
  std::int64_t count(std::int64_t row) const { return rows_ / period + (row < rows_ % period ? 1 : 0); }

 private:
  std::int64_t rows_;
  std::vector<float> values_;
  char* memory_ = nullptr;
  std::size_t repeats_ = 0;
};

}  // namespace gradus::tests
