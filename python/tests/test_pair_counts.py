"""Pair counts along a line of sight: rationals decide every pair, also pairs exactly on edges."""

import itertools
import math
from fractions import Fraction

import gradus
import numpy as np
import pytest
from gradus import correlation


def squares(kind, one, other, line_of_sight, box):
    """Returns the squares of both coordinates of a pair as rationals."""
    apart = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(one, other)]
    if box is not None:
        apart = [min(abs(d), Fraction(float(length)) - abs(d)) for d, length in zip(apart, box)]
    square = sum(d * d for d in apart)
    if line_of_sight == "midpoint":
        middle = [Fraction(float(a)) + Fraction(float(b)) for a, b in zip(one, other)]
        norm = sum(m * m for m in middle)
        along = sum(d * m for d, m in zip(apart, middle)) ** 2 / norm if norm else Fraction(0)
    else:
        along = apart["xyz".index(line_of_sight)] ** 2
    if kind == "rp_pi":
        return square - along, along
    return square, along / square if square else Fraction(0)


def place(square, edges):
    """Returns the bin of a coordinate, given its square, or None."""
    passed = sum(Fraction(edge) ** 2 <= square for edge in map(float, edges))
    return passed - 1 if 0 < passed < len(edges) else None


def brute_force(kind, points, edges, second_edges, line_of_sight, box=None, others=None, weights=None, other_weights=None):
    counts = np.zeros((len(edges) - 1, len(second_edges) - 1), np.uint64)
    sums = np.full(counts.shape, Fraction(0))
    pairs = itertools.product(range(len(points)), range(len(others))) if others is not None else itertools.combinations(range(len(points)), 2)
    second = points if others is None else others
    for i, j in pairs:
        first_square, second_square = squares(kind, points[i], second[j], line_of_sight, box)
        row, column = place(first_square, edges), place(second_square, second_edges)
        if row is None or column is None:
            continue
        counts[row, column] += 1
        if weights is not None:
            sums[row, column] += Fraction(float(weights[i])) * Fraction(float((weights if others is None else other_weights)[j]))
    return counts, sums.astype(float)


def lattice(dtype, offset=0.0):
    """Returns integers with repeated points. Many pairs are exactly on edges."""
    random = np.random.default_rng(3)
    return (random.integers(0, 7, (60, 3)) + offset).astype(dtype)


