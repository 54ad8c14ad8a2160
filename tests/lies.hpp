// Malformed views, invalid enumerator values, and sizes that overflow. Every public call must refuse them before it
// reads any data, because reading could crash.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/error.hpp"
#include "gradus/execution.hpp"

namespace gradus::tests {

inline constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

inline void expect_usage(const std::function<void()>& call, const std::string& says) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << says;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what() << "\nexpected: " << says;
  } catch (const Error& error) {
    ADD_FAILURE() << "not a UsageError: " << error.what();
  }
}

template <class Enum>
Enum no_such(int number) {
  std::underlying_type_t<Enum> value{};
  value = static_cast<std::underlying_type_t<Enum>>(number);
  Enum result{};
  std::memcpy(&result, &value, sizeof result);
  return result;
}

inline MemoryPlace nowhere() {
  MemoryPlace place;
  place.kind = no_such<MemoryPlace::Kind>(7);
  return place;
}

inline std::uintptr_t address_of(const void* data) { return std::bit_cast<std::uintptr_t>(data); }

/// Returns an invalid pointer. It must never be dereferenced.
template <class T>
T* pointer_at(std::uintptr_t address) {
  return std::bit_cast<T*>(address);
}

template <class T>
struct Lie {
  MatrixView<T> view;
  std::string says;
};

/// Returns malformed views of 10 x 2 points. `data` has 20 elements.
template <class T>
std::vector<Lie<T>> lies(T* data) {
  const auto odd = pointer_at<T>(address_of(data) + 1);
  const auto last = pointer_at<T>(~std::uintptr_t{0} - sizeof(T) + 1);
  return {{{nullptr, 10, 2}, "null"},
          {{data, 10, 2, 1}, "cannot start 1 elements apart"},
          {{data, 10, 2, 0}, "cannot start 0 elements apart"},
          {{data, 10, 2, -2}, "cannot start -2 elements apart"},
          {{data, -10, 2}, "not negative"},
          {{data, 10, -2, 2}, "not negative"},
          {{data, most, 2}, "overflow"},
          {{data, 10, 2, most / 10}, "overflow"},
          {{data, 10, most / 2}, "overflow"},
          {{odd, 10, 2}, "alignment"},
          {{last, 10, 2}, "past the end"},
          {{data, 10, 2, nowhere()}, "kind of memory"}};
}

template <class T>
struct VectorLie {
  VectorView<T> view;
  std::string says;
};

template <class T>
std::vector<VectorLie<T>> vector_lies(T* data) {
  return {{{nullptr, 10}, "null"},
          {{data, -10}, "not negative"},
          {{data, most}, "overflow"},
          {{pointer_at<T>(address_of(data) + 1), 10}, "alignment"},
          {{data, 10, nowhere()}, "kind of memory"}};
}

/// Returns requests that no machine can fulfil.
inline std::vector<Execution> impossible_executions() {
  std::vector<Execution> all(5);
  all[0].device = no_such<Device>(3);
  all[1].pinning = no_such<Pinning>(200);
  all[2].threads = -1;
  all[3].threads = 4097;
  all[4].block_size = -5;
  return all;
}

/// Ten points in the plane, and further arguments for calls.
template <class T>
class Views : public testing::Test {
 protected:
  Views() {
    for (int row = 0; row < 10; ++row)
      for (int column = 0; column < 2; ++column)
        elements_[2 * row + column] = static_cast<T>((row * 7 + column * 3) % 11);
  }
  MatrixView<const T> points() const { return {elements_, 10, 2}; }
  MatrixView<const T> centroids() const { return {elements_, 3, 2}; }

  alignas(16) T elements_[20];
  alignas(16) T others_[40];
  alignas(16) std::int32_t labels_[10];
};
using ViewTypes = testing::Types<float, double>;

}  // namespace gradus::tests
