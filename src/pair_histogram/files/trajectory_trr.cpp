// TRR, the full-precision trajectories of Gromacs. A frame has a header with the number 1993, a version text, the sizes
// of its parts in bytes and the number of atoms, and then these parts: box, virial, pressure, positions, velocities and
// forces, in numbers of 32 or 64 bits.
#include "core/text.hpp"
#include "pair_histogram/files/trajectory_xdr.hpp"

namespace gradus::files {

namespace {

constexpr std::string_view trr_mark("\0\0\x07\xc9", 4);

class TrrFrames : public XdrFrames {
 public:
  using XdrFrames::XdrFrames;

 private:
  std::optional<Frame> read_frame(FrameParts parts) override {
    constexpr std::uint32_t mark = 1993;
    const std::uint32_t first = word("the header of a frame");
    if (first != mark) fail("a frame of TRR begins with 1993, not " + std::to_string(first));
    skip_version();
    enum Part : std::uint8_t { input, energies, box, virial, pressure, topology, symbols, x, v, f, parts_of_frame };
    std::array<std::uint64_t, parts_of_frame> sizes{};
    for (std::uint64_t& size : sizes) size = word("the sizes of a frame");
    const std::int64_t atoms = atom_count();
    const std::size_t size = size_of_numbers(sizes[box], {sizes[x], sizes[v], sizes[f]}, atoms);
    skip(2 * sizeof(std::int32_t), "the step of a frame");
    skip(2 * size, "the time of a frame");

    const std::uint64_t vectors = static_cast<std::uint64_t>(trajectory_axes * trajectory_axes) * size;
    const std::uint64_t coordinates = static_cast<std::uint64_t>(trajectory_axes * atoms) * size;
    if (sizes[box] != 0 && sizes[box] != vectors) fail("the box takes " + std::to_string(sizes[box]) + " bytes");
    for (const Part part : {x, v, f})
      if (sizes[part] != 0 && sizes[part] != coordinates)
        fail(std::to_string(atoms) + " atoms do not take " + std::to_string(sizes[part]) + " bytes");
    Frame frame;
    skip(sizes[input] + sizes[energies], "a frame");
    if (parts == FrameParts::none || sizes[box] == 0) skip(sizes[box], "the box");
    else read_box(frame, size);
    skip(sizes[virial] + sizes[pressure] + sizes[topology] + sizes[symbols], "a frame");
    if (parts == FrameParts::all && sizes[x] != 0) frame.points = positions(atoms, size);
    else skip(sizes[x], "the positions");
    skip(sizes[v] + sizes[f], "the velocities or forces");
    if (sizes[x] == 0 && atoms > 0) return std::nullopt;  // a frame of velocities or forces alone
    if (parts == FrameParts::all && atoms == 0) frame.points = points_of({});
    return frame;
  }

  /// Skips the version: its length with the final zero, its length without, and the text in units of four bytes.
  void skip_version() {
    constexpr std::uint64_t longest = 1000;
    word("the version");
    const std::uint64_t length = word("the version");
    if (length > longest) fail("the version of the format is a text of " + std::to_string(length) + " bytes");
    skip((length + 3) / 4 * 4, "the version");
  }

  /// Returns 4 or 8. All numbers of a frame have the same size.
  std::size_t size_of_numbers(std::uint64_t box, std::initializer_list<std::uint64_t> sizes, std::int64_t atoms) const {
    constexpr auto numbers_of_box = static_cast<std::uint64_t>(trajectory_axes * trajectory_axes);
    if (box != 0) return box == numbers_of_box * sizeof(double) ? sizeof(double) : sizeof(float);
    for (const std::uint64_t size : sizes)
      if (size != 0)
        return size == static_cast<std::uint64_t>(trajectory_axes * atoms) * sizeof(double) ? sizeof(double)
                                                                                            : sizeof(float);
    return sizeof(float);
  }
};

}  // namespace

extern constinit const TrajectoryFormat trr_trajectories{
    .file = {.name = "TRR",
             .endings = ".trr",
             .rules =
                 "The trajectories of Gromacs in 32 or 64 bits, not packed; lengths stay in nm. They name no kinds "
                 "of atoms: select by `index`. Frames of velocities or forces alone are left out. The box is "
                 "periodic unless it is zero",
             .may_be_packed = false},
    .unit = LengthUnit::nanometre,
    .recognises = [](std::string_view beginning) { return beginning.starts_with(trr_mark); },
    .of_bytes = make_xdr_parser<TrrFrames>,
};

}  // namespace gradus::files
