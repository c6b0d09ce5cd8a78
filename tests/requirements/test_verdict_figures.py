"""Figures of a verdict: what is written is read again, by type, and what fits no type is
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_figures import NONE, figures_with
from strategies import drawn

from tclose_spark.requirements.figures import Figures, OptionFigures

counts = st.integers(0, 2**40)
names = st.text(max_size=5)
shares = st.none() | st.floats(0, 1)
pairs = st.fixed_dictionaries({"classes": counts, "rows": counts})
listings = st.fixed_dictionaries(
    {"size": counts, "values": st.lists(st.none() | names, max_size=3)},
)
achieved = {
    "reached": st.just({"t": {"achieved": "1/2"}}),
    "homogeneous": pairs,
    "similar": pairs,
    "unlike": pairs,
}
columns = st.fixed_dictionaries({"type": names, "missing": counts})
attributes = st.fixed_dictionaries(
    {**achieved, "domain": listings, "unused": listings},
    optional={"places": listings, "input": listings},
)
farthest = st.fixed_dictionaries(
    {
        "labels": st.dictionaries(names, st.none() | names, max_size=2),
        "size": counts,
        "emd": st.floats(0, 1),
        "values": counts,
        "groups": st.lists(
            st.fixed_dictionaries({"name": names, "part": counts, "whole": counts}),
            max_size=2,
        ),
        "moved": st.floats(0, 1),
        "moves": st.lists(
            st.fixed_dictionaries(
                {"from": st.none() | names, "to": names, "mass": st.floats(0, 1)},
            ),
            max_size=2,
        ),
        "more_moves": counts,
    },
)
suppressed = st.fixed_dictionaries(
    {"rows": counts},
    optional={"attributes": st.dictionaries(names, st.fixed_dictionaries(achieved), max_size=2)},
)
written = st.fixed_dictionaries(
    {
        **{key: st.just(value) for key, value in NONE.items()},
        "suppressed": suppressed,
        "rows": counts,
        "ncp": shares,
        "ncp_by_quasi_identifier": st.dictionaries(names, shares, max_size=3),
        "attributes": st.dictionaries(names, attributes, max_size=2),
        "columns": st.dictionaries(names, columns, max_size=2),
        "worst": st.dictionaries(names, farthest, max_size=2),
        "warnings": st.lists(names, max_size=2),
    },
)


@dataclass(frozen=True)
class Below(OptionFigures):
    """Of an option with a key of its own."""

    key = "below"
    rows: int
    more: str | None = None


@dataclass(frozen=True)
class Beside(OptionFigures):
    """Of an option whose figures have keys of their own."""

    stamped: int
    sizes: Mapping[str, int] | None = None


@drawn(50)
@given(written)
def test_what_is_written_is_read_again(found: dict[str, Any]) -> None:
    assert Figures.read(found, []).to_json() == found


@pytest.mark.parametrize("order", [(Below, Beside), (Beside, Below)])
def test_options_have_theirs_by_type_in_any_order(order: tuple[type[OptionFigures], ...]) -> None:
    made = {Below: Below(rows=3), Beside: Beside(stamped=4, sizes={"a": 1})}
    figures = replace(figures_with(), options=tuple(made[kind] for kind in order))
    found = figures.to_json()
    assert found == {**NONE, "below": {"rows": 3}, "stamped": 4, "sizes": {"a": 1}}
    again = Figures.read(found, order)
    assert (again.of(Below), again.of(Beside)) == (Below(rows=3), Beside(stamped=4, sizes={"a": 1}))
    assert again == figures


def test_an_option_without_figures_has_none() -> None:
    assert Figures.read(NONE, [Below]).find(Below) is None


@pytest.mark.parametrize("key", NONE)
def test_a_figure_that_is_missing_or_of_another_kind_is_refused(key: str) -> None:
    less = {name: value for name, value in NONE.items() if name != key}
    for odd in (less, {**NONE, key: object()}):
        with pytest.raises(ValueError, match=key):
            Figures.read(odd, [])


def test_figures_of_an_option_that_fit_no_type_are_refused() -> None:
    with pytest.raises(ValueError, match="rows"):
        Figures.read({**NONE, "below": {"rows": "many"}}, [Below])
