"""What a verdict reports of requirements that do not hold: a line each, with how many classes and
rows.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.wording import violation as words_of_violation
from tclose_spark.runfile.spec import ReleaseSpec

AS_A_CLASS = (
    "the suppressed rows, a class whose distribution follows from the certificate unless "
    "privacy.of is released,"
)


def violation(broken: Guarantee, suppressed: bool = False) -> str:
    """A line on a requirement that the classes, or the suppressed rows, break."""
    return words_of_violation(
        broken,
        AS_A_CLASS if suppressed else f"{broken.classes} classes ({broken.rows} rows)",
    )


def too_coarse(
    spec: ReleaseSpec,
    name: str,
    classes: int,
    rows: int,
    reached: Fraction | float,
) -> str:
    """A line on the labels of a quasi-identifier that are coarser than allowed, and the least limit
    that they keep.
    reached: infinity if there is none.
    """
    limit = spec.attributes.quasi_identifiers[name].coarsest
    within = (
        f"within coarsest: {reached}"
        if reached < math.inf
        else "within no coarsest, since some are *"
    )
    return (
        f"{name}: {classes} classes ({rows} rows) have labels that are coarser than coarsest: "
        f"{limit}. All labels of method {spec.method.name} are {within}; raise coarsest, raise "
        "privacy.suppression_limit to leave classes out, raise the column's weight or t, or use "
        "method: {name: closeness_tree}"
    )
