"""The chance that a member of a household is recognized, from rows that say whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.tallies import texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, gather, map_batches, select
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.measures.disclosure.population import HouseholdRisk, individual_risks
from tclose_spark.runfile.privacy import Population
from tclose_spark.table.arrays import BoolArray, FloatArray, IntArray
from tclose_spark.table.columns.weights import MILLIONTHS, millionths
from tclose_spark.table.fingerprint import content_hash, spread
from tclose_spark.table.people import HOUSEHOLD, whole_people

CLASS = "class"
WEIGHT = "weight"
KEYED = pa.schema([(name, pa.int64()) for name in (CLASS, HOUSEHOLD, WEIGHT)])
MEMBERS = pa.schema([(HOUSEHOLD, pa.int64()), ("f", pa.int64()), ("chance", pa.float64())])
FIGURES = pa.schema(
    [
        ("maximum", pa.string()),
        *((n, pa.int64()) for n in ("high", "low", "above", "members", "n", "unique")),
    ],
)
HALF = 1 << 31
"""Chances are added up in units of 1 / HALF^2, as integers of two halves: a sum of doubles depends
on its order.
"""
UPWARD = 2.0**-48  # relative, more than the error of a risk as a double
NEAR = 1e-9  # relative: risks nearer to each other than this are compared as fractions
MOST_EXACT = 1000  # members up to whom they are


def household_risk(
    rows: Table,
    labels: Sequence[str],
    population: Population | None,
    threshold: Fraction,
) -> HouseholdRisk:
    """The risk of households. rows: with these labels, the weight of the population if it is one,
    HOUSEHOLD and SUPPRESSED. One shuffle by class, one by household.
    """
    weight = None if population is None else population.weight
    fraction = None if population is None else population.fraction
    columns = [*labels, *([] if weight is None else [weight]), HOUSEHOLD, SUPPRESSED]

    def keyed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = batch.filter(pc.invert(batch[SUPPRESSED]))
            weights = (
                np.zeros(len(kept), dtype=np.int64) if weight is None else millionths(kept[weight])
            )
            hashed = content_hash([texts(column) for column in kept.columns[: len(labels)]]).view(
                np.int64,
            )
            yield pa.RecordBatch.from_arrays(
                [pa.array(hashed), kept[HOUSEHOLD], pa.array(weights)],
                schema=KEYED,
            )

    def members(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches, CLASS):
            if batch.num_rows:
                _, of, f = np.unique(batch[CLASS], return_inverse=True, return_counts=True)
                chance = 1 / f
                if fraction is not None:
                    chance = individual_risks(f, np.full(len(f), float(fraction)))
                elif weight is not None:
                    stood_for = np.zeros(len(f), dtype=np.int64)
                    np.add.at(stood_for, of, batch[WEIGHT].to_numpy())
                    chance = individual_risks(
                        f,
                        f * MILLIONTHS / np.maximum(stood_for, f * MILLIONTHS),
                    )
                made = [pa.array(f[of]), pa.array(chance[of])]
                yield pa.RecordBatch.from_arrays([batch[HOUSEHOLD], *made], schema=MEMBERS)

    by_class = gather(map_batches(select(rows, columns), keyed, KEYED), [CLASS])
    by_household = gather(map_batches(by_class, members, MEMBERS), [HOUSEHOLD])
    add_up = partial(_add_up, threshold=threshold, of_sizes=population is None)
    found = collect(map_batches(by_household, add_up, FIGURES))
    high, low, above, people, n, unique = (
        sum(found[name].to_pylist()) for name in FIGURES.names[1:]
    )
    return HouseholdRisk(
        maximum=max(_read(text) for text in found["maximum"].to_pylist()),
        mean=Fraction(high * HALF + low, HALF * HALF * people),
        share=Fraction(above, people),
        estimate=population is not None and population.is_estimated,
        households=n,
        unique=Fraction(unique, n),
    )


def _add_up(
    batches: Iterable[pa.RecordBatch],
    threshold: Fraction,
    of_sizes: bool,
) -> Iterator[pa.RecordBatch]:
    """The figures of some households, from rows of MEMBERS. of_sizes: whether chances are exactly 1
    / f.
    """
    for batch in whole_people(batches, HOUSEHOLD):
        if batch.num_rows:
            figures = _Households.of(batch, of_sizes).figures(threshold)
            yield pa.RecordBatch.from_arrays([pa.array([one]) for one in figures], schema=FIGURES)


class _Households(NamedTuple):
    """Some households, shape (households,), and their members, shape (members,), ordered by
    household.

    risk: as a double. starts, n: the place of the first member, and how many there are. alone:
        whether one is alone.
    of_member: the size of the class or the chance of each member, by which the risk is known
        exactly.
    """

    risk: FloatArray
    starts: IntArray
    n: IntArray
    alone: BoolArray
    of_member: IntArray | FloatArray

    @staticmethod
    def of(batch: pa.RecordBatch, of_sizes: bool) -> _Households:
        """Those of rows of MEMBERS."""
        home, f, chance = (column.fill_null(0).to_numpy() for column in batch.columns)
        order = np.lexsort((f, chance, home))
        home = home[order]
        f = f[order]
        chance = chance[order]
        starts = np.flatnonzero(np.append(True, home[1:] != home[:-1]))
        risk = -np.expm1(np.add.reduceat(np.log1p(-np.where(chance < 1, chance, 0.0)), starts))
        risk[np.maximum.reduceat(chance, starts) >= 1] = 1.0
        alone = np.minimum.reduceat(f, starts) == 1
        return _Households(
            risk,
            starts,
            np.diff(starts, append=len(home)),
            alone,
            f if of_sizes else chance,
        )

    def exactly(self, here: BoolArray) -> tuple[list[Fraction], IntArray]:
        """(the exact risks of these households, without repetition, the place there of each
        household's own).
        """
        alike = np.add.reduceat(spread(self.of_member.view(np.uint64)), self.starts)[here]
        _, first, own = np.unique(alike, return_index=True, return_inverse=True)
        risks = []
        for place in np.flatnonzero(here)[first].tolist():
            members = self.of_member[self.starts[place] :][: self.n[place]].tolist()
            risks.append(_exact_risk(members, float(self.risk[place])))
        return risks, own

    def _units(self) -> IntArray:
        """The risks, rounded up, in units of 1 / HALF^2."""
        units: IntArray = np.ceil(np.minimum(self.risk * (1 + UPWARD), 1.0) * HALF * HALF).astype(
            np.int64,
        )
        if self.of_member.dtype == np.int64:
            units[self.n == 1] = -(-HALF * HALF // self.of_member[self.starts[self.n == 1]])
        return units

    def figures(self, threshold: Fraction) -> list[Any]:
        """A row of FIGURES."""
        limit = float(threshold)
        units = self._units()
        above = self.risk > limit
        near = np.abs(self.risk - limit) <= NEAR * limit
        if near.any():
            risks, own = self.exactly(near)
            above[near] = np.array([risk > threshold for risk in risks])[own]
        worst = max(self.exactly(self.risk >= self.risk.max() * (1 - NEAR))[0])
        added = [
            (units // HALF) @ self.n,
            (units % HALF) @ self.n,
            self.n[above].sum(),
            self.n.sum(),
            len(self.n),
        ]
        return [
            f"{worst.numerator:x}/{worst.denominator:x}",
            *map(int, added),
            int(np.count_nonzero(self.alone)),
        ]


def _exact_risk(of_members: list[int] | list[float], about: float) -> Fraction:
    """1 less the product of 1 - r over the members. of_members: 1 / r as an integer, or r as a
    double.

    about: the risk as a double. That of very many members is an upper bound, made from it.
    """
    if 1 in of_members:
        return Fraction(1)
    if len(of_members) > MOST_EXACT:
        return Fraction(min(1.0, about * (1 + NEAR)))
    return 1 - prod(
        (1 - (Fraction(1, one) if isinstance(one, int) else Fraction(one)) for one in of_members),
        start=Fraction(1),
    )


def _read(text: str) -> Fraction:
    """A fraction in hexadecimal digits, of which Python reads any number."""
    numerator, denominator = (int(part, 16) for part in text.split("/"))
    return Fraction(numerator, denominator)
