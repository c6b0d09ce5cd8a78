"""What a release says of the people whom its rows stand for: see `attributes.weight`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.population import weights_by
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches
from tclose_spark.options.weights.words import WeightsFigures
from tclose_spark.table.columns.weights import MILLIONTHS, listed_totals

LEAST = pa.schema([("weight", pa.int64()), ("total", pa.int64()), ("classes", pa.int64())])


class WeightsJudge(ReleaseJudge):
    """Reports the people whom the rows stand for."""

    makes = WeightsFigures

    def report(self, release: JudgedRelease) -> WeightsFigures | None:
        weight = self.spec.attributes.published_weight
        return (
            None
            if weight is None
            else release_weights(release.table, release.labels, release.names, weight)
        )


def release_weights(
    table: Table,
    labels: Sequence[str],
    sensitive: Sequence[str],
    weight: str,
) -> WeightsFigures:
    """The people whom a release stands for.

    labels: the published columns of the quasi-identifiers. weight: the published column of weights.
    """
    found = collect(map_batches(weights_by(table, labels, weight), _least, LEAST))
    smallest = pc.min(found["weight"]).as_py()
    total = pc.sum(found["total"]).as_py()
    classes = pc.sum(found["classes"]).as_py()
    totals = {}
    for name in sensitive:
        held = collect(weights_by(table, [name], weight))
        totals[name] = listed_totals(
            dict(zip(held["l0"].to_pylist(), held["weight"].to_pylist(), strict=True)),
        )
    return WeightsFigures(
        total=total / MILLIONTHS,
        smallest_class=smallest / MILLIONTHS,
        mean_class=total / MILLIONTHS / classes,
        totals=totals,
    )


def _least(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The least weight of a class, the sum of all, and the number of classes, of each batch."""
    for batch in batches:
        if batch.num_rows:
            weights = batch["weight"]
            values = [pc.min(weights).as_py(), pc.sum(weights).as_py(), len(weights)]
            yield pa.RecordBatch.from_arrays(
                [pa.array([x], pa.int64()) for x in values],
                schema=LEAST,
            )
