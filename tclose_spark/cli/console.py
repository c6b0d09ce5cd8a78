"""Results on stdout, messages on stderr: as text, on a terminal in colour, or as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.table import Table

from tclose_spark.api.command_line import as_json, in_json, level_of

if TYPE_CHECKING:
    from tclose_spark.api.release import Release

WIDTH = 200  # of output that is not a terminal; COLUMNS overrides it
WRAPPED = 120  # columns below which sentences are wrapped at words

err = Console(stderr=True, soft_wrap=True, emoji=False)


def on_terminal() -> bool:
    """Whether results go to a terminal."""
    return Console().is_terminal


def show(
    lines: Iterable[RenderableType],
    *,
    style: str | None = None,
    wrapped: bool = False,
) -> None:
    """Prints results: tables, trees, and lines of any length, which are wrapped at words if that is
    requested and the terminal is narrow.
    """
    console = Console(highlight=False, emoji=False, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH
    for line in lines:
        console.print(
            line,
            style=style,
            soft_wrap=not isinstance(line, Table) and not (wrapped and console.width < WRAPPED),
        )


def show_json(tree: Any) -> None:
    """Prints a result as JSON."""
    sys.stdout.write(json.dumps(tree, indent=1, default=str, ensure_ascii=False) + "\n")


def show_release(
    release: Release,
    rows: bool = False,
    in_one_line: bool = False,
    said: Collection[str] = (),
    details: bool = False,
) -> None:
    """Prints a summary of a release, and where its files are.

    rows: before it ten of its rows.
    in_one_line: as JSON.
    said: messages of this run, which are not repeated.
    details: with the precision of each column.
    """
    from tclose_spark.api.release import is_told, json_line, summary

    if rows:
        show([release.preview()])
    if in_one_line:
        show([json_line(release)])
        return
    for line, unprotected in summary(release, details):
        if not (line.startswith("note: ") and is_told(line, said)):
            show([line], style="yellow" if unprotected else None)
    for note in (f"note: {warning}" for warning in release.certificate["warnings"]):
        if not is_told(note, said):
            announce(note)


def announce(line: str) -> None:
    """Prints a message, as text or as JSON. If the disk behind stderr is full, only the exit code
    remains.
    """
    with suppress(OSError):
        if in_json():
            print(as_json(line), file=sys.stderr, flush=True)
        else:
            style = "red" if level_of(line) == "error" else None
            err.print(line, style=style, highlight=False, markup=False)


def progress_bar() -> Callable[[int], AbstractContextManager[Callable[[int], None]]] | None:
    """The progress over rows as a bar, on a terminal; otherwise the verb logs lines."""
    return _bar if err.is_terminal else None


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        *(
            TextColumn("rows"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        ),
        console=err,
        transient=True,
    ) as bar:
        task = bar.add_task("rows", total=total)
        yield lambda done: bar.update(task, completed=done)
