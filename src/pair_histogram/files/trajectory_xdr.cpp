#include "pair_histogram/files/trajectory_xdr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/file_fields.hpp"

namespace gradus::files {

std::optional<Frame> XdrFrames::read(FrameParts parts) {
  honour_stop(0);
  if (!std::exchange(started_, true) && bytes_.empty()) fail("there are no frames");
  while (at_ < bytes_.size())
    if (std::optional<Frame> frame = read_frame(parts)) return frame;
  return std::nullopt;
}

void XdrFrames::fail(std::size_t place, const std::string& what) const {
  throw InputError(name_ + ": " + what + " (byte " + std::to_string(place) + ")", fields_at_byte(name_, place));
}

void XdrFrames::need(std::uint64_t count, const char* what) const {
  if (count <= bytes_.size() - at_) return;
  throw CutFrameError(name_ + ": the file is cut off in " + what + " (byte " + std::to_string(at_) + ")",
                      fields_at_byte(name_, at_));
}

void XdrFrames::skip(std::uint64_t count, const char* what) {
  need(count, what);
  at_ += static_cast<std::size_t>(count);
}

void XdrFrames::honour_stop(std::int64_t atom) const {
  constexpr std::int64_t atoms_between_looks = 4096;
  if (atom % atoms_between_looks == 0) core::honour_stop(stop_, "stopped while reading '" + name_ + "'");
}

double XdrFrames::real(std::size_t size, const char* what) {
  const std::size_t place = at_;
  const double value = size == sizeof(float) ? double{std::bit_cast<float>(number<std::uint32_t>(what))}
                                             : std::bit_cast<double>(number<std::uint64_t>(what));
  if (!std::isfinite(value)) fail(place, std::string("a number of ") + what + " is not finite");
  return value;
}

std::int64_t XdrFrames::atom_count() {
  const std::size_t place = at_;
  const std::int32_t atoms = integer("the number of atoms");
  if (atoms < 0) fail(place, std::to_string(atoms) + " is not a number of atoms");
  return atoms;
}

Points XdrFrames::positions(std::int64_t atoms, std::size_t size) {
  const std::uint64_t numbers = static_cast<std::uint64_t>(trajectory_axes) * static_cast<std::uint64_t>(atoms);
  need(numbers * size, "the positions");
  check_memory(atoms);
  std::vector<double> coordinates(numbers);
  for (std::size_t index = 0; index < coordinates.size(); ++index) {
    honour_stop(static_cast<std::int64_t>(index));
    coordinates[index] = real(size, "the positions");
  }
  return points_of(std::move(coordinates));
}

void XdrFrames::read_box(Frame& frame, std::size_t size) {
  const std::size_t place = at_;
  BoxVectors vectors{};
  for (double& number : vectors) number = real(size, "the box");
  if (std::ranges::all_of(vectors, [](double number) { return number == 0; })) return;
  if (const std::string_view flaw = put_box(frame, vectors, {}, "xyz"); !flaw.empty()) fail(place, std::string(flaw));
}

}  // namespace gradus::files
