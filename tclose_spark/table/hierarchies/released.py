"""Built hierarchies after suppression: no label and no leaf names a value that only suppressed rows
have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tclose_spark.errors import UnreachableError
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.hierarchies.builders import (
    are_plain,
    dates,
    intervals,
    name_group,
    prefixes,
)
from tclose_spark.table.hierarchies.hierarchy import MISSING_LEAF, ROOT, Hierarchy


@dataclass(frozen=True)
class ReleasedHierarchy:
    """A built hierarchy whose labels name released values only.

    in_place: every leaf, released or not, keeps its place, so codes stay valid. Only labels differ.
    public: its leaves are the released values, and the values that the run file names.
    """

    in_place: Hierarchy
    public: Hierarchy

    @staticmethod
    def of(
        builder: HierarchyBuilder,
        tree: Hierarchy,
        released: Collection[str],
        name: str,
    ) -> ReleasedHierarchy:
        """The hierarchy of a column whose released rows have these values.

        Common ancestors of two values stay the same. Levels at the bottom that no longer join any
        values are removed, so no distance grows. With `order`, the number of levels above them
        stays, and so depends on the input's number of values. With `prefix: N` above 1, how many
        characters each level keeps depends on the length of the input's longest value.

        Raises:
            UnreachableError: if no value is left.
        """
        named = {value for group in builder.grouped[0].values() for value in group} | {MISSING_LEAF}
        kept = [i for i, leaf in enumerate(tree.leaves) if leaf in released or leaf in named]
        if not any(tree.leaves[i] != MISSING_LEAF for i in kept):
            raise UnreachableError(
                f"{name}: no released row has a value; leave the column out, or suppress fewer rows",
            )
        labels = _labels(builder, tree, kept)
        paths = [
            (
                path[0],
                *(
                    labels.get((h, int(tree.nodes[h][i])), label)
                    for h, label in enumerate(path[1:-1], 1)
                ),
                ROOT,
            )
            for i, path in enumerate(tree.paths)
        ]
        left = [paths[i] for i in kept]
        empty = 0
        while empty + 1 < tree.height and all(path[empty + 1] == path[0] for path in left):
            empty += 1
        return ReleasedHierarchy(
            Hierarchy(tuple(paths)),
            Hierarchy(tuple(path[empty:] for path in left)),
        )

    def renames(self, tree: Hierarchy) -> bool:
        """Whether a released value has another label above it than in this tree."""
        old, new = ({path[0]: path for path in of.paths} for of in (tree, self.in_place))
        return any(old[leaf] != new[leaf] for leaf in self.public.leaves)


def _labels(
    builder: HierarchyBuilder,
    tree: Hierarchy,
    kept: Sequence[int],
) -> Mapping[tuple[int, int], str]:
    """New labels by (height, number) of the inner nodes above a kept leaf; nodes that keep their
    labels are absent.
    """
    values = [tree.leaves[i] for i in kept]
    if builder.order is not None:
        below: dict[tuple[int, int], list[str]] = {}
        for value, i in zip(values, kept, strict=True):
            for height in range(1, tree.height):
                below.setdefault((height, int(tree.nodes[height][i])), []).append(value)
        plain = are_plain([value for value in values if value != MISSING_LEAF])
        return {node: name_group(members, plain) for node, members in below.items()}
    if builder.intervals is not None:
        above = intervals(values, builder.intervals)
    elif builder.prefix is not None:
        above = prefixes(values, _kept_characters(builder.prefix, tree))
    elif builder.dates is not None:
        above = dates(values, builder.dates)
    else:
        return {}
    labels: dict[tuple[int, int], str] = {}
    for value, i, written in zip(values, kept, above, strict=True):
        if written is not None:  # the missing leaf has no label
            path = (*[value] * (tree.height - 1 - len(written)), *written)
            labels |= {
                (height, int(tree.nodes[height][i])): label for height, label in enumerate(path, 1)
            }
    return labels


def _kept_characters(prefix: int | Sequence[int], tree: Hierarchy) -> Sequence[int]:
    """How many characters each level of the tree keeps. Released values alone may be shorter, and
    have other levels.
    """
    if not isinstance(prefix, int):
        return prefix
    longest = max(len(leaf) for leaf in tree.leaves if leaf != MISSING_LEAF)
    return range(longest - prefix, 0, -prefix)
