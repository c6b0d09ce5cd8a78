"""(n, t)-closeness by trying all boxes, in fractions: a twin of the search that shares nothing with
it. It reads labels as texts, and counts a class where each of its labels lies in the box's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

from oracle.distances import distance, shares
from oracle.labels import ends, members

Label = str | None
Labels = tuple[Label, ...]


def lies_in(label: Label, box: Label, kind: str, paths: Sequence[Sequence[str]] = ()) -> bool:
    """Whether a label lies in another. kind: number, set, tree or value."""
    if box == "*" or label == box:
        return True
    if label is None or box is None or label == "*":
        return False
    if kind == "number":
        (low, high), (first, last) = ends(label), ends(box)
        return first <= low and high <= last
    if kind == "set":
        return members(label) <= members(box)
    under = [{path[0] for path in paths if node in path} for node in (label, box)]
    return kind == "tree" and under[0] <= under[1]


def boxes_around(
    labels: Sequence[Label],
    kind: str,
    paths: Sequence[Sequence[str]] = (),
) -> set[Label]:
    """All labels of natural boxes on an axis where these are published."""
    known = [label for label in labels if label not in (None, "*")]
    boxes: set[Label] = {*labels, "*"}
    if kind == "number":
        texts = [end for label in known for end in zip(ends(label), ("[(", "])"), strict=True)]
        lows = {end for end, side in texts if side == "[("}
        highs = {end for end, side in texts if side == "])"}
        for low, high in product(lows, highs):
            if low <= high:
                boxes.add(f"{'[('[low[1]]}{low[0]}, {high[0]}{'])'[-high[1]]}")
    elif kind == "set":
        values = sorted({value for label in known for value in members(label)})
        for size in range(1, len(values) + 1):
            boxes |= {"{" + ", ".join(some) + "}" for some in combinations(values, size)}
    elif kind == "tree":
        boxes |= {node for path in paths for node in path}
    return boxes


class Twin:
    """classes: the records of each by value, by labels. kinds: of the quasi-identifiers, with the
    paths of a tree.
    """

    def __init__(
        self,
        classes: Mapping[Labels, Counter],
        kinds: Sequence[tuple[str, Sequence[Sequence[str]]]],
        values: Sequence[str],
        n: int,
        t: Fraction,
        far: str = "equal",
    ) -> None:
        self.classes, self.kinds, self.values, self.n, self.t, self.far = (
            classes,
            kinds,
            values,
            n,
            t,
            far,
        )

    def inside(self, box: Labels) -> list[Labels]:
        """The classes in a box."""
        return [
            labels
            for labels in self.classes
            if all(
                lies_in(label, wide, *kind)
                for label, wide, kind in zip(labels, box, self.kinds, strict=True)
            )
        ]

    def emd(self, labels: Labels, box: Labels) -> Fraction | None:
        """How far a class is from a box that it lies in, and that has n records."""
        held = self.inside(box)
        whole = sum((self.classes[one] for one in held), Counter())
        if labels not in held or whole.total() < self.n:
            return None
        return distance(
            shares(self.classes[labels]),
            shares(whole),
            self.values if self.far == "ordered" else "equal",
        )

    def proves(self, labels: Labels, box: Labels) -> bool:
        emd = self.emd(labels, box)
        return emd is not None and emd <= self.t

    def provable(self, labels: Labels) -> bool:
        """Whether some box proves a class."""
        published = list(zip(*self.classes, strict=True))
        around = [
            [box for box in boxes_around(column, *kind) if lies_in(label, box, *kind)]
            for label, column, kind in zip(labels, published, self.kinds, strict=True)
        ]
        return any(self.proves(labels, box) for box in product(*around))

    @staticmethod
    def read(told: str, names: Sequence[str]) -> Labels:
        """The labels of a box that is told as `age=[20, 29], sex=*`."""
        match = re.fullmatch(", ".join(f"{name}=(.*)" for name in names), told)
        assert match is not None
        return tuple(None if label == "missing" else label for label in match.groups())
