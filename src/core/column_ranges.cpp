#include "core/column_ranges.hpp"

#include <cmath>
#include <string>

#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::core {

void throw_bad_value(const char* what, std::int64_t row, std::int64_t column, double value) {
  const std::string kind = std::isnan(value)   ? "NaN"
                           : std::isinf(value) ? "infinite"
                                               : "too large (coordinates are at most 2^500 in magnitude)";
  throw InputError(about(what) + "the value in row " + std::to_string(row) + ", column " + std::to_string(column) +
                       " (counted from 0) is " + kind,
                   {.code = std::isfinite(value) ? error_code::out_of_range : error_code::not_finite,
                    .row = row,
                    .column = column,
                    .value = number_text(value),
                    .allowed = "-2^500 to 2^500",
                    .remedy = std::isnan(value) ? "leave out rows with missing values, or fill them in first; NumPy's "
                                                  "where(isnan(x), nanmean(x, axis=0), x) fills in column means"
                                                : ""});
}

}  // namespace gradus::core
