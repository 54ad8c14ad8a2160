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
