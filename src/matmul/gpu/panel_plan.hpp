// Chooses the panels of cuda_panels, both for memory estimates and for the variant itself. This file is plain C++.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "cuda/sizes.hpp"
#include "matmul/gpu/plan.hpp"

namespace gradus::matmul_detail {

/// The number of rows or columns of a panel is a multiple of this number, except in the last panel.
inline constexpr std::int64_t panel_granule = 128;

/// The division of a product into steps. A step multiplies a panel of rows of A by a panel of columns of B, or computes
/// whole products of a batch.
struct PanelPlan {
  std::int64_t rows = 0;  ///< rows in a panel of A; 0 if nothing fits
  std::int64_t columns = 0;
  std::int64_t products = 1;  ///< products of the batch per step; more than 1 only if a step computes whole products
  std::int64_t a_places = 1;  ///< panels of A that the GPU holds at a time
  std::int64_t b_places = 1;
  /// If true, the steps visit all columns for one panel of rows before they proceed to the next panel of rows. If
  /// false, they visit all rows for one panel of columns first.
  bool rows_outside = true;
  std::uint64_t bytes = 0;
  std::uint64_t working_bytes = 0;  ///< the part of `bytes` that a step needs in addition to its panels
  double seconds = std::numeric_limits<double>::infinity();
};

/// Requirements of a plan in addition to the shape.
struct PanelNeeds {
  bool a_is_turned = true;  ///< true if panels of A arrive column by column; transposing them needs a second buffer
  bool b_is_turned = true;
  std::function<std::uint64_t(const Shape& step)> working;  ///< GPU memory that a step needs in addition to its panels
};

/// Returns the largest working memory of any step of the plan.
inline std::uint64_t working_bytes(const Shape& shape, const PanelPlan& plan, const PanelNeeds& needs) {
  std::uint64_t most = 0;
  const auto last = [](std::int64_t whole, std::int64_t piece) { return whole - (pieces(whole, piece) - 1) * piece; };
  for (const std::int64_t rows : {plan.rows, last(shape.m, plan.rows)})
    for (const std::int64_t columns : {plan.columns, last(shape.n, plan.columns)})
      for (const std::int64_t products : {plan.products, last(shape.batches, plan.products)})
        most = std::max(
            most,
            needs.working(
                {.batches = products, .m = rows, .n = columns, .k = shape.k, .element_bytes = shape.element_bytes}));
  return most;
}

/// The bytes that one step needs for its panel of A, its panel of B and its block of C.
struct PanelBytes {
  std::uint64_t a, b, c;

  PanelBytes(const Shape& shape, const PanelPlan& plan) {
    const auto element = static_cast<std::size_t>(shape.element_bytes);
    a = cuda::part_bytes(plan.products * plan.rows * shape.k, element);
    b = cuda::part_bytes(plan.products * plan.columns * shape.k, element);
    c = cuda::part_bytes(plan.products * plan.rows * plan.columns, element);
  }
};

/// Completes the plan: sets the numbers of panels that the GPU holds, and computes the memory that the plan then needs.
inline PanelPlan with_places(const Shape& shape, PanelPlan plan, const PanelNeeds& needs, std::int64_t a_places,
                             std::int64_t b_places) {
  const PanelBytes bytes(shape, plan);
  const bool one_step =
      pieces(shape.m, plan.rows) * pieces(shape.n, plan.columns) * pieces(shape.batches, plan.products) == 1;
  plan.a_places = a_places;
  plan.b_places = b_places;
  plan.working_bytes = working_bytes(shape, plan, needs);
  plan.bytes = static_cast<std::uint64_t>(a_places + (needs.a_is_turned ? 1 : 0)) * bytes.a +
               static_cast<std::uint64_t>(b_places + (needs.b_is_turned ? 1 : 0)) * bytes.b +
               (one_step ? 1 : 2) * bytes.c + plan.working_bytes;
  return plan;
}

/// Returns the least number of panels of A that the GPU must hold. With this number, each step can be prepared during
/// the previous step.
inline std::int64_t least_a_places(const Shape& shape, const PanelPlan& plan) {
  return std::min<std::int64_t>(2, pieces(shape.batches, plan.products) * pieces(shape.m, plan.rows));
}
inline std::int64_t least_b_places(const Shape& shape, const PanelPlan& plan) {
  return std::min<std::int64_t>(2, pieces(shape.batches, plan.products) * pieces(shape.n, plan.columns));
}

/// Completes a plan whose rows, columns and products are given. Chooses the order of steps and the numbers of panels on
/// the GPU that give the least estimated time. Returns a plan with 0 rows if nothing fits.
inline PanelPlan panel_plan(const Shape& shape, const PanelPlan& plan, const PanelNeeds& needs,
                            std::uint64_t most_bytes) {
  // Rates of an H200, in bytes and operations per second. The transfer rate varies much between hosts.
  constexpr double bytes_per_second = 22e9;
  const double operations_per_second = shape.element_bytes == sizeof(float) ? 23e12 : 27e12;
  constexpr double seconds_of_a_step = 1e-4;
  const auto row_panels = pieces(shape.m, plan.rows);
  const auto column_panels = pieces(shape.n, plan.columns);
  const auto groups = static_cast<double>(pieces(shape.batches, plan.products));
  const PanelBytes bytes(shape, plan);
  const double whole_a = groups * static_cast<double>(row_panels) * static_cast<double>(bytes.a);
  const double whole_b = groups * static_cast<double>(column_panels) * static_cast<double>(bytes.b);
  const double steps = groups * static_cast<double>(row_panels * column_panels);
  const std::int64_t least_a = least_a_places(shape, plan);
  const std::int64_t least_b = least_b_places(shape, plan);
  PanelPlan best;
  for (const std::int64_t a_places : {std::max(least_a, row_panels), least_a})
    for (const std::int64_t b_places : {std::max(least_b, column_panels), least_b}) {
      PanelPlan one = with_places(shape, plan, needs, a_places, b_places);
      if (one.bytes > most_bytes) continue;
      for (const bool rows_outside : {true, false}) {
        one.rows_outside = rows_outside;
        double moved = whole_a + whole_b + steps * static_cast<double>(bytes.c);
        if (rows_outside && b_places < column_panels) moved += static_cast<double>(row_panels - 1) * whole_b;
        if (!rows_outside && a_places < row_panels) moved += static_cast<double>(column_panels - 1) * whole_a;
        // The transfers of the first panels and of the last block do not overlap with any computation.
        one.seconds = std::max(moved / bytes_per_second, shape.operations() / operations_per_second) +
                      static_cast<double>(bytes.a + bytes.b + bytes.c) / bytes_per_second + seconds_of_a_step * steps;
        if (one.seconds < best.seconds) best = one;
      }
    }
  return best;
}

/// Returns the fastest plan that fits in `most_bytes`.
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

/// Returns the memory of the plan with the smallest panels. All sizes must be positive.
inline std::uint64_t least_panel_bytes(const Shape& shape, const PanelNeeds& needs) {
  const PanelPlan smallest{.rows = std::min(shape.m, panel_granule), .columns = std::min(shape.n, panel_granule)};
  return with_places(shape, smallest, needs, least_a_places(shape, smallest), least_b_places(shape, smallest)).bytes;
}

}  // namespace gradus::matmul_detail
