"""The guarantees of a certificate: what every class must meet, and what the worst class
achieves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from tclose_spark.report.certificate.part import (
    AtLeastOne,
    CertificatePart,
    Count,
    ExactText,
    NotNegative,
    Share,
)


class Chosen(CertificatePart):
    """How k was chosen, if the run file leaves it to the plan."""

    objective: str
    """What the chosen k minimizes."""
    alpha: str
    """The weight of t in it, exact."""


class KOverHouseholds(CertificatePart):
    """The households that have members in a class, if they are known."""

    required: Annotated[int, Field(ge=2)] | None
    """Households of every class; null if they are only measured."""
    achieved: AtLeastOne
    """Of the class that has the fewest."""


class KOverPeople(CertificatePart):
    """k-anonymity over people, if they are counted."""

    achieved: AtLeastOne
    """People of the smallest class."""


class KAnonymity(CertificatePart):
    """k-anonymity."""

    required: AtLeastOne
    """Rows that every class must have, and people if they are counted."""
    achieved: AtLeastOne
    """Rows of the smallest class."""
    chosen: Chosen | None = None
    over_households: KOverHouseholds | None = None
    over_people: KOverPeople | None = None


class DistanceOverPeople(CertificatePart):
    """The distance over people, if they are counted."""

    achieved: Share
    """Of the farthest class."""
    holds: bool
    """Whether every class is near enough, exactly."""


class Closeness(CertificatePart):
    """t-closeness of a sensitive attribute, or of a tuple of some."""

    attributes: Annotated[list[str], Field(min_length=2)] | None = None
    """Of a tuple: the sensitive attributes that form it."""
    distance: str
    """The ground distance."""
    required: Share | None
    """t; null if the distance is only measured."""
    required_exact: ExactText | None
    """The same, exactly."""
    achieved: Share
    """Of the farthest class."""
    achieved_exact: ExactText
    """The same, exactly."""
    over_people: DistanceOverPeople | None = None


class DistinctOverPeople(CertificatePart):
    """The different values over people, if they are counted."""

    achieved: Count
    """Of the class with the fewest."""


class Distinct(CertificatePart):
    """Distinct l-diversity: different values in every class."""

    required: AtLeastOne
    """Values."""
    achieved: Count
    """Of the class with the fewest."""
    over_people: DistinctOverPeople | None = None


class LevelOverPeople(CertificatePart):
    """The level over people, if they are counted."""

    achieved: NotNegative
    """The lowest."""
    holds: bool
    """Decided exactly."""


class Entropy(CertificatePart):
    """Entropy l-diversity: exp of the entropy in every class."""

    required: NotNegative
    """The effective number of values."""
    achieved: NotNegative
    """The lowest."""
    holds: bool
    """Decided exactly."""
    over_people: LevelOverPeople | None = None


class Rank(CertificatePart):
    """The bound of recursive (c, l)-diversity."""

    c: str
    """Exact."""
    l: Annotated[int, Field(ge=2)]  # noqa: E741 - the field's name for it
    """The rank."""


class RecursiveOverPeople(CertificatePart):
    """Recursive (c, l)-diversity over people, if they are counted."""

    holds: bool
    """In every class."""


class RecursiveDiversity(CertificatePart):
    """Recursive (c, l)-diversity."""

    required: Rank
    holds: bool
    """In every class."""
    over_people: RecursiveOverPeople | None = None


class Frequency(CertificatePart):
    """Frequency l-diversity: one over the largest share that a value has of a class."""

    required: Annotated[float, Field(ge=1)]
    """l."""
    achieved: Annotated[float, Field(ge=1)]
    """The lowest."""
    holds: bool
    """Decided exactly."""
    over_people: LevelOverPeople | None = None


class LDiversity(CertificatePart):
    """l-diversity of a sensitive attribute, of the kinds that it requires."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})
    distinct: Distinct | None = None
    entropy: Entropy | None = None
    recursive: RecursiveDiversity | None = None
    frequency: Frequency | None = None


class LikenessOverPeople(CertificatePart):
    """beta-likeness over people, if they are counted."""

    achieved: NotNegative
    """Of the worst class."""
    holds: bool
    """Decided exactly."""


class Likeness(CertificatePart):
    """beta-likeness of a sensitive attribute: the largest p / q - 1, where p is a value's share of
    a class and q its share of the table.
    """

    required: Annotated[float, Field(gt=0)]
    """beta."""
    required_exact: ExactText
    """The same, exactly."""
    achieved: NotNegative
    """Of the worst class."""
    achieved_exact: ExactText
    """The same, exactly."""
    over_people: LikenessOverPeople | None = None


class ProvingSupersets(CertificatePart):
    """How many classes each kind of superset proves first."""

    whole_table: Count
    itself: Count
    superset: Count


class NearSuperset(CertificatePart):
    """(n, t)-closeness of a sensitive attribute."""

    n: AtLeastOne
    """Rows of a natural superset."""
    distance: str
    """The ground distance."""
    required: Share
    """t."""
    required_exact: ExactText
    """The same, exactly."""
    achieved: Share
    """The largest distance of a class from the superset that proves it."""
    classes: ProvingSupersets


class Guarantees(CertificatePart):
    """What every class must meet, and what the worst class achieves. Further keys are requirements
    of other packages, by sensitive attribute.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, Any]]
    k: KAnonymity
    t: Mapping[str, Closeness]
    """t-closeness, by sensitive attribute."""
    l: Mapping[str, LDiversity]  # noqa: E741 - the field's name for it
    """l-diversity, by sensitive attribute that requires it."""
    beta: Mapping[str, Likeness] | None = None
    """beta-likeness, by sensitive attribute that requires it."""
    joint: Mapping[str, Closeness] | None = None
    """t-closeness of tuples of sensitive attributes, by their names with + between them, if it is
    requested.
    """
    nt: Mapping[str, NearSuperset] | None = None
    """(n, t)-closeness, by sensitive attribute, if it is requested in place of t-closeness."""
