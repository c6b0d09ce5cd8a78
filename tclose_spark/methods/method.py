"""The one face of all methods. A method is pure: it plans from figures and moves codes; Spark is the stages'
business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings, find_method
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally

if TYPE_CHECKING:
    from rich.table import Table

GroupCounts = Callable[[Callable[[Rows], IntArray], int], IntArray]
"""`counts(group_of, groups)`: how many rows of the whole table `group_of` puts into each of 0..groups-1.
From Spark in a run, from an array in a test."""

Frequencies = Callable[[Callable[[Rows], Tally], int], Tally]
"""`frequencies(tally_of, most)`: the sum of `tally_of` over all rows of the whole table, in whatever parts they come.
Raises TooManyKeysError if it has more than `most` keys. From Spark in a run, from an array in a test."""


def _no_frequencies(tally_of: Callable[[Rows], Tally], most: int) -> Tally:
    raise NotImplementedError("this planning was given no frequencies of the whole table")


@dataclass(frozen=True, kw_only=True)
class PlanningInput:
    """What a method plans from.

    attributes: the whole table's, resolved.
    k: rows that every class must have.
    settings: the method's own section of the run file.
    sample: rows that stand for the table.
    counts: counts rows of the whole table by group.
    frequencies: counts them by key, where what keys there are is not known beforehand.
    most_suppressed: rows that the method may leave out of the release.
    of: whose distribution classes must be near to: that of all input rows, or that of the released ones. Where it is
        the input's, what is suppressed has to be a class, too (see `checks.suppressed`).
    log: takes a line on how the planning goes.
    """

    attributes: ResolvedAttributes
    k: int
    settings: Any
    sample: Rows
    counts: GroupCounts
    frequencies: Frequencies = _no_frequencies
    most_suppressed: int = 0
    of: Literal["input", "released"] = "input"
    log: Callable[[str], None] = lambda _: None


def require_rows(k: int, rows: int) -> None:
    """Raises UnreachableError if the whole table is smaller than a class has to be."""
    if k > rows:
        raise UnreachableError(
            f"privacy.k is {k}, but the table has {rows} rows; no class of {k} can be made, and {rows}, one class of "
            "all, is the largest k"
        )


def require_supersets(attributes: ResolvedAttributes, k: int) -> None:
    """Raises where (n, t)-closeness cannot be, or says nothing.

    Raises:
        UnreachableError: if not even the whole table has n records.
        ConfigurationError: if every class has n.
    """
    if attributes.nt is not None and attributes.nt > attributes.rows:
        raise UnreachableError(
            f"privacy.nt.n is {attributes.nt}, but the table has {attributes.rows} rows; no class has a superset of so "
            f"many, and {attributes.rows}, the whole table, is the largest n"
        )
    if attributes.nt is not None and attributes.nt <= k:
        raise ConfigurationError(
            f"privacy.nt.n is {attributes.nt}, and k is {k}: each class would be a superset of its own, and no t would "
            "limit anything; expected an n above k"
        )


@dataclass(frozen=True, kw_only=True)
class ClassAssignment:
    """What a task made of the rows sent to it.

    here: the places in them of the rows that stay, shape (stayed,).
    classes: the class number of each, shape (stayed,).
    regions: where labels are to say more than the class's own values (global recoding): the lowest and the highest code
        that the label of each row covers, shape (2, quasi-identifiers, stayed), equal inside a class. A label that does
        not cover its row's value ends the run.
    blocks: how many of the plan's it finished.
    figures: what the plan's `figures` names, of this task.
    suppressed: the places of the rows that this task leaves out of the release, shape (suppressed,). They are rows of
        the table all the same: over all tasks every row either stays once or is suppressed once, which is proven.
    """

    here: IntArray
    classes: IntArray
    regions: IntArray | None = None
    blocks: int = 1
    figures: Mapping[str, float] = field(default_factory=dict)
    suppressed: IntArray | None = None


@dataclass(frozen=True, kw_only=True)
class PlanReport:
    """What people read of a plan.

    figures: whole numbers for the run's record.
    note: a line for the console; empty where there is none.
    details: what the method's tables show, as JSON.
    """

    figures: Mapping[str, int]
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


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

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        """Which of the rows sent to a task stay there, and the class number of each; and which it suppresses.

        Every class has k rows and meets every t and l by itself, also where another task makes one of the same labels:
        files follow tasks. Over all tasks every row of the table either stays exactly once or is suppressed exactly
        once, and no more are suppressed than the planning was allowed. The order in which rows arrive does not matter.

        Raises:
            ValueError: if the rows are not those that the plan counted.
        """
        ...

    def to_json(self) -> dict[str, Any]:
        """What tasks need, as JSON that the method's `read_plan` reads."""
        ...

    def report(self) -> PlanReport:
        """What people read of it; of a plan just made."""
        ...

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """What the run's record says of the work, from the figures of all tasks.

        Raises:
            UnreachableError: if tasks could not make classes that hold.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method, as the registry finds it. Its functions import what takes long when they are called.

    name: as the run file has it.
    settings: its section of the run file.
    supports: `supports(settings, sensitive attributes)` raises ValueError for what it does not make, when the run file
    is read.
    sample_rows: `sample_rows(settings)`: rows of the sample that it plans from.
    make_plan: plans, or raises UnreachableError.
    read_plan: `read_plan(tree, attributes, k, settings)`: the plan that `Plan.to_json` wrote.
    tables: `tables(run's name, report of the plan, settings, sensitive attributes)`: what `tclose plan` prints, tables
    and sentences.
    """

    name: str
    settings: type[MethodSettings]
    supports: Callable[[Any, Mapping[str, SensitiveAttribute]], None]
    sample_rows: Callable[[Any], int]
    make_plan: Callable[[PlanningInput], Plan]
    read_plan: Callable[[Mapping[str, Any], ResolvedAttributes, int, Any], Plan]
    tables: Callable[[str, PlanReport, Any, Mapping[str, SensitiveAttribute]], tuple[list[Table], list[str]]]


def method_of(settings: MethodSettings) -> Method:
    """The method whose settings these are."""
    found = find_method(settings.name)
    if not isinstance(found, Method):
        raise ConfigurationError(
            f"method.name: what brings {settings.name} is no Method of tclose_spark.methods.method"
        )
    return found
