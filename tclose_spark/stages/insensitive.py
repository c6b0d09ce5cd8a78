"""Checks of insensitive columns, which are published unchanged.

The profile checks each column by itself. Here all are checked together, since a street and a house
number are an address, and against the quasi-identifiers, since a town beside a generalized region
undoes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine import tables
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, session_of, sized_shuffles
from tclose_spark.errors import InputError, Problems
from tclose_spark.measures.loss.pair_widths import (
    NodeWidths,
    NumberWidths,
    PairWidths,
    combine,
    mean_width,
    share_taken_back,
)
from tclose_spark.measures.sketches import DistinctCount, estimate
from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.batches import StagedColumns, read_batches
from tclose_spark.stages.warnings import NEARLY_UNIQUE
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.domains import Profile, QuasiDomain
from tclose_spark.table.fingerprint import content_hash
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

MOST_TAKEN_BACK = 0.5  # share of a quasi-identifier's width that insensitive columns may take back
SAMPLE = 200_000  # different records, about, on which it is measured
FEWEST_PAIRS = 30  # pairs of people with the same value that a sample needs
OF_WEIGHTS = (
    "round it (attributes.weight.round_to), keep it unpublished (attributes.weight.publish: false)"
)
"""What may be done about a weight that reveals too much."""
MOST_PAIRED = 20  # columns whose pairs are all tried; of more columns, the best one is extended

Columns = tuple[str, ...]
REGISTERS = pa.schema([("registers", pa.binary())])


def guard_insensitive(
    batches: Table,
    columns: StagedColumns,
    spec: ReleaseSpec,
    profile: Profile,
    quasi: Sequence[ResolvedQuasi],
) -> dict[str, Any]:
    """What the insensitive columns of staged rows reveal; empty without such columns. Two passes
    over the rows. Columns in `allow_unique` are measured but never refused.

    Raises:
        InputError: if columns are nearly unique together, or take back more than MOST_TAKEN_BACK of
            a quasi-identifier's width; with all such columns.
    """
    attributes = spec.attributes
    if not attributes.insensitive:
        return {}
    guarded = [name for name in attributes.insensitive if name not in attributes.allow_unique]

    def count(candidates: Sequence[Columns]) -> list[float]:
        return _count_tuples(batches, columns, candidates)

    tuples = min(int(count([tuple(guarded)])[0]), profile.rows)
    problems = Problems()
    if len(guarded) > 1 and tuples > NEARLY_UNIQUE * profile.rows:
        combined = smallest_set(guarded, count, NEARLY_UNIQUE * profile.rows)
        distinct = min(int(count([combined])[0]), profile.rows)
        error = InputError(
            f"insensitive attributes {_listed(combined)} are nearly unique together (about "
            f"{distinct} combinations in {profile.rows} rows): published unchanged, they link rows "
            "to people; drop one, make it coarser, give it another role, or name it in "
            f"attributes.allow_unique{_about_weight(combined, spec)}",
        )
        problems.add(error)
    sample = _draw(batches, columns, profile)
    figures = _taken_back(sample, attributes.insensitive, quasi, guarded)
    refused = [
        figure
        for figure in figures
        if set(figure["columns"]) <= set(guarded) and figure["share"] > MOST_TAKEN_BACK
    ]
    for worst in sorted(
        _worst_of_each(refused),
        key=lambda figure: attributes.insensitive.index(figure["columns"][0]),
    ):
        problems.add(InputError(_refusal(sample, quasi, worst, spec)))
    problems.raise_found()
    return {"combinations": tuples, "taken_back": figures}


@dataclass(frozen=True)
class Sample:
    """Different records, with the number of rows like each as weight. quasi: prepared columns.
    insensitive: codes of values, by column.
    """

    quasi: Sequence[pa.ChunkedArray]
    insensitive: Mapping[str, IntArray]
    weight: IntArray
    thinned: bool

    def taken_back(self, widths: PairWidths, together: Sequence[Columns]) -> list[float | None]:
        """The share of a quasi-identifier's width that each set of columns takes back; None if the
        sample is too small.
        """
        fewest = FEWEST_PAIRS if self.thinned else 1
        anyone = mean_width(widths, np.zeros_like(self.weight), self.weight, fewest)
        same = [
            mean_width(
                widths,
                combine([self.insensitive[name] for name in names]),
                self.weight,
                fewest,
            )
            for names in together
        ]
        return [share_taken_back(width, anyone) for width in same]


def _draw(batches: Table, columns: StagedColumns, profile: Profile) -> Sample:
    """About SAMPLE different records, drawn by content."""
    insensitive = columns.insensitive_names
    share = min(1.0, SAMPLE / profile.distinct_rows)
    kinds = [
        pa.int64() if d.kind == "integer" else pa.float64() if d.kind == "double" else pa.string()
        for d in profile.quasi
    ]
    fields = [(f"q{i}", kind) for i, kind in enumerate(kinds)] + [
        (f"i{i}", pa.int64()) for i in range(len(insensitive))
    ]
    schema = pa.schema([*fields, ("n", pa.int64())])

    def draw(staged: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in read_batches(part.column(0) for part in staged):
            hashed = [
                pa.array(content_hash([c]).view(np.int64))
                for c in columns.passed(batch.columns)[columns.insensitive]
            ]
            records = [*columns.quasi(batch.columns), *hashed]
            drawn = np.flatnonzero(content_hash(records) >> np.uint64(33) < int(share * 2**31))
            if len(drawn):
                group, first = group_equal([column.take(pa.array(drawn)) for column in records])
                place = pa.array(drawn[first])
                held = [decoded(column.take(place)) for column in records]
                yield pa.RecordBatch.from_arrays(
                    [*held, pa.array(np.bincount(group))],
                    schema=schema,
                )

    names = schema.names[:-1]
    with sized_shuffles(session_of(batches), SAMPLE):
        counted = collect(tables.combine(map_batches(batches, draw, schema), names, {"n": "sum"}))
    counted = counted.sort_by([(name, "ascending") for name in names])
    numbers = [
        np.unique(counted[f"i{i}"].to_numpy(), return_inverse=True)[1]
        for i in range(len(insensitive))
    ]
    return Sample(
        [counted[f"q{i}"] for i in range(len(kinds))],
        dict(zip(insensitive, numbers, strict=True)),
        counted["n"].to_numpy(),
        share < 1,
    )


def _count_tuples(
    batches: Table,
    columns: StagedColumns,
    candidates: Sequence[Columns],
) -> list[float]:
    """The estimated number of tuples of each set of insensitive columns. One pass."""
    places = [[columns.insensitive_names.index(name) for name in names] for names in candidates]

    def count(staged: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = [DistinctCount.empty() for _ in candidates]
        for batch in read_batches(part.column(0) for part in staged):
            held = columns.passed(batch.columns)[columns.insensitive]
            for counted, place in zip(counts, places, strict=True):
                counted.add(
                    content_hash([held[i] for i in place])
                    if place
                    else np.zeros(1, dtype=np.uint64),
                )
        registers = [counted.registers.astype(np.int8).tobytes() for counted in counts]
        yield pa.RecordBatch.from_arrays(
            [pa.array([b"".join(registers)], pa.binary())],
            schema=REGISTERS,
        )

    parts = collect(map_batches(batches, count, REGISTERS))["registers"].to_pylist()
    highest = np.max(
        [np.frombuffer(part, dtype=np.int8).reshape(len(candidates), -1) for part in parts],
        axis=0,
    )
    return [float(estimate(of_one.astype(np.int64))) for of_one in highest]


def _taken_back(
    sample: Sample,
    insensitive: Sequence[str],
    quasi: Sequence[ResolvedQuasi],
    guarded: Sequence[str],
) -> list[dict[str, Any]]:
    """The shares of each quasi-identifier that each insensitive column, and all guarded ones, take
    back.
    """
    together: list[Columns] = [(name,) for name in insensitive]
    together += [tuple(guarded)] if len(guarded) > 1 else []
    figures: list[dict[str, Any]] = []
    for q, column in zip(quasi, sample.quasi, strict=True):
        widths = pair_widths(q.domain, column, q.hierarchy)
        figures += [
            {"columns": list(columns), "quasi_identifier": q.name, "share": round(share, 4)}
            for columns, share in zip(together, sample.taken_back(widths, together), strict=True)
            if share is not None
        ]
    return figures


def _worst_of_each(refused: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The largest share of each column that takes back too much by itself; without such columns, of
    all together.
    """
    worst: dict[Columns, Mapping[str, Any]] = {}
    fewest = min((len(figure["columns"]) for figure in refused), default=0)
    for figure in refused:
        columns = tuple(figure["columns"])
        if len(columns) == fewest and (
            columns not in worst or figure["share"] > worst[columns]["share"]
        ):
            worst[columns] = figure
    return [*worst.values()]


