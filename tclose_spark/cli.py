"""The command line: `tclose ...`, and what the jobs for spark-submit call. Messages go to stderr, results to stdout."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tclose_spark.api.errors import DEBUG, known, unexpected
from tclose_spark.api.running import STAGES, carry_out_stages
from tclose_spark.errors import ConfigurationError, TcloseError
from tclose_spark.io.input.files import check_files
from tclose_spark.io.interrupts import MESSAGE, SHORT, handle_signals, run_with_timeout
from tclose_spark.io.messages import as_json as line_as_json
from tclose_spark.io.messages import in_json, level_of, require_log_format
from tclose_spark.io.spark import driver
from tclose_spark.io.spark.driver import start_early
from tclose_spark.report.console import certificate_json, certificate_lines, unprotected_lines
from tclose_spark.runfile.loading import lines_in_errors, read_tree, spec_of
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.version import __version__

if TYPE_CHECKING:
    from tclose_spark.io.run import Run
    from tclose_spark.methods.method import PlanReport

READ_THE_INPUT = ("release", "profile")  # the other stages read what these have staged
READS_ONLY = tuple([name] for name in ("audit", "explain", "compare", "suggest", "hierarchy"))
"""Commands that publish nothing, interrupted or not."""

app = typer.Typer(
    name="tclose",
    help="k-anonymous and t-close releases of tables about people, on Apache Spark, with the proof.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out, err = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)

Config = Annotated[Path, typer.Argument(help="The run file (YAML).", show_default=False)]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY.PATH=VALUE", help="Override a key of the run file.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a finished output once the new one is verified.")]


Show = Annotated[
    bool | None,
    typer.Option("--show/--no-show", help="Print ten rows of the release; by default on a terminal only."),
]

OneLine = Annotated[bool, typer.Option("--json", help="Print one line at the end, for machines.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"tclose {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _add_stage(name: str, summary: str) -> None:
    @app.command(name, help=summary)
    def command(config: Config, set_: Overrides = None, overwrite: Overwrite = False) -> None:
        run_stage(name, config, set_ or [], overwrite)


for _name, _summary in STAGES.items():
    if _name not in ("release", "verify"):
        _add_stage(_name, _summary)


@app.command(help=STAGES["release"])
def release(
    config: Config,
    set_: Overrides = None,
    overwrite: Overwrite = False,
    if_changed: Annotated[
        bool,
        typer.Option(
            "--if-changed",
            help="Do nothing where the finished release is one of this very input, run file and hierarchies; else "
            "replace it.",
        ),
    ] = False,
    show: Show = None,
    as_json: OneLine = False,
) -> None:
    """See STAGES."""
    show = out.is_terminal and not as_json if show is None else show
    run_stage("release", config, set_ or [], overwrite or if_changed, show=show, as_json=as_json, if_changed=if_changed)


@app.command(help=STAGES["verify"])
def verify(
    config: Config,
    set_: Overrides = None,
    overwrite: Overwrite = False,
    finished: Annotated[
        bool, typer.Option("--finished", help="Judge the finished release, whatever is staged beside it.")
    ] = False,
) -> None:
    """See STAGES."""
    run_stage("verify", config, set_ or [], overwrite, finished=finished)


def run_stage(
    name: str,
    config: Path,
    overrides: Sequence[str],
    overwrite: bool,
    show: bool = False,
    as_json: bool = False,
    **options: Any,
) -> None:
    """One stage, or `release` for all of them; options are that stage's own. show: ten rows of what is released.
    as_json: its figures in one line.
    """
    tree = read_tree(config, overrides)
    spec = spec_of(tree)
    with lines_in_errors(tree):
        check_files(spec, reads_input=name in READ_THE_INPUT)
        run, result = carry_out_stages(
            spec, name, announce=_announce, overwrite=overwrite, progress=_show_blocks, **options
        )
    if name == "plan":
        _show_plan(spec, result)
    elif name in ("release", "publish"):
        if show:
            _show_rows(run, result)
        if as_json:
            out.print(certificate_json(result, run.public.path(), run.internal.path()), highlight=False, markup=False)
        else:
            _show_certificate(run, result)


def _show_rows(run: Run, certificate: Mapping[str, Any]) -> None:
    """Ten rows of the release, as it is published."""
    from tclose_spark.io.spark.few_rows import few_rows
    from tclose_spark.io.tables.columns import read_delta
    from tclose_spark.report.preview import ROWS, preview_lines

    released = read_delta(run.spark, run.public.path("release"))
    losses = certificate["utility"]["ncp_by_quasi_identifier"]
    for line in preview_lines(released.columns, few_rows(released, ROWS), losses):
        out.print(line, highlight=False, markup=False)


def _announce(line: str) -> None:
    """Says a line on stderr, as text or as JSON. Where that is a full disk the exit code is what is left."""
    with suppress(OSError):
        if in_json():
            print(line_as_json(line), file=sys.stderr, flush=True)
        else:
            style = "red" if level_of(line) == "error" else None
            err.print(line, style=style, highlight=False, markup=False)


def _show_blocks(total: int) -> AbstractContextManager[Callable[[int], None]]:
    """A bar on a terminal, lines elsewhere."""
    from tclose_spark.io.spark.progress import spoken

    return _bar(total) if err.is_terminal else spoken(total, _announce, "anonymize  blocks")


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    with Progress(
        TextColumn("blocks"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=err, transient=True
    ) as bar:
        task = bar.add_task("blocks", total=total)
        yield lambda done: bar.update(task, completed=done)


def _show_plan(spec: ReleaseSpec, plan: PlanReport) -> None:
    from tclose_spark.api.planning import plan_lines

    for line in plan_lines(spec, plan):
        if isinstance(line, str):
            out.print(line, highlight=False, markup=False)
        else:
            out.print(line)


def _show_certificate(run: Run, certificate: Mapping[str, Any]) -> None:
    """A short summary, and where the files are."""
    yellow = set(unprotected_lines(certificate))
    for line in certificate_lines(certificate, run.public.path(), run.internal.path()):
        out.print(line, style="yellow" if line in yellow else None, highlight=False, markup=False)
    for warning in certificate["warnings"]:
        _announce(f"note: {warning}")


@app.command()
def generate(
    rows: Annotated[int, typer.Option("--rows", min=1, help="How many people.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", help="A folder for people.parquet and hierarchies/.", show_default=False)
    ],
    seed: Annotated[int, typer.Option("--seed", help="Another seed, other people.")] = 2026,
) -> None:
    """Make a synthetic census table with its hierarchies: the same rows for the same seed, on any cluster."""
    start_early()
    from tclose_spark.io.spark.session import get_session
    from tclose_spark.synthetic.census import generate_people, write_hierarchies

    people = generate_people(get_session("tclose generate"), rows, seed)
    try:
        write_hierarchies(output / "hierarchies")
    except OSError as error:
        raise ConfigurationError(f"--output: {output} cannot be written ({error.strerror})") from None
    people.write.mode("overwrite").parquet(str(output / "people.parquet"))
    out.print(
        f"{rows:,} people in {output / 'people.parquet'}, hierarchies in {output / 'hierarchies'}", highlight=False
    )


Quasi = Annotated[
    list[str] | None,
    typer.Option("--quasi-identifiers", "-q", metavar="A,B,..", help="Columns that may tell who a record is about."),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive",
        "-s",
        metavar="COLUMN:DISTANCE:SETTINGS",
        help="Such as disease:equal or salary:ordered:t=0.1,l=3. Repeat it.",
    ),
]
Trees = Annotated[
    list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="Of a quasi-identifier. Repeat it.")
]
RunFile = Annotated[Path | None, typer.Option("--config", help="A run file that says which columns are what, instead.")]
SmallestClass = Annotated[int | None, typer.Option("--k", help="Records that every class must have.")]
Closeness = Annotated[str | None, typer.Option("--t", help="Of the sensitive attributes that have no t of their own.")]
SmallestSuperset = Annotated[
    int | None, typer.Option("--n", help="Ask (n, t)-closeness: t to a natural superset of n records.")
]
Gain = Annotated[str, typer.Option("--gain", help="A class is exposed to an attack if it raises a belief by more.")]
Format = Annotated[
    str | None, typer.Option("--format", help="csv, parquet, delta or table, where the path does not say it.")
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="For Spark's reader, such as sep=;. Repeat it."),
]
Reference = Annotated[
    str | None, typer.Option("--reference", metavar="TABLE", help="Compare with its distribution (a census, say).")
]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
AsPage = Annotated[
    str | None, typer.Option("--html", metavar="FILE", help="Write a page, too: one file that needs nothing else.")
]
TableName = Annotated[
    str, typer.Argument(metavar="TABLE", help="CSV, Parquet, Delta, or a catalog table.", show_default=False)
]


@app.command()
def audit(
    table: TableName,
    quasi_identifiers: Quasi = None,
    sensitive: Sensitive = None,
    hierarchy: Trees = None,
    config: RunFile = None,
    k: SmallestClass = None,
    t: Closeness = None,
    n: SmallestSuperset = None,
    gain: Gain = "0.2",
    format_: Format = None,
    option: Options = None,
    reference: Reference = None,
    background: Annotated[
        str | None, typer.Option("--background", metavar="TABLE", help="People that an attacker knows, to join.")
    ] = None,
    classes_output: Annotated[
        str | None, typer.Option("--classes-output", metavar="PATH", help="Write the class table (Delta).")
    ] = None,
    expectations_output: Annotated[
        str | None,
        typer.Option(
            "--expectations-output", metavar="PATH", help="Write the Great Expectations suite that checks it (JSON)."
        ),
    ] = None,
    supersets: Annotated[
        int, typer.Option("--supersets", min=1, help="Boxes of labels that are looked at for (n, t).")
    ] = 100_000,
    attacks: Annotated[bool, typer.Option("--attacks/--no-attacks", help="Look at what attackers can do, too.")] = True,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels/--no-labels",
            help=(
                "Print labels of the worst classes, and sensitive values. Use --no-labels wherever output is kept, "
                "and on raw tables."
            ),
        ),
    ] = True,
    as_json: AsJson = False,
    html: AsPage = None,
) -> None:
    """Is this table already safe? Every measure, exact, on any table: exit 0 if all that is asked holds, 1 if not."""
    from tclose_spark.auditing.commands import AuditArguments, run_audit

    given = AuditArguments(
        table=table,
        quasi_identifiers=quasi_identifiers or [],
        sensitive=sensitive or [],
        hierarchies=hierarchy or [],
        config=config,
        k=k,
        t=t,
        n=n,
        gain=gain,
        format=format_,
        options=option or [],
        reference=reference,
    )
    run_audit(given, background, classes_output, expectations_output, supersets, attacks, labels, as_json, html)


@app.command()
def explain(
    table: TableName,
    quasi_identifiers: Quasi = None,
    sensitive: Sensitive = None,
    hierarchy: Trees = None,
    config: RunFile = None,
    t: Closeness = None,
    format_: Format = None,
    option: Options = None,
    reference: Reference = None,
    attribute: Annotated[
        str | None, typer.Option("--attribute", help="Which sensitive attribute; by default the farthest.")
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--class", metavar="COLUMN=LABEL", help="Which class; by default the farthest. Repeat it."),
    ] = None,
    as_json: AsJson = False,
    html: AsPage = None,
) -> None:
    """One class: both distributions side by side, the distance, and which mass moves where at what cost."""
    from tclose_spark.auditing.commands import AuditArguments, run_explain

    given = AuditArguments(
        table=table,
        quasi_identifiers=quasi_identifiers or [],
        sensitive=sensitive or [],
        hierarchies=hierarchy or [],
        config=config,
        k=None,
        t=t,
        n=None,
        gain="0.2",
        format=format_,
        options=option or [],
        reference=reference,
    )
    run_explain(given, attribute, labels or [], as_json, html)


@app.command()
def compare(
    config: Config,
    set_: Overrides = None,
    k: Annotated[str | None, typer.Option("--k", metavar="K,..", help="By default the run file's.")] = None,
    t: Annotated[
        str | None,
        typer.Option("--t", metavar="T,..", help="Of all sensitive attributes that have one. By default their own."),
    ] = None,
    methods: Annotated[
        str, typer.Option("--methods", metavar="METHOD,..", help="all, or names with settings: NAME:KEY=VALUE.")
    ] = "all",
    sample: Annotated[
        str, typer.Option("--sample", metavar="ROWS", help="How many rows, drawn by their content; or all.")
    ] = "50000",
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="FOLDER", help="Not a public one. By default compare/ in the run's output."),
    ] = None,
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Plan every combination, and move no row.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew. Without it, what is finished is not done again.")
    ] = False,
) -> None:
    """Which method loses least at a k and t, and what would others cost? Every combination, on a sample or all rows."""
    from tclose_spark.comparing.commands import CompareArguments, run_compare

    given = CompareArguments(
        config=config,
        overrides=set_ or [],
        ks=k,
        ts=t,
        methods=methods,
        sample=sample,
        output=output,
        plan_only=plan_only,
        overwrite=overwrite,
    )
    run_compare(given, _announce)


@app.command()
def suggest(
    table: TableName,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="The run file. By default as the table, in YAML.")
    ] = None,
    sample: Annotated[
        str, typer.Option("--sample", metavar="ROWS", help="How many rows are looked at closely; or all.")
    ] = "100000",
    format_: Format = None,
    option: Options = None,
    k: Annotated[
        int | None, typer.Option("--k", min=2, help="For the run file. By default 10, of few rows less.")
    ] = None,
    t: Annotated[str, typer.Option("--t", help="For the run file.")] = "0.2",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a run file that is there.")] = False,
) -> None:
    """What is in this table? Looks at its columns, and writes a commented run file that runs as it is."""
    from tclose_spark.suggesting.commands import SuggestArguments, run_suggest

    given = SuggestArguments(
        table=table,
        output=output,
        sample=sample,
        format=format_,
        options=option or [],
        k=k,
        t=t,
        overwrite=overwrite,
    )
    run_suggest(given, lambda line: out.print(line, highlight=False, markup=False))


@app.command()
def hierarchy(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A run file (YAML), or a table.", show_default=False)],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column.", show_default=False)],
    build: Annotated[
        str | None,
        typer.Option("--build", metavar="FORM", help="Such as 'intervals: [5, 10]'. By default the run file's."),
    ] = None,
    check: Annotated[
        str | None, typer.Option("--check", metavar="FILE", help="A CSV (leaf first, * last) to look at instead.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Of the column: categorical (default) or numeric.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write it as CSV, leaf first, * last.")
    ] = None,
    format_: Format = None,
    option: Options = None,
    set_: Overrides = None,
    depth: Annotated[int | None, typer.Option("--depth", min=1, help="Levels below the root that are shown.")] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Children of a node that are shown.")] = 12,
    values: Annotated[bool, typer.Option("--values", help="Print the values that have no leaf, too.")] = False,
) -> None:
    """Look at a hierarchy beside a table's values: built, or a CSV that is checked; write it as CSV. Internal."""
    from tclose_spark.auditing.hierarchy import HierarchyArguments, run_hierarchy

    given = HierarchyArguments(
        source=source,
        column=column,
        build=build,
        check=check,
        kind=kind,
        output=output,
        format=format_,
        options=option or [],
        overrides=set_ or [],
        depth=depth,
        most=most,
        values=values,
    )
    run_hierarchy(given)


