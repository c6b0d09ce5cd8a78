"""`tclose compare`: from what is typed to what is printed and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tclose_spark.comparing.request import ComparisonRequest, combinations, read_ks, read_methods, read_ts
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.spark.driver import start_early
from tclose_spark.runfile.loading import read_tree, resolve, spec_of
from tclose_spark.runfile.spec import Output

if TYPE_CHECKING:
    from tclose_spark.comparing.result import Comparison

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
    output = folder_of(given.output, spec.output)
    question = ComparisonRequest(
        spec=spec,
        combinations=asked,
        sample=given.sample,
        output=output,
        plan_only=given.plan_only,
        overwrite=given.overwrite,
    )
    start_early(spec.input.path)
    from tclose_spark.comparing.run_comparison import run_comparison
    from tclose_spark.comparing.store import PAGE
    from tclose_spark.io.spark.session import get_session

    comparison = run_comparison(question, get_session(f"tclose compare {spec.name}"), announce)
    _print(comparison, f"{output}/{PAGE}")
    comparison.require_all_hold()


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
    from tclose_spark.comparing.remarks import of_accuracy
    from tclose_spark.comparing.views import comparison_table

    console = _console()
    table, notes = comparison_table(comparison)
    console.print(table)
    for note in [*notes, *of_accuracy(comparison), f"page: {page} (internal: measured on raw rows)"]:
        console.print(note, highlight=False, markup=False, soft_wrap=True)


def _console() -> Console:
    wide = Console(highlight=False, emoji=False)
    return wide if wide.is_terminal or "COLUMNS" in os.environ else Console(width=WIDTH, highlight=False, emoji=False)
