"""The interface of all methods. A method is pure: it plans from figures and assigns codes. Stages
alone use Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator

from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.measures.distances.ground_distances import fewest_rows
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.requirements.planning import Cap
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings, find_method
from tclose_spark.table.arrays import Codes, FloatArray, IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally

if TYPE_CHECKING:
    from rich.table import Table

GroupCounts = Callable[[Callable[[Rows], IntArray], int], IntArray]
"""`counts(group_of, groups)`: how many rows of the whole table `group_of` puts into each of
0..groups-1. From Spark in a run, from an array in a test.
"""

ROUNDING = Fraction(1, 10**6)
"""How much more than the frequency l people have to reach, because their shares are doubles."""

Frequencies = Callable[[Callable[[Rows], Tally], int], Tally]
"""`frequencies(tally_of, most)`: the sum of `tally_of` over all rows of the whole table, in
whatever parts they come. Raises TooManyKeysError if it has more than `most` keys. From Spark in a
run, from an array in a test.
"""


def _no_frequencies(tally_of: Callable[[Rows], Tally], most: int) -> Tally:
    raise NotImplementedError("this planning was given no frequencies of the whole table")


@dataclass(frozen=True, kw_only=True)
class PlanningInput:
    """The input of planning.

    attributes: the whole table's, resolved.
    k: the least number of rows of a class.
    settings: the method's own section of the run file.
    sample: rows that represent the table.
    counts: counts rows of the whole table by group.
    frequencies: counts them by keys that are not known in advance.
    most_suppressed: the most rows that the method may suppress.
    of: the distribution that classes are compared with: that of all input rows, or of the released
        ones. With `input`, the suppressed rows must form a class too (see
        `options.suppression.judge`).
    log: receives a line on the progress of planning.
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


def require_rows(k: int, attributes: ResolvedAttributes) -> None:
    """Raises UnreachableError if the whole table has fewer rows, or people if they are counted,
    than a class needs.
    """
    for unit in attributes.units:
        total = unit.total(attributes.cell_rows)
        if unit.needed is not None and unit.needed > total:
            raise UnreachableError(
                f"attributes.household.k is {unit.needed}, but the table has {total} {unit.name}",
            )
    counted = attributes.counted
    whole = counted.total(attributes.cell_rows)
    if k > whole:
        raise UnreachableError(
            f"privacy.k is {k}, but the table has {whole} {counted.name}; no class of {k} can be "
            f"made, and {whole}, one class of all, is the largest k",
        )


def require_frequencies(attributes: ResolvedAttributes) -> None:
    """Raises UnreachableError if a value of the whole table is too frequent for a cap on its
    share.
    """
    for a in attributes.sensitive:
        for cap in a.needs.caps:
            if not cap.of_table:
                _require_frequency(attributes, a, cap)


def _require_frequency(attributes: ResolvedAttributes, a: ResolvedSensitive, cap: Cap) -> None:
    which = "most frequent" if cap.at is None else "capped"
    for unit in attributes.spread_units:
        weights = attributes.cell_rows * unit.shares
        rows = np.bincount(attributes.cells[:, a.column], weights, len(a.domain.values))
        reached = Fraction(float(weights.sum())) / Fraction(
            float(rows.max() if cap.at is None else rows[cap.at]) or 1,
        )
        if reached < 1 / cap.share * (1 if unit.name == "rows" else 1 + ROUNDING):
            raise UnreachableError(
                f"attributes.sensitive_attributes.{a.name}.{cap.key} is {cap.asked}, but the "
                f"{which} value, or place of a domain, has one in {float(reached):.6f} of all "
                f"{unit.name}; no release of all rows reaches more",
            )


def require_supersets(attributes: ResolvedAttributes, k: int) -> None:
    """Requires an n that makes sense for (n, t)-closeness.

    Raises:
        UnreachableError: if the whole table has fewer than n records.
        ConfigurationError: if every class has n.
    """
    if attributes.nt is not None and attributes.nt > attributes.rows:
        raise UnreachableError(
            f"privacy.nt.n is {attributes.nt}, but the table has {attributes.rows} rows; no class "
            f"has a superset of so many, and {attributes.rows}, the whole table, is the largest n",
        )
    if attributes.nt is not None and attributes.nt <= k:
        raise ConfigurationError(
            f"privacy.nt.n is {attributes.nt}, and k is {k}: each class would be a superset of its "
            "own, and no t would limit anything; expected an n above k",
        )


