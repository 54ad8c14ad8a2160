"""Tests the command `gradus matmul` as users run it. tests/cli/run.py runs this."""

import itertools
import json
import math
import os
import random
import struct
from fractions import Fraction

from kit import Case, CompletionCase, InterruptCase, TerminalCase, content, gradus, read_npy, write_npy


# The jobs that tests/cli/cli_test.py runs (see tests/cli/run.py).
def json_jobs(case):
    return {"matmul": [write_npy(case.path("left.npy"), "<f4", (2, 3), range(6)),
                       write_npy(case.path("right.npy"), "<f8", (3, 1), [1, 2, 3])]}


def repeated_jobs(case):
    a = write_npy(case.path("a.npy"), "<f4", (3, 3), range(-4, 5))
    b = write_npy(case.path("b.npy"), "<f4", (3, 3), [3, 1, 4, 1, 5, 9, 2, 6, 5])
    return {"matmul": [([a, b, *more], ending) for ending in (".npy", None) for more in (
        [], ["--alpha", "0.1", "--add", b, "--beta", "1e-30"], ["--transpose-a", "--transpose-b"],
        ["--accuracy", "strict", "--measure-error", "--dtype", "f64"], ["--variant", "openmp"])]}


NARROWED = {
    "gradus bench matmul": "--size 100 --repeats 1",
    "gradus bench matmul --size 1024,3000x16x500 --threads 1,2": "--variants simd_packed --repeats 1",
}
INPUTS = {
    "a.npy": "gradus generate uniform -n 40 -d 40 -o a.npy",
    "b.npy": "gradus generate uniform -n 40 -d 40 --seed 2 -o b.npy",
    "bias.npy": "gradus generate uniform -n 1 -d 40 -o bias.npy",
}

CODES = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I",
         "u8": "Q", "b1": "?"}


def positions(shape):
    return itertools.product(*map(range, shape))


class Array:
    """An array for the reference: a shape, and a function from indices to numbers. The class shares no code with the
    arrays of any library."""

    def __init__(self, shape, at):
        self.shape, self.at = tuple(shape), at

    @staticmethod
    def of(shape, values):
        values = list(values)
        places = {position: number for number, position in enumerate(positions(shape))}
        return Array(shape, lambda position: values[places[tuple(position)]])

    def values(self):
        return [self.at(position) for position in positions(self.shape)]

    def transposed(self):
        swap = lambda items: (*items[:-2], items[-1], items[-2])
        return Array(swap(self.shape), lambda position: self.at(swap(tuple(position))))

    def spread(self, shape):
        """Broadcasts the array to a shape by NumPy's rules."""
        missing = len(shape) - len(self.shape)
        assert missing >= 0 and all(mine in (1, size) for mine, size in zip(self.shape, shape[missing:]))
        return Array(shape, lambda position: self.at(
            [0 if mine == 1 else index for mine, index in zip(self.shape, position[missing:])]))

    def __matmul__(self, other):
        left = self if len(self.shape) > 1 else Array((1, *self.shape), lambda position: self.at(position[1:]))
        right = other if len(other.shape) > 1 else Array((*other.shape, 1), lambda position: other.at(position[:1]))
        assert left.shape[-1] == right.shape[-2]
        depth = len(max(left.shape[:-2], right.shape[:-2], key=len))
        sizes = [[1] * (depth - len(shape)) + list(shape) for shape in (left.shape[:-2], right.shape[:-2])]
        batch = tuple(two if one == 1 else one for one, two in zip(*sizes))
        left, right = left.spread((*batch, *left.shape[-2:])), right.spread((*batch, *right.shape[-2:]))
        full = Array((*batch, left.shape[-2], right.shape[-1]), lambda position: sum(
            left.at((*position[:-1], term)) * right.at((*position[:-2], term, position[-1]))
            for term in range(left.shape[-1])))
        keep = [True] * depth + [len(self.shape) > 1, len(other.shape) > 1]
        shape = tuple(size for size, kept in zip(full.shape, keep) if kept)

        def at(position):
            rest = iter(position)
            return full.at(tuple(next(rest) if kept else 0 for kept in keep))

        return Array(shape, at)


def nested(shape, values):
    values = iter(values)
    take = lambda rest: next(values) if not rest else [take(rest[1:]) for _ in range(rest[0])]
    return take(tuple(shape))


