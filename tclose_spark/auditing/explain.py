"""One class explained: both distributions side by side, the distance, and which mass moves where at what cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tclose_spark.auditing.inputs import check_table, judged_attributes, normal, trees_of
from tclose_spark.auditing.published_bounds import with_bounds
from tclose_spark.auditing.question import Question
from tclose_spark.checks.classes.class_table import Classes, JudgedAttribute, JudgedQuasi, class_table
from tclose_spark.checks.classes.tallies import ClassTally, count_values, tally_classes
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.spark.session import kept
from tclose_spark.io.spark.shuffles import sized_shuffles
from tclose_spark.io.tables.columns import quoted
from tclose_spark.measures.distances.transport import TransportPlan, transport_plan
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.report.notebook import in_frame, printed
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation:
    """A class and one sensitive attribute. Jupyter shows it as a page.

    labels: of the class, by column.
    attribute: its values in order, and its distance.
    part, whole: records of the class and of the table with each value, shape (m,).
    plan: the cheapest way to turn the class's distribution into the table's.
    """

    labels: Mapping[str, Any]
    attribute: JudgedAttribute
    part: IntArray
    whole: IntArray
    plan: TransportPlan

    @property
    def emd(self) -> Fraction:
        """The distance between the two."""
        return self.plan.cost

    def __repr__(self) -> str:
        from tclose_spark.auditing.views import explanation_lines

        return printed(explanation_lines(self))

    def _repr_html_(self) -> str:
        from tclose_spark.auditing.page import explanation_page

        return in_frame(explanation_page(self, "a table"), "Explanation")

    def to_json(self) -> dict[str, Any]:
        """As plain values; fractions as text p/q beside decimals."""
        values, settings = self.attribute.values, self.attribute.settings
        return {
            "class": dict(self.labels),
            "attribute": self.attribute.name,
            "distance": settings.distance,
            "emd": float(self.emd),
            "emd_exact": str(self.emd),
            "asked": None if settings.t is None else float(settings.t),
            "records": int(self.part.sum()),
            "values": [
                {"value": value, "class": int(p), "table": int(q)}
                for value, p, q in zip(values, self.part, self.whole, strict=True)
            ],
            "moves": [
                {
                    "from": values[move.source],
                    "to": values[move.target],
                    "mass": str(move.mass),
                    "distance": str(move.distance),
                    "cost": str(move.cost),
                }
                for move in self.plan.moves
            ],
        }


def explain_class(
    table: DataFrame,
    question: Question,
    attribute: str | None = None,
    labels: Mapping[str, str | None] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    reference: DataFrame | None = None,
) -> Explanation:
    """Explains the class with these labels (by default the one that is farthest from the table) for a sensitive
    attribute (by default the one whose distance is the largest part of its t, or of 1).

    Raises:
        ConfigurationError: if the question has no such attribute or column.
        InputError: if the table has no such class, or several because not all its columns were given.
    """
    table, reference, _ = normal(question, table, reference)
    question, _ = with_bounds(table, question)
    records = check_table(table, question)
    if not question.sensitive_attributes:
        raise ConfigurationError(
            "which attribute is to be explained? Give --sensitive COLUMN:DISTANCE, such as salary:ordered"
        )
    if attribute is not None and attribute not in question.sensitive_attributes:
        raise ConfigurationError(
            f"--attribute: {attribute!r} is none of the sensitive attributes "
            f"({', '.join(question.sensitive_attributes)})"
        )
    trees = trees_of(question, table.sparkSession, hierarchies)
    tallied = tally_classes(table, question.labels, list(question.sensitive_attributes))
    with sized_shuffles(table.sparkSession, records), kept(tallied) as tallies:
        counts, _ = count_values(tallies, list(question.sensitive_attributes))
        attributes = judged_attributes(table, counts, question, trees, reference)
        wanted = [a for a in attributes if attribute in (None, a.name)]
        rows = _class_of(tallies, question, labels if labels else _farthest(tallies, question, attributes, wanted))
    tally = ClassTally.read(rows, len(question.labels))
    classes = Classes.of(tally, attributes)
    class_labels = {name: column[0].as_py() for name, column in zip(question.labels, tally.labels, strict=True)}
    explained = [_explained(class_labels, a, classes) for a in wanted]
    return max(explained, key=lambda e: e.emd / (e.attribute.settings.t or 1))


def _explained(labels: Mapping[str, Any], a: JudgedAttribute, classes: Classes) -> Explanation:
    histogram = classes.marginals[a.name]
    part = np.zeros(len(a.values), dtype=np.int64)
    part[histogram.values] = histogram.counts
    return Explanation(
        labels=labels, attribute=a, part=part, whole=a.distance.table, plan=transport_plan(a.distance, part)
    )


def _farthest(
    tallies: DataFrame, question: Question, attributes: Sequence[JudgedAttribute], wanted: Sequence[JudgedAttribute]
) -> Mapping[str, str | None]:
    """The labels of the class whose distance is the largest part of its t, over the wanted attributes."""
    plain_labels = [JudgedQuasi(name, (name,), LabelLoss(numeric=False)) for name in question.labels]
    classes = class_table(tallies, plain_labels, attributes)
    closeness_ratios = [quoted(a.column("emd")) / float(a.settings.t or 1) for a in wanted]
    farthest = classes.agg(
        F.max(
            F.struct(
                F.greatest(*closeness_ratios, F.lit(-1.0)).alias("load"), F.col("quasi_identifiers").alias("labels")
            )
        ).alias("worst")
    ).head()
    if farthest is None or farthest["worst"] is None:
        raise InputError("the table has no rows")
    worst: dict[str, str | None] = farthest["worst"]["labels"].asDict()
    return worst


def _class_of(tallies: DataFrame, question: Question, labels: Mapping[str, str | None]) -> pa.Table:
    """The one row of the tallies with these labels."""
    for name in labels:
        if name not in question.labels:
            raise ConfigurationError(f"--class {name}: expected quasi-identifiers ({', '.join(question.labels)})")
    same = [F.col(f"l{question.labels.index(name)}").eqNullSafe(F.lit(label)) for name, label in labels.items()]
    matching = tallies.where(reduce(and_, same)).limit(2).toArrow()
    given = ", ".join(f"{name}={label!r}" for name, label in labels.items())
    if not matching.num_rows:
        raise InputError(f"--class: the table has no class with {given}; labels are compared as text, blanks included")
    if matching.num_rows > 1:
        raise InputError(f"--class: the table has several classes with {given}; give the other quasi-identifiers too")
    return matching
