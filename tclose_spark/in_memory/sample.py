"""A sample of a table as a table of its own, with its own domains and distribution."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import Profile, QuasiDomain, sensitive_domain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING, decode_numbers
from tclose_spark.table.rows import Codec, Rows
from tclose_spark.table.tally import LocalRows

MOST_ROWS = 1_000_000
"""Most rows that a comparison holds in one process: some 100 bytes each, and as much again for the
method at work.
"""


@dataclass(frozen=True, kw_only=True)
class ComparedTable:
    """The table that methods are compared on.

    profile: of these rows, as if they were the input.
    rows: in an order of their content.
    whole: the number of rows of the input.
    built: the hierarchies that were built from its values, by column.
    """

    profile: Profile
    rows: Rows
    whole: int
    built: Mapping[str, Hierarchy] = field(default_factory=dict)

    @cached_property
    def held(self) -> LocalRows:
        """The rows that methods plan from."""
        return LocalRows(self.rows)

    @property
    def digest(self) -> str:
        """A hash of the rows as a multiset, which another input or another secret changes."""
        with np.errstate(over="ignore"):
            return f"{len(self.rows)}:{int(self.rows.hash.sum(dtype=np.uint64)):016x}"

    def to_json(self) -> str:
        """As text, with the rows, for `from_json`."""
        packed = base64.b64encode(Codec.of(self.profile).pack(self.rows).tobytes()).decode()
        built = {name: tree.paths for name, tree in self.built.items()}
        return json.dumps(
            {
                "profile": self.profile.to_json(),
                "rows": packed,
                "whole": self.whole,
                "built": built,
            },
        )

    @staticmethod
    def from_json(text: str) -> ComparedTable:
        """The table that `to_json` wrote."""
        tree = json.loads(text)
        profile = Profile.from_json(tree["profile"])
        rows = Codec.of(profile).unpack(base64.b64decode(tree["rows"]))
        built = {name: Hierarchy(tuple(map(tuple, paths))) for name, paths in tree["built"].items()}
        return ComparedTable(profile=profile, rows=rows, whole=tree["whole"], built=built)


def table_of_its_own(
    profile: Profile,
    rows: Rows,
    sensitive: Mapping[str, SensitiveAttribute],
    hierarchies: Mapping[str, Hierarchy],
    texts: Sequence[bool],
) -> ComparedTable:
    """Rows of a profiled table as a table. texts: whether the column of each sensitive attribute is
    text.
    """
    if len(rows) == profile.rows:
        return ComparedTable(profile=profile, rows=rows, whole=profile.rows)
    cells, cell, n = np.unique(rows.cell, return_inverse=True, return_counts=True)
    codes = profile.cell_codes[cells]
    columns = []
    domains = []
    for old, column, is_text in zip(profile.sensitive, codes.T, texts, strict=True):
        counts: Counter[str | None] = Counter()
        for code, times in zip(column.tolist(), n.tolist(), strict=True):
            counts[old.values[code]] += times
        domain = sensitive_domain(
            old.name,
            counts,
            sensitive[old.name],
            hierarchies.get(old.name),
            is_text,
        )
        place = {value: code for code, value in enumerate(domain.values)}
        columns.append(
            np.array([place[old.values[code]] for code in column.tolist()], dtype=np.int64),
        )
        domains.append(domain)
    again = np.stack(columns, axis=1)
    order = np.lexsort(tuple(reversed(again.T)))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    own = replace(
        profile,
        rows=len(rows),
        quasi=tuple(map(_narrowed, profile.quasi, rows.quasi)),
        sensitive=tuple(domains),
        cells=tuple(map(tuple, again[order].tolist())),
        cell_counts=tuple(n[order].tolist()),
    )
    return ComparedTable(
        profile=own,
        rows=Rows(rows.quasi, number[cell], rows.hash, absent=rows.absent),
        whole=profile.rows,
    )


def _narrowed(domain: QuasiDomain, codes: IntArray) -> QuasiDomain:
    """A quasi-identifier with the range and the counts of these rows. Codes stay, and a range known
    from outside.
    """
    known = np.unique(codes[codes != MISSING])
    missing = int(np.count_nonzero(codes == MISSING))
    if domain.kind == "category":
        return replace(domain, missing=missing, present=len(known))
    if domain.known:
        return replace(domain, missing=missing)
    if not len(known):
        return replace(domain, missing=missing, low=0, high=0)
    low, high = (
        known[[0, -1]] if domain.kind == "integer" else decode_numbers(known[[0, -1]])
    ).tolist()
    return replace(domain, missing=missing, low=low, high=high)