@app.command("compile")
def compile_(
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="By default what NUMBA_CACHE_DIR says, or ~/.cache.")
    ] = None,
) -> None:
    """Compile all kernels that releases use, such as into an image: a release there compiles nothing."""
    if to is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(to.resolve())
    from tclose_spark.kernels.caching import kept_in, let_all_read
    from tclose_spark.methods.compiling import compile_kernels

    if to is not None and not kept_in().is_relative_to(to.resolve()):
        raise ConfigurationError(f"--to: {to} cannot be written by this user alone, and holds code")
    compiled = compile_kernels(_announce)
    if to is not None:
        let_all_read()
    out.print(f"kernels compiled: {compiled:,}; they are kept in {kept_in()}", highlight=False, markup=False)


@app.command("schema")
def schema_(
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Where it is written; by default it is printed.")
    ] = None,
) -> None:
    """The JSON Schema of run files, with which an editor completes and checks them."""
    from tclose_spark.runfile.schema import schema_text

    if output is None:
        sys.stdout.write(schema_text())
        return
    try:
        output.write_text(schema_text(), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--output: {output} cannot be written ({error.strerror})") from None


@app.command()
def version() -> None:
    """Show the version."""
    out.print(json.dumps({"tclose_spark": __version__}))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code. An interrupt is 130 (SIGTERM 143) and one line.

    Without arguments it is the process's own command line, and nothing follows but Spark's end, which no signal cuts
    short.
    """
    return run_command(sys.argv[1:] if arguments is None else arguments, last=arguments is None)


def run_command(arguments: Sequence[str], last: bool) -> int:
    """The exit code of one command. last: nothing follows in this process but Spark's end."""
    given = list(arguments)
    with handle_signals(SHORT if given[:1] in READS_ONLY else MESSAGE, last) as interrupt:
        try:
            require_log_format()
            code = app(args=given, standalone_mode=False)
            if not code or interrupt.received is None:  # typer makes a KeyboardInterrupt a code
                return code if isinstance(code, int) else 0
        except (Exception, KeyboardInterrupt) as error:
            if interrupt.received is None and not isinstance(error, KeyboardInterrupt):
                return _failed(error)
        interrupt.ending = True
        interrupt.tell()
        if last and driver.is_ours():
            driver.end_now()
        else:
            _cancel_jobs()
        return interrupt.exit_code


def _cancel_jobs() -> None:
    """Cancels what a session that outlives this command still runs for it."""
    session = sys.modules.get("tclose_spark.io.spark.session")
    if session is not None:
        run_with_timeout(session.cancel_jobs)


def _failed(error: Exception) -> int:
    """The exit code of an error; says what it is."""
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, TcloseError):
        _announce(f"error: {error}")
        return error.exit_code
    return _unexpected(error)


def _unexpected(error: Exception) -> int:
    """The exit code of an error that is not ours; its text may hold values of people and is shown on request only."""
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # click's usage errors
        message = error.format_message()
        if message:  # without arguments click has shown the help, and says no more
            _announce(f"error: {message}")
        return int(error.exit_code)
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    meant = known(error)
    if meant is not None:
        _announce(f"error: {meant}")
        return meant.exit_code
    _announce(f"error: {unexpected(error)}")
    return TcloseError.exit_code


def run_job(name: str) -> None:
    """What `jobs/<name>.py` does: `--config CONF`, `--set`, `--overwrite`; ends the process with the exit code."""
    arguments = [a.removeprefix("--config=") for a in sys.argv[1:] if a != "--config"]
    code = run_command([name, *arguments], last=True)
    if code:
        sys.exit(code)


def job() -> None:
    """What `tclose-job STAGE CONF [options]` does: `run_job`, for platforms that call a function."""
    if sys.argv[1:2] and sys.argv[1] in STAGES:
        run_job(sys.argv.pop(1))
    else:
        _announce(f"error: expected a stage first: {', '.join(STAGES)}")
        sys.exit(2)
