import itertools
import pickle

import gradus
import numpy as np
import pytest


def distances(points, box=None):
    apart = np.abs(points[:, None].astype(np.float64) - points)
    if box is not None:
        apart = np.minimum(apart, box - apart)
    return np.sqrt((apart**2).sum(axis=2))[np.triu_indices(len(points), 1)]


@pytest.mark.parametrize("row", [row for row in gradus.variants("pair_histogram") if row.supported], ids=lambda r: r.name)
def test_every_variant_counts_each_pair_once(points, row):
    points = points[:300]
    expected, _ = np.histogram(distances(points), bins=np.arange(13) * 0.25)
    result = gradus.pair_histogram(points, bin_width=0.25, bins=12, variant=row.name)
    assert result.report.variant == row.name
    assert result.counts.dtype == np.uint64 and result.counts.tolist() == expected.tolist()
    assert result.pairs == 300 * 299 // 2 == result.counts.sum() + result.below + result.beyond


def test_edges_box_others_and_weights(points):
    points = points[:200] % 1
    edges = np.array([0.05, 0.1, 0.3, 0.5])
    result = gradus.pair_histogram(points, edges=edges, box=[1, 1, 1])
    apart = distances(points, 1.0)
    assert result.counts.tolist() == [int(((low <= apart) & (apart < high)).sum()) for low, high in zip(edges, edges[1:])]
    assert result.edges.tolist() == edges.tolist() and result.below == (apart < 0.05).sum()
    cross = gradus.pair_histogram(points[:50], others=points[50:], edges=edges)
    assert cross.pairs == 50 * 150
    weighed = gradus.pair_histogram(points, edges=edges, weights=np.full(len(points), 2.0))
    assert weighed.weighted.tolist() == (4.0 * weighed.counts).tolist()


def test_frames_add_up(points):
    points = points % 1
    first, second = (gradus.pair_histogram(part, bin_width=0.1, cutoff=0.5, box=[1, 1, 1]) for part in
                     (points[:1000], points[1000:]))  # fmt: skip
    total = first
    total += second
    assert total.frames == 2 and (total.counts == first.counts + second.counts).all()
    mean = (first.rdf().g + second.rdf().g) / 2
    np.testing.assert_allclose(total.rdf().g, mean, rtol=1e-12)
    assert total.rdf(volume=2.0).g == pytest.approx(2 * total.rdf().g)
    assert (pickle.loads(pickle.dumps(total)).counts == total.counts).all() and len(repr(total)) < 150
    with pytest.raises(gradus.UsageError, match="bins"):
        first + gradus.pair_histogram(points[:1000], bin_width=0.2, cutoff=0.4)
    with pytest.raises(gradus.UsageError, match="volume"):
        gradus.pair_histogram(points, bin_width=0.1, bins=3).rdf()
    listed = sum([first, second])
    assert listed.frames == 2 and (listed.counts == total.counts).all() and listed.volume == total.volume
    with pytest.raises(TypeError):
        1 + first
    open_space = gradus.pair_histogram(points[1000:], bin_width=0.1, cutoff=0.5)
    for pair in ((first, open_space), (open_space, first)):
        with pytest.raises(gradus.UsageError, match="one without a box.*pass `box` for all frames"):
            sum(pair)


def test_bins_and_volume_follow_from_the_box(points):
    half = gradus.pair_histogram(points % 1, bin_width=0.1, box=[1, 1, 1])
    assert len(half.counts) == 5 and half.edges[-1] == 0.5 and half.volume == 1.0
    cell = gradus.pair_histogram(points % 1, bin_width=0.1, bins=2, box=[[0, 2, 0], [2, 1, 0], [0, 1, 2]])
    assert cell.volume == 8.0
    with pytest.raises(gradus.UsageError, match="cutoff"):
        gradus.pair_histogram(points, bin_width=0.1)


def images(points, vectors, edges):
    """Counts each pair at the distance of its nearest periodic image. Searches images that are up to two cell vectors
    away."""
    first, second = np.triu_indices(len(points), 1)
    apart = points[first] - points[second]
    times = np.stack(np.meshgrid(*[range(-2, 3)] * len(vectors), indexing="ij"), -1).reshape(-1, len(vectors))
    least = np.min([((apart + shift @ vectors) ** 2).sum(axis=1) for shift in times], axis=0) ** 0.5
    return np.histogram(least, edges)[0].tolist()


CELL = np.array([[10.0, 0, 0], [4, 9, 0], [-2, 3, 8]])


