// Any bytes: parse_csv() gives a rectangle of finite numbers, or throws InputError. With a
// header or without one, as it is told.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "io/csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gradus::io::CsvOptions;
  using gradus::io::HeaderLine;
  using gradus::io::Separator;
  for (const CsvOptions options : {CsvOptions{}, CsvOptions{.separator = Separator::tab},
                                   CsvOptions{.header = HeaderLine::yes}, CsvOptions{.header = HeaderLine::no}}) {
    try {
      const auto table = gradus::io::parse_csv(std::as_bytes(std::span(data, size)), "input", options);
      const auto& view = table.values.view;
      if (view.rows() < 1 || view.columns() < 1) std::abort();
      if (options.header != HeaderLine::automatic && (options.header == HeaderLine::yes) == table.column_names.empty())
        std::abort();
      if (!table.column_names.empty() && static_cast<std::int64_t>(table.column_names.size()) != view.columns())
        std::abort();
      for (std::int64_t row = 0; row < view.rows(); ++row)
        for (std::int64_t column = 0; column < view.columns(); ++column)
          if (!std::isfinite(view(row, column))) std::abort();
    } catch (const gradus::InputError&) {
      // the answer to bad input
    }
  }
  return 0;
}
