// XTC, the compressed trajectories of Gromacs. Coordinates are integers: lengths in nm, times the precision, rounded. A
// frame has a header, the box, and the bits of the coordinates:
//
// * Most atoms are written in full: the differences from the least integers of the frame are three digits of one number
//   in mixed radix.
// * A bit after such an atom says whether 5 bits follow. They hold three times the number of short atoms after this one
//   and each next atom in full, plus 0, 1 or 2: the short radix then becomes smaller, stays, or becomes larger.
// * A short atom is written relative to the atom before, as three digits of the short radix. The first short atom is in
//   front of the full one: of a water molecule, a hydrogen is written first, and both others are near the oxygen.
//
// Numbers of several bytes within the bits begin with the least significant byte, and each byte with its most
// significant bit. Source: the descriptions of the format in the manuals of Gromacs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "pair_histogram/files/trajectory_xdr.hpp"

namespace gradus::files {

namespace {

__extension__ using XtcNumber = unsigned __int128;

constexpr std::string_view xtc_mark("\0\0\x07\xcb", 4);
constexpr std::string_view large_xtc_mark("\0\0\x07\xe7", 4);
constexpr int least_short = 9;                  ///< the first index of a short radix; the radix is 8
constexpr int most_short = 72;                  ///< the last index; the radix is 2^24
constexpr std::int64_t fewest_compressed = 10;  ///< frames with fewer atoms hold plain numbers

/// Returns the table of short radices, 2^(index / 3) rounded down with three exceptions. The cube of a radix has at
/// most `index` bits.
std::array<std::int64_t, most_short + 2> make_short_radices() {
  std::array<std::int64_t, most_short + 2> radices{};
  for (int index = least_short; index <= most_short; ++index)
    radices[static_cast<std::size_t>(index)] = static_cast<std::int64_t>(std::cbrt(std::ldexp(1.0, index)) + 1e-6);
  radices[37] = 5060;
  radices[57] = 524287;
  radices[69] = 8388607;
  return radices;
}

/// Reads bits from bytes, the most significant bit first. `left` is the number of bits that are left.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool has(int count) const { return static_cast<std::uint64_t>(count) <= 8 * bytes_.size() - at_; }

  std::uint64_t bits(int count) {
    std::uint64_t value = 0;
    while (count > 0) {
      const int taken = std::min(count, 8 - static_cast<int>(at_ % 8));
      const auto byte = std::to_integer<unsigned>(bytes_[at_ / 8]);
      const unsigned low = byte >> static_cast<unsigned>(8 - static_cast<int>(at_ % 8) - taken);
      value = value << static_cast<unsigned>(taken) | (low & ((1U << static_cast<unsigned>(taken)) - 1U));
      at_ += static_cast<std::uint64_t>(taken);
      count -= taken;
    }
    return value;
  }

  /// Reads a number whose bytes come in the order of their significance, the least first.
  XtcNumber number(int count) {
    XtcNumber value = 0;
    for (int shift = 0; count > 0; shift += 8, count -= 8)
      value |= static_cast<XtcNumber>(bits(std::min(count, 8))) << static_cast<unsigned>(shift);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t at_ = 0;
};

int bits_of(XtcNumber number) {
  const auto high = static_cast<std::uint64_t>(number >> 64U);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(number)));
}

using Integers = std::array<std::int64_t, trajectory_axes>;

class XtcFrames : public XdrFrames {
 public:
  using XdrFrames::XdrFrames;

 private:
  std::optional<Frame> read_frame(FrameParts parts) override {
    constexpr std::uint32_t usual = 1995;
    constexpr std::uint32_t large = 2023;  // the size of the bits has 64 bits itself
    const std::uint32_t mark = word("the header of a frame");
    if (mark != usual && mark != large) fail("a frame of XTC begins with 1995 or 2023, not " + std::to_string(mark));
    const std::int64_t atoms = atom_count();
    skip(2 * sizeof(std::int32_t), "the step and time of a frame");
    Frame frame;
    constexpr std::size_t box_bytes = sizeof(float) * trajectory_axes * trajectory_axes;
    if (parts == FrameParts::none) skip(box_bytes, "the box");
    else read_box(frame, sizeof(float));
    const std::int64_t again = atom_count();
    if (again != atoms)
      fail("the frame has " + std::to_string(atoms) + " atoms, and " + std::to_string(again) + " positions");
    if (atoms < fewest_compressed) {
      if (parts == FrameParts::all) frame.points = positions(atoms, sizeof(float));
      else skip(static_cast<std::uint64_t>(trajectory_axes * atoms) * sizeof(float), "the positions");
      return frame;
    }
    read_compressed(atoms, mark == large, parts, frame);
    return frame;
  }

  Integers integers(const char* what) {
    Integers three{};
    for (std::int64_t& one : three) one = integer(what);
    return three;
  }

