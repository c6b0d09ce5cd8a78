"""The certificate and its sections, in the order in which the file has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from tclose_spark.report.certificate.attributes import CertifiedAttributes
from tclose_spark.report.certificate.guarantees import Guarantees
from tclose_spark.report.certificate.part import (
    AtLeastOne,
    CertificatePart,
    Count,
    ExactText,
    NotNegative,
    Share,
)
from tclose_spark.report.certificate.risks import CertifiedRisks
from tclose_spark.requirements.figures import ClassesAndRows, Regions
from tclose_spark.runfile.columns import Keyed, Unknown
from tclose_spark.runfile.profiles.settings import KnownProfile

TABLE_NAME = r"^sensitive(_[1-9])?$"
TableName = Annotated[str, Field(pattern=TABLE_NAME)]
Columns = Annotated[list[str], Field(min_length=1, json_schema_extra={"uniqueItems": True})]


WHOLE = {"input": "whole input table, suppressed rows included", "released": "whole released table"}
"""What classes are compared with if rows are suppressed, by `privacy.of`."""


class CertifiedSubjects(CertificatePart):
    """Whom rows are about, if columns group them like persons or households, or the run file states
    it.
    """

    rows_are_persons: bool
    """attributes.rows_are_persons: whether each row is stated to be a person."""
    notes: list[str]
    """What shows that a person may have several rows."""


class Tool(CertificatePart):
    """What made and checked the release."""

    name: Literal["tclose_spark"]
    version: str
    """Of the package."""


class Brought(CertificatePart):
    """An option, a requirement or a method of another package."""

    kind: Literal["option", "requirement", "method"]
    """What it is."""
    name: str
    """In the run file."""
    package: str
    """That brings it."""
    version: str | None
    """Of the package; null if none is installed under this name."""


class ReleasedTable(CertificatePart):
    """The released table."""

    name: str
    """Of the run file."""
    rows: AtLeastOne
    """Released rows."""
    classes: AtLeastOne
    """Equivalence classes."""
    fingerprint: str
    """Of the released rows as a multiset."""
    columns: Columns
    """Released columns, in order."""
    form: Literal["generalization", "anatomy", "permutation"] | None = None
    """Of release.form, unless the release is one table of labels."""
    group: Literal["group"] | None = None
    """The column with the number of a class, of exact quasi-identifiers."""
    tables: Mapping[TableName, Columns] | None = None
    """The tables of the sensitive values of each class, with their columns."""
    fingerprints: Mapping[TableName, str] | None = None
    """Of these tables: of their rows as a multiset, each as often as its count says, without the
    count.
    """
    together: list[Annotated[list[str], Field(min_length=1)]] | None = None
    """The blocks of sensitive attributes that are published apart from one another."""


class InputTable(CertificatePart):
    """The table that was released."""

    rows: AtLeastOne
    """Rows of the input; with output.leavers: keep, kept rows are among them, and take the place of
    their people's.
    """
    version: Count | None
    """Of the input table, if it has versions."""


class UnknownPeople(CertificatePart):
    """Rows of the input without a person (attributes.person.unknown)."""

    rows: Count
    """How many."""
    treatment: Unknown
    """drop: they are left out, and counted in no other figure; alone: each is a person of its
    own.
    """


class CertifiedPeople(CertificatePart):
    """The people of the input, suppressed and kept ones included, if the run file names the column
    that identifies them.
    """

    people: AtLeastOne
    """Different people."""
    most_rows: AtLeastOne
    """Rows of the person with the most."""
    smallest_class: AtLeastOne
    """People of the class with the fewest."""
    in_classes: AtLeastOne
    """People of all classes, once in each."""
    largest_share: Annotated[float, Field(gt=0, le=1)]
    """The largest share that a person has of the rows of a class."""
    rows: AtLeastOne
    """Rows of all people."""
    rows_of_a_person: Literal["together", "apart"]
    """together: in one class; apart: in one or several."""
    unknown: UnknownPeople | None = None


class AtomsOfLine(CertificatePart):
    """Sets of people who stay together in all releases."""

    all: Count
    """Atoms of the whole line."""
    published: Count
    """Atoms in this release."""
    smallest: Annotated[int, Field(ge=2)]
    """People of the smallest atom of the line."""


class Newcomers(CertificatePart):
    """People who are published for the first time."""

    people: Count
    """How many."""
    atoms: Count
    """The atoms that they form."""


class Earlier(CertificatePart):
    """The earlier releases that the release continues (output.after)."""

    number: Annotated[int, Field(ge=2)]
    """Of this release in its line, from 1."""
    releases: Annotated[list[str], Field(min_length=1)]
    """The fingerprints of the earlier releases, the first one first."""
    versions: Annotated[list[Count], Field(min_length=1)]
    """The readable versions of the Delta table; the last one is this release, those before are
    earlier releases.
    """
    atoms: AtomsOfLine
    newcomers: Newcomers
    kept: Count
    """People who are published as they were, because they left or have other sensitive values."""
    withheld: Count
    """People of the input whose atom is suppressed, because someone of it left or has other
    sensitive values.
    """
    waiting: Count
    """Newcomers who are suppressed, because they are too few, too far from the release, or could
    not be published with the people who stay.
    """


class UsedMethod(CertificatePart):
    """The method and its settings."""

    model_config = ConfigDict(extra="allow")
    name: str
    """Of the method."""

    @property
    def settings(self) -> Mapping[str, object]:
        """Its settings."""
        return self.model_extra or {}


class Weights(CertificatePart):
    """The people whom the rows stand for, if the run file names a column of weights. Only a
    published one has the other keys.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"published": {"const": True}}},
            "then": {"required": ["column", "total", "smallest_class", "mean_class"]},
        },
    )
    published: bool
    """Whether the column is released; if not, nothing else of it is."""
    column: str | None = None
    """The released column of weights."""
    round_to: str | None = None
    """The weights are multiples of this number."""
    total: NotNegative | None = None
    """The sum of the released weights."""
    smallest_class: NotNegative | None = None
    """The fewest people whom a class stands for."""
    mean_class: NotNegative | None = None
    """The people whom a class stands for, on average."""


