"""A release in one process: a plan carried out, as the tasks of a release do it, and its guarantees
and losses, by the definitions of the verdict on a written release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.labels.loss import (
    LabelVocabulary,
    judged_quasi,
    members,
    numbers,
    published_columns,
    themselves,
)
from tclose_spark.checks.labels.regions import BoxProofs, open_classes
from tclose_spark.measures.distances.ground_distances import GroundDistance, maximum
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.supersets.box_search import ProofTarget
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive, reaches
from tclose_spark.methods.blocks.layout import together
from tclose_spark.methods.method import Plan
from tclose_spark.options.suppression.maker import LabelLimits
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.people import HOUSEHOLD, PERSON
from tclose_spark.table.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release that is not written.

    rows: the released rows, in order. labels: the published columns of their quasi-identifiers.
    suppressed: the rows left out, by the method or because their labels are too coarse.
    """

    rows: Rows
    labels: list[pa.Array]
    suppressed: Rows


def apply_plan(
    plan: Plan,
    attributes: ResolvedAttributes,
    rows: Rows,
    spec: ReleaseSpec,
) -> Released:
    """The release of a table of these rows.

    Raises:
        ValueError: if a row is in no class, or in two.
        UnreachableError: if the method makes no classes that meet the requirements.
    """
    row, task = plan.route(rows)
    order = np.argsort(task, kind="stable")
    row = row[order]
    ends = np.searchsorted(task[order], np.arange(plan.tasks + 1))
    stayed = []
    classes = []
    regions = []
    left = [np.zeros(0, dtype=np.int64)]
    tasks = []
    figures = []
    first = 0
    for number in range(plan.tasks):
        sent = row[ends[number] : ends[number + 1]]
        if not len(sent):
            continue
        settled = plan.assign_classes(rows.take(sent), number)
        stayed.append(sent[settled.here])
        tasks.append(np.full(len(settled.here), number))
        figures.append(settled.figures)
        classes.append(settled.classes + (first - int(settled.classes.min(initial=0))))
        first = int(classes[-1].max(initial=first)) + 1
        regions += [] if settled.regions is None else [settled.regions]
        left += [] if settled.suppressed is None else [sent[settled.suppressed]]
    here = np.concatenate(stayed)
    suppressed = np.concatenate(left)
    _require_each_once(np.concatenate([here, suppressed]), len(rows))
    plan.describe(together(figures, plan.figures))
    kept = rows.take(here)
    covered = np.concatenate(regions, axis=2) if regions else None
    generalizer = Generalizer.of(
        attributes.quasi_identifiers,
        disjoint=spec.method.promises_disjoint,
    )
    published, labels = generalizer.publish(kept, np.concatenate(classes), [], covered)
    coarse = _left_out(LabelLimits.of(spec, attributes), np.concatenate(tasks)[published], labels)
    return Released(
        rows=kept.take(published[~coarse]),
        labels=[column.filter(pa.array(~coarse)) for column in labels],
        suppressed=rows.take(np.concatenate([suppressed, here[published[coarse]]])),
    )


def _left_out(limits: LabelLimits, task: IntArray, labels: Sequence[pa.Array]) -> NDArray[np.bool_]:
    """Which rows are left out because their labels are too coarse, shape (rows,). task: of each
    row.
    """
    coarse = np.zeros(len(task), dtype=np.bool_)
    if not limits.most or all(limit is None for limit, _ in limits.limits):
        return coarse
    for number in np.unique(task):
        place = np.flatnonzero(task == number)
        of_task = [column.take(pa.array(place)) for column in labels]
        coarse[limits.suppress(place, of_task, len(place))[2]] = True
    return coarse


def _require_each_once(here: IntArray, rows: int) -> None:
    if len(here) != rows or np.any(np.bincount(here, minlength=rows) != 1):
        raise ValueError("a row is in no class, or in two")


