// What the variants of every problem have in common, and how one is found by its name. Each problem keeps ONE explicit
// array of its variants (src/<problem>/variants.cpp); nothing registers itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/names.hpp"
#include "gradus/error.hpp"

namespace gradus::core {

enum class Backend : std::uint8_t { sequential, openmp, tbb, simd, cuda };
std::string_view to_string(Backend backend);

/// Yes, or the reason why not.
struct Support {
  bool supported = true;
  std::string reason;

  static Support yes() { return {}; }
  static Support no(std::string reason) { return {false, std::move(reason)}; }
  explicit operator bool() const { return supported; }
};

/// How a variant's results relate to the oracle's.
enum class Contract : std::uint8_t {
  same_bits,  ///< labels, centroids, counts, distances, cells: identical to the oracle
  tolerance   ///< the textbook's arithmetic; the row states the tolerance
};

/// The columns of a table row that do not depend on the problem; a problem's own Variant derives from it.
struct VariantInfo {
  std::string_view name;     ///< of the file, the function, the row and the --variant value
  std::string_view summary;  ///< one line: the idea
  Backend backend;
  Contract contract;
  double tolerance;  ///< relative, where the contract is `tolerance`; otherwise 0
};

/// The row called `name` (a hyphen stands for an underscore), or UsageError that suggests the nearest name.
template <class Variant>
const Variant& find_variant(std::span<const Variant> variants, std::string_view name, std::string_view problem) {
  const std::string wanted = with_underscores(name);
  std::vector<std::string_view> names;
  for (const Variant& variant : variants) {
    if (variant.name == wanted) return variant;
    names.push_back(variant.name);
  }
  throw UsageError("there is no " + std::string(problem) + " variant '" + std::string(name) + "'" +
                   did_you_mean(wanted, names) + "; 'gradus list " + std::string(problem) + "' shows all of them");
}

}  // namespace gradus::core
