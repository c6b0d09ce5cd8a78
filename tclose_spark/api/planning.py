"""`tclose_spark.plan`: how rows would come into classes, before any moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.table import Table as Lines

from tclose_spark.api.running import carry_out_stages
from tclose_spark.api.specs import Spec, Table, Where
from tclose_spark.api.work import Log, announcer, working_on
from tclose_spark.comparing.views import candidates_table
from tclose_spark.methods.method import PlanReport, method_of
from tclose_spark.report.notebook import in_frame, page_of, printed
from tclose_spark.runfile.spec import ReleaseSpec

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True)
class Planned:
    """A plan, in figures; Jupyter shows its tables.

    spec: what was asked, whole.
    report: what people read of the plan: its figures, and tables' contents in `details`.
    """

    spec: ReleaseSpec
    report: PlanReport

    @property
    def figures(self) -> Mapping[str, Any]:
        """The plan's figures, by name."""
        return self.report.figures

    def __repr__(self) -> str:
        return printed(plan_lines(self.spec, self.report))

    def _repr_html_(self) -> str:
        return in_frame(page_of(f"Plan of {self.spec.name}", plan_lines(self.spec, self.report)), "Plan", 420)


def plan(
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    overwrite: bool = False,
    overrides: Sequence[str] = (),
    log: Log | None = print,
) -> Planned:
    """Profiles a table and plans its release: what classes are to be expected, and whether what is asked can be
    reached.

    See `release` for what is given. output: where the stages after it go on from the plan (`run_stage`); by default a
    folder that is removed again.

    Raises:
        UnreachableError: if what is asked cannot be reached; the message says what can.
        ConfigurationError, InputError: as `release` does.
    """
    with (
        for_now() as folder,
        working_on(table, spec, output, "plan", overrides, nowhere=folder) as given,
    ):
        how: dict[str, Any] = {"announce": announcer(log), "overwrite": overwrite, "session": given.session}
        run, report = carry_out_stages(given.spec, "profile", "plan", **how)
        return Planned(run.spec, report)


@contextmanager
def for_now() -> Iterator[str]:
    """A folder that only this user reads, for the time of the body."""
    with TemporaryDirectory(prefix="tclose_spark-") as folder:
        yield str(Path(folder) / "work")


def plan_lines(spec: ReleaseSpec, plan: PlanReport) -> Iterator[Lines | Text | str]:
    """What is to be shown of a plan: tables, and notes below them."""
    tables, notes = method_of(spec.method).tables(spec.name, plan, spec.method, spec.attributes.sensitive_attributes)
    if "k" in plan.details:
        yield candidates_table(spec.name, plan.details["k"])
    yield from tables
    yield from notes
