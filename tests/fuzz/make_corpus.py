"""Writes the fuzzers' seeds into corpus/. Some seeds are also fixtures of src/files/*_test.cpp.

All contents are made here, from numbers of this script, and have the licence of the project. Needs numpy, h5py, Pillow and
MDAnalysis. Run this script only to add a kind of file. In the pictures, the pixel (x, y) has the values (40
x + 10 y, 200 - 30 x - 20 y, 90 + 5 x y) and the opacity 255 - 60 x, for 0 <= x < 5 and 0 <= y < 3."""
import gzip
import io
import pathlib
import struct
import zipfile
import zlib

import h5py
import numpy as np
from PIL import Image

corpus = pathlib.Path(__file__).parent / "corpus"
y, x = np.mgrid[0:3, 0:5]
red, green, blue, opacity = 40 * x + 10 * y, 200 - 30 * x - 20 * y, 90 + 5 * x * y, 255 - 60 * x


def put(name, content):
    (corpus / name).parent.mkdir(exist_ok=True)
    (corpus / name).write_bytes(content)


# ---- .npy ----

def put_npy(name, array, version=None):
    with open(corpus / "npy" / name, "wb") as file:
        np.lib.format.write_array(file, array, version)


ramp = np.arange(6).reshape(2, 3)
for kind in ["<f2", "<f4", "<f8", ">f4", ">f8", "i1", "<i2", "<i4", "<i8", ">i8", "u1", "<u2", "<u4", "<u8", "?"]:
    put_npy(kind.replace("<", "little_").replace(">", "big_").replace("?", "bool") + ".npy", ramp.astype(kind))
put_npy("fortran.npy", np.asfortranarray(ramp.astype("<f4")))
put_npy("vector.npy", np.arange(5.0))
put_npy("empty.npy", np.zeros((0, 3)))
put_npy("cube.npy", np.arange(12, dtype="<f4").reshape(2, 3, 2))
put_npy("fortran_cube.npy", np.asfortranarray(np.arange(12, dtype="<i8").reshape(2, 1, 6)))
put_npy("scalar.npy", np.array(2.5))
put_npy("version_2.npy", ramp.astype("<f4"), (2, 0))
put_npy("version_3.npy", ramp.astype("<f8"), (3, 0))
put_npy("structured.npy", np.zeros(2, [("a", "<f4"), ("b", "<i4")]))

# ---- .npz ----


def put_npz(name, save, **arrays):
    target = io.BytesIO()
    save(target, **arrays)
    put("npz/" + name, target.getvalue())


put_npz("stored.npz", np.savez, x=ramp.astype("<f8"))
put_npz("deflated.npz", np.savez_compressed, x=ramp.astype("<f4"), y=np.arange(3), z=np.zeros((0, 2)))
with zipfile.ZipFile(corpus / "npz/comment.npz", "w") as archive:
    archive.writestr(zipfile.ZipInfo("x.npy"), (corpus / "npy/little_f4.npy").read_bytes())
    archive.writestr(zipfile.ZipInfo("readme.txt"), "no array")
    archive.comment = b"a comment"


def zip64(name, content):
    """Returns an archive in the form that the zipfile module writes above 4 GiB: all numbers are in the 64-bit
    fields."""
    checksum, size, none = zlib.crc32(content), len(content), 0xFFFFFFFF
    extra = struct.pack("<HHQQQ", 1, 24, size, size, 0)
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 33, checksum, none, none, len(name), 20)
    local += name + struct.pack("<HHQQ", 1, 16, size, size) + content
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 33, checksum, none, none, len(name), len(extra),
                        0, 0, 0, 0, none) + name + extra
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(entry), len(local))
    locator = struct.pack("<IIQI", 0x07064B50, 0, len(local) + len(entry), 1)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, none, none, 0)
    return local + entry + end64 + locator + end


put("npz/zip64.npz", zip64(b"x.npy", (corpus / "npy/little_f8.npy").read_bytes()))

# ---- Vectors ----