EDGES = {"rp_pi": [0, 1, math.sqrt(2), 2, 3], "s_mu": [0, 1, math.sqrt(3), 3, 3.5]}
SECOND = {"rp_pi": [0, 1, 2, 3.5], "s_mu": [0, 0.5, math.sqrt(0.5), 0.8, 1]}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["rp_pi", "s_mu"])
@pytest.mark.parametrize("line_of_sight", ["x", "y", "z", "midpoint"])
@pytest.mark.parametrize("is_cross", [False, True])
def test_pairs_on_edges(dtype, kind, line_of_sight, is_cross):
    for box, offset in ((None, -3.0), ([7.0, 8.0, 9.0], 0.0)):
        if box and line_of_sight == "midpoint":
            continue
        points = lattice(dtype, offset)
        others = points[:25] * dtype(-1) if is_cross and not box else points[:25] if is_cross else None
        weights = np.linspace(-1, 2, len(points)).astype(dtype)
        other_weights = None if others is None else weights[:25]
        counts, sums = brute_force(kind, points, EDGES[kind], SECOND[kind], line_of_sight, box, others, weights, other_weights)
        assert counts.sum() > 100
        for threads in (1, 2, 3):
            result = gradus.pair_counts(
                points, kind=kind, edges=EDGES[kind], second_edges=SECOND[kind], line_of_sight=line_of_sight, box=box,
                others=others, weights=weights, other_weights=other_weights, threads=threads,
            )  # fmt: skip
            assert result.counts.tolist() == counts.tolist() and result.weighted.tolist() == sums.tolist()
            assert result.counts.dtype == np.uint64 and result.report.threads == threads


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1.0, 1e30, 1e140])
@pytest.mark.parametrize("kind", ["rp_pi", "s_mu"])
def test_one_ulp_from_an_edge(kind, scale):
    """Pairs one unit in the last place from an edge, at all scales, and edges one unit from a pair."""
    random = np.random.default_rng(7)
    points = random.random((40, 3)) * scale
    for line_of_sight in ("z", "midpoint"):
        both = [squares(kind, a, b, line_of_sight, None) for a, b in itertools.combinations(points, 2)]
        def edges_near(values, most):
            middle = sorted(math.sqrt(value) if value < 1e300 else 0 for value in values)[:: len(values) // 4]
            near = {np.nextafter(edge, to) for edge in middle for to in (0, edge, np.inf)}
            return [0.0, *sorted(edge for edge in near if 0 < edge < most)]
        edges = edges_near([one for one, _ in both], np.inf)
        second = edges_near([other for _, other in both], np.inf)
        counts, _ = brute_force(kind, points, edges, second, line_of_sight)
        result = gradus.pair_counts(points, kind=kind, edges=edges, second_edges=second, line_of_sight=line_of_sight)
        assert result.counts.tolist() == counts.tolist() and counts.sum() > 100


def test_far_outliers_and_tiny_separations():
    points = np.array([[1, 1, 1], [1, 1, 1], [1 + 2**-52, 1, 1], [1e100, 0, 0], [1, 1, 1e-300], [-1e60, 1, 1], [1e100, 0, 2]])
    edges, second = [0, 2**-53, 2**-52, 1, 2, 3], [0, 0.5, 1, 2, 3]
    counts, _ = brute_force("rp_pi", points, edges, second, "z")
    assert gradus.pair_counts(points, edges=edges, second_edges=second, line_of_sight="z").counts.tolist() == counts.tolist()
    with pytest.raises(gradus.InputError, match="2\\^40"):
        gradus.pair_counts(points, edges=edges, second_edges=second)


def test_many_points_in_many_cells():
    """Clustered points in many cells: the filter decides nearly all pairs."""
    random = np.random.default_rng(1)
    centers = random.random((30, 3))
    points = ((centers[random.integers(0, 30, 1500)] + random.normal(0, 0.02, (1500, 3))) % 1).astype(np.float32)
    edges, second = np.geomspace(0.01, 0.1, 9), np.arange(6) * 0.03
    apart = np.abs(points[:, None].astype(float) - points)
    apart = np.minimum(apart, 1 - apart)[np.triu_indices(len(points), 1)]
    expected = np.histogram2d(np.hypot(apart[:, 0], apart[:, 1]), apart[:, 2], [edges, second])[0]
    result = gradus.pair_counts(points, edges=edges, second_edges=second, box=[1, 1, 1])
    assert np.abs(result.counts - expected).sum() <= 4  # NumPy rounds
    assert 0 < result.report.rechecked < 1e-3
    halves = [gradus.pair_counts(part, edges=edges, second_edges=second, box=[1, 1, 1]).counts for part in (points[::2], points[1::2])]
    cross = gradus.pair_counts(points[::2], others=points[1::2], edges=edges, second_edges=second, box=[1, 1, 1])
    assert (halves[0] + halves[1] + cross.counts == result.counts).all()


def test_angles():
    directions = np.array([[0, 90], [123, 90], [0, -90], [0, 0], [360, 0], [-360, 0], [1, 0], [359, 0], [90, 0], [180, 0], [45, 45]])
    vectors = gradus.sky_points(*directions.T)
    assert vectors[:4].tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, -1], [1, 0, 0]]
    assert vectors[4].tolist() == vectors[5].tolist() == vectors[3].tolist() and vectors[9].tolist() == [-1, 0, 0]
    edges = [0, 1e-9, 0.5, 1.5, 89.5, 90, 90.5, 180]
    result = gradus.pair_counts(directions, kind="theta", edges=edges)
    # Four pairs coincide, and two are at the other pole or side of the sky. All right angles are exact.
    assert result.counts.tolist() == [4, 0, 6, 10, 0, 25, 5] and result.pairs == 55
    angles = np.random.default_rng(0).uniform([-400, -90], [800, 90], (2000, 2))
    mpmath_free = np.column_stack([np.cos(np.radians(angles[:, 1])) * np.cos(np.radians(angles[:, 0])),
                                   np.cos(np.radians(angles[:, 1])) * np.sin(np.radians(angles[:, 0])),
                                   np.sin(np.radians(angles[:, 1]))])  # fmt: skip
    np.testing.assert_allclose(gradus.sky_points(*angles.T), mpmath_free, atol=2e-15)
    for wrong, message in (([[0, 91]], "declination"), ([[np.nan, 0]], "right ascension")):
        with pytest.raises(gradus.InputError, match=message):
            gradus.pair_counts(wrong, kind="theta", edges=[0, 1])


