"""Whether groups are classes, over every unit: numpy and kernels, against exact fractions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.holding import add_cell, holds, work_space
from tclose_spark.methods.class_requirement import CellGroups, ClassRequirement
from tclose_spark.methods.method import require_rows
from tclose_spark.methods.units import WHOLE, Unit, rows_of
from tclose_spark.requirements.planning import Needs
from tclose_spark.table.domains import SensitiveDomain

VALUES = ("cold", "flu", "gout")
SIZES = (1, 2, 3)
CELLS = np.array([*product(range(len(VALUES)), SIZES, (0, 1), SIZES)])
"""The value of a row, the rows of its person, whether it is the first of them, the rows of its
household.
"""
KINDS = (("rows",), ("rows", "people"), ("rows", "households"), ("rows", "people", "households"))


def attributes_of(rows, names, t, distinct, households):
    """Of a table with these rows by cell, whose classes count these units."""
    values, size, first, home = CELLS.T
    counts = np.bincount(values, rows, len(VALUES)).astype(np.int64)
    units = {
        "rows": rows_of(len(CELLS)),
        "people": Unit(name="people", of_cell=first, spread=np.rint(WHOLE / size).astype(np.int64)),
        "households": Unit(
            name="households",
            of_cell=WHOLE // home,
            spread=None,
            needed=households,
            whole=WHOLE,
        ),
    }
    disease = ResolvedSensitive(
        column=0,
        domain=SensitiveDomain("disease", VALUES, tuple(counts.tolist())),
        hierarchy=None,
        distance=EqualDistance(counts),
        t=t,
        needs=Needs(values=distinct),
        bins=None,
    )
    return ResolvedAttributes(
        rows=int(rows.sum()),
        quasi_identifiers=(),
        sensitive=(disease,),
        cells=values[:, None],
        cell_rows=rows,
        units=tuple(units[name] for name in names),
    )


def distance(rows, whole, weight):
    """The distance of some rows from the whole table, if a row of each cell weighs so much."""
    sides = []
    for of_cell in (rows, whole):
        found = [Fraction(0)] * len(VALUES)
        for (value, *_), each, n in zip(CELLS.tolist(), weight, of_cell.tolist(), strict=True):
            found[value] += each * n
        sides.append([one / sum(found) for one in found])
    return sum(abs(p - q) for p, q in zip(*sides, strict=True)) / 2


def is_class(rows, whole, names, k, t, distinct, households):
    """By the definitions; None if a distance is so near to t that rounding decides."""
    _, size, first, home = CELLS.T
    met = [rows.sum() >= k]
    over = {"rows": [Fraction(1)] * len(CELLS)}
    some = {"rows": rows}
    if "people" in names:
        met.append(rows @ first >= k)
        over["people"] = [Fraction(1, int(one)) for one in size]
        some["people"] = rows * first
    if "households" in names:
        met.append(rows @ (WHOLE // home) > (households - 1) * WHOLE)
    for name, weight in over.items():
        met.append(len({*CELLS[some[name] > 0, 0].tolist()}) >= distinct)
        far = distance(rows, whole, weight)
        if name == "people" and abs(far - t) < Fraction(1, 10**6):
            return None
        met.append(far <= t)
    return all(met)


@drawn(150, quick=40)
@given(
    st.data(),
    st.sampled_from(KINDS),
    st.integers(1, 4),
    st.integers(0, 12),
    st.integers(1, 3),
    st.integers(2, 3),
)
def test_numpy_and_kernels_hold_what_exact_fractions_say(
    data,
    names,
    k,
    twelfths,
    distinct,
    households,
):
    group = st.lists(
        st.tuples(st.integers(0, len(CELLS) - 1), st.integers(1, 3)),
        min_size=1,
        max_size=6,
    )
    classes = np.zeros((data.draw(st.integers(1, 4)), len(CELLS)), dtype=np.int64)
    for rows in classes:
        for cell, n in data.draw(group):
            rows[cell] += n
    whole, t = classes.sum(axis=0), Fraction(twelfths, 12)
    attributes = attributes_of(whole, names, t, distinct, households)
    expected = [is_class(rows, whole, names, k, t, distinct, households) for rows in classes]
    assume(None not in expected)
    found = ~ClassRequirement(attributes, k).broken(CellGroups.of(classes))
    dense = Dense(attributes, k)
    kernels = []
    for rows in classes:
        requirement = dense.requirement(int(rows.sum()))
        counts = np.zeros(requirement.tables.shape, dtype=np.int64)
        for cell in np.flatnonzero(rows):
            add_cell(counts, cell, int(rows[cell]), requirement)
        kernels.append(holds(counts, int(rows.sum()), requirement, work_space(requirement)))
    assert [*found.tolist(), *map(dense.holds, classes)] == 2 * expected
    assert kernels == expected


def test_no_rows_are_no_class():
    whole = np.ones(len(CELLS), dtype=np.int64)
    attributes = attributes_of(whole, KINDS[-1], Fraction(1), 1, 2)
    assert not ClassRequirement(attributes, 1).holds(np.zeros_like(whole))
    assert (
        ClassRequirement(attributes, 1).broken(CellGroups.of(whole[:0].reshape(0, 0))).tolist()
        == []
    )


@pytest.mark.parametrize(
    ("homes", "enough"),
    [([3, 3, 3], False), ([3, 3, 3, 3], True), ([1, 3], True), ([1], False)],
)
def test_two_households_weigh_more_than_one(homes, enough):
    """A household that is whole, and a row of another."""
    rows = np.zeros(len(CELLS), dtype=np.int64)
    for home in homes:
        rows[[*map(tuple, CELLS.tolist())].index((0, 1, 1, home))] += 1
    attributes = attributes_of(rows, ("rows", "households"), Fraction(1), 1, 2)
    assert ClassRequirement(attributes, 1).holds(rows) == enough


@pytest.mark.parametrize(
    ("names", "has"),
    [
        (("rows",), "108 rows"),
        (("rows", "households"), "108 rows"),
        (("rows", "people"), "54 people"),
        (("rows", "people", "households"), "54 people"),
    ],
)
def test_a_k_above_the_whole_table_is_reported_in_what_k_counts(names, has):
    """Two rows of each cell. Half of the cells are of the first rows of people."""
    rows = np.full(len(CELLS), 2)
    attributes = attributes_of(rows, names, Fraction(1), 1, 2)
    with pytest.raises(UnreachableError, match=f"privacy.k is 200, but the table has {has}; "):
        require_rows(200, attributes)
