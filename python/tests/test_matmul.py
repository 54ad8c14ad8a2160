import math
import subprocess
import sys

import gradus
import numpy as np
import pytest

HERE = [row for row in gradus.variants("matmul") if row.supported]
EXACT = [row for row in HERE if row.contract == "same bits"]


def matrices(rows, depth, columns, dtype, seed=1):
    random = np.random.default_rng(seed)
    return random.normal(size=(rows, depth)).astype(dtype), random.normal(size=(depth, columns)).astype(dtype)


def canonical(a, b):
    """Computes the canonical product. Adds exact products in blocks of 256 with one rounding per addition, and then
    adds the sums of the blocks."""
    kind = a.dtype.type

    # computes fma() of floats: the product is exact in double, so only the sum is rounded
    def rounded_once(product, total):
        return kind(math.fsum([float(product), float(total)]))

    found = np.zeros((len(a), b.shape[1]), a.dtype)
    for row in range(len(a)):
        for column in range(b.shape[1]):
            total = None
            for begin in range(0, a.shape[1], 256):
                part = kind(0)
                for step in range(begin, min(begin + 256, a.shape[1])):
                    part = rounded_once(float(a[row, step]) * float(b[step, column]), part)
                total = part if total is None else kind(total + part)
            found[row, column] = total
    return found


