"""What the figures of a comparison say, in words."""

from __future__ import annotations

from tclose_spark.comparing.result import Comparison
from tclose_spark.usefulness.classifier import MOST_VALUES, is_installed
from tclose_spark.usefulness.queries import QUERIES

NCP = (
    "NCP: how much of the width of the quasi-identifiers the labels cover, on average over rows and quasi-identifiers, "
    "as a release's certificate has it; 0 loses nothing, 1 everything."
)
QUERY_ERROR = (
    f"Query error: {QUERIES:,} random counts over 1 to 3 quasi-identifiers (one value, a node of the hierarchy, or the "
    "values between those of two rows) and a sensitive value, each of which some row meets. From a release a count is "
    "estimated by taking the rows of a class to be spread evenly within their labels. The figure is the median of "
    "|estimate - count| / count."
)
ACCURACY = (
    "Accuracy: a logistic regression that learns a sensitive attribute from the released quasi-identifiers of two "
    "thirds of the rows, tested on the raw rows of the last third. t-closeness hides how this attribute follows from "
    "the others, so accuracy falls with t."
)
DISCERNIBILITY = "Discernibility: the sum of the squared sizes of the classes; a suppressed row counts as all rows."
SECONDS = "CPU s: to plan and to carry out, in one process. A release on a cluster does the same work and Spark's own."


def remarks(comparison: Comparison) -> list[str]:
    """A paragraph for each figure that is shown."""
    if all(one.state != "released" for one in comparison.outcomes):
        return [SECONDS]
    return [NCP, QUERY_ERROR, ACCURACY, *of_accuracy(comparison), DISCERNIBILITY, SECONDS]


def of_accuracy(comparison: Comparison) -> list[str]:
    """What accuracies compare with; or why there are none."""
    released = [one.figures for one in comparison.outcomes if one.state == "released"]
    if not released:
        return []
    figures = next((figures for figures in released if "accuracy" in figures), None)
    if figures is not None:
        raw, most = figures["accuracy_raw"], figures["accuracy_majority"]
        return [
            f"Accuracy of what is trained on raw rows: {raw:.3f}; of always saying the most frequent value: {most:.3f}."
        ]
    if not is_installed():
        return ["Accuracy is not measured: it needs the extra `analysis` (pip install 'tclose-spark[analysis]')."]
    return [
        f"Accuracy is not measured: no sensitive attribute has 2 to {MOST_VALUES} values, or there is nothing to learn "
        "it from or to test it on."
    ]
