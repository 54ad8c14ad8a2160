// Shared parts of the tests of calls that deduce their element type. This header provides the same points in every kind
// of matrix, and malformed ranges.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/error.hpp"

namespace gradus::tests {

/// Returns true if Takes<Points>::value is true exactly for the types that are matrices of float or double.
template <template <class> class Takes>
constexpr bool takes_matrices() {
  constexpr bool views = Takes<Matrix<float>>::value && Takes<Matrix<double>>::value &&
                         Takes<MatrixView<float>>::value && Takes<MatrixView<const double>>::value;
  constexpr bool rows = Takes<std::vector<std::array<float, 3>>>::value &&
                        Takes<std::array<std::array<double, 2>, 9>>::value &&
                        Takes<std::span<const std::array<float, 3>>>::value &&
                        Takes<std::span<std::array<double, 3>>>::value && Takes<float[9][2]>::value;
  constexpr bool other_elements = Takes<Matrix<std::int16_t>>::value || Takes<MatrixView<long double>>::value ||
                                  Takes<std::vector<std::array<std::int16_t, 3>>>::value ||
                                  Takes<std::int16_t[9][2]>::value;
  constexpr bool no_columns = Takes<std::vector<float>>::value || Takes<std::span<const double>>::value ||
                              Takes<float[9]>::value || Takes<std::vector<std::array<float, 0>>>::value ||
                              Takes<VectorView<const float>>::value || Takes<Buffer<float>>::value ||
                              Takes<const float*>::value || Takes<int>::value;
  constexpr bool rows_here_and_there = Takes<std::vector<std::vector<float>>>::value;
#ifdef __cpp_lib_mdspan
  constexpr bool spans = Takes<std::mdspan<const float, std::dextents<std::size_t, 2>>>::value &&
                         Takes<std::mdspan<float, std::dextents<int, 2>, std::layout_stride>>::value;
  constexpr bool other_spans = Takes<std::mdspan<float, std::dextents<int, 1>>>::value ||
                               Takes<std::mdspan<float, std::dextents<int, 3>>>::value ||
                               Takes<std::mdspan<std::int16_t, std::dextents<int, 2>>>::value;
  if (!spans || other_spans) return false;
#endif
  return views && rows && !other_elements && !no_columns && !rows_here_and_there;
}

class KindsOfMatrix {
 public:
  static constexpr std::int64_t n = 9;
  static constexpr std::int64_t d = 2;
  using Rows = std::vector<std::array<float, 2>>;

  static Rows rows() {
    Rows rows;
    for (std::int64_t row = 0; row < n; ++row)
      rows.push_back({static_cast<float>(row * 7 % 11), static_cast<float>(row * row % 13)});
    return rows;
  }

  /// Calls check(points) for each kind of matrix, always with the same points.
  template <class Check>
  static void each(const Check& check) {
    Rows rows = KindsOfMatrix::rows();
    const MatrixView<const float> view(rows.front().data(), n, d);
    Matrix<float> matrix = Matrix<float>::copy_of(view);
    Buffer<float> padded(n * 5, -1.0F);
    std::array<std::array<float, 2>, n> fixed{};
    float plain[n][d];
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t column = 0; column < d; ++column) {
        const float value = view(row, column);
        padded[row * 5 + column] = value;
        fixed[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = value;
        plain[row][column] = value;
      }
    const auto as = [&check](const char* what, const auto& points) {
      SCOPED_TRACE(what);
      check(points);
    };
    as("Matrix", matrix);
    as("mutable view", matrix.view());
    as("rows apart", MatrixView<float>(padded.data(), n, d, 5));
    as("vector of arrays", rows);
    as("span of arrays", std::span<const std::array<float, 2>>(rows));
    as("span of mutable arrays", std::span(rows));
    as("array of arrays", fixed);
    as("plain array", plain);
    as("a temporary, which lives until the call returns", KindsOfMatrix::rows());
#ifdef __cpp_lib_mdspan
    as("mdspan", std::mdspan(view.data(), static_cast<std::size_t>(n), static_cast<std::size_t>(d)));
    as("mdspan, rows apart", strided(padded.data(), 5, 1));
#endif
  }

  /// Expects that call(points) throws UsageError for each of several malformed views, without reading their data.
  template <class Call>
  static void each_lie_is_refused(const Call& call) {
    using Row = std::array<float, 2>;
    const auto expect = [&call](const auto& points, const std::string& says) {
      try {
        call(points);
        ADD_FAILURE() << "nothing was thrown; expected: " << says;
      } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what() << "\nexpected: " << says;
      }
    };
    Row row{};
    expect(std::span<const Row>(static_cast<const Row*>(nullptr), 10), "null");
    expect(std::span<const Row>(&row, std::numeric_limits<std::size_t>::max()), "not negative");
    expect(std::span<const Row>(&row, std::size_t{1} << 61), "overflow");
    expect(MatrixView<float>(nullptr, 10, 2), "null");
#ifdef __cpp_lib_mdspan
    using Extents = std::dextents<std::size_t, 2>;
    Buffer<float> padded(n * 5, -1.0F);
    expect(strided(padded.data(), 1, n), "contiguous");
    expect(std::mdspan<float, Extents, std::layout_left>(padded.data(), Extents(n, d)), "contiguous");
    expect(std::mdspan<float, Extents>(nullptr, Extents(n, d)), "null");
#endif
  }

 private:
#ifdef __cpp_lib_mdspan
  static auto strided(float* data, std::size_t row, std::size_t column) {
    using Extents = std::dextents<std::size_t, 2>;
    return std::mdspan(data,
                       std::layout_stride::mapping<Extents>(Extents(n, d), std::array<std::size_t, 2>{row, column}));
  }
#endif
};

}  // namespace gradus::tests