def test_regions_add_up_to_jackknife_samples():
    random = np.random.default_rng(5)
    points, randoms = random.random((300, 3)) * 100, random.random((400, 3)) * 100
    regions, random_regions = (np.array([30, -10, 20])[np.floor(set_[:, 0] / 33.4).astype(int)] for set_ in (points, randoms))
    weights, random_weights = random.integers(1, 5, 300), random.integers(1, 5, 400)
    bins = {"edges": [0, 5, 10, 20], "pi_max": 20.0, "pi_bins": 4, "line_of_sight": "z"}
    for named in ({}, {"others": randoms}):
        for is_weighted in (False, True):
            def count(keep, other_keep):
                chosen = dict(named)
                if named:
                    chosen = {"others": randoms[other_keep], "other_regions": random_regions[other_keep]}
                    if is_weighted:
                        chosen["other_weights"] = random_weights[other_keep]
                return gradus.pair_counts(points[keep], regions=regions[keep], weights=weights[keep] if is_weighted else None, **bins, **chosen)
            whole = count(np.full(300, True), np.full(400, True))
            assert whole.regions.tolist() == [-10, 20, 30]
            for number, region in enumerate(whole.regions):
                left = count(regions != region, random_regions != region)
                assert (whole.counts - whole.region_counts[number] == left.counts).all()
                assert whole.total - whole.region_totals[number] == left.total
                if is_weighted:
                    assert (whole.weighted - whole.region_weighted[number] == left.weighted).all()
                np.testing.assert_allclose(whole.without_regions()[number], left.normalized, rtol=1e-14)


def test_correlation_functions():
    random = np.random.default_rng(2)
    data, randoms = random.random((400, 3)) * 50, random.random((1200, 3)) * 50
    labels, random_labels = data[:, 0] // 10, randoms[:, 0] // 10
    bins = {"edges": [1, 5, 10, 15], "pi_max": 12, "line_of_sight": "z"}
    dd = gradus.pair_counts(data, regions=labels.astype(int), **bins)
    rr = gradus.pair_counts(randoms, regions=random_labels.astype(int), **bins)
    dr = gradus.pair_counts(data, others=randoms, regions=labels.astype(int), other_regions=random_labels.astype(int), **bins)
    xi = correlation.landy_szalay(dd, dr, rr)
    n, m = len(data), len(randoms)
    expected = (dd.counts / (n * (n - 1) / 2) - 2 * dr.counts / (n * m) + rr.counts / (m * (m - 1) / 2)) / (rr.counts / (m * (m - 1) / 2))
    np.testing.assert_allclose(xi, expected, rtol=1e-12)
    np.testing.assert_allclose(correlation.projected(xi, dd.second_edges), 2 * xi.sum(axis=1), rtol=1e-12)
    result = correlation.jackknife(correlation.landy_szalay, dd, dr, rr)
    assert result.samples.shape == (5, 36) and result.covariance.shape == (36, 36) and (result.error > 0).all()
    np.testing.assert_allclose(result.covariance, 4 * np.cov(result.samples.T, bias=True), atol=1e-12)
    constant = correlation.multipoles(np.ones((3, 10)), np.linspace(0, 1, 11), (0, 2, 4))
    np.testing.assert_allclose(constant, [[1] * 3, [0] * 3, [0] * 3], atol=1e-14)
    box = gradus.pair_counts(randoms, edges=[5, 10, 20], kind="s_mu", mu_bins=4, box=[50, 50, 50])
    assert np.abs(correlation.natural(box, correlation.box_pairs(box, [50, 50, 50]))).max() < 0.1
    with pytest.raises(gradus.UsageError, match="regions"):
        correlation.jackknife(correlation.natural, box, box)
    with pytest.raises(gradus.InputError, match="'s_mu'"):
        correlation.landy_szalay(dd, dr, box)


