// The integer filter of simd_large_dim and simd_bounds, with 16 bits and with 8 bits. simd_large_dim.cpp explains the
// filter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/stop.hpp"
#include "kmeans/assign/byte_tiles.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::string_view while_preparing = "stopped while preparing the centroids";

// Number of points that are searched together.
inline constexpr std::int64_t sub_block = 32;
inline constexpr double norm_limit = 23170.0;             // sqrt(2^29): the product of two norms stays below 2^29
inline constexpr std::int32_t unused_score = 0x7f000000;  // score of the padding in the last panel

/// Tests set it to false, so that new filters do not use dot-product instructions.
inline bool dot_instructions_allowed = true;
/// Returns true if the machine has dot-product instructions and they are allowed.
bool machine_has_dot_instructions();

constexpr std::int64_t padded_dimensions(std::int64_t count) { return (count + 15) / 16 * 16; }
constexpr std::int64_t padded_clusters(std::int64_t count) { return (count + 63) / 64 * 64; }
/// With at most this number of clusters, the 8-bit level saves less time than it takes to compute the distances of its
/// candidates.
inline constexpr std::int64_t too_few_for_bytes = 64;

/// The centroids of a pass, in the form that the kernels read. Plain data, because the reading code is compiled for
/// other instruction sets.
template <class T>
struct FilterView {
  std::int64_t dimensions;
  std::int64_t clusters;
  const T* centroids;
  const T* middle;             ///< origin of the filter's coordinates, scaled
  const double* half_squares;  ///< half the squared norm of each centroid relative to the middle, scaled
  const std::int16_t* panels;  ///< quantized centroids, two vectors of clusters per panel
  double scale;                ///< a power of two that scales the extent of the data to about 1
  double steps;                ///< number of quantization steps in a scaled length of 1
  double largest_norm;         ///< greatest norm of a quantized centroid, in steps
  double largest_error;        ///< greatest norm of a centroid's quantization error, in steps
  double largest_half_square;

  bool dot_instructions;            ///< true if the machine has dot-product instructions
  const std::uint8_t* byte_panels;  ///< 8-bit centroids, each value plus 128; null if there is no 8-bit level
  double byte_steps;                ///< number of 8-bit quantization steps in a scaled length of 1
  double byte_largest_norm;         ///< like largest_norm, but for the 8-bit level
  double byte_largest_error;
  bool tiles;  ///< true if the 8-bit level uses AMX tiles
};

/// Scratch memory of a search with AMX tiles. It is empty on other machines.
struct TileScratch {
  static constexpr std::int64_t points = tile_groups * tile_group;

  TileScratch(std::int64_t clusters, std::int64_t dimensions);

  /// Returns the capacity of a point's list of candidates. It is not a power of two, to avoid cache conflicts.
  static constexpr std::int64_t capacity(std::int64_t clusters) { return padded_clusters(clusters) / 8 + 144; }

  Buffer<std::int8_t> rows;       ///< the quantized points, padded_bytes() per point
  Buffer<std::int32_t> offsets;   ///< for each group and cluster: half the squared norm, in score steps
  Buffer<std::int32_t> scores;    ///< of the candidates
  Buffer<std::int32_t> clusters;  ///< the candidates
};

/// The candidates of a sub-block after the 8-bit level. The level searches a block of clusters at a time. Strides are
/// not powers of two, to avoid cache conflicts.
struct ByteCandidates {
  static constexpr std::int64_t largest_block = 1024;

  explicit ByteCandidates(std::int64_t clusters);

  static constexpr std::int64_t block(std::int64_t clusters) {
    return std::min(padded_clusters(clusters), largest_block);
  }
  static constexpr std::int64_t least_stride(std::int64_t clusters) { return block(clusters) / 2 + 16; }
  /// Returns the capacity of a point's list, which always has room for the candidates of a block.
  static constexpr std::int64_t capacity(std::int64_t clusters) {
    constexpr std::int64_t most = 16384;  // with more candidates, 16 bits are faster
    return block(clusters) + std::min(padded_clusters(clusters) / 8, most) + 16;
  }
  static std::uint64_t bytes(std::int64_t clusters);

