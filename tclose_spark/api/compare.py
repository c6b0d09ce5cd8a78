"""`tclose_spark.compare`: which method loses least on this table, and what another k or t would
cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tclose_spark.api.arguments import GivenRun, Number, Spec, Table, given_run, number_of_rows
from tclose_spark.api.engine_choice import asked_engine
from tclose_spark.api.session import Log, announcer, choose, on_engine, temporary_folder, working_on
from tclose_spark.api.signatures import verb
from tclose_spark.comparing.request import (
    ALL,
    Combination,
    ComparisonRequest,
    Method,
    combinations,
    requested_ks,
    requested_methods,
    requested_ts,
)
from tclose_spark.comparing.result import ComparisonResult
from tclose_spark.comparing.store import PAGE
from tclose_spark.errors import ConfigurationError
from tclose_spark.in_memory.sample import MOST_ROWS
from tclose_spark.report.notebook import in_frame, printed
from tclose_spark.runfile.loading import lines_in_errors, resolve
from tclose_spark.runfile.spec import Output

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(ComparisonResult):
    """The outcomes of all combinations; Jupyter shows them as a page. Internal: they are measured
    on raw rows.

    page: the file of the page; empty if nothing was kept.
    """

    page: str = ""

    def lines(self) -> list[RenderableType]:
        """The outcomes as a table, and notes."""
        from tclose_spark.comparing.views import comparison_table

        table, notes = comparison_table(self)
        return [table, *notes]

    def __repr__(self) -> str:
        return printed(self.lines())

    def _repr_html_(self) -> str:
        from tclose_spark.comparing.views import render_page

        return in_frame(render_page(self)[0], "Comparison")


@verb
def compare(
    table: Table,
    spec: Spec,
    k: int | Sequence[int] | None = None,
    t: Number | Sequence[Number] | None = None,
    methods: Method | Sequence[Method] = ALL,
    *,
    sample: int | Literal["all"] = 50_000,
    output: str | PathLike[str] | None = None,
    plan_only: bool = False,
    bound: bool = False,
    overwrite: bool = False,
    require: bool = True,
    overrides: Sequence[str] = (),
    log: Log | None = print,
    engine: str | None = None,
) -> Comparison:
    """Runs every method at every k and t on rows of a table, and measures what each release would
    lose.

    The figures are measured on raw rows, so keep them internal.

    table, spec, overrides, log, engine: see `release`; the spec needs no output.
    k: one, or several; by default the spec's.
    t: of all sensitive attributes that have one: one, or several, such as ["0.1", "0.2"]; by
        default their own.
    methods: `all`, or methods by name, as "closeness_tree:effort=fast", as a dict like the `method`
        section of a run file, or as an object (`Sabre(bounds="proven")`).
    sample: the number of rows, drawn by their content; or `all`.
    output: a folder that is not public. Page and figures are written there, and a comparison that
        was killed resumes there (unless the table is in memory). By default it is beside the spec's
        output; without one nothing is kept.
    plan_only: plan every combination, and move no row.
    bound: also find what no release can lose less than, in at most 20 seconds for each k and t.
    overwrite: start again.
    require: raise GuaranteeError if a release does not meet its requirements; otherwise see
        `.broken`.

    Raises:
        ConfigurationError: naming the argument that is wrong.
        InputError: if the table does not match the spec.
        GuaranteeError: if a release does not meet its requirements, after all others were made.
    """
    with temporary_folder() as folder:
        run = given_run(table, spec, None, overrides, nowhere=folder)
        request = ComparisonRequest(
            spec=run.spec,
            combinations=_combinations(run, k, t, methods),
            sample=number_of_rows(sample, MOST_ROWS),
            output=comparison_folder(output, run.spec.output),
            plan_only=plan_only,
            bound=bound and not plan_only,
            overwrite=overwrite,
        )
        result = _compared(request, run, engine, log)
        page = "" if folder and request.output.startswith(folder) else f"{request.output}/{PAGE}"
        comparison = Comparison(**vars(result), page=page)
        if require:
            comparison.require_all_hold()
        return comparison


def _combinations(
    run: GivenRun,
    k: int | Sequence[int] | None,
    t: Number | Sequence[Number] | None,
    methods: Method | Sequence[Method],
) -> Sequence[Combination]:
    """What a call compares."""
    methods_by_name = requested_methods(methods, run.tree.get("method"))
    if not run.spec.release.is_plain:
        raise ConfigurationError(
            "release: a comparison measures labels; leave out release.form and release.together",
        )
    return combinations(
        run.tree,
        requested_ks(k, run.spec),
        requested_ts(t, run.tree),
        methods_by_name,
    )


def _compared(
    request: ComparisonRequest,
    run: GivenRun,
    engine: str | None,
    log: Log | None,
) -> ComparisonResult:
    """The result of a request on the chosen engine."""
    with lines_in_errors(run.tree):
        asked = asked_engine(engine, run.spec.engine)
        choice = choose("compare", asked, run.spec, run.table, log)

    def work(on: str) -> ComparisonResult:
        with working_on(run, "compare", on) as session:
            from tclose_spark.comparing.run_comparison import run_comparison

            return run_comparison(request, session, announcer(log))

    return on_engine(choice, work, log)


def comparison_folder(output: str | PathLike[str] | None, of_run: Output) -> str:
    """The folder of a comparison; by default beside the run's internal folder, or in an internal
    folder of its own.

    Raises:
        ConfigurationError: if it is public.
    """
    if output is None:
        return f"{of_run.path or of_run.internal_path}/compare"
    path = resolve(fspath(output), "--output", Path.cwd())
    if f"{path}/".startswith(f"{of_run.public_path}/"):
        raise ConfigurationError(
            f"--output: {path} is public; a comparison is measured on raw rows and stays inside",
        )
    return path
