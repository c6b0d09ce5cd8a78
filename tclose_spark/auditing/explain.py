"""One equivalence class explained: its distribution, the table's, and the transport plan between
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.auditing.inputs import hierarchies_of, judged_attributes, prepare_inputs
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import ClassExplanation
from tclose_spark.auditing.tables import AuditTables, SortKey, greatest, values_of
from tclose_spark.checks.classes.class_table import Classes, JudgedQuasi, class_table
from tclose_spark.checks.classes.tallies import (
    ClassTally,
    count_values,
    tally_classes,
    tally_schema,
)
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import (
    collect,
    keep,
    map_batches,
    merged,
    select,
    session_of,
    sized_shuffles,
)
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.measures.distances.transport import transport_plan
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.requirements.criterion import Labels
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


def explain_class(
    table: Table,
    question: AuditQuestion,
    attribute: str | None = None,
    labels: Mapping[str, str | None] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    reference: Table | None = None,
) -> ClassExplanation:
    """The class with these labels and one sensitive attribute.

    labels: by default of the class that is farthest from the table.
    attribute: by default the one with the largest ratio of distance to t (or to 1, without a t).

    Raises:
        ConfigurationError: if the question has no such attribute or column.
        InputError: if the table has no such class, or several because labels are missing.
    """
    inputs = prepare_inputs(question, AuditTables(table=table, reference=reference))
    question = inputs.question
    if not question.sensitive_attributes:
        raise ConfigurationError(
            "no sensitive attribute to explain; give --sensitive COLUMN:DISTANCE, such as "
            "salary:ordered",
        )
    if attribute is not None and attribute not in question.sensitive_attributes:
        raise ConfigurationError(
            f"--attribute: {attribute!r} is not among the sensitive attributes "
            f"({', '.join(question.sensitive_attributes)})",
        )
    trees = hierarchies_of(question, session_of(table), hierarchies)
    tallied = tally_classes(inputs.table, question.labels, list(question.sensitive_attributes))
    with sized_shuffles(session_of(table), inputs.rows), keep(tallied) as tallies:
        counts, _ = count_values(tallies, list(question.sensitive_attributes))
        attributes = judged_attributes(inputs.table, counts, question, trees, inputs.reference)
        wanted = [a for a in attributes if attribute in (None, a.name)]
        rows = _class_of(
            tallies,
            question,
            labels if labels else _farthest(tallies, question, attributes, wanted),
        )
    tally = ClassTally.read(rows, len(question.labels))
    classes = Classes.of(tally, attributes)
    class_labels = {
        name: column[0].as_py() for name, column in zip(question.labels, tally.labels, strict=True)
    }
    explained = [_explained(class_labels, a, classes) for a in wanted]
    return max(explained, key=lambda e: e.emd / (e.attribute.settings.t or 1))


def _explained(labels: Labels, a: JudgedAttribute, classes: Classes) -> ClassExplanation:
    histogram = classes.marginals[a.name]
    part = np.zeros(len(a.values), dtype=np.int64)
    part[histogram.values] = histogram.counts
    return ClassExplanation(
        labels=labels,
        attribute=a,
        part=part,
        whole=a.distance.table,
        plan=transport_plan(a.distance, part),
    )


def _farthest(
    tallies: Table,
    question: AuditQuestion,
    attributes: Sequence[JudgedAttribute],
    wanted: Sequence[JudgedAttribute],
) -> Mapping[str, str | None]:
    """The labels of the class with the largest ratio of distance to t, over the wanted
    attributes.
    """
    plain_labels = [
        JudgedQuasi(name, (name,), LabelLoss(numeric=False)) for name in question.labels
    ]
    classes = class_table(tallies, plain_labels, attributes)
    columns = [a.column("emd") for a in wanted]

    def farthest(batch: pa.RecordBatch) -> SortKey:
        emds = zip(columns, wanted, strict=True)
        ratios = [pc.divide(batch[column], float(a.settings.t or 1)) for column, a in emds]
        return greatest([pc.max_element_wise(*ratios), *batch["quasi_identifiers"].flatten()])

    _, *labels = values_of(merged(select(classes, ["quasi_identifiers", *columns]), farthest, max))
    return dict(zip(question.labels, labels, strict=True))


def _class_of(
    tallies: Table,
    question: AuditQuestion,
    labels: Mapping[str, str | None],
) -> pa.Table:
    """The one row of the tallies that has these labels."""
    for name in labels:
        if name not in question.labels:
            raise ConfigurationError(
                f"--class {name}: expected quasi-identifiers ({', '.join(question.labels)})",
            )
    wanted = {question.labels.index(name): label for name, label in labels.items()}

    def find(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Here, because a condition in Spark would put labels into its plans and logs."""
        for batch in batches:
            yield batch.filter(
                reduce(pc.and_, [_same(batch[f"l{i}"], label) for i, label in wanted.items()]),
            )

    schema = tally_schema(len(question.labels), len(question.sensitive_attributes))
    matching = collect(map_batches(tallies, find, schema), 2)
    given = ", ".join(f"{name}={label!r}" for name, label in labels.items())
    if not matching.num_rows:
        raise InputError(
            f"--class: the table has no class with {given}; labels are compared as text, including "
            "spaces",
        )
    if matching.num_rows > 1:
        raise InputError(
            f"--class: the table has several classes with {given}; give the other "
            "quasi-identifiers too",
        )
    return matching


def _same(column: pa.Array, label: str | None) -> pa.Array:
    return pc.is_null(column) if label is None else pc.equal(column, str(label)).fill_null(False)
