"""The figures of a judged release, for the certificate and the reports; with the class farthest
from the table, by sensitive attribute: both distributions and a cheapest transport plan, in bounded
size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import Classes
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.classes.tallies import ClassTally, tally_schema
from tclose_spark.checks.judged_release import JudgedRelease
from tclose_spark.checks.labels.loss import measured_on
from tclose_spark.checks.released import input_listing
from tclose_spark.checks.warnings import attribute_warnings, far_number_warnings, label_warnings
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches
from tclose_spark.measures.distances.bins import group_values, places_of
from tclose_spark.measures.distances.transport import transport_plan
from tclose_spark.requirements.figures import (
    Achieved,
    AttributeFigures,
    ColumnFigures,
    FarthestClass,
    Figures,
    LossFigures,
    OptionFigures,
    Regions,
    SuppressedFigures,
)
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.requirements.registry import judges_of
from tclose_spark.runfile.attributes import EvenPlaces
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.columns.spark_types import type_name
from tclose_spark.table.writing import listing


def figures_of(
    release: JudgedRelease,
    regions: Regions,
    evaluated: int,
    options: Sequence[OptionFigures],
) -> Figures:
    """The figures of a release. regions: whether they overlap. evaluated: how many expectations.
    options: of each.
    """
    figures = release.figures
    left = release.suppressed
    spec = release.spec
    written = release.written
    loss = release.loss
    by_input = release.losses_by_input
    of_quasi = measured_on(spec, release.named, written.hierarchies, written.profile.quasi)
    missing = release.rows.missing
    return Figures(
        suppressed=SuppressedFigures(
            rows=release.left.rows,
            attributes=None if left is None else achieved_of(left, release.attributes),
        ),
        classes=figures.classes,
        smallest_class=figures.smallest,
        largest_class=figures.largest,
        discernibility=figures.discernibility,
        ncp=loss.ncp,
        ncp_by_quasi_identifier=loss.ncp_by_quasi_identifier,
        attributes=_attributes(release),
        quasi_identifiers={
            name: of_quasi.get(name, {}) for name in spec.attributes.quasi_identifiers
        },
        warnings=[*_warnings(release)],
        columns={
            name: ColumnFigures(type_name(release.fields[name]), rows)
            for name, rows in missing.items()
        },
        fingerprint=str(release.rows.fingerprint),
        rows=release.rows.fingerprint.rows,
        extremes=figures.extremes,
        spreads=figures.histograms,
        guessed=dict(figures.guessed),
        worst=worst_classes(release.tallies, release.labels, figures, release.attributes),
        by_input=LossFigures(
            ncp=sum(by_input) / len(by_input) if by_input else None,
            ncp_by_quasi_identifier=dict(zip(figures.losses, by_input, strict=True)),
        ),
        regions=regions,
        expectations_evaluated=evaluated,
        options=tuple(options),
    )


def _warnings(release: JudgedRelease) -> Iterator[str]:
    figures = release.figures
    written = release.written
    yield from label_warnings(figures, release.labelled, release.named, release.texts)
    yield from attribute_warnings(
        figures,
        release.attributes_with(release.counts),
        release.more_attributes,
        release.texts,
        apart=any(judge.apart for judge in release.judges),
    )
    if without := release.losses_without_far:
        yield from far_number_warnings(
            written.profile,
            release.spec.privacy.k,
            figures.losses,
            without,
        )


def _attributes(release: JudgedRelease) -> dict[str, AttributeFigures]:
    """What the classes achieve, and the domain, by attribute."""
    achieved = achieved_of(release.figures, release.attributes)
    return {
        a.name: AttributeFigures(
            **vars(achieved[a.name]),
            domain=listing(a.values),
            unused=listing([value for value in a.values if not counts.get(value)]),
            places=None if a.settings.domain is None else _places(a, a.settings.domain),
            input=None if release.suppressed is None else input_listing(a, left),
        )
        for a, counts, left in zip(
            release.attributes,
            release.counts,
            release.left.values,
            strict=True,
        )
    }


def _places(a: JudgedAttribute, settings: EvenPlaces) -> dict[str, object]:
    """The places between which an attribute's distance is measured, and those without rows."""
    places = places_of(a.name, a.values, settings)
    empty = [i for i, n in enumerate(places.counts(a.distance.table).tolist()) if not n]
    return {
        **settings.model_dump(mode="json", exclude_none=True),
        "size": places.size,
        "ends": listing(list(map(str, places.ends)), "ends"),
        "empty": listing(empty, "places"),
    }


def achieved_of(
    figures: ClassFigures,
    attributes: Sequence[JudgedAttribute],
) -> dict[str, Achieved]:
    """What the classes achieve, by attribute."""
    return {
        a.name: Achieved(
            reached=reached(figures, a),
            homogeneous=figures.homogeneous[a.name],
            similar=figures.similar[a.name],
            unlike=figures.unlike[a.name],
        )
        for a in attributes
    }


def reached(figures: ClassFigures, a: JudgedAttribute, over: str = "") -> dict[str, Any]:
    """What the classes achieve in one attribute, by the key of each judge. over: the end of the
    measures' names.
    """
    found = ((judge, figures.of(judge.measure + over, a.name)) for judge in judges_of(a))
    return {
        judge.key: judge.reached(guarantee) for judge, guarantee in found if guarantee is not None
    }


MOVES = 8  # of a plan that are reported, the most expensive


def worst_classes(
    tallies: Table,
    labels: Sequence[str],
    figures: ClassFigures,
    attributes: Sequence[JudgedAttribute],
) -> dict[str, FarthestClass]:
    """By attribute, its farthest class.

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
        tallies,
        lambda batches: (_of(wanted, batch) for batch in batches),
        schema,
    )
    tally = ClassTally.read(collect(found_rows), len(labels))
    classes = Classes.of(tally, attributes)
    rows = list(zip(*(column.to_pylist() for column in tally.labels), strict=True))
    place = {row: i for i, row in enumerate(rows)}
    return {
        a.name: _farthest(a, worst[a.name], classes, place[tuple(worst[a.name].values())])
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
        ),
    )


def _farthest(
    a: JudgedAttribute,
    labels: Mapping[str, str | None],
    classes: Classes,
    row: int,
) -> FarthestClass:
    histogram = classes.marginals[a.name]
    whole = a.distance.table
    here = slice(histogram.offsets[row], histogram.offsets[row + 1])
    part: IntArray = np.zeros(len(a.values), dtype=np.int64)
    part[histogram.values[here]] = histogram.counts[here]
    plan = transport_plan(a.distance, part)
    dearest = sorted(plan.moves, key=lambda move: -move.cost)[:MOVES]
    groups = group_values(a.values, part, whole, a.distance.features.cumulative, a.hierarchy)
    return FarthestClass(
        labels=dict(labels),
        size=int(part.sum()),
        emd=float(plan.cost),
        values=len(a.values),
        groups=groups,
        moved=float(sum(move.mass for move in plan.moves)),
        moves=[
            {
                "from": a.values[move.source],
                "to": a.values[move.target],
                "mass": float(move.mass),
                "distance": float(move.distance),
                "cost": float(move.cost),
            }
            for move in dearest
        ],
        more_moves=len(plan.moves) - len(dearest),
    )
