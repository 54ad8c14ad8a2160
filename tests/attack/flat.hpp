// Rows in one block of memory. Between the rows are gaps that hold NaN and must not be read.
#pragma once

#include <limits>
#include <vector>

#include "gradus/array.hpp"
#include "tests/attack/random.hpp"

namespace gradus::attack {

template <class T>
class Flat {
 public:
  Flat(const Rows<T>& rows, std::int64_t columns, std::int64_t room)
      : rows_(static_cast<std::int64_t>(rows.size())), columns_(columns), stride_(columns + room) {
    for (const std::vector<T>& row : rows) {
      values_.insert(values_.end(), row.begin(), row.end());
      values_.resize(values_.size() + static_cast<std::size_t>(room), std::numeric_limits<T>::quiet_NaN());
    }
  }
  MatrixView<const T> view() const { return {values_.data(), rows_, columns_, stride_}; }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t stride_;
  std::vector<T> values_;
};

}  // namespace gradus::attack
