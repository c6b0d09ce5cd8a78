"""Which column is what: the settings of quasi-identifiers and of sensitive attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from tclose_spark.runfile.distances import DEFAULT, DISTANCES, DistanceKind, known_distance, one_of, places_of_missing
from tclose_spark.runfile.hierarchies import HierarchyBuilder, HierarchySource
from tclose_spark.runfile.section import Exact, Section, exact_number
from tclose_spark.runfile.text import NormalForm, normal, value_text

MEASURE = "measure"
ROLES = ("direct_identifiers", "quasi_identifiers", "sensitive_attributes", "insensitive_attributes")
"""What a column may be, as the run file lists them."""


def _closeness(value: Any) -> Fraction | None:
    """A t: above 0, at most 1; None for `measure`, which tells the distance and limits nothing."""
    if value == MEASURE:
        return None
    number = exact_number(value)
    if not 0 < number <= 1:
        raise ValueError("expected a number above 0 and at most 1, or measure")
    return number


class Text(Section):
    """Which spellings of a text column are one value. They are made one when the table is read, and are published
    so.
    """

    normal_form: NormalForm | None = None
    strip: bool = False
    case: Literal["fold"] | None = None

    def of(self, value: str) -> str:
        """A text after these options."""
        return normal(value, self.normal_form, self.strip, self.case == "fold")


class QuasiIdentifier(Section):
    """A column that, with others, may tell who a record is about."""

    type: Literal["categorical", "numeric"] = "categorical"
    hierarchy: HierarchySource | None = None
    round_to: Exact | None = None
    numeric_output: Literal["interval", "bounds"] = "interval"
    generalization: Literal["suppress", "set"] = "suppress"
    text: Text | None = None
    weight: Exact = Fraction(1)
    coarsest: Exact | None = None

    @property
    def is_numeric(self) -> bool:
        """Generalized to intervals; a hierarchy, where there is one, decides instead."""
        return self.type == "numeric" and self.hierarchy is None

    @property
    def reads_numbers(self) -> bool:
        """Its values are numbers, also where a hierarchy is built of them; those of a CSV are texts."""
        return self.type == "numeric" and not isinstance(self.hierarchy, str)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if not self.is_numeric and (self.round_to is not None or self.numeric_output != "interval"):
            raise ValueError("round_to and numeric_output are for type: numeric without a hierarchy")
        if (self.is_numeric or self.hierarchy) and self.generalization != "suppress":
            raise ValueError("generalization is for type: categorical without a hierarchy")
        if self.reads_numbers and self.text is not None:
            raise ValueError("text is for columns of text; expected type: categorical")
        if isinstance(self.hierarchy, HierarchyBuilder):
            self._check_builder(self.hierarchy)
        if self.coarsest is not None:
            self._check_coarsest(self.coarsest)
        if self.weight <= 0:
            raise ValueError(f"weight is {self.weight}; expected a number above 0")
        if self.round_to is not None and self.round_to <= 0:
            raise ValueError(f"round_to is {self.round_to}; expected a number above 0")
        return self

    def _check_builder(self, builder: HierarchyBuilder) -> None:
        if builder.intervals is not None and self.type != "numeric":
            raise ValueError("hierarchy: intervals are of numbers; expected type: numeric")
        if (builder.prefix is not None or builder.dates is not None) and self.type == "numeric":
            raise ValueError(f"hierarchy: {builder.form} is not for numbers; expected type: categorical")

    def _check_coarsest(self, coarsest: Fraction) -> None:
        if self.is_numeric:
            expected, fits = "the length of an interval, 0 or more", coarsest >= 0
        elif self.hierarchy is not None:
            expected, fits = "a level of the hierarchy, 0 for the values", coarsest >= 0 and coarsest.denominator == 1
        elif self.generalization == "set":
            expected, fits = "the members of a set, at least 1", coarsest >= 1 and coarsest.denominator == 1
        else:
            expected, fits = "0: values only, since without a hierarchy only * is coarser", coarsest == 0
        if self.round_to is not None and coarsest < self.round_to:
            expected, fits = f"at least round_to, {self.round_to}, since ends are moved to multiples of that", False
        if not fits:
            raise ValueError(f"coarsest is {coarsest}; expected {expected}")


class Recursive(Section):
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m)."""

    c: Exact
    l: Annotated[int, Field(ge=2)]  # noqa: E741 - the field's name for it


class Diversity(Section):
    """l-diversity required of a sensitive attribute, any of three kinds."""

    distinct: Annotated[int, Field(ge=1)] | None = None
    entropy: Exact | None = None
    recursive: Recursive | None = None