for ending, kind in {"fvecs": "<f4", "bvecs": "u1", "ivecs": "<i4"}.items():
    put("texmex/two." + ending, b"".join(struct.pack("<i", 3) + row.astype(kind).tobytes() for row in ramp))
put("texmex/uneven.ivecs", struct.pack("<7i", 2, 1, 2, 3, 1, 2, 3))
for ending, kind in {"fbin": "<f4", "u8bin": "u1", "i8bin": "i1"}.items():
    put("big_ann/two." + ending, struct.pack("<II", 2, 3) + ramp.astype(kind).tobytes())


def put_safetensors(name, header, data):
    header += b" " * (-len(header) % 8)
    put("safetensors/" + name, struct.pack("<Q", len(header)) + header + data)


put_safetensors("one.safetensors", b'{"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}', ramp.astype("<f4").tobytes())
put_safetensors("types.safetensors", b'{"__metadata__":{"format":"pt"},"x":{"dtype":"BF16","shape":[2,1],"data_offsets":[16,20]},'
    b'"y":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},"z\\"\\u00e9":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[20,20]}}',
    struct.pack("<qqHH", 1, -2, 0x3f80, 0xc000))

# ---- HDF5 ----


def put_hdf5(name, libver="earliest", **options):
    (corpus / "hdf5").mkdir(exist_ok=True)
    return h5py.File(corpus / "hdf5" / name, "w", libver=(libver, libver) if libver != "earliest" else libver, **options)


for kind in ["<f2", "<f4", "<f8", ">f4", ">f8", "i1", "<i2", "<i4", "<i8", ">i8", "u1", "<u2", "<u4", "<u8", "?"]:
    with put_hdf5(kind.replace("<", "little_").replace(">", "big_").replace("?", "bool") + ".h5") as file:
        file["x"] = ramp.astype(kind)
bfloat16 = h5py.h5t.py_create(np.dtype("<f4")).copy()
bfloat16.set_fields(15, 7, 8, 0, 7)
bfloat16.set_ebias(127)
bfloat16.set_size(2)
with put_hdf5("bfloat16.h5") as file:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    h5py.h5d.create(file.id, b"x", bfloat16, h5py.h5s.create_simple((2, 3)), properties).write(
        h5py.h5s.ALL, h5py.h5s.ALL, ramp.astype("<f4"))
for kind in ["<f2", ">f2", "<f4", ">f4", ">f8", "u1", "<i8"]:
    with put_hdf5("chunked_" + kind.replace("<", "little_").replace(">", "big_") + ".h5") as file:
        file.create_dataset("x", data=ramp.astype(kind), chunks=(1, 2), compression="gzip", shuffle=True, fletcher32=True)
for libver in ["v108", "v110"]:
    with put_hdf5(libver + ".h5", libver) as file:
        file.create_dataset("group/x", data=ramp.astype("<f4"))
        file.create_dataset("group/y", data=ramp.astype("<f4"), chunks=(2, 3), maxshape=(None, 3))
with put_hdf5("datasets.h5", userblock_size=512) as file:
    file["train"] = ramp.astype("<f4")
    file["group/vector"] = np.arange(5.0)
    file["text"] = np.array([b"a", b"b"])
    file["cube"] = np.zeros((2, 3, 2), "<f4")
    file["scalar"] = 2.5
    file["none"] = np.zeros((0, 3))
    file["link"] = h5py.SoftLink("/train")
    file.create_dataset("unwritten", (2, 3), "<f4", fillvalue=7)
    parts = h5py.VirtualLayout((2, 3), "<f4")
    parts[:] = h5py.VirtualSource("other.h5", "x", (2, 3))
    file.create_virtual_dataset("virtual", parts)
    file.create_dataset("external", (2, 3), "<f4", external="other.bin")
    file.create_dataset("compact", data=np.zeros((2, 0)))

# ---- CSV ----

