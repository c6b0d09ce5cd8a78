"""The attributes of a certificate: what a third party needs to recompute every figure from the
release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from tclose_spark.report.certificate.part import (
    AtLeastOne,
    CertificatePart,
    Count,
    ExactText,
    Sha256,
)
from tclose_spark.requirements.figures import ClassesAndRows
from tclose_spark.runfile.release_form import Representative


class Hashed(CertificatePart):
    """A list that is too long to be published."""

    size: Count
    """Their number."""
    sha256: Sha256
    """Of the list as JSON without blanks, in UTF-8."""
    suppressed: list[tuple[str | None, int]] | None = None
    """Of values: those of the suppressed rows, with counts."""


class Values(CertificatePart):
    """Values in order; null is the missing one."""

    size: Count
    """Their number."""
    values: list[str | None]


class Counts(CertificatePart):
    """The rows of each value."""

    size: Count
    """Their number."""
    counts: list[Count]


class Paths(CertificatePart):
    """Paths from leaf to root."""

    size: Count
    """Their number."""
    paths: list[list[str]]


class LeavesBelow(CertificatePart):
    """The number of leaves below each node."""

    size: Count
    """Their number."""
    below: list[tuple[str, AtLeastOne]]


class Ends(CertificatePart):
    """The ends of the places of numbers, ascending, exactly."""

    size: Count
    """Their number."""
    ends: list[Annotated[str, Field(pattern=r"^-?[0-9]+(/[0-9]+)?$")]]


class EmptyPlaces(CertificatePart):
    """The places that no row has, from 0."""

    size: Count
    """Their number."""
    places: list[Count]


class Leaves(CertificatePart):
    """The number of leaves of a hierarchy that was built from values of the table."""

    size: Count


class Spellings(CertificatePart):
    """Which spellings of a text are merged into one published value."""

    normal_form: str | None = None
    """The Unicode normal form."""
    strip: bool | None = None
    """Blanks at both ends are ignored."""
    case: Literal["fold"] | None = None
    """Case is ignored."""


class CertifiedPlaces(CertificatePart):
    """The places between which an ordered distance is measured: bins of equal width, or steps from
    the smallest value on. Missing values have one place more, first or last.
    """

    equal_width: AtLeastOne | None = None
    """So many bins; a value on an edge is in the bin above it, and the largest in the last bin."""
    step: ExactText | None = None
    """The width of a place, exactly."""
    size: AtLeastOne
    """Their number."""
    ends: Ends | Hashed
    empty: EmptyPlaces | Hashed


class Sensitive(CertificatePart):
    """A sensitive attribute."""

    distance: str
    """The ground distance."""
    m: AtLeastOne
    """The size of the domain; of places, their number."""
    domain: Values | Hashed
    """All values in order."""
    unused: Values | Hashed
    """Values of the domain that no released row has."""
    input: Counts | Hashed | None = None
    """Rows of the input with each value, if suppressed rows make the two differ."""
    missing: Literal["error", "lowest", "highest", "leaf", "value", "uninformative"]
    """The place of missing values in the domain."""
    homogeneous: ClassesAndRows
    """Classes with one value only: it is certain for their rows."""
    places: CertifiedPlaces | None = None
    order: Literal["value", "frequency", "list"] | None = None
    """Of an ordered attribute."""
    text: Spellings | None = None
    hierarchy: Paths | Hashed | None = None


class QuasiIdentifierEntry(CertificatePart):
    """A quasi-identifier: how it is published, and what its loss is divided by."""

    type: Literal["numeric", "categorical", "date", "timestamp"]
    """Of the column."""
    date_format: str | None = None
    """The form of dates or times in the input."""
    round_to: ExactText | None = None
    """Ends of intervals are multiples of it."""
    text: Spellings | None = None
    weight: ExactText | None = None
    """Its share of the minimized loss."""
    coarsest: ExactText | None = None
    """No label is coarser."""
    range: tuple[str, str] | None = None
    """The range of possible values from the run file; the loss is a share of it."""
    missing: Literal["any"] | None = None
    """A missing value could be any value: every label means this, or missing."""
    missing_values: list[Any] | None = None
    """Codes of the input that mean missing."""
    exact: Literal[True] | None = None
    """The values are published as they are; only if the release has exact quasi-identifiers."""
    aggregate: Representative | None = None
    """Only if the column has aggregates in place of labels: that of each class's known values. A
    median is the lower one, a mode the first of several in order.
    """
    digits: Count | None = None
    """Digits of a mean after the decimal point."""
    hierarchy: Paths | Hashed | Leaves | None = None
    """Paths from leaf to root; only their number if the hierarchy was built from values of the
    table.
    """
    numeric_output: Literal["interval", "bounds"] | None = None
    """interval: one column of texts. bounds: two columns of numbers."""
    generalization: Literal["suppress", "set"] | None = None
    """suppress: a class publishes its only value, or `*`. set: it publishes all its values."""
    missing_rows: Count | None = None
    """With missing: any, the rows of the input without a value; a keyed hash draws the values that
    they are grouped by.
    """
    leaves: LeavesBelow | Hashed | None = None
    """Of a built hierarchy: the number of leaves below each released node."""
    span: str | None = None
    """Of numbers: from the smallest to the largest end of the released labels, exactly."""
    named: Count | None = None
    """Of sets: values in the released labels."""


class CertifiedAttributes(CertificatePart):
    """What a third party needs to recompute every figure from the release."""

    sensitive: Mapping[str, Sensitive]
    """By column."""
    quasi_identifiers: Mapping[str, QuasiIdentifierEntry]
    """By column."""