  Buffer<std::int32_t> scores;
  Buffer<std::int32_t> clusters;
  Buffer<std::int32_t> least;  ///< for each point and byte panel of a block: the least score of each lane
  Buffer<std::int32_t> hits;   ///< lanes of byte panels that contain a candidate
};

/// The scratch memory of a thread.
struct FilterScratch {
  FilterScratch(std::int64_t clusters, std::int64_t dimensions);

  Buffer<float> tile;            ///< points of a sub-block relative to the middle, scaled
  Buffer<std::int16_t> points;   ///< the points of the tile, quantized
  Buffer<std::int32_t> scores;   ///< points x clusters
  Buffer<std::int32_t> offsets;  ///< for each cluster: half the squared norm, in score steps
  std::vector<std::int32_t> candidates;
  std::vector<double> distances;  ///< distances of the candidates
  int word_searches = 0;          ///< number of sub-blocks to search with 16 bits before 8 bits are tried again
  ByteCandidates byte_candidates;
  TileScratch tiles;

  static std::uint64_t bytes(const Shape& shape);
};

/// The arrays to which a search writes bounds of the scaled distances. If the pointers are null, the search writes no
/// bounds.
struct DistanceBounds {
  float* upper = nullptr;  ///< per point: upper bound of the distance to its label's centroid
  float* lower = nullptr;  ///< per point and group: lower bound of the distance to all centroids but the label's
  std::int64_t groups = 0;
  std::int64_t group_clusters = 0;  ///< number of clusters per group, a multiple of the panel size
};

template <class T>
class IntegerFilter {
 public:
  IntegerFilter(const Problem<T>& problem, int threads);

  /// Quantizes the centroids and packs them into panels. Throws InterruptedError after a stop request.
  void prepare(MatrixView<const T> centroids);

  /// Sets the centroids for a pass that calls only nearest_of(). Such a pass need not call prepare().
  void prepare_candidates(MatrixView<const T> centroids) { centroids_ = centroids; }

  FilterView<T> view() const;

  /// Finds the canonical labels of at most `sub_block` rows, given by their addresses. Returns the number of rows that
  /// were rechecked.
  std::int64_t search(const T* const* rows, std::int64_t count, std::int32_t* labels, const DistanceBounds& bounds,
                      FilterScratch& scratch) const;

  /// Finds the canonical labels of `count` points whose rows are `stride` elements apart. Returns the number of points
  /// that were rechecked. The arrays in `bounds` must start at the first of these points. `before` holds labels of an
  /// earlier pass, or -1. They make the search faster and do not affect the result.
  std::int64_t search_block(const T* rows, std::int64_t stride, std::int64_t count, const std::int32_t* before,
                            std::int32_t* labels, const DistanceBounds& bounds, FilterScratch& scratch) const;

  /// Returns the canonically nearest of the first `count` clusters in scratch.candidates. Sets `doubtful` if the
  /// canonical chain had to decide.
  std::int32_t nearest_of(const T* row, std::int64_t count, FilterScratch& scratch, bool& doubtful) const;

  bool has_bytes() const { return has_bytes_; }
  bool has_tiles() const { return has_tiles_; }

  static std::uint64_t bytes(const Shape& shape);

 private:
  const Problem<T>& problem_;
  int threads_;
  MatrixView<const T> centroids_;
  double scale_ = 1;
  double steps_ = 1;
  double largest_norm_ = 0;
  double largest_error_ = 0;
  double largest_half_square_ = 0;
  std::vector<T> middle_;
  std::vector<double> half_squares_;
  Buffer<std::int16_t> panels_;
  bool dot_instructions_ = false;
  bool has_bytes_ = false;
  bool has_tiles_ = false;
  double byte_steps_ = 1;
  double byte_largest_norm_ = 0;
  double byte_largest_error_ = 0;
  Buffer<std::uint8_t> byte_panels_;
};

}  // namespace gradus::kmeans_detail
