"""The ground distances, a line each. `measures/distances/ground_distances.py` has their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticKnownError

from tclose_spark.runfile.text import one_of


@dataclass(frozen=True, kw_only=True)
class DistanceKind:
    """The properties of a ground distance.

    meaning: in words, for the report.
    ordered: whether its values are ordered, so that `order` and `bins` apply.
    nested: whether it needs a hierarchy.
    missing: the possible places of missing values; empty if they are values like others.
    """

    meaning: str
    ordered: bool = False
    nested: bool = False
    missing: tuple[str, ...] = ()


DISTANCES = {
    "equal": DistanceKind(meaning="any two values are equally far apart"),
    "ordered": DistanceKind(
        meaning="values are as far apart as their places in the order",
        ordered=True,
        missing=("lowest", "highest"),
    ),
    "hierarchical": DistanceKind(
        meaning="values are as far apart as their nearest common group in the hierarchy is high",
        nested=True,
        missing=("leaf",),
    ),
}
DEFAULT = next(iter(DISTANCES))


def known_distance(name: Any) -> Any:
    """The name, if there is such a distance.

    Raises:
        PydanticKnownError: the error of a literal, naming the distances.
    """
    if not isinstance(name, str) or name not in DISTANCES:
        raise PydanticKnownError(
            "literal_error",
            {"expected": one_of([repr(known) for known in DISTANCES])},
        )
    return name


def places_of_missing() -> str:
    """The choices for `missing` by distance, in words.

    >>> places_of_missing()
    'error or uninformative for distance: equal, error, lowest or highest for ordered, error or leaf for hierarchical'
    """
    places = [
        f"{one_of(['error', *(kind.missing or ['uninformative'])])} for {name}"
        for name, kind in DISTANCES.items()
    ]
    return ", ".join(places).replace(" for ", " for distance: ", 1)
