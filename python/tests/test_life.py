import pickle
import subprocess
import sys

import gradus
import numpy as np
import pytest

HERE = [row for row in gradus.variants("life") if row.supported]
GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], np.uint8)


def soup(height=37, width=130, seed=1):
    return (np.random.default_rng(seed).random((height, width)) < 0.4).astype(np.uint8)


def step(cells, torus, birth=(3,), survival=(2, 3)):
    wide = np.pad(cells, 1, mode="wrap" if torus else "constant").astype(int)
    height, width = cells.shape
    near = sum(wide[1 + y : 1 + y + height, 1 + x : 1 + x + width] for y in (-1, 0, 1) for x in (-1, 0, 1)) - cells
    return np.where(cells == 1, np.isin(near, survival), np.isin(near, birth)).astype(np.uint8)


@pytest.mark.parametrize("row", HERE, ids=lambda row: row.name)
@pytest.mark.parametrize("boundary", ["dead", "torus"])
def test_every_variant(row, boundary):
    cells = expected = soup()
    for _ in range(20):
        expected = step(expected, boundary == "torus")
    for threads in (1, 3):
        try:
            result = gradus.life(cells, 20, boundary=boundary, variant=row.name, threads=threads)
        except gradus.UnsupportedError as error:
            assert row.name in str(error) and "plane" in str(error)  # because this variant supports only the plane
            result = gradus.life(cells, 20, boundary="plane", variant=row.name, threads=threads)
            assert result.population == gradus.life(cells, 20, boundary="plane").population
            continue
        assert result.report.variant == row.name and result.generations == 20
        assert result.cells.dtype == np.uint8 and (result.cells == expected).all()
        assert result.population == expected.sum()


def test_there_are_variants():
    assert len(HERE) >= 4


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 63, 64, 65, 129])
def test_rules_and_widths(width):
    cells = soup(11, width)
    result = gradus.life(cells, 1, rule="B36/S23")
    assert (result.cells == step(cells, False, (3, 6))).all()
    assert (gradus.life(cells, 0).cells == cells).all()


def test_types_come_back():
    for dtype in (bool, np.int8, np.uint8, np.int32, np.int64, ">i4"):
        result = gradus.life(GLIDER.astype(dtype), 1, boundary="torus")
        assert result.cells.dtype == np.dtype(dtype).newbyteorder("=")
        assert (result.cells == gradus.life(GLIDER, 1, boundary="torus").cells).all()
    assert gradus.life(GLIDER.tolist(), 1).cells.dtype == np.int64
    assert (gradus.life(np.asfortranarray(GLIDER), 1).cells == gradus.life(GLIDER, 1).cells).all()


def test_the_plane_has_no_border():
    result = gradus.life(GLIDER, 4000, boundary="plane")
    assert (result.cells == GLIDER).all() and (result.left, result.top) == (1000, 1000) and not result.background
    moved = gradus.life(GLIDER, 4, boundary="plane", left=-5, top=7)
    assert (moved.left, moved.top) == (-4, 8)
    lit = gradus.life(GLIDER, 1, boundary="plane", rule="B0/S23")
    assert lit.background
    dead = gradus.life(np.zeros((3, 3), bool), 5, boundary="plane")
    assert dead.cells.size == 0 and dead.population == 0


def test_a_plane_too_large_for_an_array():
    names = [row.name for row in HERE if "hash" in row.name]
    assert names
    result = gradus.life(GLIDER, 2**40, boundary="plane", variant=names[0])
    assert result.population == 5 and (result.left, result.top) == (2**38, 2**38)
    apart = np.zeros((3, 40), np.uint8)  # two gliders that move apart
    apart[:, :3], apart[:, -3:] = GLIDER[:, ::-1], GLIDER
    far = gradus.life(apart, 2**40, boundary="plane", variant=names[0])
    assert far.population == 10 and far.tree is not None and far.cells.size == 0 and "a tree" in repr(far)
    tree = far.tree
    assert len(tree.levels) == len(tree.cells) == len(tree.quarters) and tree.quarters.shape[1] == 4
    assert sum(int(word).bit_count() for word in np.unique(tree.cells)) > 0


def test_hashes_and_cycles():
    blinker = np.zeros((5, 5), bool)
    blinker[2, 1:4] = True
    result = gradus.life(blinker, 100, until_stable=True, hashes=True)
    assert result.cycle == (0, 2) and result.generations < 100
    assert result.hashes[0] == result.hashes[2] != result.hashes[1] and len(result.hashes) == result.generations + 1
    assert gradus.life(blinker, 3).hashes is None and gradus.life(blinker, 3).cycle is None


def test_the_program_has_the_same_cells(tmp_path):
    cells = soup()
    text = "".join("".join("O" if cell else "." for cell in row) + "\n" for row in cells)
    (tmp_path / "soup.cells").write_text(text)
    command = [sys.executable, "-m", "gradus", "life", "soup.cells", "--generations", "50", "-o", "out.cells", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    lines = [line for line in (tmp_path / "out.cells").read_text().splitlines() if not line.startswith("!")]
    result = gradus.life(cells, 50, boundary="plane")
    ours = ["".join("O" if cell else "." for cell in row).rstrip(".") for row in result.cells]
    assert [line.rstrip(".") for line in lines] == ours


def test_result_is_frozen_and_pickles():
    result = gradus.life(GLIDER, 1)
    with pytest.raises(AttributeError):
        result.cells = None
    again = pickle.loads(pickle.dumps(result))
    assert (again.cells == result.cells).all() and len(repr(result)) < 120 and "3 x 3 cells" in repr(result)


BAD = [
    (lambda: gradus.life(GLIDER, -1), gradus.UsageError, "generations|-1"),
    (lambda: gradus.life(GLIDER[0], 1), gradus.UsageError, r"\(3,\)"),
    (lambda: gradus.life(GLIDER * 2, 1), gradus.InputError, "2 in row 0, column 1"),
    (lambda: gradus.life(-GLIDER.astype(int), 1), gradus.InputError, "-1 in row 0, column 1"),
    (lambda: gradus.life(GLIDER.astype(float), 1), gradus.InputError, "float64"),
    (lambda: gradus.life(GLIDER.astype(object), 1), gradus.InputError, "object"),
    (lambda: gradus.life(GLIDER, 1, rule="B9/S23"), gradus.UsageError, "B9"),
    (lambda: gradus.life(GLIDER, 1, boundary="torsu"), gradus.UsageError, "did you mean 'torus'"),
    (lambda: gradus.life(GLIDER, 1, variant="sequentail"), gradus.UsageError, "did you mean 'sequential'"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", BAD)
def test_bad_input(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_exceptions_of_progress_come_out():
    def stop(*_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        gradus.life(soup(2000, 2000), 100000, device="cpu", progress=stop)


def test_a_long_hashlife_can_be_ended():
    def progress(phase, done, total, detail):
        assert phase == "generation" and 0 <= done <= total
        raise ZeroDivisionError("of the caller")

    soup = np.random.default_rng(0).random((1000, 1000)) < 0.4
    with pytest.raises(ZeroDivisionError, match="of the caller"):
        gradus.life(soup, 10**6, boundary="plane", variant="hashlife", progress=progress)