def rounded(value, digits, least):
    """Rounds a fraction to `digits` binary digits or to a multiple of `least`, whichever is coarser. Ties round to even."""
    if value == 0:
        return value
    exponent = abs(value).numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > abs(value):
        exponent -= 1
    unit = max(Fraction(2) ** (exponent - digits + 1), least)
    return round(value / unit) * unit  # round() of a fraction rounds ties to even


FORMATS = {"f4": (24, Fraction(1, 2**149)), "f8": (53, Fraction(1, 2**1074))}


class MatmulCase(Case):
    def array(self, name, array, dtype="f4", fortran=False, order="<"):
        """Writes a .npy file. `dtype` has the form "f4"."""
        code = CODES[dtype]
        values = ([array.at(position[::-1]) for position in positions(array.shape[::-1])] if fortran else array.values())
        if dtype == "b1":
            values = [bool(value) for value in values]
        elif dtype[0] in "iu":
            values = [int(value) for value in values]
        header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (
            ("|" if dtype[1] == "1" else order) + dtype, bool(fortran), array.shape)
        return write_npy(self.path(name), None, None, header=header,
                         raw=struct.pack(("<" if order == "|" else order) + str(len(values)) + code, *values))

    def whole(self, shape, seed=1, least=-9, most=9):
        return Array.of(shape, random.Random(f"{shape} {seed}").choices(range(least, most + 1), k=math.prod(shape)))

    def product(self, *arguments, name="c.npy"):
        """Runs the command and returns (dtype, shape, values) of the file that it writes."""
        path = self.path(name)
        self.succeed("matmul", *arguments, "-o", path)
        return read_npy(path)

    def answer(self, *arguments):
        return json.loads(self.succeed("matmul", *arguments, "--json").stdout)

    def check(self, expected, *arguments, dtype="<f4"):
        self.assertEqual(self.product(*arguments), (dtype, expected.shape, expected.values()), arguments)


