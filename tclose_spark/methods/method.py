"""The one face of all methods. A method is pure: it plans from figures and moves codes; Spark is the stages' business."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from tclose_spark.domains import Profile
from tclose_spark.errors import UnreachableError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.measures.histograms import IntArray
from tclose_spark.rows import Rows
from tclose_spark.spec import Fragmentation, ReleaseSpec, StackAndDeal

GroupCounts = Callable[[Callable[[Rows], IntArray], int], IntArray]
"""`counts(group_of, groups)`: how many rows of the whole table `group_of` puts into each of 0..groups-1.
From Spark in a run, from an array in a test."""


@dataclass(frozen=True)
class Problem:
    """What a method plans from: the run file, the profile, hierarchies by column, and a sample of the rows.

    say: takes a line on how the planning goes.
    """

    spec: ReleaseSpec
    profile: Profile
    hierarchies: Mapping[str, Hierarchy]
    sample: Rows
    say: Callable[[str], None] = lambda _: None

    @property
    def stack_and_deal(self) -> StackAndDeal:
        """The settings of that method, which the run file names."""
        assert isinstance(self.spec.method, StackAndDeal)
        return self.spec.method

    @property
    def fragmentation(self) -> Fragmentation:
        """The settings of that method, which the run file names."""
        assert isinstance(self.spec.method, Fragmentation)
        return self.spec.method


def require_rows(spec: ReleaseSpec, profile: Profile) -> None:
    """Raises UnreachableError if the whole table is smaller than a class has to be."""
    k, rows = spec.privacy.k, profile.rows
    if k > rows:
        raise UnreachableError(
            f"privacy.k is {k}, but the table has {rows} rows; no class of {k} can be made, and {rows}, one class of all, is the largest k"
        )


@dataclass(frozen=True)
class Settled:
    """What a task made of the rows sent to it. here, classes: shape (stayed,), the places in them of the rows that stay, and the
    class number of each. blocks: how many of the plan's it finished. figures: what the plan's `figures` names, of this task.
    """

    here: IntArray
    classes: IntArray
    blocks: int = 1
    figures: Mapping[str, float] = field(default_factory=dict)


class Plan(Protocol):
    """What a method decided. It is small, it is JSON, and with it every row finds its class."""

    figures: ClassVar[Mapping[str, Literal["sum", "max"]]]
    """What tasks say of their work, and how the figures of all tasks become one."""

    @property
    def tasks(self) -> int:
        """How many tasks finish the classes; a task holds whole classes."""
        ...

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """(row, task): the places in `rows` to send, and to which task. A row may be sent to several tasks."""
        ...

    @property
    def blocks(self) -> int:
        """How many parts of the table are finished each by itself, for the progress."""
        ...

    def settle(self, rows: Rows, task: int) -> Settled:
        """Which of the rows sent to a task stay there, and the class number of each.

        Over all tasks every row of the table stays exactly once. The order in which rows arrive does not matter.

        Raises:
            ValueError: if the rows are not those that the plan counted.
        """
        ...

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON."""
        ...

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """What the run's record says of the work, from the figures of all tasks."""
        ...
