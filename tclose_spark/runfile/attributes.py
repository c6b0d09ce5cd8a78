"""The role of each column: settings of quasi-identifiers and sensitive attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from tclose_spark.runfile.brought import find_requirement, modules, read_brought, write_brought
from tclose_spark.runfile.columns import (
    HouseholdColumn,
    MissingValues,
    PersonColumn,
    Pseudonyms,
    WeightColumn,
)
from tclose_spark.runfile.combinations import (
    NESTED,
    OF_ATTRIBUTES,
    OF_BINS,
    OF_PLACES,
    OF_QUASI_IDENTIFIER,
    OF_SENSITIVE_ATTRIBUTE,
    ORDERED,
)
from tclose_spark.runfile.distances import (
    DEFAULT,
    DISTANCES,
    DistanceKind,
    known_distance,
    places_of_missing,
)
from tclose_spark.runfile.hierarchies import HierarchyBuilder, HierarchySource
from tclose_spark.runfile.quantities import (
    CODES_A_DAY,
    LARGEST_COUNT,
    Calendar,
    check_date_format,
    parse_moment,
    parse_number,
)
from tclose_spark.runfile.section import (
    Exact,
    Section,
    above_zero,
    also,
    as_tuple,
    exact_number,
    number_schema,
)
from tclose_spark.runfile.text import NormalForm, normal, value_text

MEASURE = "measure"
ROLES = (
    "direct_identifiers",
    "quasi_identifiers",
    "sensitive_attributes",
    "insensitive_attributes",
    "pseudonyms",
)
"""The roles of columns, as keys of the run file."""
T_SCHEMA = {
    "anyOf": [*number_schema(minimum=0, maximum=1)["anyOf"], {"const": MEASURE}, {"type": "null"}],
}
POSITIVE = number_schema(exclusiveMinimum=0)
MOST_PLACES = 100_000
"""Places of a domain with bins or steps."""
LEAST_T = Fraction(1, 10**9)
"""One person more or less in a class changes its distance by more than this, up to a billion
people.
"""
NOTHING = {"type": "null"}
"""The JSON Schema of a YAML key without a value, such as `sex:`."""


def _closeness(value: Any) -> Fraction | None:
    """A t from 0 to 1; None for `measure`, which reports the distance and limits nothing."""
    if value == MEASURE:
        return None
    number = exact_number(value)
    if not 0 <= number <= 1:
        raise ValueError("expected a number from 0 to 1, or measure")
    if 0 < number < LEAST_T:
        raise ValueError("expected a number from 0 to 1, and either 0 or not below a billionth")
    return number


Closeness = Annotated[
    Fraction | None,
    BeforeValidator(_closeness),
    PlainSerializer(lambda t: MEASURE if t is None else str(t)),
    WithJsonSchema(T_SCHEMA, mode="validation"),
]
"""A required t; None for `measure`."""


def _end(value: Any) -> Any:
    """An end of a range as text: a number, a date or a time."""
    return (
        str(value)
        if isinstance(value, int | float | Decimal | date) and not isinstance(value, bool)
        else value
    )


End = Annotated[
    str,
    BeforeValidator(_end),
    WithJsonSchema({"type": ["number", "string"]}, mode="validation"),
]


class Text(Section):
    """Which spellings of a text column are one value. The run merges them when it reads the table,
    and publishes them merged.
    """

    normal_form: NormalForm | None = None
    """The Unicode normal form of all texts."""
    strip: bool = False
    """Remove blanks at both ends."""
    case: Literal["fold"] | None = None
    """fold: ignore the difference between upper and lower case."""

    def of(self, value: str) -> str:
        """A text with these options applied."""
        return normal(value, self.normal_form, self.strip, self.case == "fold")


class QuasiIdentifier(Section):
    """A column that, together with others, may identify a person. Lengths of dates and times are in
    days.
    """

    keys_together = OF_QUASI_IDENTIFIER
    type: Literal["categorical", "numeric", "date", "timestamp"] = "categorical"
    """Of numeric, date and timestamp columns, classes publish intervals; of categorical ones,
    values, hierarchy nodes or `*`.
    """
    date_format: Annotated[str, AfterValidator(check_date_format)] | None = None
    """The form of dates or times, such as `%d.%m.%Y`: directives of Python's `strptime` for
    numbers, and `%b` for Jan to Dec. By default ISO. Labels are always ISO.
    """
    hierarchy: HierarchySource | None = None
    """A CSV file without a header: one row per value, from the value to `*`, separated by `;` or
    `,`. Or settings that build a hierarchy from the column's values.
    """
    round_to: Exact | None = None
    """Ends of intervals are rounded outward to multiples of this."""
    numeric_output: Literal["interval", "bounds"] = "interval"
    """interval: `[30, 39]` as text. bounds: two columns of numbers, `age_min` and `age_max`."""
    generalization: Literal["suppress", "set"] = "suppress"
    """For a column without a hierarchy. suppress: a class publishes its only value, or `*`. set: it
    publishes all its values, `{a, b}`.
    """
    text: Text | None = None
    """Which spellings are one value."""
    weight: Annotated[Exact, AfterValidator(above_zero)] = Fraction(1)
    """The weight of this column's information loss, relative to the others, when a method
    chooses.
    """
    coarsest: Exact | None = Field(
        default=None,
        validation_alias=also("coarsest", "maximum_generalization"),
    )
    """The coarsest label allowed: the length of an interval, the level in a hierarchy, or the
    members of a set.
    """
    range: Annotated[tuple[End, End], BeforeValidator(as_tuple)] | None = None
    """The lowest and highest possible value, such as `[0, 120]`, known from outside. Information
    loss is measured on this range.
    """
    missing: Literal["value", "any"] = "value"
    """value: missing is a value of its own; a class that mixes it with others publishes `*`. any:
    it could be any value; every label means this or missing.
    """
    missing_values: MissingValues = ()
    """Codes that mean missing, such as `[99, "Unknown"]`."""

    @property
    def is_numeric(self) -> bool:
        """Whether classes publish intervals of numbers, dates or times. A hierarchy takes
        precedence.
        """
        return self.type != "categorical" and self.hierarchy is None

    @property
    def reads_numbers(self) -> bool:
        """Whether values are read as numbers, also to build a hierarchy. Leaves of a hierarchy file
        are texts.
        """
        return self.type == "numeric" and not isinstance(self.hierarchy, str)

    @property
    def calendar(self) -> Calendar | None:
        """The calendar of dates or times; None for other columns."""
        return self.type if self.type == "date" or self.type == "timestamp" else None

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """The range in numbers, or in days since 1970.

        Raises:
            ValueError: if an end is not a number, a date or a time.
        """
        if self.range is None:
            return None
        parse = parse_number if self.calendar is None else parse_moment
        return parse(self.range[0]), parse(self.range[1])

    @property
    def builder(self) -> HierarchyBuilder | None:
        """What builds its hierarchy from the values of the table; None without such a hierarchy."""
        return self.hierarchy if isinstance(self.hierarchy, HierarchyBuilder) else None

    @property
    def step(self) -> Fraction | None:
        """`round_to` in codes: numbers, days of dates, microseconds of times."""
        a_day = 1 if self.calendar is None else CODES_A_DAY[self.calendar]
        return None if self.round_to is None else self.round_to * a_day

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        self._check_range()
        if self.coarsest is not None:
            self._check_coarsest(self.coarsest)
        self._check_step()
        return self

    def _check_step(self) -> None:
        if self.round_to is not None and self.round_to <= 0:
            raise ValueError(f"round_to is {self.round_to}; expected a number above 0")
        if self.calendar is not None and self.step is not None and self.step.denominator > 1:
            what = "whole days" if self.calendar == "date" else "days, in whole microseconds"
            raise ValueError(f"round_to is {self.round_to}; expected {what}")

    def _check_range(self) -> None:
        what = "number" if self.calendar is None else self.calendar
        try:
            limits = self.limits
        except ValueError:
            limits = (Fraction(0), Fraction(0))
        if self.range is not None and limits is not None and limits[0] >= limits[1]:
            raise ValueError(
                f"range is {', '.join(self.range)}; expected the lowest {what}, then the highest",
            )

    def _check_coarsest(self, coarsest: Fraction) -> None:
        if self.is_numeric:
            expected = "the length of an interval, 0 or more (in days, of dates and times)"
            fits = coarsest >= 0
        elif self.hierarchy is not None:
            expected = "a level of the hierarchy, 0 for the values"
            fits = coarsest >= 0 and coarsest.denominator == 1
        elif self.generalization == "set":
            expected = "the members of a set, at least 1"
            fits = coarsest >= 1 and coarsest.denominator == 1
        else:
            expected = "0: values only, since without a hierarchy only * is coarser"
            fits = coarsest == 0
        if self.round_to is not None and coarsest < self.round_to:
            expected = (
                f"at least round_to, {self.round_to}, since ends are moved to multiples of that"
            )
            fits = False
        if not fits:
            raise ValueError(f"coarsest is {coarsest}; expected {expected}")


class Recursive(Section):
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m)."""

    c: Annotated[Exact, AfterValidator(above_zero)]
    """The factor c."""
    l: Annotated[int, Field(ge=2, le=LARGEST_COUNT)]  # noqa: E741 - the field's name for it
    """The rank l from which values are added up."""


