"""The base of all sections of the run file: frozen models, and exact numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.combinations import Rule, require_fitting
from tclose_spark.runfile.problems import explain_problems
from tclose_spark.runfile.quantities import parse_number, within_floats


def exact_number(value: Any) -> Fraction:
    """A number exactly as written: 0.1 is one tenth. A float must be able to hold it."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str | Fraction):
        raise ValueError("expected a number")
    try:
        return within_floats(parse_number(str(value)))
    except ValueError:
        with_point = (
            ", with a point in place of the comma"
            if re.fullmatch(r"[+-]?\d*,\d+", str(value).strip())
            else ""
        )
        raise ValueError(f"expected a number such as 0.2{with_point}") from None


def also(key: str, *common: str) -> Any:
    """What a field is called in a run file: its key, and the common words that are read as the same
    key.
    """
    return AliasChoices(key, *common)


def as_tuple(value: Any) -> Any:
    """A list of the run file as a tuple."""
    return tuple(value) if isinstance(value, list) else value


def above_zero(number: Fraction) -> Fraction:
    """The number, if it is above 0."""
    if number <= 0:
        raise ValueError("expected a number above 0")
    return number


def each_once(values: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """The values, if they differ."""
    if len({*values}) < len(values):
        raise ValueError("expected each once")
    return values


NUMBER_TEXT = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$|^[+-]?\d+/\d+$"


def number_schema(**limits: int | bool) -> dict[str, list[dict[str, object]]]:
    """The JSON Schema of an exact number: a number within these limits, or a text that
    denotes one.
    """
    return {"anyOf": [{"type": "number", **limits}, {"type": "string", "pattern": NUMBER_TEXT}]}


Exact = Annotated[
    Fraction,
    BeforeValidator(exact_number),
    PlainSerializer(str),
    WithJsonSchema(number_schema(), mode="validation"),
]
"""A rational number, exactly as the run file writes it."""


class Section(BaseModel):
    """A section of the run file: frozen, strictly typed, without unknown keys.

    Raises:
        ConfigurationError: if Python makes it, naming each setting, what was found, and what was
            expected.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
    keys_together: ClassVar[tuple[Rule, ...]] = ()
    """Which of its keys do not go together, or need another."""
    decided_by: ClassVar[Mapping[str, str]] = {}
    """What the rules call by another name: the path of the property that decides it."""
    in_words: ClassVar[Mapping[str, Callable[[Any], str]]] = {}
    """By words of the rules: a function of the section. It returns what messages have instead."""

    def __init__(self, /, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise ConfigurationError(
                explain_problems(error, known_keys(), section=type(self).__name__),
            ) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]
    """So that `model_validate` makes nested sections without it, as pydantic's own, and collects
    all problems.
    """

    @property
    def own_settings(self) -> dict[str, object]:
        """The keys that were given a value, with it."""
        given = {key: getattr(self, key) for key in self.model_fields_set}
        return {key: value for key, value in given.items() if value is not None}

    @model_validator(mode="after")
    def _keeping_the_rules(self) -> Self:
        require_fitting(self, self.keys_together)
        return self


def known_keys() -> set[str]:
    """The keys of all sections that were imported."""
    return {key for section in _with_those_below(Section) for key in section.model_fields}


def _with_those_below(section: type[Section]) -> set[type[Section]]:
    return {section}.union(*(_with_those_below(below) for below in section.__subclasses__()))
