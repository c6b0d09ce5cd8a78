"""What the profile knows of the columns: domains, ranges, and the histogram of the sensitive attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tclose_spark.errors import InputError
from tclose_spark.exact import parse_number
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.measures.distances import EqualDistance, GroundDistance, HierarchicalDistance, OrderedDistance
from tclose_spark.measures.histograms import IntArray
from tclose_spark.measures.multiplicity import MultiplicityMatrix
from tclose_spark.spec import SensitiveAttribute

Counts = Mapping[str | None, int]
"""How many rows hold each value, as text; None is a missing value."""


@dataclass(frozen=True)
class QuasiDomain:
    """A quasi-identifier of the input.

    kind: "integer", "double" or "category". values: a category's domain, in code order (the hierarchy's leaves where
    there is one). low, high: the range of a numeric one. present: how many distinct values a category's rows have.
    missing: rows without a value.
    """

    name: str
    kind: str
    missing: int
    values: tuple[str, ...] = ()
    present: int = 0
    low: float = 0
    high: float = 0


@dataclass(frozen=True)
class SensitiveDomain:
    """A sensitive attribute of the input: its values in domain order (a code is a place here) and their rows."""

    name: str
    values: tuple[str | None, ...]
    counts: tuple[int, ...]

    @property
    def table(self) -> IntArray:
        """Counts by code, shape (m,)."""
        return np.array(self.counts, dtype=np.int64)

    def distance(self, attribute: SensitiveAttribute, hierarchy: Hierarchy | None) -> GroundDistance:
        """The ground distance that was declared, over this table's distribution."""
        if attribute.distance == "ordered":
            return OrderedDistance(self.table)
        if hierarchy is not None:
            return HierarchicalDistance(self.table, hierarchy.parents)
        return EqualDistance(self.table)


