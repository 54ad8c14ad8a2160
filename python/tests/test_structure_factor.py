"""Compares structure factors with sums in long double, mpmath and freud."""

import itertools

import gradus
import numpy as np
import pytest
from gradus import _core
from gradus._options import request

CELL = np.array([[10.0, 0, 0], [2, 9, 0], [-1, 3, 9.5]])
TWO_PI = 2 * np.pi


def direct(points, cell, vectors):
    """Returns S(q) by sums in long double."""
    points, cell = points.astype(np.longdouble), cell.astype(np.longdouble)
    a, b, c = cell
    volume = np.dot(a, np.cross(b, c))
    reciprocal = np.array([np.cross(b, c), np.cross(c, a), np.cross(a, b)]) / volume
    turns = (points @ reciprocal.T) @ vectors.T.astype(np.longdouble)
    turns = (turns - np.rint(turns)) * (2 * np.arccos(np.longdouble(-1)))
    return (np.cos(turns).sum(axis=0) ** 2 + np.sin(turns).sum(axis=0) ** 2) / len(points)


@pytest.mark.parametrize("cell", [np.diag([10.0, 9.0, 11.0]), CELL], ids=["box", "cell"])
@pytest.mark.parametrize("count", [1, 7, 8, 600])
def test_direct_sum(cell, count):
    random = np.random.default_rng(count)
    frames = [(cell * (1 + 0.01 * frame), random.uniform(-1, 2, (count, 3)) @ cell) for frame in range(3)]
    results = [gradus.structure_factor(frames, q_max=4, q_width=0.5, threads=threads, blocks=3) for threads in (1, 2, 5)]
    assert all((result.frame_s.tobytes(), result.s_error.tobytes()) == (results[0].frame_s.tobytes(), results[0].s_error.tobytes()) for result in results)
    ours = results[0]
    grid = np.array(list(itertools.product(range(-9, 10), repeat=3)))
    first = TWO_PI * np.linalg.inv(cell).T
    waves = np.linalg.norm(grid @ first, axis=1)
    grid = grid[(0 < waves) & (waves < 4)]
    assert np.abs(grid).max() < 9 and 2 * ours.vectors.sum() == len(grid)
    for number, (box, points) in enumerate(frames):
        waves = np.linalg.norm(grid @ (TWO_PI * np.linalg.inv(box).T), axis=1)
        values = direct(points, box, grid)
        for bin in range(8):
            inside = (waves >= 0.5 * bin) & (waves < 0.5 * bin + 0.5)
            if inside.any():
                np.testing.assert_allclose(ours.frame_s[number, bin], values[inside].mean(), rtol=1e-10)
            else:
                assert np.isnan(ours.frame_s[number, bin])
    np.testing.assert_allclose(ours.s, ours.frame_s.mean(axis=0))
    np.testing.assert_allclose(ours.s_error, ours.frame_s.std(axis=0, ddof=1) / np.sqrt(3))


def test_a_crystal_has_peaks():
    points = np.array(list(itertools.product(range(8), repeat=3))) * 1.25
    ours = gradus.structure_factor(([10.0, 10, 10], points), q_max=5.03, q_width=0.01)
    peak = int(TWO_PI / 1.25 / 0.01)
    np.testing.assert_allclose(ours.s[peak] * ours.vectors[peak], 3 * 512, rtol=1e-12)
    assert np.nansum(np.delete(ours.s, peak)) < 1e-20
    few = gradus.structure_factor(([10.0, 10, 10], points), q_max=5.03, q_width=1, vectors_per_bin=10)
    assert few.vectors.max() == 10 and few.vectors[0] <= 10


def test_freud():
    freud = pytest.importorskip("freud", reason="freud is not installed (pip install freud-analysis)")
    points = np.random.default_rng(2).uniform(-5, 5, (400, 3)).astype(np.float32)
    box = freud.box.Box.cube(10)
    theirs = freud.diffraction.StaticStructureFactorDirect(bins=10, k_max=5, num_sampled_k_points=0)
    theirs.compute((box, points))
    integers = np.array(list(itertools.product(range(9), repeat=3)))  # freud takes one octant of the lattice
    integers = integers[np.linalg.norm(integers, axis=1) * TWO_PI / 10 < 5]
    values = _core.structure_factor(points.astype(float), [10.0] * 3, integers, 5, 0.5, request("cpu", None, 1, "none", None, None, None, None))[1]
    np.testing.assert_allclose(values[2:], theirs.S_k[2:], rtol=1e-4)