class Shapes(MatmulCase):
    PAIRS = [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((1,), (1,)), ((1, 1), (1, 1)),
             ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)),
             ((1, 2, 3), (5, 3, 4)), ((1, 2, 3), (1, 3, 1)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)),
             ((2, 3, 1, 4), (2, 3, 4, 2)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 1, 3, 4), (1, 5, 4, 2)),
             ((2, 3, 2, 2, 3), (3, 1, 3, 2)), ((2, 1, 3, 1, 2), (2, 1, 2, 2)), ((4,), (2, 1, 3, 4, 2)),
             ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0)), ((0,), (0,)), ((0, 2, 3), (3, 4)),
             ((0, 2, 3), (1, 3, 4)), ((0, 0), (0, 0)), ((2, 3, 0), (0, 2)), ((3, 0, 2, 3), (3, 4)), ((0,), (5, 0, 2))]

    def test_as_numpy_has_them(self):
        for number, (left, right) in enumerate(self.PAIRS):
            a, b = self.whole(left), self.whole(right, 2)
            for orders in range(4):
                self.check(a @ b, self.array("a.npy", a, fortran=orders & 1), self.array("b.npy", b, fortran=orders & 2))
            if number % 3 == 0:
                self.assertEqual(self.answer(self.path("a.npy"), self.path("b.npy"))["product"],
                                 nested((a @ b).shape, (a @ b).values()))

    def test_transposed(self):
        for left, right in [((3, 2), (4, 3)), ((3, 2), (4, 3)), ((5, 3, 2), (4, 3)), ((2, 1, 3, 2), (5, 4, 3))]:
            a, b = self.whole(left), self.whole(right, 2)
            for orders in range(4):
                files = self.array("a.npy", a, fortran=orders & 1), self.array("b.npy", b, fortran=orders & 2)
                self.check(a.transposed() @ b.transposed(), *files, "--transpose-a", "--transpose-b")
        square = self.whole((3, 3))
        path = self.array("s.npy", square)
        self.check(square.transposed() @ square, path, path, "--transpose-a")
        self.check(square @ square.transposed(), path, path, "--transpose-b")
        line = self.array("l.npy", self.whole((3,)))
        self.refused(2, "matmul", line, path, "--transpose-a", says=["--transpose-a has no effect", "l.npy", "one dimension"])
        self.refused(2, "matmul", path, line, "--transpose-b", says=["--transpose-b has no effect", "l.npy"])

    def test_sizes_off_every_tile(self):
        for m, k, n in [(1, 300, 1), (17, 513, 33), (65, 1, 70), (1, 5, 200), (130, 9, 1)]:
            a, b = self.whole((m, k)), self.whole((k, n), 2)
            columns = list(zip(*nested((k, n), b.values())))
            expected = [sum(map(int.__mul__, row, column)) for row in nested((m, k), a.values()) for column in columns]
            for fortran in (False, True):
                self.assertEqual(self.product(self.array("a.npy", a, fortran=fortran), self.array("b.npy", b, fortran=fortran)),
                                 ("<f4", (m, n), expected))

    def test_that_do_not_fit(self):
        def refused(left, right, *options, says):
            self.refused(3, "matmul", self.array("a.npy", self.whole(left)), self.array("b.npy", self.whole(right)),
                         *options, "-o", self.path("c.npy"), says=["a.npy' of shape", "b.npy' of shape", *says])
            self.assertFalse(os.path.exists(self.path("c.npy")))

        refused((2, 3), (4, 5), says=["(2, 3)", "(4, 5)", "3 columns and 4 rows"])
        refused((2, 3), (3, 5), "--transpose-b", says=["(3, 5) transposed", "3 columns and 5 rows"])
        refused((3,), (4,), says=["(3,)", "(4,)"])
        refused((3,), (1, 3), says=["3 columns and 1 row do"])
        refused((2, 3), (2,), says=["3 columns and 2 rows"])
        refused((2, 2, 3), (3, 3, 2), says=["batches of 2 and 3"])
        refused((4, 1, 2, 3), (3, 1, 3, 2), says=["batches of 4 and 3"])
        refused((0, 2, 3), (2, 3, 2), says=["batches of 0 and 2"])
        scalar = self.array("s.npy", Array.of((), [3]))
        self.refused(3, "matmul", scalar, self.array("b.npy", self.whole((3, 2))), says=["s.npy", "a single number"])
        self.refused(3, "matmul", self.path("b.npy"), scalar, says=["s.npy", "a single number"])

    def test_too_large(self):
        """The product of two empty matrices may be too large for memory, for the disk, or for 64 bits."""
        def empty(name, shape):
            return write_npy(self.path(name), "<f4", shape, [])

        a, b = empty("a.npy", (2**21, 0)), empty("b.npy", (0, 2**21))
        self.refused(1, "matmul", a, b, says=["TiB"])
        self.refused(3, "matmul", empty("a.npy", (2**40, 0)), empty("b.npy", (0, 2**40)),
                     says=["(1099511627776, 1099511627776)", "64 bits"])
        ones = Array.of((300, 1), [1] * 300)
        a, b = self.array("a.npy", ones), self.array("b.npy", ones.transposed())
        self.refused(1, "matmul", a, b, "--memory-limit", "100K", says=["KiB"])
        self.succeed("matmul", a, b, "--memory-limit", "1M")
        # If an input must be copied, the copy counts towards the memory.
        plain = self.answer(a, b, "-o", self.path("c.npy"))["memory_bytes"]
        for dtype, beyond in (("i1", 4 * 600), ("f2", 4 * 600)):
            narrow = self.array("narrow_a.npy", ones, dtype), self.array("narrow_b.npy", ones.transposed(), dtype)
            self.assertEqual(self.answer(*narrow, "-o", self.path("c.npy"))["memory_bytes"], plain + beyond)
            self.refused(1, "matmul", *narrow, "--memory-limit", plain + beyond - 1, says=["only %d" % (plain + beyond - 1)])
        wide = self.array("wide.npy", ones, "f8")
        self.assertEqual(self.answer(a, b, "--dtype", "f64", "-o", self.path("c.npy"))["memory_bytes"] -
                         self.answer(wide, b, "-o", self.path("c.npy"))["memory_bytes"], 8 * 300)
        small = self.path("small")
        os.mkdir(small)
        self.refused_for_want_of_space(small, "matmul", a, b, "-o", os.path.join(small, "c.npy"))
        self.refused_for_want_of_space(small, "matmul", a, b, "-o", os.path.join(small, "c.csv"))