def test_tables_of_different_bins():
    points = np.random.default_rng(2).random((100, 3)) * 50
    regions = np.arange(100) % 3

    def count(**named):
        return gradus.pair_counts(points, regions=regions, **{"edges": [1, 5, 10], "pi_max": 12, "pi_bins": 3, **named})

    one = count()
    xi = correlation.natural(one, one)
    for other, message in (
        (count(kind="s_mu", pi_max=None, pi_bins=None, mu_bins=3), "kind 's_mu', but .* 'rp_pi'"),
        (count(edges=[1, 5, 11]), r"edges are \[ ?1., +5., 11.\], but .* 10.\]"),
        (count(pi_max=15), r"second_edges are .* 15.\], but .* 12.\]"),
    ):
        with pytest.raises(gradus.InputError, match="^rr: .*" + message):
            correlation.natural(one, other)
        with pytest.raises(gradus.InputError, match="^rd: .*" + message):
            correlation.landy_szalay(one, one, one, other)
    with pytest.raises(gradus.InputError, match="^table 1 of the counts: .* table 0"):
        correlation.jackknife(correlation.natural, one, count(pi_max=15))
    for box in ([50, 50, 19], [19, 19, 50], [0, 50, 50], [np.inf] * 3):
        with pytest.raises(gradus.UsageError, match="^box: "):
            correlation.box_pairs(one, box)
    assert correlation.box_pairs(one, [20, 20, 24]).shape == correlation.box_pairs(one, [24, 20, 20]).shape == (2, 3)
    shells = count(kind="s_mu", pi_max=None, pi_bins=None, mu_bins=3)
    with pytest.raises(gradus.UsageError, match="reach to 10, beyond half of the box"):
        correlation.box_pairs(shells, [50, 50, 19])
    for edges in ([0, 0.3, 0.6, 0.9], [0.1, 0.3, 0.6, 1], [0, 0.5, 1, 1.5], [0, 0.6, 0.3, 1]):
        with pytest.raises(gradus.InputError, match="^mu_edges: "):
            correlation.multipoles(xi, edges)
    assert correlation.multipoles(xi, [0, 0.3, 0.6, 1.5]).tolist() == correlation.multipoles(xi, [0, 0.3, 0.6, 1]).tolist()
    with pytest.raises(gradus.InputError, match="^pi_edges: "):
        correlation.projected(xi, [0, 4, 4, 8])


def test_points_at_one_place_and_opposite_directions():
    same = np.ones((2, 3))
    assert gradus.pair_counts(same, kind="s_mu", edges=[0, 1], mu_bins=3).counts.tolist() == [[1, 0, 0]]
    assert gradus.pair_counts([[0, 0], [180, 0]], kind="theta", edges=[0, 90, 180]).counts.tolist() == [0, 0]


@pytest.mark.parametrize("named, message", [
    ({"edges": [1]}, "two numbers"), ({"edges": [0, 2, 1]}, "increase"), ({"edges": [-1, 1]}, "from 0"), ({"edges": [0, np.nan]}, "nan|NaN"),
    ({"pi_max": None}, "pi_max"), ({"mu_bins": 3}, "mu_bins"), ({"kind": "s_mu", "pi_max": None}, "mu_bins"), ({"kind": "xy"}, "kind"),
    ({"kind": "s_mu", "mu_bins": 3}, "pi_max"), ({"pi_max": -1.0}, "pi_max"), ({"second_edges": [0, 1]}, "second_edges"),
    ({"box": [1, 2]}, "box"), ({"box": [9, 9, 3]}, "half of the box"), ({"box": [9, 9, 9], "line_of_sight": "midpoint"}, "observer"),
    ({"line_of_sight": "w"}, "line_of_sight"), ({"kind": "theta", "pi_max": None, "box": [9, 9, 9]}, "box"), ({"regions": [0.5] * 3}, "regions"),
    ({"regions": [1, 2]}, "regions"), ({"others": np.zeros((2, 3)), "regions": [1, 2, 3]}, "regions"), ({"device": "gpu"}, "GPU|CPU"),
    ({"weights": [1, 2]}, "weights"), ({"box": [9, 9, 9], "points": [[0, 0, 0], [10, 0, 0]]}, "farther apart"), ({"points": np.zeros((4, 2))}, "columns"),
])  # fmt: skip
def test_invalid_arguments(named, message):
    call = {"points": np.zeros((3, 3)), "edges": [0, 1, 2], "pi_max": 4.0, **named}
    with pytest.raises(gradus.Error, match=message):
        gradus.pair_counts(call.pop("points"), **call)