def test_the_smallest_wave_of_a_cell():
    for cell in (CELL, CELL @ np.diag([1, 1, 3.0]), np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1]]) @ CELL):
        first = TWO_PI * np.linalg.inv(cell)
        least = min(np.linalg.norm(first @ np.array(h)) for h in itertools.product(range(-3, 4), repeat=3) if any(h))
        with pytest.raises(gradus.UsageError, match="smallest wave number") as caught:
            gradus.structure_factor((cell, np.zeros((1, 3))), q_max=least * (1 - 1e-9), q_width=least / 2)
        assert float(str(caught.value).split("this box is ")[1].split(" (")[0]) == pytest.approx(least, rel=1e-12)
        assert gradus.structure_factor((cell, np.zeros((1, 3))), q_max=least * (1 + 1e-9), q_width=least).vectors.sum() == 1


def test_averages_leave_out_missing_values():
    nan = np.nan
    mean, error = _core.average_frames(np.array([[1.0, nan, 3], [2, nan, nan], [6, nan, nan], [7, 5, nan]]), 2)
    np.testing.assert_array_equal(mean, [4, 5, 3])
    np.testing.assert_array_equal(error, [2.5, nan, nan])
    for blocks in (0, 5):
        with pytest.raises(gradus.UsageError, match="there are 4 frames"):
            _core.average_frames(np.zeros((4, 1)), blocks)


def test_debye():
    random = np.random.default_rng(3)
    points = random.normal(0, 2, (120, 3))
    wave = np.array([0, 1e-3, 0.1, 0.7, 2.5])
    apart = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(120, 1)].astype(np.longdouble)
    exact = np.array([1 + 2 * np.where(q > 0, np.sin(q * apart) / np.maximum(q * apart, 1e-30), 1).sum() / 120 for q in wave.astype(np.longdouble)])
    bounds = []
    for width in (0.2, 0.02, 0.002):
        s, bound = gradus.pair_histogram(points, bin_width=width, bins=int(30 / width)).structure_factor(wave)
        assert (np.abs(s - exact) <= bound + 1e-11).all() and bound[0] == 0
        bounds.append(bound[-1])
    assert bounds[2] < bounds[1] / 5 < bounds[0] / 25
    two = gradus.pair_histogram(points, bin_width=0.2, bins=150) + gradus.pair_histogram(points[:100], bin_width=0.2, bins=150)
    assert two.structure_factor(0.0)[0] == pytest.approx((120**2 + 100**2) / 220)
    mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed (pip install mpmath)")
    histogram = gradus.pair_histogram(points, bin_width=0.5, bins=60)
    with mpmath.workdps(40):
        q = mpmath.mpf(2.5)
        middles = [(mpmath.mpf(float(low)) + mpmath.mpf(float(high))) / 2 for low, high in zip(histogram.edges, histogram.edges[1:])]
        wanted = 1 + 2 * sum(int(count) * mpmath.sin(q * r) / (q * r) for count, r in zip(histogram.counts, middles)) / 120
        assert abs(histogram.structure_factor(2.5)[0][0] - float(wanted)) < 1e-12


def test_bad_input():
    points = np.random.default_rng(1).random((10, 3))
    good = {"q_max": 20, "q_width": 1}
    for source, arguments, words in (
        ((None, points), good, "repeats in all directions"),
        (([1, 1, 1], points * np.nan), good, "NaN|nan"),
        (([1, 1, 1], points), {"q_max": 0, "q_width": 1}, "q_width"),
        (([1, 1, 1], points), {"q_max": 1e5, "q_width": 1}, "too far"),
        (([1, 2, 1], points), {"q_max": 3.1, "q_width": 1}, "below q_max 3.1; the smallest wave number of this box is 3.14159"),
        (([1, 1, 1], points), {"q_max": 1e3, "q_width": 1e-9}, "million"),
        (([1, 1, 1], points), {**good, "vectors_per_bin": 0}, "at least 1"),
        (([1, 1, 1], points), {**good, "select": [10]}, "0 to 9.*frame 0"),
        ([], good, "needed are"),
    ):
        with pytest.raises((gradus.UsageError, gradus.InputError), match=words):
            gradus.structure_factor(source, **arguments)
    boxed = gradus.pair_histogram(points, bin_width=0.1, cutoff=0.5, box=[1, 1, 1])
    with pytest.raises(gradus.UsageError, match="open space"):
        boxed.structure_factor(1.0)
    with pytest.raises(gradus.UsageError, match="every pair"):
        gradus.pair_histogram(points, bin_width=0.1, cutoff=0.5).structure_factor(1.0)
    with pytest.raises(gradus.UsageError, match="not negative"):
        gradus.pair_histogram(points, bin_width=0.1, bins=30).structure_factor(-1.0)
