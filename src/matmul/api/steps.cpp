#include "matmul/api/steps.hpp"

#include <string>

#include "matmul/options.hpp"

namespace gradus::matmul_detail {

void check(const MatmulOptions& options, int element_bytes) {
  core::check_options(options);
  if (element_bytes == sizeof(double) &&
      (options.accuracy == MatmulAccuracy::split || options.accuracy == MatmulAccuracy::fast))
    throw UnsupportedError("accuracy '" + std::string(to_string(options.accuracy)) +
                           "' is for float; products of double are 'strict'");
}

MatmulAccuracy wanted_accuracy(const MatmulOptions& options, const Execution& execution) {
  if (execution.variant.empty())
    return options.accuracy == MatmulAccuracy::automatic ? MatmulAccuracy::strict : options.accuracy;
  const Variant& variant = core::find_variant(variants(), execution.variant, Room::name);
  const bool textbook =
      variant.facts.accuracy == MatmulAccuracy::strict && !(variant.contract == core::Contract::same_bits);
  if (options.accuracy != MatmulAccuracy::automatic && (options.accuracy != variant.facts.accuracy || textbook))
    throw UsageError("accuracy '" + std::string(to_string(options.accuracy)) + "': variant '" +
                     std::string(variant.name) + "' " +
                     (textbook ? "rounds products and sums one by one, which is none of the three"
                               : "has the accuracy '" + std::string(to_string(variant.facts.accuracy)) + "'") +
                     "; leave out the one or the other");
  return variant.facts.accuracy;
}

}  // namespace gradus::matmul_detail