def test_no_pairs():
    for count in (0, 1):
        result = gradus.pair_counts(np.ones((count, 3)), edges=[0, 1], pi_max=2)
        assert result.counts.tolist() == [[0, 0]] and result.pairs == 0 and (result.normalized == 0).all()
    assert gradus.pair_counts(np.ones((3, 3)), others=np.ones((0, 3)), edges=[0, 1], pi_max=1).counts.tolist() == [[0]]


def test_corrfunc_counts_the_same():
    theory, mocks = pytest.importorskip("Corrfunc.theory"), pytest.importorskip("Corrfunc.mocks")
    points = np.random.default_rng(0).random((20_000, 3)) * 100
    edges = np.geomspace(0.5, 15, 13)
    ours = gradus.pair_counts(points, edges=edges, pi_max=20, box=[100, 100, 100])
    theirs = theory.DDrppi(1, 1, 20.0, edges, *points.T.copy(), boxsize=100.0)["npairs"]
    assert (theirs.reshape(12, 20) == 2 * ours.counts).all()
    ours = gradus.pair_counts(points, kind="s_mu", edges=edges, mu_bins=10, box=[100, 100, 100])
    theirs = theory.DDsmu(1, 1, edges, 1.0, 10, *points.T.copy(), boxsize=100.0)["npairs"]
    assert (theirs.reshape(12, 10) == 2 * ours.counts).all()
    ra, dec = np.random.default_rng(1).uniform([0, -90], [360, 90], (20_000, 2)).T
    distance = np.random.default_rng(2).uniform(50, 100, 20_000)
    ours = gradus.pair_counts(gradus.sky_points(ra, dec, distance), edges=edges, pi_max=20)
    theirs = mocks.DDrppi_mocks(1, 1, 1, 20.0, edges, ra, dec, distance, is_comoving_dist=True)["npairs"]
    assert np.abs(theirs.reshape(12, 20).astype(float) - 2 * ours.counts).sum() <= 8  # Corrfunc rounds coordinates otherwise
    angles = gradus.pair_counts(np.column_stack([ra, dec]), kind="theta", edges=edges)
    theirs = mocks.DDtheta_mocks(1, 1, edges, ra, dec)["npairs"]
    assert np.abs(theirs.astype(float) - 2 * angles.counts).sum() <= 8


