"""The published labels of a quasi-identifier as stretches of ranks along an axis, so that one label
lies in a wider one if its stretch does.

Numbers and intervals are ranked by their ends, exactly, and an end that is open lies before or
behind its number; the members of sets by their order; the labels of a hierarchy by its leaves;
without a hierarchy each value is a leaf. A missing value is beside all others. `*` holds
everything, the missing value too. So does a text that no one can place, a word among numbers or
another tool's `476**`: no box but `*` holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from tclose_spark.measures.loss.information_loss import LabelLoss, set_members
from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.domains import by_value
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.ranges import as_interval, read_interval

Label = tuple[str | None, ...]
"""What a class publishes of a quasi-identifier: a text, or two bounds."""
End = tuple[Fraction, int]
"""A number, and 1 or -1 where an interval begins behind it or ends before it."""
MOST_WRITTEN = 12  # members of a set that its name lists


@dataclass(frozen=True)
class LabelAxis:
    """The labels of a quasi-identifier along an axis.

    low, high: the ends of each class's label, included, shape (classes,): ranks of 0..ranks - 1;
        both -1 of a missing value; -1 and `ranks` of what holds everything.
    nodes: of a tree the node of each rank at each height, up to `*`, each of shape (ranks,); () of
        others.
    write: what a reader calls the stretch between two ranks.

    >>> ages = LabelAxis.of([pa.chunked_array([["[20, 29]", "30", None, "*"]])], LabelLoss(numeric=True))
    >>> ages.low.tolist(), ages.high.tolist(), ages.name(0, 2), ages.name(-1, 3)
    ([0, 2, -1, -1], [1, 2, -1, 3], '[20, 30]', '*')
    """

    low: IntArray
    high: IntArray
    ranks: int
    nodes: tuple[IntArray, ...] = ()
    write: Callable[[int, int], str] = "{}..{}".format

    @staticmethod
    def of(columns: Sequence[pa.ChunkedArray], loss: LabelLoss) -> LabelAxis:
        """The axis of labels in the published columns of a quasi-identifier, one or two, a value a
        class.
        """
        place, labels = distinct_labels(columns)
        if loss.sets:
            axis = _of_sets(labels, loss)
        elif loss.numeric:
            axis = _of_numbers(labels, loss)
        else:
            axis = (
                _of_values(labels, loss)
                if loss.hierarchy is None
                else _of_tree(labels, loss, loss.hierarchy)
            )
        return LabelAxis(axis.low[place], axis.high[place], axis.ranks, axis.nodes, axis.write)

    def name(self, low: int, high: int) -> str:
        """The label of a box between these ranks."""
        return "missing" if high == -1 else ROOT if low == -1 else self.write(low, high)

    @cached_property
    def heights(self) -> int:
        """How many steps widen every label to `*`: to the next node of a tree, else to twice as
        many ranks.
        """
        return len(self.nodes) - 1 if self.nodes else max(self.ranks - 1, 0).bit_length() + 1

    def widened(self, which: IntArray, height: int) -> tuple[IntArray, IntArray]:
        """The ends of the labels of some classes, widened by so many steps, shape (len(which),)
        each. A missing value becomes `*` with the last step.
        """
        low = self.low[which]
        high = self.high[which]
        if height >= self.heights:
            return np.full_like(low, -1), np.full_like(high, self.ranks)
        if height == 0:
            return low, high
        known = low >= 0
        if self.nodes:
            node = self.nodes[height]
            first = np.flatnonzero(np.diff(node, prepend=-1))
            last = np.append(first[1:], len(node)) - 1
            low[known], high[known] = first[node[low[known]]], last[node[high[known]]]
        else:
            step = (1 << height) - 1
            low[known] = np.maximum(low[known] - step, 0)
            high[known] = np.minimum(high[known] + step, self.ranks - 1)
        return low, high


def distinct_labels(parts: Sequence[pa.ChunkedArray]) -> tuple[IntArray, list[Label]]:
    """(the place of each class's label among the distinct ones, these)."""
    texts = [coded(part.combine_chunks()) for part in parts]
    pairs, place = np.unique(
        np.stack([codes_of(text) for text in texts]),
        axis=1,
        return_inverse=True,
    )
    known = [text.dictionary.to_pylist() for text in texts]
    return place.reshape(-1), [
        tuple(k[c] for k, c in zip(known, pair, strict=True)) for pair in pairs.T.tolist()
    ]


def leaf_stretches(
    labels: Sequence[Label],
    hierarchy: Hierarchy | None,
) -> tuple[IntArray, IntArray]:
    """The first and the last leaf under each label, in the order of the hierarchy; without one each
    value is a leaf. A missing value is -1.
    """
    paths = [(label[0],) for label in labels] if hierarchy is None else hierarchy.paths
    under: dict[str | None, tuple[int, int]] = {}
    for leaf, path in enumerate(paths):
        for node in path:
            under[node] = (under.get(node, (leaf, leaf))[0], leaf)
    under |= {None: (-1, -1), ROOT: (-1, len(paths))}
    stretches = np.array([under[label[0]] for label in labels], dtype=np.int64)
    return stretches[:, 0].copy(), stretches[:, 1].copy()


def _of_tree(labels: Sequence[Label], loss: LabelLoss, tree: Hierarchy) -> LabelAxis:
    labels = [(ROOT if loss.covers_all(label[0]) else label[0],) for label in labels]
    root = tree.paths[0].index(ROOT)

    def write(low: int, high: int) -> str:
        height, leaf = tree.common_ancestors(np.array([low]), np.array([high]))
        return tree.paths[int(leaf[0])][int(height[0])]

    return LabelAxis(*leaf_stretches(labels, tree), len(tree.paths), tree.nodes[: root + 1], write)


def _of_values(labels: Sequence[Label], loss: LabelLoss) -> LabelAxis:
    labels = [(None if label[0] is None else _placed(label[0], loss),) for label in labels]
    values = [str(label[0]) for label in labels]
    nodes = (np.arange(len(values)), np.zeros(len(values), dtype=np.int64))
    low, high = leaf_stretches(labels, None)
    return LabelAxis(
        low,
        high,
        len(values),
        nodes,
        lambda low, high: values[low] if low == high else ROOT,
    )


def _of_numbers(labels: Sequence[Label], loss: LabelLoss) -> LabelAxis:
    ends = [_ends(label, loss) for label in labels]
    called = dict(end for pair in ends if pair is not None for end in pair)
    numbers = sorted(called)
    rank = {end: place for place, end in enumerate(numbers)}

    def write(low: int, high: int) -> str:
        if low == high:
            return called[numbers[low]]
        opens = "(" if numbers[low][1] else "["
        closes = ")" if numbers[high][1] else "]"
        return f"{opens}{called[numbers[low]]}, {called[numbers[high]]}{closes}"

    held = [None if pair is None else [rank[end] for end, _ in pair] for pair in ends]
    return LabelAxis(*_stretches(labels, held, len(numbers)), len(numbers), (), write)


def _placed(label: str, loss: LabelLoss) -> str:
    """A label; `*` for one that looks generalized to an unknown extent."""
    return ROOT if loss.covers_all(label) or loss.is_unclear(label) else label


def _of_sets(labels: Sequence[Label], loss: LabelLoss) -> LabelAxis:
    named = [None if label[0] is None else set_members(_placed(label[0], loss)) for label in labels]
    members = [None if held is None or ROOT in held else held for held in named]
    values = by_value(list({value for held in members if held is not None for value in held}))
    rank = {value: place for place, value in enumerate(values)}

    def write(low: int, high: int) -> str:
        if low == high:
            return values[low]
        if high - low < MOST_WRITTEN:
            return "{" + ", ".join(map(_quoted, values[low : high + 1])) + "}"
        return "{" + f"{_quoted(values[low])}, ..., {_quoted(values[high])}" + "}"

    held = [None if of is None else [rank[value] for value in of] for of in members]
    return LabelAxis(*_stretches(labels, held, len(values)), len(values), (), write)


def _stretches(
    labels: Sequence[Label],
    held: Sequence[list[int] | None],
    ranks: int,
) -> tuple[IntArray, IntArray]:
    """The ends of labels that hold these ranks, None where they are missing or hold everything."""
    low = np.full(len(labels), -1)
    high = np.full(len(labels), ranks)
    for i, (label, of) in enumerate(zip(labels, held, strict=True)):
        if of is not None:
            low[i], high[i] = min(of), max(of)
        elif all(part is None for part in label):
            high[i] = -1
    return low, high


def _ends(label: Label, loss: LabelLoss) -> tuple[tuple[End, str], tuple[End, str]] | None:
    """Both ends of a label, and how it writes them; None of what is no number, and of bounds in the
    wrong order.
    """
    if None in label or ROOT in label:
        return None
    texts = [loss.in_full(str(part)) for part in label]
    try:
        if len(texts) == 1:
            one = read_interval(texts[0])
            low = (one.low, int(one.open_low))
            high = (one.high, -int(one.open_high))
        else:
            low, high = ((parse_quantity(text), 0) for text in texts)
    except ValueError:
        return None
    return None if low > high else ((low, _written(texts[0])[0]), (high, _written(texts[-1])[-1]))


def _written(text: str) -> list[str]:
    """The ends of a label as it writes them: of an interval or a bin two, of a number itself.

    >>> _written("[2024-01-01, 2024-01-31]"), _written("7")
    (['2024-01-01', '2024-01-31'], ['7'])
    """
    return [end.strip() for end in as_interval(text).strip("[]() ").replace(";", ",").split(",")]


def _quoted(value: str) -> str:
    """A member of a set as its label writes it."""
    plain = value and value == value.strip() and not set(value) & set(',{}"\r\n')
    return value if plain else '"' + value.replace('"', '""') + '"'