@dataclass(frozen=True)
class Profile:
    """One pass over the input, in a size that does not grow with its rows.

    cells: the distinct tuples of sensitive codes, lexicographically sorted; cell_counts: their rows.
    distinct_rows: about how many different rows there are. fingerprint: of the prepared rows as a multiset (it stays
    internal). version: of a Delta input.
    """

    rows: int
    quasi: tuple[QuasiDomain, ...]
    sensitive: tuple[SensitiveDomain, ...]
    cells: tuple[tuple[int, ...], ...]
    cell_counts: tuple[int, ...]
    distinct_rows: int
    fingerprint: str
    version: int | None = None

    @cached_property
    def cell_codes(self) -> IntArray:
        """Sensitive codes of each cell, shape (cells, sensitive attributes)."""
        return np.array(self.cells, dtype=np.int64).reshape(len(self.cells), len(self.sensitive))

    @cached_property
    def cell_table(self) -> IntArray:
        """Rows of each cell, shape (cells,)."""
        return np.array(self.cell_counts, dtype=np.int64)

    @cached_property
    def matrix(self) -> MultiplicityMatrix:
        """The multiplicity matrix of the sensitive attributes; its cells are those of `cells`."""
        return MultiplicityMatrix(self.cell_codes, self.cell_table, tuple(len(s.values) for s in self.sensitive))

    def to_json(self) -> str:
        """As text that `from_json` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Profile:
        """The profile that `to_json` wrote."""
        tree: dict[str, Any] = json.loads(text)
        return Profile(
            rows=tree["rows"],
            quasi=tuple(QuasiDomain(**{**q, "values": tuple(q["values"])}) for q in tree["quasi"]),
            sensitive=tuple(SensitiveDomain(s["name"], tuple(s["values"]), tuple(s["counts"])) for s in tree["sensitive"]),
            cells=tuple(tuple(cell) for cell in tree["cells"]),
            cell_counts=tuple(tree["cell_counts"]),
            distinct_rows=tree["distinct_rows"],
            fingerprint=tree["fingerprint"],
            version=tree["version"],
        )


def number(text: str) -> Fraction | None:
    """The number a text says, exactly; None if it says none."""
    try:
        return parse_number(text)
    except ValueError:
        return None


def by_value(values: Sequence[str]) -> list[str]:
    """Values in their natural order: numbers by size where all are, else by text."""
    numbers = {value: number(value) for value in values}
    return sorted(values) if None in numbers.values() else sorted(values, key=lambda value: (numbers[value] or 0, value))


def categorical_domain(name: str, counts: Counts, hierarchy: Hierarchy | None, sets: bool = False) -> QuasiDomain:
    """The domain of a categorical quasi-identifier; with `sets` its labels may be sets of values.

    Raises:
        InputError: if a value is not in the hierarchy, is `*`, or reads like a set where labels may be sets.
    """
    present = [value for value in counts if value is not None]
    if "*" in present:
        raise InputError(f"quasi-identifier {name!r}: the value '*' stands for the whole domain in a release; rename it")
    if sets and any(value.startswith("{") and value.endswith("}") for value in present):
        raise InputError(
            f"quasi-identifier {name!r}: a value in braces reads like a set of values in a release; rename it, or use suppress"
        )
    if hierarchy is not None:
        _require_leaves(f"quasi-identifier {name!r}", counts, hierarchy)
    values = hierarchy.leaves if hierarchy is not None else tuple(by_value(present))
    return QuasiDomain(name, "category", counts.get(None, 0), values=values, present=len(present))


def sensitive_domain(
    name: str, counts: Counts, attribute: SensitiveAttribute, hierarchy: Hierarchy | None, is_text: bool
) -> SensitiveDomain:
    """The domain of a sensitive attribute in the order that its distance declares.

    Raises:
        InputError: if a value has no place in it.
    """
    values: Sequence[str | None]
    if attribute.distance == "ordered":
        values = _ordered_values(name, counts, attribute, is_text)
    elif hierarchy is not None:
        if None in counts:
            raise InputError(f"sensitive attribute {name!r} is missing in {counts[None]} rows; a hierarchical distance has no place for it")
        _require_leaves(f"sensitive attribute {name!r}", counts, hierarchy)
        values = hierarchy.leaves
    else:
        values = [*by_value([v for v in counts if v is not None]), *([None] if None in counts else [])]
    return SensitiveDomain(name, tuple(values), tuple(counts.get(value, 0) for value in values))


def _ordered_values(name: str, counts: Counts, attribute: SensitiveAttribute, is_text: bool) -> list[str | None]:
    present = [value for value in counts if value is not None]
    values: list[str | None]
    if isinstance(attribute.order, tuple):
        values = list(_listed_values(name, present, attribute.order, counts, is_text))
    else:
        numbers = [number(value) for value in present]
        if not is_text and {"Infinity", "-Infinity"} & set(present):
            raise InputError(
                f"sensitive attribute {name!r} holds infinite numbers, which have no place in an order; mend them, or give a list"
            )
        if attribute.order == "value" and is_text and None in numbers:
            raise InputError(f"sensitive attribute {name!r} is text, which has no order of its own; give order: frequency or a list")
        if attribute.order == "value" and len(set(numbers) - {None}) < len([x for x in numbers if x is not None]):
            raise InputError(
                f"sensitive attribute {name!r}: different texts are the same number; read it as numbers (options: inferSchema: true)"
            )
        values = list(by_value(present))
        if attribute.order == "frequency":
            values.sort(key=lambda value: -counts[value])
    if None in counts and attribute.missing == "error":
        raise InputError(
            f"sensitive attribute {name!r} is missing in {counts[None]} rows and has an ordered distance; "
            f"give attributes.sensitive_attributes.{name}.missing: lowest or highest"
        )
    if None in counts:
        values = [None, *values] if attribute.missing == "lowest" else [*values, None]
    return values


def _listed_values(name: str, present: list[str], order: Sequence[Any], counts: Counts, is_text: bool) -> list[str]:
    """The values of a declared order, in the table's way of writing numbers."""
    written = {number(value): value for value in present} if not is_text else {}
    listed, different = [], set()
    for item in order:
        text = str(item).lower() if isinstance(item, bool) else str(item)
        same = None if is_text else number(text)
        listed.append(text if same is None else written.get(same, text))
        different.add(text if same is None else same)
    if len(different) < len(listed):
        raise InputError(f"attributes.sensitive_attributes.{name}.order: a value stands twice")
    lost = [value for value in present if value not in set(listed)]
    if lost:
        raise InputError(
            f"attributes.sensitive_attributes.{name}.order lacks {len(lost)} values of the table, such as {lost[0]!r} "
            f"({counts[lost[0]]} rows); expected every value"
        )
    return listed


def _require_leaves(what: str, counts: Counts, hierarchy: Hierarchy) -> None:
    known = set(hierarchy.leaves)
    lost = sorted(value for value in counts if value is not None and value not in known)
    if lost:
        more = f" and {len(lost) - 1} more values" if len(lost) > 1 else ""
        raise InputError(f"{what}: the value {lost[0]!r} ({counts[lost[0]]} rows){more} is missing from its hierarchy; add a row for it")
