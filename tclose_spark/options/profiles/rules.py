"""The checks of rules. Results name columns and counts, never a value of a person.

Labels of ages and areas that a profile does not accept follow from the labels alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tclose_spark.measures.loss.information_loss import set_members
from tclose_spark.options.profiles.profiled_release import (
    BROKEN,
    HOLDS,
    NOT_CHECKED,
    ProfiledRelease,
    RuleResult,
    is_age,
)
from tclose_spark.runfile.profiles.settings import OF_AREAS
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.column_names.hints import IDENTIFIERS, identifier_in, words_of_name
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.ranges import Interval, interval_or_none

OLDEST = Fraction(90)
"""Ages from here up are one category."""
YEARS_OF = {"month": Fraction(1, 12), "week": Fraction(7, 365), "day": Fraction(1, 365)}


def dividing_ages(
    labels: Mapping[str, int],
    hierarchy: Hierarchy | None,
    highest: Fraction | None,
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


WHOLE_STATES = frozenset(["state", "country", "province", "bundesland", "pays", "land"])
"""Words of places that are not smaller than a state."""


def _risk(risk: Fraction, limit: Fraction) -> str:
    return f"{float(risk):.4f}, at most {float(limit):g}"


def _maximum_risk(release: ProfiledRelease) -> RuleResult:
    limit = release.profile.maximum_risk
    smallest = release.smallest
    assert limit is not None
    fewest = math.ceil(1 / limit)
    customary = release.spec.privacy.k < fewest
    fewest = release.profile.least_k if customary else fewest
    more = f"; 1/{fewest} stands for it by custom, as the run file's k asks" if customary else ""
    how = f"1 / smallest class of {smallest:,}: {_risk(Fraction(1, smallest), limit)}{more}"
    problem = (
        f"the smallest class has {smallest:,}, so the maximum risk is above {float(limit):g}; "
        "raise privacy.k"
    )
    return _result(how, [] if smallest >= fewest else [problem])


def _mean_risk(release: ProfiledRelease) -> RuleResult:
    limit = release.profile.threshold
    mean = release.mean_risk
    assert limit is not None
    if mean is None:
        return RuleResult(state=NOT_CHECKED, how="people are counted, and rows may be suppressed")
    problem = f"the mean risk is {float(mean):.4f}, above {float(limit):g}; raise privacy.k"
    return _result(
        f"mean of 1 / size of the class: {_risk(mean, limit)}",
        [] if mean <= limit else [problem],
    )


def named_identifiers(spec: ReleaseSpec) -> list[str]:
    """A line on each published column with the name of an identifier that a profile does not
    accept; none without a profile. The run file alone decides.
    """
    if spec.privacy.profile is None:
        return []
    columns = (
        name
        for name in spec.attributes.published
        if name not in spec.privacy.profile.not_identifiers
    )
    return [
        f"column {column!r} has the name of an identifier ({one.letter}: {one.name}) and is "
        "published; list it in direct_identifiers"
        for column in columns
        if (one := identifier_in(column)) is not None and one.must_go(column)
    ]


def _identifiers(release: ProfiledRelease) -> RuleResult:
    published = release.spec.attributes.published
    allowed = release.profile.not_identifiers
    problems = named_identifiers(release.spec)
    for column in (name for name in published if name not in allowed):
        for pattern, rows in release.found.patterns.get(column, {}).items():
            problems.append(
                f"column {column!r}: {rows:,} rows look like {pattern}; remove them from the "
                "input, or list the column in direct_identifiers",
            )
    more = f"; named as no identifiers by the run file: {', '.join(allowed)}" if allowed else ""
    found = (
        f"{len(published)} published columns, by name, and by value with {_patterns()} "
        f"patterns{more}"
    )
    escape = " (of one that is no identifier, name it in privacy.profile.not_identifiers)"
    return _result(found, [problem + escape for problem in problems])


def _patterns() -> int:
    return sum(len(one.patterns) for one in IDENTIFIERS)


def _dates(release: ProfiledRelease) -> RuleResult:
    problems = [
        f"column {column!r}: {rows:,} rows have a date or time finer than a year; publish years: "
        "derive them in the input, or use hierarchy: {dates: [year]}, which publishes a date "
        "only if a class shares it"
        for column, rows in release.found.finer.items()
        if column not in release.profile.not_identifiers
    ]
    unread = {
        column: n
        for column, n in release.found.unread.items()
        if column not in release.profile.not_identifiers
    }
    how = (
        f"{len(release.spec.attributes.published)} published columns, by type and by form of value"
    )
    if problems or not unread:
        return _result(how, problems)
    listed = ", ".join(f"{column} ({rows:,} rows)" for column, rows in unread.items())
    return RuleResult(
        state=NOT_CHECKED,
        how=f"{how}; digits in a form that is not known in {listed} "
        "(privacy.profile.not_identifiers)",
        unread=tuple(unread),
    )


def _ages(release: ProfiledRelease) -> RuleResult:
    attributes = release.spec.attributes
    checked = list[str]()
    unread = list[str]()
    problems = list[str]()
    for column in (name for name in attributes.published if is_age(name, release.profile)):
        quasi = attributes.quasi_identifiers.get(column)
        limits = None if quasi is None or quasi.calendar else quasi.limits
        labels = release.found.labels.get(column, {})
        divided = dividing_ages(
            labels,
            release.hierarchies.get(column),
            None if limits is None else limits[1],
        )
        if divided is None or column in release.spec.aggregates:
            unread.append(column)
            continue
        checked.append(column)
        if divided:
            problems.append(
                f"column {column!r}: {_counted(divided, labels)} divide the ages from 90 up; "
                "top-code the column at 90 in the input, and end its range there",
            )
    if problems or (checked and not unread):
        return _result(f"labels of {_listed(checked)}", problems)
    why = (
        f"{_listed(unread)} without labels that are ages"
        if unread
        else "no published column named as an age"
    )
    return RuleResult(state=NOT_CHECKED, how=f"{why} (privacy.profile.ages)", unread=tuple(unread))


def _areas(release: ProfiledRelease) -> RuleResult:
    fewest = OF_AREAS[release.profile.name]
    problems = list[str]()
    recodes = release.profile.name == "hipaa_safe_harbor"
    for column, people in release.populations.items():
        labels = release.found.labels.get(column, {})
        small = small_areas(
            labels,
            people,
            fewest,
            release.hierarchies.get(column),
            "000" if recodes else "",
        )
        if small:
            problems.append(
                f"column {column!r}: {_counted(small, labels)} have fewer than {fewest:,} people, "
                "or are no areas of its table of populations; publish coarser areas (three digits "
                "of a ZIP code): derive them in the input",
            )
    problems += [
        f"column {column!r}: {rows:,} rows have a ZIP code of more than three digits; publish "
        "areas of three digits (privacy.profile.populations): derive them in the input"
        for column, rows in release.found.zips.items()
        if recodes
        and _is_place(column)
        and column not in {*release.populations, *release.profile.not_identifiers}
    ]
    places = [
        name
        for name in release.spec.attributes.published
        if _is_place(name) and name not in release.populations
    ]
    checked = (
        [f"labels of {_listed(list(release.populations))} hold"] if release.populations else []
    )
    if problems or (checked and not places):
        return _result(f"{(checked or ['places'])[0]}, by their tables of populations", problems)
    why = (
        [f"{_listed(places)} without a table of populations"]
        if places
        else ["no published column named as a place"]
    )
    return RuleResult(
        state=NOT_CHECKED,
        how=f"{'; '.join(checked + why)} (privacy.profile.populations)",
        unread=tuple(places),
    )


def _is_place(column: str) -> bool:
    one = identifier_in(column)
    return one is not None and one.letter == "B" and not (WHOLE_STATES & set(words_of_name(column)))


def _result(how: str, problems: list[str]) -> RuleResult:
    return RuleResult(state=BROKEN if problems else HOLDS, how=how, problems=tuple(problems))


def _counted(some: list[str], labels: Mapping[str, int]) -> str:
    return f"{len(some):,} labels of {sum(labels[label] for label in some):,} rows"


def _listed(columns: list[str]) -> str:
    return ", ".join(columns)


CHECKS: Mapping[str, Callable[[ProfiledRelease], RuleResult]] = {
    "maximum_risk": _maximum_risk,
    "mean_risk": _mean_risk,
    "identifiers": _identifiers,
    "dates": _dates,
    "ages": _ages,
    "areas": _areas,
}