def _of_frequency(number: Fraction) -> Fraction:
    if number < 1:
        raise ValueError("expected a number of at least 1")
    return number


class Diversity(Section):
    """l-diversity required of a sensitive attribute, any of four kinds."""

    distinct: Annotated[int, Field(ge=1, le=LARGEST_COUNT)] | None = None
    """The least number of different values in a class."""
    entropy: Exact | None = None
    """The least exponential of the entropy of a class."""
    recursive: Recursive | None = None
    """Recursive (c, l)-diversity."""
    frequency: (
        Annotated[
            Exact,
            AfterValidator(_of_frequency),
            WithJsonSchema(number_schema(minimum=1), mode="validation"),
        ]
        | None
    ) = None
    """With frequency f, no value has more than 1/f of a class."""


def _ascending(edges: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    if not edges or any(a >= b for a, b in pairwise(edges)):
        raise ValueError("expected ascending numbers")
    return edges


class Bins(Section):
    """Bins of an ordered attribute, of one of three kinds. Fragmentation cuts between bins only. t
    still compares the values.
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})
    keys_together = OF_BINS
    equal_width: Annotated[int, Field(ge=1)] | None = None
    """The number of bins of equal width."""
    equal_mass: Annotated[int, Field(ge=1)] | None = None
    """The number of bins with about equally many rows."""
    edges: (
        Annotated[tuple[Exact, ...], BeforeValidator(as_tuple), AfterValidator(_ascending)] | None
    ) = None
    """The ends of the bins, in ascending order."""


class EvenPlaces(Section):
    """Places of a numeric ordered attribute, of one of two kinds. Neighbouring places are one step
    apart. A place may have no row.
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})
    keys_together = OF_PLACES
    equal_width: Annotated[int, Field(ge=2, le=MOST_PLACES)] | None = None
    """The number of bins of equal width from the smallest to the largest value. Each is a place. A
    value on an edge is in the bin above.
    """
    step: Annotated[Exact, AfterValidator(above_zero)] | None = None
    """Places of this width, from the smallest value on."""