@pytest.mark.parametrize("box", [[20.0, 20.0, 20.0], CELL], ids=["box", "cell"])
def test_points_outside_are_folded(box):
    vectors = np.diag(box) if np.ndim(box) == 1 else box
    points = np.random.default_rng(2).uniform(-0.1, 1.1, (150, 3)) @ vectors + [40, 0, 0] @ vectors / 10
    with pytest.raises(gradus.InputError, match="outside"):
        gradus.pair_histogram(points, bin_width=1, bins=3, box=box)
    counted = gradus.pair_histogram(points, bin_width=1, bins=3, box=box, fold=True)
    inside = (points @ np.linalg.inv(vectors) % 1) @ vectors
    assert counted.counts.tolist() == images(inside, vectors, np.arange(4.0))
    halves = gradus.pair_histogram(points[:50], others=points[50:], bin_width=1, bins=3, box=box, fold=True)
    assert halves.pairs == 50 * 100
    with pytest.raises(gradus.UsageError, match="no periodic box"):
        gradus.pair_histogram(points, bin_width=1, bins=3, fold=True)


def test_open_directions():
    points = np.random.default_rng(3).uniform(0, 1, (150, 3)) * [10, 10, 50]
    edges = np.arange(6.0)
    for periodic, vectors in (("xy", np.diag([10.0, 10, 0])[:2]), ("y", np.diag([0, 10.0, 0])[1:2]), ("none", np.zeros((1, 3)))):
        counted = gradus.pair_histogram(points, bin_width=1, bins=5, box=[10, 10, 5], periodic=periodic)
        assert counted.counts.tolist() == images(points, vectors, edges), periodic
        assert counted.volume is None
        with pytest.raises(gradus.UsageError, match="volume"):
            counted.rdf()
    slab = gradus.pair_histogram(points, bin_width=1, bins=4, box=[[10, 0, 0], [4, 9, 0], [1, 2, 3]], periodic="xy", fold=True)
    assert slab.counts.tolist() == images(points, CELL[:2], edges[:5])
    for periodic in ("", "xx", "w"):
        with pytest.raises(gradus.UsageError, match="periodic"):
            gradus.pair_histogram(points, bin_width=1, bins=1, box=[10, 10, 50], periodic=periodic)


CELLS = [np.diag([10.0, 7, 8]), np.array([[10.0, 0, 0], [1, 9, 0], [0.5, 1, 9.5]]), np.array([[6.0, 0, 0], [1.5, 7, 0], [0, 0, 9.0]])]


def nearest(separations, cell, periodic):
    """Returns the distances to the nearest images, which are up to two cells away in each periodic direction."""
    ranges = [range(-2, 3) if axis in periodic else (0,) for axis in "xyz"]
    shifts = np.array(list(itertools.product(*ranges))) @ cell
    return np.linalg.norm(separations[:, None, :] + shifts, axis=2).min(axis=1)


@pytest.mark.parametrize("periodic", ["x", "y", "z", "xy", "xz", "yz", "xyz"])
@pytest.mark.parametrize("cell", CELLS, ids=["box", "cell", "slab"])
@pytest.mark.parametrize("variant", [None, "simd_filter", "simd_cells", "sequential"])
def test_mixed_periodicity(cell, periodic, variant):
    """Compares counts in layers, wires and slabs with all images in the periodic directions."""
    random = np.random.default_rng(len(periodic) + int(cell[1, 0]))
    points, others = random.uniform(-0.3, 1.3, (150, 3)) @ cell, random.uniform(-0.3, 1.3, (60, 3)) @ cell
    for axis in "xyz":  # folding concerns periodic directions only; open ones keep points outside
        if axis in periodic:
            row = "xyz".index(axis)
            for rows in (points, others):
                rows -= np.floor(rows @ np.linalg.inv(cell))[:, [row]] * cell[row]
    call = {"bin_width": 0.25, "cutoff": 2.75, "box": np.diag(cell) if not (cell - np.diag(np.diag(cell))).any() else cell,
            "periodic": periodic, "fold": True, "variant": variant}
    first, second = np.triu_indices(len(points), 1)
    for ours, separations in ((gradus.pair_histogram(points, **call), points[first] - points[second]),
                              (gradus.pair_histogram(points, others=others, **call), (points[:, None] - others).reshape(-1, 3))):
        expected = np.histogram(nearest(separations, cell, periodic), ours.edges)[0]
        assert ours.counts.tolist() == expected.tolist()
        assert ours.pairs == len(separations) and ours.beyond == ours.pairs - expected.sum()
        assert (ours.volume is None) == (periodic != "xyz")


