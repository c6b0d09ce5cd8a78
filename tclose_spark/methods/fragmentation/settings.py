"""Fragmentation's section of the run file, and its requirements."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings
from tclose_spark.runfile.section import exact_number, number_schema


def _seconds(value: Any) -> Fraction:
    number = exact_number(value)
    if number <= 0:
        raise ValueError("expected a number of seconds above 0")
    return number


class Fragmentation(MethodSettings):
    """Fragmentation of the multiplicity matrix (Gowda 2023, ch. 4; Weber, ch. 3)."""

    takes_bins: ClassVar[bool] = True
    name: Literal["fragmentation"] = "fragmentation"
    """The method."""
    sizing: Literal["proportional", "measured", "gcd"] = "proportional"
    """proportional: class sizes that a proof gives beforehand. measured: less loss; the method
    judges classes when it makes them. gcd, as in the papers: exactly the table's shares.
    """
    bounds: Literal["domain", "paper"] = "domain"
    """How the method bounds distances. domain: over the whole domain, which is tighter. paper: as
    in the papers, for ordered attributes only.
    """
    most_fragments: Annotated[int, Field(ge=1, le=10_000)] = 500
    """The number of fragments at which the search ends."""
    search_seconds: Annotated[
        Fraction,
        BeforeValidator(_seconds),
        PlainSerializer(str),
        WithJsonSchema(number_schema(exclusiveMinimum=0), mode="validation"),
    ] = Fraction(300)
    """The time limit of the search. Without a fragmentation that meets every t by then, the run
    releases nothing.
    """


def require_bounds(settings: Fragmentation, sensitive: Mapping[str, SensitiveAttribute]) -> None:
    """Raises ValueError unless some attribute has a t, and all attributes are ordered if the
    papers' bounds are requested.
    """
    if all(attribute.t is None for attribute in sensitive.values()):
        raise ValueError("method: fragmentation needs a t of at least one sensitive attribute")
    for name, attribute in sensitive.items():
        if settings.bounds == "paper" and not attribute.kind.ordered:
            raise ValueError(
                f"method.bounds: paper is for ordered distances only, and that of {name} is "
                f"{attribute.distance}; use domain",
            )
