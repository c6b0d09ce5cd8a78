"""The search: every cut's change is the true one, the best is taken, and the path can be
replayed.
"""

from fractions import Fraction

import numpy as np
import pytest
from fragmentations import aggregate_bounds, equal, matrix_of, ordered, paper_bounds
from hypothesis import given
from hypothesis import strategies as st
from matrices import Case, cases
from strategies import drawn

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.histograms import MultiplicityMatrix
from tclose_spark.methods.dealing.relaxed_conformance import DiameterInHierarchy
from tclose_spark.methods.fragmentation import fragments, search
from tclose_spark.methods.fragmentation.fragments import (
    DomainFragments,
    Fragment,
    PaperFragments,
    thinned,
)
from tclose_spark.methods.fragmentation.search import find_fragmentation, hinge, steepest

ORDERED = ("ordered",)


def brute_cuts(case: Case, cells: list[int]) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    """(attribute, last code that stays): the cells of both halves, by the rules of each
    distance.
    """
    codes, counts, found = case.matrix.codes, case.matrix.counts, {}
    for s, diameter in enumerate(case.diameters):
        present = sorted(set(codes[cells, s].tolist()))
        if isinstance(diameter, DiameterInHierarchy) and not diameter.features.parents:
            rows = {v: sum(int(counts[c]) for c in cells if codes[c, s] == v) for v in present}
            present.sort(key=lambda v: (-rows[v], v))
        ends = range(len(present) - 1)
        if diameter.features.parents:
            ground = case.grounds[s]
            top = max(ground[u][v] for u in present for v in present)
            ends = [i for i in ends if ground[present[i]][present[i + 1]] == top]
        for i in ends:
            below = set(present[: i + 1])
            lower = [c for c in cells if codes[c, s] in below]
            found[s, present[i]] = lower, [c for c in cells if c not in lower]
    return found


@pytest.mark.parametrize("chunk", [1, 5, 1 << 20])
@drawn(200, quick=50)
@given(st.data())
def test_changes_are_those_of_the_definition(chunk, data):
    case = data.draw(cases())
    cells = data.draw(
        st.lists(st.integers(0, case.matrix.cells - 1), min_size=1, unique=True).map(sorted),
    )
    kind = DomainFragments(case.matrix, case.diameters, {})
    fragment = Fragment(np.array(cells))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fragments, "CHUNK", chunk)
        cuts = kind.cuts(fragment)
    expected = brute_cuts(case, cells)
    assert list(zip(cuts.attribute.tolist(), cuts.last.tolist(), strict=True)) == list(expected)
    for (attribute, last), changes, halves in zip(
        expected,
        cuts.changes,
        expected.values(),
        strict=True,
    ):
        assert [half.cells.tolist() for half in kind.halves(fragment, attribute, last)] == list(
            halves,
        )
        for s, change in enumerate(changes.tolist()):
            true = sum(case.delta(s, half) for half in halves) - case.delta(s, cells)
            assert change == pytest.approx(float(true / case.matrix.rows), abs=1e-12)


@drawn(200, quick=50)
@given(cases(), st.sampled_from(["hinge", "steepest"]), st.integers(1, 8))
def test_the_path_has_the_bounds_of_its_fragmentations(case, objective, most):
    path = find_fragmentation(
        case.matrix,
        case.diameters,
        [0.1] * case.matrix.attributes,
        objective=objective,
        most=most,
    )
    assert path.steps + 1 == min(most, case.matrix.cells)
    coarser = None
    for steps in range(path.steps + 1):
        fragment_of = path.fragmentation(steps)
        assert sorted(set(fragment_of.tolist())) == list(range(steps + 1))
        assert path.exact_bounds[steps] == case.bounds(fragment_of)
        assert path.bounds[steps].tolist() == pytest.approx(
            [float(b) for b in path.exact_bounds[steps]],
        )
        if coarser is not None:
            moved = fragment_of != coarser
            assert set(fragment_of[moved].tolist()) == {steps}
            assert set(coarser[moved].tolist()) == {int(path.parents[steps - 1])}
        coarser = fragment_of


@drawn(100, quick=25)
@given(cases(), st.sampled_from(["hinge", "steepest"]))
def test_ends_at_the_bottom(case, objective):
    thresholds = [0.1, *[None] * (case.matrix.attributes - 1)]
    path = find_fragmentation(case.matrix, case.diameters, thresholds, objective=objective)
    assert path.exact_bounds[-1] == (0,) * case.matrix.attributes
    assert path.steps == case.matrix.cells - 1


@drawn(150, quick=37)
@given(cases(), st.sampled_from(["hinge", "steepest"]), st.data())
def test_takes_the_best_cut(case, objective, data):
    t = data.draw(
        st.lists(
            st.sampled_from([0.05, 0.2, 0.4]),
            min_size=case.matrix.attributes,
            max_size=case.matrix.attributes,
        ),
    )
    path = find_fragmentation(case.matrix, case.diameters, t, objective=objective, most=4)

    def value(found: tuple[Fraction, ...]) -> float:
        over = [(float(bound), limit) for bound, limit in zip(found, t, strict=True)]
        return (
            sum(max(b - x, 0) for b, x in over)
            if objective == "hinge"
            else sum((b / x) ** 4 for b, x in over)
        )

    for step in range(path.steps):
        before = path.fragmentation(step)
        ranked = []
        for fragment in range(step + 1):
            cells = np.flatnonzero(before == fragment).tolist()
            for place, ((attribute, last), (_, upper)) in enumerate(
                brute_cuts(case, cells).items(),
            ):
                after = before.copy()
                after[upper] = step + 1
                ranked.append((value(case.bounds(after)), attribute, fragment, place, last))
        least = min(ranked)[0]
        best = min(rank[1:] for rank in ranked if rank[0] <= least + 1e-9 * max(1, least))
        taken = int(path.attributes[step]), int(path.parents[step]), int(path.last[step])
        assert taken == (best[0], best[1], best[3])


@drawn(200, quick=50)
@given(cases(3, ORDERED), st.sampled_from(["hinge", "steepest"]), st.integers(1, 8))
def test_boxes_of_the_papers(case, objective, most):
    thresholds = [0.1] * case.matrix.attributes
    path = find_fragmentation(
        case.matrix,
        case.diameters,
        thresholds,
        kind="paper",
        objective=objective,
        most=most,
    )
    for steps in range(path.steps + 1):
        fragment_of, boxes = path.fragmentation(steps), path.boxes(steps)
        assert sorted(set(fragment_of.tolist())) == list(range(len(boxes)))
        assert paper_bounds(case.matrix, fragment_of, boxes) == path.exact_bounds[steps]
        inside = (boxes[:, None, :, 0] <= case.matrix.codes) & (
            case.matrix.codes <= boxes[:, None, :, 1]
        )
        assert inside.all(axis=2).sum(axis=0).tolist() == [1] * case.matrix.cells


@drawn(100, quick=25)
@given(cases(3, ORDERED), st.sampled_from(["hinge", "steepest"]))
def test_boxes_of_the_papers_end_at_the_bottom(case, objective):
    path = find_fragmentation(
        case.matrix,
        case.diameters,
        [0.1] * case.matrix.attributes,
        kind="paper",
        objective=objective,
    )
    assert path.exact_bounds[-1] == (0,) * case.matrix.attributes
    assert len(path.boxes(path.steps)) == case.matrix.cells
    assert np.all(path.boxes(path.steps)[..., 0] == path.boxes(path.steps)[..., 1])


@drawn(200, quick=50)
@given(st.data())
def test_changes_of_boxes_are_those_of_the_definition(data):
    case = data.draw(cases(3, ORDERED))
    kind = PaperFragments(case.matrix, case.diameters, {})
    fragment = kind.top()
    for _ in range(data.draw(st.integers(0, 3))):
        cuts = kind.cuts(fragment)
        if not len(cuts):
            break
        chosen = data.draw(st.integers(0, len(cuts) - 1))
        halves = kind.halves(fragment, int(cuts.attribute[chosen]), int(cuts.last[chosen]))
        fragment = data.draw(st.sampled_from([half for half in halves if len(half.cells)]))
    cuts = kind.cuts(fragment)
    ends = [
        (s, i) for s, (first, last) in enumerate(fragment.box.tolist()) for i in range(first, last)
    ]
    assert list(zip(cuts.attribute.tolist(), cuts.last.tolist(), strict=True)) == ends
    whole = kind.weighted(fragment)
    for (attribute, last), changes in zip(ends, cuts.changes, strict=True):
        halves = [kind.weighted(half) for half in kind.halves(fragment, attribute, last)]
        expected = [float(a + b - c) for a, b, c in zip(*halves, whole, strict=True)]
        assert changes.tolist() == pytest.approx(expected, abs=1e-12)


def grid(m: int, n: int) -> MultiplicityMatrix:
    codes = np.stack(np.meshgrid(np.arange(m), np.arange(n), indexing="ij"), axis=-1).reshape(-1, 2)
    return matrix_of(codes, np.ones(m * n, dtype=np.int64), (m, n))


@pytest.mark.parametrize("kind", ["domain", "paper"])
def test_cuts_at_the_edges_of_bins_only(kind):
    matrix, diameters = grid(6, 4), [ordered(6), ordered(4)]
    bin_of = np.array([0, 0, 1, 1, 1, 2])
    path = find_fragmentation(matrix, diameters, [0.01, 0.01], kind=kind, bins={0: bin_of})
    fragment_of = path.fragmentation(path.steps)
    assert fragment_of.max() + 1 == 3 * 4
    assert (
        len(set(zip(bin_of[matrix.codes[:, 0]], matrix.codes[:, 1], fragment_of, strict=True)))
        == 3 * 4
    )
    assert path.exact_bounds[-1][1] == 0
    # Bins of 2, 3 and 1 values of 4 rows each: the mean is half, and one, value away from an end.
    assert path.exact_bounds[-1][0] == (
        Fraction(8 * 1 + 12 * 2, 2 * 5 * 24) if kind == "domain" else Fraction(20, 2 * 24)
    )


def test_stops_at_the_given_bound():
    matrix, diameters = grid(6, 6), [ordered(6)] * 2
    for kind in ("domain", "paper"):
        path = find_fragmentation(
            matrix,
            diameters,
            [0.2, 0.3],
            kind=kind,
            stop=lambda found, _: found[0] <= 0.2 and found[1] <= 0.3,
        )
        met = [bool(row[0] <= 0.2 and row[1] <= 0.3) for row in path.bounds]
        assert met == [False] * path.steps + [True]
    seen: list[int] = []
    find_fragmentation(
        matrix,
        diameters,
        [0.2, 0.3],
        stop=lambda _, count: seen.append(count) or count == 5,
    )
    assert seen == [1, 2, 3, 4, 5]


def test_out_of_time_says_how_far_it_came():
    with pytest.raises(
        UnreachableError,
        match=r"reached 1 fragments with the bounds 0\.5 \(t 0\.1\), 0\.5 in 0 seconds.*method\.search_seconds",
    ):
        find_fragmentation(grid(6, 6), [ordered(6)] * 2, [0.1, None], limit=0)


def test_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr(search, "PROGRESS_SECONDS", 0.0)
    said: list[tuple[int, float]] = []
    path = find_fragmentation(
        grid(6, 6),
        [ordered(6)] * 2,
        [0.1, None],
        most=4,
        progress=lambda *now: said.append(now),
    )
    assert said == [(i + 1, pytest.approx(path.bounds[i, 0] / 0.1)) for i in range(3)]


def test_refuses_what_it_cannot_search():
    matrix = grid(3, 3)
    with pytest.raises(ValueError, match="no sensitive attribute has a t"):
        find_fragmentation(matrix, [ordered(3)] * 2, [None, None])
    with pytest.raises(ValueError, match="ordered attributes only"):
        find_fragmentation(matrix, [ordered(3), equal(3)], [0.1, 0.1], kind="paper")
    with pytest.raises(ValueError, match="bins are of an ordered attribute"):
        find_fragmentation(
            matrix,
            [ordered(3), equal(3)],
            [0.1, 0.1],
            bins={1: np.array([0, 0, 1])},
        )
    with pytest.raises(ValueError, match="only fragments of the papers' bounds are boxes"):
        find_fragmentation(matrix, [ordered(3)] * 2, [0.1, 0.1]).boxes(0)


def test_objectives_by_hand():
    t = np.array([0.2, np.inf, 0.0])
    found = np.array([[0.5, 0.9, 0.1], [0.1, 0.9, 0.0]])
    assert hinge(found, t).tolist() == pytest.approx([0.4, 0])
    assert steepest(found, np.array([0.25, np.inf, 0.1])).tolist() == pytest.approx([17, 0.4**4])
    assert np.isfinite(steepest(found, t)).all()


def test_the_attribute_without_t_is_left_alone():
    path = find_fragmentation(grid(6, 6), [ordered(6)] * 2, [None, 0.1], most=6)
    assert set(path.attributes.tolist()) == {1}


def test_few_of_very_many_cuts(monkeypatch):
    assert thinned(np.ones(65, dtype=np.int64)).tolist() == list(range(64))
    many = thinned(np.ones(6500, dtype=np.int64))
    assert len(many) == 64
    assert np.abs(many - np.arange(1, 65) * 100).max() <= 1
    assert thinned(np.array([10**9, *[1] * 99])).tolist() == [0]
    assert thinned(np.array([*[1] * 99, 10**9])).tolist() == [98]
    monkeypatch.setattr(fragments, "MOST_CUTS", 3)
    matrix, diameters = grid(12, 10), [ordered(12), equal(10)]
    kind = DomainFragments(matrix, diameters, {})
    cuts = kind.cuts(kind.top())
    assert list(zip(cuts.attribute.tolist(), cuts.last.tolist(), strict=True)) == [
        (0, 2),
        (0, 5),
        (0, 8),
        (1, 2),
        (1, 4),
        (1, 7),
    ]
    for attribute, last, changes in zip(cuts.attribute, cuts.last, cuts.changes, strict=True):
        fragment_of = (matrix.codes[:, attribute] > last).astype(np.int64)
        after = aggregate_bounds(matrix, fragment_of, diameters)
        assert changes.tolist() == pytest.approx(
            [float(a - b) for a, b in zip(after, kind.weighted(kind.top()), strict=True)],
        )
    assert find_fragmentation(matrix, diameters, [0.1, 0.1]).exact_bounds[-1] == (0, 0)


def test_a_domain_much_larger_than_its_rows():
    codes = np.array([[0], [7], [900], [999]])
    matrix = matrix_of(codes, np.array([4, 1, 2, 5]), (1000,))
    path = find_fragmentation(matrix, [ordered(1000)], [0.1])
    assert path.exact_bounds[1] == (Fraction(4 * 7 + 5 * 99, 999 * 12),)
    assert path.fragmentation(1).tolist() == [0, 0, 1, 1]


def test_of_equal_cuts_the_first_attribute_comes_before_the_first_fragment():
    path = find_fragmentation(grid(3, 3), [ordered(3)] * 2, [1, 1], objective="hinge", most=4)
    assert list(
        zip(path.attributes.tolist(), path.parents.tolist(), path.last.tolist(), strict=True),
    ) == [
        (0, 0, 0),
        (0, 1, 1),
        (1, 0, 0),
    ]


def test_boxes_without_rows_are_not_counted():
    matrix = matrix_of(np.array([[1], [3]]), np.array([1, 1]), (5,))
    seen: list[int] = []
    path = find_fragmentation(
        matrix,
        [ordered(5)],
        [1],
        kind="paper",
        objective="hinge",
        stop=lambda _, count: bool(seen.append(count)),
    )
    # Every bound meets a t of 1, so the lowest cut is taken each time: [0], [1], [2], and then [3]
    # from [4].
    assert seen == [1, 1, 2, 2, 2]
    assert path.last.tolist() == [0, 1, 2, 3]
    assert [len(path.boxes(steps)) for steps in range(5)] == seen
    assert path.boxes(4).tolist() == [[[1, 1]], [[3, 3]]]
    assert (
        find_fragmentation(matrix, [ordered(5)], [1], kind="paper", objective="hinge", most=2).steps
        == 2
    )
