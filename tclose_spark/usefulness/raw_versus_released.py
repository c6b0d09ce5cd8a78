"""The raw rows beside the release, for the internal report.

It is measured on a sample of rows with their labels (`LinkedSample`); their groups are counted in
the whole table. All figures are internal.

For comparison, the groups of the raw table give what an adversary who knows a person's
quasi-identifiers learns from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tclose_spark.in_memory.release import PublishedClasses, Released
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.run import Run
from tclose_spark.measures.disclosure.rare_cells import RareCells, rare_cells
from tclose_spark.measures.disclosure.reidentification import (
    Distances,
    Linkage,
    link,
    of_numbers,
    of_values,
)
from tclose_spark.measures.disclosure.special_uniques import SpecialUniques, special_uniques
from tclose_spark.measures.loss.query_error import CoveredRanges
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Frequencies
from tclose_spark.options.linked.maker import LinkedRows, read_linked_rows
from tclose_spark.options.suppression.released_values import public_labels
from tclose_spark.report.internal import GroupFigures, RawFigures
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.area import LINKED_SAMPLE, encoded_table, read_profile
from tclose_spark.table.arrays import FloatArray, HashArray, IntArray
from tclose_spark.table.dictionaries import group_equal
from tclose_spark.table.domains import Profile
from tclose_spark.table.labels import MISSING, decode_numbers
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import LocalRows, Tally, TooManyKeysError
from tclose_spark.usefulness.cross_tables import CrossTable, Mean, cross_tables, means
from tclose_spark.usefulness.queries import QueryError, spread_labels
from tclose_spark.usefulness.utility_measures import (
    MOST_VALUES,
    UtilityMeasures,
    is_installed,
    predicted,
)

LARGEST_UNIQUE = 3  # quasi-identifiers that make a row unique
THRESHOLDS = (3, 3, 3)  # rows of a cell, by the number of its quasi-identifiers
MOST_CELLED = 1_000  # combinations whose cells are counted


@dataclass(frozen=True, kw_only=True)
class RawVersusReleased:
    """Figures of the internal report.

    rows, suppressed: numbers of sampled rows, of `whole` in the table.
    groups: None if they are too many to count.
    worth: the utility measures; those of a classifier only if one can be trained.
    uniques: special uniques among all sampled rows; None if a person may have several rows.
    cells: of combinations, among the same rows; None likewise.
    linkage: of the first sampled rows with the classes of all.
    target: the attribute to predict. why_no_classifier: empty if there is one.
    """

    rows: int
    suppressed: int
    whole: int
    groups: RawGroups | None
    means: Sequence[Mean] = ()
    tables: Sequence[CrossTable] = ()
    worth: dict[str, float] = field(default_factory=dict)
    target: str | None = None
    why_no_classifier: str = ""
    uniques: SpecialUniques | None = None
    cells: RareCells | None = None
    linkage: Linkage | None = None

    def to_json(self) -> RawFigures:
        """As JSON. Of each sensitive attribute only the cross table with the strongest association
        is whole.
        """
        strongest = {
            a: max(of, key=lambda one: one.raw_v) for a, of in self._by_attribute().items()
        }
        return {
            "rows": self.rows,
            "suppressed": self.suppressed,
            "whole": self.whole,
            "worth": self.worth,
            "target": self.target,
            "why_no_classifier": self.why_no_classifier,
            "groups": None if self.groups is None else self.groups.to_json(),
            "uniques": None if self.uniques is None else asdict(self.uniques),
            "cells": None if self.cells is None else asdict(self.cells),
            "linkage": None if self.linkage is None else asdict(self.linkage),
            "means": [asdict(one) for one in self.means],
            "associations": [
                {
                    "quasi": one.quasi,
                    "sensitive": one.sensitive,
                    "raw": one.raw_v,
                    "released": one.released_v,
                    "moved": one.moved,
                }
                for one in self.tables
            ],
            "tables": [
                {**asdict(one), "raw": one.raw.tolist(), "released": one.released.tolist()}
                for one in strongest.values()
            ],
        }

    def _by_attribute(self) -> dict[str, list[CrossTable]]:
        found: dict[str, list[CrossTable]] = {}
        for one in self.tables:
            found.setdefault(one.sensitive, []).append(one)
        return found


def singled_out(
    rows: Rows,
    attributes: ResolvedAttributes,
) -> tuple[SpecialUniques | None, RareCells | None]:
    """The special uniques and the cells of these rows."""
    columns = {
        q.name: codes for q, codes in zip(attributes.quasi_identifiers, rows.quasi, strict=True)
    }
    counts = np.ones(len(rows), dtype=np.int64)
    cells = rare_cells(columns, counts, THRESHOLDS[: len(columns)], most=MOST_CELLED)
    return special_uniques(columns, counts, LARGEST_UNIQUE), cells


MOST_LINKED = 1_000  # of the sampled rows


def linkage_of(attributes: ResolvedAttributes, rows: Rows, classes: PublishedClasses) -> Linkage:
    """The linkage of the first of these rows with the classes of all of them."""
    first = rows.take(np.arange(min(len(rows), MOST_LINKED)))
    own = classes.of_row[: len(first)]
    distances = list(_distances(attributes, first, classes))
    every = np.arange(len(classes.sizes))
    return link(distances, lambda places: own[places][:, None] == every, len(first), classes.sizes)


def _distances(
    attributes: ResolvedAttributes,
    rows: Rows,
    classes: PublishedClasses,
) -> Iterator[Distances]:
    """The distances by each quasi-identifier."""
    for q, codes in zip(attributes.quasi_identifiers, rows.quasi, strict=True):
        spread, label = spread_labels(q, classes.labels[q.name])
        if q.domain.kind != "category":
            assert isinstance(spread, CoveredRanges)
            values = (
                decode_numbers(codes) if q.domain.kind == "double" else codes.astype(np.float64)
            )
            yield of_numbers(
                np.where(codes == MISSING, np.nan, values),
                spread.low[label],
                spread.high[label],
            )
            continue
        known, of_row = np.unique(codes, return_inverse=True)
        shares = np.stack([spread.shares(code, code) for code in known.tolist()])
        with np.errstate(divide="ignore"):
            widths = np.where(
                shares == 1,
                0.0,
                np.minimum(1 / (shares * len(q.domain.values)), 1.0),
            )
        yield of_values(widths, of_row, label)


def raw_versus_released(run: Run) -> RawFigures | None:
    """Raw rows of a staged release beside their published values; None if none could be drawn."""
    profile = read_profile(run)
    linked = run.staged(
        LINKED_SAMPLE,
        lambda text: read_linked_rows(text, profile, run.spec.release.is_exact),
    )
    if linked is None:
        return None
    rows = Rows.concatenate([linked.rows, linked.suppressed])
    whole = LocalRows(rows) if len(rows) == profile.rows else encoded_table(run, profile)
    trees = public_labels(run.spec, run.hierarchies, run.public_hierarchies)
    attributes = ResolvedAttributes.of(run.spec.attributes, profile, trees, run.spec.privacy.n)
    return measure_raw_versus_released(
        linked,
        profile,
        attributes,
        run.spec,
        whole.frequencies,
    ).to_json()


def measure_raw_versus_released(
    linked: LinkedRows,
    profile: Profile,
    attributes: ResolvedAttributes,
    spec: ReleaseSpec,
    frequencies: Frequencies,
) -> RawVersusReleased:
    """The figures of these rows. frequencies: counts rows of the whole table."""
    everyone = Rows.concatenate([linked.rows, linked.suppressed])
    groups = raw_groups(everyone, frequencies, attributes, spec.privacy.k)
    if not len(linked.rows):
        return RawVersusReleased(
            rows=0,
            suppressed=len(everyone),
            whole=linked.whole,
            groups=groups,
        )
    if spec.release.is_exact:
        return _of_groups(linked, profile, attributes, groups)
    released = Released(rows=linked.rows, labels=linked.labels, suppressed=linked.suppressed)
    classes = PublishedClasses.of(released, spec)
    table = ComparedTable(profile=profile, rows=everyone, whole=linked.whole)
    worth = UtilityMeasures.of_table(table, attributes).of(released, classes, attributes)
    target = predicted(attributes)
    why = (
        "scikit-learn is not installed (the extra `analysis`)"
        if not is_installed()
        else f"no sensitive attribute has 2 to {MOST_VALUES} values"
        if target is None
        else "there are too few rows"
    )
    uniques = None
    cells = None
    if "person" not in spec.attributes.owners:
        uniques, cells = singled_out(everyone, attributes)
    return RawVersusReleased(
        rows=len(linked.rows),
        suppressed=len(linked.suppressed),
        whole=linked.whole,
        groups=groups,
        means=list(means(attributes.quasi_identifiers, linked.rows, classes)),
        tables=list(cross_tables(attributes, linked.rows, classes)),
        worth=worth,
        target=None if target is None else attributes.sensitive[target].name,
        why_no_classifier="" if "accuracy" in worth else why,
        uniques=uniques,
        cells=cells,
        linkage=linkage_of(attributes, linked.rows, classes),
    )


def _of_groups(
    linked: LinkedRows,
    profile: Profile,
    attributes: ResolvedAttributes,
    groups: RawGroups | None,
) -> RawVersusReleased:
    """The figures of exact quasi-identifiers. Their means and the classes' sensitive values are
    those of the input.
    """
    table = ComparedTable(profile=profile, rows=linked.rows, whole=linked.whole)
    of_row, _ = group_equal(linked.labels)
    uniques, cells = singled_out(linked.rows, attributes)
    return RawVersusReleased(
        rows=len(linked.rows),
        suppressed=0,
        whole=linked.whole,
        groups=groups,
        worth={**QueryError.of(table, attributes).of_groups(linked.rows, of_row, attributes)},
        why_no_classifier="the release has exact quasi-identifiers, and no sensitive value of a row",
        uniques=uniques,
        cells=cells,
    )


MOST_KEYS = 4_000_000  # pairs of group and sensitive tuple


@dataclass(frozen=True, kw_only=True)
class RawGroups:
    """Figures of some people, from all rows with the same raw quasi-identifiers (their group).

    alone, few: the shares of people whose group has one row, and fewer than k rows.
    chance: the mean chance to pick a person's row from the group.
    certain: by sensitive attribute, the share of people whose group has one value.
    guess: by sensitive attribute, the mean share of the most frequent value in the group.
    """

    people: int
    alone: float
    few: float
    chance: float
    certain: dict[str, float]
    guess: dict[str, float]

    def to_json(self) -> GroupFigures:
        """As JSON."""
        return {
            "people": self.people,
            "alone": self.alone,
            "few": self.few,
            "chance": self.chance,
            "certain": self.certain,
            "guess": self.guess,
        }


def raw_groups(
    rows: Rows,
    frequencies: Frequencies,
    attributes: ResolvedAttributes,
    k: int,
) -> RawGroups | None:
    """The groups of these people among all rows, counted in one scan; None if they have too many
    sensitive values.
    """
    groups, person = np.unique(_quasi_hash(rows), return_inverse=True)
    try:
        counted = frequencies(_counting(groups), MOST_KEYS)
    except TooManyKeysError:
        return None
    owner, cell = counted.keys
    size = np.bincount(owner, weights=counted.rows, minlength=len(groups))
    certain = {}
    guess = {}
    for a in attributes.sensitive:
        values = Tally.of(np.stack([owner, attributes.cells[cell, a.column]]), counted.rows)
        most: IntArray = np.zeros(len(groups), dtype=np.int64)
        np.maximum.at(most, values.keys[0], values.rows)
        share: FloatArray = most / size
        certain[a.name], guess[a.name] = _mean((share == 1)[person]), _mean(share[person])
    return RawGroups(
        people=len(rows),
        alone=_mean((size == 1)[person]),
        few=_mean((size < k)[person]),
        chance=_mean((1 / size)[person]),
        certain=certain,
        guess=guess,
    )


def _mean(of_people: Any) -> float:
    return float(np.mean(of_people))


def _quasi_hash(rows: Rows) -> HashArray:
    """A 64-bit hash of the quasi-identifiers of each row; two groups hardly ever share one."""
    mixed = np.zeros(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for codes in rows.quasi:
            mixed = (mixed ^ codes.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
    return mixed


def _counting(groups: HashArray) -> Callable[[Rows], Tally]:
    """A function that counts the rows of the groups by (group, cell). groups: their hashes,
    ascending.
    """

    def count(rows: Rows) -> Tally:
        hashes = _quasi_hash(rows)
        place = np.minimum(np.searchsorted(groups, hashes), len(groups) - 1)
        here = np.flatnonzero(groups[place] == hashes)
        return Tally.of(np.stack([place[here].astype(np.int64), rows.cell[here]]))

    return count