  void read_compressed(std::int64_t atoms, bool large, FrameParts parts, Frame& frame) {
    const double precision = real(sizeof(float), "the precision");
    if (!(precision > 0)) fail("the precision is " + core::number_text(precision) + ", and must be above zero");
    const Integers least = integers("the least coordinates");
    const Integers greatest = integers("the greatest coordinates");
    const std::int32_t index = integer("the bits of short atoms");
    const std::int64_t size = large ? wide("the size of the positions") : word("the size of the positions");
    if (size < 0) fail("the positions cannot take " + std::to_string(size) + " bytes");
    const auto count = static_cast<std::uint64_t>(size);
    need(count, "the positions");
    const std::uint64_t padding = (4 - count % 4) % 4;
    if (parts == FrameParts::all) {
      // Each atom takes at least two bits.
      if (static_cast<std::uint64_t>(atoms) > 4 * count)
        fail(std::to_string(atoms) + " atoms do not fit into " + std::to_string(count) + " bytes");
      check_memory(atoms);
      std::vector<double> coordinates;
      coordinates.reserve(static_cast<std::size_t>(trajectory_axes * atoms));
      decompress(BitReader(rest().first(static_cast<std::size_t>(count))), atoms, least, greatest, index, precision,
                 coordinates);
      frame.points = points_of(std::move(coordinates));
    }
    skip(count, "the positions");
    skip(padding, "the positions");
  }

  void decompress(BitReader bits, std::int64_t atoms, const Integers& least, const Integers& greatest, int index,
                  double precision, std::vector<double>& coordinates) const {
    Integers sizes{};
    std::array<int, trajectory_axes> separate{};  // bits of each coordinate, if they are not in one number
    bool is_separate = false;
    XtcNumber product = 1;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      constexpr std::int64_t most_in_a_number = 0xffffff;
      sizes[axis] = greatest[axis] - least[axis] + 1;
      if (sizes[axis] < 1 || sizes[axis] > std::numeric_limits<std::uint32_t>::max())
        fail("the coordinates go from " + std::to_string(least[axis]) + " to " + std::to_string(greatest[axis]));
      is_separate = is_separate || sizes[axis] > most_in_a_number;
      separate[axis] = bits_of(static_cast<XtcNumber>(sizes[axis]));
      if (!is_separate) product *= static_cast<XtcNumber>(sizes[axis]);
    }
    const auto check_index = [&] {
      // Writers leave the index after the last one if the atoms are too far apart. No short atom can follow then.
      if (index < least_short || index > most_short + 1)
        fail("short atoms take " + std::to_string(index) + " bits; 9 to 73 are possible");
    };
    check_index();
    const int full_bits = is_separate ? separate[0] + separate[1] + separate[2] : bits_of(product);
    const auto need_bits = [&](int count) {
      if (!bits.has(count)) fail("the bits of the positions end before the last atom");
    };
    const auto add = [&](const Integers& atom) {
      for (const std::int64_t number : atom) coordinates.push_back(static_cast<double>(number) / precision);
    };
    const auto digits_of = [](XtcNumber number, const Integers& radices) {
      Integers digits{};
      for (std::size_t axis = digits.size(); axis-- > 1; number /= static_cast<XtcNumber>(radices[axis]))
        digits[axis] = static_cast<std::int64_t>(number % static_cast<XtcNumber>(radices[axis]));
      digits[0] = static_cast<std::int64_t>(number);
      return digits;
    };

    int run = 0;
    for (std::int64_t atom = 0; atom < atoms;) {
      honour_stop(0);
      need_bits(full_bits + 1);
      Integers full{};
      if (is_separate)
        for (std::size_t axis = 0; axis < full.size(); ++axis)
          full[axis] = static_cast<std::int64_t>(bits.bits(separate[axis]));
      else full = digits_of(bits.number(full_bits), sizes);
      for (std::size_t axis = 0; axis < full.size(); ++axis) {
        if (full[axis] >= sizes[axis])
          fail("a coordinate of atom " + std::to_string(atom) + " is past the greatest one");
        full[axis] += least[axis];
      }
      int change = 0;
      if (bits.bits(1) != 0) {
        need_bits(5);
        const int code = static_cast<int>(bits.bits(5));
        change = code % 3 - 1;
        run = code / 3;
      }
      if (run + 1 > atoms - atom) fail("there are more positions than atoms");
      atom += run + 1;
      if (run > 0 && index > most_short) fail("short atoms follow, but the radix has no index for them");
      const std::int64_t radix = radices_[static_cast<std::size_t>(index)];
      const Integers radices = {radix, radix, radix};
      Integers before = full;
      for (int place = 0; place < run; ++place) {
        need_bits(index);
        Integers next = digits_of(bits.number(index), radices);
        for (std::size_t axis = 0; axis < next.size(); ++axis) {
          if (next[axis] >= radix) fail("a short coordinate is past the radix");
          next[axis] += before[axis] - radix / 2;
        }
        add(next);
        if (place == 0) add(full);
        before = next;
      }
      if (run == 0) add(full);
      index += change;
      check_index();
    }
  }

  const std::array<std::int64_t, most_short + 2> radices_ = make_short_radices();
};

}  // namespace

extern constinit const TrajectoryFormat xtc_trajectories{
    .file = {.name = "XTC",
             .endings = ".xtc",
             .rules = "The compressed trajectories of Gromacs; lengths stay in nm. Coordinates are the integers of the "
                      "file divided by its precision, in 64 bits: 1.234 is the same number as in a `.gro` file. They "
                      "name no kinds of atoms: select by `index`. The box is periodic unless it is zero",
             .may_be_packed = false},
    .unit = LengthUnit::nanometre,
    .recognises =
        [](std::string_view beginning) {
          return beginning.starts_with(xtc_mark) || beginning.starts_with(large_xtc_mark);
        },
    .of_bytes = make_xdr_parser<XtcFrames>,
};

}  // namespace gradus::files
