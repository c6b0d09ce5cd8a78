"""Whether a table counts people instead of having a row for each: a cell for each combination of its other columns.

In a table of people, two rows agree by chance. In a table of counts, each combination is there once. Names decide
nothing alone: a column named as a count and combinations that avoid each other are both required.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tclose_spark.errors import InputError
from tclose_spark.suggesting.facts import ColumnFacts, TableFacts
from tclose_spark.suggesting.judging import SuggestedColumn
from tclose_spark.suggesting.unique_share import tuples
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.column_names.hints import COUNTED, words_of

MOST_VALUES = 0.2  # values of a dimension, a row
MOST_DIMENSIONS = 16
FEWEST_DIMENSIONS = 3  # one for each person and one for time are a panel
LEAST_EXPECTED = 30  # pairs of rows that agree by chance, below which nothing can be known
DIFFERENT = 0.99  # of the rows, from which they count as different
AVOIDED = 0.1  # of these pairs, at most so many agree


def require_people(columns: Sequence[SuggestedColumn], gathered: TableFacts) -> None:
    """Raises InputError if the table is one of counts."""
    counts = [one.name for one in columns if _counts(one.facts)]
    able = [one.facts for one in columns if one.role != "direct" and one.name not in counts]
    names = [facts.name for facts in able if _is_dimension(facts)][:MOST_DIMENSIONS]
    dimensions = _needed({name: gathered.codes[name] for name in names})
    if counts and len(dimensions) >= FEWEST_DIMENSIONS and avoid_each_other([*dimensions.values()]):
        raise InputError(
            f"input.path: a table of counts ({counts[0]!r}, by {len(dimensions)} columns whose combinations occur "
            "once), not of people; its small cells need a tool for tabular data, such as tau-Argus"
        )


def avoid_each_other(dimensions: Sequence[IntArray]) -> bool:
    """Whether far fewer pairs of rows agree in all dimensions than by chance, if each value were equally frequent.

    dimensions: a number for each row's value, from 0.

    >>> cells = np.arange(400)
    >>> avoid_each_other([cells // 40, cells // 4 % 10, cells % 4])
    True
    >>> draws = np.random.default_rng(1).integers(0, 400, 400)
    >>> avoid_each_other([draws // 40, draws // 4 % 10, draws % 4])
    False
    """
    rows = len(dimensions[0])
    sizes = [len(np.unique(codes)) for codes in dimensions]
    expected = rows * (rows - 1) / (2 * prod(sizes))
    times = np.unique(tuples(dimensions), return_counts=True)[1].astype(np.float64)
    agree = float((times * (times - 1) / 2).sum())
    return expected >= LEAST_EXPECTED and agree <= AVOIDED * expected


def _counts(facts: ColumnFacts) -> bool:
    """Whether a column is named as a count, and has whole numbers only, more than two."""
    named = bool(COUNTED & set(words_of(facts.name)))
    return named and facts.is_number and not facts.fractions and facts.distinct > 2


def _is_dimension(facts: ColumnFacts) -> bool:
    """Whether a column has few values, of which none is a fraction."""
    return 1 < facts.distinct <= MOST_VALUES * facts.sampled and not facts.fractions


def _needed(columns: Mapping[str, IntArray]) -> dict[str, IntArray]:
    """The columns without which rows would agree. Others follow from these, or differ between rows that differ anyway:
    the state of a county, the sex of a worker in a panel.
    """
    needed = dict(columns)
    for name in sorted(columns, key=lambda name: int(columns[name].max())):
        rest = [codes for other, codes in needed.items() if other != name]
        if rest and len(np.unique(tuples(rest))) >= DIFFERENT * len(columns[name]):
            del needed[name]
    return needed
