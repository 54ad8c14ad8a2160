// Checks views that have strides in both directions.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "execution/request.hpp"
#include "gradus/matmul.hpp"

namespace gradus::matmul_detail {

/// The offsets of a view's first and last element in memory, counted in elements from the view's address. The view must
/// not be empty.
struct Extent {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Returns the extent of a view. Throws UsageError if the offsets overflow.
template <class T>
Extent extent_of(MatmulView<T> view, const char* what) {
  Extent extent;
  const std::pair<std::int64_t, std::int64_t> directions[] = {
      {view.batches(), view.batch_stride()}, {view.rows(), view.row_stride()}, {view.columns(), view.column_stride()}};
  for (const auto& [count, stride] : directions) {
    std::int64_t length = 0;
    std::int64_t& end = stride < 0 ? extent.first : extent.last;
    if (__builtin_mul_overflow(count - 1, stride, &length) || __builtin_add_overflow(end, length, &end))
      throw UsageError(about(what) + "strides overflow 64 bits");
  }
  return extent;
}

template <class T>
bool has_elements(MatmulView<T> view) {
  return view.batches() > 0 && view.rows() > 0 && view.columns() > 0;
}

/// Throws UsageError if the view is malformed.
template <class T>
void check_input(MatmulView<T> view, const char* what) {
  const auto element_bytes = static_cast<std::int64_t>(sizeof(T));
  if (view.batches() < 0) throw UsageError(about(what) + "a batch of " + std::to_string(view.batches()) + " matrices");
  if (!has_elements(view)) {
    // If the view has no elements, only its sizes and its place are checked. A batch of no matrices counts as a matrix
    // of no rows, so its address may be null.
    const std::int64_t rows = view.batches() == 0 ? std::min<std::int64_t>(view.rows(), 0) : view.rows();
    return detail::check_view({view.data(), rows, view.columns(), view.columns(), view.place(), sizeof(T), alignof(T)},
                              what);
  }
  const Extent extent = extent_of(view, what);
  std::int64_t length = 0;
  std::int64_t first_byte = 0;
  if (__builtin_sub_overflow(extent.last, extent.first, &length) || __builtin_add_overflow(length, 1, &length) ||
      __builtin_mul_overflow(extent.first, element_bytes, &first_byte))
    throw UsageError(about(what) + "strides overflow 64 bits");
  if (view.data() != nullptr && first_byte < 0 &&
      static_cast<std::uintptr_t>(-first_byte) > reinterpret_cast<std::uintptr_t>(view.data()))
    throw UsageError(about(what) + "negative strides reach below address 0");
  detail::check_view({view.data() == nullptr ? nullptr : view.data() + extent.first, 1, length, length, view.place(),
                      sizeof(T), alignof(T)},
                     what);
  execution::check_size({view.batches(), view.rows(), view.columns(), element_bytes}, what);
}

/// Throws UsageError if the view is malformed, does not consist of `batches` matrices of m x n elements, or has
/// elements that share memory. Each stride must exceed the extent of the directions with smaller strides.
template <class T>
void check_result(MatmulView<T> c, std::int64_t batches, std::int64_t m, std::int64_t n) {
  check_input(c, "C");
  if (c.rows() != m || c.columns() != n || c.batches() != batches)
    throw UsageError(about("C") + "memory of " + std::to_string(c.batches()) + " x " + std::to_string(c.rows()) +
                     " x " + std::to_string(c.columns()) + " elements for " + std::to_string(batches) + " x " +
                     std::to_string(m) + " x " + std::to_string(n) + " results");
  if (!has_elements(c)) return;
  std::pair<std::int64_t, std::int64_t> directions[] = {
      {c.batch_stride(), c.batches()}, {c.row_stride(), c.rows()}, {c.column_stride(), c.columns()}};
  std::sort(std::begin(directions), std::end(directions));
  std::int64_t length = 1;
  for (const auto& [stride, count] : directions) {
    if (count == 1) continue;
    if (stride < length) throw UsageError(about("C") + "elements " + std::to_string(stride) + " apart overlap");
    length = stride * (count - 1) + length;  // cannot overflow after check_input()
  }
}

/// Returns a view that execution::overlap() accepts: contiguous rows, or everything from the first to the last element.
template <class T>
detail::ViewFacts facts_of(MatmulView<T> view) {
  const auto lines = [&](std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    return detail::ViewFacts{view.data(), rows, columns, stride, view.place(), sizeof(T), alignof(T)};
  };
  if (view.batches() == 1 && view.column_stride() == 1 && view.row_stride() >= view.columns())
    return lines(view.rows(), view.columns(), view.row_stride());
  if (view.batches() == 1 && view.row_stride() == 1 && view.column_stride() >= view.rows())
    return lines(view.columns(), view.rows(), view.column_stride());
  const Extent extent = extent_of(view, "");
  const std::int64_t length = extent.last - extent.first + 1;
  return {view.data() + extent.first, 1, length, length, view.place(), sizeof(T), alignof(T)};
}

/// Throws UsageError if the result shares bytes with an operand.
template <class T, class Input>
void check_apart(MatmulView<T> c, MatmulView<Input> input, const char* what) {
  if (has_elements(c) && has_elements(input) && execution::overlap(facts_of(c), facts_of(input)))
    throw UsageError(std::string("C: its memory overlaps ") + what + "; in-place products are not supported");
}

}  // namespace gradus::matmul_detail