def ball_in_cube(radius, length):
    """Returns the volume of a ball without its six caps, for radii up to the distance to an edge of the cube."""
    cap = max(0.0, radius - length / 2)
    return 4 / 3 * np.pi * radius**3 - 6 * np.pi * cap**2 * (3 * radius - cap) / 3


def test_beyond_half_of_the_box():
    random = np.random.default_rng(5)
    points = random.uniform(0, 10, (3000, 3))
    with pytest.raises(gradus.UsageError, match="half of the box.*beyond_half"):
        gradus.pair_histogram(points, bin_width=0.5, cutoff=9, box=[10, 10, 10])
    ours = gradus.pair_histogram(points, bin_width=0.5, cutoff=9, box=[10, 10, 10], beyond_half=True)
    apart = np.abs(points[:, None] - points)[np.triu_indices(3000, 1)]
    distances = np.sqrt((np.minimum(apart, 10 - apart) ** 2).sum(axis=1))
    assert ours.counts.tolist() == np.histogram(distances, ours.edges)[0].tolist() and ours.beyond == 0
    within = [ball_in_cube(edge, 10) for edge in ours.edges if edge <= 10 / np.sqrt(2)]
    np.testing.assert_allclose(ours.shells[: len(within) - 1], np.diff(within), rtol=1e-11)
    assert ours.shells.sum() == pytest.approx(1000, rel=1e-12)
    radial = ours.rdf()
    full = ours.shells > 5
    assert np.all(np.abs(radial.g[full] - 1) < 6 / np.sqrt(ours.counts[full]))
    assert radial.g[~full & (ours.counts == 0)].tolist() == [0] * (~full & (ours.counts == 0)).sum()
    np.testing.assert_allclose(radial.density * ours.shells * 3000 / 2, ours.counts, rtol=1e-12)
    sums = ours + gradus.pair_histogram(points[:2000] * 1.1, bin_width=0.5, cutoff=9, box=[11, 11, 11], beyond_half=True)
    assert sums.shells.sum() > ours.shells.sum() * (1 - 1e-12) and np.all(np.abs(sums.rdf().g[full] - 1) < 0.05)
    near = gradus.pair_histogram(points, bin_width=0.5, cutoff=4, box=[10, 10, 10])
    assert near.rdf().g.tolist() == gradus.pair_histogram(points, bin_width=0.5, cutoff=4, box=[10, 10, 10], beyond_half=True).rdf().g.tolist()


@pytest.mark.parametrize("cell", CELLS, ids=["box", "cell", "slab"])
def test_shells_of_cells_are_those_of_random_separations(cell):
    """Compares the sizes of shells with a million random separations in the cell."""
    random = np.random.default_rng(6)
    is_box = not (cell - np.diag(np.diag(cell))).any()
    points = random.uniform(0, 1, (400, 3)) @ cell
    ours = gradus.pair_histogram(points, bin_width=0.5, cutoff=10, box=np.diag(cell) if is_box else cell, beyond_half=True, fold=True)
    volume = abs(np.linalg.det(cell))
    inverse = np.linalg.inv(cell)
    first, second = np.triu_indices(len(points), 1)
    share = (points[first] - points[second]) @ inverse
    counts = np.histogram(np.linalg.norm((share - np.rint(share)) @ cell, axis=1), ours.edges)[0]
    assert ours.counts.tolist() == counts.tolist()  # these cells are reduced already
    samples = random.uniform(-0.5, 0.5, (1_000_000, 3)) @ cell
    drawn = np.histogram(np.linalg.norm(samples, axis=1), ours.edges)[0]
    expected = ours.shells / volume * len(samples)
    assert np.all(np.abs(drawn - expected) < 6 * np.sqrt(expected + 1))
    if np.linalg.norm(np.abs(cell).sum(axis=0)) / 2 < ours.edges[-1]:
        assert ours.shells.sum() == pytest.approx(volume, rel=1e-12)


