// How cuda_panels cuts a product: for the table, and for the variant. Plain C++: also in builds without CUDA.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cuda/sizes.hpp"
#include "matmul/gpu/plan.hpp"

namespace gradus::matmul_detail {

/// Rows and columns of a panel are multiples of this, but for the last ones.
inline constexpr std::int64_t panel_granule = 128;

/// A step is a block of C: a panel of rows of A times a panel of columns of B, or some whole products of a batch.
struct PanelPlan {
  std::int64_t rows = 0;  ///< of A's panels; 0: nothing fits
  std::int64_t columns = 0;
  std::int64_t products = 1;  ///< of a batch at a time; more than 1 only where they are whole
  std::int64_t a_places = 1;  ///< for panels on the GPU
  std::int64_t b_places = 1;
  bool rows_outside = true;  ///< all columns for a panel of rows, then the next panel of rows; otherwise likewise turned
  std::uint64_t bytes = 0;   ///< that it takes
  std::uint64_t working_bytes = 0;  ///< of these, for a step beyond its panels
  double seconds = std::numeric_limits<double>::infinity();  ///< estimated
};

inline std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }

/// What a plan has to reckon with beside the shape.
struct PanelNeeds {
  bool a_is_turned = true;  ///< a panel of A comes with its columns side by side: it needs another place
  bool b_is_turned = true;
  std::uint64_t (*working)(const Shape& step);  ///< GPU memory that a step takes beyond its panels
};

/// Of any step of the plan.
inline std::uint64_t working_bytes(const Shape& shape, const PanelPlan& plan, const PanelNeeds& needs) {
  std::uint64_t most = 0;
  const auto last = [](std::int64_t whole, std::int64_t piece) { return whole - (pieces(whole, piece) - 1) * piece; };
  for (const std::int64_t rows : {plan.rows, last(shape.m, plan.rows)})
    for (const std::int64_t columns : {plan.columns, last(shape.n, plan.columns)})
      for (const std::int64_t products : {plan.products, last(shape.batches, plan.products)})
        most = std::max(most, needs.working({.batches = products,
                                             .m = rows,
                                             .n = columns,
                                             .k = shape.k,
                                             .element_bytes = shape.element_bytes}));
  return most;
}

/// Fills in the rest of a plan whose rows, columns and products are given: which panels stay, and in which order steps
/// follow.
inline PanelPlan panel_plan(const Shape& shape, PanelPlan plan, const PanelNeeds& needs, std::uint64_t most_bytes) {
  const auto element = static_cast<std::size_t>(shape.element_bytes);
  const std::int64_t row_panels = pieces(shape.m, plan.rows);
  const std::int64_t column_panels = pieces(shape.n, plan.columns);
  const std::int64_t groups = pieces(shape.batches, plan.products);
  const bool one_step = row_panels * column_panels * groups == 1;
  const std::uint64_t a = cuda::part_bytes(plan.products * plan.rows * shape.k, element);
  const std::uint64_t b = cuda::part_bytes(plan.products * plan.columns * shape.k, element);
  const std::uint64_t c = cuda::part_bytes(plan.products * plan.rows * plan.columns, element);
  plan.working_bytes = working_bytes(shape, plan, needs);
  const std::uint64_t fixed =
      (one_step ? 1 : 2) * c + (needs.a_is_turned ? a : 0) + (needs.b_is_turned ? b : 0) + plan.working_bytes;
  // Bytes and operations per second of an H200; how many a host moves differs much.
  constexpr double bytes_per_second = 25e9;
  const double operations_per_second = element == sizeof(float) ? 23e12 : 28e12;
  constexpr double seconds_of_a_step = 1e-4;
  const auto panels = static_cast<double>(groups);
  const double whole_a = panels * static_cast<double>(row_panels) * static_cast<double>(a);
  const double whole_b = panels * static_cast<double>(column_panels) * static_cast<double>(b);
  const double whole_c = panels * static_cast<double>(row_panels * column_panels) * static_cast<double>(c);
  PanelPlan best;
  const std::int64_t least_a = std::min<std::int64_t>(2, groups * row_panels);
  const std::int64_t least_b = std::min<std::int64_t>(2, groups * column_panels);
  for (const std::int64_t a_places : {std::max(least_a, row_panels), least_a})
    for (const std::int64_t b_places : {std::max(least_b, column_panels), least_b})
      for (const bool rows_outside : {true, false}) {
        PanelPlan one = plan;
        one.a_places = a_places;
        one.b_places = b_places;
        one.rows_outside = rows_outside;
        one.bytes = fixed + static_cast<std::uint64_t>(a_places) * a + static_cast<std::uint64_t>(b_places) * b;
        if (one.bytes > most_bytes) continue;
        double moved = whole_a + whole_b;
        if (rows_outside && b_places < column_panels) moved += static_cast<double>(row_panels - 1) * whole_b;
        if (!rows_outside && a_places < row_panels) moved += static_cast<double>(column_panels - 1) * whole_a;
        one.seconds =
            std::max((moved + whole_c) / bytes_per_second, shape.operations() / operations_per_second) +
            static_cast<double>(a + b + c) / bytes_per_second +
            seconds_of_a_step * panels * static_cast<double>(row_panels * column_panels);
        if (one.seconds < best.seconds) best = one;
      }
  return best;
}

/// The plan that takes the least time of those that fit.
inline PanelPlan plan_panels(const Shape& shape, const PanelNeeds& needs, std::uint64_t most_bytes) {
  PanelPlan best;
  const auto consider = [&](const PanelPlan& plan) {
    const PanelPlan one = panel_plan(shape, plan, needs, most_bytes);
    if (one.seconds < best.seconds) best = one;
  };
  const auto smaller = [](std::int64_t size) {
    return size > panel_granule ? pieces(pieces(size, 2), panel_granule) * panel_granule : 0;
  };
  for (std::int64_t rows = shape.m; rows > 0; rows = smaller(rows))
    for (std::int64_t columns = shape.n; columns > 0; columns = smaller(columns))
      consider({.rows = rows, .columns = columns});
  for (std::int64_t products = shape.batches; products > 1; products = pieces(products, 2))
    consider({.rows = shape.m, .columns = shape.n, .products = products});
  return best;
}

/// The plan that takes the least memory.
inline PanelPlan least_panels(const Shape& shape, const PanelNeeds& needs) {
  return panel_plan(shape, {.rows = std::min(shape.m, panel_granule), .columns = std::min(shape.n, panel_granule)},
                    needs, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace gradus::matmul_detail
