"""beta-likeness, and the measures without a requirement: delta-disclosure and the KL divergence.
See `measures.likeness`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from tclose_spark.measures import likeness
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.criterion import ExactCriterion
from tclose_spark.requirements.judge import EXACT, Bound, Judge, JudgedAttribute, bounded
from tclose_spark.requirements.words import Words

DIGITS = 9
"""Of measures that no run file requires: processors compute logarithms with different last
digits.
"""


def judge_likeness(a: JudgedAttribute) -> Judge:
    """`beta_`: the least beta of each class, as a double. `likeness_numerator_`,
    `likeness_denominator_`: of the exact one, if one is required.
    """
    beta = a.settings.beta
    table = a.distance.table

    def figures(classes: Histograms) -> Any:
        rises, units = likeness.largest_rises(table, classes)
        known = (units != 0).astype(bool)
        return np.where(known, rises / np.where(known, units, 1), np.inf).astype(np.float64)

    judge = partial(bounded, a, "beta", "beta-likeness", figures, largest=True)
    if beta is None:
        return replace(judge(), people="weights")
    bound = Bound(
        required=beta,
        margins=partial(likeness.likeness_margins, table, beta=beta),
        meaning=f"beta-likeness of {a.name}: no value is more than 1 + {beta} times as frequent as "
        "in the table",
    )
    made = judge(bound)
    numerator = "likeness_numerator"
    denominator = "likeness_denominator"
    return replace(
        made,
        columns={**made.columns, numerator: EXACT, denominator: EXACT},
        measured=lambda classes: [
            *made.measured(classes),
            *(part.tolist() for part in likeness.largest_rises(table, classes)),
        ],
        criterion=ExactCriterion(
            **vars(made.criterion),
            numerator=a.column(numerator),
            unit=1,
            size=a.column(denominator),
        ),
        people="weights",
        rounded=lambda rounding: {"beta": (1 + beta) * (1 - 2 * rounding) - 1},
    )


def measure_delta(a: JudgedAttribute) -> Judge:
    """`delta_`: delta-disclosure, which nothing requires."""
    figures = partial(likeness.disclosure, a.distance.table)
    judge = bounded(a, "delta", "delta-disclosure", figures, largest=True)
    return replace(judge, digits=DIGITS)


def measure_divergence(a: JudgedAttribute) -> Judge:
    """`divergence_`: the KL divergence, which nothing requires."""
    figures = partial(likeness.divergence, a.distance.table)
    judge = bounded(a, "divergence", "KL divergence", figures, largest=True)
    return replace(judge, digits=DIGITS)


LIKENESS = Words(
    key="beta",
    measure="beta-likeness",
    required=attrgetter("beta"),
    name="beta-likeness",
    meaning="by how much a value is more frequent in a class than in the table, at most, as a "
    "multiple of its share of the table",
    exact=True,
    section="beta",
    recorded="required_exact",
    violated=lambda g, over: (
        f"have a value that is more than 1 + beta = {1 + g.required} times as frequent as in the "
        f"table{over}; the worst has beta = {float(g.achieved):.6g}"
    ),
)
