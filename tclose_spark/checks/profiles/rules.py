"""The rules of a profile, judged on a written release. Results name columns and counts, never a value of a person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tclose_spark.checks.profiles.columns import PublishedColumns, read_columns
from tclose_spark.checks.profiles.labels import dividing_ages, small_areas
from tclose_spark.engine.protocol import Table
from tclose_spark.runfile.profiles.settings import OF_AREAS, PROFILES, PrivacyProfile
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.column_names.hints import words_of
from tclose_spark.table.column_names.identifiers import IDENTIFIERS, identifier_in
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

HOLDS, BROKEN, NOT_CHECKED, STATED = "holds", "broken", "not checked", "stated"
STATEMENT = "This says which rules were checked, and how. It is no finding that the release complies with any law."
AGE_WORDS = frozenset(["age", "ages", "alter", "edad", "eta", "leeftijd"])
WHOLE_STATES = frozenset(["state", "country", "province", "bundesland", "pays", "land"])
"""Words of places that are not smaller than a state."""

Populations = Mapping[str, Mapping[str, int]]
NO_POPULATIONS: Populations = {}


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """What was found of a rule.

    how: how it was checked, or why not, with counts. problems: a line each if it is broken.
    """

    state: str
    how: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ProfiledRelease:
    """A written release with what the rules of its profile need.

    smallest: rows, or people if they are counted, of the smallest class. mean_risk: the mean of 1 / size over these.
    ncp: the information loss; None if it is unknown.
    """

    spec: ReleaseSpec
    profile: PrivacyProfile
    found: PublishedColumns
    hierarchies: Mapping[str, Hierarchy]
    populations: Populations
    smallest: int
    mean_risk: Fraction | None
    ncp: float | None
    roles: Mapping[str, str] = field(default_factory=dict)

    def judged(self, rule: Mapping[str, str]) -> RuleResult:
        """The result of a rule."""
        if "check" in rule:
            return CHECKS[rule["check"]](self)
        if "states" in rule:
            return RuleResult(state=STATED, how=FACTS[rule["states"]](self))
        return RuleResult(state=NOT_CHECKED, how=rule["why"])

    def identifiers(self) -> list[dict[str, Any]]:
        """Which of the 18 identifiers were looked for, how, and in which columns they were found."""
        by_name = {name: identifier_in(name) for name in self.roles}
        return [
            {
                "letter": one.letter,
                "name": one.name,
                "patterns": list(one.patterns),
                "found": [{"column": c, "role": role} for c, role in self.roles.items() if by_name[c] is one],
                "values": [
                    {"column": column, "rows": rows}
                    for column, looks in self.found.patterns.items()
                    if (rows := sum(n for pattern, n in looks.items() if pattern in one.patterns))
                ],
            }
            for one in IDENTIFIERS
        ]


def judge_profile(
    release: Table,
    spec: ReleaseSpec,
    columns: Mapping[str, tuple[str, ...]],
    hierarchies: Mapping[str, Hierarchy],
    populations: Populations,
    figures: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str]]:
    """(the certificate's entry on the run file's profile, what is broken) of a written release.

    columns: the published columns of each quasi-identifier. figures: the verifier's.
    """
    attributes, profile = spec.attributes, spec.privacy.profile
    assert profile is not None
    roles = dict.fromkeys(attributes.direct_identifiers, "direct identifier")
    roles |= {} if attributes.person is None else {attributes.person.column: "person"}
    roles |= dict.fromkeys(attributes.quasi_identifiers, "quasi-identifier")
    roles |= dict.fromkeys(attributes.sensitive_attributes, "sensitive attribute")
    roles |= dict.fromkeys(attributes.insensitive_attributes, "insensitive attribute")
    published = {name: columns.get(name, (name,)) for name in attributes.published}
    listed = [name for name in published if is_age(name, profile) or name in populations]
    judged = ProfiledRelease(
        spec=spec,
        profile=profile,
        found=read_columns(release, published, listed),
        hierarchies=hierarchies,
        populations=populations,
        roles=roles,
        smallest=figures.get("people", figures)["smallest_class"],
        mean_risk=_mean_of(spec, figures),
        ncp=figures["ncp"],
    )
    results = [(rule, judged.judged(rule)) for rule in profile.rules]
    known = PROFILES[profile.name]
    entry = {
        "name": profile.name,
        "title": known["title"],
        "source": known["source"],
        "settings": profile.model_dump(mode="json", exclude_defaults=True, exclude={"name", "populations"}),
        "k": {"required": spec.privacy.k, "set_by": "profile" if spec.privacy.k_of_profile else "run file"},
        "rules": [
            {"section": rule["section"], "rule": rule["rule"], "state": result.state, "how": result.how}
            for rule, result in results
        ],
        "identifiers": judged.identifiers(),
        "statement": STATEMENT,
    }
    problems = [f"profile {profile.name}, {rule['section']}: {line}" for rule, r in results for line in r.problems]
    return entry, problems


def _mean_of(spec: ReleaseSpec, figures: Mapping[str, Any]) -> Fraction | None:
    """The mean of 1 / size over rows, or over people if they are counted; None if the released people are unknown."""
    if "people" not in figures:
        return Fraction(figures["classes"], figures["rows"])
    return None if figures["suppressed"]["rows"] else Fraction(figures["classes"], figures["people"]["people"])


def is_age(column: str, profile: PrivacyProfile) -> bool:
    """Whether a column holds ages, by its name or the run file."""
    return column in profile.ages or bool(AGE_WORDS & set(words_of(column)))


def _risk(risk: Fraction, limit: Fraction) -> str:
    return f"{float(risk):.4f}, at most {float(limit):g}"


def _maximum_risk(release: ProfiledRelease) -> RuleResult:
    limit, smallest = release.profile.maximum_risk, release.smallest
    assert limit is not None
    fewest = math.ceil(1 / limit)
    customary = release.spec.privacy.k < fewest
    fewest = release.profile.least_k if customary else fewest
    more = f"; 1/{fewest} stands for it by custom, as the run file's k asks" if customary else ""
    how = f"1 / smallest class of {smallest:,}: {_risk(Fraction(1, smallest), limit)}{more}"
    problem = f"the smallest class has {smallest:,}, so the maximum risk is above {float(limit):g}; raise privacy.k"
    return _result(how, [] if smallest >= fewest else [problem])


def _mean_risk(release: ProfiledRelease) -> RuleResult:
    limit, mean = release.profile.threshold, release.mean_risk
    assert limit is not None
    if mean is None:
        return RuleResult(state=NOT_CHECKED, how="people are counted, and rows may be suppressed")
    problem = f"the mean risk is {float(mean):.4f}, above {float(limit):g}; raise privacy.k"
    return _result(f"mean of 1 / size of the class: {_risk(mean, limit)}", [] if mean <= limit else [problem])


def named_identifiers(spec: ReleaseSpec) -> list[str]:
    """A line on each published column with the name of an identifier that a profile does not accept; none without a
    profile. The run file alone decides.
    """
    if spec.privacy.profile is None:
        return []
    columns = (name for name in spec.attributes.published if name not in spec.privacy.profile.not_identifiers)
    return [
        f"column {column!r} has the name of an identifier ({one.letter}: {one.name}) and is published; list it in "
        "direct_identifiers"
        for column in columns
        if (one := identifier_in(column)) is not None and one.must_go(column)
    ]


def _identifiers(release: ProfiledRelease) -> RuleResult:
    published, allowed = release.spec.attributes.published, release.profile.not_identifiers
    problems = named_identifiers(release.spec)
    for column in (name for name in published if name not in allowed):
        for pattern, rows in release.found.patterns.get(column, {}).items():
            problems.append(
                f"column {column!r}: {rows:,} rows look like {pattern}; remove them from the input, or list the column "
                "in direct_identifiers"
            )
    more = f"; named as no identifiers by the run file: {', '.join(allowed)}" if allowed else ""
    found = f"{len(published)} published columns, by name, and by value with {_patterns()} patterns{more}"
    escape = " (of one that is no identifier, name it in privacy.profile.not_identifiers)"
    return _result(found, [problem + escape for problem in problems])


def _patterns() -> int:
    return sum(len(one.patterns) for one in IDENTIFIERS)


def _dates(release: ProfiledRelease) -> RuleResult:
    problems = [
        f"column {column!r}: {rows:,} rows have a date or time finer than a year; publish years: derive them in the "
        "input, or use hierarchy: {dates: [year]}, which publishes a date only if a class shares it"
        for column, rows in release.found.finer.items()
        if column not in release.profile.not_identifiers
    ]
    return _result(
        f"{len(release.spec.attributes.published)} published columns, by type and by form of value", problems
    )


def _ages(release: ProfiledRelease) -> RuleResult:
    attributes = release.spec.attributes
    checked, unread, problems = list[str](), list[str](), list[str]()
    for column in (name for name in attributes.published if is_age(name, release.profile)):
        quasi = attributes.quasi_identifiers.get(column)
        limits = None if quasi is None or quasi.calendar else quasi.limits
        labels = release.found.labels.get(column, {})
        divided = dividing_ages(labels, release.hierarchies.get(column), None if limits is None else limits[1])
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
    why = f"{_listed(unread)} without labels that are ages" if unread else "no published column named as an age"
    return RuleResult(state=NOT_CHECKED, how=f"{why} (privacy.profile.ages)")


def _areas(release: ProfiledRelease) -> RuleResult:
    fewest, problems = OF_AREAS[release.profile.name], []
    for column, people in release.populations.items():
        labels = release.found.labels.get(column, {})
        recoded = "000" if release.profile.name == "hipaa_safe_harbor" else ""
        small = small_areas(labels, people, fewest, release.hierarchies.get(column), recoded)
        if small:
            problems.append(
                f"column {column!r}: {_counted(small, labels)} have fewer than {fewest:,} people, or are no areas of "
                "its table of populations; publish coarser areas (three digits of a ZIP code): derive them in the input"
            )
    places = [name for name in release.spec.attributes.published if _is_place(name) and name not in release.populations]
    checked = [f"labels of {_listed(list(release.populations))} hold"] if release.populations else []
    if problems or (checked and not places):
        return _result(f"{checked[0]}, by their tables of populations", problems)
    why = [f"{_listed(places)} without a table of populations"] if places else ["no published column named as a place"]
    return RuleResult(state=NOT_CHECKED, how=f"{'; '.join(checked + why)} (privacy.profile.populations)")


def _is_place(column: str) -> bool:
    one = identifier_in(column)
    return one is not None and one.letter == "B" and not (WHOLE_STATES & set(words_of(column)))


def _result(how: str, problems: list[str]) -> RuleResult:
    return RuleResult(state=BROKEN if problems else HOLDS, how=how, problems=tuple(problems))


def _counted(some: list[str], labels: Mapping[str, int]) -> str:
    return f"{len(some):,} labels of {sum(labels[label] for label in some):,} rows"


def _listed(columns: list[str]) -> str:
    return ", ".join(columns)


def _roles(release: ProfiledRelease) -> str:
    kinds = dict.fromkeys(release.roles.values())
    return "; ".join(f"{kind}: {_listed([c for c, r in release.roles.items() if r == kind])}" for kind in kinds)


def _method(release: ProfiledRelease) -> str:
    return f"{release.spec.method.name}; classes of at least {release.spec.privacy.k:,} that share all labels"


def _utility(release: ProfiledRelease) -> str:
    return "information loss (NCP): " + ("unknown" if release.ncp is None else f"{release.ncp:.4f}")


def _mean(release: ProfiledRelease) -> str:
    mean = release.mean_risk
    return "mean of 1 / size of the class: " + ("unknown" if mean is None else f"{float(mean):.4f}")


def _threshold(release: ProfiledRelease) -> str:
    profile = release.profile
    assert profile.threshold is not None
    return f"{float(profile.threshold):g} for an invasion of privacy that is {profile.invasion_of_privacy or 'high'}"


CHECKS: Mapping[str, Callable[[ProfiledRelease], RuleResult]] = {
    "maximum_risk": _maximum_risk,
    "mean_risk": _mean_risk,
    "identifiers": _identifiers,
    "dates": _dates,
    "ages": _ages,
    "areas": _areas,
}
FACTS: Mapping[str, Callable[[ProfiledRelease], str]] = {
    "roles": _roles,
    "method": _method,
    "utility": _utility,
    "mean_risk": _mean,
    "threshold": _threshold,
    "release_model": lambda release: release.profile.release_model or "public",
}
