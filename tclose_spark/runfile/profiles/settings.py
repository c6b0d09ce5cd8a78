"""Profiles: which rules of a regulator or a statistics office a release is checked for, and the k
that they ask for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import yaml
from pydantic import BeforeValidator, Field, ValidationError

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.combinations import OF_PROFILE
from tclose_spark.runfile.quantities import MOST_DIGITS
from tclose_spark.runfile.section import Section, as_tuple


class ProfileRules(TypedDict):
    """A profile in `profiles.yaml`, which explains the keys."""

    title: str
    source: str
    k: int
    maximum_risk: NotRequired[str]
    rules: list[dict[str, str]]


PROFILES: Mapping[str, ProfileRules] = yaml.safe_load(
    files(__package__).joinpath("profiles.yaml").read_text(encoding="utf-8"),
)
INVASION = {"low": ("0.1", 10), "medium": ("0.075", 15), "high": ("0.05", 20)}
"""(the threshold, the cell size beside it) by the invasion of privacy, in the guidelines of
Ontario, step 3.
"""
CUSTOMARY = {Fraction(9, 100): 11, Fraction(33, 100): 3}
"""The k that stands for a threshold although 1/k is slightly above it (El Emam 2013, cell size
precedents).
"""
NON_PUBLIC = "0.33"
"""What the risk of no row may exceed where the threshold is that of the mean (Ontario, step
4.2).
"""
OF_AREAS = {"hipaa_safe_harbor": 20_001, "public_use": 100_000}
"""The fewest people of an area."""

KnownProfile = Literal[
    "ema_0070",
    "hipaa_safe_harbor",
    "ipc_ontario",
    "public_use",
    "nist_sp_800_188",
]
Columns = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]


class PrivacyProfile(Section):
    """A regulator's rules that the release is checked for. A profile never weakens what the run
    file requires.
    """

    keys_together = OF_PROFILE
    name: KnownProfile
    """The profile: whose rules."""
    populations: dict[str, str] = Field(default_factory=dict)
    """For hipaa_safe_harbor (three-digit ZIP areas) and public_use: for each column of areas, a CSV
    file without a header, of area and number of people.
    """
    ages: Columns = ()
    """Columns of ages whose names do not show it."""
    not_identifiers: Columns = ()
    """Published columns that are no identifiers, although their name or values look like one. The
    certificate lists them.
    """
    invasion_of_privacy: Literal["high", "medium", "low"] | None = None
    """For ipc_ontario: how much a release would invade privacy. high is the default."""
    release_model: Literal["public", "semi_public", "non_public"] | None = None
    """For ipc_ontario: who gets the release. public is the default."""

    @property
    def is_mean(self) -> bool:
        """Whether the threshold is that of the mean risk."""
        return self.release_model == "non_public"

    @property
    def threshold(self) -> Fraction | None:
        """The largest risk, of a row or in the mean, that the profile accepts; None if it names
        none.
        """
        if self.name == "ipc_ontario":
            return Fraction(INVASION[self.invasion_of_privacy or "high"][0])
        said = PROFILES[self.name].get("maximum_risk")
        return None if said is None else Fraction(said)

    @property
    def maximum_risk(self) -> Fraction | None:
        """The largest risk of a row that the profile accepts."""
        return Fraction(NON_PUBLIC) if self.is_mean else self.threshold

    @property
    def k(self) -> int:
        """The k of a run file that names none."""
        return (
            INVASION[self.invasion_of_privacy or "high"][1]
            if self.name == "ipc_ontario"
            else PROFILES[self.name]["k"]
        )

    @property
    def least_k(self) -> int:
        """The least k that a run file may name."""
        return (
            2
            if self.maximum_risk is None
            else CUSTOMARY.get(self.maximum_risk, math.ceil(1 / self.maximum_risk))
        )

    @cached_property
    def rules(self) -> list[dict[str, str]]:
        """The rules, in the order of the source: section, rule, and check, states or why."""
        rules = PROFILES[self.name]["rules"]
        return [rule for rule in rules if rule.get("check") != "mean_risk" or self.is_mean]


def _settings(value: Any) -> Any:
    """The name of a profile as its settings."""
    return {"name": value} if isinstance(value, str) else value


ProfileName = Annotated[
    PrivacyProfile,
    BeforeValidator(_settings, json_schema_input_type=KnownProfile | PrivacyProfile),
]


def k_of(value: Any) -> int | None:
    """The k of a profile in a run file, not yet validated; None without a valid one."""
    try:
        return None if value is None else PrivacyProfile.model_validate(_settings(value)).k
    except ValidationError:
        return None


def parse_populations(text: str, key: str, name: str) -> dict[str, int]:
    r"""The people of each area in a table of populations. name: of the profile.

    >>> parse_populations("941,805000\n942;12", "zip", "public_use")
    {'941': 805000, '942': 12}

    Raises:
        ConfigurationError: naming `key`, with the line that is no area and number of people.
    """
    people: dict[str, int] = {}
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        area, _, count = (part.strip().strip('"') for part in line.replace(";", ",").partition(","))
        if not line.strip():
            continue
        fits = name != "hipaa_safe_harbor" or (len(area) == 3 and area.isdecimal())
        if (
            not area
            or not count.isdecimal()
            or len(count) > MOST_DIGITS
            or not fits
            or area in people
        ):
            what = "a ZIP area of three digits" if name == "hipaa_safe_harbor" else "an area"
            raise ConfigurationError(
                f"{key}: line {number} is not {what} and its number of people; expected a line "
                "such as 941,805000 for each area, once, without a header",
            )
        people[area] = int(count)
    if not people:
        raise ConfigurationError(
            f"{key}: the table of populations is empty; expected a line such as 941,805000",
        )
    return people