put("csv/plain.csv", b"1,2.5,-3e-2\n4,5,6\n")
put("csv/header.csv", b'\xef\xbb\xbfx,"y, ""quoted""\nin two lines",z\r\n1,"2",+3\r\n\r\n')
put("csv/tabs.csv", b"a\tb\n1\t2\n3\t4\n")
put("csv/semicolons.csv", b"# comment\n1;2;3\n4 ; 5 ; 6\n# more\n7;8;9")
put("csv/blanks.csv", b"  1  2.25 3\n4 5 6  \n\n\n")
put("csv/ragged.csv", b"1,2\n3\n")
put("csv/counted.csv", b"0,1,2\n5,6,9\n3,1,2\n")
put("csv/years.csv", b"1990;1991;1995\n1;2;3\n")
put("csv/mixed.csv", b"id,2019,N/A\n1,2,3\n")
put("csv/quoted_numbers.csv", b'"1","5"\n"3.5","4"\n')
put("csv/ordinals.csv", b"1st,2nd,18-24\n1,2,3\n")
put("csv/broken_row.csv", b"1.5,0x10,1'000,1D3,<5,5%\n1,2,3,4,5,6\n")
put("csv/signs.csv", "\u22125,\u20ac5,\u00b5m,\u0394x\n1,2,3,4\n".encode())
put("csv/quotes.csv", b'1,2\n3,"4 ""x"", 5"y\n')
put("csv/spreadsheet.csv", b"1,2\n#N/A,3\n")
put("csv/carriage_returns.csv", b"1,2\r3,4\r")
put("csv/array.csv", b"\x93NUMPY\x01\x00")
put("csv/text_column.csv", b"sepal,petal,species\n5.1,1.4,setosa\n4.9,1.3,setosa\n")
put("csv/pandas.csv", b',x,y\n0,1.5,2\n1,2.5,3\n2,4.5,"7"\n')
put("csv/write_csv.csv", b'"","x","name"\n"1",0.5,"a, ""b"""\n"2",0.25,"new\nline"\n')
put("csv/write_table.txt", b'"x" "y"\n"1" 0.5 3\n"2" 0.25 1\n')
put("csv/decimal_commas.csv", "gr\u00f6\u00dfe;b\r\n1,5;2\r\n3;-4,25e1\r\n".encode())
put("csv/groups.csv", b'a,b\n"1,234,567","1,5"\n"12","1,234.5"\n')
put("csv/points_as_groups.csv", b"a;b\n1.234,5;2\n12;1.000.000\n")
put("csv/years_first.csv", b"year,a\n2001,3\n2002,5\n2004,4\n2005,1\n2006,6\n")
put("csv/extremes.csv", b"1e308 4.9e-324\n1e-400 123456789012345678901234567890\n")

# ---- Trajectories ----

put("trajectory/two_frames.xyz", b"2\nwater\nO 0 0 0.5\nH 1.5 -2e-1 3\n1\n\nH 1 2 3 extra\n\n")
put("trajectory/extended.xyz", b'2\nProperties=id:I:1:pos:R:3:species:S:1 Lattice="5 0 0 0 6 0 0 0 7" Origin="-1 0 1" '
    b'pbc="T T T" note=x\n7 1 2 3 Ar\n8 4.5 5.5 6.5 Ar\n')
put("trajectory/triclinic.xyz", b'1\nlattice="5 0 0 1 6 0 0 0 7"\nH 1 2 3\n')
put("trajectory/lammps.dump", b"ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n-1 4\n0 6\n0 7\n"
    b"ITEM: ATOMS id type x y z vx\n2 1 0.5 1 2 9\n1 1 3 4 5 9\n"
    b"ITEM: TIMESTEP\n10\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS ff ff ff\n0 4\n0 6\n0 7\nITEM: ATOMS xs ys zs\n"
    b"0.25 0.5 1\n")
put("trajectory/braces.xyz", b"1\npbc = T Lattice = {5 1e-17 0 0 6 0 0 0 7} a= b=c\nH 1 2 3\n")
put("trajectory/permuted.xyz", b'1\nLattice="0 5 0 6 0 0 0 0 7" pbc="True true T"\nH 1 2 3\n')
put("trajectory/no_lattice.xyz", b'1\npbc="T T T"\nH 1 2 3\n')
put("trajectory/tilts_of_zero.dump", b"ITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS xy xz yz pp pp pp\n"
    b"0 4 0\n0 6 1e-17\n0 7 0\nITEM: ATOMS xsu ysu zsu\n1 2 3\n")
