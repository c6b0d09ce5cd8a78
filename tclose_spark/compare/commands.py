"""`tclose compare`: from what is typed to what is printed and written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tclose_spark.compare.asked import combinations, read_ks, read_methods, read_ts
from tclose_spark.compare.sample import MOST_ROWS
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.driver import start_early
from tclose_spark.runfile.loading import read_tree, resolve, spec_of
from tclose_spark.runfile.spec import Output

if TYPE_CHECKING:
    from tclose_spark.compare.comparison import Comparison

WIDTH = 200  # of what is not printed on a terminal; COLUMNS says another


@dataclass(frozen=True, kw_only=True)
class CompareArguments:
    """What the command is given, as it is typed."""

    config: Path
    overrides: Sequence[str]
    ks: str | None
    ts: str | None
    methods: str
    sample: str
    output: str | None
    plan_only: bool
    overwrite: bool


def run_compare(given: CompareArguments, announce: Callable[[str], None]) -> None:
    """Compares, prints and writes.

    Raises:
        GuaranteeError: if a release does not hold what is asked, after all the others were made.
    """
    tree = read_tree(given.config, given.overrides)
    spec = spec_of(tree)
    methods = read_methods(given.methods, tree.get("method"))
    asked = combinations(tree, read_ks(given.ks, spec), read_ts(given.ts, tree), methods)
    most = read_sample(given.sample)
    output = folder_of(given.output, spec.output)
    start_early(spec.input.path)
    from tclose_spark.compare.classifier import is_installed
    from tclose_spark.compare.comparison import PLAN, Comparison, carry_out_all
    from tclose_spark.compare.kept import PAGE, Kept, key_of
    from tclose_spark.compare.page import render_page
    from tclose_spark.compare.reading import read_rows
    from tclose_spark.compare.remarks import remarks
    from tclose_spark.compare.sample import ComparedTable
    from tclose_spark.compare.worth import Worth
    from tclose_spark.io.lock import locked
    from tclose_spark.io.run import Run
    from tclose_spark.io.session import get_session
    from tclose_spark.io.storage import open_folder
    from tclose_spark.methods.attributes import ResolvedAttributes

    session = get_session(f"tclose compare {spec.name}")
    run, folder = Run(spec, session, announce), open_folder(output, session)
    paths = json.dumps({name: hierarchy.paths for name, hierarchy in sorted(run.hierarchies.items())})
    kept = Kept(folder, key_of(spec, paths, given.sample))

    def rows() -> ComparedTable:
        table = kept.table()
        if table is None:
            run.internal.create(private=True)  # where the secret is
            table = read_rows(run, folder, most)
            kept.keep_table(table)
        announce(f"compare    on {len(table.rows):,} of {table.whole:,} rows")
        return table

    def worth(table: ComparedTable) -> Worth:
        trees = {**run.hierarchies, **table.built}
        return Worth.of_table(table, ResolvedAttributes.of(spec.attributes, table.profile, trees))

    folder.create(private=True)
    with locked(folder):
        kept.begin(given.overwrite)
        variant = PLAN if given.plan_only else f"release{', accuracy' if is_installed() else ''}"
        outcomes = carry_out_all(asked, kept, rows, run.hierarchies, worth, variant, announce)
        compared, whole = kept.rows
        comparison = Comparison(name=spec.name, rows=compared, whole=whole, outcomes=tuple(outcomes))
        page, plot = render_page(comparison, remarks(comparison))
        kept.finish(comparison.to_json(), page, plot)
    _print(comparison, folder.path(PAGE))
    if comparison.broken:
        raise GuaranteeError(
            f"{len(comparison.broken)} releases do not hold what is asked, of methods: "
            f"{', '.join(dict.fromkeys(one.method for one in comparison.broken))}"
        )


def read_sample(text: str) -> int | None:
    """How many rows `--sample` asks for; None for all.

    Raises:
        ConfigurationError: if it is neither a number nor `all`, or more than a comparison holds.
    """
    if text == "all":
        return None
    if not text.isdecimal() or not 0 < int(text) <= MOST_ROWS:
        raise ConfigurationError(f"--sample {text}: expected a number of rows up to {MOST_ROWS:,}, or all")
    return int(text)


def folder_of(given: str | None, output: Output) -> str:
    """Where the comparison goes: beside the run's internal folder, or inside it where that stands alone.

    Raises:
        ConfigurationError: if it is public.
    """
    if given is None:
        return f"{output.path or output.internal_path}/compare"
    path = resolve(given, "--output", Path.cwd())
    if f"{path}/".startswith(f"{output.public_path}/"):
        raise ConfigurationError(f"--output: {path} is public; a comparison is measured on raw rows and stays inside")
    return path


def _print(comparison: Comparison, page: str) -> None:
    """Prints the table and what is to be said of it."""
    from tclose_spark.compare.console import comparison_table
    from tclose_spark.compare.remarks import of_accuracy

    console = _console()
    table, notes = comparison_table(comparison)
    console.print(table)
    for note in [*notes, *of_accuracy(comparison), f"page: {page} (internal: measured on raw rows)"]:
        console.print(note, highlight=False, markup=False, soft_wrap=True)


def _console() -> Console:
    wide = Console(highlight=False, emoji=False)
    return wide if wide.is_terminal or "COLUMNS" in os.environ else Console(width=WIDTH, highlight=False, emoji=False)