class SensitiveAttribute(Section):
    """A column whose distribution in every class must be close to that of the table."""

    keys_together = OF_SENSITIVE_ATTRIBUTE
    decided_by: ClassVar = {NESTED: "kind.nested", ORDERED: "kind.ordered"}
    distance: Annotated[
        str,
        BeforeValidator(known_distance),
        WithJsonSchema({"type": "string", "enum": list(DISTANCES)}),
    ] = DEFAULT
    """The ground distance of two values. equal: all are equally far apart. ordered: by their places
    in the order.
    hierarchical: by the height of their nearest common group.
    """
    t: Closeness = None
    """The largest earth mover's distance of a class from the table: 0 (the same distribution) to 1,
    exact as written.
    measure: reports the distance and limits nothing.
    """
    order: (
        Literal["value", "frequency"]
        | Annotated[
            tuple[Any, ...],
            BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v),
        ]
    ) = "value"
    """The order of values for an ordered distance: by value, by frequency, or a list of all values,
    lowest first.
    """
    hierarchy: HierarchySource | None = None
    """For a hierarchical distance: a hierarchy file, as for a quasi-identifier."""
    missing: Literal["error", "lowest", "highest", "leaf", "uninformative"] = "error"
    """Missing values: lowest or highest in an order, a leaf in a hierarchy. error rejects them.
    With an equal distance, uninformative counts them for t, not for l and attacks.
    """
    l: Diversity = Diversity()  # noqa: E741 - the field's name for it
    """The l-diversity that every class must also have."""
    beta: (
        Annotated[Exact, AfterValidator(above_zero), WithJsonSchema(POSITIVE, mode="validation")]
        | None
    ) = None
    """beta-likeness: no value is more than 1 + beta times as frequent in a class as in the
    table.
    """
    bins: Bins | None = None
    """For method fragmentation: bins of an ordered attribute."""
    domain: EvenPlaces | None = None
    """The places that an ordered distance of numbers counts. By default, each value that occurs is
    a place. The release has the values unchanged.
    """
    text: Text | None = None
    """Which spellings are one value."""
    missing_values: MissingValues = ()
    """Codes that mean missing, such as `[99, "Unknown"]`."""
    brought: SkipJsonSchema[tuple[Any, ...]] = ()
    """The settings of requirements that other packages bring, whose keys these are in the run
    file.
    """

    @model_validator(mode="before")
    @classmethod
    def _said(cls, value: Any) -> Any:
        """Drops a t of null, so that a t that is set and None means `measure`, and reads
        requirements of others.
        """
        if not isinstance(value, dict):
            return value
        kept = {key: part for key, part in value.items() if key != "t" or part is not None}
        return read_brought(kept, modules(), cls.model_fields, find_requirement)

    @model_serializer(mode="wrap")
    def _written(self, write: Any) -> dict[str, Any]:
        """As in the run file."""
        return write_brought(self, write(self))

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if isinstance(self.order, tuple):
            _require_order(self.order)
        if self.missing not in ("error", *(self.kind.missing or ["uninformative"])):
            raise ValueError(f"missing is {self.missing}; expected {places_of_missing()}")
        return self

    @property
    def kind(self) -> DistanceKind:
        """The properties of its ground distance."""
        return DISTANCES[self.distance]

    @property
    def limited(self) -> bool:
        """Whether it has a requirement that a class can break: a t below 1, an l above 1, a beta,
        or another one.
        """
        close = self.t is not None and self.t < 1
        ls = (self.l.distinct or 1, self.l.entropy or 1, self.l.frequency or 1)
        return (
            close
            or max(ls) > 1
            or self.l.recursive is not None
            or self.beta is not None
            or bool(self.brought)
        )