@dataclass(frozen=True, kw_only=True)
class PublishedClasses:
    """The classes of a release: the rows that share all labels.

    of_row: the class of each row, shape (rows,).
    labels: by quasi-identifier the published columns (two if they are bounds) as text, one value
        per class.
    """

    of_row: IntArray
    labels: dict[str, list[pa.Array]]

    @staticmethod
    def of(released: Released, spec: ReleaseSpec) -> PublishedClasses:
        """The classes of a release."""
        of_row, first = group_equal(released.labels)
        taken = iter(
            [decoded(column.take(pa.array(first))).cast(pa.string()) for column in released.labels],
        )
        labels = {
            name: [next(taken) for _ in columns]
            for name, columns in published_columns(spec).items()
        }
        return PublishedClasses(of_row=of_row, labels=labels)

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each class, shape (classes,)."""
        return np.bincount(self.of_row)


@dataclass(frozen=True, kw_only=True)
class SampleFigures:
    """The figures of a release.

    smallest: rows of the smallest class.
    emd: the largest distance of a class, for each sensitive attribute, exactly.
    suppressed_emd: the distance of the suppressed rows, if they form a class (their distribution is
        public).
    ncp: information loss as in the certificate; a suppressed row loses 1.
    losses: that of released rows by quasi-identifier.
    discernibility: the sum of squared class sizes, and n for each suppressed row.
    holds: whether k (also of people, if they are counted), every t and every l hold, also of the
        suppressed rows if they form a class.
    coarse: the quasi-identifiers with a label coarser than `coarsest`.
    """

    rows: int
    suppressed: int
    classes: int
    smallest: int
    emd: dict[str, str]
    suppressed_emd: dict[str, str]
    ncp: float
    losses: dict[str, float]
    discernibility: int
    holds: bool
    coarse: tuple[str, ...]

    @property
    def average(self) -> float:
        """Average class size."""
        return self.rows / self.classes


def measure(
    released: Released,
    classes: PublishedClasses,
    attributes: ResolvedAttributes,
    spec: ReleaseSpec,
    hierarchies: Mapping[str, Hierarchy],
) -> SampleFigures:
    """The figures of a release."""
    rows = len(released.rows)
    left = len(released.suppressed)
    sizes = classes.sizes
    sensitive = attributes.sensitive
    tallied = [
        [_tally(a, attributes, *part) for a in sensitive]
        for part in _parts(released, classes, spec)
    ]
    distances = [a.distance for a in sensitive]
    if left and spec.privacy.of == "released":
        beside = [
            a.beside(_added(a, part), part) for a, part in zip(sensitive, tallied[0], strict=True)
        ]
        distances = [distance for distance, _ in beside]
        tallied = [[part for _, part in beside]]
    emd, *apart = [
        [maximum(d, d.numerators(one), one.sizes) for d, one in zip(distances, part, strict=True)]
        for part in tallied
    ]
    smallest = [int(part[0].sizes.min()) for part in tallied]
    diverse = all(
        a.needs.hold([part[i] for part in tallied], distances[i].table)
        for i, a in enumerate(sensitive)
    )
    quasi = judged(classes, spec, hierarchies)
    nt = spec.privacy.n
    lost = losses(classes, quasi)
    needed = {PERSON: spec.privacy.k, HOUSEHOLD: spec.attributes.least_households}
    by_quasi = {q.name: float(q.losses(classes.labels[q.name]) @ sizes) / rows for q in quasi}
    return SampleFigures(
        rows=rows,
        suppressed=left,
        classes=len(sizes),
        smallest=smallest[0],
        emd=_by_name(sensitive, emd),
        suppressed_emd=_by_name(sensitive, apart[0]) if apart else {},
        ncp=(float(lost @ sizes) + left) / (rows + left),
        losses=by_quasi,
        discernibility=int((sizes.astype(object) ** 2).sum()) + left * (rows + left),
        holds=(
            min(smallest) >= spec.privacy.k
            and all(
                _has_fewest(classes, owners, needed[name])
                for name, owners in released.rows.owners.items()
                if name in needed
            )
            and (
                reaches(sensitive, emd)
                if nt is None
                else _near(sensitive, distances, tallied[0], classes, quasi, nt)
            )
            and all(reaches(sensitive, part) for part in apart)
            and diverse
        ),
        coarse=tuple(
            q.name
            for q in attributes.quasi_identifiers
            if q.coarsest is not None and q.coarsest.broken(classes.labels[q.name]).any()
        ),
    )


def _parts(
    released: Released,
    classes: PublishedClasses,
    spec: ReleaseSpec,
) -> list[tuple[Rows, IntArray, int]]:
    """(rows, the class of each, number of classes) of the release, and of the suppressed rows if
    they form a class.
    """
    parts = [(released.rows, classes.of_row, len(classes.sizes))]
    left = len(released.suppressed)
    if left and spec.privacy.of == "input":
        parts.append((released.suppressed, np.zeros(left, dtype=np.int64), 1))
    return parts


def _has_fewest(classes: PublishedClasses, entity: IntArray, least: int) -> bool:
    """Whether each class has so many people, or households. entity: of each row."""
    once, _ = np.unique(np.stack([classes.of_row, entity]), axis=1)
    return int(np.bincount(once).min()) >= least


def judged(
    classes: PublishedClasses,
    spec: ReleaseSpec,
    hierarchies: Mapping[str, Hierarchy],
) -> list[JudgedQuasi]:
    """The quasi-identifiers with the losses of their labels."""
    return judged_quasi(
        spec,
        {name: _named(name, classes, spec) for name in classes.labels},
        hierarchies,
    )


def losses(classes: PublishedClasses, quasi: Sequence[JudgedQuasi]) -> NDArray[np.float64]:
    """Mean information loss of each class over its quasi-identifiers, shape (classes,)."""
    mean: NDArray[np.float64] = np.mean([q.losses(classes.labels[q.name]) for q in quasi], axis=0)
    return mean


def _near(
    sensitive: Sequence[ResolvedSensitive],
    distances: Sequence[GroundDistance],
    tallied: Sequence[Histograms],
    classes: PublishedClasses,
    quasi: Sequence[JudgedQuasi],
    n: int,
) -> bool:
    """Whether every class is (n, t)-close: near the whole table, itself, or a box of the search."""
    near = [
        ProofTarget(distance, a.t, part, open_classes(distance, a.t, part, n))
        for a, distance, part in zip(sensitive, distances, tallied, strict=True)
        if a.t is not None
    ]
    labels = [[pa.chunked_array([column]) for column in classes.labels[q.name]] for q in quasi]
    return BoxProofs.of(labels, classes.sizes, near, quasi, n).proves


def _named(name: str, classes: PublishedClasses, spec: ReleaseSpec) -> LabelVocabulary:
    """The values that the labels of a quasi-identifier name, all together."""
    settings = spec.attributes.quasi_identifiers[name]
    reader = (
        numbers
        if settings.is_numeric
        else members
        if settings.generalization == "set"
        else themselves
    )
    said = {label for column in classes.labels[name] for label in column.unique().to_pylist()}
    return LabelVocabulary(frozenset(reader(said - {None, ROOT})), said == {ROOT})


def _by_name(sensitive: Sequence[ResolvedSensitive], emd: Sequence[Fraction]) -> dict[str, str]:
    return {a.name: str(reached) for a, reached in zip(sensitive, emd, strict=True)}


def _tally(
    attribute: ResolvedSensitive,
    attributes: ResolvedAttributes,
    rows: Rows,
    owner: IntArray,
    groups: int,
) -> Histograms:
    codes = attributes.cells[rows.cell, attribute.column]
    return Histograms.tally(
        owner,
        codes,
        np.ones(len(rows), dtype=np.int64),
        groups,
        len(attribute.domain.values),
    )


def _added(attribute: ResolvedSensitive, classes: Histograms) -> IntArray:
    """Rows of each value, over all classes, shape (m,)."""
    counts = np.zeros(len(attribute.domain.values), dtype=np.int64)
    np.add.at(counts, classes.values, classes.counts)
    return counts
