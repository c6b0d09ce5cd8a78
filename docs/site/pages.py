"""Pages of the site that are made of something else: the README, the changelog, and the commands' own help."""

from __future__ import annotations

import json
import re
import subprocess
import sys
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
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*((?:conf|benchmarks|jobs|tests)/[^)]*|LICENSE|CONTRIBUTING\.md)\)")
"""Links to files of the project that are no pages: on the site they are their names."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    pages = {
        "index.md": in_docs((ROOT / "README.md").read_text()),
        "reference/changelog.md": (ROOT / "CHANGELOG.md").read_text(),
        "reference/messages.md": messages.page(ROOT / "tclose_spark"),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=OUTSIDE.sub(r"`\2`", text)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to the README lead to the first page. The run file's page ends with every key of its schema, the commands'
    page with the help of each.
    """
    if page.file.src_uri == "reference/run_file.md":
        markdown = f"{markdown}\n{keys.page(json.loads((ROOT / SCHEMA).read_text()))}"
    if page.file.src_uri == "reference/commands.md":
        markdown = f"{markdown}\n{commands()}"
    return OUTSIDE.sub(r"`\2`", re.sub(r"\]\((?:\.\./)+README\.md", lambda m: "](" + _up(m[0]) + "index.md", markdown))


def _up(link: str) -> str:
    """`](../../README.md` of a page below docs/: as many steps up, less the one out of docs/."""
    return "../" * (link.count("../") - 1)


def in_docs(readme: str) -> str:
    """The README as a page of docs/."""
    return readme.replace("](docs/", "](")


def commands() -> str:
    """Every command, its options and what they mean, as `tclose COMMAND --help` says."""
    made = subprocess.run(
        [sys.executable, "-m", "typer", "tclose_spark.cli", "utils", "docs", "--name", "tclose", "--title", "Help"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return re.sub(r"^#", "##", made.stdout, flags=re.MULTILINE)
