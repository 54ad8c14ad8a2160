// Any bytes: TrajectoryReader gives frames of finite positions, each with a sane box or none, or throws InputError or
// UnsupportedError.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "io/trajectory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    gradus::io::TrajectoryReader reader(std::as_bytes(std::span(data, size)), "input");
    while (const auto frame = reader.next()) {
      const auto view = frame->points.view<double>();
      if (view.columns() != 3) std::abort();
      for (std::int64_t row = 0; row < view.rows(); ++row)
        for (std::int64_t column = 0; column < view.columns(); ++column)
          if (!std::isfinite(view(row, column))) std::abort();
      if (frame->box.size() != frame->box_origin.size() || (!frame->box.empty() && frame->box.size() != 3))
        std::abort();
      if (!frame->undecided_box.empty() && !frame->box.empty()) std::abort();
      for (const double length : frame->box)
        if (!(length > 0 && std::isfinite(length))) std::abort();
    }
  } catch (const gradus::InputError&) {
    // the answer to bad input
  } catch (const gradus::UnsupportedError&) {
    // and to boxes that are not orthogonal
  }
  return 0;
}
