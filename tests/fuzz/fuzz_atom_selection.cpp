// Parses any text as an AtomSelection. It must either select rows of a frame in increasing order, or throw UsageError
// or InputError.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pair_histogram/files/atom_selection.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gradus::files::Frame frame = [] {
    constexpr std::string_view text =
        "4\nProperties=species:S:1:pos:R:3:id:I:1\nO 0 0 0 7\nH 1 0 0 9\nH 0 1 0 8\nN 1 1 1 70\n";
    gradus::files::TrajectoryReader reader(std::as_bytes(std::span(text.data(), text.size())), "frame", {}, true);
    return *reader.next();
  }();
  try {
    const gradus::files::AtomSelection selection({reinterpret_cast<const char*>(data), size}, "--select");
    std::int64_t last = -1;
    for (const std::int64_t row : selection.rows(frame, "frame")) {
      if (row <= last || row >= frame.points.rows()) std::abort();
      last = row;
    }
  } catch (const gradus::UsageError&) {
    // expected for an invalid selection
  } catch (const gradus::InputError&) {
    // expected for a selection of missing atoms
  }
  return 0;
}
