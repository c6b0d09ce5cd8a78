"""Which published labels of ages and areas a profile does not accept, from the labels alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tclose_spark.measures.loss.information_loss import Interval, interval_or_none, set_members
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy

OLDEST = 90
"""Ages from here up are one category."""
End = tuple[Fraction, bool]
"""The upper end of an interval, and whether it is included."""


def dividing_ages(labels: Mapping[str, int], hierarchy: Hierarchy | None, highest: Fraction | None) -> list[str] | None:
    """The labels that divide the ages from 90 up: each covers one of them, and not all that labels name. None if no
    label is an age.

    highest: the end of the run file's `range`, which counts as an age that labels name.

    >>> dividing_ages({"[80, 89]": 3, "[85, 95]": 3, "[91, 95]": 4, "*": 2}, None, None)
    ['[91, 95]']
    """
    ages = {label: _ages(label, hierarchy) for label in labels if label != ROOT}
    if not any(ages.values()):
        return None
    ends = [(one.high, not one.open_high) for of in ages.values() for one in of]
    top = max([*ends, *([] if highest is None else [(highest, True)])])
    named = {one.low for of in ages.values() if len(of) > 1 for one in of if one.low >= OLDEST}
    return [label for label, of in ages.items() if of and _divides(of, top, named)]


def _ages(label: str, hierarchy: Hierarchy | None) -> list[Interval]:
    """The ages that a label covers: one interval, the members of a set, or the leaves of a node. [] if it is no age."""
    one = interval_or_none(label)
    if one is not None:
        return [one]
    under = [] if hierarchy is None else [path[0] for path in hierarchy.paths if label in path]
    found = [interval_or_none(member) for member in (under or set_members(label))]
    return [age for age in found if age is not None]


def _divides(ages: list[Interval], top: End, named: set[Fraction]) -> bool:
    end = max((one.high, not one.open_high) for one in ages)
    if end < (Fraction(OLDEST), True):
        return False
    if len(ages) == 1:
        return ages[0].low > OLDEST or end < top
    return end < top or not named <= {one.low for one in ages}


def small_areas(
    labels: Mapping[str, int], people: Mapping[str, int], fewest: int, hierarchy: Hierarchy | None, recoded: str = ""
) -> list[str]:
    """The labels of fewer than `fewest` people. A label that is no area of the table, and covers none, has nobody.

    people: of each area. recoded: what all small areas may be changed to.

    >>> small_areas({"941**": 3, "10***": 4, "94107": 1}, {"941": 50, "100": 20, "101": 30}, 50, None)
    ['94107']
    """
    return [
        label
        for label in labels
        if label != ROOT
        and not (recoded and label.rstrip(ROOT) == recoded)
        and people_in(label, people, hierarchy) < fewest
    ]


def people_in(label: str, people: Mapping[str, int], hierarchy: Hierarchy | None) -> int:
    """The people of the areas that a label covers: an area of the table, all with a prefix (`94***`), the members of a
    set, or the leaves of a node.
    """
    area = label.rstrip(ROOT)
    if area in people:
        return people[area]
    if area and label.endswith(ROOT):
        return sum(n for name, n in people.items() if name.startswith(area))
    leaves = [] if hierarchy is None else [path[0] for path in hierarchy.paths if label in path]
    return sum(people.get(name, 0) for name in dict.fromkeys(leaves or set_members(label)))
