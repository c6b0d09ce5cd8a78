"""From rows and what is asked of a release to the plain arrays that the kernels work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose_spark.domains import Profile
from tclose_spark.errors import ConfigurationError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.measures.distances import WIDEST, GroundDistance
from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.closeness_tree.block import Block, Requirement, exact_limits
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.rows import Rows
from tclose_spark.spec import ReleaseSpec


@dataclass(frozen=True)
class Dense:
    """Makes blocks of rows. It holds the whole table's distributions and the hierarchies, nothing that grows with the rows."""

    spec: ReleaseSpec
    profile: Profile
    hierarchies: Mapping[str, Hierarchy]

    @cached_property
    def distances(self) -> list[GroundDistance]:
        """The distance of each sensitive attribute from the whole table."""
        asked = self.spec.attributes.sensitive_attributes
        return [s.distance(asked[s.name], self.hierarchies.get(s.name)) for s in self.profile.sensitive]

    @cached_property
    def most_rows(self) -> int:
        """The largest block whose numerators fit the integers (see `loads`)."""
        widest = max(max(distance.scale, len(distance.table)) for distance in self.distances)
        return (WIDEST - 1) // (4 * widest * self.profile.rows)

    def require_room(self, rows: int) -> None:
        """Raises ConfigurationError if a block of so many rows is too large for the integers."""
        if rows > self.most_rows:
            raise ConfigurationError(
                f"{self.profile.rows:,} rows with so many sensitive values are too many for the integers of the closeness tree; "
                "use coarser values, or method: {name: stack_and_deal}"
            )

    def block(self, rows: Rows) -> tuple[Block, list[IntArray]]:
        """(the rows as a block, the codes that its dense codes stand for, an ascending array a quasi-identifier)."""
        quasi, widths, codes = QuasiWidths(self.spec, self.profile, self.hierarchies).of(rows)
        return Block(quasi, rows.cell.astype(np.int32), widths, self.requirement(len(rows))), codes

    def requirement(self, largest: int) -> Requirement:
        """What classes of up to `largest` rows must hold."""
        asked = [self.spec.attributes.sensitive_attributes[s.name] for s in self.profile.sensitive]
        self.require_room(largest)
        domains = np.array([len(s.values) for s in self.profile.sensitive], dtype=np.int64)
        trees = [
            self.hierarchies[s.name].parents if a.distance == "hierarchical" else ()
            for s, a in zip(self.profile.sensitive, asked, strict=True)
        ]
        longest = int(domains.max())
        parents = np.full((len(asked), max(1, *(len(tree) for tree in trees)), longest), -1, dtype=np.int32)
        tables = np.zeros((len(asked), longest), dtype=np.int64)
        for i, (domain, tree) in enumerate(zip(self.profile.sensitive, trees, strict=True)):
            tables[i, : len(domain.counts)] = domain.counts
            for height, above in enumerate(tree):
                parents[i, height, : len(above)] = above
        return Requirement(
            codes=self.profile.cell_codes.astype(np.int32),
            tables=tables,
            domains=domains,
            ordered=np.array([a.distance == "ordered" for a in asked]),
            parents=parents,
            heights=np.array([len(tree) for tree in trees], dtype=np.int64),
            rows=self.profile.rows,
            k=self.spec.privacy.k,
            distinct=np.array([a.l.distinct or 1 for a in asked], dtype=np.int64),
            limits=exact_limits([a.t for a in asked], [d.scale for d in self.distances], self.profile.rows, largest),
        )