def _refusal(
    sample: Sample,
    quasi: Sequence[ResolvedQuasi],
    worst: Mapping[str, Any],
    spec: ReleaseSpec,
) -> str:
    """The message about a column that takes back too much, or about the fewest columns that do
    together.
    """
    place, undone = next((i, q) for i, q in enumerate(quasi) if q.name == worst["quasi_identifier"])
    columns = tuple(worst["columns"])
    share = worst["share"]
    if len(columns) > 1:
        widths = pair_widths(undone.domain, sample.quasi[place], undone.hierarchy)

        def measure(candidates: Sequence[Columns]) -> list[float]:
            return [share or 0.0 for share in sample.taken_back(widths, candidates)]

        columns = smallest_set(columns, measure, MOST_TAKEN_BACK)
        share = measure([columns])[0]
    several = (
        f"insensitive attributes {_listed(columns)} together take"
        if len(columns) > 1
        else f"insensitive attribute {columns[0]!r} takes"
    )
    return (
        f"{several} back {share:.0%} of the width of quasi-identifier "
        f"{worst['quasi_identifier']!r} (at most {MOST_TAKEN_BACK:.0%} are allowed): published "
        "unchanged, they undo its generalization; drop one, make it coarser, make it a "
        f"quasi-identifier, or name it in attributes.allow_unique{_about_weight(columns, spec)}"
    )


