"""t-closeness: the earth mover's distance of each class from the table (Li et al. 2007), also of
tuples.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.criterion import ExactCriterion, Reached
from tclose_spark.requirements.expectation import expect_at_least, expect_at_most, expect_present
from tclose_spark.requirements.judge import EXACT, Judge, JudgedAttribute, clipped
from tclose_spark.requirements.words import Entry, GuaranteeRow, Words, entry_distances
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.distances import DISTANCES


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


class ClosenessWords(Words):
    """The words of a distance, in which its kind is."""

    def entry(self, settings: SensitiveAttribute, reached: Reached) -> Entry:
        """See Words."""
        return {"distance": settings.distance, **super().entry(settings, reached)}

    def row(self, attribute: str, entry: Entry, whole: str) -> GuaranteeRow:
        """See Words."""
        of = DISTANCES[entry["distance"]].meaning
        of = of.replace("two values", "two tuples") if self.section == "joint" else of
        meaning = f"largest distance of a class from the {whole}; {of}"
        return replace(super().row(attribute, entry, whole), meaning=meaning)

    def line(self, attribute: str, entry: Entry) -> tuple[str, str]:
        """See Words."""
        joint = "joint " if self.section == "joint" else ""
        return f"{joint}t of {attribute} ({entry['distance']})", entry_distances(entry)


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
