// Parses any bytes with parse_npy() and parse_npy_tensor(). They must return an array with readable elements or throw
// InputError.
#include <cstdint>
#include <cstdlib>

#include "files/npy.hpp"

namespace {

template <class Read>
void unless_refused(const Read& read) {
  try {
    read();
  } catch (const gradus::InputError&) {
    // expected for invalid input
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  unless_refused([&] {
    const gradus::files::NpyArray array = gradus::files::parse_npy(bytes, "input");
    std::visit(
        [](const auto& points) {
          volatile double sink = 0;
          if (points.view.columns() == 0) return;
          for (std::int64_t row = 0; row < points.view.rows(); ++row)
            for (std::int64_t column = 0; column < points.view.columns(); ++column) sink = points.view(row, column);
          (void)sink;
        },
        array.values);
  });
  unless_refused([&] {
    const gradus::files::Tensor tensor = gradus::files::parse_npy_tensor(bytes, "input");
    // The strides must address each element once, with the last element at the end of the data.
    std::int64_t count = 1;
    std::int64_t last = 0;
    for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
      count *= tensor.shape[dim];
      last += (tensor.shape[dim] - 1) * tensor.strides[dim];
    }
    std::visit(
        [&](const auto& values) {
          if (values.view.rows() != count || (count > 0 && last != count - 1)) std::abort();
          volatile double sink = 0;
          for (std::int64_t place = 0; place < count; ++place) sink = values.view.data()[place];
          (void)sink;
        },
        tensor.values);
  });
  return 0;
}
