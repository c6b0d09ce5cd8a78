"""The class farthest from the table, by sensitive attribute: both distributions and a cheapest
transport plan, in bounded size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import Classes
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.classes.tallies import ClassTally, tally_schema
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches
from tclose_spark.measures.distances.bins import group_values
from tclose_spark.measures.distances.transport import transport_plan
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.arrays import IntArray

MOVES = 8  # of a plan that are reported, the most expensive


def worst_classes(
    tallies: Table,
    labels: Sequence[str],
    figures: ClassFigures,
    attributes: Sequence[JudgedAttribute],
) -> dict[str, dict[str, Any]]:
    """By attribute, its farthest class as plain values: `labels`, `size`, `emd`, `values` (their
    number), `groups` of values with the records of class and table, `moved` (the mass to move), and
    the most expensive `moves`.

    tallies: of the release's rows (see `tallies.tally_classes`); labels: its published columns.
    """
    worst = {
        a.name: found.worst
        for a in attributes
        if (found := figures.of("t-closeness", a.name)) is not None
    }
    if not worst:
        return {}
    wanted = [tuple(each[name] for name in labels) for each in worst.values()]
    schema = tally_schema(len(labels), len(attributes))
    found_rows = map_batches(
        tallies, lambda batches: (_of(wanted, batch) for batch in batches), schema
    )
    tally = ClassTally.read(collect(found_rows), len(labels))
    classes = Classes.of(tally, attributes)
    rows = list(zip(*(column.to_pylist() for column in tally.labels), strict=True))
    place = {row: i for i, row in enumerate(rows)}
    return {
        a.name: {
            "labels": dict(worst[a.name]),
            **_shown(a, classes, place[tuple(worst[a.name].values())]),
        }
        for a in attributes
    }


def _of(wanted: Sequence[tuple[str | None, ...]], batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of these classes. Filtered here, because a condition in Spark would put labels into
    its plans and logs.
    """

    def held(column: pa.Array, label: str | None) -> pa.Array:
        return pc.is_null(column) if label is None else pc.equal(column, label).fill_null(False)

    return batch.filter(
        reduce(
            pc.or_,
            (
                reduce(pc.and_, (held(*each) for each in zip(batch.columns, labels, strict=False)))
                for labels in wanted
            ),
        )
    )


def _shown(a: JudgedAttribute, classes: Classes, row: int) -> Mapping[str, Any]:
    histogram = classes.marginals[a.name]
    whole = a.distance.table
    here = slice(histogram.offsets[row], histogram.offsets[row + 1])
    part: IntArray = np.zeros(len(a.values), dtype=np.int64)
    part[histogram.values[here]] = histogram.counts[here]
    plan = transport_plan(a.distance, part)
    dearest = sorted(plan.moves, key=lambda move: -move.cost)[:MOVES]
    groups = group_values(a.values, part, whole, a.distance.features.cumulative, a.hierarchy)
    return {
        "size": int(part.sum()),
        "emd": float(plan.cost),
        "values": len(a.values),
        "groups": [vars(each) for each in groups],
        "moved": float(sum(move.mass for move in plan.moves)),
        "moves": [
            {
                "from": a.values[move.source],
                "to": a.values[move.target],
                "mass": float(move.mass),
                "distance": float(move.distance),
                "cost": float(move.cost),
            }
            for move in dearest
        ],
        "more_moves": len(plan.moves) - len(dearest),
    }
