"""The checks of rules. Results name columns and counts, never a value of a person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from tclose_spark.options.profiles.labels import dividing_ages, small_areas
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
        f"mean of 1 / size of the class: {_risk(mean, limit)}", [] if mean <= limit else [problem]
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
                "input, or list the column in direct_identifiers"
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
            labels, release.hierarchies.get(column), None if limits is None else limits[1]
        )
        if divided is None or column in release.spec.aggregates:
            unread.append(column)
            continue
        checked.append(column)
        if divided:
            problems.append(
                f"column {column!r}: {_counted(divided, labels)} divide the ages from 90 up; "
                "top-code the column at 90 in the input, and end its range there"
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
            labels, people, fewest, release.hierarchies.get(column), "000" if recodes else ""
        )
        if small:
            problems.append(
                f"column {column!r}: {_counted(small, labels)} have fewer than {fewest:,} people, "
                "or are no areas of its table of populations; publish coarser areas (three digits "
                "of a ZIP code): derive them in the input"
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
