"""The levels of a quasi-identifier: labels that do not meet, each made of labels of the level
before.
"""

import numpy as np
import pytest
from full_domain import covers, levels_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, drawn, make_problem

from tclose_spark.table.labels import MISSING

SENSITIVE = {"disease": {"t": "0.5"}}
NUMBERS = st.one_of(
    st.lists(st.none() | st.integers(-60, 200), min_size=1, max_size=30),
    st.lists(st.none() | st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=10),
    st.lists(st.none() | st.floats(-1e300, 1e300, allow_nan=False), min_size=1, max_size=20),
)


def levels_for(values, **settings):
    """The levels of one quasi-identifier with these values, and its labeller."""
    records = [{"x": value, "disease": "flu"} for value in values]
    hierarchies = {"x": CITIES} if "hierarchy" in settings else {}
    problem, rows = make_problem(
        records,
        SENSITIVE,
        {"x": settings},
        hierarchies,
        name="t_incognito",
    )
    return levels_of(problem, rows)[0], problem.attributes.quasi_identifiers[0].labeller


def texts(of, level, labeller):
    index, labels = labeller.cover(of.levels[level].low, of.levels[level].high)
    return [labels[i] for i in index]


@drawn(150)
@given(NUMBERS, st.sampled_from([None, 5, "2.5", "0.01", "1/3"]))
def test_labels_of_numbers_cover_their_values_do_not_meet_and_nest(values, step):
    of, _ = levels_for(values, type="numeric", **({} if step is None else {"round_to": step}))
    assert of.rows.sum() == len(values)
    for place, level in enumerate(of.levels):
        low, high = level.low[level.label], level.high[level.label]
        assert all(
            covers(*each)
            for each in zip(low.tolist(), high.tolist(), of.codes.tolist(), strict=True)
        )
        assert np.all(level.low[1:] > level.high[:-1])
        assert np.all(np.diff(level.label) >= 0)
        if place:
            finer = of.levels[place - 1]
            assert len(level.low) < len(finer.low)
            assert np.array_equal(of.up(place - 1, place)[finer.label], level.label)
    known = len(set(values) - {None})
    assert len(of.levels[-1].low) == 1
    assert step or len(of.levels[0].low) == known + (None in values)


def test_intervals_begin_at_multiples_of_their_width():
    of, labeller = levels_for([*range(17, 91), None], type="numeric")
    assert [level.name for level in of.levels] == [
        "value",
        "intervals of 5",
        "intervals of 10",
        "intervals of 20",
        "intervals of 40",
        "the whole range",
    ]
    assert texts(of, 3, labeller) == [
        None,
        "[17, 19]",
        "[20, 39]",
        "[40, 59]",
        "[60, 79]",
        "[80, 90]",
    ]
    assert texts(of, 5, labeller) == ["*"]


def test_rounded_numbers_have_no_level_of_values():
    of, labeller = levels_for([17, 18, 20, 21, 44], type="numeric", round_to=5)
    assert texts(of, 0, labeller) == ["[15, 20]", "[20, 25]", "[40, 45]"]


def test_levels_of_a_hierarchy_are_the_columns_of_its_file():
    of, labeller = levels_for(["Pisa", "Nice", "Siena", None, "Pisa"], hierarchy="cities.csv")
    assert [level.name for level in of.levels] == ["value", "level 1 of 3", "level 2 of 3", "*"]
    assert of.codes.tolist() == [MISSING, 0, 1, 4]
    assert of.rows.tolist() == [1, 2, 1, 1]
    assert [texts(of, place, labeller) for place in range(4)] == [
        [None, "Pisa", "Siena", "Nice"],
        [None, "Tuscany", "Nice"],  # alone in its region: a label of one value is the value
        [None, "Italy", "France"],
        ["*"],
    ]


@pytest.mark.parametrize("generalization", ["suppress", "set"])
def test_a_category_without_a_hierarchy_is_itself_or_anything(generalization):
    of, labeller = levels_for(["a", "b", "c", None], generalization=generalization)
    assert [texts(of, place, labeller) for place in range(2)] == [[None, "a", "b", "c"], ["*"]]