class Types(MatmulCase):
    EXACT_IN_SINGLE = ("f2", "f4", "i1", "i2", "u1", "u2", "b1")
    ALL = (*EXACT_IN_SINGLE, "f8", "i4", "i8", "u4", "u8")

    def test_of_the_result(self):
        a, b = self.whole((3, 4), least=0, most=1), self.whole((4, 2), 2, least=0, most=1)
        for left in self.ALL:
            for right in self.ALL:
                narrow = left in self.EXACT_IN_SINGLE and right in self.EXACT_IN_SINGLE
                expected = "<f4" if narrow else "<f8"
                orders = ">" if (left + right).count("u") else "<"
                files = self.array("a.npy", a, left, fortran=left > right, order=orders), self.array("b.npy", b, right)
                self.check(a @ b, *files, dtype=expected)
        for asked, dtype in (("f32", "<f4"), ("f64", "<f8")):
            for stored in self.ALL:
                self.check(a @ b, self.array("a.npy", a, stored), self.array("b.npy", b, "f8"), "--dtype", asked, dtype=dtype)

    def test_every_value_is_exact(self):
        one = self.array("one.npy", Array.of((1, 1), [1]))
        for dtype, values in {"i1": [-128, 127], "u1": [255, 0], "i2": [-32768, 32767], "u2": [65535], "i4": [-2**31, 2**31 - 1],
                              "u4": [2**32 - 1], "i8": [2**53, -2**53, 2**62 + 2**10], "u8": [2**63, 2**64 - 2**11],
                              "f2": [65504.0, 2.0**-24, -0.333251953125], "f4": [3.4028234663852886e38, 2.0**-149],
                              "f8": [1.7976931348623157e308, 5e-324]}.items():
            column = Array.of((len(values), 1), values)
            self.assertEqual(self.product(self.array("x.npy", column, dtype), one)[2], [float(value) for value in values], dtype)

    def test_that_no_double_holds(self):
        good = self.array("b.npy", self.whole((2, 2)))
        bad = self.array("a.npy", Array.of((2, 2), [1, 2, 2**53 + 1, 3]), "i8")
        self.refused(3, "matmul", bad, good, says=["a.npy", "row 1, column 0", "9007199254740993", "no exact double"])
        bad = self.array("a.npy", Array.of((2, 1, 2), [1, 2, 3, 2**64 - 1]), "u8", fortran=True)
        self.refused(3, "matmul", good, bad, "--dtype", "f32", says=["a.npy", "element (1, 0, 1)", "18446744073709551615"])

    def test_rounded_to_single(self):
        values = [0.1, 1 / 3, -2.5e-50, 16777217.0]
        one = self.array("one.npy", Array.of((1, 1), [1]), "f8")
        column = self.array("x.npy", Array.of((4, 1), values), "f8")
        single = [struct.unpack("f", struct.pack("f", value))[0] for value in values]
        self.assertEqual(self.product(column, one, "--dtype", "f32"), ("<f4", (4, 1), single))
        self.assertEqual(self.product(column, one), ("<f8", (4, 1), values))
        wide = self.array("w.npy", Array.of((1, 3), [1, 1e39, 2]), "f8", fortran=True)
        self.refused(3, "matmul", one, wide, "--dtype", "f32", says=["w.npy", "row 0, column 1", "1e+39", "beyond the range of f32"])
        self.refused(2, "matmul", one, column, "--transpose-b", "--dtype", "f32", "--alpha", 1e39, says=["--alpha", "range of f32"])

    def test_that_cannot_be_read(self):
        good = self.array("b.npy", self.whole((2, 2)))
        for dtype, size, words in (("<c8", 32, "complex"), ("<c16", 64, "complex"), ("|O", 32, "Python objects"), ("<f16", 64, "f16"),
                                   ("<U1", 16, "strings")):
            bad = write_npy(self.path("a.npy"), dtype, (2, 2), raw=bytes(size))
            self.refused(3, "matmul", bad, good, says=["a.npy", words, "f4, f8"])
            self.refused(3, "matmul", good, bad, says=["a.npy", words])
        self.refused(3, "matmul", good, self.path("none.npy"), says=["none.npy", "No such file"])
        cut = self.file("cut.npy", content(good)[:-1])
        self.refused(3, "matmul", good, cut, says=["cut.npy", "takes 16 bytes", "15 are there"])

    def test_tables_of_text(self):
        a = self.file("a.csv", "x,y\n1,2\n3,4.5\n")
        b = self.file("b.tsv", "10\t0\n0\t1\n")
        single = self.array("s.npy", Array.of((2,), [1, -1]))
        self.assertEqual(self.product(a, b), ("<f8", (2, 2), [10, 2, 30, 4.5]))
        self.assertEqual(self.product(a, single), ("<f8", (2,), [-1, -1.5]))
        self.assertEqual(self.product(a, single, "--dtype", "f32"), ("<f4", (2,), [-1, -1.5]))
        result = self.succeed("matmul", "-", b, stdin="1,2\n3,4\n")
        self.assertEqual(result.stdout, "10,2\n30,4\n")
        result = self.succeed("matmul", b, "-", stdin="1;2\n3;4\n")
        self.assertEqual(result.stdout, "10,20\n3,4\n")
        self.refused(2, "matmul", "-", "-", says=["standard input"])
        self.refused(3, "matmul", "-", a, stdin="1,2,3\n", says=["standard input of shape (1, 3)", "a.csv"])
        self.refused(3, "matmul", "-", a, stdin="1,nan\n", says=["standard input"])
        counting = self.file("n.csv", "0,1\n5,6\n")
        self.assertEqual(self.product(counting, single, "--header", "yes")[1:], ((1,), [-1]))
        self.assertEqual(self.product(counting, single, "--header", "no")[1:], ((2,), [-1, -1]))
        self.refused(2, "matmul", single, single, "--header", "no", says=["--header"])


