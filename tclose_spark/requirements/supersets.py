"""The words of (n, t)-closeness: the distance of a class from a natural superset of n records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tclose_spark.requirements.closeness import CLOSENESS
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.words import GuaranteeRow, distances_text, filled
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.distances import DISTANCES
from tclose_spark.table.writing import number


@dataclass(frozen=True)
class NearFigures:
    """achieved: the largest distance of a class from the superset that proves it. classes: how many
    each kind of superset proves first: `whole_table`, `itself` and `superset`.
    """

    achieved: float
    classes: Mapping[str, int]


def near_entry(settings: SensitiveAttribute, n: int, reached: NearFigures) -> Mapping[str, object]:
    """The entry of the certificate."""
    return {
        "n": n,
        "distance": settings.distance,
        **CLOSENESS.bound(settings.t),
        "achieved": reached.achieved,
        "classes": reached.classes,
    }


def near_row(attribute: str, nt: Mapping[str, Any], whole: str, classes: int) -> GuaranteeRow:
    """The row of the report. The verifier compared each class as exact fractions."""
    by = nt["classes"]
    return GuaranteeRow(
        name="(n, t)-closeness",
        attribute=attribute,
        meaning=f"largest distance of a class from a natural superset of {number(nt['n'])} rows or "
        f"more: {number(by['whole_table'])} classes are near to the {whole}, "
        f"{number(by['itself'])} have as many rows themselves, {number(by['superset'])} are "
        f"near to another; {DISTANCES[nt['distance']].meaning}",
        required=f"at most {number(nt['required'], nt['achieved'])}",
        achieved=number(nt["achieved"], nt["required"]),
        met=sum(by.values()) == classes and nt["achieved"] <= nt["required"],
        bar=filled(nt["required"], nt["achieved"]),
        exact_required=nt["required_exact"],
    )


def near_lines(attribute: str, nt: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, figures) for the console."""
    by = nt["classes"]
    yield (
        f"(n, t) of {attribute}",
        f"n {nt['n']:,}, {distances_text(nt['required'], nt['achieved'])}",
    )
    classes = f"table {by['whole_table']:,}, itself {by['itself']:,}, another {by['superset']:,}"
    yield "  classes near to", classes


def unproven(broken: Guarantee) -> str:
    """A line on the classes of an attribute without a superset that proves them."""
    return (
        f"{broken.attribute}: {broken.classes} classes ({broken.rows} rows) are not near any "
        f"natural superset that was tried ((n, t)-closeness, {broken.required}); the worst class "
        f"is {broken.achieved:.6f} away from its nearest"
    )
