"""The commands: each parses its options, calls the verb of the same name, and prints what it
returns.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tclose_spark.api.command_line import (
    after_override,
    compile_all,
    parse_hierarchy,
    reader_options,
    require_new,
    schema_text,
)
from tclose_spark.api.stage_names import STAGES
from tclose_spark.cli.audits import audit, explain, fingerprint
from tclose_spark.cli.console import (
    announce,
    on_terminal,
    progress_bar,
    show,
    show_json,
    show_release,
)
from tclose_spark.cli.options import (
    After,
    Config,
    Details,
    Engine,
    Format,
    IfChanged,
    Overrides,
    Overwrite,
    Pdf,
    ReaderOptions,
    Resume,
    ShowRows,
    TableName,
    parse_list,
    parse_number,
    parse_numbers,
    write_private,
    writing,
)
from tclose_spark.errors import InputError
from tclose_spark.version import __version__

RELEASE = "Make a release"
JUDGE = "Judge a table"
HELPERS = "Helpers"
ONE_BY_ONE = "The stages of a release, one at a time"
RUN_FILES = (".yaml", ".yml")

app = typer.Typer(
    name="tclose",
    help="k-anonymous and t-close releases of tables about people, in one process or on Apache "
    "Spark, with the proof.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        show([f"tclose {__version__}"])
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    pass


def _add_stage(name: str, summary: str) -> None:
    @app.command(name, help=summary, rich_help_panel=ONE_BY_ONE)
    def command(
        config: Config,
        set_: Overrides = None,
        overwrite: Overwrite = False,
        engine: Engine = None,
        after: After = None,
    ) -> None:
        result = _run_stage(
            name,
            config,
            [*(set_ or []), *after_override(after)],
            overwrite,
            engine=engine,
        )
        if name == "plan":
            show(result.lines())
        elif name == "publish":
            show_release(result)


def _run_stage(
    name: str,
    config: Path,
    overrides: list[str] | None,
    overwrite: bool,
    **options: Any,
) -> Any:
    from tclose_spark.api.stages import run_stage

    return run_stage(
        name,
        None,
        config,
        overrides=overrides or [],
        overwrite=overwrite,
        log=announce,
        progress=progress_bar(),
        **options,
    )


@app.command(help=STAGES["release"], rich_help_panel=RELEASE)
def release(
    config: Config,
    set_: Overrides = None,
    engine: Engine = None,
    overwrite: Overwrite = False,
    if_changed: IfChanged = False,
    resume: Resume = False,
    rows: ShowRows = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one line at the end, for machines."),
    ] = False,
    after: After = None,
    details: Details = False,
    pdf: Pdf = None,
) -> None:
    """See STAGES."""
    from tclose_spark.api.release import Report
    from tclose_spark.api.release import release as release_table

    if pdf is not None:
        Report.require_pdf()
        if not (overwrite or if_changed):
            require_new("--pdf", pdf)
    rows = on_terminal() and not as_json if rows is None else rows
    said: list[str] = []

    def log(line: str) -> None:
        said.append(line)
        announce(line)

    made = release_table(
        None,
        config,
        overwrite=overwrite,
        if_changed=if_changed,
        resume=resume,
        overrides=[*(set_ or []), *after_override(after)],
        log=log,
        progress=progress_bar(),
        details=details,
        engine=engine,
    )
    if pdf is not None:
        made.report.to_pdf(pdf)
    show_release(made, rows, as_json, said, details)


@app.command(help=STAGES["verify"], rich_help_panel=JUDGE)
def verify(
    config: Config,
    set_: Overrides = None,
    engine: Engine = None,
    overwrite: Overwrite = False,
    finished: Annotated[
        bool,
        typer.Option(
            "--finished",
            help="Verify the finished release, whatever is staged beside it.",
        ),
    ] = False,
    other_version: Annotated[
        bool,
        typer.Option(
            "--other-version",
            help="Accept a finished release by another version; see the upgrade page.",
        ),
    ] = False,
    after: After = None,
) -> None:
    """See STAGES."""
    _run_stage(
        "verify",
        config,
        [*(set_ or []), *after_override(after)],
        overwrite,
        engine=engine,
        finished=finished,
        other_version=other_version,
    )


@app.command(rich_help_panel=RELEASE)
def history(
    output: Annotated[
        str,
        typer.Argument(metavar="OUTPUT", help="The output folder of a run.", show_default=False),
    ],
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Also plot the loss by release, as SVG."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the entries as JSON.")] = False,
) -> None:
    """Show the releases so far of a table that is released again and again: rows, atoms, loss,
    requirements.
    """
    from tclose_spark.api.history import history as read_history

    found = read_history(output)
    if plot is not None:
        with writing("--plot", plot):
            found.plot(plot)
    if as_json:
        show_json(list(found.entries))
    else:
        show(found.lines())


@app.command(rich_help_panel=HELPERS)
def generate(
    rows: Annotated[
        int,
        typer.Option("--rows", min=1, help="How many people, or stays.", show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            help="A folder for people.parquet (encounters.parquet) and hierarchies/.",
            show_default=False,
        ),
    ],
    encounters: Annotated[
        bool,
        typer.Option(
            "--encounters",
            help="Hospital stays in place of people: a person may have several.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Another seed, other people.")] = 2026,
) -> None:
    """Make a synthetic census, or hospital stays, with hierarchies: the same rows for the same
    seed, anywhere.
    """
    from tclose_spark.api.generate import write_generated

    with writing("--output", output):
        table, hierarchies = write_generated(rows, output, encounters, seed)
    show(
        [
            f"{rows:,} {'encounters' if encounters else 'people'} in {table}, hierarchies in "
            f"{hierarchies}",
        ],
    )


for _command in (audit, explain, fingerprint):
    app.command(rich_help_panel=JUDGE)(_command)


@app.command(rich_help_panel=RELEASE)
def compare(
    config: Config,
    set_: Overrides = None,
    k: Annotated[
        str | None,
        typer.Option("--k", metavar="K,..", help="By default the run file's."),
    ] = None,
    t: Annotated[
        str | None,
        typer.Option(
            "--t",
            metavar="T,..",
            help="The t of all sensitive attributes that have one; by default their own.",
        ),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            metavar="METHOD,..",
            help="all, or names with settings: NAME:KEY=VALUE.",
        ),
    ] = "all",
    sample: Annotated[
        str,
        typer.Option(
            "--sample",
            metavar="ROWS",
            help="The number of rows, drawn by their content; or all.",
        ),
    ] = "50000",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            metavar="FOLDER",
            help="An internal folder; by default compare/ in the run's output.",
        ),
    ] = None,
    plan_only: Annotated[
        bool,
        typer.Option("--plan-only", help="Plan every combination, and move no row."),
    ] = False,
    bound: Annotated[
        bool,
        typer.Option(
            "--bound",
            help="Also find what no release can lose less than: at most 20 s for each k and t.",
        ),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Start again. Without it, finished combinations are reused.",
        ),
    ] = False,
    engine: Engine = None,
) -> None:
    """Which method loses least at a k and t, and what would others cost? Every combination, on a
    sample or all rows.
    """
    from tclose_spark.api.compare import compare as compare_methods

    comparison = compare_methods(
        None,
        config,
        k=parse_numbers(k, "--k"),
        t=parse_list(t, "--t"),
        methods=parse_list(methods, "--methods") or [],
        sample=parse_number(sample),
        output=output,
        plan_only=plan_only,
        bound=bound,
        overwrite=overwrite,
        require=False,
        overrides=set_ or [],
        log=announce,
        engine=engine,
    )
    show([*comparison.lines(), f"page: {comparison.page} (internal: measured on raw rows)"])
    comparison.require_all_hold()


@app.command(rich_help_panel=RELEASE)
def suggest(
    table: TableName,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="The run file; by default named after the table.",
        ),
    ] = None,
    sample: Annotated[
        str,
        typer.Option(
            "--sample",
            metavar="ROWS",
            help="The number of rows to examine closely; or all.",
        ),
    ] = "100000",
    format_: Format = None,
    option: ReaderOptions = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            "--dictionary",
            metavar="FILE",
            help="Descriptions of columns: CSV, a data package (JSON), a contract (YAML).",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            min=2,
            help="For the run file; by default 10, or less for a small table.",
        ),
    ] = None,
    t: Annotated[str, typer.Option("--t", help="For the run file.")] = "0.2",
    trial: Annotated[
        bool,
        typer.Option(
            "--trial/--no-trial",
            help="Carry the run file out in memory on rows of the sample.",
        ),
    ] = True,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace an existing run file."),
    ] = False,
    engine: Engine = None,
) -> None:
    """What is in this table? Examines its columns, and writes a commented run file that can be run
    unchanged.
    """
    from tclose_spark.api.suggest import run_file_of, summary_lines
    from tclose_spark.api.suggest import suggest as suggest_run_file

    options = reader_options(option)
    file = output or run_file_of(table, format_, options)
    if not overwrite:
        require_new("--output", file, in_folder=False)
    suggestion = suggest_run_file(
        table,
        format=format_,
        options=options,
        file=file,
        k=k,
        t=t,
        dictionary=dictionary,
        trial=trial,
        sample=parse_number(sample),
        log=lambda line: show([line]),
        engine=engine,
    )
    show(summary_lines(suggestion))
    suggestion.write(file, overwrite)


@app.command(rich_help_panel=HELPERS)
def hierarchy(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A run file (YAML), or a table.", show_default=False),
    ],
    column: Annotated[
        str,
        typer.Argument(metavar="COLUMN", help="The column.", show_default=False),
    ],
    build: Annotated[
        str | None,
        typer.Option(
            "--build",
            metavar="FORM",
            help="Such as 'intervals: [5, 10]'. By default the run file's.",
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            metavar="FILE",
            help="A CSV (leaf first, * last) to check instead.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--type", help="Of the column: categorical (default) or numeric."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write it as CSV, leaf first, * last."),
    ] = None,
    format_: Format = None,
    option: ReaderOptions = None,
    set_: Overrides = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, help="Levels below the root that are shown."),
    ] = None,
    most: Annotated[
        int,
        typer.Option("--most", min=1, help="Children of a node that are shown."),
    ] = 12,
    values: Annotated[
        bool,
        typer.Option("--values", help="Print the values that have no leaf, too."),
    ] = False,
    engine: Engine = None,
) -> None:
    """Show a hierarchy beside a table's values: built, or a CSV that is checked; write it as CSV.
    Internal.
    """
    from tclose_spark.api.hierarchy import hierarchy as hierarchy_of

    require_new("--output", output, in_folder=False)
    of_run_file = source.endswith(RUN_FILES)
    how: dict[str, Any] = {"spec": source, "overrides": set_ or []} if of_run_file else {}
    how |= {
        "of": parse_hierarchy(build, check),
        "type": kind,
        "format": format_,
        "options": reader_options(option),
    }
    preview = hierarchy_of(None if of_run_file else source, column, engine=engine, **how)
    show(preview.lines(depth, most))
    if values:
        show(f"  no leaf: {value!r}, {rows:,} rows" for value, rows in preview.lost.items())
    if output is not None:
        write_private("--output", output, preview.csv)
        show([f"written: {output}"])
    if preview.lost:
        raise InputError(
            f"{column!r}: its hierarchy has no leaf for {len(preview.lost)} values in "
            f"{sum(preview.lost.values()):,} rows; add a row for "
            f"each{'' if values else ' (--values shows them)'}",
        )


@app.command("compile", rich_help_panel=HELPERS)
def compile_(
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FOLDER",
            help="By default that of NUMBA_CACHE_DIR, or ~/.cache.",
        ),
    ] = None,
) -> None:
    """Compile all kernels that releases use, for example into an image: a release there compiles
    nothing.
    """
    compiled, folder = compile_all(to, announce)
    show([f"kernels compiled: {compiled:,}; they are kept in {folder}"])


@app.command(rich_help_panel=HELPERS)
def schema(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Where to write it; by default it is printed.",
        ),
    ] = None,
) -> None:
    """The JSON Schema of run files, with which an editor completes and checks them."""
    if output is None:
        sys.stdout.write(schema_text())
        return
    with writing("--output", output):
        output.write_text(schema_text(), encoding="utf-8")


@app.command(rich_help_panel=HELPERS)
def version() -> None:
    """Show the version."""
    show([json.dumps({"tclose_spark": __version__})])


for _name, _summary in STAGES.items():
    if _name not in ("release", "verify"):
        _add_stage(_name, _summary)