class Sums(MatmulCase):
    """Computes alpha A B + beta C."""

    def test_factors(self):
        a, b, c = self.whole((2, 3)), self.whole((3, 4), 2), self.whole((2, 4), 3)
        files = self.array("a.npy", a), self.array("b.npy", b)
        for fortran in (False, True):
            added = self.array("c0.npy", c, fortran=fortran)
            for alpha, beta in ((1, None), (2, 1), (-0.5, 0.25), (0, 3), (1.5, -1)):
                options = ["--add", added, "--alpha", alpha] + ([] if beta is None else ["--beta", beta])
                expected = [alpha * product + (1 if beta is None else beta) * before
                            for product, before in zip((a @ b).values(), c.values())]
                self.assertEqual(self.product(*files, *options), ("<f4", (2, 4), expected))
        self.assertEqual(self.product(*files, "--alpha", 0.5)[2], [0.5 * value for value in (a @ b).values()])
        wide = self.array("w.npy", c, "f8")
        self.assertEqual(self.product(*files, "--add", wide)[0], "<f8")
        self.refused(2, "matmul", *files, "--beta", 2, says=["--beta has no effect", "--add"])
        answer = self.answer(*files, "--add", wide, "--beta", 2)
        self.assertEqual((answer["inputs"], answer["beta"]), ([*files, wide], 2))

    def test_spread(self):
        for left, right in [((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)),
                            ((2, 1, 2, 3), (3, 3, 4)), ((0, 3), (3, 4))]:
            a, b = self.whole(left), self.whole(right, 2)
            files = self.array("a.npy", a), self.array("b.npy", b)
            shape = (a @ b).shape
            shapes = {shape, (), shape[1:], tuple(1 for _ in shape), shape[:-1] + (1,) if shape else (), (1, *shape[1:]) if shape else ()}
            for one in sorted(shapes):
                for fortran in (False, True):
                    c = self.whole(one, 3)
                    expected = [x + y for x, y in zip((a @ b).values(), c.spread(shape).values())]
                    self.assertEqual(self.product(*files, "--add", self.array("c0.npy", c, fortran=fortran)), ("<f4", shape, expected))
        for one in ((3, 4), (2, 3), (1, 1, 1), (4, 2)):
            a, b = self.array("a.npy", self.whole((2, 3))), self.array("b.npy", self.whole((3, 4)))
            self.refused(3, "matmul", a, b, "--add", self.array("c0.npy", self.whole(one)),
                         says=["c0.npy", str(one), "the product's, (2, 4)"])


