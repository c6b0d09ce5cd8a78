"""Whether a release holds the rules of its profile (see `privacy.profile`): the verdict on all of
them, for the certificate.

`ProfilesWords` describes the rules and the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.labels.loss import published_columns
from tclose_spark.options.people.judge import PeopleFigures
from tclose_spark.options.profiles.columns import read_columns
from tclose_spark.options.profiles.profiled_release import (
    NO_POPULATIONS,
    NOT_CHECKED,
    STATED,
    ProfiledRelease,
    RuleResult,
    is_age,
)
from tclose_spark.options.profiles.rules import CHECKS
from tclose_spark.report.certificate.sections import Certificate, CheckedProfile
from tclose_spark.report.option_words import Certified, Lines, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, Plain, plain
from tclose_spark.runfile.attributes import Attributes
from tclose_spark.runfile.profiles.settings import PROFILES
from tclose_spark.table.column_names.hints import IDENTIFIERS, identifier_in

STATEMENT = (
    "This says which rules were checked, and how. It is no finding that the release complies with "
    "any law."
)


@dataclass(frozen=True, kw_only=True)
class ProfilesFigures(OptionFigures):
    """The section `profile` of the certificate."""

    key = "profile"
    name: str
    title: str
    source: str
    settings: Plain
    k: Plain
    rules: Sequence[Plain]
    identifiers: Sequence[Plain]
    statement: str


class ProfilesWords(OptionWords):
    """Which rules were checked."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        certificate.profile = CheckedProfile.read(plain(made.figures.of(ProfilesFigures)))

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"promises": "profiles/profile.html.j2"} if certificate.profile else {}

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        if (profile := certificate.profile) is None:
            return {}
        states = [rule.state for rule in profile.rules]
        checked = states.count("holds")
        left = states.count("not checked")
        counted = f"{checked} rule{'' if checked == 1 else 's'} checked, {left} not checked"
        unread = [
            f"{', '.join(rule.unread)}: {rule.rule}"
            for rule in profile.rules
            if rule.unread is not None
        ]
        return {
            "loss": [
                (f"profile {profile.name}", counted),
                *(("columns not read", line) for line in unread),
            ],
        }


class JudgedProfile(NamedTuple):
    """figures: for the certificate. problems: a line on each thing that is broken."""

    figures: ProfilesFigures
    problems: list[str]


def judge_profile(release: JudgedRelease) -> JudgedProfile:
    """The verdict on the run file's profile, of a written release."""
    spec = release.spec
    written = release.written
    attributes = spec.attributes
    profile = spec.privacy.profile
    assert profile is not None
    populations = NO_POPULATIONS if written.files is None else written.files.run.populations
    columns = published_columns(spec)
    published = {name: columns.get(name, (name,)) for name in attributes.published}
    listed = [name for name in published if is_age(name, profile) or name in populations]
    people = release.option(PeopleFigures)
    loss = release.loss
    judged = ProfiledRelease(
        spec=spec,
        profile=profile,
        found=read_columns(release.table, published, listed),
        hierarchies=written.hierarchies,
        populations=populations,
        roles=_roles_of(attributes),
        smallest=release.figures.smallest if people is None else people.smallest_class,
        mean_risk=_mean_of(release, people),
        ncp=loss.ncp,
    )
    results = [(rule, judge_rule(judged, rule)) for rule in profile.rules]
    known = PROFILES[profile.name]
    figures = ProfilesFigures(
        name=profile.name,
        title=known["title"],
        source=known["source"],
        settings=profile.model_dump(
            mode="json",
            exclude_defaults=True,
            exclude={"name", "populations"},
        ),
        k={
            "required": spec.privacy.k,
            "set_by": "profile" if spec.privacy.k_of_profile else "run file",
        },
        rules=[
            {
                "section": rule["section"],
                "rule": rule["rule"],
                "state": result.state,
                "how": result.how,
            }
            | ({"unread": list(result.unread)} if result.unread else {})
            for rule, result in results
        ],
        identifiers=_identifiers(judged),
        statement=STATEMENT,
    )
    problems = [
        f"profile {profile.name}, {rule['section']}: {line}"
        for rule, r in results
        for line in r.problems
    ]
    return JudgedProfile(figures, problems)