put("trajectory/general.dump", b"ITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS abc origin pp pp pp\n"
    b"4 0 0 -1\n0 6 0 0\n0 0 7 0\nITEM: ATOMS x y z\n1 2 3\n")
put("trajectory/no_flags.dump", b"ITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS\n0 4\n0 6\n0 7\nITEM: ATOMS xs ys zs\n0 0 1\n")
put("trajectory/triclinic.dump", b"ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS xy xz yz pp pp pp\n"
    b"0 4 1\n0 6 0\n0 7 0\nITEM: ATOMS x y z\n1 2 3\n")

put("trajectory/water.gro", b"water t= 0.5\n    2\n    1SOL     OW    1   0.100   0.100   0.100  0.1  0.2  0.3\n"
    b"    1SOL    HW1    2   0.200   0.100   0.100\n   2.0   2.0   2.0 0 0 0.5 0 0.5 -0.5\n")
put("trajectory/open.gro", b"\n1\n    1NA      NA    1   1.10   2.10   3.10\n 0 0 0\n")


def dcd(order, cell, frames, version=24, fixed=0):
    def record(content):
        length = struct.pack(order + "i", len(content))
        return length + content + length

    numbers = [frames, 0, 1, 0, 0, 0, 0, 0, fixed, 0, 0 if cell is None else 1] + [0] * 8 + [version]
    parts = [record(b"CORD" + struct.pack(order + "20i", *numbers)), record(struct.pack(order + "i", 1) + b" " * 80),
             record(struct.pack(order + "i", 2))]
    for frame in range(frames):
        parts += [] if cell is None else [record(struct.pack(order + "6d", *cell))]
        parts += [record(struct.pack(order + "2f", axis, axis + frame + 0.5)) for axis in range(3)]
    return b"".join(parts)


put("trajectory/little.dcd", dcd("<", (9, 90, 8, 90, 90, 7), 2))
put("trajectory/big.dcd", dcd(">", (9, 0.5, 8, 0.25, -0.25, 7), 1))
put("trajectory/huge.dcd", dcd("<", (9, 90.25, 8, 90, 90, 1e257), 1))
put("trajectory/open.dcd", dcd("<", None, 1))
put("trajectory/charmm.dcd", dcd("<", (9, 0.5, 8, 0.25, -0.25, 7), 1, version=35))
put("trajectory/fixed.dcd", dcd("<", None, 1, fixed=1))
put("trajectory/matrix.dcd", dcd("<", (9, 1.5, 8, 1.25, -1.125, 7), 1, version=36))
put("trajectory/lists.xyz", b"1\nLattice=[[5,0,0],[0,6,0],[0,0,7]] pbc=[T, T, F] b=[[1]\nH 1.0D0 2 3\n")
put("trajectory/slab.xyz", b'1\nLattice="5, 1, 0 0, 6, 0 0, 0, 0" pbc="1 1 0"\nH 1 2 3\n')
put("trajectory/unsorted.dump", b"ITEM: NUMBER OF ATOMS\n3\nITEM: BOX BOUNDS pp ff pp\n0 4\n0 0\n0 7\nITEM: ATOMS x id z type y\n"
    b"1 7 3 A 2\n4 3 6 B 5\n7 5 9 A 8\n")
put("trajectory/filled.gro", b"t\n1\n*****NA      NA*****   1.100   2.100   3.100\n1000.000001000.000001000.00000\n")

# ---- Trajectories of Gromacs ----
# MDAnalysis writes these files from the coordinates below, so that the reader and the writer share no code.


def gromacs(name, frames, dimensions, **more):
    """Writes frames (in nm) with a cell (lengths in nm, angles in degrees)."""
    import MDAnalysis

    universe = MDAnalysis.Universe.empty(len(frames[0]), trajectory=True, velocities="velocities" in more)
    path = corpus / "trajectory" / name
    with MDAnalysis.Writer(str(path), len(frames[0]), **{key: value for key, value in more.items() if key == "precision"}) as writer:
        for number, points in enumerate(frames):
            universe.atoms.positions = 10 * points
            if "velocities" in more:
                universe.atoms.velocities = 10 * more["velocities"]
            universe.dimensions = None if dimensions is None else [*(10 * np.array(dimensions[:3])), *dimensions[3:]]
            universe.trajectory.ts.frame = number
            writer.write(universe.atoms)
    return path.read_bytes()