class Accuracy(MatmulCase):
    def reals(self, shape, dtype, seed):
        random_numbers = random.Random(seed)
        draw = lambda: math.ldexp(random_numbers.uniform(-1, 1), random_numbers.randint(-8, 8))
        values = [draw() for _ in range(math.prod(shape))]
        if dtype == "f4":
            values = [struct.unpack("f", struct.pack("f", value))[0] for value in values]
        return Array.of(shape, values)

    def test_strict_has_the_bits_of_the_definition(self):
        m, k, n = 3, 600, 2
        for dtype in ("f4", "f8"):
            a, b, c = self.reals((m, k), dtype, 1), self.reals((k, n), dtype, 2), self.reals((m, n), dtype, 3)
            to = lambda value: rounded(value, *FORMATS[dtype])
            alpha, beta = 0.3, -1.7
            factors = [Fraction(struct.unpack(CODES[dtype], struct.pack(CODES[dtype], factor))[0]) for factor in (alpha, beta)]
            expected = []
            for row, column in positions((m, n)):
                total = None
                for first in range(0, k, 256):
                    chain = Fraction(0)
                    for term in range(first, min(first + 256, k)):
                        chain = to(Fraction(a.at((row, term))) * Fraction(b.at((term, column))) + chain)
                    total = chain if total is None else to(total + chain)
                expected.append(float(to(factors[1] * Fraction(c.at((row, column))) + to(factors[0] * total))))
            files = [self.array("a.npy", a, dtype), self.array("b.npy", b, dtype, fortran=True), "--add",
                     self.array("c0.npy", c, dtype), "--alpha", alpha, "--beta", beta]
            for threads in (1, 2, 3):
                self.assertEqual(self.product(*files, "--threads", threads)[2], expected, (dtype, threads))

    def test_error(self):
        for dtype in ("f4", "f8"):
            a, b = self.reals((20, 300), dtype, 4), self.reals((300, 30), dtype, 5)
            files = self.array("a.npy", a, dtype), self.array("b.npy", b, dtype)
            rows = [list(map(Fraction, row)) for row in nested(a.shape, a.values())]
            columns = [list(map(Fraction, column)) for column in nested((30, 300), b.transposed().values())]
            for variant in ("simd_packed", "openmp", "sequential"):
                answer = self.answer(*files, "--measure-error", "--variant", variant)
                self.assertEqual(answer["accuracy"], "strict" if variant == "simd_packed" else "textbook")
                worst = 0
                for row, found in zip(rows, answer["product"]):
                    for column, value in zip(columns, found):
                        terms = [x * y for x, y in zip(row, column)]
                        worst = max(worst, float(abs(Fraction(value) - sum(terms)) / sum(map(abs, terms))))
                measured = answer["measured_error"]
                self.assertEqual(measured["elements"], 600)
                self.assertAlmostEqual(measured["greatest"] / worst, 1, 2)
                self.assertTrue(0 < worst <= answer["error_bound"], answer)
            text = self.succeed("matmul", *files, "--measure-error", "-o", self.path("c.npy")).stderr
            self.assertRegex(text, r"error \d\.?\d*e-\d+ of \|A\| \|B\| at most, \d\.?\d*e-\d+ allowed")
        self.assertNotIn("measured_error", self.answer(*files))

    def test_accuracies(self):
        files = self.array("a.npy", self.whole((4, 5))), self.array("b.npy", self.whole((5, 3)))
        for accuracy in ("automatic", "strict", "split", "fast"):
            self.check(self.whole((4, 5)) @ self.whole((5, 3)), *files, "--accuracy", accuracy)
        self.assertEqual(self.answer(*files, "--accuracy", "split", "--device", "cpu")["accuracy"], "strict")
        self.refused(4, "matmul", *files, "--accuracy", "fast", "--dtype", "f64", says=["'fast' is for float"])
        self.refused(2, "matmul", *files, "--accuracy", "fast", "--variant", "openmp", says=["'fast'", "'openmp'"])
        self.refused(2, "matmul", *files, "--accuracy", "fats", says=["did you mean 'fast'?"])

    def test_what_is_not_finite_propagates(self):
        inf, nan = math.inf, math.nan
        for dtype in ("f2", "f4", "f8"):
            a = self.array("a.npy", Array.of((4, 2), [1, 2, nan, 0, inf, 1, inf, -inf]), dtype)
            b = self.array("b.npy", Array.of((2, 2), [1, 0, 1, 1]), dtype)
            values = self.product(a, b)[2]
            self.assertEqual([str(value) for value in values], ["3.0", "2.0", "nan", "nan", "inf", "nan", "nan", "nan"])
        result = self.succeed("matmul", a, b)
        self.assertEqual(result.stdout, "3,2\nnan,nan\ninf,nan\nnan,nan\n")
        self.assertEqual(self.answer(a, b)["product"], [[3, 2], [None, None], [None, None], [None, None]])