def _roles_of(attributes: Attributes) -> dict[str, str]:
    """The roles of the columns of the run file."""
    roles = dict.fromkeys(attributes.direct_identifiers, "direct identifier")
    beside = {role: {column: role} for role, column in attributes.beside_rows.items()}
    roles |= beside.get("person", {})
    roles |= dict.fromkeys(attributes.quasi_identifiers, "quasi-identifier")
    roles |= dict.fromkeys(attributes.sensitive_attributes, "sensitive attribute")
    roles |= dict.fromkeys(attributes.insensitive_attributes, "insensitive attribute")
    roles |= beside.get("weight", {})
    return roles | dict.fromkeys(attributes.pseudonym_names.values(), "pseudonym")


def _mean_of(release: JudgedRelease, people: PeopleFigures | None) -> Fraction | None:
    """The mean of 1 / size over rows, or over people if they are counted; None if the released
    people are unknown.
    """
    classes = release.figures.classes
    if people is None:
        return Fraction(classes, release.rows.fingerprint.rows)
    return None if release.left.rows else Fraction(classes, people.people)


def judge_rule(release: ProfiledRelease, rule: Mapping[str, str]) -> RuleResult:
    """The result of a rule of `profiles.yaml`."""
    if "check" in rule:
        return CHECKS[rule["check"]](release)
    if "states" in rule:
        return RuleResult(state=STATED, how=FACTS[rule["states"]](release))
    return RuleResult(state=NOT_CHECKED, how=rule["why"])


def _identifiers(release: ProfiledRelease) -> list[dict[str, Any]]:
    """Which of the 18 identifiers were looked for, how, and in which columns they were found."""
    by_name = {name: identifier_in(name) for name in release.roles}
    return [
        {
            "letter": one.letter,
            "name": one.name,
            "patterns": list(one.patterns),
            "found": [
                {"column": c, "role": role}
                for c, role in release.roles.items()
                if by_name[c] is one
            ],
            "values": [
                {"column": column, "rows": rows}
                for column, looks in release.found.patterns.items()
                if (rows := sum(n for pattern, n in looks.items() if pattern in one.patterns))
            ],
        }
        for one in IDENTIFIERS
    ]


def _roles(release: ProfiledRelease) -> str:
    kinds = dict.fromkeys(release.roles.values())
    return "; ".join(
        f"{kind}: {', '.join(c for c, r in release.roles.items() if r == kind)}" for kind in kinds
    )


def _method(release: ProfiledRelease) -> str:
    return (
        f"{release.spec.method.name}; classes of at least {release.spec.privacy.k:,} that share "
        "all labels"
    )


def _utility(release: ProfiledRelease) -> str:
    return "information loss (NCP): " + ("unknown" if release.ncp is None else f"{release.ncp:.4f}")


def _mean(release: ProfiledRelease) -> str:
    mean = release.mean_risk
    return "mean of 1 / size of the class: " + ("unknown" if mean is None else f"{float(mean):.4f}")


def _both_risks(release: ProfiledRelease) -> str:
    return f"1 / smallest class: {1 / release.smallest:.4f}; {_mean(release)}"


def _pseudonyms(release: ProfiledRelease) -> str:
    listed = [f"{name} ({role})" for name, role in release.roles.items() if role == "pseudonym"]
    return ", ".join(listed) or "the run file publishes none as a pseudonym"


def _threshold(release: ProfiledRelease) -> str:
    profile = release.profile
    assert profile.threshold is not None
    return (
        f"{float(profile.threshold):g} for an invasion of privacy that is "
        f"{profile.invasion_of_privacy or 'high'}"
    )


FACTS: Mapping[str, Callable[[ProfiledRelease], str]] = {
    "roles": _roles,
    "method": _method,
    "utility": _utility,
    "mean_risk": _mean,
    "both_risks": _both_risks,
    "pseudonyms": _pseudonyms,
    "threshold": _threshold,
    "release_model": lambda release: release.profile.release_model or "public",
}


class ProfilesJudge(ReleaseJudge):
    """judged: once it is."""

    makes = ProfilesFigures
    judged: JudgedProfile

    def measure(self, release: JudgedRelease) -> None:
        self.judged = judge_profile(release)

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from self.judged.problems

    def report(self, release: JudgedRelease) -> ProfilesFigures:
        return self.judged.figures