def test_beyond_half_in_fewer_dimensions_and_refusals():
    random = np.random.default_rng(7)
    flat = random.uniform(0, 10, (300, 2))
    disc = gradus.pair_histogram(flat, bin_width=0.5, cutoff=7.5, box=[10, 10], beyond_half=True)
    segments = [np.pi * r**2 - 4 * (r**2 * np.arccos(min(1, 5 / r)) - 5 * np.sqrt(max(0, r**2 - 25))) for r in disc.edges[1:15]]
    np.testing.assert_allclose(np.cumsum(disc.shells)[:14], segments, rtol=1e-12)
    assert disc.shells.sum() == pytest.approx(100, rel=1e-12)
    line = gradus.pair_histogram(flat[:, :1].copy(), bin_width=0.5, bins=14, box=[10], beyond_half=True)
    assert line.shells.tolist() == [1.0] * 10 + [0.0] * 4
    layer = gradus.pair_histogram(np.column_stack([flat, flat[:, 0]]), bin_width=0.5, cutoff=7.5, box=[10, 10, 1],
                                  dimensions="xy", beyond_half=True)
    np.testing.assert_allclose(layer.shells, disc.shells, rtol=1e-12)
    slab = gradus.pair_histogram(random.uniform(0, 10, (100, 3)), bin_width=0.5, cutoff=7, box=[10, 10, 10], periodic="xy", beyond_half=True)
    assert slab.shells is None and slab.volume is None
    with pytest.raises(gradus.UsageError, match="beyond_half=True has no effect: there is no periodic box"):
        gradus.pair_histogram(flat, bin_width=0.5, cutoff=7, beyond_half=True)
    call = {"bin_width": 0.5, "cutoff": 7, "box": [10, 10], "beyond_half": True}
    for variant in ("sequential", "openmp_shared", "openmp_privatized", "simd_brute_force"):
        assert gradus.pair_histogram(flat, variant=variant, **call).counts.tolist() == disc.counts[:14].tolist()
    for variant in ("simd_filter", "simd_cells", "simd_dual_tree"):
        with pytest.raises(gradus.UnsupportedError, match="simd_brute_force"):
            gradus.pair_histogram(flat, variant=variant, **call)


def test_layers():
    flat = np.random.default_rng(4).uniform(0, 20, (200, 3)) * [1, 1, 0]
    shells = gradus.pair_histogram(flat, bin_width=0.25, box=[20, 20, 1], box_origin=[0, 0, -0.5])
    assert shells.flat == "z"
    for counted in (shells, shells + shells):
        with pytest.raises(gradus.UsageError, match="dimensions='xy'"):
            counted.rdf()
    assert gradus.pair_histogram(flat, bin_width=0.25, box=[20, 20, 1], dimensions="xyz").rdf().g.shape == (2,)
    rings = gradus.pair_histogram(flat, bin_width=0.5, cutoff=8, box=[20, 20, 1], dimensions="xy")
    assert rings.dimensions == 2 and rings.volume == 400
    assert rings.counts.tolist() == images(flat, np.diag([20.0, 20, 0])[:2], rings.edges)
    area = np.pi * np.diff(rings.edges**2)
    np.testing.assert_allclose(rings.rdf().g, rings.counts / (200 * 199 / 2 * area / 400), rtol=1e-12)
    assert gradus.pair_histogram(flat[:, :2], bin_width=0.5, cutoff=8, box=[20, 20]).counts.tolist() == rings.counts.tolist()
    swapped = gradus.pair_histogram(flat[:, [0, 2, 1]], bin_width=0.5, cutoff=8, box=[20, 1, 20], dimensions="xz")
    assert swapped.counts.tolist() == rings.counts.tolist()
    sheared = gradus.pair_histogram(flat, bin_width=0.5, bins=8, box=[[20, 0, 0], [9, 20, 0], [0, 0, 1]], dimensions="xy")
    assert sheared.counts.tolist() == images(flat, np.array([[20.0, 0, 0], [9, 20, 0]]), sheared.edges)
    assert sheared.volume == 400


def test_bad_input(points):
    for arguments in ({}, {"bin_width": -1, "bins": 3}, {"edges": [1.0]}, {"edges": [2.0, 1.0]}):
        with pytest.raises(gradus.UsageError):
            gradus.pair_histogram(points, **arguments)
    with pytest.raises(gradus.InputError, match="5 columns"):
        gradus.pair_histogram(np.zeros((4, 5)), bin_width=1, bins=2)
    with pytest.raises(gradus.InputError, match="outside the periodic box.*; fold=True moves such points in"):
        gradus.pair_histogram(points + 1, bin_width=0.1, box=[1, 1, 1])
    with pytest.raises(gradus.InputError, match="row 7"):
        gradus.pair_histogram(np.where(points == points[7, 1], np.nan, points), bin_width=1, bins=2)