class Repeated(MatmulCase):
    def test_other_inputs_and_options_replace_those_of_the_record(self):
        files = self.array("a.npy", self.whole((4, 5))), self.array("b.npy", self.whole((5, 3)))
        record = self.file("record.json", json.dumps(self.answer(*files[::-1], "--transpose-a", "--transpose-b")))
        self.refused(2, "matmul", "--repeat", record, "--beta", 2, says=["--beta has no effect"])
        record = self.file("record.json", json.dumps(self.answer(*files, "--variant", "openmp")))
        self.check(self.whole((4, 5)) @ self.whole((5, 3)), *files, "--repeat", record)


class Output(MatmulCase):
    def pair(self):
        self.a, self.b = self.whole((2, 3)), self.whole((3, 4), 2)
        return self.array("a.npy", self.a), self.array("b.npy", self.b)

    def test_summary(self):
        files = self.pair()
        answer = self.answer(*files)
        self.assertEqual(list(answer), ["problem", "inputs", "shape", "m", "n", "k", "batch", "transpose_a", "transpose_b",
                                        "alpha", "beta", "dtype", "variant", "device", "threads", "accuracy", "error_bound",
                                        "product", "options", "command", "directory", "input_hashes", "gflops", "memory_bytes", "seconds"])
        self.assertEqual([answer[key] for key in ("problem", "inputs", "shape", "m", "n", "k", "batch", "dtype", "accuracy", "beta")],
                         ["matmul", list(files), [2, 4], 2, 4, 3, 1, "f32", "strict", 0])
        self.assertEqual(answer["product"], nested((2, 4), (self.a @ self.b).values()))
        for key in ("read", "matmul", "write", "total"):
            self.assertGreaterEqual(answer["seconds"][key], 0)
        self.assertGreater(answer["memory_bytes"], 8 * 4)
        bound = Fraction(3 + 1 + 1, 2**24)  # roundings: 3 of a chain, 1 of a block, 1 of the final operation
        self.assertAlmostEqual(answer["error_bound"], float(bound / (1 - bound)), 20)
        written = self.answer(*files, "-o", self.path("c.npy"))
        self.assertNotIn("product", written)
        batch = self.answer(self.array("a.npy", self.whole((2, 5, 2, 3))), files[1], "--dtype", "f64")
        self.assertEqual((batch["batch"], batch["shape"], batch["dtype"]), (10, [2, 5, 2, 4], "f64"))

    def test_a_first_row_of_small_numbers_is_a_row(self):
        path = self.path("counts.csv")
        with open(path, "w") as file:
            file.write("1;2\n3;4\n")
        result = self.succeed("matmul", path, path)
        self.assertEqual(result.stdout, "7,10\n15,22\n")
        self.assertNotIn("read as a row", result.stderr)

    def test_what_ran_instead_of_what_was_permitted(self):
        files = self.pair()
        for accuracy in ("fast", "split"):
            result = self.succeed("matmul", *files, "--accuracy", accuracy, "--device", "cpu")
            self.assertIn(f"strict instead of {accuracy}, ", result.stderr)
        self.assertNotIn("instead of", self.succeed("matmul", *files, "--device", "cpu").stderr)

    def test_text(self):
        files = self.pair()
        rows = nested((2, 4), map(int, (self.a @ self.b).values()))
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        result = self.succeed("matmul", *files)
        self.assertEqual(result.stdout, text)
        self.assertRegex(result.stderr, r"^gradus: 2 x 3 by 3 x 4 \(f32\), .* s in all, .* GFLOP/s while multiplying, simd_packed, 1 thread\n$")
        self.assertEqual(self.succeed("matmul", *files, "--quiet").stderr, "")
        result = self.succeed("matmul", *files, "-o", self.path("c.csv"))
        self.assertEqual((content(self.path("c.csv"), "r"), result.stdout), (text, ""))
        self.assertIn("; wrote '" + self.path("c.csv"), result.stderr)
        line = self.array("l.npy", Array.of((3,), [1, 0, 0]))
        column = "".join(f"{value}\n" for value in map(int, self.b.values()[:4]))
        self.assertEqual(self.succeed("matmul", line, files[1]).stdout, column)
        self.succeed("matmul", line, files[1], "-o", self.path("c.txt"))
        self.assertEqual(content(self.path("c.txt"), "r"), column)
        self.assertEqual(self.succeed("matmul", line, line).stdout, "1\n")
        batch = self.array("t.npy", Array.of((2, 1, 3), [1, 0, 0, 0, 1, 0]))
        result = self.succeed("matmul", batch, files[1])
        self.assertEqual(result.stdout, "\n".join(",".join(str(int(value)) for value in self.b.values()[4 * row : 4 * row + 4]) + "\n"
                                                  for row in range(2)))
        self.refused(2, "matmul", batch, files[1], "-o", self.path("t.csv"), says=["--output", "(2, 1, 4)", ".npy"])
        self.refused(2, "matmul", *files, "-o", self.path("c.foo"), says=[".npy, .csv or .txt"])
        self.assertFalse(os.path.exists(self.path("t.csv")))

    def test_whole_or_not_at_all(self):
        files = self.pair()
        target = self.file("c.npy", "old")
        bad = self.array("bad.npy", self.whole((2, 2)))
        self.refused(3, "matmul", files[0], bad, "-o", target)
        wide = self.array("w.npy", Array.of((3, 1), [1, 1e300, 1]), "f8")
        before = sorted(os.listdir(self.folder))
        self.refused(3, "matmul", files[0], wide, "--dtype", "f32", "-o", target)
        self.assertEqual((content(target), sorted(os.listdir(self.folder))), (b"old", before))
        self.refused(1, "matmul", *files, "-o", self.path("none/c.npy"), says=["none/c.npy"])
        self.check(self.a @ self.b, *files)  # overwrites the existing file

    def test_no_input_is_overwritten(self):
        a, b = self.pair()
        self.refused_to_overwrite([a], "matmul", a, b, "-o", a)
        self.refused_to_overwrite([b], "matmul", a, b, "-o", b)
        link = self.path("link.npy")
        os.symlink(b, link)
        self.refused_to_overwrite([b], "matmul", a, b, "-o", link)
        c = self.array("c0.npy", self.whole((2, 4)))
        self.refused_to_overwrite([c], "matmul", a, b, "--add", c, "-o", c)

    def test_forecast(self):
        os.symlink("/dev/null", self.path("c.npy"))
        a = self.array("a.npy", Array((16400, 0), None))
        result = gradus("matmul", a, a, "--transpose-b", "-o", self.path("c.npy"))
        if "available" in result.stderr:
            self.skipTest("no memory for it: " + result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"a product of shape \(16400, 16400\): about \d+ bytes \(1.* GiB\) of memory beyond the inputs")

    def test_json_errors(self):
        a, _ = self.pair()
        self.refused_as_json(3, "matmul", a, a)
        self.refused_as_json(2, "matmul", a, a, "--beta", "3")


