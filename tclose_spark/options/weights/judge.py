"""What a release says of the people whom its rows stand for: see `attributes.weight`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.population import weights_by
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches
from tclose_spark.report.certificate.sections import Certificate, Weights
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, Plain
from tclose_spark.table.columns.weights import MILLIONTHS, listed_totals

LEAST = pa.schema([("weight", pa.int64()), ("total", pa.int64()), ("classes", pa.int64())])


@dataclass(frozen=True, kw_only=True)
class WeightsFigures(OptionFigures):
    """The people whom a release stands for: all, those of the smallest class, and of one class in
    the mean.

    totals: of the values of each sensitive attribute (see `listed_totals`).
    """

    key = "weights"
    total: float
    smallest_class: float
    mean_class: float
    totals: Mapping[str, Sequence[Plain]]


class WeightsWords(OptionWords):
    """The column of weights, and the people whom the release stands for; of an unpublished one,
    that there is one.
    """

    def certify(self, made: Certified, certificate: Certificate) -> None:
        weight = made.spec.attributes.weight
        assert weight is not None
        certificate.weights = Weights(published=weight.publish)
        if weight.publish:
            people = made.figures.of(WeightsFigures)
            certificate.weights = Weights(
                published=True,
                column=weight.column,
                round_to=None if weight.round_to is None else str(weight.round_to),
                total=people.total,
                smallest_class=people.smallest_class,
                mean_class=people.mean_class,
            )

    def sections(self, certificate: Certificate, figures: Figures) -> Mapping[str, Any]:
        return {"totals": totals_of(figures)}

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"extremes": "weights/weights.html.j2"} if totals_of(figures) else {}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        weights = certificate.weights
        if weights is not None and weights.column is not None:
            rounded = weights.round_to is not None
            how = (
                f"rounded to multiples of {weights.round_to}" if rounded else "published unchanged"
            )
            form = "the number of people whom a row stands for"
            yield "weight", weights.column, "", form, f"{how}; no guarantee covers it"


def totals_of(figures: Figures) -> Mapping[str, Sequence[Plain]] | None:
    """The weights of the values of each sensitive attribute, if weights are published."""
    weights = figures.find(WeightsFigures)
    return None if weights is None else weights.totals


class WeightsJudge(ReleaseJudge):
    """Reports the people whom the rows stand for."""

    makes = WeightsFigures

    def report(self, release: JudgedRelease) -> WeightsFigures | None:
        weights = self.spec.attributes.published_weights
        if not weights:
            return None
        return release_weights(release.table, release.labels, release.names, weights[0])


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
