// Code that the readers of Gromacs' binary trajectories share: numbers in XDR, that is, big-endian and in units of four
// bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "pair_histogram/files/trajectory_text.hpp"

namespace gradus::files {

class XdrFrames : public FrameParser {
 public:
  XdrFrames(std::span<const std::byte> bytes, std::string_view name, std::stop_token stop)
      : bytes_(bytes), name_(name), stop_(std::move(stop)) {}
  std::optional<Frame> read(FrameParts parts) final;

 protected:
  /// Reads the header of the frame that begins at `at_` and, as far as `parts` asks, its contents. Leaves `at_` after
  /// the frame. Returns nothing if the frame has no positions.
  virtual std::optional<Frame> read_frame(FrameParts parts) = 0;

  [[noreturn]] void fail(const std::string& what) const { fail(at_, what); }
  [[noreturn]] void fail(std::size_t place, const std::string& what) const;
  /// Throws CutFrameError unless this many bytes are left.
  void need(std::uint64_t count, const char* what) const;
  void skip(std::uint64_t count, const char* what);

  std::int32_t integer(const char* what) { return std::bit_cast<std::int32_t>(word(what)); }
  std::uint32_t word(const char* what) { return number<std::uint32_t>(what); }
  /// Reads a number of `size` bytes, which is 4 or 8. Throws if it is not finite.
  double real(std::size_t size, const char* what);
  std::int64_t wide(const char* what) { return std::bit_cast<std::int64_t>(number<std::uint64_t>(what)); }
  /// Reads a number of atoms. Throws if it is negative.
  std::int64_t atom_count();
  /// Reads the coordinates of atoms, in numbers of `size` bytes.
  Points positions(std::int64_t atoms, std::size_t size);
  /// Reads the nine numbers of the box's vectors. If all of them are zero, there is no box.
  void read_box(Frame& frame, std::size_t size);

  std::span<const std::byte> rest() const { return bytes_.subspan(at_); }
  void honour_stop(std::int64_t atom) const;

 private:
  template <class Unsigned>
  Unsigned number(const char* what) {
    need(sizeof(Unsigned), what);
    Unsigned value = 0;
    for (std::size_t byte = 0; byte < sizeof(Unsigned); ++byte)
      value = static_cast<Unsigned>(value << 8U) | std::to_integer<Unsigned>(bytes_[at_++]);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::string name_;
  std::stop_token stop_;
  std::size_t at_ = 0;
  bool started_ = false;
};

/// Implements TrajectoryFormat::of_bytes.
template <class Parser>
std::unique_ptr<FrameParser> make_xdr_parser(std::span<const std::byte> bytes, std::string_view name,
                                             std::stop_token stop) {
  return std::make_unique<Parser>(bytes, name, std::move(stop));
}

}  // namespace gradus::files