class Suppressed(CertificatePart):
    """Suppressed rows; only if the run file allows them."""

    rows: Count
    """Rows of the input that are not released."""
    share: Share
    """Of the rows of the input."""
    limit: Share
    """The largest share that is allowed."""
    limit_exact: ExactText
    """The same, exactly."""
    of: Literal["input", "released"]
    """What classes are compared with."""
    guarantees: Guarantees | None = None
    certain: list[str] | None = None
    """Sensitive attributes with one value in all suppressed rows."""


class DeltaDisclosure(CertificatePart):
    """delta-disclosure: |ln(share in a class / share in the table)| of the values of the table."""

    largest: NotNegative | None
    """Of any class and value; null if it is infinite, because a class lacks a value."""
    infinite: ClassesAndRows
    """The classes that lack a value."""


class MeasuredAttribute(CertificatePart):
    """How much more and how much less frequent values are in classes than in the table that classes
    are compared with.
    """

    kl_divergence: NotNegative
    """The largest Kullback-Leibler divergence of a class, in nats."""
    delta_disclosure: DeltaDisclosure
    similar: ClassesAndRows | None = None
    """The classes whose values are all in one group: a third of the values in order, or a node
    below the root of the hierarchy.
    """


class Alone(CertificatePart):
    """The released rows whose pair of values of two sensitive attributes no other row has."""

    attributes: tuple[str, str]
    table: Count | None
    """No other row of the release; null if there are too many tuples to count."""
    in_class: Annotated[int, Field(ge=0, alias="class")]
    """No other row of the class."""


class Growth(CertificatePart):
    """The distance of the tuples of some sensitive attributes."""

    attributes: Annotated[list[str], Field(min_length=1)]
    """The attributes that form the tuple."""
    achieved: Share
    """Of the farthest class."""
    achieved_exact: ExactText
    """The same, exactly."""
    size: AtLeastOne
    """Rows of the farthest class."""
    least: ExactText
    """The least distance that a class of so many rows can have, exactly."""


class Tuples(CertificatePart):
    """The combinations of all sensitive attributes."""

    distance: Literal["equal"]
    achieved: Share
    """Of the farthest class."""
    achieved_exact: ExactText
    """The same, exactly."""
    growth: list[Growth]
    """The same of the first sensitive attribute, of the first two, and so on."""


class Information(CertificatePart):
    """Figures that are measured but not required."""

    attributes: Mapping[str, MeasuredAttribute]
    """By sensitive attribute."""
    alone: list[Alone] | None = None
    """By pair of sensitive attributes."""
    tuples: Tuples | None = None


class Gap(CertificatePart):
    """How far the loss may be above the least."""

    gap: NotNegative
    """Of the mean loss."""
    over: Literal["input"] | None = None
    """Of the input's values."""


