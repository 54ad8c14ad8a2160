// The check of views of the caller's memory.
#include <cstdint>
#include <limits>
#include <string>

#include "gradus/array.hpp"
#include "gradus/error.hpp"

namespace gradus {

void detail::check_view(const ViewFacts& view, const char* what) {
  const auto refuse = [&](const std::string& why) { throw UsageError(about(what) + why); };
  if (view.place.kind != MemoryPlace::Kind::host && view.place.kind != MemoryPlace::Kind::gpu)
    refuse("the view names an unknown kind of memory");
  // Builds the text only for an error, because this takes as long as the multiplication of two tiny matrices.
  const auto shape = [&] { return std::to_string(view.rows) + " x " + std::to_string(view.columns); };
  if (view.rows < 0 || view.columns < 0) refuse("a view of " + shape() + " elements; sizes are not negative");
  if (view.row_stride < view.columns)
    refuse("rows of " + std::to_string(view.columns) + " columns cannot start " + std::to_string(view.row_stride) +
           " elements apart");
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(view.rows, view.row_stride, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<std::int64_t>(view.element_bytes), &bytes))
    refuse("a view of " + shape() + " elements, rows " + std::to_string(view.row_stride) +
           " apart; the size in bytes overflows 64 bits");
  if (view.rows == 0 || view.columns == 0) return;
  if (view.data == nullptr) refuse("a view of " + shape() + " elements has a null pointer");
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  if (address % view.alignment != 0)
    refuse("the address of a view is not a multiple of " + std::to_string(view.alignment) + ", an element's alignment");
  // The extent ends with the last element of the last row, without the gap after this row.
  const auto extent = static_cast<std::uintptr_t>(bytes) -
                      static_cast<std::uintptr_t>(view.row_stride - view.columns) * view.element_bytes;
  if (extent > std::numeric_limits<std::uintptr_t>::max() - address)
    refuse("a view of " + shape() + " elements extends past the end of the address space");
}

}  // namespace gradus
