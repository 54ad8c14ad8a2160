// Shared parts of the rooms' tests: error messages, bitwise comparisons, rows of tables as parameters, and skipping
// tests without a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "core/ladder.hpp"
#include "execution/devices.hpp"
#include "gradus/array.hpp"

namespace gradus::tests {

/// Calls `action`, which must throw an exception of type E, and returns the message of the exception. If `action`
/// throws nothing or another exception, the test fails.
template <class E>
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    EXPECT_EQ(typeid(error), typeid(E)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <class T>
bool same_bits(const T* a, const T* b, std::int64_t count) {
  return count == 0 || std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}

template <class T>
bool same_bits(const Matrix<T>& a, const Matrix<T>& b) {
  return a.rows() == b.rows() && a.columns() == b.columns() && same_bits(a.data(), b.data(), a.rows() * a.columns());
}

// Table rows as test parameters

/// Returns the rows for which `wanted` returns true.
template <class Variant, class Wanted>
std::vector<const Variant*> rows_that(core::Rows<Variant> variants, const Wanted& wanted) {
  std::vector<const Variant*> rows;
  for (const Variant& variant : variants)
    if (wanted(variant)) rows.push_back(&variant);
  return rows;
}

inline bool runs_on_gpu(const core::VariantInfo& variant) { return variant.backend == core::Backend::cuda; }
inline bool runs_on_cpu(const core::VariantInfo& variant) { return !runs_on_gpu(variant); }
inline bool runs_on_threads(const core::VariantInfo& variant) {
  return runs_on_cpu(variant) && variant.backend != core::Backend::sequential;
}
inline bool any(const core::VariantInfo&) { return true; }

template <class Variant, class Wanted>
std::vector<std::string> names_of(core::Rows<Variant> variants, const Wanted& wanted) {
  std::vector<std::string> names;
  for (const Variant* variant : rows_that(variants, wanted)) names.emplace_back(variant->name);
  return names;
}

struct RowName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return std::string(info.param->name);
  }
};

// Without a GPU

/// Returns true if GRADUS_REQUIRE_GPU=1. The variable states that the machine has a GPU. Tests that need a GPU must
/// then not be skipped.
inline bool gpu_is_required() {
  const char* const value = std::getenv("GRADUS_REQUIRE_GPU");
  return value != nullptr && std::string_view(value) == "1";
}

/// Skips the test, or fails it if a GPU is required. If this function is called in SetUp(), the body of the test is
/// skipped. If it is called in the body, the body must return afterwards.
inline void skip_for_want_of_gpu(const std::string& reason) {
  if (gpu_is_required()) GTEST_FAIL() << "GRADUS_REQUIRE_GPU is set, but " << reason;
  GTEST_SKIP() << reason;
}

/// A test of a row. It is skipped if the row needs a GPU and the machine has none.
template <class Variant>
class WithRow : public testing::TestWithParam<const Variant*> {
 protected:
  void SetUp() override {
    if (!runs_on_gpu(row())) return;
    if (const std::string reason = execution::why_no_gpu(execution::this_machine()); !reason.empty())
      skip_for_want_of_gpu(reason);
  }
  static const Variant& row() { return *testing::TestWithParam<const Variant*>::GetParam(); }
};

}  // namespace gradus::tests
