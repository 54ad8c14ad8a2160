// Points made from numbers alone: every value is a function of the specification and of its row and column, so that it
// depends neither on threads nor on the machine nor on the C library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "gradus/array.hpp"

namespace gradus::core {

enum class Generator : std::uint8_t {
  uniform,     ///< each coordinate uniform in [low, high)
  blobs,       ///< bell-shaped groups of standard deviation `spread` around centres that are uniform in [low, high)
  lab_points,  ///< those of published experiments of points: point i starts lab_random() from state i
  lab_atoms    ///< those of published experiments of atoms: LabSequence(1) for all coordinates, in [0, 23000]
};
std::string_view to_string(Generator kind);

/// No coordinate of a blob is so many times `spread` from its centre.
inline constexpr double farthest_of_blob = 4.9;

struct PointSpecification {
  Generator kind = Generator::uniform;
  std::uint64_t seed = 0;  ///< lab_points and lab_atoms ignore it and all that follows
  double low = 0;
  double high = 10;
  std::int64_t clusters = 10;  ///< of blobs
  double spread = 0.5;         ///< of blobs
};

/// Writes the rows from `first_row` of the endless table that `specification` describes; `threads` of them share the
/// work, except for lab_atoms: there each number follows from those before it, also those of the rows before
/// `first_row`. The table's number of columns is that of `points`. InterruptedError after a stop request.
template <class T>
void generate_points(const PointSpecification& specification, std::int64_t first_row, MatrixView<T> points, int threads,
                     const std::stop_token& stop = {});

/// The next number of the generator that glibc calls rand_r, in [0, 2^31). On other systems rand_r differs, and the
/// published experiments are defined by this one.
std::int32_t lab_random(std::uint32_t& state);

/// The numbers, in [0, 2^31), of the generator that glibc calls rand: after srand(seed), additive feedback of
/// degree 31.
class LabSequence {
 public:
  explicit LabSequence(std::uint32_t seed);
  std::int32_t next();

 private:
  static constexpr std::size_t degree = 31;
  static constexpr std::size_t separation = 3;
  std::array<std::uint32_t, degree> state_{};
  std::size_t oldest_ = 0;
};

}  // namespace gradus::core