def mock_catalogue(galaxies, length):
    """Returns a catalogue of groups in a periodic box."""
    random = np.random.default_rng(11)
    groups = random.uniform(0, length, (galaxies // 8, 3))
    return np.mod(np.repeat(groups, 8, axis=0) + random.normal(0, 1.5, (galaxies // 8 * 8, 3)), length)


def regions_of(points, length, cuts=2):
    """Returns the numbers of cubic regions, from 0."""
    return (np.minimum(points / length * cuts, cuts - 1).astype(int) @ [cuts**2, cuts, 1]).astype(np.int32)


def test_corrfunc_estimates_the_same():
    """xi(s), w_p and the jackknife of a mock: Corrfunc counts the catalogue without each region again."""
    theory = pytest.importorskip("Corrfunc.theory")
    length, edges = 100.0, np.geomspace(0.5, 15, 9)
    points = mock_catalogue(6000, length)
    regions = regions_of(points, length)

    def wp_of(counts, pairs):  # in a periodic box, random pairs follow from volumes
        share = np.pi * np.diff(edges**2)[:, None] * 2 * np.ones(20) / length**3
        return 2 * (counts / pairs / share - 1).sum(axis=1)

    def theirs(some):
        counts = theory.DDrppi(1, 1, 20.0, edges, *some.T.copy(), boxsize=length)["npairs"].reshape(8, 20) / 2
        return wp_of(counts, len(some) * (len(some) - 1) / 2)

    dd = gradus.pair_counts(points, edges=edges, pi_max=20, box=[length] * 3, regions=regions)
    random_pairs = correlation.box_pairs(dd, [length] * 3)
    ours = correlation.jackknife(lambda table: correlation.projected(correlation.natural(table, random_pairs), dd.second_edges), dd)
    np.testing.assert_allclose(ours.value, theirs(points), rtol=1e-9)
    samples = np.array([theirs(points[regions != region]) for region in dd.regions])
    np.testing.assert_allclose(ours.samples, samples, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.covariance, np.cov(samples.T, bias=True) * (len(samples) - 1), rtol=1e-7)
    shells = gradus.pair_counts(points, kind="s_mu", edges=edges, second_edges=[0, 1.5], box=[length] * 3)
    xi = correlation.natural(shells, correlation.box_pairs(shells, [length] * 3))[:, 0]
    expected = theory.xi(length, 1, edges, *points.T.copy())["xi"]
    np.testing.assert_allclose(xi, expected, rtol=1e-9, atol=1e-9)


def test_halotools_estimates_the_same():
    """xi(r), w_p and the jackknife covariance of a mock. halotools counts half of a pair with one point in a region."""
    observables = pytest.importorskip("halotools.mock_observables", reason="halotools is not installed")
    length, edges = 100.0, np.geomspace(0.5, 15, 7)
    points, randoms = mock_catalogue(3000, length), np.random.default_rng(12).uniform(0, length, (9000, 3))
    n = len(points)
    dd = gradus.pair_counts(points, edges=edges, pi_max=20, box=[length] * 3)
    ours = correlation.projected(correlation.natural(dd, correlation.box_pairs(dd, [length] * 3)), dd.second_edges)
    theirs = observables.wp(points, edges, 20, period=length)
    np.testing.assert_allclose(ours + 40, (theirs + 40) * n / (n - 1), rtol=1e-9)  # halotools divides by n^2

    labels, count = observables.cuboid_subvolume_labels(points, 2, length)
    random_labels, _ = observables.cuboid_subvolume_labels(randoms, 2, length)
    bins = {"kind": "s_mu", "edges": edges, "second_edges": [0, 1.5], "box": [length] * 3}  # no pair is at mu > 1

    def samples_of(points, labels, others, other_labels):
        """Returns the counts of all pairs, then without each region, as halotools weighs them."""
        second = {} if others is None else {"others": others, "other_regions": other_labels.astype(np.int32)}
        whole = gradus.pair_counts(points, regions=labels.astype(np.int32), **second, **bins)
        rows = [whole.counts[:, 0].astype(float)]
        for label in range(1, count + 1):
            inside = gradus.pair_counts(points[labels == label], others=None if others is None else others[other_labels == label], **bins)
            touched = whole.region_counts[list(whole.regions).index(label), :, 0].astype(float)
            rows.append(rows[0] - inside.counts[:, 0] - (touched - inside.counts[:, 0]) / 2)
        return np.array(rows) * (2 if others is None else 1)

    pairs = samples_of(points, labels, None, None)
    mixed = samples_of(points, labels, randoms, random_labels)
    random_pairs = samples_of(randoms, random_labels, None, None)
    left = np.array([n, *(n - np.bincount(labels, minlength=count + 1)[1:])])[:, None]
    random_left = np.array([len(randoms), *(len(randoms) - np.bincount(random_labels, minlength=count + 1)[1:])])[:, None]
    xi = (pairs / left**2 - 2 * mixed / (left * random_left) + random_pairs / random_left**2) / (random_pairs / random_left**2)
    value, covariance = observables.tpcf_jackknife(points, randoms, edges, 2, period=length, estimator="Landy-Szalay")
    np.testing.assert_allclose(xi[0], value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.cov(xi[1:].T, bias=True) * (count - 1), covariance, rtol=1e-7)
