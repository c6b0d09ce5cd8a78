"""A written release as the rules of its profile see it, and what is found of a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tclose_spark.options.profiles.columns import PublishedColumns
from tclose_spark.runfile.profiles.settings import PrivacyProfile
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.column_names.hints import words_of_name
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

HOLDS = "holds"
BROKEN = "broken"
NOT_CHECKED = "not checked"
STATED = "stated"
AGE_WORDS = frozenset(["age", "ages", "alter", "edad", "eta", "leeftijd"])

Populations = Mapping[str, Mapping[str, int]]
NO_POPULATIONS: Populations = {}


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """What was found of a rule.

    how: how it was checked, or why not, with counts.
    problems: a line each if it is broken.
    unread: published columns with values that the check cannot read.
    """

    state: str
    how: str
    problems: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ProfiledRelease:
    """A written release with what the rules of its profile need.

    roles: of the columns of the run file.
    smallest: rows, or people if they are counted, of the smallest class. mean_risk: the mean of 1 /
        size over these.
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
    roles: Mapping[str, str]


def is_age(column: str, profile: PrivacyProfile) -> bool:
    """Whether a column holds ages, by its name or the run file."""
    return column in profile.ages or bool(AGE_WORDS & set(words_of_name(column)))
