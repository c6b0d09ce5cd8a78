"""t-closeness: the earth mover's distance of each class from the table (Li et al. 2007), also of
tuples; and (n, t)-closeness, of each class from a natural superset (Li et al. 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.criterion import ExactCriterion, Guarantee
from tclose_spark.requirements.expectation import expect_at_least, expect_at_most, expect_present
from tclose_spark.requirements.judge import EXACT, Judge, JudgedAttribute, clipped
from tclose_spark.requirements.words import Entry, GuaranteeRow, Words, distances_text, filled
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.distances import DISTANCES
from tclose_spark.table.writing import number


def judge_closeness(a: JudgedAttribute) -> Judge:
    """`emd_`: as a double. `numerator_`: see `measures.distances.ground_distances`. `margin_`: with
    t = p/q, p * denominator - q * numerator; t holds if it is >= 0. 0 if no t is required.
    """
    t = a.settings.t
    unit = a.distance.scale * int(a.distance.table.sum())
    emd = a.column("emd")
    margin = a.column("margin")

    def measured(classes: Histograms) -> list[Any]:
        numerators = a.distance.numerators(classes).astype(object)
        denominators = classes.sizes.astype(object) * unit
        margins = (
            0 * denominators
            if t is None
            else t.numerator * denominators - t.denominator * numerators
        )
        return [
            (numerators / denominators).astype(np.float64),
            numerators.tolist(),
            clipped(margins),
        ]

    expectations = [expect_present(emd)]
    meaning = f"t-closeness of {a.name}: EMD <= {t} in every class"
    if t is not None:  # both sides are correctly rounded, so EMD <= t stays true of the doubles
        exactly = expect_at_least(margin, 0, f"{meaning}, in exact integers")
        expectations += [expect_at_most(emd, float(t), meaning), expect_present(margin), exactly]
    return Judge(
        a=a,
        key="t",
        measure="t-closeness",
        columns={"emd": pa.float64(), "numerator": EXACT, "margin": EXACT},
        measured=measured,
        criterion=ExactCriterion(
            measure="t-closeness",
            attribute=a.name,
            required=t,
            figure=emd,
            broken=None if t is None else (margin, 0),
            numerator=a.column("numerator"),
            unit=unit,
        ),
        expectations=expectations,
        people="weights",
        rounded=lambda rounding: {} if t is None else {"t": t - rounding},
    )


@dataclass(frozen=True, kw_only=True)
class ClosenessWords(Words):
    """The words of a distance, in which its kind is."""

    of_distance: bool = True

    def row(self, attribute: str, entry: Entry, whole: str) -> GuaranteeRow:
        """See Words."""
        of = DISTANCES[entry["distance"]].meaning
        of = of.replace("two values", "two tuples") if self.section == "joint" else of
        meaning = f"largest distance of a class from the {whole}; {of}"
        return replace(super().row(attribute, entry, whole), meaning=meaning)

    def line(self, attribute: str, entry: Entry) -> tuple[str, str]:
        """See Words."""
        joint = "joint " if self.section == "joint" else ""
        return f"{joint}t of {attribute} ({entry['distance']})", distances_text(entry)


CLOSENESS = ClosenessWords(
    key="t",
    measure="t-closeness",
    required=lambda settings: settings.t,
    name="t-closeness",
    over_people=", over people: each person weighs 1, spread evenly over the person's rows",
    exact=True,
    section="t",
    always=True,
    recorded="required_exact",
    violated=lambda g, over: (
        f"are farther than t = {g.required}{over}; the worst is {float(g.achieved):.6f}"
    ),
)
JOINT = replace(CLOSENESS, section="joint", name="Joint t-closeness")
"""Of the tuples of some attributes."""


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
    yield f"(n, t) of {attribute}", f"n {nt['n']:,}, {distances_text(nt)}"
    classes = f"table {by['whole_table']:,}, itself {by['itself']:,}, another {by['superset']:,}"
    yield "  classes near to", classes


def near_violation(broken: Guarantee) -> str:
    """A line on the classes of an attribute without a superset that proves them."""
    return (
        f"{broken.attribute}: {broken.classes} classes ({broken.rows} rows) are not near any "
        f"natural superset that was tried ((n, t)-closeness, {broken.required}); the worst class "
        f"is {broken.achieved:.6f} away from its nearest"
    )
