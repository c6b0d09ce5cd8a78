"""The form of a release: labels, or quasi-identifiers as they are whose sensitive values are known
by class only. A class may publish aggregates instead of labels: one value for each
quasi-identifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.section import Section, also, as_tuple

GROUP: Final = "group"
COUNT = "count"
SENSITIVE = "sensitive"
"""The columns of a class's number and of a number of rows, and the table of sensitive values."""
MOST_BLOCKS = 9
SENSITIVE_TABLES = (SENSITIVE, *(f"{SENSITIVE}_{number}" for number in range(1, MOST_BLOCKS + 1)))
"""The tables of sensitive values that a release may have."""
RELEASE = "release"

Block = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]


class ReleaseForm(Section):
    """How the classes are published."""

    form: Literal["generalization", "anatomy", "permutation"] = "generalization"
    """generalization: labels cover a class's values. anatomy: exact quasi-identifiers, and each
    class's sensitive values in a second table. permutation: exact quasi-identifiers; sensitive
    values change places within a class.
    """
    together: Annotated[tuple[Block, ...], BeforeValidator(as_tuple)] = Field(
        default=(),
        validation_alias=also("together", "blocks"),
    )
    """Blocks of sensitive attributes (complete disjoint projections, CODIP). The release has each
    block by itself, so only the class connects a person's values in two blocks.
    """

    @model_validator(mode="after")
    def _apart(self) -> Self:
        named = [name for block in self.together for name in block]
        if len(set(named)) < len(named) or not all(self.together):
            raise ValueError(
                "together: a block is empty, or an attribute is named twice; expected one block "
                "for each",
            )
        if len(self.together) > MOST_BLOCKS:
            raise ValueError(
                f"together has {len(self.together)} blocks; expected at most {MOST_BLOCKS}",
            )
        return self

    @property
    def is_exact(self) -> bool:
        """Whether quasi-identifiers are published as they are."""
        return self.form != "generalization"

    @property
    def is_split(self) -> bool:
        """Whether sensitive values are in tables of their own."""
        return self.form == "anatomy" or (self.form == "generalization" and bool(self.together))

    @property
    def is_plain(self) -> bool:
        """Whether the release is one table of labels and of the sensitive values of their rows."""
        return not (self.is_exact or self.together)

    def key(self, labels: Iterable[str]) -> list[str]:
        """The columns that all rows of a class share. labels: the published columns of the
        quasi-identifiers.
        """
        return [GROUP] if self.is_exact else [*labels]

    def blocks(self, sensitive: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The sensitive attributes of each block, by the name of its table."""
        if not self.together:
            return {SENSITIVE: tuple(sensitive)}
        return {f"{SENSITIVE}_{number}": block for number, block in enumerate(self.together, 1)}

    def tables(self, labels: Iterable[str], sensitive: Iterable[str]) -> dict[str, list[str]]:
        """The columns of each table of sensitive values; none if the release is one table."""
        if not self.is_split:
            return {}
        return {
            name: [*self.key(labels), *block, COUNT]
            for name, block in self.blocks(sensitive).items()
        }

    def projections(
        self,
        labels: Sequence[str],
        sensitive: Iterable[str],
        beside: Iterable[str],
    ) -> dict[str, list[str]]:
        """What is published of a row, in parts that only its class connects, by the name of the
        part: its quasi-identifiers and other columns, and its values of each block.
        """
        group = [GROUP] if self.is_exact else []
        key = self.key(labels)
        parts = {name: [*key, *block] for name, block in self.blocks(sensitive).items()}
        return {RELEASE: [*labels, *group, *beside], **parts}


Representative = Literal["mean", "median", "mode"]
ORDERED = ("intervals", "dates", "order")
"""Forms of hierarchies whose values are in natural order. The order of a CSV file may have no
meaning.
"""


@dataclass(frozen=True)
class Aggregate:
    """The value that a class publishes for a quasi-identifier: an aggregate of its values that are
    not missing.

    kind: mean; median (the lower of two in the middle); mode (the most frequent value, the first in
        order of several).
    digits: decimals of a mean, rounded half up. None for dates and times, whose means are rounded
        to days and microseconds.
    """

    kind: Representative
    digits: int | None = None

    @staticmethod
    def of(quasi: QuasiIdentifier, representative: Representative, digits: int) -> Aggregate:
        """The aggregate of a quasi-identifier. Numbers, dates and times have the requested one. A
        category in a hierarchy with a known order has at best the median, any other the mode.
        """
        if quasi.is_numeric:
            rounded = representative == "mean" and quasi.calendar is None
            return Aggregate(representative, digits if rounded else None)
        known = isinstance(quasi.hierarchy, HierarchyBuilder) and quasi.hierarchy.form in ORDERED
        return Aggregate("median" if known and representative != "mode" else "mode")