def require_several_classes(attributes: ResolvedAttributes) -> None:
    """Raises UnreachableError if the t of a tuple allows one class only, that of all rows."""
    for a in attributes.sensitive:
        if not a.of or a.t is None:
            continue
        needed = fewest_rows(a.distance.table, a.t)
        rows = attributes.rows
        if 2 * needed > rows:
            # Values that a class of half the rows can have.
            most = np.sort(a.distance.table)[::-1][: rows // 2]
            best = 1 - Fraction(int(most.sum()), rows)
            rounded_up = f"{ceil(best * 10_000) / 10_000:.4f}"
            raise UnreachableError(
                f"privacy.joint: the t of {' and '.join(a.of)} is {float(a.t):g}; with "
                f"{np.count_nonzero(a.distance.table):,} different tuples a class needs {needed:,} "
                f"of the {rows:,} rows; set a t of at least {rounded_up}, or name fewer attributes",
            )


@dataclass(frozen=True, kw_only=True)
class ClassAssignment:
    """The result of a task for the rows sent to it.

    here: the places of the rows that stay, shape (stayed,).
    classes: the class number of each, shape (stayed,).
    regions: for labels that cover more than the class's own values (global recoding): the lowest
        and the highest code of each row's label, shape (2, quasi-identifiers, stayed), equal inside
        a class. A label that does not cover its row's value ends the run.
    blocks: the number of the plan's blocks that the task completed.
    figures: this task's values of the plan's `figures`.
    suppressed: the places of the rows that this task suppresses, shape (suppressed,). Over all
        tasks, every row either stays once or is suppressed once, which is proven.
    """

    here: IntArray
    classes: IntArray
    regions: IntArray | None = None
    blocks: int = 1
    figures: Mapping[str, float] = field(default_factory=dict)
    suppressed: IntArray | None = None

    def restricted(self, place: IntArray) -> ClassAssignment:
        """The assignment of the rows at these places."""
        stay = np.isin(self.here, place)
        regions = None if self.regions is None else self.regions[:, :, stay]
        return replace(self, here=self.here[stay], classes=self.classes[stay], regions=regions)


@dataclass(frozen=True, kw_only=True)
class PlanReport:
    """The readable part of a plan.

    figures: integers for the run's record.
    note: a line for the console; may be empty.
    details: the content of the method's tables, as JSON.
    """

    figures: Mapping[str, int]
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


Integers = Annotated[
    IntArray,
    PlainValidator(partial(np.array, dtype=np.int64)),
    PlainSerializer(np.ndarray.tolist),
]
"""Integers of any shape in a plan's model. In JSON they are nested lists, so an empty array loses
its shape.
"""
Codes32 = Annotated[
    Codes,
    PlainValidator(partial(np.array, dtype=np.int32)),
    PlainSerializer(np.ndarray.tolist),
]
"""Dense codes, likewise."""
Floats = Annotated[
    FloatArray,
    PlainValidator(partial(np.array, dtype=np.float64)),
    PlainSerializer(np.ndarray.tolist),
]
"""Doubles, likewise."""


class PlanModel(BaseModel):
    """What `plan.json` has of a plan, or of a part of one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, plan: object) -> Self:
        """The model of a plan, or of a part of one: its attributes that have the names of the
        model's fields.

        Raises:
            ValidationError: if it lacks one.
        """
        return cls.model_validate(plan, from_attributes=True)


class Plan(Protocol):
    """The decisions of a method: small, serializable as JSON, and enough for every row to find its
    class.
    """

    @property
    def figures(self) -> Mapping[str, Literal["sum", "max"]]:
        """What tasks report on their work, and how the figures of all tasks are combined."""
        ...

    @property
    def tasks(self) -> int:
        """The number of tasks that complete the classes. A task holds whole classes."""
        ...

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """(row, task): the places in `rows` to send, and to which task. A row may be sent to
        several tasks.
        """
        ...

    @property
    def blocks(self) -> int:
        """The number of parts that are completed separately, for the progress."""
        ...

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        """The rows that stay in a task, with their class numbers, and the rows that it suppresses.

        Every class has k rows and meets every t and l by itself, even if another task makes a class
        with the same labels, because files follow tasks. Over all tasks, every row of the table
        stays exactly once or is suppressed exactly once, and no more rows are suppressed than
        planning allowed. The order of the rows does not matter.

        Raises:
            ValueError: if the rows are not those that the plan counted.
        """
        ...

    def to_json(self) -> Mapping[str, object]:
        """The content that tasks need, as JSON for the method's `read_plan`."""
        ...

    def report(self) -> PlanReport:
        """The readable part of a plan that was just made."""
        ...

    def describe(self, figures: Mapping[str, float]) -> Mapping[str, object]:
        """The run's record of the work, from the figures of all tasks.

        Raises:
            UnreachableError: if tasks could not make classes that hold.
        """
        ...


def _note(
    name: str,
    report: PlanReport,
    settings: Any,
    sensitive: Mapping[str, SensitiveAttribute],
) -> tuple[list[Table], list[str]]:
    """No table, and the note of the plan's report."""
    return [], [f"{name}: {report.note}"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method in the registry. Its functions import heavy modules when they are called.

    name: in the run file.
    settings: its section of the run file.
    supports: `supports(settings, sensitive attributes)` raises ValueError for unsupported
        requirements, when the run file is read.
    sample_rows: `sample_rows(settings, rows)`: the size of the sample of a table of so many rows.
    make_plan: plans, or raises UnreachableError.
    read_plan: `read_plan(tree, attributes, k, settings)`: the plan that `Plan.to_json` wrote.
    tables: `tables(run's name, report of the plan, settings, sensitive attributes)`: the tables and
        sentences that `tclose plan` prints; by default, the report's note alone.
    """

    name: str
    settings: type[MethodSettings]
    supports: Callable[[Any, Mapping[str, SensitiveAttribute]], None] = lambda settings, sensitive: (
        None
    )
    sample_rows: Callable[[Any, int], int]
    make_plan: Callable[[PlanningInput], Plan]
    read_plan: Callable[[Mapping[str, object], ResolvedAttributes, int, Any], Plan]
    tables: Callable[
        [str, PlanReport, Any, Mapping[str, SensitiveAttribute]],
        tuple[list[Table], list[str]],
    ] = _note


def method_of(settings: MethodSettings) -> Method:
    """The method with these settings."""
    found = find_method(settings.name)
    if not isinstance(found, Method):
        raise ConfigurationError(
            f"method.name: the entry point {settings.name} is not a Method of "
            "tclose_spark.methods.method",
        )
    return found
