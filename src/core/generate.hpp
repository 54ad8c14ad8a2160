// Generators of points. A coordinate depends only on the specification, the row and the column. It does not depend on
// the number of threads, the machine or the C library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "gradus/array.hpp"

namespace gradus::core {

enum class Generator : std::uint8_t {
  uniform,  ///< each coordinate is uniform in [low, high)
  blobs,    ///< bell-shaped clusters of standard deviation `spread` around centres that are uniform in [low, high)
  /// points of published experiments: the coordinates of point i are the numbers of lab_random(), starting from state i
  lab_points,
  lab_atoms  ///< atoms of published experiments: the coordinates are the numbers of LabSequence(1), in [0, 23000]
};
std::string_view to_string(Generator kind);

/// The maximum distance of a blob's coordinate from its centre, in units of `spread`.
inline constexpr double farthest_of_blob = 4.9;

struct PointSpecification {
  Generator kind = Generator::uniform;
  std::uint64_t seed = 0;  ///< lab_points and lab_atoms ignore this member and all members below
  double low = 0;
  double high = 10;
  std::int64_t clusters = 10;  ///< used by blobs
  double spread = 0.5;         ///< used by blobs
};

/// Fills `points` with consecutive rows, from `first_row` on, of the infinite table that `specification` describes.
/// `threads` threads share the work, except for lab_atoms, whose numbers form a single sequence that begins at row 0.
/// Throws InterruptedError after a stop request.
template <class T>
void generate_points(const PointSpecification& specification, std::int64_t first_row, MatrixView<T> points, int threads,
                     const std::stop_token& stop = {});

/// Returns the next number, in [0, 2^31), of glibc's rand_r. The published experiments used glibc. Other systems have a
/// different rand_r.
std::int32_t lab_random(std::uint32_t& state);

/// The sequence of glibc's rand after srand(seed), in [0, 2^31): an additive feedback generator of degree 31.
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
