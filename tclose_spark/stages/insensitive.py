"""Checks of insensitive columns, which are published unchanged.

The profile checks each column by itself. Here all are checked together, since a street and a house number are an
address, and against the quasi-identifiers, since a town beside a generalized region undoes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tclose_spark.errors import InputError
from tclose_spark.io.spark.shuffles import sized_shuffles
from tclose_spark.io.tables.prepared import prepare
from tclose_spark.measures.loss.pair_widths import (
    NodeWidths,
    NumberWidths,
    PairWidths,
    combine,
    mean_width,
    share_taken_back,
)
from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.batches import column_places
from tclose_spark.stages.warnings import NEARLY_UNIQUE
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import Profile, QuasiDomain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

MOST_TAKEN_BACK = 0.5  # share of a quasi-identifier's width that insensitive columns may take back
SAMPLE = 200_000  # different records, about, on which it is measured
FEWEST_PAIRS = 30  # pairs of people with the same value that a sample needs
MOST_PAIRED = 20  # columns whose pairs are all tried; of more columns, the best one is extended

Columns = tuple[str, ...]


def guard_insensitive(
    table: DataFrame, spec: ReleaseSpec, profile: Profile, quasi: Sequence[ResolvedQuasi]
) -> dict[str, Any]:
    """What the insensitive columns of a raw table reveal; empty without such columns. One pass over the table. Columns
    in `allow_unique` are measured but never refused.

    Raises:
        InputError: if columns are nearly unique together, or take back more than MOST_TAKEN_BACK of a
        quasi-identifier's width.
    """
    attributes = spec.attributes
    if not attributes.insensitive_attributes:
        return {}
    guarded = [name for name in attributes.insensitive_attributes if name not in attributes.allow_unique]
    sample, tuples = _draw(table, spec, profile, guarded)
    if len(guarded) > 1 and tuples > NEARLY_UNIQUE * profile.rows:
        combined, distinct = _nearly_unique(table, spec, guarded, profile.rows)
        raise InputError(
            f"insensitive attributes {_listed(combined)} are nearly unique together (about {distinct} combinations in "
            f"{profile.rows} rows): published unchanged, they link rows to people; drop one, make it coarser, "
            "give it another role, or name it in attributes.allow_unique"
        )
    figures = _taken_back(sample, attributes.insensitive_attributes, quasi, guarded)
    refused = [
        figure for figure in figures if set(figure["columns"]) <= set(guarded) and figure["share"] > MOST_TAKEN_BACK
    ]
    if refused:
        raise InputError(_refusal(sample, quasi, refused))
    return {"combinations": tuples, "taken_back": figures}


@dataclass(frozen=True)
class Sample:
    """Different records, with the number of rows like each as weight. quasi: prepared columns. insensitive: codes of
    values, by column.
    """

    quasi: Sequence[pa.ChunkedArray]
    insensitive: Mapping[str, IntArray]
    weight: IntArray
    thinned: bool

    def taken_back(self, widths: PairWidths, together: Sequence[Columns]) -> list[float | None]:
        """The share of a quasi-identifier's width that each set of columns takes back; None if the sample is too
        small.
        """
        fewest = FEWEST_PAIRS if self.thinned else 1
        anyone = mean_width(widths, np.zeros_like(self.weight), self.weight, fewest)
        same = [
            mean_width(widths, combine([self.insensitive[name] for name in names]), self.weight, fewest)
            for names in together
        ]
        return [share_taken_back(width, anyone) for width in same]


def _draw(table: DataFrame, spec: ReleaseSpec, profile: Profile, guarded: Sequence[str]) -> tuple[Sample, int]:
    """About SAMPLE different records, drawn by content, and the number of tuples of the guarded columns in all rows."""
    quasi, insensitive = list(spec.attributes.quasi_identifiers), list(spec.attributes.insensitive_attributes)
    place = column_places(spec)
    coded = prepare(table, spec).select(
        *[F.col(place[name]).alias(f"q{i}") for i, name in enumerate(quasi)],
        *[F.xxhash64(place[name]).alias(f"i{i}") for i, name in enumerate(insensitive)],
    )
    share = min(1.0, SAMPLE / profile.distinct_rows)
    observation = Observation()
    tuples = _distinct([F.col(f"i{insensitive.index(name)}") for name in guarded] or [F.lit(0)]).alias("tuples")
    drawn = coded.observe(observation, tuples)
    if share < 1:
        drawn = drawn.where(F.xxhash64(*coded.columns).bitwiseAND(F.lit(2**31 - 1)) < int(share * 2**31))
    with sized_shuffles(table.sparkSession, SAMPLE):
        counted = drawn.groupBy(*coded.columns).agg(F.count(F.lit(1)).alias("n")).toArrow()
    counted = counted.sort_by([(name, "ascending") for name in coded.columns])
    numbers = [np.unique(counted[f"i{i}"].to_numpy(), return_inverse=True)[1] for i in range(len(insensitive))]
    sample = Sample(
        [counted[f"q{i}"] for i in range(len(quasi))],
        dict(zip(insensitive, numbers, strict=True)),
        counted["n"].to_numpy(),
        share < 1,
    )
    return sample, min(int(observation.get["tuples"]), profile.rows)


def _distinct(columns: Sequence[Column]) -> Column:
    """The estimated number of tuples. Each column is hashed by itself first, so that a NULL keeps its place."""
    return F.approx_count_distinct(F.xxhash64(*[F.xxhash64(column) for column in columns]), 0.02)


def _nearly_unique(table: DataFrame, spec: ReleaseSpec, guarded: Sequence[str], rows: int) -> tuple[Columns, int]:
    """A small set of columns that are nearly unique together, and their estimated tuples."""
    people, place = prepare(table, spec), column_places(spec)

    def count(candidates: Sequence[Columns]) -> list[float]:
        figures = [
            _distinct([F.col(place[name]) for name in names]).alias(str(i)) for i, names in enumerate(candidates)
        ]
        return [float(n) for n in people.agg(*figures).collect()[0]]

    smallest = smallest_set(guarded, count, NEARLY_UNIQUE * rows)
    return smallest, min(int(count([smallest])[0]), rows)


def _taken_back(
    sample: Sample, insensitive: Sequence[str], quasi: Sequence[ResolvedQuasi], guarded: Sequence[str]
) -> list[dict[str, Any]]:
    """The shares of each quasi-identifier that each insensitive column, and all guarded ones, take back."""
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


def _refusal(sample: Sample, quasi: Sequence[ResolvedQuasi], refused: Sequence[Mapping[str, Any]]) -> str:
    """The message about the fewest columns that take back too much."""
    worst = min(refused, key=lambda figure: (len(figure["columns"]), -figure["share"]))
    place, undone = next((i, q) for i, q in enumerate(quasi) if q.name == worst["quasi_identifier"])
    columns, share = tuple(worst["columns"]), worst["share"]
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
        f"{several} back {share:.0%} of the width of quasi-identifier {worst['quasi_identifier']!r} (at most "
        f"{MOST_TAKEN_BACK:.0%} are allowed): published unchanged, they undo its generalization; drop one, make it "
        "coarser, make it a quasi-identifier, or name it in attributes.allow_unique"
    )


def pair_widths(domain: QuasiDomain, column: pa.ChunkedArray, hierarchy: Hierarchy | None) -> PairWidths:
    """The widths between records of a prepared column: by the range of numbers, by the tree, or 0 for equal values and
    1 for others.
    """
    if domain.kind != "category":
        numbers = pc.cast(column, pa.float64(), safe=False).to_numpy()
        extent = domain.high / 2 - domain.low / 2  # halves, so that no range is too large for a double
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


def smallest_set(columns: Sequence[str], measure: Callable[[Sequence[Columns]], list[float]], limit: float) -> Columns:
    """A small set of columns whose figure is above the limit, if that of all columns is. Tries single columns, pairs
    (of at most MOST_PAIRED columns), then the best of these with one more column at a time.
    """
    sizes = (1, 2) if len(columns) <= MOST_PAIRED else (1,)
    best: Columns = ()
    for candidates in ([*combinations(columns, size)] for size in sizes):
        best, figure = _best(candidates, measure)
        if figure > limit:
            return best
    while len(best) < len(columns):
        best, figure = _best(
            [tuple(c for c in columns if c in best or c == new) for new in columns if new not in best], measure
        )
        if figure > limit:
            return best
    return best


def _best(candidates: Sequence[Columns], measure: Callable[[Sequence[Columns]], list[float]]) -> tuple[Columns, float]:
    figures = measure(candidates)
    place = int(np.argmax(figures))
    return candidates[place], figures[place]


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in columns[:-1]) + f" and {columns[-1]!r}"
