"""The figures of a verdict: what the verifier measures of a release, and what each of its options
adds, by type.

Certificate and reports are made from them. `verification.json` has them as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Literal, TypedDict, TypeVar

from pydantic import SkipValidation, TypeAdapter

from tclose_spark.measures.distances.bins import ValueGroup

Plain = Mapping[str, Any]
"""Values as JSON has them, whose keys are data."""
Regions = Literal["disjoint", "overlapping", "not looked at"]
"""Whether the labels of two classes share values."""
Listing = Mapping[str, Any]
"""See `table.writing.listing`."""


class Bin(TypedDict):
    """A bin of a figure, with its classes and their rows."""

    classes: int
    rows: int


class ShareBin(Bin):
    """A numbered bin, with its upper end."""

    bin: int
    to: float


SizeRange = TypedDict("SizeRange", {"from": int, "to": int})
LowerEnd = TypedDict("LowerEnd", {"from": float}, total=False)


class SizeBin(SizeRange, Bin):
    """A bin of class sizes, with the least and the largest."""


class DistanceBin(LowerEnd, ShareBin):
    """A bin of distances. Only the last one, of all larger ones, has its lower end."""


class PrecisionBin(Bin):
    """A bin of labels that are equally coarse."""

    precision: str


@dataclass(frozen=True)
class ClassesAndRows:
    """How many classes have a property, and their rows."""

    classes: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class Achieved:
    """What classes achieve in a sensitive attribute.

    reached: by the key of each judge. homogeneous, similar, unlike: see `PartialFigures.counts`.
    """

    reached: Plain
    homogeneous: ClassesAndRows
    similar: ClassesAndRows
    unlike: ClassesAndRows


@dataclass(frozen=True, kw_only=True)
class AttributeFigures(Achieved):
    """The same with the domain of the attribute.

    unused: values without rows. places: between which its distance is measured, if these are not
        the values.
    input: the input's distribution, if rows are suppressed and it is public.
    """

    domain: Listing
    unused: Listing
    places: Plain | None = None
    input: Listing | None = None


@dataclass(frozen=True, kw_only=True)
class FarthestClass:
    """The class farthest from the table in an attribute.

    labels: by published column. values: their number in the domain. groups: of these values.
    moved: the mass that would have to move. moves: the most expensive ones, with `from`, `to`,
        `mass`, `distance` and `cost`. more_moves: how many there are besides.
    """

    labels: Mapping[str, str | None]
    size: int
    emd: float
    values: int
    groups: Sequence[ValueGroup]
    moved: float
    moves: Sequence[Plain]
    more_moves: int


@dataclass(frozen=True)
class SuppressedFigures:
    """rows: that are suppressed. attributes: what they achieve as one class, if their distribution
    is public.
    """

    rows: int
    attributes: Mapping[str, Achieved] | None = None


@dataclass(frozen=True)
class ColumnFigures:
    """type: Spark's name of it. missing: rows without a value."""

    type: str
    missing: int


@dataclass(frozen=True)
class LossFigures:
    """The information loss of a release; None where it is unknown."""

    ncp: float | None
    ncp_by_quasi_identifier: Mapping[str, float | None]


@dataclass(frozen=True)
class OptionFigures:
    """The figures of an option, which its judge makes.

    key: below which they stand in the file; None if each of them has a key of its own there.
    """

    key: ClassVar[str | None] = None

    def by_key(self) -> dict[str, object]:
        """As the file has them."""
        found: dict[str, object] = plain(self)
        return found if self.key is None else {self.key: found}


OfOption = TypeVar("OfOption", bound=OptionFigures)


@dataclass(frozen=True, kw_only=True)
class Figures(LossFigures):
    """The figures of a judged release.

    quasi_identifiers: what the loss of each is divided by (see `measured_on`).
    extremes, spreads, guessed: see `ClassFigures`. worst: of each attribute.
    by_input: measured on the raw table, so it stays internal.
    options: of each option that has some.
    """

    suppressed: SuppressedFigures
    classes: int
    smallest_class: int
    largest_class: int
    discernibility: int
    attributes: Mapping[str, AttributeFigures]
    quasi_identifiers: Mapping[str, Plain]
    warnings: Sequence[str]
    columns: Mapping[str, ColumnFigures]
    fingerprint: str
    rows: int
    extremes: Plain
    spreads: Plain
    guessed: Mapping[str, float]
    worst: Mapping[str, FarthestClass]
    by_input: LossFigures
    regions: Regions
    expectations_evaluated: int
    options: tuple[SkipValidation[OptionFigures], ...] = ()

    def find(self, kind: type[OfOption]) -> OfOption | None:
        """The figures of an option; None if the release has none."""
        return next((one for one in self.options if isinstance(one, kind)), None)

    def of(self, kind: type[OfOption]) -> OfOption:
        """The figures of an option that the release uses."""
        found = self.find(kind)
        assert found is not None
        return found

    def to_json(self) -> dict[str, object]:
        """As `verification.json` has them."""
        found: dict[str, object] = plain(replace(self, options=()))
        del found["options"]
        for one in self.options:
            found |= one.by_key()
        return found

    @staticmethod
    def read(written: Mapping[str, object], kinds: Iterable[type[OptionFigures]]) -> Figures:
        """The figures that `to_json` wrote. kinds: those of the options that the release uses.

        Raises:
            ValueError: if they are none.
        """
        found = TypeAdapter(Figures).validate_python(written)
        return replace(found, options=tuple(_options(written, kinds)))


def _options(
    written: Mapping[str, object],
    kinds: Iterable[type[OptionFigures]],
) -> Iterator[OptionFigures]:
    for kind in kinds:
        if kind.key is None:
            yield TypeAdapter(kind).validate_python(written)
        elif kind.key in written:
            yield TypeAdapter(kind).validate_python(written[kind.key])


def plain(value: Any) -> Any:
    """A value as JSON has it. A field that is None, as it is by default, is left out.

    >>> plain(SuppressedFigures(rows=3))
    {'rows': 3}
    """
    if is_dataclass(value):
        every = {one.name: (getattr(value, one.name), one.default) for one in fields(value)}
        return {
            name: plain(found)
            for name, (found, usual) in every.items()
            if not (found is None and usual is None)
        }
    if isinstance(value, Mapping):
        return {key: plain(found) for key, found in value.items()}
    if isinstance(value, list | tuple):
        return [plain(found) for found in value]
    return value