class Utility(CertificatePart):
    """Information loss and class sizes."""

    ncp: Share | None
    """The mean information loss over rows and quasi-identifiers; null if it is unknown."""
    ncp_unknown: str | None = None
    """Why the information loss is unknown; only if it is."""
    ncp_by_quasi_identifier: Mapping[str, Share | None]
    """The mean information loss of each column; null if it is unknown."""
    ncp_weighted: Share | None = None
    """The weighted mean, if the weights of the run file differ."""
    average_class_size: Annotated[float, Field(ge=1)]
    """Rows over classes."""
    smallest_class: AtLeastOne
    """Rows."""
    largest_class: AtLeastOne
    """Rows."""
    discernibility: AtLeastOne
    """The sum of the squared class sizes, plus the rows of the input for each suppressed row."""
    optimum: Literal["proven"] | Gap | None = None
    """Of method exact: no other release of all rows has a smaller ncp_weighted, or how far it may
    be above the least; with over: input, of the input's values.
    """


class CheckedEvidence(CertificatePart):
    """The checks."""

    expectations_evaluated: Count
    """Of Great Expectations, on the class table."""
    labels_checked: Count
    """Rows whose labels were checked against the values they replace, or whose aggregates against
    the values of their class.
    """


class ProfileK(CertificatePart):
    """k of the release."""

    required: Annotated[int, Field(ge=2)]
    """Rows or people of a class."""
    set_by: Literal["profile", "run file"]
    """What set it."""


class CheckedRule(CertificatePart):
    """A rule."""

    section: str
    """Of the source."""
    rule: str
    """In words."""
    state: Literal["holds", "not checked", "stated"]
    """stated: a fact, which is not judged."""
    how: str
    """How it was checked, or why not."""
    unread: Annotated[list[str], Field(min_length=1)] | None = None
    """Published columns with values that the check cannot read."""


class NamedColumn(CertificatePart):
    """A column of the run file whose name is that of an identifier."""

    column: str
    """Its name."""
    role: str
    """In the run file."""


class ColumnOfValues(CertificatePart):
    """A published column with values of an identifier."""

    column: str
    """Its name."""
    rows: AtLeastOne
    """With such a value."""


class CheckedIdentifier(CertificatePart):
    """An identifier, and where it was found."""

    letter: Annotated[str, Field(pattern="^[A-R]$")]
    """Of the paragraph."""
    name: str
    """In words."""
    patterns: list[str]
    """Of published values; columns are looked for by name in any case."""
    found: list[NamedColumn]
    values: list[ColumnOfValues]


class CheckedProfile(CertificatePart):
    """The rules of a regulator that the release was checked for, if the run file names a
    profile.
    """

    name: KnownProfile
    """Of the profile."""
    title: str
    """Of the rules."""
    source: str
    """Of the rules."""
    settings: Mapping[str, Any]
    """Those of the run file, without paths."""
    k: ProfileK
    rules: Annotated[list[CheckedRule], Field(min_length=1)]
    """In the order of the source."""
    identifiers: Annotated[list[CheckedIdentifier], Field(min_length=18, max_length=18)]
    """Those of 45 CFR 164.514(b)(2)(i)."""
    statement: str
    """What all of this means."""


class Certificate(CertificatePart):
    """What is required of a release and what it achieves. All of it follows from the release and
    the run file with its hierarchies. Further keys are sections of options of other packages.
    """

    model_config = ConfigDict(extra="allow")
    verdict: Literal["holds"]
    """Only releases that hold have a certificate."""
    subjects: CertifiedSubjects | None = None
    unprotected: Mapping[str, ClassesAndRows]
    """Sensitive attributes without a limit, with their classes of one value."""
    tool: Tool
    brought: Annotated[list[Brought], Field(min_length=1)] | None = None
    """The options, requirements and methods of other packages that the run uses."""
    issued: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    """When, in UTC."""
    release: ReleasedTable
    counts: str
    """What is counted."""
    input: InputTable
    people: CertifiedPeople | None = None
    earlier: Earlier | None = None
    method: UsedMethod
    regions: Regions
    """Whether the labels of two classes share values."""
    guarantees: Guarantees
    risks: CertifiedRisks | None = None
    weights: Weights | None = None
    suppressed: Suppressed | None = None
    attributes: CertifiedAttributes
    information: Information
    utility: Utility
    evidence: CheckedEvidence
    allow_unique: list[str]
    """Nearly unique columns that the run file allows."""
    pseudonyms: Mapping[str, Keyed] | None = None
    """By released pseudonym, the secret that keys it: the run's own, or one that several releases
    may share.
    """
    profile: CheckedProfile | None = None
    warnings: list[str]
    """What to review before publication."""

    @property
    def whole(self) -> str:
        """The table that classes are compared with, in words."""
        if self.suppressed is None or not self.suppressed.rows:
            return "whole table"
        return WHOLE[self.suppressed.of]

    @property
    def brought_sections(self) -> Mapping[str, object]:
        """The sections of options of other packages, by key."""
        return self.model_extra or {}

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.brought is None and self.brought_sections:
            raise ValueError(f"{min(self.brought_sections)} is no section of a certificate")
        return self
