"""Which published labels of ages and areas a profile does not accept, from the labels alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tclose_spark.measures.loss.information_loss import set_members
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.ranges import Interval, interval_or_none

OLDEST = Fraction(90)
"""Ages from here up are one category."""
YEARS_OF = {"month": Fraction(1, 12), "week": Fraction(7, 365), "day": Fraction(1, 365)}


def dividing_ages(
    labels: Mapping[str, int], hierarchy: Hierarchy | None, highest: Fraction | None
) -> list[str] | None:
    """The labels that divide the ages from 90 up: each covers one of them, and not all that labels
    name. None if there are none, and a label is no age, so that this is not known.

    highest: the end of the run file's `range`, which counts as an age that labels name.

    >>> dividing_ages({"[80, 89]": 3, "[85, 95]": 3, "[91, 95]": 4, "*": 2}, None, None)
    ['[91, 95]']
    """
    spans = {
        label: one for label in labels if label != ROOT and (one := read_age(label)) is not None
    }
    groups = {
        label: _members(label, hierarchy)
        for label in labels
        if label != ROOT and label not in spans
    }
    ages = [*spans.values(), *(age for of in groups.values() for age in of)]
    if not ages:
        return None
    is_known = all(groups.values())
    top = max([*map(_end, ages), *([] if highest is None else [(highest, True)])])
    named = {age.low for of in groups.values() for age in of if _end(age) >= (OLDEST, True)}
    wrong = [
        label
        for label, one in spans.items()
        if _end(one) >= (OLDEST, True) and (one.low > OLDEST or _end(one) < top)
    ]
    for label, of in groups.items():
        old = {age.low for age in of if _end(age) >= (OLDEST, True)}
        if old and (named - old or max(map(_end, of)) < top):
            wrong.append(label)
    return wrong if wrong or is_known else None


def read_age(label: str) -> Interval | None:
    """The ages of a label as years, whatever words are beside its numbers; None if they are not
    known.

    >>> [str(one and one.low) for one in map(read_age, ("93 years", "90+", "80 to 89", "1116 months", "old"))]
    ['93', '90', '80', '93', 'None']
    """
    found = interval_or_none(label)
    if found is None or found.unit not in YEARS_OF:
        return found
    years = YEARS_OF[found.unit]
    return replace(found, low=found.low * years, high=found.high * years)


def _members(label: str, hierarchy: Hierarchy | None) -> list[Interval]:
    """The ages among the leaves of a node or the members of a set."""
    found = [read_age(member) for member in _below(label, hierarchy)]
    return [age for age in found if age is not None]


def _below(label: str, hierarchy: Hierarchy | None) -> Sequence[str]:
    """The leaves of a node; without one, the members of a set."""
    leaves = [] if hierarchy is None else [path[0] for path in hierarchy.paths if label in path]
    return leaves or set_members(label)


def _end(age: Interval) -> tuple[Fraction, bool]:
    """The upper end, and whether it is included."""
    return age.high, not age.open_high


def small_areas(
    labels: Mapping[str, int],
    people: Mapping[str, int],
    fewest: int,
    hierarchy: Hierarchy | None,
    recoded: str = "",
) -> list[str]:
    """The labels of fewer than `fewest` people. A label that is no area of the table, and covers
    none, has nobody.

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
    """The people of the areas that a label covers: an area of the table, all with a prefix
    (`94***`), the members of a set, or the leaves of a node.
    """
    area = label.rstrip(ROOT)
    if area in people:
        return people[area]
    if area and label.endswith(ROOT):
        return sum(n for name, n in people.items() if name.startswith(area))
    return sum(people.get(name, 0) for name in dict.fromkeys(_below(label, hierarchy)))