def water(molecules, frames, length):
    """Returns frames of molecules of three atoms, in integers of pm."""
    random = np.random.default_rng(3)
    place = random.integers(0, 1000 * length, (frames, molecules, 1, 3))
    return (place + np.array([[0, 0, 0], [96, 0, 0], [-24, 93, 0]])).reshape(frames, -1, 3) / 1000


waters = gromacs("water.xtc", water(30, 2, 3), (3, 3.25, 3.5, 80, 75, 100))
put("trajectory/large.xtc", b"".join(  # the same first frame, with a size of 64 bits
    (struct.pack(">i", 2023), waters[4:88], bytes(4), waters[88 : len(waters) // 2 - len(waters) // 2 % 4])))
gromacs("few.xtc", water(2, 2, 3), (3, 3, 3, 90, 90, 90))
gromacs("wide.xtc", water(5, 1, 3) * [1e4, 1, 1], None)
gromacs("chain.xtc", np.arange(60).reshape(1, 20, 3) / 1000, (9, 9, 9, 90, 90, 90), precision=4)
gromacs("water.trr", water(3, 2, 3), (3, 3.25, 3.5, 80, 75, 100), velocities=np.zeros((9, 3)))


def trr(kind, sizes, atoms, numbers):
    """Returns a frame of TRR with numbers of the kind "f" or "d"."""
    return (struct.pack(">iii12s", 1993, 13, 12, b"GMX_trn_file") + struct.pack(">10i", *sizes) + struct.pack(">iii", atoms, 0, 0) +
            struct.pack(f">{2 + len(numbers)}{kind}", 0, 0, *numbers))


put("trajectory/double.trr", trr("d", (0, 0, 72, 0, 0, 0, 0, 48, 0, 0), 2, (9, 0, 0, 0, 8, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6.5)) +
    trr("f", (0, 0, 0, 0, 0, 0, 0, 0, 24, 0), 2, range(6)) + trr("f", (0, 0, 0, 0, 0, 0, 0, 24, 0, 0), 2, (1, 2, 3, 4, 5, 6.5)))

# ---- PDB ----
ATOM = "ATOM  {:>5} {:<4} {:<3} A{:>4}    {:8.3f}{:8.3f}{:8.3f}  1.00  0.00          {:>2}\n"
oxygen, hydrogen = ATOM.format(1, " OW", "SOL", 1, 1, 2, 3, "O"), ATOM.format(2, " HW1", "SOL", 1, 2, 2, 3.5, "H")
put("trajectory/models.pdb", ("TITLE     water\nCRYST1   20.000   21.000   22.000  90.00  80.00 100.00 P 1           1\nMODEL        1\n" +
    oxygen + hydrogen + "TER\nENDMDL\nMODEL        2\n" + hydrogen.replace("HW1", "OH1") + "ENDMDL\nEND\n").encode())
put("trajectory/plain.pdb", (oxygen[:54] + "\n" + hydrogen.replace("    2", "*****", 1).replace("ATOM  ", "HETATM")[:54] + "\n").encode())
put("trajectory/crystal.pdb", ("CRYST1   20.000   20.000   20.000  90.00  90.00  90.00 P 21 21 21    4\n" + oxygen + "END\n" +
    "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n" + hydrogen + "END\nCONECT    1    2\n").encode())
(corpus / "atom_selection").mkdir(exist_ok=True)
put("atom_selection/words", b"type O,H and not (element N or name H)")
put("atom_selection/numbers", b"id 7-9, 70 or index 0-2")
put("atom_selection/all", b"all")

# ---- Graphs ----

put("dimacs/plain.gr", b"c roads\np sp 4 3\na 1 2 5\nc\na 4 3 -7\n\na 2 2 0\n")
put("dimacs/decimals.gr", b"p sp 2 3\r\na 1 2 9223372036854775807\r\na 2 1 1e-3\r\na 1 1 0000000000000000000000.5")
put("dimacs/two_headers.gr", b"p sp 2 1\na 1 2 3\np sp 2 1\n")
put("dimacs/truncated.gr", b"p sp 2147483647 9223372036854775806\na 2147483647 1 3\na 1 4294967297")
put("dimacs/packed.gr.gz", gzip.compress(b"p sp 2 1\na 1 2 3\n", mtime=0))
put("matrix_market/coordinate.mtx", b"%%MatrixMarket matrix coordinate integer general\n% roads\n3 3 2\n1 2 5\n\n3 1 -6\n")
put("matrix_market/real.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 5.5e-1\n3 3 -6\n")
put("matrix_market/pattern.mtx", b"%%matrixmarket MATRIX coordinate pattern symmetric\n3 3 2\n2 1\n3 3")
put("matrix_market/skew.mtx", b"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 1 -6\n")
put("matrix_market/array.mtx", b"%%MatrixMarket matrix array real general\n2 2\n0\ninf\n3\n4\n")
put("matrix_market/array_skew.mtx", b"%%MatrixMarket matrix array double skew-symmetric\n3 3\n1\n-2\n3\n")
put("matrix_market/huge.mtx", b"%%MatrixMarket matrix array integer symmetric\n2147483647 2147483647\n1\n")
put("edge_list/plain.txt", b"# roads\n1 2 5\n% more\n4\t3  -7\n\n0 1 2.5\n")
put("edge_list/commas.csv", b'\xef\xbb\xbfsource,target,weight\r\n1,"2",5\r\n"4",3 , "6"\r\n')
put("edge_list/names.csv", b'home,"New ""York""",1\nNew York , home,2\n12,012,3\n')
put("edge_list/semicolons.csv", b"a;b\nc;a\n")
put("edge_list/tabs.tsv", b"from\tto\nNew York\tBoston\n")
put("edge_list/carriage_returns.csv", b"\xef\xbb\xbfsou\xff\xffsou" + 8 * b"\xff" + b"et,weight\r\r\n")
put("edge_list/mixed.txt", b"1 2\na 3\n2147483647 1\n-1 2\n")
put("gzip/text", b"p sp 2 1\na 1 2 3\n")
put("gzip/packed", gzip.compress(b"1 2\n", mtime=0) + gzip.compress(b"2 3\n", mtime=0) + b"\0\0")

# ---- Life ----

put("life_rle/glider.rle", b"#N Glider\n#CXRLE Pos=-1,-1 Gen=3\nx = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n")
put("life_rle/torus.rle", b"x = 2, y = 9, rule = b36/s23:T64,48\r\n2o7$\r\n2o$!\r\nnothing\n")
put("life_rle/dead.rle", b"x=3,y=1,rule=23/3:P8\n.A.!")
put("life_rle/far.rle", b"x = 1152921504606, y = 1099511627776\n1099511627770bo1099511627775$o!\n")
put("life_rle/long.rle", b"x = 99999999, y = 2\n99999999o$o!\n")
put("life_rle/split.rle", b"x = 30, y = 1\n2\n3o!\n")
put("life_rle/overflow.rle", b"x = 3, y = 3\n18446744073709551617o!\n")
put("life_macrocell/glider.mc", b"[M2] (golly 3.3)\n#R B3/S23\n#G 4\n$$$$$$$.*$\n..*$****$\n4 0 1 0 2\n")
put("life_macrocell/torus.mc", b"[M2]\n#R B3/S23:T20,30\n#C text\n*$\n4 1 1 1 1\n5 2 0 2 0\n6 3 3 3 3\n")
put("life_macrocell/high.mc", b"[M2]\n*$\n" + b"".join(b"%d %d 0 0 0\n" % (n, n - 3) for n in range(4, 121)))
put("life_macrocell/states.mc", b"[M2]\n1 0 1 2 3\n")
put("life_macrocell/forward.mc", b"[M2]\n4 0 2 0 0\n4 1 1 1 1\n")
put("life_plaintext/glider.cells", b"!Name: Glider\n!\n.O\n..O\nOOO\n")
put("life_plaintext/ragged.cells", b"\n\n....*\r\n*\n")
put("life_105/glider.lif", b"#Life 1.05\n#D text\n#N\n#P -1 -1\n.*\n..*\n***\n#P\n*.*\n")
put("life_105/rule.lif", b"#Life 1.05\r\n#R 23/36\r\n#P 9 -9\r\n**\r\n")
put("life_106/glider.lif", b"#Life 1.06\n0 -1\n1 0\n-1 1\n0 1\n1 1\n")
put("life_106/far.lif", b"#Life 1.06\n1152921504606846976 0\n-1152921504606846976 -7\n#x\n\t3  4\n")
put("life_netpbm/plain.pbm", b"P1\n# glider\n3 3\n0 1 0 001\n1 1 1\n")
put("life_netpbm/packed.pbm", b"P4 10 2\n\xaa\x40\x0f\x00")
put("life_netpbm/plain.pgm", b"P2\n3 2 255\n255 0 7\n255 255 254\n")
put("life_netpbm/packed.pgm", b"P5\n3 2\n255\n\xff\x00\xff\xfe\xff\xff")
put("life_netpbm/wide.pgm", b"P5 2 1 65535\n\xff\xff\xff\xfe")

# ---- Pictures ----


def png(colour_type, depth, rows, interlaced=False, chunks=b""):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    def packed(samples):
        if depth == 16:
            return b"".join(struct.pack(">H", value) for value in samples)
        bits = "".join(format(value, f"0{depth}b") for value in samples)
        bits += "0" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big")

    rows = np.asarray(rows)
    height, width = rows.shape[:2]
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    raw = b""
    for left, top, right, down in passes if interlaced else [(0, 0, 1, 1)]:
        part = rows[top::down, left::right]
        if part.size:
            raw += b"".join(b"\0" + packed(row.reshape(-1).tolist()) for row in part)
    head = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, int(interlaced))
    extra = b"".join(chunk(kind, content) for kind, content in chunks) if chunks else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(raw, 9)) +
            chunk(b"IEND", b""))


rgb = np.stack([red, green, blue], 2)
rgba = np.stack([red, green, blue, opacity], 2)
indices = (x + y) % 4
palette = b"PLTE", bytes([10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120])
put("image/gray.png", png(0, 8, red))
put("image/gray_1.png", png(0, 1, (x + y) % 2))
put("image/gray_2.png", png(0, 2, indices))
put("image/gray_16.png", png(0, 16, red * 257))
put("image/gray_transparent.png", png(0, 8, red, chunks=[(b"tRNS", struct.pack(">H", 0))]))
put("image/gray_alpha.png", png(4, 8, np.stack([red, opacity], 2)))
put("image/gray_opaque.png", png(4, 8, np.stack([red, 0 * x + 255], 2)))
put("image/rgb.png", png(2, 8, rgb))
put("image/rgb_16.png", png(2, 16, rgb * 257))
put("image/rgb_interlaced.png", png(2, 8, rgb, interlaced=True))
put("image/rgba.png", png(6, 8, rgba))
put("image/rgba_opaque.png", png(6, 8, np.stack([red, green, blue, 0 * x + 255], 2)))
put("image/palette.png", png(3, 2, indices, chunks=[palette]))
put("image/palette_transparent.png", png(3, 8, indices, chunks=[palette, (b"tRNS", bytes([255, 0]))]))


def jpeg(array, mode, **options):
    target = io.BytesIO()
    Image.fromarray(array.astype(np.uint8), mode).save(target, "JPEG", quality=95, **options)
    return target.getvalue()


put("image/gray.jpg", jpeg(red, "L"))
put("image/rgb.jpg", jpeg(rgb, "RGB", subsampling=0))
put("image/progressive.jpg", jpeg(rgb, "RGB", progressive=True))
put("image/print.jpg", jpeg(rgba, "CMYK"))
