// Reads any bytes with TrajectoryReader, in the format that the first bytes indicate. The reader must return frames of
// finite positions in the order of the atoms' ids, or throw InputError or UnsupportedError. Each frame must have a
// valid box or none, and a label for each atom if there are labels. Skipping all frames must give the same number of
// frames as reading them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>

#include "pair_histogram/files/trajectory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    gradus::files::TrajectoryReader reader(std::as_bytes(std::span(data, size)), "input", {}, true);
    std::int64_t frames = 0;
    while (const auto frame = reader.next()) {
      ++frames;
      const auto view = frame->points.view<double>();
      if (view.columns() != 3) std::abort();
      for (std::int64_t row = 0; row < view.rows(); ++row)
        for (std::int64_t column = 0; column < view.columns(); ++column)
          if (!std::isfinite(view(row, column))) std::abort();
      const bool is_box = frame->box.size() == 3 || frame->box.size() == 9;
      if (frame->box.empty() != frame->box_origin.empty() || (!frame->box.empty() && !is_box)) std::abort();
      if (is_box && frame->box_origin.size() != 3) std::abort();
      if (!frame->periodic.empty() && (frame->box.empty() || !frame->undecided_box.empty())) std::abort();
      for (std::size_t number = 0; number < frame->box.size(); ++number) {
        const bool repeats = frame->box.size() == 3 && frame->periodic.find("xyz"[number]) != std::string::npos;
        if (!std::isfinite(frame->box[number]) || (repeats && !(frame->box[number] > 0))) std::abort();
      }
      const auto& labels = frame->labels;
      for (const auto& words : {labels.types, labels.elements, labels.names, labels.residues, labels.molecules}) {
        if (!words) continue;
        if (static_cast<std::int64_t>(words->of_atoms.size()) != view.rows()) std::abort();
        for (const std::int32_t word : words->of_atoms)
          if (word < 0 || static_cast<std::size_t>(word) >= words->words.size()) std::abort();
      }
      for (const auto& numbers : {labels.ids, labels.residue_numbers})
        if (numbers && static_cast<std::int64_t>(numbers->size()) != view.rows()) std::abort();
      const bool increase =
          !labels.ids || std::ranges::adjacent_find(*labels.ids, std::greater_equal{}) == labels.ids->end();
      if (!increase && !labels.residues) std::abort();  // .gro files may be unsorted
    }
    gradus::files::TrajectoryReader again(std::as_bytes(std::span(data, size)), "input");
    while (again.skip()) --frames;
    if (frames != 0) std::abort();
  } catch (const gradus::InputError&) {
    // expected for invalid input
  } catch (const gradus::UnsupportedError&) {
    // expected for unsupported content
  }
  return 0;
}
