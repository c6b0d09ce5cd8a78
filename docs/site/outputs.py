"""Runs the commands that pages show, and writes beneath each what it prints: `make docs-outputs`.

A block of code called `console` has commands behind `$ `, each followed by its output. A page's
blocks run in order, in an empty folder of their own, in which every block with a title is a file.
`tests/docs/test_outputs.py` runs them again.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from difflib import unified_diff
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from tclose_spark.cli import main

DOCS = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
VARIES = re.compile(
    r"\b\d+(?:\.\d+)? s\b|\b\d{4}-\d\d-\d\d\b| *\d+\.\d (?=│ [* ] │$)"
    r"|0\.\d{3}(?= │ +[\d,]+ │ +\d+\.\d │)",
    re.MULTILINE,
)
"""Seconds and dates, and the accuracy and CPU seconds of a comparison: what differs from run to run
and by machine.
"""
SHOWN_FOLDER = "/home/ana"
QUIET, BOTH = " 2>/dev/null", " 2>&1"
SETTINGS = {
    "TCLOSE_SECRET": "the secret of these pages",
    "COLUMNS": "132",
    "NO_COLOR": "1",
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
}


def pages() -> list[Path]:
    """The pages that show what commands print."""
    return [page for page in sorted(DOCS.rglob("*.md")) if BLOCK.search(page.read_text())]


def with_outputs(text: str) -> str:
    """The text of a page with what its commands print now. Outputs that differ in times only
    stay.
    """
    with folder_of(text) as folder:
        return BLOCK.sub(
            lambda block: f"```console\n{''.join(_session(block[1], folder))}```",
            text,
        )


@contextmanager
def folder_of(text: str) -> Iterator[str]:
    """A new working folder with the files of a page, and the settings of its commands."""
    with tempfile.TemporaryDirectory() as name, chdir(name), patch.dict(os.environ, SETTINGS):
        for file, content in TITLED.findall(text):
            Path(file).write_text(content)
        yield name


def run_all(text: str) -> None:
    """Runs all commands of a page in the working folder."""
    for block in BLOCK.findall(text):
        for command in COMMAND.findall(block):
            run(command)


def _session(block: str, folder: str) -> Iterator[str]:
    """The commands of a block, each with its output."""
    found = list(COMMAND.finditer(block))
    for command, after in zip(found, [*found[1:], None], strict=True):
        shown = block[command.end() + 1 : after.start() if after else len(block)]
        printed = run(command[1]).replace(folder, SHOWN_FOLDER)
        printed = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
        yield (
            f"$ {command[1]}\n"
            f"{shown if without_times(shown) == without_times(printed) else printed}"
        )


def run(command: str) -> str:
    """What a command prints. `tclose` runs in this process; what follows a pipe runs in a shell."""
    command = re.sub(r"\s*\\\n\s*", " ", command)
    first, _, rest = command.partition(" | ")
    name, *arguments = shlex.split(first.removesuffix(QUIET).removesuffix(BOTH))
    if name != "tclose":
        return _in_shell(command)
    results = StringIO()
    messages = (
        results if first.endswith(BOTH) or not (rest or first.endswith(QUIET)) else StringIO()
    )
    with redirect_stdout(results), redirect_stderr(messages):
        code = main(arguments)
    ended = f"(exit code {code})" if code else ""
    if code not in (0, 1, 2, 3):
        raise RuntimeError(f"{command}: {messages.getvalue()}")
    aside = "" if first.endswith(QUIET) or messages is results else messages.getvalue()
    return aside + (_in_shell(rest, results.getvalue()) if rest else results.getvalue()) + ended


def _in_shell(command: str, given: str = "") -> str:
    return subprocess.run(
        ["bash", "-c", command],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def without_times(text: str) -> str:
    """A text without what differs from run to run."""
    return VARIES.sub("..", text)


def main_of_pages(arguments: Sequence[str]) -> int:
    """Writes the pages that are named, or all; with --check, prints what differs and writes
    nothing.
    """
    differ = 0
    named = [Path(name).resolve() for name in arguments if name != "--check"]
    for page in named or pages():
        shown = page.read_text()
        printed = with_outputs(shown)
        if "--check" not in arguments:
            page.write_text(printed)
        elif printed != shown:
            differ = 1
            print(
                *unified_diff(
                    shown.splitlines(),
                    printed.splitlines(),
                    str(page),
                    "printed now",
                    lineterm="",
                ),
                sep="\n",
            )
    return differ


if __name__ == "__main__":
    sys.exit(main_of_pages(sys.argv[1:]))