def _require_order(order: Sequence[Any]) -> None:
    """Raises ValueError for a list that is not an order of values. A surplus value would change
    every distance.
    """
    if not order:
        raise ValueError("order is an empty list; expected all values, lowest first")
    for place, value in enumerate(order, start=1):
        if value is None:
            raise ValueError(
                f"order holds null (place {place}), which is not a value; use missing: lowest or "
                "highest to place missing values",
            )
        if isinstance(value, list | dict):
            raise ValueError(f"order holds {value!r} (place {place}); expected values only")
    text, times = Counter(map(value_text, order)).most_common(1)[0]
    if times > 1:
        raise ValueError(f"order holds {text!r} {times} times; expected every value once")


def _protected(attribute: SensitiveAttribute) -> SensitiveAttribute:
    required = attribute.beta is not None or attribute.l != Diversity() or bool(attribute.brought)
    if "t" not in attribute.model_fields_set and not required:
        raise ValueError(
            "it has no requirement; expected a t (a number from 0 to 1), an l (such as {distinct: "
            "3}), a beta, or t: measure (reported without a limit)",
        )
    return attribute


def _or_nothing(schema: dict[str, Any]) -> None:
    """Allows a list, or the settings of a quasi-identifier, to be empty in the JSON Schema."""
    if schema.get("type") == "array":
        schema["type"] = ["array", "null"]
    else:
        schema["additionalProperties"] = {"anyOf": [schema["additionalProperties"], NOTHING]}