@pytest.mark.parametrize("row", HERE, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_variant(row, dtype):
    a, b = matrices(37, 300, 29, dtype)
    expected = a.astype(np.longdouble) @ b.astype(np.longdouble)
    error = 300 * np.finfo(dtype).eps
    if row.name == "cuda_tensor_fast":  # the contract of this variant guarantees only a few digits
        error += float(row.contract.split()[1])
    bound = error * (abs(a).astype(float) @ abs(b).astype(float))
    strict = gradus.matmul(a, b, threads=1)
    try:
        gradus.matmul(a, b, accuracy="automatic", variant=row.name)
    except gradus.UnsupportedError as error:
        assert row.backend == "cuda" and "made for" in str(error)
        pytest.skip(str(error))
    for threads in (1, 2, 7):
        product = gradus.matmul(a, b, accuracy="automatic", variant=row.name, threads=threads)
        assert product.dtype == dtype and product.shape == (37, 29)
        assert (abs(product - expected) <= bound).all()
        assert row not in EXACT or product.tobytes() == strict.tobytes()


def test_there_are_exact_variants():
    assert len(EXACT) >= 1 and len(HERE) >= 3


def test_strict_is_the_canonical_result():
    a, b = matrices(5, 600, 4, "f4")
    assert gradus.matmul(a, b).tobytes() == canonical(a, b).tobytes()


def test_shapes_are_those_of_numpy():
    random = np.random.default_rng(2)
    for left, right in [((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((6, 3, 4), (4, 5)), ((3, 4), (6, 4, 5)),
                        ((6, 3, 4), (6, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((6, 3, 4), (4,)), ((0, 4), (4, 5)), ((3, 0), (0, 5)),
                        ((0, 3, 4), (4, 5)), ((2, 1, 3, 4), (1, 3, 4, 5)), ((1, 3, 4), (4, 5)), ((4,), (6, 4, 5))]:  # fmt: skip
        a, b = random.normal(size=left), random.normal(size=right)
        product, expected = gradus.matmul(a, b), np.matmul(a, b)
        assert np.shape(product) == np.shape(expected) and type(product) is type(expected), (left, right)
        np.testing.assert_allclose(product, expected, rtol=1e-12, atol=1e-14)


def test_any_strides_have_the_same_bits():
    a, b = matrices(40, 50, 30, "f4")
    expected = gradus.matmul(a, b).tobytes()
    wide = np.zeros((80, 150), np.float32)
    wide[::2, ::3] = a
    for left in (np.asfortranarray(a), a[::-1][::-1], wide[::2, ::3], np.ascontiguousarray(a[:, ::-1])[:, ::-1], a.astype(">f4")):
        assert gradus.matmul(left, b).tobytes() == expected
    assert gradus.matmul(b.T, a.T).tobytes() == np.ascontiguousarray(gradus.matmul(a, b).T).tobytes()
    stacked = gradus.matmul(np.stack([a, 2 * a]).transpose(0, 2, 1).copy().transpose(0, 2, 1), b)
    assert stacked[0].tobytes() == expected and stacked[1].tobytes() == (2 * stacked[0]).tobytes()
    assert gradus.matmul(np.broadcast_to(np.float32(2), (3, 4)), np.ones((4, 2), np.float32)).tolist() == [[8, 8]] * 3


def test_types():
    whole = np.arange(6).reshape(2, 3)
    assert gradus.matmul(whole, whole.T).dtype == np.float64 and gradus.matmul(whole, whole.T).tolist() == [[5, 14], [14, 50]]
    assert gradus.matmul(whole.astype("i2"), whole.T.astype("u1")).dtype == np.float32
    assert gradus.matmul(whole.astype("f2"), whole.T.astype("f4")).dtype == np.float32
    assert gradus.matmul(whole.astype("f4"), whole.T.astype("f8")).dtype == np.float64
    assert gradus.matmul([[1, 2]], [[3], [4]]).tolist() == [[11]]


def layouts(shape, dtype):
    """Yields result arrays of every layout, filled with non-zero elements."""
    reverse, twice = tuple(reversed(shape)), tuple(2 * length for length in shape)
    every_other, forward = (slice(None, None, 2),) * len(shape), (slice(None, None, -1),) * len(shape)
    odd = np.frombuffer(bytearray(b"H" * (math.prod(shape) * np.dtype(dtype).itemsize + 1)), dtype, offset=1)
    yield "C", np.ones(shape, dtype)
    yield "Fortran", np.ones(reverse, dtype).transpose()
    yield "every other", np.ones(twice, dtype)[every_other]
    yield "every other, Fortran", np.ones(twice, dtype, order="F")[every_other]
    yield "columns of wider rows", np.ones((*shape[:-1], shape[-1] + 3), dtype)[..., 1:-2]
    yield "backwards", np.ones(shape, dtype)[forward]
    yield "rows backwards", np.ones(shape, dtype)[forward[:1]]
    yield "odd address", odd.reshape(shape)


@pytest.mark.parametrize("left, right", [((6, 7), (7, 8)), ((3, 6, 7), (7, 8)), ((2, 3, 6, 7), (3, 7, 8)), ((7,), (7, 8)),
                                         ((6, 7), (7,)), ((5, 6, 7), (7,)), ((1, 7), (7, 1)), ((6, 0), (0, 8)), ((0, 7), (7, 8))])  # fmt: skip
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_out_of_any_layout(left, right, dtype):
    random = np.random.default_rng(3)
    a, b = random.normal(size=left).astype(dtype), random.normal(size=right).astype(dtype)
    expected = gradus.matmul(a, b)
    added = random.normal(size=expected.shape).astype(dtype)
    sums = gradus.matmul(a, b, alpha=0.5, beta=-2.0, add=added)
    for name, out in layouts(expected.shape, dtype):
        assert gradus.matmul(a, b, out=out) is out and out.tobytes() == expected.tobytes(), name
        out[...] = added
        assert gradus.matmul(a, b, alpha=0.5, beta=-2.0, add=out, out=out) is out and out.tobytes() == sums.tobytes(), name
        out[...] = 3
        assert gradus.matmul(a, b, alpha=0.5, beta=-2.0, add=added, out=out).tobytes() == sums.tobytes(), name


def test_out_between_the_elements_of_what_is_read():
    both = np.ones((4, 8))
    both[:, ::2] = np.arange(16).reshape(4, 4)
    read, out = both[:, ::2], both[:, 1::2]
    assert gradus.matmul(read, np.eye(4), out=out).tolist() == np.arange(16).reshape(4, 4).tolist()
    assert read.tolist() == out.tolist()


def test_operands_at_odd_addresses():
    a, b = matrices(5, 6, 7, "f8")
    for one in (a, b):
        raw = b"HEAD" + one.tobytes()
        moved = np.frombuffer(raw, "f8", offset=4).reshape(one.shape)
        left, right = (moved, b) if one is a else (a, moved)
        assert gradus.matmul(left, right).tobytes() == gradus.matmul(a, b).tobytes()
    packed = np.zeros(5, np.dtype([("tag", "u1"), ("row", "f8", 6)]))
    packed["row"] = a
    assert gradus.matmul(packed["row"], b).tobytes() == gradus.matmul(a, b).tobytes()


def test_what_is_added():
    """gradus.matmul() returns fma(beta, add, alpha a b): alpha a b is rounded first, then the sum is rounded once."""
    a, b = matrices(4, 300, 5, "f4")
    product = gradus.matmul(a, b)
    row, column, block = (np.random.default_rng(4).normal(size=shape).astype("f4") for shape in ((5,), (4, 1), (4, 5)))
    for added in (row, column, block, np.float32(0.25), block[::-1], np.asfortranarray(block), row.tolist(), 0.25):
        scaled = (np.float32(0.3) * product).astype(np.float32)
        exact = np.float64(1.5) * np.asarray(added, np.float32) + scaled.astype(np.float64)
        found = gradus.matmul(a, b, alpha=0.3, beta=1.5, add=added)
        assert found.dtype == np.float32 and found.tobytes() == exact.astype(np.float32).tobytes()
        assert gradus.matmul(a, b, add=added).tobytes() == gradus.matmul(a, b, alpha=1, beta=1, add=added).tobytes()
    assert gradus.matmul(a, b, add=block.astype("f8")).dtype == np.float64  # `add` determines the type
    assert gradus.matmul(a, b, beta=0.0, add=np.full(5, np.nan, "f4")).tobytes() == product.tobytes()
    assert gradus.matmul(a, b, alpha=0.0, add=block).tobytes() == block.tobytes()
    assert gradus.matmul([1.0, 2.0], [3.0, 4.0], add=0.5) == 11.5


def test_the_limit_of_memory_counts_the_result():
    a, b = np.ones((1000, 4)), np.ones((4, 1000))
    for options in ({}, {"add": np.ones(1000)}):
        with pytest.raises(gradus.OutOfMemoryError, match="memory limit allows only"):
            gradus.matmul(a, b, memory_limit=7_900_000, **options)
        out = np.empty((1000, 1000))
        assert gradus.matmul(a, b, memory_limit=7_900_000, out=out, **options) is out
        assert gradus.matmul(a, b, memory_limit=80_000_000, **options).shape == (1000, 1000)


def test_nan_and_infinity_propagate():
    product = gradus.matmul([[np.nan, 1.0], [np.inf, 1.0]], [[1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_equal(product, [[np.nan, np.nan], [np.inf, np.nan]])


def test_the_program_has_the_same_bits(tmp_path):
    a, b = matrices(33, 700, 17, "f4")
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    command = [sys.executable, "-m", "gradus", "matmul", "a.npy", "b.npy", "-o", "product.npy", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    assert np.load(tmp_path / "product.npy").tobytes() == gradus.matmul(a, b).tobytes()


A, B = matrices(3, 4, 5, "f4")
BAD = [
    (lambda: gradus.matmul(A, B.T), gradus.UsageError, "5 rows, but a has 4 columns"),
    (lambda: gradus.matmul(np.zeros((2, 3, 4)), np.zeros((3, 4, 5))), gradus.UsageError, "stack"),
    (lambda: gradus.matmul(A, 3.0), gradus.UsageError, "single number"),
    (lambda: gradus.matmul(A * 1j, B), gradus.InputError, "complex64"),
    (lambda: gradus.matmul(A, B.astype(object)), gradus.InputError, "object"),
    (lambda: gradus.matmul(A, B, accuracy="strct"), gradus.UsageError, "did you mean 'strict'"),
    (lambda: gradus.matmul(A.astype("f8"), B, accuracy="fast"), gradus.UnsupportedError, "float"),
    (lambda: gradus.matmul(A, B, variant="sequential"), gradus.UsageError, "leave out"),
    (lambda: gradus.matmul(A, B, variant="sequentail"), gradus.UsageError, "did you mean 'sequential'"),
    (lambda: gradus.matmul(A, B, out=np.empty((3, 5))), gradus.UsageError, "float32 of the shape"),
    (lambda: gradus.matmul(A, B, out=np.empty((5, 3), "f4")), gradus.UsageError, "shape"),
    (lambda: gradus.matmul(A, B, out=[[0.0] * 5] * 3), gradus.UsageError, "a list; an array of NumPy"),
    (lambda: gradus.matmul(A, B, beta=2.0), gradus.UsageError, "beta: the factor of `add`"),
    (lambda: gradus.matmul(A, B, add=np.zeros((4, 5))), gradus.UsageError, r"add: .*\(4, 5\).*\(3, 5\)"),
    (lambda: gradus.matmul(A, B, add=np.zeros((2, 3, 5))), gradus.UsageError, "add"),
    (lambda: gradus.matmul(A, B, alpha=1e300), gradus.UsageError, "alpha: 1e[+]300 is beyond the range of float32"),
    (lambda: gradus.matmul(A, B, alpha=1e-300), gradus.UsageError, "alpha"),
    (lambda: gradus.matmul(A, B, add=A[:, :1], beta=1e300), gradus.UsageError, "beta"),
    (lambda: gradus.matmul(A, B, alpha="2"), TypeError, "alpha"),
    (lambda: gradus.matmul(A, B, add=np.zeros((300, 3, 5))), gradus.UsageError, "add"),
    (lambda: gradus.matmul(A, B[:, :4], out=A), gradus.UsageError, "overlap"),
    (lambda: gradus.matmul(A, B, memory_limit=1), gradus.OutOfMemoryError, "needs"),
    (lambda: gradus.matmul([[1.0], [1.0, 2.0]], B), gradus.InputError, "numbers"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", BAD)
def test_bad_input(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_read_only_out():
    out = np.empty((3, 5), np.float32)
    out.flags.writeable = False
    with pytest.raises(gradus.UsageError, match="read-only"):
        gradus.matmul(A, B, out=out)


def test_progress_of_a_long_product():
    factor = np.random.default_rng(0).random((2000, 2000))
    told = []
    gradus.matmul(factor, factor, device="cpu", threads=1, progress=lambda *what: told.append(what))
    assert told and all(phase == "multiply" and 0 <= done <= total for phase, done, total, _ in told)

    def progress(*_):
        raise ZeroDivisionError("of the caller")

    with pytest.raises(ZeroDivisionError, match="of the caller"):
        gradus.matmul(factor, factor, device="cpu", threads=2, progress=progress)
    assert gradus.matmul(factor[:2, :2], np.eye(2), device="cpu").tolist() == factor[:2, :2].tolist()


@pytest.mark.parametrize("strides, shares", [((0, 8), True), ((8, 0), True), ((8, 8), True), ((8, 4), True), ((24, 16), False),
                                             ((16, 8), False), ((8, 16), False), ((-16, 8), False), ((40, 16), False)])
def test_memory_whose_elements_overlap_is_no_out(strides, shares):
    out = np.lib.stride_tricks.as_strided(np.zeros(64)[16:], (2, 2), strides)
    if not shares:
        assert np.array_equal(gradus.matmul(np.eye(2), np.ones((2, 2)), out=out), np.ones((2, 2)))
        return
    with pytest.raises(gradus.UsageError, match="share memory"):
        gradus.matmul(np.eye(2), np.ones((2, 2)), out=out)