class Interrupt(InterruptCase):
    def test_stops_soon(self):
        for name, options in {"a": [], "b": ["--seed", 2]}.items():
            gradus("generate", "uniform", "-n", 3000, "-d", 3000, *options, "-o", self.path(name + ".npy"))
        job = ["matmul", self.path("a.npy"), self.path("b.npy"), "-o", self.path("c.npy")]
        for options, threads in ((["--variant", "sequential"], 1), (["--variant", "openmp", "--threads", 2], 2),
                                 (["--threads", 1, "--dtype", "f64", "--measure-error"], 1)):
            self.stops_soon(*job, *options, when=lambda job: self.wait_until_busy(job, 0.3), threads=threads)


class Shell(CompletionCase):
    def test_completes(self):
        self.assertEqual(self.complete("gradus", "matmul", "--acc"), ["--accuracy"])
        self.assertEqual(self.complete("gradus", "matmul", "--accuracy", ""), ["automatic", "strict", "split", "fast"])
        self.assertIn("simd_packed", self.complete("gradus", "matmul", "--variant", "simd"))
        self.file("a.npy", "")
        self.assertEqual(self.complete("gradus", "matmul", "--add", "a"), ["a.npy"])


class Seen(TerminalCase):
    def test_on_a_terminal(self):
        gradus("generate", "uniform", "-n", 700, "-d", 700, "-o", self.path("a.npy"))
        seen = self.on_terminal("matmul", self.path("a.npy"), self.path("a.npy"), "-o", self.path("c.npy"), "--variant", "sequential")
        self.assertIn("wrote", seen)
