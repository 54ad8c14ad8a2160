// Any bytes: parse_npy() gives an array whose every element can be read, or throws InputError.
#include <cstdint>

#include "io/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const gradus::io::NpyArray array = gradus::io::parse_npy(std::as_bytes(std::span(data, size)), "input");
    std::visit(
        [](const auto& points) {
          volatile double sink = 0;
          if (points.view.columns() == 0) return;
          for (std::int64_t row = 0; row < points.view.rows(); ++row)
            for (std::int64_t column = 0; column < points.view.columns(); ++column) sink = points.view(row, column);
          (void)sink;
        },
        array.values);
  } catch (const gradus::InputError&) {
    // the answer to bad input
  }
  return 0;
}
