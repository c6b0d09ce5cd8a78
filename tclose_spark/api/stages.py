"""`tclose_spark.plan`: what classes to expect, before any row moves; and `tclose_spark.run_stage`:
the stages of a release one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tclose_spark.api.arguments import Spec, Table, Where, given_run
from tclose_spark.api.engine_choice import asked_engine
from tclose_spark.api.release import Release
from tclose_spark.api.session import Log, Progress, run_stages, temporary_folder
from tclose_spark.api.signatures import require_type, verb
from tclose_spark.api.stage_names import READ_THE_INPUT, STAGES
from tclose_spark.errors import ConfigurationError
from tclose_spark.report.notebook import in_frame, page_of, printed
from tclose_spark.runfile.spec import ReleaseSpec

if TYPE_CHECKING:
    from rich.table import Table as Lines
    from rich.text import Text

    from tclose_spark.methods.method import PlanReport

OPTIONS: Mapping[str, Mapping[str, type]] = {
    "release": {"if_changed": bool, "resume": bool, "details": bool},
    "verify": {"finished": bool, "other_version": bool},
}
"""What stages take besides, with its type."""


@verb
def run_stage(
    name: str,
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    overwrite: bool = False,
    overrides: Sequence[str] = (),
    log: Log | None = print,
    progress: Progress | None = None,
    engine: str | None = None,
    **options: Any,
) -> Any:
    """One stage of a release, from the output of the one before: profile, plan, anonymize, verify,
    report or publish. Only `profile` reads the table. plan returns a `Planned`, publish a
    `Release`.

    See `release` for the other arguments. options: of the stage, such as `finished=True` of verify.
    """
    if name not in STAGES:
        raise ConfigurationError(f"there is no stage {name!r}; expected {', '.join(STAGES)}")
    known = OPTIONS.get(name, {})
    for option, value in options.items():
        if option not in known:
            raise ConfigurationError(
                f"{option}: stage {name} takes {', '.join(known) or 'no options'}",
            )
        require_type(option, value, known[option])
    run = given_run(table, spec, output, overrides, reads=name in READ_THE_INPUT)
    result = run_stages(
        run,
        name,
        log=log,
        overwrite=overwrite,
        progress=progress,
        engine=engine,
        **options,
    )
    if name == "plan":
        return Planned(run.spec, result)
    return (
        Release(run.spec.output, asked_engine(engine, run.spec.engine).engine)
        if name in ("release", "publish")
        else result
    )


@dataclass(frozen=True)
class Planned:
    """A plan, in figures; Jupyter shows its tables.

    spec: the whole run file.
    report: the plan's figures, and the contents of its tables in `details`.
    """

    spec: ReleaseSpec
    report: PlanReport

    @property
    def figures(self) -> Mapping[str, Any]:
        """The plan's figures, by name."""
        return self.report.figures

    def lines(self) -> Iterator[Lines | Text | str]:
        """The tables of the plan, and the notes below them."""
        from tclose_spark.methods.method import method_of

        method = self.spec.method
        settings = dict(self.spec.attributes.sensitive_attributes)
        settings |= {one.name: one.as_attribute for one in self.spec.privacy.joint or ()}
        tables, notes = method_of(method).tables(self.spec.name, self.report, method, settings)
        if "k" in self.report.details:
            from tclose_spark.comparing.choose_k import ChosenK
            from tclose_spark.comparing.views import candidates_table

            yield candidates_table(self.spec.name, ChosenK.from_json(self.report.details["k"]))
        yield from tables
        yield from notes

    def __repr__(self) -> str:
        return printed(self.lines())

    def _repr_html_(self) -> str:
        return in_frame(page_of(f"Plan of {self.spec.name}", self.lines()), "Plan", 420)


@verb
def plan(
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    overwrite: bool = False,
    overrides: Sequence[str] = (),
    log: Log | None = print,
    engine: str | None = None,
) -> Planned:
    """Profiles a table and plans its release: what classes to expect, and whether the requirements
    can be reached.

    See `release` for the arguments. output: the stages after it continue from the plan there
    (`run_stage`); by default a folder that is removed again.

    Raises:
        UnreachableError: if the requirements cannot be reached; the message names those that can.
        ConfigurationError, InputError: as `release` does.
    """
    with temporary_folder() as folder:
        run = given_run(table, spec, output, overrides, nowhere=folder)
        return Planned(
            run.spec,
            run_stages(run, "profile", "plan", log=log, overwrite=overwrite, engine=engine),
        )