def _about_weight(columns: Columns, spec: ReleaseSpec) -> str:
    """What may be done if one of the columns is the weight."""
    weights = [weight for weight in spec.attributes.published_weights if weight in columns]
    return "".join(f"; {weight!r} is the weight: {OF_WEIGHTS}" for weight in weights)


def pair_widths(
    domain: QuasiDomain,
    column: pa.ChunkedArray,
    hierarchy: Hierarchy | None,
) -> PairWidths:
    """The widths between records of a prepared column: by the range of numbers, by the tree, or 0
    for equal values and 1 for others.
    """
    if domain.kind != "category":
        numbers = pc.cast(column, pa.float64(), safe=False).to_numpy()
        # Halves, so that no range is too large for a double.
        extent = domain.high / 2 - domain.low / 2
        return NumberWidths((numbers / 2 - domain.low / 2) / (extent or 1.0))
    code = (
        pc.fill_null(pc.index_in(column, pa.array(domain.values, pa.string())), len(domain.values))
        .to_numpy()
        .astype(np.int64)
    )
    missing = code == len(domain.values)
    if hierarchy is None:
        return NodeWidths([code, np.zeros_like(code)], [np.zeros(len(code)), np.ones(len(code))])
    leaf = np.where(missing, 0, code)
    nodes = [np.where(missing, len(domain.values), node[leaf]) for node in hierarchy.nodes[:-1]]
    return NodeWidths([*nodes, np.zeros_like(code)], [shares[leaf] for shares in hierarchy.shares])


def smallest_set(
    columns: Sequence[str],
    measure: Callable[[Sequence[Columns]], list[float]],
    limit: float,
) -> Columns:
    """A small set of columns whose figure is above the limit, if that of all columns is. Tries
    single columns, pairs (of at most MOST_PAIRED columns), then the best of these with one more
    column at a time.
    """
    sizes = (1, 2) if len(columns) <= MOST_PAIRED else (1,)
    best: Columns = ()
    for candidates in ([*combinations(columns, size)] for size in sizes):
        best, figure = _best(candidates, measure)
        if figure > limit:
            return best
    while len(best) < len(columns):
        best, figure = _best(
            [
                tuple(c for c in columns if c in best or c == new)
                for new in columns
                if new not in best
            ],
            measure,
        )
        if figure > limit:
            return best
    return best


def _best(
    candidates: Sequence[Columns],
    measure: Callable[[Sequence[Columns]], list[float]],
) -> tuple[Columns, float]:
    figures = measure(candidates)
    place = int(np.argmax(figures))
    return candidates[place], figures[place]


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in columns[:-1]) + f" and {columns[-1]!r}"