class Bins(Section):
    """Bins of an ordered attribute's values, one of three kinds; fragments are cut between bins only. t is that of the
    values.
    """

    equal_width: Annotated[int, Field(ge=1)] | None = None
    equal_mass: Annotated[int, Field(ge=1)] | None = None
    edges: Annotated[tuple[Exact, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(kind is not None for kind in (self.equal_width, self.equal_mass, self.edges)) != 1:
            raise ValueError("expected one of equal_width: N, equal_mass: N, edges: [a, b, ..]")
        if self.edges is not None and (not self.edges or any(a >= b for a, b in pairwise(self.edges))):
            raise ValueError("edges are not ascending numbers")
        return self


class SensitiveAttribute(Section):
    """A column whose distribution in every class must be near that of the table.

    t: None where it is `measure`, or not said (then there is an l; only an audit asks for neither).
    """

    distance: Annotated[str, BeforeValidator(known_distance)] = DEFAULT
    t: Annotated[
        Fraction | None, BeforeValidator(_closeness), PlainSerializer(lambda t: MEASURE if t is None else str(t))
    ] = None
    order: (
        Literal["value", "frequency"]
        | Annotated[tuple[Any, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)]
    ) = "value"
    hierarchy: HierarchySource | None = None
    missing: Literal["error", "lowest", "highest", "leaf"] = "error"
    l: Diversity = Diversity()  # noqa: E741 - the field's name for it
    bins: Bins | None = None
    text: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _said(cls, value: Any) -> Any:
        """A t of null is none, so that a t that is set and None is `measure`."""
        return (
            {key: part for key, part in value.items() if key != "t" or part is not None}
            if isinstance(value, dict)
            else value
        )

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        nested = one_of([name for name, kind in DISTANCES.items() if kind.nested])
        ordered = one_of([name for name, kind in DISTANCES.items() if kind.ordered])
        if self.kind.nested != (self.hierarchy is not None):
            raise ValueError(f"distance: {nested} needs a hierarchy, and only that distance takes one")
        if isinstance(self.order, tuple):
            _require_order(self.order)
        if not self.kind.ordered and self.order != "value":
            raise ValueError(f"order is for distance: {ordered}")
        if self.missing not in ("error", *self.kind.missing):
            raise ValueError(f"missing is {self.missing}; expected {places_of_missing()}")
        if self.bins is not None and (not self.kind.ordered or self.order != "value"):
            raise ValueError(f"bins are for distance: {ordered} by value")
        return self

    @property
    def kind(self) -> DistanceKind:
        """What there is to know of its ground distance."""
        return DISTANCES[self.distance]

    @property
    def limited(self) -> bool:
        """Whether anything that is required can be broken: a t below 1, an l above 1."""
        close = self.t is not None and self.t < 1
        return close or (self.l.distinct or 1) > 1 or (self.l.entropy or 1) > 1 or self.l.recursive is not None


def _require_order(order: Sequence[Any]) -> None:
    """Raises ValueError for a list that is no order of values. A value more in it would make every distance smaller."""
    if not order:
        raise ValueError("order is an empty list; expected all values, lowest first")
    for place, value in enumerate(order, start=1):
        if value is None:
            raise ValueError(
                f"order holds null (place {place}), which is no value; missing: lowest or highest says where missing "
                "values are"
            )
        if isinstance(value, list | dict):
            raise ValueError(f"order holds {value!r} (place {place}); expected values only")
    text, times = Counter(map(value_text, order)).most_common(1)[0]
    if times > 1:
        raise ValueError(f"order holds {text!r} {times} times; expected every value once")


def _protected(attribute: SensitiveAttribute) -> SensitiveAttribute:
    if "t" not in attribute.model_fields_set and attribute.l == Diversity():
        raise ValueError(
            "nothing is asked of it; expected a t (a number above 0 and at most 1), an l (such as {distinct: 3}), or "
            "t: measure (the distance is told and not limited, and the verdict says that the attribute is unprotected)"
        )
    return attribute


class Attributes(Section):
    """Which column is what."""

    direct_identifiers: tuple[str, ...] = ()
    quasi_identifiers: dict[str, QuasiIdentifier] = Field(min_length=1)
    sensitive_attributes: dict[str, Annotated[SensitiveAttribute, AfterValidator(_protected)]] = Field(min_length=1)
    insensitive_attributes: tuple[str, ...] = ()
    drop_others: bool = False
    allow_unique: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        """YAML lists to tuples; an attribute without settings (`sex:`) has the default ones."""
        if not isinstance(value, dict):
            return value
        value = {key: tuple(part) if isinstance(part, list) else part for key, part in value.items()}
        for key in ("quasi_identifiers", "sensitive_attributes"):
            if isinstance(value.get(key), dict):
                value[key] = {name: {} if part is None else part for name, part in value[key].items()}
        for key in ("direct_identifiers", "insensitive_attributes", "allow_unique"):
            if value.get(key, ()) is None:
                value[key] = ()
        return value

    @model_validator(mode="after")
    def _one_role(self) -> Self:
        roles: dict[str, str] = {}
        for role in ROLES:
            for column in getattr(self, role):
                if column in roles:
                    raise ValueError(
                        f"column {column!r} is in {roles[column]} and in {role}; expected one role for a column"
                    )
                roles[column] = role
        for column in self.allow_unique:
            if column not in self.insensitive_attributes:
                raise ValueError(f"allow_unique names {column!r}, which is not in insensitive_attributes")
        return self

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of a release, in order (before `numeric_output: bounds` splits one in two)."""
        return (*self.quasi_identifiers, *self.sensitive_attributes, *self.insensitive_attributes)
