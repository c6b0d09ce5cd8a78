"""What a verdict reports of requirements that do not hold: a line each, with how many classes and rows."""

from __future__ import annotations

import math
from fractions import Fraction

from tclose_spark.checks.classes.figures import Guarantee
from tclose_spark.checks.classes.people import OVER_PEOPLE
from tclose_spark.runfile.spec import ReleaseSpec

AS_A_CLASS = (
    "the suppressed rows, a class whose distribution follows from the certificate unless privacy.of is released,"
)


def violation(broken: Guarantee, suppressed: bool = False) -> str:
    """A line on a requirement that the classes, or the suppressed rows, break."""
    classes = AS_A_CLASS if suppressed else f"{broken.classes} classes ({broken.rows} rows)"
    over = OVER_PEOPLE if broken.measure.endswith(OVER_PEOPLE) else ""
    if broken.measure.startswith("k-anonymity"):
        who = " people" if over else ""
        return f"{classes} are smaller than k = {broken.required}{who}; the smallest has {broken.achieved}{who}"
    if broken.measure.startswith("t-closeness"):
        return (
            f"{broken.attribute}: {classes} are farther than t = {broken.required}{over}; the worst is "
            f"{float(broken.achieved):.6f}"
        )
    if broken.measure.startswith("recursive"):
        return (
            f"{broken.attribute}: {classes} are not recursive ({broken.required.c}, {broken.required.l})-diverse{over}"
        )
    if broken.measure.startswith("beta-likeness"):
        return (
            f"{broken.attribute}: {classes} have a value that is more than 1 + beta = {1 + broken.required} times as "
            f"frequent as in the table{over}; the worst has beta = {float(broken.achieved):.6g}"
        )
    return (
        f"{broken.attribute}: {classes} have less {broken.measure} than {broken.required}; the worst has "
        f"{broken.achieved:.6g}"
    )


def unproven(broken: Guarantee) -> str:
    """A line on the classes of an attribute without a superset that proves them."""
    return (
        f"{broken.attribute}: {broken.classes} classes ({broken.rows} rows) are not near any natural superset that was "
        f"tried ((n, t)-closeness, {broken.required}); the worst class is {broken.achieved:.6f} away from its nearest"
    )


def too_coarse(spec: ReleaseSpec, name: str, classes: int, rows: int, reached: Fraction | float) -> str:
    """A line on the labels of a quasi-identifier that are coarser than allowed, and the least limit that they keep.
    reached: infinity if there is none.
    """
    limit = spec.attributes.quasi_identifiers[name].coarsest
    within = f"within coarsest: {reached}" if reached < math.inf else "within no coarsest, since some are *"
    return (
        f"{name}: {classes} classes ({rows} rows) have labels that are coarser than coarsest: {limit}. All labels of "
        f"method {spec.method.name} are {within}; raise coarsest, raise privacy.suppression_limit to leave classes "
        "out, raise the column's weight or t, or use method: {name: closeness_tree}"
    )
