"""The commands on the pages are commands: each is read by the command line as it stands, with all
its options.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tclose_spark.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LEFT_OUT = re.compile(r"\.\.\.|TABLE|CONF\b|COLUMN|FILE\b|FOLDER|SOURCE|\[--|<|\$")
"""What stands for something in a command is no command."""


def commands(page: Path) -> Iterator[str]:
    """The commands in the page's indented and fenced code, lines that go on joined."""
    text = page.read_text().replace("\\\n", " ")
    for line in text.splitlines():
        found = re.match(r"(?:    |\$ )?(?:\.venv/bin/)?tclose ((?:[a-z]+)\b.*)$", line)
        if found and not LEFT_OUT.search(found[1]):
            yield re.split(r"  #| \| | 2>", re.sub(r"\s+(?=#)", "  ", found[1]))[0].strip()


COMMANDS = sorted(
    {(page.relative_to(ROOT).as_posix(), command) for page in PAGES for command in commands(page)},
)


def test_pages_have_commands() -> None:
    assert len(COMMANDS) > 15
    assert {"README.md", "docs/tutorial.md", "docs/choose.md"} <= {page for page, _ in COMMANDS}


@pytest.mark.parametrize(
    ("page", "command"),
    COMMANDS,
    ids=[f"{page}: {command}" for page, command in COMMANDS],
)
def test_a_command_of_a_page_is_one(page: str, command: str) -> None:
    group: Any = typer.main.get_command(app)
    name, *arguments = shlex.split(command, comments=True)
    with group.make_context("tclose", [name, *arguments], resilient_parsing=False) as context:
        _, found, rest = group.resolve_command(context, [name, *arguments])
        found.make_context(name, rest, parent=context).close()
