// Tests what the trajectory readers read from each format, and their error messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "files/points.hpp"
#include "gradus/error.hpp"
#include "pair_histogram/files/trajectory.hpp"
#include "tests/files.hpp"

namespace gradus::files {
namespace {

using tests::bytes;
using tests::content;
using tests::expect_contains;
using tests::message_of;
using namespace std::string_literals;

const std::string corpus = GRADUS_SOURCE_DIR "/tests/fuzz/corpus/";

std::vector<std::vector<double>> rows_of(const Points& points) {
  return points.visit([](auto view) {
    std::vector<std::vector<double>> rows;
    for (std::int64_t row = 0; row < view.rows(); ++row)
      rows.emplace_back(view.row(row), view.row(row) + view.columns());
    return rows;
  });
}

std::vector<Frame> frames_in(std::string_view text) {
  TrajectoryReader reader(std::as_bytes(std::span(text.data(), text.size())), "t");
  std::vector<Frame> frames;
  while (std::optional<Frame> frame = reader.next()) frames.push_back(std::move(*frame));
  return frames;
}

std::string refusal_of(std::string_view text) {
  return message_of<InputError>([&] { frames_in(text); });
}

std::string unsupported(std::string_view text) {
  return message_of<UnsupportedError>([&] { frames_in(text); });
}

using Rows = std::vector<std::vector<double>>;

TEST(Trajectory, XyzFramesInTheirOrder) {
  const auto frames = frames_in("2\r\nwater\r\nO 0 0 0.5\r\nH\t1.5 -2e-1 +3\r\n0\nnothing\n 1 \n\n H 1 2 3 9 9\n\n \n");
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(rows_of(frames[0].points), (Rows{{0, 0, 0.5}, {1.5, -0.2, 3}}));
  EXPECT_EQ(frames[1].points.rows(), 0);
  EXPECT_EQ(rows_of(frames[2].points), (Rows{{1, 2, 3}}));
  EXPECT_TRUE(frames[0].box.empty());
}

TEST(Trajectory, ExtendedXyzNamesColumnsAndBox) {
  const auto frames = frames_in(
      "1\nProperties=id:I:1:pos:R:3:species:S:1 note=\"a Lattice=1\" lattice=\"5 0 0 0 6 0 0 0 7\" Origin='-1 0 1'\n"
      "7 1 2 3 Ar\n"
      "1\nLattice=\"5 0 0 0 6 0 0 0 7\" pbc=\"F F F\"\nH 1 2 3\n");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(rows_of(frames[0].points), (Rows{{1, 2, 3}}));
  EXPECT_EQ(frames[0].box, (std::vector{5., 6., 7.}));
  EXPECT_EQ(frames[0].box_origin, (std::vector{-1., 0., 1.}));
  EXPECT_EQ(frames[0].periodic, "xyz");
  EXPECT_EQ(frames[1].periodic, "");
}

TEST(Trajectory, ShortLinesOfManyAtoms) {
  std::string text = "500\nProperties=pos:R:3\n";
  for (int atom = 0; atom < 500; ++atom) text += "1 2 3\n";
  EXPECT_EQ(frames_in(text).front().points.rows(), 500);
}

TEST(Trajectory, LammpsDumps) {
  const std::string head = "ITEM: UNITS\nreal\nITEM: TIMESTEP\n5\nITEM: NUMBER OF ATOMS\n2\n";
  const auto frames =
      frames_in(head +
                "ITEM: BOX BOUNDS pp pp pp\n-1 4\n0 6e0\n0 8\n"
                "ITEM: ATOMS id z type y x q\n1 3 9 2 1 7\n2 6 9 5 4 7\n" +
                head + "ITEM: BOX BOUNDS ff ss mm\n-1 4\n0 6\n0 8\nITEM: ATOMS xs ys zs\n0 0.5 1\n1 1 0.25\n" + head +
                "ITEM: ATOMS xu yu zu\n-10 0 1\n1 1 99\n");
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(rows_of(frames[0].points), (Rows{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(frames[0].box, (std::vector{5., 6., 8.}));
  EXPECT_EQ(frames[0].box_origin, (std::vector{-1., 0., 0.}));
  EXPECT_EQ(rows_of(frames[1].points), (Rows{{-1, 3, 8}, {4, 6, 2}}));
  EXPECT_EQ(frames[1].periodic, "");
  EXPECT_EQ(rows_of(frames[2].points), (Rows{{-10, 0, 1}, {1, 1, 99}}));
}

TEST(Trajectory, RefusesWithThePlace) {
  EXPECT_EQ(refusal_of(""), "t:1: the file ends where the number of atoms should be");
  EXPECT_EQ(refusal_of("two\n\n"), "t:1: 'two' is not a number of atoms");
  EXPECT_EQ(refusal_of("-1\n\n"), "t:1: '-1' is not a number of atoms");
  EXPECT_EQ(refusal_of("1\n"), "t:2: the file ends where the comment of the frame should be");
  EXPECT_EQ(refusal_of("2\n\nH 1 2 3\n  "), "t:4: 0 columns, but 4 are needed for an atom; the file ends in this line");
  EXPECT_EQ(refusal_of("2\n\nH 1 2 3.25\n"), "t:4: the file ends where the line of atom 2 of 2 should be");
  EXPECT_EQ(refusal_of("1\n\nH 1 2\n"), "t:3: 3 columns, but 4 are needed for an atom");
  EXPECT_EQ(refusal_of("1\n\nH 1 two 3\n"), "t:3: 'two' is not a number (y)");
  EXPECT_EQ(refusal_of("1\n\nH 1 2 nan\n"), "t:3: 'nan' is not a finite number (z)");
  EXPECT_EQ(refusal_of("1\n\nH 1e999 2 3\n"), "t:3: '1e999' is not a finite number (x)");
  EXPECT_EQ(refusal_of("1\n\nH 1 2 3\nrest\n"), "t:4: 'rest' is not a number of atoms");
  expect_contains(refusal_of("900000000000000000\n\nH 1 2 3\n"),
                  "t:1: the frame claims 900000000000000000 atoms, but only");
  expect_contains(refusal_of("1\nLattice=\"1 2 3\"\nH 1 2 3\n"), "t:2: Lattice has 3 numbers");
  expect_contains(refusal_of("1\nLattice=\"1 0 0 0 x 0 0 0 1\"\nH 1 2 3\n"), "t:2: 'x' is not a number (Lattice)");
  expect_contains(refusal_of("1\nLattice=\"1 0 0 0 0 0 0 0 1\"\nH 1 2 3\n"), "a length of the lattice is not positive");
  expect_contains(refusal_of("1\npbc=\"T T\" Lattice=\"1 0 0 0 1 0 0 0 1\"\nH 1 2 3\n"), "here are 2");
  expect_contains(refusal_of("1\npbc=\"1 1 2\" Lattice=\"1 0 0 0 1 0 0 0 1\"\nH 1 2 3\n"), "pbc is made of T and F");
  expect_contains(refusal_of("1\nProperties=species:S:1\nH 1 2 3\n"), "Properties does not name a column pos");
  expect_contains(refusal_of("1\nProperties=pos:R:2\nH 1 2 3\n"), "pos must be three real columns");
  expect_contains(refusal_of("1\nProperties=a:S:0:pos:R:3\nH 1 2 3\n"), "'0' is not a number of columns");
  expect_contains(refusal_of("1\nProperties=name:S:1:pos:R:3\nFe 2 1 2 3\n"), "t:3: 5 columns, but the frame names 4");
  expect_contains(refusal_of("1\nProperties=pos:R:3:v:R:3\n1 2 3 4 5\n"), "t:3: 5 columns, but the frame names 6");
  const std::string head = "ITEM: TIMESTEP\n5\nITEM: NUMBER OF ATOMS\n1\n";
  EXPECT_EQ(refusal_of(head), "t:5: the file ends where an ITEM: of the next frame should be");
  EXPECT_EQ(refusal_of(head + "1 2 3\n"), "t:5: an ITEM: is expected, not '1 2 3'");
  EXPECT_EQ(refusal_of("ITEM: ATOMS x y z\n1 2 3\n"),
            "t:1: the atoms come before their number (ITEM: NUMBER OF ATOMS)");
  expect_contains(refusal_of(head + "ITEM: ATOMS id type\n1 2\n"), "names no coordinates");
  expect_contains(refusal_of(head + "ITEM: ATOMS element x y z\nFe 2 1 2 3\n"),
                  "t:6: 5 columns, but the frame names 4");
  expect_contains(refusal_of(head + "ITEM: ATOMS x y z id\n1 2 3\n"), "t:6: 3 columns, but the frame names 4");
  expect_contains(refusal_of(head + "ITEM: ATOMS xs ys zs\n0 0 0\n"), "scaled coordinates need the bounds");
  expect_contains(refusal_of(head + "ITEM: BOX BOUNDS pp pp pp\n0 1\n0\n"),
                  "t:7: 2 numbers are expected for the bounds, not 1");
  expect_contains(refusal_of(head + "ITEM: BOX BOUNDS pp pp pp\n0 1\n3 2\n"),
                  "t:7: the upper bound of the box is below");
  expect_contains(refusal_of(head + "ITEM: BOX BOUNDS pp pp pp\n0 1\n2 2\n"), "t:7: the periodic box has no extent");
  expect_contains(
      refusal_of(head + "ITEM: BOX BOUNDS pp pp pp\n0 1\n0 1\n0 1\nITEM: BOX BOUNDS ff ff ff\n0 1\n0 1\n0 1\n"),
      "t:9: a second ITEM: BOX BOUNDS in one frame");
  expect_contains(refusal_of(head + "ITEM: NUMBER OF ATOMS\n1\n"), "t:5: a second ITEM: NUMBER OF ATOMS in one frame");
}

TEST(Trajectory, TriclinicBoxes) {
  const auto box = [](const std::string& text) { return frames_in(text).front().box; };
  EXPECT_EQ(box("1\nLattice=\"5 0 0 1 6 0 0 0 7\"\nH 1 2 3\n"), (std::vector<double>{5, 0, 0, 1, 6, 0, 0, 0, 7}));
  const std::string head = "ITEM: NUMBER OF ATOMS\n1\n";
  const std::string atoms = "ITEM: ATOMS x y z\n1 2 3\n";
  // The bounds that LAMMPS writes enclose the tilted box. With the tilts, x ranges from -1 - 2 to 4 + 1, and y begins
  // at 0 - 1.
  const Frame tilted =
      frames_in(head + "ITEM: BOX BOUNDS xy xz yz pp pp pp\n-3 5 1\n-1 6 -2\n0 8 -1\n" + atoms).front();
  EXPECT_EQ(tilted.box, (std::vector<double>{5, 0, 0, 1, 6, 0, -2, -1, 8}));
  EXPECT_EQ(tilted.box_origin, (std::vector<double>{-1, 0, 0}));
  const Frame scaled = frames_in(head +
                                 "ITEM: BOX BOUNDS xy xz yz pp pp pp\n-3 5 1\n-1 6 -2\n0 8 -1\nITEM: ATOMS xs ys "
                                 "zs\n0.5 0.5 0.25\n")
                           .front();
  EXPECT_EQ(rows_of(scaled.points), (Rows{{-1 + 2.5 + 0.5 - 0.5, 3 - 0.25, 2}}));
  EXPECT_EQ(box(head + "ITEM: BOX BOUNDS abc origin pp pp pp\n4 0 0 0\n1 6 0 0\n0 0 8 0\n" + atoms),
            (std::vector<double>{4, 0, 0, 1, 6, 0, 0, 0, 8}));
  EXPECT_EQ(box("t\n1\n    1NA      NA    1   1.10   2.10   3.10\n 4 6 8 0 0 1 0 2 3\n"),
            (std::vector<double>{4, 0, 0, 1, 6, 0, 2, 3, 8}));
  expect_contains(refusal_of("1\nLattice=\"5 0 0 5 0 0 0 0 7\"\nH 1 2 3\n"),
                  "t:2: the three vectors of the box are in a plane");
}

TEST(Trajectory, BoxesThatArePeriodicInSomeDirections) {
  struct Case {
    std::string text;
    std::vector<double> box;
    std::string periodic;
  };
  const auto lattice = [](const std::string& numbers, const std::string& flags) {
    return "1\nLattice=\"" + numbers + "\" pbc=\"" + flags + "\"\nH 1 2 3\n";
  };
  const auto dump = [](const std::string& bounds) {
    return "ITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS " + bounds + "\nITEM: ATOMS x y z\n1 2 3\n";
  };
  for (const Case& one :
       std::vector<Case>{{lattice("5 0 0 0 6 0 0 0 7", "T T F"), {5, 6, 7}, "xy"},
                         {lattice("5 0 0 0 6 0 0 0 0", "T T F"), {5, 6, 0}, "xy"},
                         {lattice("5 0 0 0 6 0 1 2 7", "T T F"), {5, 6, 7}, "xy"},  // an open vector may be oblique
                         {lattice("5 0 0 1 6 0 0 0 0", "T T F"), {5, 0, 0, 1, 6, 0, 0, 0, 0}, "xy"},
                         {lattice("0 0 0 0 6 0 0 0 0", "F T F"), {0, 6, 0}, "y"},
                         {lattice("5 0 0 0 6 0 0 0 7", "F F F"), {5, 6, 7}, ""},
                         {lattice("0 0 0 0 0 0 0 0 0", "F F F"), {}, ""},
                         {dump("pp pp ff\n0 5\n0 6\n3 3"), {5, 6, 0}, "xy"},
                         {dump("fs pp mm\n0 5\n0 6\n0 7"), {5, 6, 7}, "y"},
                         {dump("ff ff ff\n0 5\n0 6\n0 7"), {5, 6, 7}, ""}}) {
    SCOPED_TRACE(one.text);
    const Frame frame = frames_in(one.text).front();
    EXPECT_EQ(frame.box, one.box);
    EXPECT_EQ(frame.periodic, one.periodic);
  }
  expect_contains(refusal_of(lattice("5 0 0 0 0 0 0 0 7", "T T F")), "t:2: a length of the lattice is not positive");
  expect_contains(refusal_of(lattice("5 1 0 10 2 0 0 0 7", "T T F")),
                  "t:2: the periodic vectors of the box are parallel");
  expect_contains(refusal_of(dump("pp pp ff\n0 5\n3 3\n0 7")), "t:5: the periodic box has no extent");
}

TEST(Trajectory, AtomsComeInTheOrderOfTheirIds) {
  const std::string head = "ITEM: NUMBER OF ATOMS\n3\nITEM: ATOMS id type x y z\n";
  const std::string text = head + "1 A 1 0 0\n2 B 2 0 0\n7 A 7 0 0\n" + head + "7 A 7 0 0\n1 A 1 0 0\n2 B 2 0 0\n";
  for (const bool labels : {false, true}) {
    TrajectoryReader reader(bytes(text), "t", {}, labels);
    for (int number = 0; number < 2; ++number) {
      const std::optional<Frame> frame = reader.next();
      ASSERT_TRUE(frame);
      EXPECT_EQ(rows_of(frame->points), (Rows{{1, 0, 0}, {2, 0, 0}, {7, 0, 0}}));
      EXPECT_EQ(*frame->labels.ids, (std::vector<std::int64_t>{1, 2, 7}));
      if (!labels) continue;
      std::string types;
      for (const std::int32_t word : frame->labels.types->of_atoms)
        types += frame->labels.types->words[static_cast<std::size_t>(word)];
      EXPECT_EQ(types, "ABA");
    }
  }
  const auto xyz = frames_in("2\nProperties=species:S:1:pos:R:3:id:I:1\nH 2 0 0 2\nO 1 0 0 1\n");
  EXPECT_EQ(rows_of(xyz.front().points), (Rows{{1, 0, 0}, {2, 0, 0}}));
  expect_contains(refusal_of(head + "1 A 1 0 0\n7 B 2 0 0\n1 A 7 0 0\n"), "t:6: two atoms of the frame have the id 1");
  expect_contains(refusal_of(head + "1 A 1 0 0\n1 B 2 0 0\n2 A 7 0 0\n"), "t:6: two atoms of the frame have the id 1");
  expect_contains(refusal_of("ITEM: NUMBER OF ATOMS\n1\nITEM: ATOMS x y z x\n1 2 3 4\n"),
                  "t:3: ITEM: ATOMS names two columns 'x'");
}

TEST(Trajectory, EverySpellingOfALattice) {
  for (const std::string comment :
       {"Lattice=\"5, 0, 0 0, 6, 0 0, 0, 8\" pbc=\"T T T\"", "Lattice=[[5,0,0],[0,6,0],[0,0,8]]",
        "Lattice=[5, 0, 0, 0, 6, 0, 0, 0, 8] a=1", "Lattice=\"[[5, 0, 0], [0, 6, 0], [0, 0, 8]]\"",
        "Lattice=\"5 0 0 0 6 0 0 0 8\" pbc=[T, T, T]", "pbc=[true, true, true] Lattice={5 0 0 0 6 0 0 0 8}",
        "pbc=\"1 1 1\" Lattice=\"5D0 0 0 0 0.6d+01 0 0 0 8.0D+00\"", "b=[[1, 2], [3]] Lattice=\"5 0 0 0 6 0 0 0 8\""}) {
    SCOPED_TRACE(comment);
    const std::vector<Frame> frames = frames_in("1\n" + comment + "\nH 1 2 3\n");
    EXPECT_EQ(frames.front().box, (std::vector{5., 6., 8.}));
    EXPECT_EQ(frames.front().periodic, "xyz");
  }
  EXPECT_EQ(frames_in("1\nLattice=[[5,0,0],[0,6,0],[0,0,8]] pbc=[T, F, T]\nH 1 2 3\n").front().periodic, "xz");
  expect_contains(unsupported("1\nLattice=[[5,0,0],[1,6,0],[0,0,8]]\nH 1 2 3\n"),
                  "t:2: Lattice is a list of lists that is not symmetric");
  EXPECT_EQ(rows_of(frames_in("1\n\nH 1.5D0 -2d-1 3D+01\n").front().points), (Rows{{1.5, -0.2, 30}}));
  expect_contains(refusal_of("1\n\nH 1D 2 3\n"), "'1D' is not a number");
}

TEST(Trajectory, GroNumbersThatFillTheirColumns) {
  const auto box = [](const std::string& line) {
    return frames_in("t\n1\n    1NA      NA    1   1.100   2.100   3.100\n" + line + "\n").front().box;
  };
  EXPECT_EQ(box("1000.000001000.000001000.00000"), (std::vector{1000., 1000., 1000.}));
  EXPECT_EQ(box(" 900.000001000.00000 800.00000"), (std::vector{900., 1000., 800.}));
  EXPECT_EQ(box("1000.000001000.000001000.00000   0.00000   0.00000-100.00000   0.00000   0.00000-100.00000"),
            (std::vector<double>{1000, 0, 0, -100, 1000, 0, 0, -100, 1000}));
  EXPECT_EQ(box("4 6 8"), (std::vector{4., 6., 8.}));
  expect_contains(refusal_of("t\n1\n    1NA      NA    1   1.100   2.100   3.100\n1.0.0 1.0 1.0\n"),
                  "t:4: the box has 4 numbers");
  const std::string stars = "t\n1\n*****NA      NA*****   1.100   2.100   3.100\n4 6 8\n";
  TrajectoryReader reader(bytes(stars), "t", {}, true);
  const std::optional<Frame> frame = reader.next();
  EXPECT_EQ(rows_of(frame->points), (Rows{{1.1, 2.1, 3.1}}));
  EXPECT_EQ(frame->labels.ids, nullptr);
}

std::vector<Frame> frames_of(const std::string& name) { return frames_in(content(corpus + "trajectory/" + name)); }

/// Expects the molecules of tests/fuzz/make_corpus.py, whose atoms 1 and 2 have the same place relative to atom 0.
void expect_molecules(const Frame& frame, std::int64_t molecules, double tolerance) {
  ASSERT_EQ(frame.points.rows(), 3 * molecules);
  const auto view = frame.points.view<double>();
  const double places[2][3] = {{0.096, 0, 0}, {-0.024, 0.093, 0}};
  for (std::int64_t atom = 0; atom < view.rows(); ++atom)
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const double place = atom % 3 == 0 ? 0 : places[atom % 3 - 1][axis];
      EXPECT_NEAR(view(atom, axis) - view(atom - atom % 3, axis), place, tolerance) << atom << ", " << axis;
    }
}

TEST(Trajectory, XtcFilesThatMdanalysisWrote) {
  const std::vector<Frame> waters = frames_of("water.xtc");
  ASSERT_EQ(waters.size(), 2u);
  for (const Frame& frame : waters) expect_molecules(frame, 30, 1e-14);
  EXPECT_NE(rows_of(waters[0].points), rows_of(waters[1].points));
  ASSERT_EQ(waters[0].box.size(), 9u);
  EXPECT_EQ(waters[0].box[0], 3.0);
  EXPECT_NEAR(waters[0].box[4], 3.25 * std::sin(100 / 180. * std::numbers::pi), 1e-6);
  EXPECT_EQ(waters[0].periodic, "xyz");
  EXPECT_EQ(rows_of(frames_of("large.xtc").at(0).points), rows_of(waters[0].points));
  expect_molecules(frames_of("few.xtc").at(1), 2, 1e-6);

  const std::vector<Frame> chain = frames_of("chain.xtc");
  const auto view = chain.at(0).points.view<double>();
  for (std::int64_t atom = 0; atom < 20; ++atom)
    for (std::int64_t axis = 0; axis < 3; ++axis)
      EXPECT_EQ(view(atom, axis), static_cast<double>(3 * atom + axis) / 1000);  // not a float, but the decimal number
  EXPECT_EQ(chain.at(0).box, (std::vector{9., 9., 9.}));

  const std::vector<Frame> wide = frames_of("wide.xtc");  // 30 µm long: each coordinate has its bits
  ASSERT_EQ(wide.at(0).points.rows(), 15);
  EXPECT_TRUE(wide[0].box.empty());
  const auto places = wide[0].points.view<double>();
  for (std::int64_t atom = 1; atom < 15; atom += 3) {
    EXPECT_NEAR(places(atom, 0) - places(atom - 1, 0), 960, 0.01);
    EXPECT_EQ(places(atom, 1), places(atom - 1, 1));
  }
}

TEST(Trajectory, DamagedXtc) {
  const std::string good = content(corpus + "trajectory/water.xtc");
  const auto with = [&](std::size_t place, std::uint32_t number) {
    std::string text = good;
    for (std::size_t byte = 0; byte < 4; ++byte) text[place + byte] = static_cast<char>(number >> (24 - 8 * byte));
    return text;
  };
  EXPECT_EQ(refusal_of(with(412, 1996)), "t: a frame of XTC begins with 1995 or 2023, not 1996 (byte 416)");
  EXPECT_EQ(refusal_of(with(4, 0xffffffff)), "t: -1 is not a number of atoms (byte 4)");
  EXPECT_EQ(refusal_of(with(52, 7)), "t: the frame has 90 atoms, and 7 positions (byte 56)");
  EXPECT_EQ(refusal_of(with(16, 0x7f800000)), "t: a number of the box is not finite (byte 16)");
  EXPECT_EQ(refusal_of(with(56, 0)), "t: the precision is 0, and must be above zero (byte 60)");
  expect_contains(refusal_of(with(84, 8)), "t: short atoms take 8 bits; 9 to 73 are possible");
  expect_contains(refusal_of(with(84, 74)), "t: short atoms take 74 bits");
  expect_contains(refusal_of(with(72, 0x80000000)), "t: the coordinates go from");
  expect_contains(refusal_of(with(88, 4000)), "t: the file is cut off in the positions");
  std::string many = with(4, 2'000'000'000);
  many.replace(52, 4, many, 4, 4);
  expect_contains(refusal_of(many), "t: 2000000000 atoms do not fit into 318 bytes");
  std::string more = with(4, 91);
  more.replace(52, 4, more, 4, 4);
  expect_contains(refusal_of(more), "t: ");
}

TEST(Trajectory, TrrFiles) {
  const std::vector<Frame> waters = frames_of("water.trr");
  ASSERT_EQ(waters.size(), 2u);
  for (const Frame& frame : waters) expect_molecules(frame, 3, 1e-6);
  EXPECT_EQ(waters[0].box.size(), 9u);
  const std::vector<Frame> frames = frames_of("double.trr");
  ASSERT_EQ(frames.size(), 2u) << "the frame of velocities alone is left out";
  for (const Frame& frame : frames) EXPECT_EQ(rows_of(frame.points), (Rows{{1, 2, 3}, {4, 5, 6.5}}));
  EXPECT_EQ(frames[0].box, (std::vector{9., 8., 7.}));
  EXPECT_TRUE(frames[1].box.empty());
  std::string text = content(corpus + "trajectory/double.trr");
  text[24 + 7 * 4 + 3] = 40;
  expect_contains(refusal_of(text), "t: 2 atoms do not take 40 bytes");
  text[3] = 1;
  expect_contains(message_of<InputError>([&] {
                    for (const TrajectoryFormat* format : trajectory_formats())
                      if (format->file.endings == ".trr") TrajectoryReader(bytes(text), "t", {}, false, format).next();
                  }),
                  "t: a frame of TRR begins with 1993, not 1793");
}

TEST(Trajectory, PdbFiles) {
  const std::string text = content(corpus + "trajectory/models.pdb");
  TrajectoryReader reader(bytes(text), "t", {}, true);
  const std::optional<Frame> first = reader.next();
  EXPECT_EQ(rows_of(first->points), (Rows{{1, 2, 3}, {2, 2, 3.5}}));
  EXPECT_EQ(first->labels.names->words, (std::vector<std::string>{"OW", "HW1"}));
  EXPECT_EQ(first->labels.elements->words, (std::vector<std::string>{"O", "H"}));
  EXPECT_EQ(first->labels.residues->words, (std::vector<std::string>{"SOL"}));
  EXPECT_EQ(*first->labels.ids, (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(first->box.size(), 9u);
  EXPECT_EQ(first->box[0], 20.0);
  const std::optional<Frame> second = reader.next();
  EXPECT_EQ(second->points.rows(), 1);
  EXPECT_EQ(second->box, first->box);
  EXPECT_FALSE(reader.next());

  const std::string plain = content(corpus + "trajectory/plain.pdb");
  TrajectoryReader of_plain(bytes(plain), "t", {}, true);
  const std::optional<Frame> frame = of_plain.next();
  EXPECT_EQ(frame->points.rows(), 2);
  EXPECT_TRUE(frame->box.empty());
  EXPECT_EQ(frame->labels.ids, nullptr);
  EXPECT_EQ(frame->labels.elements, nullptr);

  const std::vector<Frame> crystal = frames_of("crystal.pdb");
  ASSERT_EQ(crystal.size(), 2u);
  expect_contains(crystal[0].undecided_box, "t:1: the cell has the space group 'P 21 21 21'");
  EXPECT_TRUE(crystal[1].box.empty() && crystal[1].undecided_box.empty());

  const std::string atom = "ATOM      1  OW  SOL A   1       1.000   2.000   3.000\n";
  expect_contains(refusal_of(atom + "ATOM      1  OW  SOL A   1       1.000   2.000\n"),
                  "t:2: 46 characters, but 54 are needed for an atom");
  expect_contains(refusal_of("CRYST1   20.000   20.000   20.000  90.00 190.00  90.00 P 1\n" + atom),
                  "t:1: there is no cell with these lengths and angles");
  expect_contains(refusal_of("ATOM      1  OW  SOL A   1       1.0x0   2.000   3.000\n"),
                  "t:1: '1.0x0' is not a number");
  const std::string cell = "CRYST1   20.000   20.000   20.000  90.00  90.00  90.00 P 1\n";
  EXPECT_EQ(frames_in("MODEL        1\n" + cell + atom + "ENDMDL\n").at(0).box, (std::vector{20., 20., 20.}));
  expect_contains(refusal_of("MODEL        1\n" + atom + "ENDMDL\n" + cell + "MODEL        2\n" + atom + "ENDMDL\n"),
                  "t:4: CRYST1 follows the first model");
  const std::string late = atom + "END\n" + cell + atom + "END\n";
  expect_contains(message_of<InputError>([&] { TrajectoryReader(bytes(late), "t").next(); }), "t:3: CRYST1 follows");
  EXPECT_EQ(frames_in("REMARK\n\n" + atom + "END\n\n" + atom + "\n\nMASTER\n").size(), 2u);
}

TEST(Trajectory, BoxesAloneAreThoseOfTheFrames) {
  for (const std::string name : {"extended.xyz", "lammps.dump", "triclinic.dump", "triclinic.xyz", "water.gro",
                                 "charmm.dcd", "big.dcd", "water.xtc", "water.trr", "double.trr", "models.pdb"}) {
    SCOPED_TRACE(name);
    const std::string text = content(corpus + "trajectory/" + name);
    TrajectoryReader whole(bytes(text), "t");
    TrajectoryReader boxes(bytes(text), "t");
    while (const std::optional<Frame> frame = whole.next()) {
      const std::optional<Frame> box = boxes.next(FrameParts::box);
      ASSERT_TRUE(box);
      EXPECT_EQ(box->box, frame->box);
      EXPECT_EQ(box->box_origin, frame->box_origin);
      EXPECT_EQ(box->periodic, frame->periodic);
      EXPECT_EQ(box->points.rows(), 0);
    }
    EXPECT_FALSE(boxes.next(FrameParts::box));
  }
}

TEST(Trajectory, AFileThatEndsInsideAFrame) {
  const std::string xyz = "1\n\nH 1 2 3\n1\n\n";
  const std::string dump = "ITEM: NUMBER OF ATOMS\n1\nITEM: ATOMS x y z\n1 2 3\nITEM: NUMBER OF ATOMS\n1\n";
  const std::string gro = "t\n1\n    1NA      NA    1   1.100   2.100   3.100\n4 6 8\nt\n1\n";
  std::string dcd = content(corpus + "trajectory/charmm.dcd");
  dcd.pop_back();
  std::string pdb = content(corpus + "trajectory/models.pdb");
  pdb.resize(pdb.rfind("ENDMDL"));
  std::vector<std::string> texts = {xyz, dump, gro, dcd, pdb};
  for (const char* name : {"water.xtc", "few.xtc", "wide.xtc", "water.trr", "double.trr"}) {
    texts.push_back(content(corpus + "trajectory/" + name));
    texts.back().pop_back();
  }
  for (const std::string& text : texts)
    for (const FrameParts parts : {FrameParts::none, FrameParts::box, FrameParts::all}) {
      TrajectoryReader reader(bytes(text), "t");
      message_of<CutFrameError>([&] {
        while (reader.next(parts)) continue;
      });
    }
  // A frame with too few atoms does not consume the next frame.
  const std::string damaged = "ITEM: NUMBER OF ATOMS\n3\nITEM: ATOMS x y z\n1 2 3\nITEM: NUMBER OF ATOMS\n1\n";
  TrajectoryReader reader(bytes(damaged), "t");
  EXPECT_EQ(message_of<InputError>([&] { reader.skip(); }), "t:5: the frame claims 3 atoms and has 1");
}

TEST(Trajectory, EveryLatticeThatIsNotAlongTheAxesIsTriclinic) {
  for (const std::string lattice : {"0 5 0 6 0 0 0 0 7",  // permuted
                                    "0 5 0 0 0 6 7 0 0", "0 0 5 0 6 0 7 0 0",
                                    "0 2.5 2.5 2.5 0 2.5 2.5 2.5 0",  // face-centred
                                    "-2 2 2 2 -2 2 2 2 -2",           // body-centred
                                    "5 0 0 -2.5 4.33 0 0 0 7",        // hexagonal
                                    "5 0 0 0 6 0 1e-10 0 7"}) {
    SCOPED_TRACE(lattice);
    EXPECT_EQ(frames_in("1\nLattice=\"" + lattice + "\"\nH 1 2 3\n").front().box.size(), 9u);
    EXPECT_EQ(frames_in("1\npbc=F Lattice=\"" + lattice + "\"\nH 1 2 3\n").front().periodic, "");
  }
  expect_contains(refusal_of("1\nLattice=\"0 0 0 1e-300 0 0 0 0 0\"\nH 1 2 3\n"), "t:2: the three vectors");
  for (const std::string lattice : {"5 0 0 0 0 0 0 0 7", "-5 0 0 0 6 0 0 0 7", "0 0 0 0 0 0 0 0 0"})
    expect_contains(refusal_of("1\nLattice=\"" + lattice + "\"\nH 1 2 3\n"),
                    "t:2: a length of the lattice is not positive");
}

TEST(Trajectory, OrthogonalBoxesInEveryWriting) {
  const std::vector box{5., 6., 8.};
  const std::vector corner{-1., 0., 0.25};
  for (const std::string comment :
       {"Lattice=\"5 0 0 0 6 0 0 0 8\"", "Lattice=\"5 1e-17 -3.06e-16 0 6 4.9e-324 5e-12 0 8\" pbc=T",
        "pbc=True lattice = '5 0 0 0 6 0 0 0 8'", "a=1 Lattice= {5 0 0 0 6 0 0 0 8} pbc=\"T true T\"",
        "a= Lattice=\"5 0 0 0 6 0 0 0 8\"", "a = b Lattice=\"5 0 0 0 6 0 0 0 8\""}) {
    SCOPED_TRACE(comment);
    const std::vector<Frame> frames = frames_in("1\n" + comment + " Origin=\"-1 0 0.25\"\nH 1 2 3\n");
    EXPECT_EQ(frames.front().box, box);
    EXPECT_EQ(frames.front().box_origin, corner);
  }
  for (const std::string bounds :
       {"pp pp pp\n-1 4\n0 6\n0.25 8.25\n", "xy xz yz pp pp pp\n-1 4 0\n0 6 0.0\n0.25 8.25 -0\n",
        "xy xz yz pp pp pp\n-1 4 1e-17\n0 6 -4e-12\n0.25 8.25 0\n",
        "abc origin pp pp pp\n5 0 0 -1\n0 6 0 0\n0 0 8 0.25\n",
        "abc origin pp pp pp\n5 0 1e-17 -1\n3e-16 6 0 0\n0 0 8 0.25\n"}) {
    SCOPED_TRACE(bounds);
    const std::vector<Frame> frames =
        frames_in("ITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS " + bounds + "ITEM: ATOMS xsu ysu zsu\n0.5 2 0.25\n");
    EXPECT_EQ(frames.front().box, box);
    EXPECT_EQ(frames.front().box_origin, corner);
    EXPECT_EQ(rows_of(frames.front().points), (Rows{{1.5, 12, 2.25}}));
  }
  // The tolerance is relative to the shortest edge. The shortest edge is 5, so the tolerance is 5e-12.
  EXPECT_EQ(frames_in("1\nLattice=\"5 0 0 0 6 0 5.1e-12 0 8\"\nH 1 2 3\n").front().box.size(), 9u);
  // In open space a tilted box matters only for scaled coordinates. Here the first edge of the box goes from x = 0 to
  // 3, and the second edge is (1, 6, 0).
  const std::string open = "ITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS xy xz yz ff ff ff\n0 4 1\n0 6 0\n0 8 0\n";
  EXPECT_EQ(frames_in(open + "ITEM: ATOMS x y z\n1 2 3\n").front().periodic, "");
  EXPECT_EQ(rows_of(frames_in(open + "ITEM: ATOMS xs ys zs\n1 0.5 0\n").front().points), (Rows{{3.5, 3, 0}}));
}

TEST(Trajectory, ABoxOfUnknownBoundariesIsLeftOpen) {
  const std::string head = "ITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS";
  const std::string rest = "\n0 4\n0 6\n0 8\nITEM: ATOMS xs ys zs\n0.5 0.5 0.5\n";
  const std::vector<Frame> frames = frames_in(head + rest);
  EXPECT_EQ(frames.front().box, (std::vector{4., 6., 8.}));
  EXPECT_EQ(frames.front().periodic, "");
  EXPECT_EQ(rows_of(frames.front().points), (Rows{{2, 3, 4}}));
  expect_contains(frames.front().undecided_box, "t:3: ITEM: BOX BOUNDS does not say whether the box is periodic");
  EXPECT_EQ(frames_in(head + " ff ff ff" + rest).front().undecided_box, "");
  EXPECT_EQ(frames_in(head + " pp pp pp" + rest).front().undecided_box, "");
  expect_contains(refusal_of(head + " pp pp" + rest), "t:3: three boundaries are expected, not 2");
  expect_contains(refusal_of(head + " pp pp xx" + rest), "t:3: 'xx' is not the kind of a boundary");
  expect_contains(refusal_of(head + " xy xz pp pp pp" + rest), "t:3: 'xy' is not the kind of a boundary");
  expect_contains(refusal_of(head + " abc origin pp pp pp" + rest),
                  "t:4: 4 numbers are expected for the bounds, not 2");
  expect_contains(frames_in("1\npbc=T\nH 1 2 3\n").front().undecided_box, "t:2: pbc says that the frame is periodic");
  EXPECT_EQ(frames_in("1\npbc=\"F F F\"\nH 1 2 3\n").front().undecided_box, "");
}

TEST(Trajectory, EveryFormatIsKnownByItsNames) {
  std::set<std::string> all;
  for (const TrajectoryFormat* format : trajectory_formats()) {
    EXPECT_FALSE(format->file.name.empty() || format->file.rules.empty() || format->file.endings.empty());
    EXPECT_NE(format->of_text == nullptr, format->of_bytes == nullptr) << format->file.name;
    EXPECT_EQ(format->file.may_be_packed, format->of_text != nullptr) << format->file.name;
    std::istringstream endings{std::string(format->file.endings)};
    for (std::string ending; endings >> ending;) {
      EXPECT_TRUE(ending.starts_with('.') && all.insert(ending).second) << ending;
      EXPECT_EQ(named_trajectory("run" + ending), format) << ending;
      EXPECT_EQ(named_trajectory("run" + ending + ".gz"), format->of_text != nullptr ? format : nullptr) << ending;
      EXPECT_NE(endings_for(Reader::frames).find(ending), std::string::npos) << ending;
    }
  }
  EXPECT_EQ(named_trajectory("run.csv"), nullptr);
}

class TrajectoryFile : public tests::FolderTest {};

TEST_F(TrajectoryFile, FramesOfAnyFileOfPoints) {
  FrameReader trajectory(put("t.XYZ", "1\n\nH 1 2 3\n1\n\nH 0.1 5 6\n"), {.type = ElementType::f32, .stop = {}});
  EXPECT_TRUE(trajectory.is_trajectory());
  EXPECT_EQ(rows_of(trajectory.next()->points), (Rows{{1, 2, 3}}));
  EXPECT_EQ(rows_of(trajectory.next()->points), (Rows{{0.1f, 5, 6}}));
  EXPECT_FALSE(trajectory.next());
  EXPECT_FALSE(trajectory.next());
  FrameReader table(put("t.csv", "1,2\n3,4\n"));
  EXPECT_FALSE(table.is_trajectory());
  EXPECT_EQ(rows_of(table.next()->points), (Rows{{1, 2}, {3, 4}}));
  EXPECT_FALSE(table.next());
  std::stop_source stop;
  FrameReader stopped(put("u.xyz", "1\n\nH 1 2 3\n"), {.type = {}, .stop = stop.get_token()});
  stop.request_stop();
  EXPECT_THROW(stopped.next(), InterruptedError);
}

TEST_F(TrajectoryFile, NoReaderOfPointsTakesThem) {
  const std::string file = put("a.xyz", "1 2\n");
  expect_contains(message_of<InputError>([&] { read_points(file); }), "trajectory");
  EXPECT_FALSE(is_table(file));
  EXPECT_FALSE(is_npy(file));
  expect_contains(message_of<InputError>([&] { read_points(put("b.bin", "1 2\n")); }),
                  "trajectories read .xyz, .extxyz, .lammpstrj, .dump, .lammpsdump, .gro, .dcd, .xtc, .trr, .pdb and "
                  ".ent");
}

}  // namespace
}  // namespace gradus::files
