"""Closeness of several sensitive attributes together: `privacy.joint`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from tclose_spark.runfile.attributes import MEASURE, Closeness, SensitiveAttribute
from tclose_spark.runfile.section import Section, as_tuple, each_once, number_schema

SHARE = number_schema(exclusiveMinimum=0, maximum=1)["anyOf"]


def _some_distance(t: Fraction | None) -> Fraction | None:
    if t == 0:
        raise ValueError("expected a number above 0 and at most 1, or measure")
    return t


class JointCloseness(Section):
    """A t of several sensitive attributes as one (Li et al. 2007, section 8). Any two different
    tuples of their values are equally far apart.
    """

    attributes: Annotated[
        tuple[str, ...], BeforeValidator(as_tuple), Field(min_length=2), AfterValidator(each_once)
    ]
    """The sensitive attributes whose values form the tuple."""
    t: Annotated[
        Closeness,
        AfterValidator(_some_distance),
        WithJsonSchema({"anyOf": [*SHARE, {"const": MEASURE}]}, mode="validation"),
    ]
    """The largest earth mover's distance of a class's tuples from the table's, above 0 and at most
    1, exact as written.
    measure: reports the distance and limits nothing.
    """

    @property
    def name(self) -> str:
        """The name of the tuple in figures: the attributes with + between them."""
        return "+".join(self.attributes)

    @property
    def as_attribute(self) -> SensitiveAttribute:
        """The settings of the tuple as one sensitive attribute."""
        return SensitiveAttribute(t=self.t) if self.t is not None else SensitiveAttribute()


def as_sections(value: Any) -> Any:
    """A list of sections as a tuple.

    Raises:
        ValueError: if it is anything else, such as the list of one requirement's attributes.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError(
            "expected a list of sections, such as [{attributes: [disease, income], t: 0.3}]"
        )
    return tuple(value)


def require_attributes(
    joint: Sequence[JointCloseness], sensitive: Collection[str], key: str
) -> None:
    """Raises ValueError unless each requirement is of sensitive attributes, and is the only one of
    these. key: names the requirements in the message.
    """
    for i, one in enumerate(joint):
        if unknown := [name for name in one.attributes if name not in sensitive]:
            raise ValueError(
                f"{key} names {unknown[0]!r}; expected a sensitive attribute "
                f"({', '.join(sensitive)})"
            )
        if one.name in sensitive:
            raise ValueError(
                f"{key}: a sensitive attribute is named {one.name!r}, like the tuple; rename it"
            )
        if any(
            one.name == other.name and one.attributes != other.attributes for other in joint[:i]
        ):
            raise ValueError(
                f"{key} names two tuples {one.name!r}; rename an attribute whose name has a +"
            )
        if any({*one.attributes} == {*other.attributes} for other in joint[:i]):
            raise ValueError(
                f"{key} names {' and '.join(one.attributes)} twice; expected one t for them"
            )


def covered(joint: Sequence[JointCloseness]) -> set[str]:
    """The attributes of which a joint t limits what a class reveals. No distance of one attribute
    is larger than that of a tuple with it.
    """
    return {name for one in joint if one.as_attribute.limited for name in one.attributes}
