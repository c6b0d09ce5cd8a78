"""One equivalence class explained: its distribution, the table's, and the transport plan between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tclose_spark.auditing.inputs import hierarchies_of, judged_attributes, prepare_inputs
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import ClassExplanation
from tclose_spark.checks.classes.class_table import Classes, JudgedAttribute, JudgedQuasi, class_table
from tclose_spark.checks.classes.tallies import ClassTally, count_values, tally_classes
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.spark.session import kept
from tclose_spark.io.spark.shuffles import sized_shuffles
from tclose_spark.io.tables.columns import quoted
from tclose_spark.measures.distances.transport import transport_plan
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


def explain_class(
    table: DataFrame,
    question: AuditQuestion,
    attribute: str | None = None,
    labels: Mapping[str, str | None] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    reference: DataFrame | None = None,
) -> ClassExplanation:
    """The class with these labels and one sensitive attribute.

    labels: by default of the class that is farthest from the table.
    attribute: by default the one with the largest ratio of distance to t (or to 1, without a t).

    Raises:
        ConfigurationError: if the question has no such attribute or column.
        InputError: if the table has no such class, or several because labels are missing.
    """
    inputs = prepare_inputs(question, table, reference)
    question = inputs.question
    if not question.sensitive_attributes:
        raise ConfigurationError(
            "no sensitive attribute to explain; give --sensitive COLUMN:DISTANCE, such as salary:ordered"
        )
    if attribute is not None and attribute not in question.sensitive_attributes:
        raise ConfigurationError(
            f"--attribute: {attribute!r} is not among the sensitive attributes "
            f"({', '.join(question.sensitive_attributes)})"
        )
    trees = hierarchies_of(question, table.sparkSession, hierarchies)
    tallied = tally_classes(inputs.table, question.labels, list(question.sensitive_attributes))
    with sized_shuffles(table.sparkSession, inputs.rows), kept(tallied) as tallies:
        counts, _ = count_values(tallies, list(question.sensitive_attributes))
        attributes = judged_attributes(inputs.table, counts, question, trees, inputs.reference)
        wanted = [a for a in attributes if attribute in (None, a.name)]
        rows = _class_of(tallies, question, labels if labels else _farthest(tallies, question, attributes, wanted))
    tally = ClassTally.read(rows, len(question.labels))
    classes = Classes.of(tally, attributes)
    class_labels = {name: column[0].as_py() for name, column in zip(question.labels, tally.labels, strict=True)}
    explained = [_explained(class_labels, a, classes) for a in wanted]
    return max(explained, key=lambda e: e.emd / (e.attribute.settings.t or 1))


def _explained(labels: Mapping[str, Any], a: JudgedAttribute, classes: Classes) -> ClassExplanation:
    histogram = classes.marginals[a.name]
    part = np.zeros(len(a.values), dtype=np.int64)
    part[histogram.values] = histogram.counts
    return ClassExplanation(
        labels=labels, attribute=a, part=part, whole=a.distance.table, plan=transport_plan(a.distance, part)
    )


def _farthest(
    tallies: DataFrame,
    question: AuditQuestion,
    attributes: Sequence[JudgedAttribute],
    wanted: Sequence[JudgedAttribute],
) -> Mapping[str, str | None]:
    """The labels of the class with the largest ratio of distance to t, over the wanted attributes."""
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


def _class_of(tallies: DataFrame, question: AuditQuestion, labels: Mapping[str, str | None]) -> pa.Table:
    """The one row of the tallies that has these labels."""
    for name in labels:
        if name not in question.labels:
            raise ConfigurationError(f"--class {name}: expected quasi-identifiers ({', '.join(question.labels)})")
    same = [F.col(f"l{question.labels.index(name)}").eqNullSafe(F.lit(label)) for name, label in labels.items()]
    matching = tallies.where(reduce(and_, same)).limit(2).toArrow()
    given = ", ".join(f"{name}={label!r}" for name, label in labels.items())
    if not matching.num_rows:
        raise InputError(f"--class: the table has no class with {given}; labels are compared as text, including spaces")
    if matching.num_rows > 1:
        raise InputError(f"--class: the table has several classes with {given}; give the other quasi-identifiers too")
    return matching
