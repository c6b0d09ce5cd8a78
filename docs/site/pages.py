"""Pages of the site that are made of something else: the changelog, the messages, and the commands'
own help.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import keys
import messages

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMA = "tclose_spark/runfile/run_file.schema.json"
OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)*((?:conf|benchmarks|jobs|tests)/[^)]*|LICENSE|CONTRIBUTING\.md)\)",
)
"""Links to files of the project that are no pages: on the site they are their names."""

BEHIND = "---\nsearch: {boost: 0.3}\n---\n"
"""Of pages that have every word: a search finds others first."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    pages = {
        "reference/changelog.md": BEHIND + (ROOT / "CHANGELOG.md").read_text(),
        "reference/messages.md": BEHIND + messages.page(ROOT / "tclose_spark"),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=OUTSIDE.sub(r"`\2`", text)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """The run file's page ends with every key of its schema, the page of a command with the
    command's options.
    """
    if page.file.src_uri == "reference/run_file.md":
        markdown = f"{markdown}\n{keys.page(json.loads((ROOT / SCHEMA).read_text()))}"
    for command in page.meta.get("commands", ()):
        markdown = f"{markdown}\n{options()[command]}"
    return OUTSIDE.sub(r"`\2`", markdown)


@cache
def options() -> dict[str, str]:
    """The help of every command, as `tclose COMMAND --help` prints it, under a heading of its
    own.
    """
    made = subprocess.run(
        [sys.executable, "-m", "typer", "tclose_spark.cli", "utils", "docs", "--name", "tclose"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    parts = re.split(r"^## `tclose (\w+)`$", made.stdout, flags=re.MULTILINE)[1:]
    return {
        name: f"## Options of {name}\n{text}"
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }
