"""Linkage by distance: against its definition, with exact widths, on drawn tables."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.disclosure import reidentification as module
from tclose_spark.measures.disclosure.reidentification import link, of_numbers, of_values

SETS = [{"a"}, {"a", "b"}, {"a", "b", "c"}]
intervals = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda ends: (min(ends), max(ends)))
classes = st.tuples(st.none() | intervals | st.just("*"), st.integers(0, 2), st.integers(1, 4))
people = st.tuples(st.none() | st.integers(0, 8), st.sampled_from("abc"))


def number_distance(value: int | None, label: tuple[int, int] | str | None, span: int) -> Fraction:
    if value is None or label is None:
        return Fraction(value is not None or label is not None)
    if label == "*":
        return Fraction(1)
    width = max(value, label[1]) - min(value, label[0])
    return (
        Fraction(0)
        if width == 0
        else min(Fraction(1), Fraction(width, span))
        if span
        else Fraction(1)
    )


@pytest.mark.parametrize("chunk", [100, 2])
@drawn(100)
@given(data=st.data())
def test_it_is_that_of_the_definition(chunk: int, data: st.DataObject) -> None:
    listed = data.draw(st.lists(classes, min_size=1, max_size=5))
    rows = data.draw(st.lists(people, min_size=1, max_size=5))
    owners = [data.draw(st.sets(st.integers(0, len(listed) - 1))) for _ in rows]
    ends = [label for label, _, _ in listed if isinstance(label, tuple)]
    span = max((high for _, high in ends), default=0) - min((low for low, _ in ends), default=0)
    apart = [
        [
            number_distance(age, label, span)
            + (Fraction(len(SETS[kind]), 3) if job in SETS[kind] else 1)
            for label, kind, _ in listed
        ]
        for age, job in rows
    ]
    sizes, nearest, blind = [size for *_, size in listed], Fraction(0), Fraction(0)
    for of_row, own in zip(apart, owners, strict=True):
        tied = [i for i, distance in enumerate(of_row) if distance == min(of_row)]
        nearest += Fraction(sum(sizes[i] for i in tied if i in own), sum(sizes[i] for i in tied))
        blind += Fraction(sum(sizes[i] for i in own), sum(sizes))
    slots = [data.draw(st.integers(0, len(listed) - 1)) for _ in rows]
    costs = {
        chosen: sum(apart[i][slots[j]] for i, j in enumerate(chosen))
        for chosen in permutations(range(len(rows)))
    }
    cheapest = [chosen for chosen, cost in costs.items() if cost == min(costs.values())]
    right = {
        sum(slots[j] in owners[i] for i, j in enumerate(chosen)) / len(rows) for chosen in cheapest
    }

    low, high = np.array(
        [
            {None: (np.nan, np.nan), "*": (-np.inf, np.inf)}.get(label, label)
            for label, *_ in listed
        ],
        dtype=float,
    ).T
    ages = np.array([np.nan if age is None else age for age, _ in rows], dtype=float)
    between = np.array([[len(one) / 3 if job in one else 1 for one in SETS] for job in "abc"])
    jobs = np.array(["abc".index(job) for _, job in rows])
    own = np.array([[i in mine for i in range(len(listed))] for mine in owners])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        distances = [
            of_numbers(ages, low, high),
            of_values(between, jobs, np.array([kind for _, kind, _ in listed])),
        ]
        found = link(
            distances,
            lambda places: own[places],
            len(rows),
            np.array(sizes),
            np.array(slots),
        )
    assert (found.rows, found.classes) == (len(rows), len(listed))
    assert found.nearest == pytest.approx(float(nearest / len(rows)))
    assert found.blind == pytest.approx(float(blind / len(rows)))
    assert found.without == sum(not mine for mine in owners)
    assert any(found.one_to_one == pytest.approx(one) for one in right)


def test_equal_assignments_are_decided_by_chance() -> None:
    """Rows and released rows in the same order, all equally far apart, are not linked to
    themselves.
    """
    everyone = np.arange(200)
    found = link(
        [lambda rows: np.ones((len(rows), 200))],
        lambda r: r[:, None] == everyone,
        200,
        np.ones(200),
        everyone,
    )
    assert found.nearest == pytest.approx(found.blind)
    assert found.one_to_one is not None
    assert found.one_to_one < 0.05