def _some_requirement(schema: dict[str, Any]) -> None:
    """Requires a t, an l or a beta of each sensitive attribute in the JSON Schema."""
    asked = {"anyOf": [{"required": [key]} for key in ("t", "l", "beta")]}
    schema["additionalProperties"] = {"allOf": [schema["additionalProperties"], asked]}


Columns = Annotated[tuple[str, ...], Field(json_schema_extra=_or_nothing)]


class Attributes(Section):
    """The role of each column."""

    keys_together = OF_ATTRIBUTES
    direct_identifiers: Columns = ()
    """Columns that name a person. Only the first stage reads them. They are never published."""
    person: PersonColumn | None = None
    """The column that identifies a person who may have several rows. It is never published. k and l
    count people; each t holds over rows and over people.
    """
    rows_are_persons: bool | None = None
    """Each row is a person of its own. States this of a table with a column that groups rows like
    persons, and silences the note on it. The certificate has the statement.
    """
    household: HouseholdColumn | None = None
    """The column that identifies the household of each row. It is never published. Its `k` can
    require members of several households in every class.
    """
    weight: WeightColumn | None = None
    """The column with the number of people whom each row stands for, if the table is a survey. It
    has no other role.
    """
    quasi_identifiers: dict[str, QuasiIdentifier] = Field(
        min_length=1,
        json_schema_extra=_or_nothing,
    )
    """Columns that an adversary may know of a person, with their settings. The release generalizes
    them.
    """
    sensitive_attributes: dict[str, Annotated[SensitiveAttribute, AfterValidator(_protected)]] = (
        Field(min_length=1, json_schema_extra=_some_requirement)
    )
    """Columns that an adversary must not learn about a person, with their settings. The release has
    their values unchanged.
    """
    insensitive_attributes: Columns = ()
    """Columns that neither identify nor harm a person. The release has them unchanged."""
    missing_values: dict[str, MissingValues] = Field(default_factory=dict)
    """Codes that mean missing in insensitive attributes, such as `{region: [9]}`. Other columns
    have a key of their own.
    """
    pseudonyms: Pseudonyms = Field(default_factory=dict)
    """Direct identifiers to publish as keyed pseudonyms, which link the rows of a person. One of
    them may also be the column of `person`.
    """
    drop_others: bool = False
    """Leave out columns without a role. Without this, such a column is an error."""
    allow_unique: Columns = ()
    """Insensitive attributes to publish although they are nearly unique, and sensitive or
    insensitive ones although they group rows like persons.
    """

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        """YAML lists to tuples; an attribute without settings (`sex:`) has the default ones."""
        if not isinstance(value, dict):
            return value
        value = {
            key: tuple(part) if isinstance(part, list) else part for key, part in value.items()
        }
        for key in ("quasi_identifiers", "sensitive_attributes"):
            if isinstance(value.get(key), dict):
                value[key] = {
                    name: {} if part is None else part for name, part in value[key].items()
                }
        for key in ("direct_identifiers", "insensitive_attributes", "allow_unique"):
            if value.get(key, ()) is None:
                value[key] = ()
        return value

    @model_validator(mode="after")
    def _one_role(self) -> Self:
        roles: dict[str, list[str]] = {}
        for role in ROLES:
            for column in getattr(self, role):
                roles.setdefault(column, []).append(role)
        for role, column in self.beside_rows.items():
            if role != "person" or column not in self.pseudonyms:
                roles.setdefault(column, []).append(role)
        several = [
            f"column {column!r} is in {' and in '.join(of)}"
            for column, of in roles.items()
            if len(of) > 1
        ]
        if several:
            raise ValueError(f"{'; '.join(several)}; expected one role for a column")
        taken = Counter(name.lower() for name in {*roles} - {*self.pseudonyms})
        for column, name in self.pseudonym_names.items():
            taken.update({column.lower(), name.lower()})
        for column, name in self.pseudonym_names.items():
            if taken[name.lower()] > 1:
                raise ValueError(
                    f"the pseudonym of column {column!r} is named {name!r}, as another column is; "
                    "rename it",
                )
        return self

    @property
    def published_weights(self) -> tuple[str, ...]:
        """The column of weights if it is published."""
        return (self.weight.column,) if self.weight is not None and self.weight.publish else ()

    @property
    def beside_rows(self) -> dict[str, str]:
        """The columns of whose a row is, and of its weight, by role: `person`, `household`,
        `weight`.
        """
        one_of = {"person": self.person, "household": self.household, "weight": self.weight}
        return {role: one.column for role, one in one_of.items() if one is not None}

    @property
    def owners(self) -> dict[str, str]:
        """The columns that identify whose a row is, by role: `person`, `household`."""
        return {role: column for role, column in self.beside_rows.items() if role != "weight"}

    @property
    def counted_owners(self) -> tuple[str, ...]:
        """The roles of `owners` of which classes need several."""
        least = {"household": self.least_households}
        return tuple(role for role in self.owners if least.get(role, 2) > 1)

    @property
    def keeps_people_together(self) -> bool:
        """Whether all rows of a person must be in one class."""
        return self.person is not None and self.person.rows == "together"

    @property
    def rounded(self) -> dict[str, Fraction]:
        """The step of each column beside the rows that is published as multiples of one: of
        weights.
        """
        weight = self.weight
        return {} if weight is None or weight.round_to is None else {weight.column: weight.round_to}

    @property
    def least_households(self) -> int:
        """How many households a class needs; 1 if that is not required."""
        return 1 if self.household is None else self.household.k

    @property
    def insensitive(self) -> tuple[str, ...]:
        """The columns that are published without generalization and are not sensitive: the
        insensitive attributes, and last a published weight.
        """
        return (*self.insensitive_attributes, *self.published_weights)

    @property
    def pseudonym_names(self) -> dict[str, str]:
        """The published column of each direct identifier that has a pseudonym."""
        return {column: settings.as_ or column for column, settings in self.pseudonyms.items()}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the input that a release is made of."""
        return (
            *self.quasi_identifiers,
            *self.sensitive_attributes,
            *self.insensitive,
            *self.pseudonyms,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that have a role."""
        return tuple(
            dict.fromkeys([*self.inputs, *self.direct_identifiers, *self.beside_rows.values()]),
        )

    @property
    def beside(self) -> tuple[str, ...]:
        """The released columns that are neither generalized nor sensitive: insensitive ones, then
        pseudonyms.
        """
        return (*self.insensitive, *self.pseudonym_names.values())

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of a release, in order (before `numeric_output: bounds` splits one in
        two).
        """
        return (*self.quasi_identifiers, *self.sensitive_attributes, *self.beside)
