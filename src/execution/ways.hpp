// The ways in which a verification runs a variant: numbers of threads and block sizes.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/ladder.hpp"
#include "cpu/threads.hpp"
#include "execution/whole_call.hpp"
#include "gradus/execution.hpp"

namespace gradus::execution {

struct Way {
  Execution execution;
  std::string text;
};

template <class T>
constexpr std::string_view element_name() {
  if constexpr (std::is_same_v<T, float>) return "f32";
  else if constexpr (std::is_same_v<T, double>) return "f64";
  else if constexpr (std::is_same_v<T, std::int32_t>) return "i32";
  else if constexpr (std::is_same_v<T, std::int64_t>) return "i64";
  else static_assert(std::is_void_v<T>, "an element type without a name");
  return "";
}

/// Returns one way per number of threads or, for a GPU variant, one way per block size.
std::vector<Way> ways_to_run(const core::VariantInfo& variant, const std::vector<int>& threads);

/// Runs the variant on a prepared case of its room, with the same settings as a public call. Returns "" if the result
/// satisfies the variant's contract. Otherwise returns a description of the error or exception.
template <class PreparedCase, class Variant>
std::string fault_of(const PreparedCase& prepared, const Variant& variant, const Execution& execution) {
  try {
    return whole_call([&] {
      cpu::start_team(cpu::thread_count(execution));
      return prepared.check(variant, execution);
    });
  } catch (const std::exception& error) {
    return std::string("it failed: ") + error.what();
  }
}

}  // namespace gradus::execution
