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


def test_bad_input(points):
    for arguments in ({}, {"bin_width": -1, "bins": 3}, {"edges": [1.0]}, {"edges": [2.0, 1.0]}):
        with pytest.raises(gradus.UsageError):
            gradus.pair_histogram(points, **arguments)
    with pytest.raises(gradus.InputError, match="5 columns"):
        gradus.pair_histogram(np.zeros((4, 5)), bin_width=1, bins=2)
    with pytest.raises(gradus.InputError, match="row 7"):
        gradus.pair_histogram(np.where(points == points[7, 1], np.nan, points), bin_width=1, bins=2)
